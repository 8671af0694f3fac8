"""Unread pages in the order in which they would be read if no host made the crawl wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.saved_ranks import rank_of
from minicrawl.report.snapshot import Snapshot, host_name, places_of_largest
from minicrawl.states import State
from minicrawl.store import questions
from minicrawl.store.trouble import reporting_damage

_PAGES_AT_ONCE = 20_000


class WaitingPage(NamedTuple):
    """Row of `minicrawl frontier`."""

    rank: int
    url: str
    key: float | None  # in units of cash; None in an order without cash
    given: float
    cash: float
    depth: int
    inlinks: int
    host: str


class QueuePosition(NamedTuple):
    """Position of a page among all unread pages, and among those of its host; 1 is next."""

    of_all: int
    all_waiting: int
    of_host: int
    host_waiting: int


def waiting(snapshot: Snapshot, count: int = 0) -> Iterator[WaitingPage]:
    """Yield the unread pages that come first. `count` 0 is all."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    pages = unread[places_of_largest(snapshot.urgency(unread), count)]
    for start in range(0, len(pages), _PAGES_AT_ONCE):
        with reporting_damage(snapshot.path):
            block = list(_block(snapshot, pages[start : start + _PAGES_AT_ONCE], start + 1))
        yield from block


def _block(snapshot: Snapshot, pages: NDArray[np.int64], rank: int) -> Iterator[WaitingPage]:
    places = questions.locations(snapshot.connection, pages.tolist())
    columns = (
        range(rank, rank + len(pages)),
        places.urls,
        _keys(snapshot, pages),
        _given(snapshot, pages).tolist(),
        snapshot.cash(pages).tolist(),
        places.depths,
        snapshot.inlinks_of(pages).tolist(),
        map(host_name, places.origins),
    )
    return map(WaitingPage._make, zip(*columns, strict=True))


def _keys(snapshot: Snapshot, pages: NDArray[np.int64]) -> Iterable[float | None]:
    if snapshot.strategy not in ("greedy", "siblings"):
        return repeat(None, len(pages))
    keys: list[float] = (snapshot.urgency(pages) / UNIT).tolist()
    return keys


def _given(snapshot: Snapshot, pages: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the units that unread pages received from links and endowments."""
    return np.maximum(snapshot.keys[pages] / UNIT - 1, 0)


def queue_position(snapshot: Snapshot, page: PageId) -> QueuePosition:
    """Return the position of this unread page."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    on_host = unread[snapshot.host_of[unread] == snapshot.host_of[page]]
    return QueuePosition(
        of_all=_rank(snapshot, unread, page),
        all_waiting=len(unread),
        of_host=_rank(snapshot, on_host, page),
        host_waiting=len(on_host),
    )


def _rank(snapshot: Snapshot, pages: NDArray[np.int64], page: PageId) -> int:
    return rank_of(snapshot.urgency(pages), int(np.searchsorted(pages, page)))
