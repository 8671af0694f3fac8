"""Snapshot of a store, the basis of all reports.

It loads only the columns of the pages, about 35 bytes per page; reports query the connection for
everything else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from heapq import nlargest
from itertools import islice
from os.path import commonprefix
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl import ext
from minicrawl.errors import UsageError
from minicrawl.frontier.importance import ShownImportance, guaranteed_share, shown_importance
from minicrawl.frontier.loading import load_frontier, verify
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.opic.queues.candidate_heap import random_keys
from minicrawl.report.near_duplicates import (
    NO_NEAR_DUPLICATES,
    NearDuplicates,
    kept_near_duplicates,
)
from minicrawl.states import READ_STATES, State
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.derived.ranks import RankRow, guaranteed
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading, search_folder
from minicrawl.store.records import StoreTerms
from minicrawl.web.urls import Location, canonical_seed, host_of, location, split
from minicrawl.wording import visible

Pages = NDArray[np.int64]
Numbers = NDArray[np.int64]

_NEAREST_SHOWN = 3
_ROWS_AT_ONCE = 10_000
_FEW = 1000
"""Number of pages beyond which the whole column is read."""

LABELS = {state.value: state.label for state in State}


class Snapshot:
    """Store as it was when the snapshot was opened."""

    def __init__(self, path: Path, connection: tables.Connection, *, ordered: bool = False) -> None:
        """`ordered` also loads the siblings, which the order of unread pages may need."""
        self.path = path
        self.connection = connection
        self.frontier = load(path, connection, ordered=ordered)
        self._was_searched = False

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

    @property
    def guaranteed(self) -> float | None:
        """Lower bound of the share of PageRank from the seeds on pages read; None if unknown."""
        row, _, flow = self._shown
        if flow is not None:
            return guaranteed_share(flow, self.frontier)
        return None if row is None else guaranteed(row, self.connection)

    @cached_property
    def _shown(self) -> ShownImportance:
        with reporting_damage(self.path):
            return shown_importance(self.path, self.connection, self.frontier)

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        return self.frontier.states()

    @cached_property
    def was_read(self) -> NDArray[np.bool_]:
        return np.isin(self.states, READ_STATES)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Ledger keys; that of an unread page is the cash it received."""
        return np.frombuffer(self.frontier.ledger.key, dtype=np.int64)

    def urgency(self, pages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sort keys of these unread pages; the page with the largest comes first."""
        from minicrawl.opic.siblings.values import LEVEL_FACTORS, urgency

        if self.strategy == "breadth-first":
            return -pages.astype(np.float64)
        if self.strategy == "random":
            return self._random_keys[pages]
        if self.strategy not in ("greedy", "siblings"):
            return self._added_keys[pages].astype(np.float64)
        siblings = self.frontier.siblings
        if siblings is None:
            return self.keys[pages].astype(np.float64)
        urgencies = urgency(siblings, pages.astype(np.uint32))
        if (values := self.frontier.values) is not None:
            weight = tables.score_weight(self.connection)
            urgencies *= LEVEL_FACTORS[values.levels(pages.astype(np.uint32), weight)]
        return urgencies

    @cached_property
    def strategy(self) -> str:
        """Page order of the last run, as far as its state is loaded."""
        strategy = tables.strategy(self.connection)
        return "greedy" if strategy == "siblings" and self.frontier.siblings is None else strategy

    @cached_property
    def _added_keys(self) -> NDArray[np.int64]:
        """Keys of all pages in the order that a package adds."""
        order: Any = ext.required(ext.ORDERS, self.strategy, "strategy")
        urls = self.frontier.urls
        if not urls.host_of:
            urls.load_hosts(self.connection)
        urls.load_depths(self.connection)
        keys = order(self.frontier)
        keys.grow(range(len(self)))
        return np.frombuffer(keys.keys, dtype=np.int64)

    @cached_property
    def _random_keys(self) -> NDArray[np.float64]:
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
        return page_columns.whole(self.connection, "urls", "host")

    @cached_property
    def origins(self) -> list[str]:
        return questions.origins(self.connection)

    @cached_property
    def hosts(self) -> list[str]:
        """Host names by host id. Hosts that differ only in scheme or port share a name."""
        return [host_name(origin) for origin in self.origins]

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """Pages by importance, the largest first."""
        return places_of_largest(self.importance, 0)

    @cached_property
    def standing_for_others(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pages that stand for others, and the pages that they stand for."""
        books = self.frontier.books
        count = len(books.forwards)
        pages = np.fromiter(books.forwards, np.int64, count)
        return pages, np.fromiter(map(books.stands_for, books.forwards), np.int64, count)

    @cached_property
    def last_spent(self) -> NDArray[np.uint32]:
        """Step of each page's last spending; 0 if it passed nothing to links."""
        return last_spent(self.connection, self.frontier)

    def find(self, location: Location) -> PageId | None:
        """Return the page at this location, or None.

        The first call scans the store. Later calls use checksums of all URLs: computing them once
        takes as long as ten scans.
        """
        if not self._was_searched:
            self._was_searched = True
            return questions.find(self.connection, *location)
        url = "".join(*questions.concealed(self.connection, [location]))
        places = np.flatnonzero(self._checksums == crc32(url.encode())).tolist()
        known = questions.locations(self.connection, places).urls if places else []
        return next(
            (page for page, known_url in zip(places, known, strict=True) if known_url == url), None
        )

    @cached_property
    def _checksums(self) -> NDArray[np.uint32]:
        return questions.url_checksums(self.connection)

    @cached_property
    def near_duplicates(self) -> NearDuplicates:
        """Near-duplicates, according to the search index."""
        folder = search_folder(self.path)
        return kept_near_duplicates(folder, tables.birth(self.connection)) or NO_NEAR_DUPLICATES

    @property
    def has_near_duplicates(self) -> bool:
        """True if the search index has compared pages."""
        return self.near_duplicates is not NO_NEAR_DUPLICATES

    def url(self, page: PageId) -> str:
        return tables.url_of(self.connection, page)


host_name = lru_cache(1 << 16)(host_of)
"""Function that returns the host name of an origin; for a node that is not a URL, its own name."""


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
    """Load the pages of the store without checking them, for the checks themselves."""
    with reporting_damage(path):
        terms = tables.terms(connection) or StoreTerms()
        siblings = ordered and tables.strategy(connection) == "siblings"
        spending_at = partial(step_log.spending, connection)
        return load_frontier(connection, terms, spending_at, siblings=siblings)


def inlinks(connection: tables.Connection, frontier: Frontier) -> NDArray[np.int64]:
    """Return the number of links to each page, from the checkpoint and the steps after it."""
    counts = frontier.gained()
    saved = page_columns.whole(connection, "frontier", "inlinks")
    counts[: len(saved)] += saved
    return counts


def last_spent(connection: tables.Connection, frontier: Frontier) -> NDArray[np.uint32]:
    """Return the step of each page's last spending; 0 if it passed nothing to links."""
    saved = page_columns.whole(connection, "frontier", "spent")
    return frontier.spendings.of_all(len(frontier), saved)


def page_of(snapshot: Snapshot, text: str) -> int:
    """Return the page with this URL, whose scheme may be omitted, or the node with this name."""
    location = location_of(snapshot, text)
    if location is None:
        raise UsageError(f"{text!r} is not a URL such as https://example.org/path")
    page = snapshot.find(location)
    if page is None and "://" not in text and (plain := location_of(snapshot, f"http://{text}")):
        page = snapshot.find(plain)
    if page is None:
        raise UsageError(f"{''.join(location)} is not in the store; {_nearest(snapshot, location)}")
    return page


def location_of(snapshot: Snapshot, text: str) -> Location | None:
    """Return the location of a URL or name in the store, or None if it cannot have one."""
    terms = snapshot.frontier.terms
    if terms.imported:
        return location(visible(text))
    url = canonical_seed(text, strip_marks=terms.strip_marks)
    return None if url is None else split(url)


def _nearest(snapshot: Snapshot, location: Location) -> str:
    """Return a hint with the pages on the same host that share the longest prefix."""
    origin, path = location
    known = [
        (len(commonprefix((path, other))), snapshot.origins[number] + other)  # noqa: RUF071  # by letters
        for number, name in enumerate(snapshot.hosts)
        if name == host_of(origin)
        for other in questions.paths_of(snapshot.connection, number)
    ]
    if not known:
        return f"it has no page of {host_of(origin)}"
    return "similar pages: " + ", ".join(near for _, near in nlargest(_NEAREST_SHOWN, known))


def refuse_without_links(snapshot: Snapshot) -> None:
    """Raise UsageError if the store has no links."""
    if not snapshot.frontier.terms.links:
        raise UsageError(f"{snapshot.path} has no links: it was crawled with --no-links")


def urls(snapshot: Snapshot, pages: Numbers) -> list[str]:
    starts = range(0, len(pages), _ROWS_AT_ONCE)
    blocks = (_places(snapshot, pages[start : start + _ROWS_AT_ONCE]) for start in starts)
    return [url for block in blocks for url in block.urls]


def _places(snapshot: Snapshot, pages: Numbers) -> questions.PageLocations:
    with reporting_damage(snapshot.path):
        return questions.locations(snapshot.connection, pages.tolist())


def places_of_largest(values: NDArray[np.floating | np.int64], count: int) -> Pages:
    """Return the places of the `count` largest values, in order. Avoids a full sort for few."""
    if not 0 < count < len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    # Ties at the last place go to the pages found first, as in the stable sort of all.
    best = above[np.argsort(-values[above], kind="stable")]
    return np.concatenate((best, equal[: count - len(best)]))
