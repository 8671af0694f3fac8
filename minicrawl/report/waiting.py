"""The pages that wait, in the order in which they would be read if no host made a crawl wait."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import State
from minicrawl.opic.money import UNIT
from minicrawl.report.ranks import rank_of, richest
from minicrawl.report.snapshot import Snapshot, host
from minicrawl.store import questions


class WaitingPage(NamedTuple):
    """A page in `frontier`."""

    rank: int
    url: str
    given: float
    cash: float
    depth: int
    inlinks: int
    host: str


class Place(NamedTuple):
    """Where a page stands among those that wait, and on its host; 1 is the next."""

    of_all: int
    all_waiting: int
    of_host: int
    host_waiting: int


def waiting(snapshot: Snapshot, count: int = 0) -> Iterator[WaitingPage]:
    """The richest unread pages; 0 means all."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    pages: list[int] = unread[richest(snapshot.keys[unread], count)].tolist()
    for rank, page in enumerate(questions.pages(snapshot.connection, pages), start=1):
        yield WaitingPage(
            rank=rank,
            url=page.origin + page.path,
            given=given(snapshot, page.id),
            cash=snapshot.cash(page.id),
            depth=page.depth,
            inlinks=int(snapshot.inlinks[page.id]),
            host=host(page.origin),
        )


def given(snapshot: Snapshot, page: int) -> float:
    """Units that links and endowments gave an unread page, beside the one it was born with."""
    return max(0.0, snapshot.frontier.ledger.key[page] / UNIT - 1)


def place(snapshot: Snapshot, page: int) -> Place:
    """Where this unread page stands."""
    unread = np.flatnonzero(snapshot.states == State.UNREAD)
    on_host = unread[snapshot.host_of[unread] == snapshot.host_of[page]]
    return Place(
        of_all=_rank(snapshot, unread, page),
        all_waiting=len(unread),
        of_host=_rank(snapshot, on_host, page),
        host_waiting=len(on_host),
    )


def _rank(snapshot: Snapshot, pages: NDArray[np.int64], page: int) -> int:
    return rank_of(snapshot.keys[pages], int(np.searchsorted(pages, page)))
