"""Selected pages of a store as rows, by importance or by another rank, best first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from itertools import chain
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.model import FULL_VALUE
from minicrawl.ports import Progress, unreported
from minicrawl.report.saved_ranks import Floats, position_of, scores
from minicrawl.report.snapshot import LABELS, Pages, Snapshot, host_name, places_of_largest
from minicrawl.states import READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.store import questions, request_log, tables
from minicrawl.store.derived.ranks import OPIC
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.wording import iso


class ExportRow(NamedTuple):
    """Page as a row. The order of the fields is the order of the columns; files depend on it."""

    rank: int  # among all known pages; 1 is the most important
    url: str
    host: str
    importance: float  # share; the sum over all known pages is 1
    cash: float  # units
    history: float  # units, as the window counts them
    inlinks: int
    state: str  # the label of a State
    status: int | None  # of the last response that was read
    depth: int
    title: str
    first_fetched: str | None  # ISO 8601, UTC
    last_fetched: str | None
    like: str  # URL of a near-duplicate, according to the search index
    noindex: bool | None  # True if the page asks not to be indexed; None if it was not read
    value: float | None = None  # by --score, from 0 to 1; None without a value


COLUMNS = ExportRow._fields
COLUMN_TYPES = {
    "rank": "BIGINT",
    "importance": "DOUBLE",
    "cash": "DOUBLE",
    "history": "DOUBLE",
    "inlinks": "BIGINT",
    "status": "SMALLINT",
    "depth": "SMALLINT",
    "first_fetched": "TIMESTAMPTZ",
    "last_fetched": "TIMESTAMPTZ",
    "noindex": "BOOLEAN",
    "value": "DOUBLE",
    "weight": "BIGINT",
}
"""SQL types of the columns of pages and links that are not text."""
TIME_COLUMNS = tuple(name for name, type_ in COLUMN_TYPES.items() if type_ == "TIMESTAMPTZ")

LINK_COLUMNS = ("source", "target", "weight")
"""Columns of a file of links between URLs or hosts; the weight is an integer."""
PAGE_LINK_COLUMNS = (*LINK_COLUMNS, "end")
"""Columns of links between pages; `end` is the page that the target stands for, if any."""

Block = dict[str, Sequence[Any]]
"""Columns of some rows by name, of equal length: COLUMNS in order, then requested scores."""


def rows_of(block: Block) -> Iterator[ExportRow]:
    return map(ExportRow._make, zip(*map(block.__getitem__, COLUMNS), strict=True))


Values = NDArray[np.float64] | NDArray[np.uint32]

ROWS_AT_ONCE = 10_000
NO_PAGES = (*STANDS_FOR_ANOTHER, State.NOT_FOUND, State.BAD_REDIRECT)
"""States of URLs that are not pages of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSelection:
    """Selection of pages, and the rank to sort them by. `count` 0 is all."""

    count: int = 0
    by: str = OPIC
    host: str | None = None
    unread: bool = False
    fetched: bool = False
    states: frozenset[State] = frozenset()
    """Only pages in these states; empty for any."""
    only_pages: bool = False
    """Omit redirects, duplicates and pages that do not exist."""
    folds: bool = False
    """Show only the best of each group of near-duplicates."""
    among: frozenset[int] | None = None
    """Ids of the only pages that may be chosen; None for any."""

    def __post_init__(self) -> None:
        if self.count < 0:
            raise UsageError(f"{self.count} pages: the number must be 0 or more")
        for wrong in self.states.difference(State):
            raise UsageError(f"{wrong!a:.40} is no state: use a member of `minicrawl.State`")

    @property
    def is_all(self) -> bool:
        """True if only `count`, `only_pages` and `folds` omit pages."""
        chosen = self.host or self.unread or self.fetched or self.states or self.among is not None
        return not chosen


TOP_COLUMNS = (
    *("rank", "url", "importance", "cash", "history", "inlinks", "depth", "found", "fetched"),
    *("status", "title", "host", "score", "near_duplicates"),
)


def top(snapshot: Snapshot, selection: PageSelection) -> Iterator[dict[str, Any]]:
    """Yield the best of the selected pages; `found` numbers them by discovery."""
    read = {state.label for state in READ_STATES}
    alike = np.zeros(len(snapshot), dtype=np.uint32)
    alike[snapshot.near_duplicates.pages] = snapshot.near_duplicates.others()
    columns: dict[str, Values] = {
        "score": scores(snapshot, selection.by),
        "found": np.arange(1, len(snapshot) + 1, dtype=np.uint32),
        "near_duplicates": alike,
    }
    for block in _blocks(snapshot, selection, columns, unreported):
        block["fetched"] = [state in read for state in block["state"]]
        for cells in zip(*map(block.__getitem__, TOP_COLUMNS), strict=True):
            yield dict(zip(TOP_COLUMNS, cells, strict=True))


def page_row(snapshot: Snapshot, page: int) -> ExportRow:
    rank = np.array([position_of(snapshot.importance, page)])
    return next(rows_of(_block(snapshot, np.array([page]), rank, {})))


def rows(snapshot: Snapshot, selection: PageSelection) -> Iterator[ExportRow]:
    """Yield the rows of the selected pages, best first."""
    return chain.from_iterable(map(rows_of, blocks(snapshot, selection)))


STANDS_FOR = "stands_for"
LIST_COLUMNS = (*COLUMNS, STANDS_FOR)


def sorted_rows(
    snapshot: Snapshot, selection: PageSelection, column: str, *, falling: bool = False
) -> list[dict[str, Any]]:
    """Return the selected pages by a column, those without a value last, with `STANDS_FOR`."""
    selected = replace(selection, count=0)
    pages, _ = _ranked_pages(snapshot, selected)
    rows = (row._asdict() for block in blocks(snapshot, selected) for row in rows_of(block))
    numbered = zip(pages.tolist(), rows, strict=True)
    choose = nlargest if falling else nsmallest

    def place(pair: tuple[int, dict[str, Any]]) -> tuple[bool, Any]:
        value = pair[1][column]
        return ((value is not None) if falling else (value is None)), value

    chosen = choose(selection.count or len(pages), numbered, place)
    ends = ((row, page, snapshot.frontier.books.stands_for(page)) for page, row in chosen)
    return [row | {STANDS_FOR: "" if end == page else snapshot.url(end)} for row, page, end in ends]


def blocks(
    snapshot: Snapshot,
    selection: PageSelection,
    ranks: Sequence[str] = (),
    progress: Progress = unreported,
) -> Iterator[Block]:
    """Yield the selected pages as blocks of columns, best first, the scores of `ranks` last."""
    columns = {score_column(name): scores(snapshot, name) for name in ranks}
    return _blocks(snapshot, selection, columns, progress)


def _blocks(
    snapshot: Snapshot, selection: PageSelection, columns: Mapping[str, Values], progress: Progress
) -> Iterator[Block]:
    pages, ranks = _ranked_pages(snapshot, selection)
    left, start = selection.count or len(pages), 0
    while left and start < len(pages):
        stop = start + min(left, ROWS_AT_ONCE)
        with reporting_damage(snapshot.path):
            block = _block(snapshot, pages[start:stop], ranks[start:stop], columns)
        yield block
        progress(stop / len(pages))
        left -= len(block["rank"])
        start = stop


def selected_pages(snapshot: Snapshot, selection: PageSelection) -> Pages:
    """Return the ids of the selected pages, best first."""
    pages, _ = _ranked_pages(snapshot, selection)
    return pages[: selection.count or None]


def score_column(name: str) -> str:
    return f"rank_{name}"


def nan_as_none(values: Values) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]


def _ranked_pages(snapshot: Snapshot, selection: PageSelection) -> tuple[Pages, Pages]:
    """Return the selected pages and their ranks. Pages without a score come last."""
    values = scores(snapshot, selection.by)
    if selection.by != OPIC:  # in OPIC every page has a score
        np.nan_to_num(values, copy=False, nan=-1.0)
    if selection.is_all and not snapshot.frontier.counts[State.FOREIGN]:
        return _best_of_all(snapshot, values, selection)
    matches = snapshot.states != State.FOREIGN
    if selection.unread:
        matches &= snapshot.states == State.UNREAD
    if selection.fetched:
        matches &= snapshot.was_read
    if selection.among is not None:
        matches &= np.isin(np.arange(len(matches)), list(selection.among))
    if selection.only_pages:
        matches &= ~np.isin(snapshot.states, NO_PAGES)
    if selection.states:
        matches &= np.isin(snapshot.states, list(selection.states))
    if selection.host:
        matches &= np.isin(snapshot.host_of, hosts_named(snapshot, selection.host))
    order = snapshot.best if selection.by == OPIC else places_of_largest(values, 0)
    places = np.flatnonzero(matches[order])
    if selection.folds:
        places = places[snapshot.near_duplicates.first_of_groups(order[places])]
    return order[places], places + 1


def _best_of_all(
    snapshot: Snapshot, values: Floats, selection: PageSelection
) -> tuple[Pages, Pages]:
    """Return the best of all pages and their ranks. Avoids a full sort for few."""
    looked_at = selection.count
    while True:
        # If filters leave too few pages, twice as many are tried: sorting all pages of a large
        # store to show ten would take longer.
        pages = places_of_largest(values, looked_at)
        ranks = np.arange(1, len(pages) + 1)
        if selection.only_pages:
            is_page = ~np.isin(snapshot.states[pages], NO_PAGES)
            pages, ranks = pages[is_page], ranks[is_page]
        if selection.folds:
            is_page = snapshot.near_duplicates.first_of_groups(pages)
            pages, ranks = pages[is_page], ranks[is_page]
        if not 0 < looked_at < len(values) or len(pages) >= selection.count:
            return pages, ranks
        looked_at *= 2


def pages_of_host(snapshot: Snapshot, host: str | None) -> Pages:
    """Return the pages of the hosts with this name, or all pages."""
    if host is None:
        return np.arange(len(snapshot))
    return np.flatnonzero(np.isin(snapshot.host_of, hosts_named(snapshot, host)))


def hosts_named(snapshot: Snapshot, host: str) -> list[int]:
    """Return the ids of hosts with this name, with any scheme and port."""
    host_name = host.lower()
    numbers = [number for number, name in enumerate(snapshot.hosts) if name == host_name]
    if not numbers:
        raise UsageError(f"no page of host {host} is known: use a name such as example.org")
    return numbers


def _block(
    snapshot: Snapshot, pages: Pages, ranks: Pages, scores_by_name: Mapping[str, Values]
) -> Block:
    places = questions.locations(snapshot.connection, pages.tolist())
    values = tables.values_of(snapshot.connection, pages.tolist())
    columns = _document_columns(snapshot, pages) | {
        "rank": ranks.tolist(),
        "url": places.urls,
        "host": list(map(host_name, places.origins)),
        "importance": snapshot.importance[pages].tolist(),
        "cash": snapshot.frontier.ledger.cash_of(pages).tolist(),
        "history": snapshot.frontier.window.histories(pages).tolist(),
        "inlinks": snapshot.inlinks_of(pages).tolist(),
        "state": [LABELS[state] for state in snapshot.states[pages].tolist()],
        "depth": places.depths,
        "like": _like(snapshot, pages),
        "value": [values[page] / FULL_VALUE if page in values else None for page in pages.tolist()],
    }
    in_order: Block = {name: columns[name] for name in COLUMNS}
    return in_order | {name: nan_as_none(scores[pages]) for name, scores in scores_by_name.items()}


def _like(snapshot: Snapshot, pages: Pages) -> list[str]:
    """Return the URL of each page's original, or "" if that is the page itself."""
    originals = snapshot.near_duplicates.originals_of(pages)
    alike = (originals >= 0) & (originals != pages)
    first_pages, places = np.unique(originals[alike], return_inverse=True)
    locations = questions.locations(snapshot.connection, first_pages.tolist()).urls
    urls = np.full(len(pages), "", object)
    urls[alike] = np.array([*locations, ""], object)[places]
    return list(urls)


def _document_columns(snapshot: Snapshot, pages: Pages) -> dict[str, list[Any]]:
    """Return the columns from the documents of pages; empty for pages that were not read."""
    numbers = pages.tolist()
    columns: dict[str, list[Any]] = {
        name: [None] * len(pages) for name in ("status", "first_fetched", "last_fetched", "noindex")
    }
    columns["title"] = [""] * len(pages)
    places = {page: place for place, page in enumerate(numbers)}
    for document in questions.documents(snapshot.connection, numbers):
        place = places[document.page]
        columns["title"][place] = document.title
        columns["first_fetched"][place] = iso(document.first_at)
        columns["last_fetched"][place] = iso(document.last_at)
        columns["noindex"][place] = bool(document.noindex)
        if snapshot.was_read[document.page]:
            columns["status"][place] = document.status or None
    # Pages that were not read have the status of their last response.
    unread = np.flatnonzero((snapshot.states[pages] != State.UNREAD) & ~snapshot.was_read[pages])
    statuses = request_log.last_values(snapshot.connection, "status", pages[unread].tolist())
    for place, status in zip(unread.tolist(), statuses, strict=True):
        columns["status"][place] = status
    return columns
