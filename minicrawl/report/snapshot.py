"""One moment of a store, with all that the reports begin from.

A snapshot loads the flat columns of the pages, about 35 bytes each, and nothing else; what is not
a column is asked of the connection when a report needs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.loading import load_frontier, verify
from minicrawl.frontier.pages import Frontier
from minicrawl.model import READ_STATES, State
from minicrawl.opic.ledger import READ
from minicrawl.opic.money import UNIT
from minicrawl.store import columns, questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.trouble import reporting_damage
from minicrawl.web import homes

_FEW = 1000
"""Pages: who asks for more asks for all of them, block by block."""

LABELS = {state.value: state.label for state in State}


class Snapshot:
    """A store as it was when it was opened."""

    def __init__(self, path: Path, connection: tables.Connection) -> None:
        self.path = path
        self.connection = connection
        self.frontier = load(path, connection)

    def __len__(self) -> int:
        return len(self.frontier)

    @cached_property
    def importance(self) -> NDArray[np.float64]:
        """Each page's share; the shares sum to 1."""
        return self.frontier.importance()

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        """The state of each page."""
        return self.frontier.states()

    @cached_property
    def was_read(self) -> NDArray[np.bool_]:
        """Whether the body of each page came."""
        return np.isin(self.states, READ_STATES)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """By these the unread pages are ordered."""
        return np.frombuffer(self.frontier.ledger.key, dtype=np.int64)

    @cached_property
    def inlinks(self) -> NDArray[np.int64]:
        """How many links lead to each page."""
        return inlinks(self.connection, self.frontier)

    def inlinks_of(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many lead to these; for a few, the others are not looked at."""
        if len(pages) > _FEW:
            return self.inlinks[pages]
        saved = questions.inlinks(self.connection, pages.tolist())
        return self.frontier.gained(pages) + np.array(saved, dtype=np.int64)

    @cached_property
    def host_of(self) -> NDArray[np.uint32]:
        """The id of each page's host."""
        return columns.whole(columns.urls(self.connection, "host"), "host")

    @cached_property
    def origins(self) -> list[str]:
        """Every origin by the id of its host."""
        return questions.origins(self.connection)

    @cached_property
    def hosts(self) -> list[str]:
        """The name of every host by its id; two that differ by scheme or port share one."""
        return [host(origin) for origin in self.origins]

    def cash(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """What these pages hold, in units."""
        ledger = self.frontier.ledger
        flags = np.frombuffer(ledger.flags, dtype=np.uint8)[pages]
        others = ledger.virtual_page.pot // max(ledger.unread, 1)
        return (
            self.keys[pages] + np.where(flags & READ, ledger.virtual_page.dividend, others)
        ) / UNIT

    def histories(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """What these pages handed on, as far as the window counts it, in units."""
        return self.frontier.window.histories(pages)

    def url(self, page: int) -> str:
        """The URL of a page."""
        return tables.url_of(self.connection, page)


@lru_cache(1 << 16)
def host(origin: str) -> str:
    """The name of an origin's host; of a node that is no URL, its own."""
    return homes.host(origin)


@contextmanager
def snapshot(path: Path) -> Iterator[Snapshot]:
    """The store as it is now; a crawl may go on writing it."""
    with reading(path) as connection:
        yield Snapshot(path, connection)


def load(path: Path, connection: tables.Connection) -> Frontier:
    """The pages of the store, which are those that the last commit spoke of."""
    frontier = unproven(path, connection)
    with reporting_damage(path):
        verify(frontier, connection)
    return frontier


def unproven(path: Path, connection: tables.Connection) -> Frontier:
    """The pages of the store, whatever the last commit said."""
    with reporting_damage(path):
        terms = tables.terms(connection) or StoreTerms()
        return load_frontier(connection, terms, partial(tables.spending, connection))


def inlinks(connection: tables.Connection, frontier: Frontier) -> NDArray[np.int64]:
    """How many links lead to each page: what the rows say, and what came after."""
    counts = frontier.gained()
    saved = columns.whole(columns.frontier(connection, "inlinks"), "inlinks")
    counts[: len(saved)] += saved
    return counts


def spent(connection: tables.Connection, frontier: Frontier) -> NDArray[np.uint32]:
    """By which step each page was last spent; 0 where it handed nothing to links."""
    saved = columns.whole(columns.frontier(connection, "spent"), "spent")
    return frontier.spendings.of_all(len(frontier), saved)
