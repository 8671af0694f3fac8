"""Reports on links: cash flows, graphs, and the links of one page.

backlinks  the links to a page and from it
gifts      the cash that one page got
flows      the links of all pages, with the cash on each
graphs     the graph of pages or hosts, for files
problems   broken links, redirects, orphans, duplicates
written    links as they are written, with their texts
requisites  what kept pages need to be shown
words      the words in and around links
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
from minicrawl.store import questions as fetches
from minicrawl.store.derived import backlinks_of, backlinks_step, keep_backlinks, reading_beside
from minicrawl.store.records import reporting_damage
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.documents.document import parse_document
from minicrawl.web.documents.kinds import DocumentType
from minicrawl.web.html.markup import parted, read_entry
from minicrawl.web.html.page import ParseOptions
from minicrawl.web.html.references import Reference, References, references
from minicrawl.web.urls import resolve, split
from minicrawl.wording import iso

# ================================================================ backlinks
#
# The links to a page, and the links from a page.
#
# Laws: a link to a page that stands for another one counts for that page, as in the ranks. A link
# from a page to itself does not count. The answer is always current: links that are newer than the
# index are read from the log, and pages that had another turn since are left out of the index. If
# much is newer, the index is built again. If the index cannot be written, the answer comes without
# it.
#
# giver       a page that links to another one, and gives it cash
# duplicates  the pages that stand for another page

_FEW_STEPS = 20_000
_MANY_OF = 8
"""An index is used until this many steps are newer, or one for each eight steps that it has."""

Numbers = NDArray[np.int64]


class LinkedPage(NamedTuple):
    """A page at the other end of a link."""

    url: str
    importance: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The most important pages that a page is linked with."""

    url: str
    stands_for: str | None
    count: int
    """Of all linked pages."""
    pages: list[LinkedPage]

    def as_json(self) -> dict[str, object]:
        """The values by name."""
        return asdict(self) | {"pages": [page._asdict() for page in self.pages]}


def backlinks(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = lambda _share: None
) -> Linked:
    """The pages that link to this page, or to the page it stands for. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    end = snapshot.frontier.books.stands_for(page)
    found = np.unique(linking_pages(snapshot, _with_duplicates(snapshot, end), tell))
    return _linked(snapshot, page, found[found != end], count)


def links(snapshot: Snapshot, text: str, count: int = 0) -> Linked:
    """The pages that this page links to. `count` 0 is all."""
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


def _with_duplicates(snapshot: Snapshot, end: int) -> list[int]:
    books = snapshot.frontier.books
    return [end, *(page for page in books.forwards if books.stands_for(page) == end)]


def linking_pages(snapshot: Snapshot, pages: Sequence[int], tell: Progress) -> Numbers:
    """The pages that link to any of these pages, by the links as they were written."""
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
    """Whether the index is not newer than the snapshot, and not much older."""
    return 0 <= snapshot.frontier.last_seq - step <= max(_FEW_STEPS, step // _MANY_OF)


def _still_valid(snapshot: Snapshot, givers: NDArray[np.int32], step: int) -> Numbers:
    """Those whose links have not changed since the index was built."""
    last = last_spent(snapshot.connection, snapshot.frontier)[givers]
    return givers[(last > 0) & (last <= step)].astype(np.int64)


def _newer(snapshot: Snapshot, pages: Iterable[int], step: int) -> Numbers:
    wanted = list(pages)
    found = [
        block.givers[np.isin(block.ends, wanted)] for block in links_as_written(snapshot, step)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _inlinks(snapshot: Snapshot, tell: Progress) -> Csr:
    """All links as they were written, reversed."""
    givers, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for block in links_as_written(snapshot, tell=tell):
        givers.append(block.givers.astype(np.int32))
        ends.append(block.ends.astype(np.int32))
    return Csr.from_edges(len(snapshot), np.concatenate(ends), np.concatenate(givers))


# ================================================================ gifts
#
# The cash that one page got: from whom, and when.
#
# Law: a gift is what its giver spent last, of all it has ever had; it counts from the last request
# for the giver on. So the history ends with the sum of all gifts, however it has come about.

MOST_MOMENTS = 120


class CashGifts(NamedTuple):
    """The pages that gave to one page, and the units that each of them gave."""

    givers: NDArray[np.int64]
    units: NDArray[np.float64]


class CashSoFar(NamedTuple):
    """What a page had got at a moment, and from how many pages."""

    at: str
    units: float
    pages: int


def gifts_to(snapshot: Snapshot, page: PageId, tell: Progress) -> CashGifts:
    """From each page that links to it."""
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for found in flows(snapshot, tell):
        here = np.flatnonzero(found.ends == page)
        givers.append(found.givers[here])
        units.append(snapshot.histories(found.givers[here]) * found.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return CashGifts(names, sums.astype(np.float64, copy=False))


def history_of(snapshot: Snapshot, gifts: CashGifts) -> list[CashSoFar]:
    """How the gifts added up; at most `MOST_MOMENTS` of them, among these the first and the last.

    Pages that were imported were never requested, and are left out.
    """
    asked = fetches.last_times(snapshot.connection, gifts.givers.tolist())
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
# The words in and around links, from the last version of each page in the archive.
#
# Law: what is around a link are the 50 characters on either side, as `crawl --focus-words` sees
# them. A page that was not kept with its markup, or is damaged, says nothing of its links.

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""The types of documents whose links have words."""


class LinkWords(NamedTuple):
    """A link of a page."""

    source: int
    """The place of the page among those that were asked for."""
    target: str
    words: str


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[LinkWords]:
    """All links of these pages; none if no page is kept."""
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
    except Damaged:  # `minicrawl check` names it
        return None
    return None if page is None or page.answer.kind is RecordKind.TEXT else page.answer


# ================================================================ written
#
# Links as they are written in the pages, redirects not followed.
#
# Laws: which pages link to which is told by the store alone. What a link says, its text and its
# rel, is read from the last version of its page in the archive, or from the store if it was crawled
# to keep links; without either, these are empty. Each page is read once, and no more of them than
# are shown.

_PAGES_AT_ONCE = 256
"""Pages that were read from the archive and may be asked for again soon."""
_ROWS_AT_ONCE = 10_000
_NOTHING = References()


class WrittenLink(NamedTuple):
    """A link as it is written. `end` is where redirects lead from the target, if they do."""

    source: str
    target: str
    end: str
    state: str  # of the end
    text: str
    rel: str
    written: str


RAW_COLUMNS = WrittenLink._fields


class LinkEnds(NamedTuple):
    """A link, by the ids and by the URLs of its pages."""

    giver: PageId
    taker: PageId
    source: str
    target: str


class StoredReferences:
    """What the links of pages say, from the store itself."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._written = WrittenLinks(snapshot.connection)
        self._of = lru_cache(_PAGES_AT_ONCE)(self._read)

    def links(self, link: LinkEnds) -> list[Reference]:
        """What is known of a link."""
        if not self._written:
            return []
        with reporting_damage(self._snapshot.path):
            entry = self._of(link.giver).get(link.taker)
        if entry is None:
            return []
        found = read_entry(entry, link.source, link.target)
        return [Reference(found.written, found.text, found.rel, "a")]

    def _read(self, page: PageId) -> dict[int, str]:
        """The entries of a page by the pages that its links lead to."""
        links = self._snapshot.frontier.spendings.of(page).links
        told = self._written.of(page, links)
        if told is None:
            return {}
        return dict(zip(links, parted(told.decode("utf-8", "replace")), strict=True))


class PageReferences:
    """What pages refer to, from the archive of a store or the store. Use it in a `with`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._open = ExitStack()
        has_pages = tables.archive_end(snapshot.connection) is not None
        self._archive = self._open.enter_context(kept_pages(snapshot)) if has_pages else None
        self._stored = StoredReferences(snapshot)
        self._strip_marks = snapshot.frontier.terms.strip_marks
        self.of: Callable[[str], References] = lru_cache(_PAGES_AT_ONCE)(self._read)
        """What the page at a URL refers to; nothing if it was not kept."""
        self._by_target = lru_cache(_PAGES_AT_ONCE)(self._resolved)

    def __enter__(self) -> "PageReferences":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def has(self, url: str) -> bool:
        """Whether the page is kept with its markup."""
        return self.of(url) is not _NOTHING

    def links(self, link: LinkEnds) -> list[Reference]:
        """The links of one page that lead to the other one, in the order of the page."""
        return self._by_target(link.source).get(link.target) or self._stored.links(link)

    def resolve(self, source: str, written: str) -> str | None:
        """The URL that a reference of a page leads to; None if it is none of the web."""
        base = self.of(source).base
        found = resolve(base, source) if base else None
        leads = resolve(written, found.url if found else source, strip_marks=self._strip_marks)
        return None if leads is None else leads.url

    def _resolved(self, source: str) -> dict[str, list[Reference]]:
        found: dict[str, list[Reference]] = {}
        stays = self.of(source).base is None
        for link in self.of(source).links:
            if stays and link.written.startswith("#"):  # a place on the page
                continue
            if (url := self.resolve(source, link.written)) is not None:
                found.setdefault(url, []).append(link)
        return found

    def _read(self, url: str) -> References:
        page = None if self._archive is None else _last_version(self._archive, url)
        is_html = page is not None and page.document is DocumentType.HTML
        return references(page.markup) if page is not None and is_html else _NOTHING


def _last_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """A version that is damaged says nothing: `minicrawl check` names it."""
    try:
        return last_version(archive, url)
    except Damaged:
        return None


# ---------------------------------------------------------------- of a page


def links_of(snapshot: Snapshot, text: str, count: int = 0) -> list[WrittenLink]:
    """The links of a page, those to important pages first. `count` 0 is all."""
    refuse_without_links(snapshot)
    page = page_of(snapshot, text)
    targets = np.array(linked_from(snapshot, page), dtype=np.int64)
    best = targets[places_of_largest(snapshot.importance[targets], count)]
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, np.full(len(best), page), best, found))


def links_to(
    snapshot: Snapshot, text: str, count: int = 0, tell: Progress = unreported
) -> list[WrittenLink]:
    """The links to a page and to all that stands for it, those of important pages first."""
    refuse_without_links(snapshot)
    end = snapshot.frontier.books.stands_for(page_of(snapshot, text))
    pairs = [
        (giver, target)
        for target in _standing_for(snapshot, end)
        for giver in np.unique(linking_pages(snapshot, [target], tell)).tolist()
        if giver != target and snapshot.states[giver] == State.FETCHED  # a copy has no links
    ]
    givers, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    best = places_of_largest(snapshot.importance[givers], count)
    with PageReferences(snapshot) as found:
        return list(_rows(snapshot, givers[best], targets[best], found))


def _standing_for(snapshot: Snapshot, end: PageId) -> list[int]:
    books = snapshot.frontier.books
    return [end, *(page for page in books.forwards if books.stands_for(page) == end)]


def _rows(
    snapshot: Snapshot, givers: Pages, targets: Pages, found: PageReferences
) -> Iterator[WrittenLink]:
    """A row for each link; one row for a link of which nothing is kept."""
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


# ---------------------------------------------------------------- of all pages


def all_links(
    snapshot: Snapshot, selection: PageSelection, tell: Progress = unreported
) -> Iterator[Block]:
    """The links between the selected pages, in blocks of columns."""
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
    """Broken links with what they say; where a page has several to a target, the first one."""
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
