"""Brings the search index of a store up to date, from archived pages.

Laws: whenever the process is killed, the index has all pages up to its watermark, each once; work
after the watermark is repeated. The archive is read in the order of writing. Anchor texts belong to
the target page, whether it was read or not; indexed pages that got new anchors are updated after
all pages are read.

round   a batch of pages: read, links noted, added, committed
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.archive.scan import scan
from minicrawl.archive.segments import SEGMENT_BYTES, offset_of, segment_of
from minicrawl.errors import MinicrawlError, NoRoom, StoreError, UsageError
from minicrawl.frontier.url_table import UrlTable
from minicrawl.model import State
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.archived.page_versions import kept_pages, taken_down_pages
from minicrawl.report.near_duplicates import NEAR_DUPLICATES_FILE
from minicrawl.report.progress.stored_parts import StoredPart
from minicrawl.report.saved_ranks import kept_scores
from minicrawl.report.snapshot import Snapshot, host_name, snapshot
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.notes import VERSION, AnchorRow, Entry, Notes, Watermark
from minicrawl.search.page_text import HostLines, PageReader, ReadPage, codes_of
from minicrawl.search.query import Query
from minicrawl.search.searching import Floats, find_near_duplicates, keep_importance
from minicrawl.search.vocabulary import language_of
from minicrawl.store import questions, tables
from minicrawl.store.derived import kept_topics
from minicrawl.store.files import bytes_of
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.store.records import translating_derived_errors
from minicrawl.web.urls import site
from minicrawl.web.words import indexed, parts_by_counts, signature, words_of
from minicrawl.wording import counted

# ================================================================ index folder
#
# Folder of a store's search index: the index, the notes and a lock.
#
# Laws: one process writes it at a time. An unusable index is rebuilt, never repaired.


def has_index(folder: Path) -> bool:
    """Return True if there is an index."""
    return (folder / FOLDER / "meta.json").is_file()


def why_useless(folder: Path, connection: tables.Connection) -> str:
    """Return why the existing index cannot be used, or ""."""
    if not has_index(folder):
        return ""
    try:
        with translating_derived_errors(folder), closing(Notes(folder)) as notes:
            version, store = notes.version, notes.store
        if version != VERSION:
            return f"it has version {version} instead of {VERSION}"
        if not tables.is_birth_of(store, tables.birth(connection)):
            return "it belongs to another store"
        SearchIndex(folder / FOLDER)
    except NoRoom:
        return ""  # a full disk says nothing about the existing index
    except StoreError as error:
        return f"it is damaged ({error})"
    return ""


def why_pruned(folder: Path, archive: ArchiveReader) -> str:
    """Return why the index must be rebuilt, or "". A pruning of the archive moves its records."""
    if not has_index(folder):
        return ""
    with closing(Notes(folder)) as notes:
        is_behind = notes.watermark.place < archive.begin
    return "pages were removed from the archive" if is_behind else ""


class Completeness(NamedTuple):
    """How much of a store the search can find."""

    pages: int
    """Number of pages in the index with their text and all texts of links to them."""
    of: int
    """Number of pages that will be in the index."""

    def __str__(self) -> str:
        return f"indexed {self.pages:,} of {counted(self.of, 'page')}"


def lack_of(store: Path) -> Completeness | None:
    """Return how far the index of a store is, or None if it is complete, or the store is gone."""
    folder = search_folder(store)
    if not (store.is_file() and has_index(folder)):
        return None
    with (
        reading(store) as connection,
        translating_derived_errors(folder),
        closing(Notes(folder)) as notes,
    ):
        place, end = notes.watermark.place, tables.archive_end(connection) or 0
        stale, by_links = notes.stale_counts()
        if place >= end and not (stale or by_links):
            return None
        waiting = _pages_kept_since(archive_folder(store), place, end)
        # Not the signatures in the notes: pages with few words have none.
        known = questions.documents_stored(connection)[0]
        of_all = known + max(by_links - waiting, 0)
        return Completeness(max(of_all - waiting - stale - max(by_links - waiting, 0), 0), of_all)


def _pages_kept_since(folder: Path, place: int, end: int) -> int:
    if not folder.is_dir() or place >= end:
        return 0
    with closing(ArchiveReader(folder, end)) as archive:
        return len(
            {row.key for row in archive.index.between(place, end) if row.kind in _WITH_PAGES}
        )


def refuse_if_lost(archive: ArchiveReader, folder: Path) -> None:
    """Raise UsageError if archive segments are lost: the index may be the last copy."""
    if lost := archive.segments.lost(archive.begin, archive.end):
        raise UsageError(
            f"{', '.join(lost)} of {archive.segments.folder} is gone, and the index still has "
            f"these pages: delete {folder} to index only what is left"
        )


@contextmanager
def opened_index(folder: Path, seen: Snapshot) -> Iterator[tuple[SearchIndex, Notes]]:
    index = SearchIndex(folder / FOLDER)
    with closing(Notes(folder)) as notes:
        if notes.store != (birth := tables.birth(seen.connection)):
            notes.record_store(birth)
        index.write()
        with closing(index):
            yield index, notes


_MOMENT_S = 1.0


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except FileExistsError:
        raise StoreError(f"the index goes to {folder}, which is not a folder: move it") from None
    except OSError as error:
        raise UsageError(
            f"the index goes to {folder}, which cannot be written: {error.strerror}"
        ) from error
    try:
        if not _has_locked(lock):
            raise StoreError(f"{folder} is being written by another process")
        yield
    finally:
        os.close(lock)


def _has_locked(lock: int) -> bool:
    """Take the lock within a moment, or return False. The child of a killed process may have it."""
    until = time.monotonic() + _MOMENT_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.01)


def clear_folder(folder: Path) -> None:
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for file in (*folder.glob("notes.db*"), *folder.glob(f"{NEAR_DUPLICATES_FILE}*")):
        file.unlink()


# ================================================================ anchors
#
# Anchor texts, and the pages they belong to.
#
# Law: an anchor text belongs to the page that its URL stands for, once per linking site, and never
# to the page that the link is on.

_LINKS_REMEMBERED = 500_000
_TARGETS_REMEMBERED = 1 << 16


class AnchorFinder:
    """Finder of the anchor texts that pages contribute to other pages."""

    def __init__(self, seen: Snapshot, urls: UrlTable, gone: Collection[int]) -> None:
        """`gone` are the pages that were taken down."""
        self._seen, self._urls, self._gone = seen, urls, gone
        self._site_ids: dict[str, int] = {}
        self._met: set[int] = set()
        self._target = lru_cache(_TARGETS_REMEMBERED)(self._found_target)

    def of(self, page: int, found: ReadPage) -> Iterator[AnchorRow]:
        """Yield the anchors not seen on earlier pages. A hash collision, though rare, loses one."""
        own = self._site_of(page)
        codes = [hash((own, anchor)) for anchor in found.text.anchors]
        for code, (url, text) in zip(codes, found.text.anchors, strict=True):
            if code not in self._met:
                self._met.add(code)
                target = self._target(url)
                if target is not None and target != page and (words := indexed(text)):
                    yield AnchorRow(target, own, words)
        # After forgetting them, some anchors are inserted again, which the notes ignore.
        if len(self._met) > _LINKS_REMEMBERED:
            self._met.clear()

    def _found_target(self, url: str) -> int | None:
        """Return the page that anchors of this URL belong to, or None."""
        known = self._urls.find(url)
        if known is None or known in self._gone:
            return None
        target = self._seen.frontier.books.stands_for(known)
        return None if target in self._gone else target

    def _site_of(self, page: int) -> int:
        host = self._urls.host_of[page]
        return self._site_ids.setdefault(site(host_name(self._urls.origins[host])), host)


# ================================================================ indexing

ROUND = 4_000
"""Pages per round; their texts take about 50 MB."""
_LIMITED_ROUND = 200
"""Pages per round if time is limited: a round that has read its pages adds them in any case."""
_ASKED_AT_ONCE = 64
_WITH_PAGES = (RecordKind.PAGE, RecordKind.TEXT, RecordKind.REVISIT, RecordKind.RENDERED)
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
    tell: Progress = unreported,
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
    with snapshot(store) as seen, kept_pages(seen) as archive:
        if not archive.segments.folder.is_dir():
            raise UsageError(f"{archive.segments.folder} is gone: there are no pages to index")
        with locked_folder(folder), translating_derived_errors(folder):
            why = why_useless(folder, seen.connection) or why_pruned(folder, archive)
            if fresh and has_index(folder) and not why:
                refuse_if_lost(archive, folder)
            if fresh or why:
                say(f"{folder} is rebuilt" + ("" if fresh else f": {why}"))
            if fresh or why or not has_index(folder):  # without an index, notes would be wrong
                clear_folder(folder)
            with opened_index(folder, seen) as (index, notes):
                indexing = _Indexing(seen, archive, index, notes, is_over)
                done = indexing.run(part(tell, 0, _SHARE_OF_INDEXING), completes=completes)
                if completes and not is_over():
                    birth, host_of = tables.birth(seen.connection), seen.host_of
                    find_near_duplicates(
                        folder, birth, index, notes.texts, lambda page: int(host_of[page])
                    )
                tell(1.0)
                return done


class _MetPage(NamedTuple):
    """Page of a round, with the codes of its lines."""

    read: ReadPage
    codes: Sequence[int]


class _Indexing:
    """One run of indexing."""

    def __init__(
        self,
        seen: Snapshot,
        archive: ArchiveReader,
        index: SearchIndex,
        notes: Notes,
        is_over: Callable[[], bool],
    ) -> None:
        self._seen, self._archive, self._is_over = seen, archive, is_over
        self._index, self._notes = index, notes
        self._urls = UrlTable(partial(_urls_of, seen.connection))
        self._lines: dict[int, HostLines] = {}
        self._gone = taken_down_pages(seen.connection)
        self._anchors = AnchorFinder(seen, self._urls, self._gone)
        self._was_empty = not len(index)
        self._done_so_far = Indexed(0, 0, 0, 0)

    def run(self, tell: Progress, *, completes: bool) -> Indexed:
        """Index all rounds, or those for which there is time."""
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
                if self._is_over():
                    return self._done()
                told(_share_read(end, begin.place, self._archive.end))
        if completes:
            self._add_stale(begin.step)
        self._notes.begin()
        self._index.commit()
        self._notes.commit(Watermark(self._archive.end, last))
        tell(1.0)
        return self._done()

    def _meet_archive(self) -> None:
        """Read the archive from its beginning if it was deleted and started over."""
        name, known = self._archive.identity(), self._notes.archive
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
        cut = self._notes.texts.cut()
        urls = _urls_of(self._seen.connection, list(cut))
        named = {urls[page]: what for page, what in cut.items()}
        return self._done_so_far._replace(of_all=len(self._index), cut=named)

    # ------------------------------------------------------------ rounds

    def _rounds(self, begin: int) -> Iterator[tuple[list[int], int]]:
        """Yield the places of records in rounds, with the end of each round."""
        most = ROUND if self._is_over is unlimited else _LIMITED_ROUND
        places: list[int] = []
        for found in scan(self._archive.segments, begin, self._archive.end):
            if found.header is not None and found.header.kind in _WITH_PAGES:
                places.append(found.place)
            if len(places) >= most:
                yield places, found.place + found.length
                places = []
        if places:
            yield places, self._archive.end

    def _round(self, reader: PageReader, places: Sequence[int], watermark: Watermark) -> None:
        self._notes.begin()
        pages: dict[int, _MetPage] = {}
        for start in range(0, len(places), _ASKED_AT_ONCE):
            if self._is_over():
                watermark = watermark._replace(place=places[start])
                break
            for found in reader.read(places[start : start + _ASKED_AT_ONCE]):
                if found is not None and (page := self._urls.find(found.url)) is not None:
                    self._meet(pages, page, found)
        self._add(pages)
        for host in {self._host(page) for page in pages}:
            lines = self._lines.pop(host)
            if lines.is_new:
                self._notes.keep_lines(host, lines)
        self._index.commit()
        self._notes.commit(watermark)

    def _meet(self, pages: dict[int, _MetPage], page: int, found: ReadPage) -> None:
        """Note the anchors and lines of a page."""
        if self._seen.states[page] != State.FETCHED or page in self._gone:
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
            if not entry.language:
                entry = entry._replace(language=language_of(words))
            self._index.replace(entry, words)
            signed = signature(entry.body, words)
            self._notes.texts.sign(page, entry.title, signed, pages[page].read.cut)
            self._count(pages=1)
        self._notes.mark_fresh(pages)

    def _entry(self, page: int, met: _MetPage, title: str) -> Entry:
        found, text, anchors = met.read, met.read.text, self._notes.anchors(page)
        lines = self._lines_of(self._host(page))
        own, repeated = lines.part(text.lines, met.codes)
        if text.main:
            main = set(text.main)
            # What is beside the main text can be found, but has the little weight of boilerplate.
            repeated = [line for line in own if line not in main] + repeated
            own = lines.part(text.main, codes_of(text.main)).own
        title = text.title or title
        return Entry(
            page=page,
            url=found.url,
            title=title,
            own_title=lines.own_title(title),
            headings=text.headings,
            body="\n".join(own),
            repeated="\n".join(chain(repeated, text.frame)),
            anchors=anchors.words,
            language=text.language,
            at=_changed_at(found),
            anchor_sites=anchors.sites,
            type=found.type,
        )

    # ------------------------------------------------------------ pages known by links

    def _add_stale(self, step: int) -> None:
        """Update the pages with new anchors, in rounds."""
        while pages := self._notes.stale(ROUND):
            self._notes.begin()
            urls = tables.urls_of(self._seen.connection, pages)
            for page, url in zip(pages, urls, strict=True):
                self._add_known(page, url)
            self._index.commit()
            self._notes.mark_fresh(pages)
            self._notes.commit(Watermark(self._archive.end, step))

    def _add_known(self, page: int, url: str) -> None:
        may_be_found = self._seen.states[page] in _MAY_BE_FOUND and page not in self._gone
        entry = Entry(page, url) if may_be_found else self._index.entry(page)
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
        """Keep a page that anchor texts alone can find. Return False for any other."""
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

    def _lines_of(self, host: int) -> HostLines:
        if host not in self._lines:
            self._lines[host] = self._notes.lines(host)
        return self._lines[host]


def _urls_of(connection: tables.Connection, pages: Sequence[int]) -> dict[int, str]:
    ordered = sorted(pages)
    return dict(zip(ordered, tables.urls_of(connection, ordered), strict=True))


def _share_read(place: int, begin: int, end: int) -> float:
    def length(one: int) -> int:
        return segment_of(one) * SEGMENT_BYTES + offset_of(one)

    return (length(place) - length(begin)) / max(length(end) - length(begin), 1)


def _changed_at(page: ReadPage) -> float:
    """Return when the page last changed according to its server, or else when it was read."""
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(page.changed).timestamp()
    return page.at


# ================================================================ following
#
# Keeps the index of a store up to date while a crawl runs, in a separate process.
#
# Laws: the process reads the store like any reader, so the crawl does nothing for it. It has the
# lowest priority and sleeps most of the time. It ends with its parent, and can be killed at any
# time. If it cannot work, because another process writes the index or no page is archived yet, it
# tries again later. Work proportional to the whole index, such as updating anchors of indexed
# pages, is done rarely.

EVERY_S = 10.0
_REST = 3
"""Pause as a multiple of the working time: opening a large store takes long, even without news."""
SELDOM_S = 300.0
_SELDOM = 50
"""Pause between completions, as a multiple of their duration."""


class IndexFollower:
    """Loop that keeps the index of a store up to date."""

    def __init__(self, store: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: tuple[str, int] | None = None
        self._completes_at = clock() + SELDOM_S

    def pauses(self) -> Iterator[float]:
        """Work, and yield how long to pause."""
        while True:
            began = self._clock()
            with suppress(MinicrawlError):
                self._follow()
            # Work a quarter of the time at most: the crawl needs the disk, and a search can wait.
            yield max(EVERY_S, _REST * (self._clock() - began))

    def _follow(self) -> None:
        if not self._store.is_file():
            return
        with reading(self._store) as connection:
            now = tables.birth(connection), tables.last_step(connection)
        completes = self._clock() >= self._completes_at
        if now == self._known and not completes:
            return
        self._bring_up_to_date(completes=completes)
        with snapshot(self._store) as seen:
            keep_importance(search_folder(self._store), seen)
        self._known = now

    def _bring_up_to_date(self, *, completes: bool) -> None:
        began = self._clock()
        bring_up_to_date(self._store, completes=completes)
        if completes:
            now = self._clock()
            self._completes_at = now + max(SELDOM_S, _SELDOM * (now - began))


COMMAND = "import os; os.nice(19); from minicrawl.search.indexing import main; main()"
"""Command of the process, which runs at the lowest priority from the start."""


def main() -> None:
    """Run the process with the store as argument, until standard input ends."""
    for pause_s in IndexFollower(Path(sys.argv[1])).pauses():
        if select.select([sys.stdin], [], [], pause_s)[0]:
            return


# ================================================================ topics
#
# Ranks of topics, mixed for each query by the likelihood of its words in the topics' pages.
#
# Laws: the words of a topic are those of its indexed pages; title, headings, text and anchors count
# equally. A topic without a query word is not excluded; if no topic has one, all have equal parts.

USUAL_FAMILY = "pagerank"
BY_TOPICS = "topics"
_MOST_PAGES = 200
_LONGEST = 5_000
"""Maximum characters of a text to count."""


class TopicMixture:
    """Ranks of some topics, mixed by query."""

    def __init__(self, seen: Snapshot, index: SearchIndex, family: str = "") -> None:
        """Load the topics of this family; by default the usual one, or the only one."""
        family, topics = _chosen(seen, family)
        found = {topic: kept_scores(seen, f"{family}-{topic}") for topic in topics}
        if missing := [topic for topic, scores in found.items() if scores is None]:
            raise UsageError(
                f"{seen.path} has no rank {family}-{missing[0]} any more: "
                "make it again with `minicrawl rank pagerank --topics`"
            )
        ranks = [scores for scores in found.values() if scores is not None]
        self._ranks = np.stack(ranks).astype(np.float32)
        self._counts = {topic: _words(index, pages) for topic, pages in topics.items()}

    def parts(self, query: Query) -> dict[str, float]:
        """Return the part of each topic for this query; they sum to 1."""
        return parts_by_counts(self._counts, query.sought)

    def scores(self, query: Query) -> Floats:
        """Return the mixed rank of all pages."""
        parts = np.array(list(self.parts(query).values()), np.float32)
        mixed: Floats = parts @ self._ranks
        return mixed


def is_by_topics(by: str) -> bool:
    """Return True for `topics` or `topics:NAME`."""
    return by.partition(":")[0] == BY_TOPICS


def _chosen(seen: Snapshot, family: str) -> tuple[str, Mapping[str, list[int]]]:
    known = kept_topics(seen.path, seen.connection)
    if not family:
        family = USUAL_FAMILY if USUAL_FAMILY in known or len(known) != 1 else next(iter(known))
    if family not in known:
        others = f"only {', '.join(known)}" if known else "and no others"
        raise UsageError(
            f"{seen.path} has no ranks of topics called {family}, {others}: "
            "make them with `minicrawl rank pagerank --topics FILE`"
        )
    return family, known[family]


def _words(index: SearchIndex, pages: Iterable[int]) -> Counter[str]:
    """Return the frequency of each word in the first `_MOST_PAGES` of these pages."""
    counts: Counter[str] = Counter()
    for page in list(pages)[:_MOST_PAGES]:
        if entry := index.entry(page):
            counts.update(chain.from_iterable(map(words_of, _texts(entry))))
    return counts


def _texts(entry: Entry) -> tuple[str, ...]:
    return (entry.own_title, *entry.headings, entry.body[:_LONGEST], *entry.anchors)


# ================================================================ sizes
#
# Sizes of the search index and its anchors, for `status --stored`, without Tantivy.


def stored_parts(store: Path) -> Iterator[StoredPart]:
    """Yield the index and its anchors."""
    folder = search_folder(store)
    if not has_index(folder):
        return
    index = folder / FOLDER
    yield StoredPart("index", _pages_of(index / "meta.json"), "pages", bytes_of(index))
    with translating_derived_errors(folder), closing(Notes(folder)) as notes:
        texts, size = notes.anchors_stored()
        yield StoredPart("anchors", texts, "texts", size)


def _pages_of(meta: Path) -> int:
    """Return the number of pages in the index segments, without deleted ones."""
    try:
        segments = json.loads(meta.read_bytes())["segments"]
        deleted = ((one.get("deletes") or {}).get("num_deleted_docs", 0) for one in segments)
        return int(sum(one["max_doc"] for one in segments) - sum(deleted))
    except (ValueError, KeyError, TypeError):
        return 0  # the index is damaged: the next search reports and rebuilds it
