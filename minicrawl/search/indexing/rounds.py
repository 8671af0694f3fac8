"""Brings the search index of a store up to date, from archived pages.

Laws: whenever the process is killed, the index has all pages up to its watermark, each once; work
after the watermark is repeated. The archive is read in the order of writing. An anchor text belongs
to the page that its URL stands for, read or not, once per linking site, and never to the page that
the link is on; indexed pages that got new anchors are updated after all pages are read.

round   a batch of pages: read, links noted, added, committed
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.segments import SEGMENT_BYTES, offset_of, scan, segment_of
from minicrawl.errors import UsageError
from minicrawl.frontier.url_table import UrlTable
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.archived.page_versions import kept_pages, taken_down_pages
from minicrawl.report.snapshot import Snapshot, host_name, snapshot
from minicrawl.search.entries import PageEntry
from minicrawl.search.index import SearchIndex
from minicrawl.search.indexing.boilerplate import HostLines, codes_of
from minicrawl.search.indexing.index_folder import (
    WITH_PAGES,
    clear_folder,
    has_index,
    locked_folder,
    opened_index,
    refuse_if_lost,
    why_pruned,
    why_useless,
)
from minicrawl.search.indexing.page_reader import PageReader, ReadPage
from minicrawl.search.near_duplicates import find_near_duplicates
from minicrawl.search.notes import AnchorRow, Notes, Watermark
from minicrawl.search.words.word_forms import language_of
from minicrawl.states import State
from minicrawl.store import questions, step_log, tables
from minicrawl.store.disk.trouble import translating_derived_errors
from minicrawl.store.reader import search_folder
from minicrawl.web.signatures import signature
from minicrawl.web.sites import site
from minicrawl.web.words import indexed

ROUND = 4_000
"""Pages per round; their texts take about 50 MB."""
_LIMITED_ROUND = 200
"""Pages per round if time is limited: a round that has read its pages adds them in any case."""
_ASKED_AT_ONCE = 64
_MAY_BE_FOUND = (
    State.UNREAD,
    State.ROBOTS,
    State.SCOPE,
    State.DEPTH,
    State.HOST_BUDGET,
    State.FOCUS,
    State.ALLOWANCE,
    State.TYPE,
)
"""States of unread pages that may be worth finding, by anchor texts."""
_LINKS_REMEMBERED, _TARGETS_REMEMBERED = 500_000, 1 << 16
_SHARE_OF_READING = 0.9
_SHARE_OF_INDEXING = 0.97


def unlimited() -> bool:
    """Return False: time is never over."""
    return False


class Indexed(NamedTuple):
    """Summary of a run."""

    pages: int
    """Number of pages that were read and added."""
    by_links: int
    """Number of pages that were added or updated because of links to them."""
    removed: int
    of_all: int
    """Number of pages in the index."""
    cut: Mapping[str, str] = {}
    """What limits have cut from texts in the index, by URL."""


def bring_up_to_date(
    store: Path,
    progress: Progress = unreported,
    say: Callable[[str], None] = lambda _: None,
    *,
    fresh: bool = False,
    completes: bool = True,
    is_over: Callable[[], bool] = unlimited,
) -> Indexed:
    """Bring the index of a store up to date. `say` receives the reason if it is rebuilt.

    Without `completes`, only pages that were read are added. New anchors of indexed pages, pages
    known only by links, and near-duplicates wait for the next run with it. All that is left when
    `is_over` returns True waits for the next run.
    """
    folder = search_folder(store)
    with snapshot(store) as view, kept_pages(view) as archive:
        if not archive.segments.folder.is_dir():
            raise UsageError(f"{archive.segments.folder} is gone: there are no pages to index")
        with locked_folder(folder), translating_derived_errors(folder):
            why = why_useless(folder, view.connection) or why_pruned(folder, archive)
            if fresh and has_index(folder) and not why:
                refuse_if_lost(archive, folder)
            if fresh or why:
                say(f"{folder} is rebuilt" + ("" if fresh else f": {why}"))
            if fresh or why or not has_index(folder):  # without an index, notes would be wrong
                clear_folder(folder)
            with opened_index(folder, view) as (index, notes):
                indexing = _Indexing(view, archive, index, notes, is_over)
                done = indexing.run(part(progress, 0, _SHARE_OF_INDEXING), completes=completes)
                if completes and not is_over():
                    birth, host_of = tables.birth(view.connection), view.host_of
                    find_near_duplicates(
                        folder, birth, index, notes.texts, lambda page: int(host_of[page])
                    )
                progress(1.0)
                return done


_RoundPages = dict[int, tuple[ReadPage, Sequence[int]]]
"""Pages of a round, with the codes of their lines."""


class _Indexing:
    def __init__(
        self,
        view: Snapshot,
        archive: ArchiveReader,
        index: SearchIndex,
        notes: Notes,
        is_over: Callable[[], bool],
    ) -> None:
        self._seen, self._archive, self._is_over = view, archive, is_over
        self._index, self._notes = index, notes
        self._urls = UrlTable(partial(_urls_of, view.connection))
        self._lines: dict[int, HostLines] = {}
        self._gone = taken_down_pages(view.connection)
        self._anchors = _AnchorFinder(view, self._urls, self._gone)
        self._was_empty = not len(index)
        self._done_so_far = Indexed(0, 0, 0, 0)

    def run(self, progress: Progress, *, completes: bool) -> Indexed:
        """Index all rounds, or those for which there is time."""
        # An archive that was deleted and started over is read from its beginning.
        if (name := self._archive.identity()) != (known := self._notes.archive):
            first, place = self._archive.begin, self._notes.watermark.place
            is_known = known is None and first <= place <= self._archive.end
            self._notes.begin_archive(name, place if is_known else first)
        begin, last = self._notes.watermark, self._seen.frontier.last_seq
        is_complete = not (completes and self._notes.stale(1))
        if begin == Watermark(self._archive.end, last) and is_complete:
            return self._done()
        self._urls.load(self._seen.connection)
        self._remove_gone(begin.step)
        reading_progress = part(progress, 0, _SHARE_OF_READING)
        reader = PageReader(self._archive.segments.folder, self._archive.end)
        start = _length(begin.place)
        of_all = max(_length(self._archive.end) - start, 1)
        with closing(reader):
            for places, end in self._rounds(begin.place):
                self._round(reader, places, Watermark(end, begin.step))
                if self._is_over():
                    return self._done()
                reading_progress((_length(end) - start) / of_all)
        if completes:
            while pages := self._notes.stale(ROUND):
                self._notes.begin()
                urls = tables.urls_of(self._seen.connection, pages)
                for page, url in zip(pages, urls, strict=True):
                    self._add_known(page, url)
                self._index.commit()
                self._notes.mark_fresh(pages)
                self._notes.commit(Watermark(self._archive.end, begin.step))
        self._notes.begin()
        self._index.commit()
        self._notes.commit(Watermark(self._archive.end, last))
        progress(1.0)
        return self._done()

    def _count(self, *, pages: int = 0, by_links: int = 0, removed: int = 0) -> None:
        before = self._done_so_far
        self._done_so_far = Indexed(
            before.pages + pages, before.by_links + by_links, before.removed + removed, 0
        )

    def _done(self) -> Indexed:
        cut = self._notes.texts.cut()
        urls = _urls_of(self._seen.connection, list(cut))
        named = {urls[page]: reason for page, reason in cut.items()}
        return self._done_so_far._replace(of_all=len(self._index), cut=named)

    def _rounds(self, begin: int) -> Iterator[tuple[list[int], int]]:
        """Yield the places of records in rounds, with the end of each round."""
        most = ROUND if self._is_over is unlimited else _LIMITED_ROUND
        places: list[int] = []
        for stretch in scan(self._archive.segments, begin, self._archive.end):
            if stretch.header is not None and stretch.header.kind in WITH_PAGES:
                places.append(stretch.place)
            if len(places) >= most:
                yield places, stretch.place + stretch.length
                places = []
        if places:
            yield places, self._archive.end

    def _round(self, reader: PageReader, places: Sequence[int], watermark: Watermark) -> None:
        self._notes.begin()
        pages: _RoundPages = {}
        for start in range(0, len(places), _ASKED_AT_ONCE):
            if self._is_over():
                watermark = watermark._replace(place=places[start])
                break
            for read in reader.read(places[start : start + _ASKED_AT_ONCE]):
                if read is not None and (page := self._urls.find(read.url)) is not None:
                    self._meet(pages, page, read)
        self._add(pages)
        for host in {self._host(page) for page in pages}:
            lines = self._lines.pop(host)
            if lines.is_new:
                self._notes.keep_lines(host, lines)
        self._index.commit()
        self._notes.commit(watermark)

    def _meet(self, pages: _RoundPages, page: int, read: ReadPage) -> None:
        if self._seen.states[page] != State.FETCHED or page in self._gone:
            return
        codes = codes_of(read.text.lines)
        pages[page] = read._replace(text=read.text._replace(anchors=())), codes
        lines = self._lines_of(self._host(page))
        if lines.takes_more:
            lines.add(read.text.title, codes)
        self._notes.add_anchors(self._anchors.of(page, read))

    def _add(self, pages: _RoundPages) -> None:
        documents = questions.documents(self._seen.connection, list(pages))
        for document in documents:
            page = document.page
            if document.noindex:
                self._remove(page)
                continue
            read, codes = pages[page]
            entry = self._entry(page, read, codes, document.title)
            words = indexed(entry.body)
            if not entry.language:
                entry = entry._replace(language=language_of(words))
            self._index.replace(entry, words)
            signed = signature(entry.body, words)
            self._notes.texts.sign(page, entry.title, signed, read.cut)
            self._count(pages=1)
        self._notes.mark_fresh(pages)

    def _entry(self, page: int, read: ReadPage, codes: Sequence[int], title: str) -> PageEntry:
        text, (words, sites) = read.text, self._notes.anchors(page)
        lines = self._lines_of(self._host(page))
        own, repeated = lines.part(text.lines, codes)
        if text.main:
            main = set(text.main)
            # What is beside the main text can be found, but has the little weight of boilerplate.
            repeated = [line for line in own if line not in main] + repeated
            own = lines.part(text.main, codes_of(text.main))[0]
        title = text.title or title
        return PageEntry(
            page=page,
            url=read.url,
            title=title,
            own_title=lines.own_title(title),
            headings=text.headings,
            body="\n".join(own),
            repeated="\n".join(chain(repeated, text.frame)),
            anchors=words,
            language=text.language,
            at=_changed_at(read),
            anchor_sites=sites,
            type=read.type,
        )

    def _add_known(self, page: int, url: str) -> None:
        may_be_found = self._seen.states[page] in _MAY_BE_FOUND and page not in self._gone
        entry = PageEntry(page, url) if may_be_found else self._index.entry(page)
        if entry is None or (entry.at is None and not may_be_found):
            return
        words, sites = self._notes.anchors(page)
        self._index.replace(entry._replace(anchors=words, anchor_sites=sites))
        self._count(by_links=1)

    def _remove_gone(self, step: int) -> None:
        """Remove the pages that have ceased to be pages since this step.

        A page that anchors can find stays with its anchors. The anchors of a page that stands for
        another one move there.
        """
        if self._was_empty:
            return
        # Only pages with steps since the last run may have ceased to be pages, so the whole index
        # need not be scanned.
        touched = {row.step.page for row in step_log.steps_after(self._seen.connection, step)}
        for page in touched:
            if self._seen.states[page] == State.FETCHED:
                continue
            entry = self._index.entry(page)
            if self._seen.states[page] not in _MAY_BE_FOUND:
                self._notes.pass_on(page, self._seen.frontier.books.stands_for(page))
            elif entry is not None and self._keep_known(entry):
                continue
            if entry is not None:
                self._remove(page)
                self._count(removed=1)

    def _keep_known(self, entry: PageEntry) -> bool:
        """Keep a page that anchor texts alone can find. Return False for any other."""
        if entry.at is None:
            return True
        words, sites = self._notes.anchors(entry.page)
        if words:
            self._index.replace(PageEntry(entry.page, entry.url, anchors=words, anchor_sites=sites))
            self._notes.texts.sign(entry.page, "", None)
        return bool(words)

    def _remove(self, page: int) -> None:
        self._index.remove(page)
        self._notes.texts.sign(page, "", None)

    def _host(self, page: int) -> int:
        return self._urls.host_of[page]

    def _lines_of(self, host: int) -> HostLines:
        if host not in self._lines:
            self._lines[host] = self._notes.lines(host)
        return self._lines[host]


class _AnchorFinder:
    """Finder of the anchor texts that pages contribute to other pages."""

    def __init__(self, view: Snapshot, urls: UrlTable, gone: Collection[int]) -> None:
        """`gone` are the pages that were taken down."""
        self._seen, self._urls, self._gone = view, urls, gone
        self._site_ids: dict[str, int] = {}
        self._met: set[int] = set()
        self._target = lru_cache(_TARGETS_REMEMBERED)(self._target_of)

    def of(self, page: int, read: ReadPage) -> Iterator[AnchorRow]:
        """Yield the anchors not seen on earlier pages. A hash collision, though rare, loses one."""
        host = self._urls.host_of[page]
        own = self._site_ids.setdefault(site(host_name(self._urls.origins[host])), host)
        codes = [hash((own, anchor)) for anchor in read.text.anchors]
        for code, (url, text) in zip(codes, read.text.anchors, strict=True):
            if code not in self._met:
                self._met.add(code)
                target = self._target(url)
                if target is not None and target != page and (words := indexed(text)):
                    yield AnchorRow(target, own, words)
        # After forgetting them, some anchors are inserted again, which the notes ignore.
        if len(self._met) > _LINKS_REMEMBERED:
            self._met.clear()

    def _target_of(self, url: str) -> int | None:
        """Return the page that anchors of this URL belong to, or None."""
        known = self._urls.find(url)
        if known is None or known in self._gone:
            return None
        target = self._seen.frontier.books.stands_for(known)
        return None if target in self._gone else target


def _urls_of(connection: tables.Connection, pages: Sequence[int]) -> dict[int, str]:
    ordered = sorted(pages)
    return dict(zip(ordered, tables.urls_of(connection, ordered), strict=True))


def _length(place: int) -> int:
    """Return the bytes of an archive before a place."""
    return segment_of(place) * SEGMENT_BYTES + offset_of(place)


def _changed_at(page: ReadPage) -> float:
    """Return when the page last changed according to its server, or else when it was read."""
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(page.changed).timestamp()
    return page.at
