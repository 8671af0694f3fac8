"""Which way the cash flows: every link of the pages' last spendings, in blocks.

giver    a page that was read, or that stands for another one
end      the page that a link's cash reached: redirects on the way are left out
part     what the link gets of all that its giver hands on
"""

from collections.abc import Iterator
from itertools import compress, islice
from operator import not_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.journal import Kind, Spending
from minicrawl.opic.money import PARTS
from minicrawl.report.snapshot import Snapshot, spent
from minicrawl.store import questions
from minicrawl.store.blobs import is_plain, unpack, unpack_plain
from minicrawl.store.trouble import understood

_SPENDINGS_AT_ONCE = 2_000


class Flows(NamedTuple):
    """Links, one a place."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.float64]


def flows(snapshot: Snapshot) -> Iterator[Flows]:
    """Every link that counts now."""
    ends = _ends(snapshot)
    with understood(snapshot.path):
        last = spent(snapshot.connection, snapshot.frontier)
        rows = questions.spendings(snapshot.connection)
        current = (row for row in rows if last[row.page] == row.seq)
        while block := list(islice(current, _SPENDINGS_AT_ONCE)):
            for found in _unpacked(block, snapshot.frontier.terms.small_edge):
                yield _led_on(found, ends)


def _unpacked(block: list[questions.SpendingRow], edge: float) -> Iterator[Flows]:
    alike = [is_plain(row.blob) for row in block]
    if plain := list(compress(block, alike)):
        yield _plain(plain, edge)
    if others := list(compress(block, map(not_, alike))):
        yield _others(others, edge)


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


def _plain(rows: list[questions.SpendingRow], edge: float) -> Flows:
    counts, targets = unpack_plain([row.blob for row in rows])
    pot = np.array([1.0 if row.kind == Kind.FORWARD else 1 - edge for row in rows])
    givers = np.repeat([row.page for row in rows], counts)
    return Flows(givers, targets, np.repeat(pot / counts, counts))


def _others(rows: list[questions.SpendingRow], edge: float) -> Flows:
    spendings = [unpack(row.blob) for row in rows]
    return Flows(
        np.repeat([row.page for row in rows], [len(spending.links) for spending in spendings]),
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
