"""Links as they are written in the pages, redirects not followed.

Laws: which pages link to which is told by the store alone. What a link says, its text and its rel,
is read from the last version of its page in the archive, or from the store if it was crawled to
keep links; without either, these are empty. Each page is read once, and no more of them than are
shown.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from minicrawl.archive.reader import ArchiveReader
from minicrawl.errors import Damaged
from minicrawl.export.cells import Block
from minicrawl.model import PageId, State
from minicrawl.progress import Progress, unreported
from minicrawl.report.archived.pages import PageVersion, kept_pages, last_version
from minicrawl.report.links.backlinks import linking_pages
from minicrawl.report.links.flows import final_pages, linked_from, page_links
from minicrawl.report.links.graphs import refuse_without_links, urls
from minicrawl.report.links.problems import GAP, BrokenLink
from minicrawl.report.ranks import Pages, PageSelection, places_of_largest, selected_pages
from minicrawl.report.snapshot import LABELS, Snapshot, page_of
from minicrawl.store import questions, tables
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.documents.kinds import DocumentType
from minicrawl.web.html.references import Reference, References, references
from minicrawl.web.html.written import parted, read_entry
from minicrawl.web.urls import resolve, split

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
