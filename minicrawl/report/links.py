"""Reports on links.

backlinks  the links to a page and from it
gifts      the cash that one page received
words      the words in and around links
written    links as written, with their texts
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged, StoreError
from minicrawl.export.cells import Block
from minicrawl.graph.csr import Csr
from minicrawl.model import PageId, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.archived import PageVersion, kept_pages, last_version
from minicrawl.report.flows import final_pages, flows, linked_from, links_as_written, page_links
from minicrawl.report.link_graphs import refuse_without_links, urls
from minicrawl.report.problems import GAP, BrokenLink
from minicrawl.report.ranks import Pages, PageSelection, places_of_largest, selected_pages
from minicrawl.report.snapshot import LABELS, Snapshot, last_spent, page_of
from minicrawl.store import questions, tables
from minicrawl.store.derived import backlinks_of, backlinks_step, keep_backlinks, reading_beside
from minicrawl.store.records import reporting_damage
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.documents import parse_document
from minicrawl.web.html_page import ParseOptions
from minicrawl.web.references import Reference, References, parted, read_entry, references
from minicrawl.web.responses import DocumentType
from minicrawl.web.urls import resolve, split
from minicrawl.wording import iso

# ================================================================ backlinks
#
# Links to a page, and links from a page.
#
# Laws: a link to a page that stands for another counts for that other page, as in the ranks. A link
# from a page to itself does not count. The answer is always current: links newer than the index are
# read from the log, and pages with a newer turn are excluded from the index. If much is newer, the
# index is rebuilt. If the index cannot be written, it is not used.
#
# giver       a page that links to another one, and gives it cash
# duplicates  the pages that stand for another page

_FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is used while at most `_FEW_STEPS`, or an eighth of its steps, are newer."""

Numbers = NDArray[np.int64]


class LinkedPage(NamedTuple):
    """Page at the other end of a link."""

    url: str
    importance: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """Most important pages that a page is linked with."""

    url: str
    stands_for: str | None
    count: int
    """Number of all linked pages."""
    pages: list[LinkedPage]

    def as_json(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        return asdict(self) | {"pages": [page._asdict() for page in self.pages]}


def backlinks(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = lambda _share: None
) -> Linked:
    """Return the pages that link to this page, or to the page it stands for. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    found = np.unique(linking_pages(snapshot, _standing_for(snapshot, end), tell))
    return _linked(snapshot, page, found[found != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """Return the pages that this page links to. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    stands_for = snapshot.frontier.books.stands_for
    ends = {stands_for(link) for link in snapshot.frontier.spendings.of(page).links}
    return _linked(snapshot, page, np.array(sorted(ends - {page}), dtype=np.int64), count)


def _linked(snapshot: Snapshot, page: PageId, others: Numbers, count: int) -> Linked:
    best = others[places_of_largest(snapshot.importance[others], count)]
    columns = (
        urls(snapshot, best),
        snapshot.importance[best].tolist(),
        [LABELS[state] for state in snapshot.states[best].tolist()],
    )
    end = snapshot.frontier.books.stands_for(page)
    return Linked(
        url=snapshot.url(page),
        stands_for=None if end == page else snapshot.url(end),
        count=len(others),
        pages=list(map(LinkedPage._make, zip(*columns, strict=True))),
    )


def _standing_for(snapshot: Snapshot, end: PageId) -> list[int]:
    """Return the page, and those whose cash goes to it."""
    books = snapshot.frontier.books
    return [end, *(page for page in books.forwards if books.stands_for(page) == end)]


def linking_pages(snapshot: Snapshot, pages: Sequence[int], tell: Progress) -> Numbers:
    """Return the pages that link to any of these pages, by the links as written."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        step = backlinks_step(derived)
        if derived is not None and step is not None and _is_near(snapshot, step):
            known = backlinks_of(derived, pages)
            return np.concatenate(
                (_still_valid(snapshot, known, step), _newer(snapshot, pages, step))
            )
    inlinks = _inlinks(snapshot, tell)
    with suppress(StoreError):
        keep_backlinks(snapshot.path, snapshot.connection, snapshot.frontier.last_seq, inlinks)
    return np.concatenate([inlinks.targets_of(page) for page in pages]).astype(np.int64)


def _is_near(snapshot: Snapshot, step: int) -> bool:
    """Return True if the index is not newer than the snapshot, and not much older."""
    return 0 <= snapshot.frontier.last_seq - step <= max(_FEW_STEPS, step // _MANY_OF)


def _still_valid(snapshot: Snapshot, givers: NDArray[np.int32], step: int) -> Numbers:
    """Return the givers whose links have not changed since the index was built."""
    last = last_spent(snapshot.connection, snapshot.frontier)[givers]
    return givers[(last > 0) & (last <= step)].astype(np.int64)


def _newer(snapshot: Snapshot, pages: Iterable[int], step: int) -> Numbers:
    wanted = list(pages)
    found = [
        block.givers[np.isin(block.ends, wanted)] for block in links_as_written(snapshot, step)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _inlinks(snapshot: Snapshot, tell: Progress) -> Csr:
    """Return the reversed graph of all links as written."""
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in links_as_written(snapshot, tell=tell):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    return Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))


# ================================================================ gifts
#
# Cash that one page received: from which pages, and when.
#
# Law: a gift is the share of the giver's history that its last spending sent to the page, and is
# dated by the giver's last request. So the history ends with the sum of all gifts, however it
# developed.

MOST_MOMENTS = 120


class CashGifts(NamedTuple):
    """Givers of cash to one page, and the units that each gave."""

    givers: NDArray[np.int64]
    units: NDArray[np.float64]


class CashSoFar(NamedTuple):
    """Cash that a page had received by a moment, and the number of its givers."""

    at: str
    units: float
    pages: int


def gifts_to(snapshot: Snapshot, page: PageId, tell: Progress) -> CashGifts:
    """Return the cash that each page gave to this one."""
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for found in flows(snapshot, tell):
        here = np.flatnonzero(found.ends == page)
        givers.append(found.givers[here])
        units.append(snapshot.histories(found.givers[here]) * found.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return CashGifts(names, sums.astype(np.float64, copy=False))


def history_of(snapshot: Snapshot, gifts: CashGifts) -> list[CashSoFar]:
    """Return the running sum of the gifts at up to `MOST_MOMENTS` moments.

    The first and the last moment are included. Imported pages were never requested, and are
    omitted.
    """
    asked = questions.last_times(snapshot.connection, gifts.givers.tolist())
    times = np.array([np.nan if at is None else at for at in asked])
    order = np.argsort(times)[: int(np.count_nonzero(~np.isnan(times)))]
    sums = np.cumsum(gifts.units[order])
    steps = np.linspace(0, len(order) - 1, min(len(order), MOST_MOMENTS)).astype(int)
    return [
        CashSoFar(iso(float(times[order[step]])), float(sums[step]), int(step) + 1)
        for step in steps
    ]


# ================================================================ words
#
# Words in and around links, from the last archived version of each page.
#
# Laws: the context of a link is 50 characters on either side, as for `crawl --focus-words`. A page
# that was archived without markup, or is damaged, has no words.

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""Types of documents whose links have words."""


class LinkWords(NamedTuple):
    """Link of a page."""

    source: int
    """Index of the page among the requested ones."""
    target: str
    words: str


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[LinkWords]:
    """Yield all links of these pages; nothing if pages are not archived."""
    if tables.archive_end(snapshot.connection) is None:
        return
    options = ParseOptions(with_words=True, strip_marks=snapshot.frontier.terms.strip_marks)
    with kept_pages(snapshot) as archive:
        for source, url in enumerate(urls):
            if (answer := _last(archive, url)) is None:
                continue
            page = parse_document(answer.body, url, answer.headers, options, types=WITH_WORDS)
            for target, words in zip(page.links, page.words, strict=True):
                yield LinkWords(source, target, words)


def _last(archive: ArchiveReader, url: str) -> Answer | None:
    try:
        page = last_version(archive, url)
    except Damaged:  # `minicrawl check` reports it
        return None
    return None if page is None or page.answer.kind is RecordKind.TEXT else page.answer


# ================================================================ written
#
# Links as written in the pages, without following redirects.
#
# Laws: the store alone defines which pages link to which. The attributes of a link, text and rel,
# come from the last archived version of its page, or from the store if it was crawled with links
# kept; otherwise they are empty. Each page is read once, and only pages that are shown.

_PAGES_AT_ONCE = 256
"""Cached pages."""
_ROWS_AT_ONCE = 10_000
_NOTHING = References()


class WrittenLink(NamedTuple):
    """Link as written. `end` is where the target redirects, if it does."""

    source: str
    target: str
    end: str
    state: str  # of the end
    text: str
    rel: str
    written: str


RAW_COLUMNS = WrittenLink._fields


class LinkEnds(NamedTuple):
    """Link, by the ids and the URLs of its pages."""

    giver: PageId
    taker: PageId
    source: str
    target: str


class StoredReferences:
    """Link attributes from the store itself."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._written = WrittenLinks(snapshot.connection)
        self._of = lru_cache(_PAGES_AT_ONCE)(self._read)

    def links(self, link: LinkEnds) -> list[Reference]:
        """Return the attributes of a link, or an empty list."""
        if not self._written:
            return []
        with reporting_damage(self._snapshot.path):
            entry = self._of(link.giver).get(link.taker)
        if entry is None:
            return []
        found = read_entry(entry, link.source, link.target)
        return [Reference(found.written, found.text, found.rel, "a")]

    def _read(self, page: PageId) -> dict[int, str]:
        """Return the attributes of a page's links by target."""
        links = self._snapshot.frontier.spendings.of(page).links
        told = self._written.of(page, links)
        if told is None:
            return {}
        return dict(zip(links, parted(told.decode("utf-8", "replace")), strict=True))


class PageReferences:
    """References of pages, from the archive or the store. Use it as a context manager."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._open = ExitStack()
        has_pages = tables.archive_end(snapshot.connection) is not None
        self._archive = self._open.enter_context(kept_pages(snapshot)) if has_pages else None
        self._stored = StoredReferences(snapshot)
        self._strip_marks = snapshot.frontier.terms.strip_marks
        self.of: Callable[[str], References] = lru_cache(_PAGES_AT_ONCE)(self._read)
        """Function that returns the references of the page at a URL; empty if it is not archived.
        """
        self._by_target = lru_cache(_PAGES_AT_ONCE)(self._resolved)

    def __enter__(self) -> "PageReferences":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def has(self, url: str) -> bool:
        """Return True if the page is archived with its markup."""
        return self.of(url) is not _NOTHING

    def links(self, link: LinkEnds) -> list[Reference]:
        """Return the links of one page that lead to the other one, in page order."""
        return self._by_target(link.source).get(link.target) or self._stored.links(link)

    def resolve(self, source: str, written: str) -> str | None:
        """Return the URL that a page's reference leads to, or None if it is not a web URL."""
        base = self.of(source).base
        found = resolve(base, source) if base else None
        leads = resolve(written, found.url if found else source, strip_marks=self._strip_marks)
        return None if leads is None else leads.url

    def _resolved(self, source: str) -> dict[str, list[Reference]]:
        found: dict[str, list[Reference]] = {}
        stays = self.of(source).base is None
        for link in self.of(source).links:
            if stays and link.written.startswith("#"):  # a fragment of the same page
                continue
            if (url := self.resolve(source, link.written)) is not None:
                found.setdefault(url, []).append(link)
        return found

    def _read(self, url: str) -> References:
        page = None if self._archive is None else _last_version(self._archive, url)
        is_html = page is not None and page.document is DocumentType.HTML
        return references(page.markup) if page is not None and is_html else _NOTHING


def _last_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """Return the last version, or None if it is damaged; `minicrawl check` reports that."""
    try:
        return last_version(archive, url)
    except Damaged:
        return None


# ---------------------------------------------------------------- one page


def links_of(snapshot: Snapshot, text: str, count: int = 0) -> list[WrittenLink]:
    """Return the links of a page, those to important pages first. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    targets = np.array(linked_from(snapshot, page), dtype=np.int64)
    best = targets[places_of_largest(snapshot.importance[targets], count)]
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, np.full(len(best), page), best, found))


def links_to(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = unreported
) -> list[WrittenLink]:
    """Return the links to a page and to its duplicates, those from important pages first."""
    refuse_without_links(snapshot)
    end = snapshot.frontier.books.stands_for(page_of(snapshot, text))
    pairs = [
        (giver, target)
        for target in _standing_for(snapshot, end)
        for giver in np.unique(linking_pages(snapshot, [target], tell)).tolist()
        if giver != target and snapshot.states[giver] == State.FETCHED  # not a copy
    ]
    givers, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    best = places_of_largest(snapshot.importance[givers], count)
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, givers[best], targets[best], found))


def _rows(
    snapshot: Snapshot, givers: Pages, targets: Pages, found: PageReferences
) -> Iterator[WrittenLink]:
    """Yield a row for each link; one row if its attributes are unknown."""
    ends = final_pages(snapshot)[targets]
    columns = (urls(snapshot, pages) for pages in (givers, targets, ends))
    labels = [LABELS[state] for state in snapshot.states[ends].tolist()]
    pairs = zip(givers.tolist(), targets.tolist(), strict=True)
    for (giver, taker), source, target, end, state in zip(pairs, *columns, labels, strict=True):
        row = WrittenLink(source, target, "" if end == target else end, state, "", "", "")
        links = found.links(LinkEnds(giver, taker, source, target))
        for link in links:
            yield row._replace(text=link.text, rel=link.rel, written=link.written)
        if not links:
            yield row


# ---------------------------------------------------------------- all pages


def all_links(
    snapshot: Snapshot, selection: PageSelection, tell: Progress = unreported
) -> Iterator[Block]:
    """Yield the links between the selected pages, as blocks of columns."""
    refuse_without_links(snapshot)
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[selected_pages(snapshot, selection)] = True
    with PageReferences(snapshot) as found:
        for block in page_links(snapshot, tell):
            inside = is_chosen[block.givers] & is_chosen[block.ends]
            givers, targets = block.givers[inside], block.ends[inside]
            for start in range(0, len(givers), _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                yield _as_block(_rows(snapshot, givers[some], targets[some], found))


def _as_block(rows: Iterable[WrittenLink]) -> Block:
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * len(RAW_COLUMNS)
    return dict(zip(RAW_COLUMNS, map(list, columns), strict=True))


def with_texts(snapshot: Snapshot, found: Sequence[BrokenLink]) -> list[BrokenLink]:
    """Return the broken links with their texts; of several to one target, the first text."""
    with PageReferences(snapshot) as pages:
        return [link._replace(text=link.text or _text(snapshot, pages, link)) for link in found]


def _text(snapshot: Snapshot, pages: PageReferences, link: BrokenLink) -> str:
    written_to = link.through.split(GAP)[0] if link.through else link.target
    ends = [split(link.source), split(written_to)]
    giver, taker = questions.find_all(snapshot.connection, ends)
    if giver is None or taker is None:
        return ""
    links = pages.links(LinkEnds(giver, taker, link.source, written_to))
    return next((one.text for one in links if one.text), "")
