"""Which way the cash flows: every link of the pages' last spendings, in blocks.

giver    a page that was read, or that stands for another one
end      the page that a link's cash reached: redirects on the way are left out
part     what the link gets of all that its giver hands on
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.journal import Kind, Spending
from minicrawl.opic.money import PARTS
from minicrawl.report.snapshot import Snapshot, spent
from minicrawl.store import questions
from minicrawl.store.blobs import is_plain, unpack, unpack_plain
from minicrawl.store.questions import Spendings
from minicrawl.store.trouble import understood


class Flows(NamedTuple):
    """Links, one a place; those of a giver are side by side, and in no other block."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.float64]


def flows(snapshot: Snapshot) -> Iterator[Flows]:
    """Every link that counts now."""
    ends = _ends(snapshot)
    with understood(snapshot.path):
        last = spent(snapshot.connection, snapshot.frontier)
        for block in questions.spendings(snapshot.connection):
            current = block.only(last[block.pages] == block.seqs)
            for found in _unpacked(current, snapshot.frontier.terms.small_edge):
                yield _led_on(found, ends)


def _unpacked(block: Spendings, edge: float) -> Iterator[Flows]:
    alike = np.fromiter(map(is_plain, block.blobs), dtype=np.bool_, count=len(block.blobs))
    if alike.any():
        yield _plain(block.only(alike), edge)
    if not alike.all():
        yield _others(block.only(~alike), edge)


def _ends(snapshot: Snapshot) -> NDArray[np.int64]:
    """The page that each page stands for."""
    books = snapshot.frontier.books
    ends = np.arange(len(snapshot))
    for page in books.forwards:
        ends[page] = books.stands_for(page)
    return ends


def _led_on(found: Flows, ends: NDArray[np.int64]) -> Flows:
    """The links to where they end; one that comes back to its giver is none."""
    led = found._replace(ends=ends[found.ends])
    abroad = led.givers != led.ends
    return Flows(*(column[abroad] for column in led))


def _plain(block: Spendings, edge: float) -> Flows:
    counts, targets = unpack_plain(block.blobs)
    pot = np.where(block.kinds == Kind.FORWARD, 1.0, 1 - edge)
    return Flows(np.repeat(block.pages, counts), targets, np.repeat(pot / counts, counts))


def _others(block: Spendings, edge: float) -> Flows:
    spendings = list(map(unpack, block.blobs))
    return Flows(
        np.repeat(block.pages, [len(spending.links) for spending in spendings]),
        np.array([link for spending in spendings for link in spending.links]),
        np.array([part for spending in spendings for part in _parts(spending, edge)]),
    )


def _parts(spending: Spending, edge: float) -> list[float]:
    """As the steps split it, but that two links that meet behind a redirect count as two."""
    links, weights, focus, idle = spending
    weights = weights or [1] * len(links)
    total = sum(weights) + idle
    if not total:
        return [0.0] * len(links)
    parts = [(1 - edge) * weight / total for weight in weights]
    if not focus:
        return parts
    gifts = [part * strength / PARTS for part, strength in zip(parts, focus, strict=True)]
    purse = 1 - sum(parts)
    scale = purse / max(sum(gifts), purse) if purse else 0.0
    return [part + gift * scale for part, gift in zip(parts, gifts, strict=True)]
