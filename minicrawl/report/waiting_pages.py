"""Unread pages in the order in which they would be read if no host made the crawl wait."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.saved_ranks import position_of
from minicrawl.report.snapshot import Snapshot, host_name, places_of_largest
from minicrawl.states import State
from minicrawl.store import questions
from minicrawl.store.disk.trouble import reporting_damage

_PAGES_AT_ONCE = 20_000


class WaitingPage(NamedTuple):
    """Row of `minicrawl frontier`."""

    rank: int
    url: str
    key: float | None  # in units of cash; None in an order without cash
    given: float  # units received from links and endowments
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
    ordered = unread[places_of_largest(snapshot.urgency(unread), count)]
    has_keys = snapshot.strategy in ("greedy", "siblings")
    for start in range(0, len(ordered), _PAGES_AT_ONCE):
        pages = ordered[start : start + _PAGES_AT_ONCE]
        with reporting_damage(snapshot.path):
            places = questions.locations(snapshot.connection, pages.tolist())
            columns = (
                range(start + 1, start + 1 + len(pages)),
                places.urls,
                (snapshot.urgency(pages) / UNIT).tolist() if has_keys else [None] * len(pages),
                np.maximum(snapshot.keys[pages] / UNIT - 1, 0).tolist(),
                snapshot.frontier.ledger.cash_of(pages).tolist(),
                places.depths,
                snapshot.inlinks_of(pages).tolist(),
                map(host_name, places.origins),
            )
        yield from map(WaitingPage._make, zip(*columns, strict=True))


def queue_position(snapshot: Snapshot, page: PageId) -> QueuePosition:
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    on_host = unread[snapshot.host_of[unread] == snapshot.host_of[page]]
    return QueuePosition(
        of_all=_rank(snapshot, unread, page),
        all_waiting=len(unread),
        of_host=_rank(snapshot, on_host, page),
        host_waiting=len(on_host),
    )


def _rank(snapshot: Snapshot, pages: NDArray[np.int64], page: PageId) -> int:
    return position_of(snapshot.urgency(pages), int(np.searchsorted(pages, page)))
