"""Which way the cash flows: every link of the pages' last spendings, in blocks.

giver    a page that was read, or that stands for another one
end      the page that a link's cash reached: redirects on the way are left out
part     what the link gets of all that its giver hands on
weight   how a link counts beside the others of its giver, as the crawl weighed them; mostly 1

Whoever asks may be told the share of the givers that is done.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.journal import Spending, StepKind
from minicrawl.opic.money import PARTS
from minicrawl.progress import Progress, unreported
from minicrawl.report.snapshot import Snapshot, spent
from minicrawl.store import questions
from minicrawl.store.blobs import is_plain, unpack, unpack_plain
from minicrawl.store.questions import Spendings
from minicrawl.store.trouble import reporting_damage


class Flows(NamedTuple):
    """Links, one a place; those of a giver are side by side, and in no other block."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.float64]


class FlowLinks(NamedTuple):
    """Links, one a place, each once; those of a giver are side by side, and in no other block."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    weights: NDArray[np.int64]


def flows(snapshot: Snapshot, tell: Progress = unreported) -> Iterator[Flows]:
    """Every link that counts now."""
    ends = _ends(snapshot)
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, 0, tell):
            for found in _unpacked(block, snapshot.frontier.terms.small_edge):
                yield _led_on(found, ends)


def links(snapshot: Snapshot, tell: Progress = unreported) -> Iterator[FlowLinks]:
    """The same links with their weights; of two that meet behind a redirect the first one's."""
    ends = _ends(snapshot)
    return (_led_on_once(found, ends) for found in written(snapshot, tell=tell))


def written(snapshot: Snapshot, after: int = 0, tell: Progress = unreported) -> Iterator[FlowLinks]:
    """The links of the pages whose turn came after this step, as they were written."""
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, after, tell):
            yield from _weighed(block)


def _current(snapshot: Snapshot, after: int, tell: Progress) -> Iterator[Spendings]:
    """The last spending of every page."""
    last = spent(snapshot.connection, snapshot.frontier)
    givers, done = int(np.count_nonzero(last > after)), 0
    for block in questions.spendings(snapshot.connection, after):
        found = block.only(last[block.pages] == block.seqs)
        yield found
        done += len(found.pages)
        tell(done / max(givers, 1))


def _weighed(block: Spendings) -> Iterator[FlowLinks]:
    plain, others = _told_apart(block)
    if plain.blobs:
        counts, targets = unpack_plain(plain.blobs)
        yield FlowLinks(
            np.repeat(plain.pages, counts), targets, np.ones(len(targets), dtype=np.int64)
        )
    if others.blobs:
        spendings = list(map(unpack, others.blobs))
        weights = [spending.weights or [1] * len(spending.links) for spending in spendings]
        yield FlowLinks(
            np.repeat(others.pages, list(map(len, weights))),
            np.array([link for spending in spendings for link in spending.links]),
            np.array(list(chain.from_iterable(weights))),
        )


def _led_on_once(found: FlowLinks, ends: NDArray[np.int64]) -> FlowLinks:
    led = found._replace(ends=ends[found.ends])
    places = np.flatnonzero(led.givers != led.ends)
    if (led.ends != found.ends).any():
        keys = led.givers[places] * len(ends) + led.ends[places]
        _, firsts = np.unique(keys, return_index=True)
        places = places[firsts]
    return FlowLinks(*(column[places] for column in led))


def _told_apart(block: Spendings) -> tuple[Spendings, Spendings]:
    """Those in which all links are alike, and the others."""
    alike = np.fromiter(map(is_plain, block.blobs), dtype=np.bool_, count=len(block.blobs))
    return block.only(alike), block.only(~alike)


def _unpacked(block: Spendings, edge: float) -> Iterator[Flows]:
    plain, others = _told_apart(block)
    if plain.blobs:
        yield _plain(plain, edge)
    if others.blobs:
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


def _plain(block: Spendings, edge: float) -> Flows:
    counts, targets = unpack_plain(block.blobs)
    pot = np.where(block.kinds == StepKind.FORWARD, 1.0, 1 - edge)
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
