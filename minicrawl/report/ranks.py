"""Pages by importance, or by another rank.

Law: the rank of a page is its place among all known pages, whichever pages are selected. Ties go to
the page that was found first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from itertools import chain
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.export.cells import COLUMNS, Block, ExportRow, rows_of
from minicrawl.model import READ_STATES, STANDS_FOR_ANOTHER, PageId, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.kept import Floats, scores
from minicrawl.report.snapshot import LABELS, Snapshot, host_name
from minicrawl.store import questions
from minicrawl.store.derived import OPIC
from minicrawl.store.records import DocumentRow, reporting_damage
from minicrawl.wording import iso

Pages = NDArray[np.int64]
Values = NDArray[np.float64] | NDArray[np.uint32]

_ROWS_AT_ONCE = 10_000
_SCORE, _FOUND, _ALIKE = "score", "found", "alike"
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
    noindex: bool = True
    only_pages: bool = False
    """Omit redirects, duplicates and pages that do not exist."""
    folds: bool = False
    """Show only the best of each group of near-duplicates."""

    @property
    def is_all(self) -> bool:
        """True if only `count` and `only_pages` omit pages."""
        return not (self.host or self.unread or self.fetched or self.states) and self.noindex


class RankedPage(NamedTuple):
    """Page in `top`. `score` is by the requested rank; `found` is the order of discovery."""

    rank: int
    url: str
    importance: float
    cash: float
    history: float
    inlinks: int
    depth: int
    found: int
    fetched: bool
    status: int | None
    title: str
    host: str
    score: float | None
    near_duplicates: int


def top(snapshot: Snapshot, selection: PageSelection) -> Iterator[RankedPage]:
    """Yield the best of the selected pages."""
    read = {state.label for state in READ_STATES}
    found_as = np.arange(1, len(snapshot) + 1, dtype=np.uint32)
    alike = np.zeros(len(snapshot), dtype=np.uint32)
    alike[snapshot.near_duplicates.pages] = snapshot.near_duplicates.others()
    columns: dict[str, Values] = {
        _SCORE: scores(snapshot, selection.by),
        _FOUND: found_as,
        _ALIKE: alike,
    }
    for block in _blocks(snapshot, selection, columns, unreported):
        others = (block[name] for name in columns)
        for row, score, found, near in zip(rows_of(block), *others, strict=True):
            yield RankedPage(
                rank=row.rank,
                url=row.url,
                importance=row.importance,
                cash=row.cash,
                history=row.history,
                inlinks=row.inlinks,
                depth=row.depth,
                found=int(found),
                fetched=row.state in read,
                status=row.status,
                title=row.title,
                host=row.host,
                score=score,
                near_duplicates=int(near),
            )


def rows(snapshot: Snapshot, selection: PageSelection) -> Iterator[ExportRow]:
    """Yield the rows of the selected pages, best first."""
    return chain.from_iterable(map(rows_of, blocks(snapshot, selection)))


STANDS_FOR = "stands_for"
LIST_COLUMNS = (*COLUMNS, STANDS_FOR)


def sorted_rows(
    snapshot: Snapshot, selection: PageSelection, column: str, *, falling: bool = False
) -> list[dict[str, Any]]:
    """Return the selected pages sorted by a column. Pages without a value come last.

    Each also has the URL of the page that it stands for, if any.
    """
    selected = replace(selection, count=0)
    pages, _ = _ranked_pages(snapshot, selected)
    rows = (row._asdict() for block in blocks(snapshot, selected) for row in rows_of(block))
    numbered = zip(pages.tolist(), rows, strict=True)
    choose = nlargest if falling else nsmallest

    def place(pair: tuple[int, dict[str, Any]]) -> tuple[bool, Any]:
        value = pair[1][column]
        return ((value is not None) if falling else (value is None)), value or type(value)()

    chosen = choose(selection.count or len(pages), numbered, place)
    return [row | {STANDS_FOR: _stood_for(snapshot, page)} for page, row in chosen]


def _stood_for(snapshot: Snapshot, page: PageId) -> str:
    end = snapshot.frontier.books.stands_for(page)
    return "" if end == page else snapshot.url(end)


def blocks(
    snapshot: Snapshot,
    selection: PageSelection,
    others: Sequence[str] = (),
    tell: Progress = unreported,
) -> Iterator[Block]:
    """Yield the selected pages as blocks of columns, best first.

    The usual columns are followed by one for each rank in `others`.
    """
    columns = {score_column(name): scores(snapshot, name) for name in others}
    return _blocks(snapshot, selection, columns, tell)


def _blocks(
    snapshot: Snapshot, selection: PageSelection, columns: Mapping[str, Values], tell: Progress
) -> Iterator[Block]:
    pages, ranks = _ranked_pages(snapshot, selection)
    wanted, start = selection.count or len(pages), 0
    while wanted and start < len(pages):
        stop = start + min(wanted, _ROWS_AT_ONCE)
        with reporting_damage(snapshot.path):
            block = _block(
                snapshot, pages[start:stop], ranks[start:stop], columns, noindex=selection.noindex
            )
        yield block
        tell(stop / len(pages))
        wanted -= len(block["rank"])
        start = stop


def selected_pages(snapshot: Snapshot, selection: PageSelection) -> Pages:
    """Return the ids of the selected pages, best first."""
    pages, _ = _ranked_pages(snapshot, selection)
    if not selection.noindex:
        pages = pages[~np.isin(pages, questions.noindex_pages(snapshot.connection))]
    return pages[: selection.count or None]


def rank_of(values: NDArray[np.float64] | NDArray[np.int64], place: int) -> int:
    """Return the rank of the value at this place. The largest value has rank 1."""
    value = values[place]
    return (
        1 + int(np.count_nonzero(values > value)) + int(np.count_nonzero(values[:place] == value))
    )


def places_of_largest(values: NDArray[np.floating | np.int64], count: int) -> Pages:
    """Return the places of the `count` largest values, in order. Avoids a full sort for few."""
    if not 0 < count < len(values):
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    best = above[np.argsort(-values[above], kind="stable")]
    return np.concatenate((best, equal[: count - len(best)]))


def score_column(name: str) -> str:
    """Return the column name of a rank."""
    return f"rank_{name}"


def nan_as_none(values: Values) -> list[float | None]:
    """Return the values as a list, with None for NaN."""
    return [None if isnan(value) else value for value in values.tolist()]


def _ranked_pages(snapshot: Snapshot, selection: PageSelection) -> tuple[Pages, Pages]:
    """Return the selected pages and their ranks. Pages without a score come last."""
    values = scores(snapshot, selection.by)
    if selection.by != OPIC:  # in OPIC every page has a score
        np.nan_to_num(values, copy=False, nan=-1.0)
    if selection.is_all and not snapshot.frontier.counts[State.FOREIGN]:
        return _best_of_all(snapshot, values, selection)
    order = places_of_largest(values, 0)
    places = np.flatnonzero(_matches(snapshot, selection)[order])
    if selection.folds:
        places = places[snapshot.near_duplicates.first_of_groups(order[places])]
    return order[places], places + 1


def _best_of_all(
    snapshot: Snapshot, values: Floats, selection: PageSelection
) -> tuple[Pages, Pages]:
    """Return the best of all pages and their ranks. Avoids a full sort for few."""
    looked_at = selection.count
    while True:
        pages = places_of_largest(values, looked_at)
        ranks = np.arange(1, len(pages) + 1)
        if selection.only_pages:
            kept = ~np.isin(snapshot.states[pages], NO_PAGES)
            pages, ranks = pages[kept], ranks[kept]
        if selection.folds:
            kept = snapshot.near_duplicates.first_of_groups(pages)
            pages, ranks = pages[kept], ranks[kept]
        if not 0 < looked_at < len(values) or len(pages) >= selection.count:
            return pages, ranks
        looked_at *= 2


def _matches(snapshot: Snapshot, selection: PageSelection) -> NDArray[np.bool_]:
    matches: NDArray[np.bool_] = snapshot.states != State.FOREIGN
    if selection.unread:
        matches &= snapshot.states == State.UNREAD
    if selection.fetched:
        matches &= snapshot.was_read
    if selection.only_pages:
        matches &= ~np.isin(snapshot.states, NO_PAGES)
    if selection.states:
        matches &= np.isin(snapshot.states, list(selection.states))
    if selection.host:
        matches &= np.isin(snapshot.host_of, hosts_named(snapshot, selection.host))
    return matches


def pages_of_host(snapshot: Snapshot, host: str | None) -> Pages:
    """Return the pages of the hosts with this name, or all pages."""
    if host is None:
        return np.arange(len(snapshot))
    return np.flatnonzero(np.isin(snapshot.host_of, hosts_named(snapshot, host)))


def hosts_named(snapshot: Snapshot, host: str) -> list[int]:
    """Return the ids of hosts with this name, with any scheme and port."""
    wanted = host.lower()
    found = [number for number, name in enumerate(snapshot.hosts) if name == wanted]
    if not found:
        raise UsageError(f"no page of host {host} is known: use a name such as example.org")
    return found


def _block(
    snapshot: Snapshot, pages: Pages, ranks: Pages, others: Mapping[str, Values], *, noindex: bool
) -> Block:
    documents = list(questions.documents(snapshot.connection, pages.tolist()))
    if not noindex:
        hidden = [document.page for document in documents if document.noindex]
        shown = ~np.isin(pages, hidden)
        pages, ranks = pages[shown], ranks[shown]
        documents = [document for document in documents if not document.noindex]
    places = questions.locations(snapshot.connection, pages.tolist())
    columns = _document_columns(snapshot, pages, documents)
    return {
        "rank": ranks.tolist(),
        "url": places.urls,
        "host": list(map(host_name, places.origins)),
        "importance": snapshot.importance[pages].tolist(),
        "cash": snapshot.cash(pages).tolist(),
        "history": snapshot.histories(pages).tolist(),
        "inlinks": snapshot.inlinks_of(pages).tolist(),
        "state": [LABELS[state] for state in snapshot.states[pages].tolist()],
        "status": columns.statuses,
        "depth": places.depths,
        "title": columns.titles,
        "first_fetched": columns.first_at,
        "last_fetched": columns.last_at,
        "like": _like(snapshot, pages),
    } | {name: nan_as_none(values[pages]) for name, values in others.items()}


def _like(snapshot: Snapshot, pages: Pages) -> list[str]:
    """Return the URL of each page's original, or "" if that is the page itself."""
    originals = snapshot.near_duplicates.originals_of(pages)
    alike = (originals >= 0) & (originals != pages)
    wanted, places = np.unique(originals[alike], return_inverse=True)
    found = questions.locations(snapshot.connection, wanted.tolist()).urls
    urls = np.full(len(pages), "", object)
    urls[alike] = np.array([*found, ""], object)[places]
    return list(urls)


class _DocumentColumns(NamedTuple):
    """Columns from the documents of pages; empty for pages that were not read."""

    statuses: list[int | None]
    titles: list[str]
    first_at: list[str | None]
    last_at: list[str | None]


def _document_columns(
    snapshot: Snapshot, pages: Pages, documents: Iterable[DocumentRow]
) -> _DocumentColumns:
    count = len(pages)
    columns = _DocumentColumns([None] * count, [""] * count, [None] * count, [None] * count)
    places = {page: place for place, page in enumerate(pages.tolist())}
    for document in documents:
        place = places[document.page]
        columns.titles[place] = document.title
        columns.first_at[place] = iso(document.first_at)
        columns.last_at[place] = iso(document.last_at)
        if snapshot.was_read[document.page]:
            columns.statuses[place] = document.status or None
    _add_other_statuses(snapshot, pages, columns.statuses)
    return columns


def _add_other_statuses(snapshot: Snapshot, pages: Pages, statuses: list[int | None]) -> None:
    """Fill in the status of the last response of pages that were not read."""
    has_ended = snapshot.states[pages] != State.UNREAD
    others = np.flatnonzero(has_ended & ~snapshot.was_read[pages])
    found = questions.last_statuses(snapshot.connection, pages[others].tolist())
    for place, status in zip(others.tolist(), found, strict=True):
        statuses[place] = status
