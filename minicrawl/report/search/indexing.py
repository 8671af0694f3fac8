"""Brings the search index of a store up to date, from the pages that are kept.

Laws: whenever it is killed, the index knows all pages up to its watermark, each once; what it did
behind that is done again. The archive is read in the order in which it was written. Words of links
belong to the page that they lead to, whether it was read or not; pages in the index that got new
ones are added again when all pages are read.

round   some pages: read, their links noted, added, committed
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.archive.scan import scan
from minicrawl.archive.segments import SEGMENT_BYTES, offset_of, segment_of
from minicrawl.errors import UsageError
from minicrawl.frontier.urls import UrlTable
from minicrawl.model import State
from minicrawl.progress import Progress, part, unreported
from minicrawl.report.archived.pages import kept_pages
from minicrawl.report.search.alike import sort_out
from minicrawl.report.search.anchors import AnchorFinder
from minicrawl.report.search.index_folder import (
    clear_folder,
    folder_errors,
    has_index,
    locked_folder,
    opened_index,
    refuse_if_lost,
    why_pruned,
    why_useless,
)
from minicrawl.report.search.page_reader import PageReader, ReadPage
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.search.boilerplate import SiteLines, codes_of
from minicrawl.search.entries import Entry
from minicrawl.search.index import SearchIndex
from minicrawl.search.minhash import signature
from minicrawl.search.notes import Notes, Watermark
from minicrawl.search.words import indexed
from minicrawl.store import questions, tables
from minicrawl.store.reader import search_folder

ROUND = 4_000
"""Pages; their texts take some 50 MB."""
_ASKED_AT_ONCE = 64
_WITH_PAGES = (RecordKind.PAGE, RecordKind.TEXT, RecordKind.REVISIT)
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
"""Pages that nobody has read, and that may be worth it: they are found by the words of links."""
_NAME_BYTES = 64
_SHARE_OF_READING = 0.9
_SHARE_OF_INDEXING = 0.97


class Indexed(NamedTuple):
    """What was done."""

    pages: int
    """That were read and added."""
    by_links: int
    """Pages that were added, or added again, because of links to them."""
    removed: int
    of_all: int
    """Pages in the index."""


def bring_up_to_date(
    store: Path,
    tell: Progress = unreported,
    say: Callable[[str], None] = lambda _: None,
    *,
    fresh: bool = False,
    completes: bool = True,
) -> Indexed:
    """Bring the index of a store up to date. `say` hears why it is made again, if it is.

    If `completes` is false, only pages that were read are added. New links to pages that are there,
    pages known by links alone, and near-duplicates wait for the next time that it is true.
    """
    folder = search_folder(store)
    with snapshot(store) as seen, kept_pages(seen) as archive:
        if not archive.segments.folder.is_dir():
            raise UsageError(f"{archive.segments.folder} is gone: there are no pages to index")
        with locked_folder(folder), folder_errors(folder):
            useless = why_useless(folder, seen.connection) or why_pruned(folder, archive)
            if fresh and has_index(folder) and not useless:
                refuse_if_lost(archive, folder)
            if why := "it begins anew" if fresh else useless:
                say(f"{folder}: {why}")
                clear_folder(folder)
            with opened_index(folder, seen) as (index, notes):
                indexing = _Indexing(seen, archive, index, notes)
                done = indexing.run(part(tell, 0, _SHARE_OF_INDEXING), completes=completes)
                if completes:
                    birth, host_of = tables.birth(seen.connection), seen.host_of
                    sort_out(folder, birth, index, notes.texts, lambda page: int(host_of[page]))
                tell(1.0)
                return done


class _MetPage(NamedTuple):
    """A page of a round, and the codes of its lines."""

    read: ReadPage
    codes: Sequence[int]


class _Indexing:
    """One run."""

    def __init__(
        self, seen: Snapshot, archive: ArchiveReader, index: SearchIndex, notes: Notes
    ) -> None:
        self._seen, self._archive = seen, archive
        self._index, self._notes = index, notes
        self._urls = UrlTable(partial(_urls_of, seen.connection))
        self._lines: dict[int, SiteLines] = {}
        self._anchors = AnchorFinder(seen, self._urls)
        self._was_empty = not len(index)
        self._done_so_far = Indexed(0, 0, 0, 0)

    def run(self, tell: Progress, *, completes: bool) -> Indexed:
        """All rounds."""
        self._meet_archive()
        begin, last = self._notes.watermark, self._seen.frontier.last_seq
        is_complete = not (completes and self._notes.stale(1))
        if begin == Watermark(self._archive.end, last) and is_complete:
            return self._done()
        self._urls.load(self._seen.connection)
        self._remove_gone(begin.step)
        told = part(tell, 0, _SHARE_OF_READING)
        reader = PageReader(self._archive.segments.folder, self._archive.end)
        with closing(reader):
            for places, end in self._rounds(begin.place):
                self._round(reader, places, Watermark(end, begin.step))
                told(_far(end, begin.place, self._archive.end))
        if completes:
            self._add_stale(begin.step)
        self._notes.begin()
        self._index.commit()
        self._notes.commit(Watermark(self._archive.end, last))
        tell(1.0)
        return self._done()

    def _meet_archive(self) -> None:
        """If all that was kept was deleted, places begin anew: what is kept since is read, too."""
        name, known = _name_of(self._archive), self._notes.archive
        if name != known:
            begin, place = self._archive.begin, self._notes.watermark.place
            is_known = known is None and begin <= place <= self._archive.end
            self._notes.begin_archive(name, place if is_known else begin)

    def _count(self, *, pages: int = 0, by_links: int = 0, removed: int = 0) -> None:
        so_far = self._done_so_far
        self._done_so_far = Indexed(
            so_far.pages + pages, so_far.by_links + by_links, so_far.removed + removed, 0
        )

    def _done(self) -> Indexed:
        return self._done_so_far._replace(of_all=len(self._index))

    # ------------------------------------------------------------ rounds

    def _rounds(self, begin: int) -> Iterator[tuple[list[int], int]]:
        """The places of records, and the end of all of them."""
        places: list[int] = []
        for found in scan(self._archive.segments, begin, self._archive.end):
            if found.header is not None and found.header.kind in _WITH_PAGES:
                places.append(found.place)
            if len(places) >= ROUND:
                yield places, found.place + found.length
                places = []
        if places:
            yield places, self._archive.end

    def _round(self, reader: PageReader, places: Sequence[int], watermark: Watermark) -> None:
        self._notes.begin()
        pages: dict[int, _MetPage] = {}
        for start in range(0, len(places), _ASKED_AT_ONCE):
            for found in reader.read(places[start : start + _ASKED_AT_ONCE]):
                if found is not None and (page := self._urls.find(found.url)) is not None:
                    self._meet(pages, page, found)
        self._add(pages)
        self._keep_lines({self._host(page) for page in pages})
        self._index.commit()
        self._notes.commit(watermark)

    def _meet(self, pages: dict[int, _MetPage], page: int, found: ReadPage) -> None:
        """Note what a page says of others."""
        if self._seen.states[page] != State.FETCHED:
            return
        codes = codes_of(found.text.lines)
        pages[page] = _MetPage(found._replace(text=found.text._replace(anchors=())), codes)
        lines = self._lines_of(self._host(page))
        if lines.takes_more:
            lines.add(found.text.title, codes)
        self._notes.add_anchors(self._anchors.of(page, found))

    def _add(self, pages: dict[int, _MetPage]) -> None:
        documents = questions.documents(self._seen.connection, list(pages))
        for document in documents:
            page = document.page
            if document.noindex:
                self._remove(page)
                continue
            entry = self._entry(page, pages[page], document.title)
            words = indexed(entry.body)
            self._index.replace(entry, words)
            self._notes.texts.sign(page, entry.title, signature(entry.body, words))
            self._count(pages=1)
        self._notes.mark_fresh(pages)

    def _entry(self, page: int, met: _MetPage, title: str) -> Entry:
        found, text, anchors = met.read, met.read.text, self._notes.anchors(page)
        lines = self._lines_of(self._host(page))
        parted = lines.part(text.lines, met.codes)
        title = text.title or title
        return Entry(
            page=page,
            url=found.url,
            title=title,
            own_title=lines.own_title(title),
            headings=text.headings,
            body="\n".join(parted.own),
            repeated="\n".join(chain(parted.repeated, text.frame)),
            anchors=anchors.words,
            language=text.language,
            at=_changed(found),
            anchor_sites=anchors.sites,
        )

    # ------------------------------------------------------------ pages known by links

    def _add_stale(self, step: int) -> None:
        """Pages with new links to them, round by round."""
        while pages := self._notes.stale(ROUND):
            self._notes.begin()
            urls = tables.urls_of(self._seen.connection, pages)
            for page, url in zip(pages, urls, strict=True):
                self._add_known(page, url)
            self._index.commit()
            self._notes.mark_fresh(pages)
            self._notes.commit(Watermark(self._archive.end, step))

    def _add_known(self, page: int, url: str) -> None:
        may_be_found = self._seen.states[page] in _MAY_BE_FOUND
        entry = Entry(page, url) if may_be_found else self._index.entry(page)
        if entry is None or (entry.at is None and not may_be_found):
            return
        words, sites = self._notes.anchors(page)
        self._index.replace(entry._replace(anchors=words, anchor_sites=sites))
        self._count(by_links=1)

    def _remove_gone(self, step: int) -> None:
        """Pages that are none any more since this step. The words of links to them stay with those
        that may be found by these, and go to the pages that the others stand for.
        """
        if self._was_empty:
            return
        touched = {row.step.page for row in tables.steps_after(self._seen.connection, step)}
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

    def _keep_known(self, entry: Entry) -> bool:
        """Whether the page is still found, by the words of links to it alone."""
        if entry.at is None:
            return True
        words, sites = self._notes.anchors(entry.page)
        if words:
            self._index.replace(Entry(entry.page, entry.url, anchors=words, anchor_sites=sites))
            self._notes.texts.sign(entry.page, "", None)
        return bool(words)

    def _remove(self, page: int) -> None:
        self._index.remove(page)
        self._notes.texts.sign(page, "", None)

    # ------------------------------------------------------------ hosts and sites

    def _host(self, page: int) -> int:
        return self._urls.host_of[page]

    def _lines_of(self, host: int) -> SiteLines:
        if host not in self._lines:
            self._lines[host] = self._notes.lines(host)
        return self._lines[host]

    def _keep_lines(self, hosts: Iterable[int]) -> None:
        for host in hosts:
            lines = self._lines.pop(host)
            if lines.is_new:
                self._notes.keep_lines(host, lines)


def _urls_of(connection: tables.Connection, pages: Sequence[int]) -> dict[int, str]:
    ordered = sorted(pages)
    return dict(zip(ordered, tables.urls_of(connection, ordered), strict=True))


def _name_of(archive: ArchiveReader) -> str:
    """The first record of an archive tells it from others; empty if there is none."""
    for found in scan(archive.segments, archive.begin, archive.end):
        if found.header is not None:
            return archive.segments.read_bytes(found.place, min(found.length, _NAME_BYTES)).hex()
    return ""


def _far(place: int, begin: int, end: int) -> float:
    def length(one: int) -> int:
        return segment_of(one) * SEGMENT_BYTES + offset_of(one)

    return (length(place) - length(begin)) / max(length(end) - length(begin), 1)


def _changed(page: ReadPage) -> float:
    """When the page changed last, as its server says; else when it was read."""
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(page.changed).timestamp()
    return page.at
