"""Snapshot of a store, the basis of all reports.

It loads only the columns of the pages, about 35 bytes per page; reports query the connection for
everything else. An error about an unknown page suggests the most similar known ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from heapq import nlargest
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.frontier.checkpoint import load_frontier, verify
from minicrawl.frontier.importance import ShownImportance, shown_importance
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import READ_STATES, PageId, State
from minicrawl.opic.queues import random_keys
from minicrawl.store import questions, tables
from minicrawl.store.derived import RankRow
from minicrawl.store.reader import reading, search_folder
from minicrawl.store.records import StoreTerms, reporting_damage
from minicrawl.web.urls import Location, canonical_seed, host_of, location, split

if TYPE_CHECKING:
    from minicrawl.report.near_duplicates import NearDuplicates

_NEAREST_SHOWN = 3
_FEW = 1000
"""Number of pages beyond which the whole column is read."""

LABELS = {state.value: state.label for state in State}


class Snapshot:
    """Store as it was when the snapshot was opened."""

    def __init__(self, path: Path, connection: tables.Connection, *, ordered: bool = False) -> None:
        """`ordered` also loads the state that the order of unread pages needs."""
        self.path = path
        self.connection = connection
        self.frontier = load(path, connection, ordered=ordered)

    def __len__(self) -> int:
        return len(self.frontier)

    @property
    def converged(self) -> RankRow | None:
        """Converged ranks on which the importance is based, or None."""
        return self._shown.row

    @property
    def importance(self) -> NDArray[np.float64]:
        """Importance of each page; the sum is 1."""
        return self._shown.shares

    @cached_property
    def _shown(self) -> ShownImportance:
        with reporting_damage(self.path):
            return shown_importance(self.path, self.connection, self.frontier)

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        """State of each page."""
        return self.frontier.states()

    @cached_property
    def was_read(self) -> NDArray[np.bool_]:
        """True for each page that was read."""
        return np.isin(self.states, READ_STATES)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Ledger keys; that of an unread page is the cash it received."""
        return np.frombuffer(self.frontier.ledger.key, dtype=np.int64)

    def urgency(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sort keys of these unread pages; the page with the largest comes first."""
        from minicrawl.opic.siblings import urgency

        if self.strategy == "breadth-first":
            return -pages.astype(np.float64)
        if self.strategy == "random":
            return self._lots[pages]
        siblings = self.frontier.siblings
        if siblings is None:
            return self.keys[pages].astype(np.float64)
        return urgency(siblings, pages.astype(np.uint32))

    @cached_property
    def strategy(self) -> str:
        """Page order of the last run, as far as its state is loaded."""
        found = tables.strategy(self.connection)
        return "greedy" if found == "siblings" and self.frontier.siblings is None else found

    @cached_property
    def _lots(self) -> NDArray[np.float64]:
        return np.fromiter(islice(random_keys(), len(self)), np.float64, len(self))

    @cached_property
    def inlinks(self) -> NDArray[np.int64]:
        """Number of links to each page."""
        return inlinks(self.connection, self.frontier)

    def inlinks_of(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of links to these pages. For few pages, only their rows are read."""
        if len(pages) > _FEW:
            return self.inlinks[pages]
        saved = questions.inlinks(self.connection, pages.tolist())
        return self.frontier.gained(pages) + np.array(saved, dtype=np.int64)

    @cached_property
    def host_of(self) -> NDArray[np.uint32]:
        """Host id of each page."""
        return tables.whole(tables.urls(self.connection, "host"), "host")

    @cached_property
    def origins(self) -> list[str]:
        """Origins by host id."""
        return questions.origins(self.connection)

    @cached_property
    def hosts(self) -> list[str]:
        """Host names by host id. Hosts that differ only in scheme or port share a name."""
        return [host_name(origin) for origin in self.origins]

    @cached_property
    def near_duplicates(self) -> NearDuplicates:
        """Near-duplicates, according to the search index."""
        from minicrawl.report.near_duplicates import NONE, kept

        return kept(search_folder(self.path), tables.birth(self.connection)) or NONE

    def cash(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cash of these pages, in units."""
        return self.frontier.ledger.cash_of(pages)

    def histories(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cash that these pages passed on within the window, in units."""
        return self.frontier.window.histories(pages)

    def url(self, page: PageId) -> str:
        """Return the URL of a page."""
        return tables.url_of(self.connection, page)


@lru_cache(1 << 16)
def host_name(origin: str) -> str:
    """Return the host name of an origin; for a node that is not a URL, its own name."""
    return host_of(origin)


@contextmanager
def snapshot(path: Path, *, ordered: bool = False) -> Iterator[Snapshot]:
    """Open a snapshot of the store, while a crawl may be writing it."""
    with reading(path) as connection:
        yield Snapshot(path, connection, ordered=ordered)


def load(path: Path, connection: tables.Connection, *, ordered: bool = False) -> Frontier:
    """Load the pages of the store, and check them against the last commit."""
    frontier = unproven(path, connection, ordered=ordered)
    with reporting_damage(path):
        verify(frontier, connection)
    return frontier


def unproven(path: Path, connection: tables.Connection, *, ordered: bool = False) -> Frontier:
    """Load the pages of the store without checking them."""
    with reporting_damage(path):
        terms = tables.terms(connection) or StoreTerms()
        siblings = ordered and tables.are_siblings_asked(connection)
        spending_at = partial(tables.spending, connection)
        return load_frontier(connection, terms, spending_at, siblings=siblings)


def inlinks(connection: tables.Connection, frontier: Frontier) -> NDArray[np.int64]:
    """Return the number of links to each page, from the checkpoint and the steps after it."""
    counts = frontier.gained()
    saved = tables.whole(tables.frontier(connection, "inlinks"), "inlinks")
    counts[: len(saved)] += saved
    return counts


def last_spent(connection: tables.Connection, frontier: Frontier) -> NDArray[np.uint32]:
    """Return the step of each page's last spending; 0 if it passed nothing to links."""
    saved = tables.whole(tables.frontier(connection, "spent"), "spent")
    return frontier.spendings.of_all(len(frontier), saved)


# ---------------------------------------------------------------- pages by name


def page_of(snapshot: Snapshot, text: str) -> int:
    """Return the page with this URL, whose scheme may be omitted, or the node with this name."""
    wanted = location_of(snapshot, text)
    if wanted is None:
        raise UsageError(f"{text!r} is not a URL such as https://example.org/path")
    page = questions.find(snapshot.connection, *wanted)
    if page is None and "://" not in text and (plain := location_of(snapshot, f"http://{text}")):
        page = questions.find(snapshot.connection, *plain)
    if page is None:
        raise UsageError(f"{''.join(wanted)} is not in the store; {_nearest(snapshot, wanted)}")
    return page


def location_of(snapshot: Snapshot, text: str) -> Location | None:
    """Return the location of a URL or name in the store, or None if it cannot have one."""
    terms = snapshot.frontier.terms
    if terms.imported:
        return location(visible(text))
    url = canonical_seed(text, strip_marks=terms.strip_marks)
    return None if url is None else split(url)


def _nearest(snapshot: Snapshot, wanted: Location) -> str:
    """Return a hint with the pages on the same host that share the longest prefix."""
    origin, path = wanted
    known = [
        (_common_prefix(path, other), snapshot.origins[number] + other)
        for number, name in enumerate(snapshot.hosts)
        if name == host_of(origin)
        for other in questions.paths_of(snapshot.connection, number)
    ]
    if not known:
        return f"it has no page of {host_of(origin)}"
    return "similar pages: " + ", ".join(near for _, near in nlargest(_NEAREST_SHOWN, known))


def _common_prefix(one: str, other: str) -> int:
    """Return the length of the longest common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
