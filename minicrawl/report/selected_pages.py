"""Selected pages of a store: as rows, best first, and as a graph.

ranks   pages by importance, or by another rank
graphs  the graph of the selected pages, or of their hosts, for files
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest, nsmallest
from itertools import chain
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.model import FULL_VALUE, READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.ports import Progress, unreported
from minicrawl.report.snapshot import (
    LABELS,
    Floats,
    Snapshot,
    _places,
    host_name,
    places_of_largest,
    refuse_without_links,
    scores,
    urls,
)
from minicrawl.report.store_graph import FlowLinks, final_pages, links_among, page_links
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC
from minicrawl.store.records import DocumentRow, reporting_damage
from minicrawl.wording import iso

# ================================================================ rows
#
# A page is one row, with the same columns in every format. Rows come in blocks, column by column:
# processing a whole column costs a fraction of processing each row.


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

LINK_COLUMNS = ("source", "target", "weight")
"""Columns of a file of links between URLs or hosts; the weight is an integer."""
PAGE_LINK_COLUMNS = (*LINK_COLUMNS, "end")
"""Columns of links between pages; `end` is the page that the target stands for, if any."""

Block = dict[str, Sequence[Any]]
"""Columns of some rows by name, of equal length: COLUMNS in order, then requested scores."""


def rows_of(block: Block) -> Iterator[ExportRow]:
    """Return the rows of a block, without the scores."""
    return map(ExportRow._make, zip(*map(block.__getitem__, COLUMNS), strict=True))


class Drawing(NamedTuple):
    """Directed graph."""

    attributes: Mapping[str, type]
    """Attributes of nodes besides id and label, by type; numbers may be None."""
    nodes: Iterable[Block]
    """Columns id, label and the attributes; an id is a number."""
    links: Iterable[Block]
    """Columns source, target and weight; source and target are node ids."""


# ================================================================ ranks
#
# Law: the rank of a page is its place among all known pages, whichever pages are selected. Ties
# go to the page that was found first.

Pages = NDArray[np.int64]
Numbers = NDArray[np.int64]
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


class RankedPage(NamedTuple):
    """Row of `top`. `score` is by the requested rank; `found` numbers pages by discovery."""

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

    Each row also has the URL of the page that its page stands for, if any.
    """
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
            block = _block(snapshot, pages[start:stop], ranks[start:stop], columns)
        yield block
        tell(stop / len(pages))
        wanted -= len(block["rank"])
        start = stop


def selected_pages(snapshot: Snapshot, selection: PageSelection) -> Pages:
    """Return the ids of the selected pages, best first."""
    pages, _ = _ranked_pages(snapshot, selection)
    return pages[: selection.count or None]


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
    order = snapshot.best if selection.by == OPIC else places_of_largest(values, 0)
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
        # If filters leave too few pages, twice as many are tried: sorting all pages of a large
        # store to show ten would take longer.
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
    if selection.among is not None:
        matches &= np.isin(np.arange(len(matches)), list(selection.among))
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


def _block(snapshot: Snapshot, pages: Pages, ranks: Pages, others: Mapping[str, Values]) -> Block:
    documents = list(questions.documents(snapshot.connection, pages.tolist()))
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
        "noindex": columns.noindex,
        "value": _values(snapshot, pages),
    } | {name: nan_as_none(values[pages]) for name, values in others.items()}


def _values(snapshot: Snapshot, pages: Pages) -> list[float | None]:
    found = tables.values_of(snapshot.connection, pages.tolist())
    return [found[page] / FULL_VALUE if page in found else None for page in pages.tolist()]


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
    noindex: list[bool | None]


def _document_columns(
    snapshot: Snapshot, pages: Pages, documents: Iterable[DocumentRow]
) -> _DocumentColumns:
    count = len(pages)
    columns = _DocumentColumns(
        [None] * count, [""] * count, [None] * count, [None] * count, [None] * count
    )
    places = {page: place for place, page in enumerate(pages.tolist())}
    for document in documents:
        place = places[document.page]
        columns.titles[place] = document.title
        columns.first_at[place] = iso(document.first_at)
        columns.last_at[place] = iso(document.last_at)
        columns.noindex[place] = bool(document.noindex)
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


# ================================================================ graphs
#
# Link graph of a store for files, of pages or of hosts, in blocks.
#
# Laws: the graph has the links from selected pages to selected pages, each once, including a page's
# link to itself. A redirect is not a link: a page is written with the page it stands for, and a
# link with the page its target stands for. A link to a redirect that is not selected is included if
# it leads to a selected page. The weight of a link between hosts is the number of links between
# their pages, or the sum of their weights in an imported graph; links within a host are a link of
# the host to itself. Memory holds the snapshot's columns and a number for each pair of linked
# hosts.

_PAIRS_AT_ONCE = 1 << 20


class _SelectedGraph:
    """Selected pages of a store, with extra scores and a progress callback."""

    def __init__(
        self,
        snapshot: Snapshot,
        selection: PageSelection,
        ranks: Sequence[str] = (),
        tell: Progress = unreported,
        *,
        rows_at_once: int = _ROWS_AT_ONCE,
        pairs_at_once: int = _PAIRS_AT_ONCE,
    ) -> None:
        refuse_without_links(snapshot)
        self._snapshot = snapshot
        self._pages = selected_pages(snapshot, selection)
        self._scores = {score_column(name): scores(snapshot, name) for name in ranks}
        self._tell = tell
        self._rows_at_once, self._pairs_at_once = rows_at_once, pairs_at_once


class PageGraph(_SelectedGraph):
    """Pages and the links between them. Node ids are page ids."""

    columns = PAGE_LINK_COLUMNS

    def drawing(self) -> Drawing:
        """Return the nodes and links of the graph."""
        attributes = {"importance": float, "host": str, "state": str, "stands_for": str}
        return Drawing(
            attributes | dict.fromkeys(self._scores, float), self._nodes(), self._links()
        )

    def named_links(self) -> Iterator[Block]:
        """Yield the links as written, with the URLs of their ends."""
        is_chosen, leads_to = _mask(self._snapshot, self._pages), final_pages(self._snapshot)
        for block in page_links(self._snapshot, self._tell):
            is_target_chosen = is_chosen[block.ends] | is_chosen[leads_to[block.ends]]
            inside = is_chosen[block.givers] & is_target_chosen
            sources, targets, weights = (column[inside] for column in block)
            pages = np.stack((sources, targets, leads_to[targets]))
            known, places = np.unique(pages, return_inverse=True)
            names = np.array([*urls(self._snapshot, known), ""], dtype=object)
            places = places.reshape(3, -1)
            places[2, pages[2] == pages[1]] = len(known)
            named = (names[row].tolist() for row in places)
            source, target, end = named
            yield {"source": source, "target": target, "weight": weights.tolist(), "end": end}

    def _nodes(self) -> Iterator[Block]:
        seen, leads_to = self._snapshot, final_pages(self._snapshot)
        for start in range(0, len(self._pages), self._rows_at_once):
            pages = self._pages[start : start + self._rows_at_once]
            ends = leads_to[pages]
            others = np.flatnonzero(ends != pages)
            stands_for = np.full(len(pages), "", dtype=object)
            stands_for[others] = urls(seen, ends[others])
            places = _places(seen, pages)
            yield {
                "id": pages.tolist(),
                "label": places.urls,
                "importance": seen.importance[pages].tolist(),
                "host": list(map(host_name, places.origins)),
                "state": [LABELS[state] for state in seen.states[pages].tolist()],
                "stands_for": stands_for.tolist(),
            } | {name: nan_as_none(values[pages]) for name, values in self._scores.items()}
            self._tell((start + len(pages)) / len(self._pages) / 2)

    def _links(self) -> Iterator[Block]:
        is_chosen = _mask(self._snapshot, self._pages)
        tell = lambda share: self._tell((1 + share) / 2)  # noqa: E731
        for block in links_among(self._snapshot, is_chosen, tell):
            yield _as_block(_distinct(block, len(self._snapshot)))


class HostGraph(_SelectedGraph):
    """Hosts and the links between them, regardless of scheme and port."""

    columns = LINK_COLUMNS

    @cached_property
    def _numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for name in self._snapshot.hosts:
            numbers.setdefault(name, len(numbers))
        return numbers

    @cached_property
    def _names(self) -> list[str]:
        return list(self._numbers)

    @cached_property
    def _host_of(self) -> Numbers:
        of_origin = [self._numbers[name] for name in self._snapshot.hosts]
        return np.array(of_origin, dtype=np.int64)[self._snapshot.host_of]

    def drawing(self) -> Drawing:
        """Return the nodes and links. Importance and scores are sums over the selected pages."""
        attributes = {"importance": float, "pages": int}
        return Drawing(
            attributes | dict.fromkeys(self._scores, float), self._nodes(), self._links()
        )

    def named_links(self) -> Iterator[Block]:
        """Yield the links with the names of the hosts."""
        names = self._names
        for block in self._links():
            ends = {end: [names[number] for number in block[end]] for end in ("source", "target")}
            yield ends | {"weight": block["weight"]}

    def _nodes(self) -> Iterator[Block]:
        columns = self._columns()
        order = np.argsort(-columns["importance"], kind="stable")
        hosts = order[columns["pages"][order] > 0]
        for start in range(0, len(hosts), self._rows_at_once):
            some = hosts[start : start + self._rows_at_once]
            yield {
                "id": some.tolist(),
                "label": [self._names[number] for number in some.tolist()],
            } | {name: values[some].tolist() for name, values in columns.items()}

    def _columns(self) -> Mapping[str, NDArray[Any]]:
        hosts, count = self._host_of[self._pages], len(self._names)
        return {
            "importance": self._summed(self._snapshot.importance),
            "pages": np.bincount(hosts, minlength=count),
        } | {name: self._summed(np.nan_to_num(values)) for name, values in self._scores.items()}

    def _summed(self, values: Floats) -> Floats:
        hosts = self._host_of[self._pages]
        summed: Floats = np.bincount(
            hosts, weights=values[self._pages], minlength=len(self._names)
        ).astype(np.float64, copy=False)
        return summed

    def _links(self) -> Iterator[Block]:
        is_given = self._snapshot.frontier.terms.imported
        pairs = _HostPairs(len(self._names), self._rows_at_once, self._pairs_at_once)
        for block in links_among(self._snapshot, _mask(self._snapshot, self._pages), self._tell):
            counts = block.weights if is_given else np.ones_like(block.weights)
            pairs.add(FlowLinks(self._host_of[block.givers], self._host_of[block.ends], counts))
        return map(_as_block, pairs.counted())


class _HostPairs:
    """Counter of linked pairs of hosts. New links are merged in batches."""

    def __init__(self, hosts: int, rows_at_once: int, pairs_at_once: int) -> None:
        self._hosts = max(hosts, 1)
        self._rows_at_once, self._pairs_at_once = rows_at_once, pairs_at_once
        self._keys = self._counts = np.empty(0, dtype=np.int64)
        self._new: list[tuple[Numbers, Numbers]] = []
        self._added = 0

    def add(self, found: FlowLinks) -> None:
        sources, targets, counts = found
        self._new.append((sources * self._hosts + targets, counts))
        self._added += len(counts)
        if self._added > max(self._pairs_at_once, len(self._keys)):
            self._count()

    def counted(self) -> Iterator[FlowLinks]:
        self._count()
        for start in range(0, len(self._keys), self._rows_at_once):
            some = slice(start, start + self._rows_at_once)
            sources, targets = np.divmod(self._keys[some], self._hosts)
            yield FlowLinks(sources, targets, self._counts[some])

    def _count(self) -> None:
        parts = [(self._keys, self._counts), *self._new]
        keys, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        self._new, self._added = [], 0
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(place, weights=counts).astype(np.int64)


def _mask(snapshot: Snapshot, pages: Numbers) -> NDArray[np.bool_]:
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[pages] = True
    return is_chosen


def _distinct(found: FlowLinks, pages: int) -> FlowLinks:
    """Return the links without duplicates, which arise where redirects meet."""
    _, firsts = np.unique(found.givers * pages + found.ends, return_index=True)
    return FlowLinks(*(column[firsts] for column in found))


def _as_block(found: FlowLinks) -> Block:
    givers, ends, weights = (column.tolist() for column in found)
    return {"source": givers, "target": ends, "weight": weights}
