"""Opens the archive and the WARC files of a store as of its last commit, and prunes the archive.

Laws: records that the store does not know are cut off. An archive whose store is unknown is set
aside instead, and WARC files of other stores are never touched.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple, Self

from minicrawl.archive import segments
from minicrawl.archive.codec import PLAIN
from minicrawl.archive.index import IndexRow
from minicrawl.archive.objects.moved_file import name_store
from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import key_of
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.config.values.kinds import warc_place
from minicrawl.crawl.events import Listener, Noted, Warned, nobody_listens
from minicrawl.crawl.record.moving import FileMover, finished_files
from minicrawl.errors import UsageError
from minicrawl.store import questions, step_log, tables
from minicrawl.store.disk.files import bytes_of, stores_aside
from minicrawl.store.disk.lock import StoreLock
from minicrawl.store.reader import (
    EARLIER,
    LOG,
    archive_folder,
    file_beside,
    reading,
    real_path,
    search_folder,
)
from minicrawl.store.records import Batch
from minicrawl.store.tables import Takedown
from minicrawl.store.writer import StoreWriter
from minicrawl.web.scope import pattern_of_urls
from minicrawl.web.takedowns import Takedowns, what_of
from minicrawl.web.urls import PICTURES, canonical, pictured
from minicrawl.wording import counted, iso

if TYPE_CHECKING:
    from minicrawl.archive.warc.series import WarcFiles


class ArchiveSinks(NamedTuple):
    """Open archive and WARC files of a crawl, each None if not wanted."""

    archive: ArchiveWriter | None = None
    warcs: WarcFiles | None = None
    versions: int | None = None
    """Number of responses per page that stay in the archive."""
    lock: StoreLock | None = None
    emit: Listener = nobody_listens
    """Told how much was not written again, when the WARC files are closed."""
    mover: FileMover | None = None

    def __bool__(self) -> bool:
        return self.archive is not None or self.warcs is not None

    def close(self) -> None:
        """Close all files. The last WARC file is completed unless another crawl holds the lock."""
        if self.mover is not None:
            self.mover.close()
        if self.archive is not None:
            self.archive.close()
        if self.warcs is not None:
            self.warcs.close(completes=self.lock is None or self.lock.renew())
            bodies, size = self.warcs.saved
            if bodies:
                written = f"{counted(bodies, 'body is', 'bodies are')} in earlier responses"
                self.emit(Noted(text=f"WARC: {written}: {size:,} bytes were not written again"))


NOWHERE = ArchiveSinks()


def open_places(store: StoreWriter, storing: Storing, emit: Listener) -> ArchiveSinks:
    if storing.objects is not None:
        warcs_at = [] if storing.warc is None else [warc_place(storing.warc).folder]
        try:
            for folder in (archive_folder(store.path), *warcs_at):
                name_store(folder, storing.objects)
        except OSError as error:
            emit(Warned(text=f"{error}: what reads {storing.objects} needs MINICRAWL_OBJECTS"))
    archive = open_archive(store, storing, emit)
    try:
        versions = storing.keep_versions if isinstance(storing.keep_versions, int) else None
        warcs = open_warcs(store, storing.warc, archive, emit)
        mover = None
        if storing.objects is not None:
            files = partial(finished_files, archive, warcs)
            note = store.replica.moved if store.replica is not None else lambda: None
            mover = FileMover(storing.objects, files, emit, note)
        return ArchiveSinks(archive, warcs, versions, store.lock, emit, mover)
    except BaseException:
        ArchiveSinks(archive, lock=store.lock).close()
        raise


def open_warcs(
    store: StoreWriter, where: Path | str | None, archive: ArchiveWriter | None, emit: Listener
) -> WarcFiles | None:
    """Open the WARC files of a store in the folder that the user has named for this run.

    A different folder that the store names is never opened: that name may be forged.
    """
    if where is None:
        return None
    from minicrawl.archive.warc.series import WarcFiles, WarcSeries

    folder, name, full_bytes = warc_place(where)
    counters, place = tables.counters(store.connection), real_path(store.path)
    series = WarcSeries.read(counters.get(tables.WARC))
    codec = PLAIN if archive is None else archive.reader.codec
    about, earlier = partial(_facts, store.connection), file_beside(store.path, EARLIER)
    known = earlier if earlier.exists() else None
    if series is None or not series.has(place, folder, name):
        if series and (left := series._replace(folder=str(folder))).is_left_open(place):
            WarcFiles(left, codec, about, full_bytes).close()
        new = WarcSeries.of(folder, place, time.time(), name)
        if series is not None:
            new = new._replace(bodies=series.bodies, saved_bytes=series.saved_bytes)
        series = new
        store.commit(Batch(counters=counters | {tables.WARC: series._asdict()}))
    warcs = WarcFiles(series, codec, about, full_bytes, known)
    if warcs.was_shortened:
        emit(Warned(text=f"the last WARC file in {folder} has changed: writing a new one"))
    return warcs


def _facts(connection: tables.Connection) -> Mapping[str, str]:
    from minicrawl.archive.warc.writer import MOST_SEEDS, crawl_facts

    return crawl_facts(tables.settings(connection), *step_log.first_seeds(connection, MOST_SEEDS))


def open_archive(
    store: StoreWriter,
    storing: Storing,
    emit: Listener,
    segment_bytes: int = segments.SEGMENT_BYTES,
) -> ArchiveWriter | None:
    """Open the archive of a store as of its last commit; None if no responses are kept."""
    if not storing.keeps_answers:
        return None
    folder, counters = archive_folder(store.path), tables.counters(store.connection)
    end = tables.archive_end(store.connection)
    store.lock.hold_folder(folder)
    if end is None:
        if aside := set_pages_aside(folder):
            folder.mkdir()
            store.lock.check()  # also holds the new folder
            emit(Noted(text=f"{folder} had pages of an unknown store: moved to {aside}"))
        end = segments.FIRST
        store.commit(Batch(counters=counters | {tables.ARCHIVE_END: end}))
    only_changes = storing.keep_versions == "changed"
    if store.replica is not None:
        segment_bytes = min(segment_bytes, segments.REPLICATED_BYTES)
    archive = ArchiveWriter(folder, end, only_changes=only_changes, segment_bytes=segment_bytes)
    if archive.was_shortened:
        known = tables.counters(store.connection)
        store.commit(Batch(counters=known | {tables.LOST_AT: time.time()}))
        emit(Warned(text=f"{folder} is shorter than the store says: kept pages are lost"))
    return archive


def prune(
    archive: ArchiveWriter,
    store: StoreWriter,
    stays: Callable[[IndexRow], bool],
    *,
    retrains: bool = False,
) -> bool:
    """Prune the records for which `stays` is false. Return False if a reader delays deletion."""
    end = archive.prune(stays, retrains=retrains)
    store.commit(Batch(counters=tables.counters(store.connection) | {tables.ARCHIVE_END: end}))
    archive.confirm()
    return archive.remove_pruned()


def prune_store(path: Path, rules: PruneRules) -> tuple[Pruning, bool]:
    """Prune the archive of a store without a crawl; say whether the records are deleted already."""
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        with closing(archive):
            pruning = Pruning(archive.reader, rules)
            pruning.refuse_all(archive.reader)
            is_gone = not pruning.dropped or prune(archive, store, pruning.keeps)
            return pruning, is_gone


class TakenDown(NamedTuple):
    what: str
    answers: int
    pages: int
    is_complete: bool
    """False if a reader delays the deletion of files: the take-down must be repeated."""
    warcs: str
    """Folder of WARC files that may still have the answers, or empty."""
    aside: Sequence[str]
    """Earlier stores and archives that were set aside, which may still have them, too."""
    archives: Sequence[str] = ()
    """WARC files that were rewritten."""
    records: int = 0
    """Number of records that were removed from these files."""
    unreached: Sequence[str] = ()
    """Named archives that were not rewritten, with the reasons."""


class UrlPattern(NamedTuple):
    """A URL with the POSTs to it, or all URLs with a prefix."""

    text: str
    """In canonical form; a prefix ends in `*`."""
    fits: Callable[[str], object]

    @classmethod
    def of(cls, text: str) -> Self:
        stem = text.removesuffix("*")
        if (url := canonical(stem)) is None:
            raise UsageError(f"{text!r} is neither a URL nor a URL prefix followed by *")
        pattern = url + text[len(stem) :]
        return cls(pattern, re.compile(pattern_of_urls(pattern)).match)

    def keys(self, archive: ArchiveReader) -> set[int]:
        return archive.keys_of(
            lambda head: self.fits(pictured(head.url)) or self.fits(pictured(head.request_url))
        )

    def pages(self, connection: tables.Connection) -> dict[int, str]:
        return {page: url for page, url in questions.all_urls(connection) if self.fits(url)}


def forget(
    path: Path, url: str, now: float, archives: Sequence[Path] = (), why: str = ""
) -> TakenDown:
    """Remove the stored content of a URL or, if `url` ends with `*`, of all URLs with this prefix.

    It is also removed from `archives`, which are WARC files and folders with some; their log of
    take-downs says `why`.

    The store first records the take-down, so that no crawl requests these URLs again, and at the
    end that it is complete. After a kill, repeating the call completes it.
    """
    from minicrawl.store.derived.checks import drop_findings

    urls = UrlPattern.of(url)
    with closing(StoreWriter.open(path)) as store:
        known = tables.takedowns(tables.counters(store.connection))
        noted = what_of(urls.text)
        note = next((note for note in known if note.what == noted), Takedown(noted, now))
        note = note._replace(at=now, complete=False)
        unchanged = [note for note in known if note.what != noted]
        _note_takedowns(store, [*unchanged, note])
        pages = urls.pages(store.connection)
        answers, is_gone = _drop_answers(store, urls, pages)
        gone = tables.taken_down(tables.counters(store.connection))
        drop_findings(path, store.connection, pages, gone)
        if (index := search_folder(path)).exists():
            with segments.disk_errors(index):
                rmtree(index)
        if (earlier := file_beside(path, EARLIER)).exists():
            from minicrawl.archive.warc.earlier import forget_earlier

            forget_earlier(earlier, urls.fits)
        # Last, as a take-down that is repeated no longer finds pages by their URLs.
        _conceal(store)
        is_gone = is_gone and not bytes_of(file_beside(path, LOG))
        note = note._replace(answers=note.answers + answers, complete=is_gone)
        _note_takedowns(store, [*unchanged, note])
        store.compact()
        from minicrawl.archive.warc.series import WarcSeries

        series = WarcSeries.read(tables.counters(store.connection).get(tables.WARC))
        folder = series.folder if series else ""
        done = TakenDown(urls.text, answers, len(pages), is_gone, folder, _aside(path))
        if not archives:
            return done
        from minicrawl.archive.warc.takedown import take_down

        reason = {"at": iso(now), "what": noted, "why": why}
        files, records, unreached = take_down(archives, urls.fits, reason)
        if series and str(series.path(segments.segment_of(series.end))) in files:
            # The next crawl begins a new file: the end of this one is in another place now.
            end = segments.place_at(segments.segment_of(series.end) + 1, 0)
            moved = {tables.WARC: series._replace(end=end)._asdict()}
            store.commit(Batch(counters=tables.counters(store.connection) | moved))
        is_reached = Path(folder).resolve() in {place.resolve() for place in archives}
        return done._replace(
            warcs="" if is_reached else folder, archives=files, records=records, unreached=unreached
        )


def _drop_answers(
    store: StoreWriter, urls: UrlPattern, pages: Mapping[int, str]
) -> tuple[int, bool]:
    """Remove the kept answers of these URLs. Return their number, and whether their files are gone.

    A reader may delay that.
    """
    if tables.archive_end(store.connection) is None:
        return 0, True
    archive = open_archive(store, Storing(keep="pages"), nobody_listens)
    assert archive is not None
    with closing(archive):
        pruning = _pruning_of(archive.reader, urls, pages)
        if answers := pruning.dropped:
            is_gone = prune(archive, store, pruning.keeps, retrains=True)
        else:
            is_gone = archive.remove_pruned()
        if is_gone:
            archive.remove_spares()
        return answers, is_gone


def conceal_earlier(store: StoreWriter) -> None:
    """Conceal the URLs that an earlier version took down, which are still in the store."""
    if "://" in str(tables.counters(store.connection).get(tables.FORGOTTEN)):
        _conceal(store)


def _conceal(store: StoreWriter) -> None:
    counters = tables.counters(store.connection)
    notes, gone = tables.takedowns(counters), tables.taken_down(counters)
    words = shlex.split(str(counters.get(tables.COMMAND) or ""))
    command = shlex.join(word for word in words if not _names(word, gone))
    counters |= {tables.COMMAND: command} if words else {}
    store.commit(Batch(counters=counters))
    _note_takedowns(store, notes)
    pages = {
        page: url
        for page, url in questions.all_urls(store.connection)
        if gone.covers(url) and gone.conceal(url) != url
    }
    store.blank(pages, gone)


def _names(word: str, gone: Takedowns) -> bool:
    """Return True if a word of a command is a seed that was taken down."""
    urls = map(canonical, (word, f"http://{word}", f"https://{word}"))
    return any(url is not None and gone.covers(url) for url in urls)


def would_forget(path: Path, url: str) -> TakenDown:
    urls, folder, answers = UrlPattern.of(url), archive_folder(path), 0
    with reading(path) as connection:
        pages, end = urls.pages(connection), tables.archive_end(connection)
        if end is not None and folder.is_dir():
            with closing(ArchiveReader(folder, end)) as archive:
                answers = _pruning_of(archive, urls, pages).dropped
    return TakenDown(urls.text, answers, len(pages), is_complete=True, warcs="", aside=_aside(path))


def _aside(path: Path) -> list[str]:
    pages = archive_folder(path)
    numbered = re.compile(rf"{re.escape(pages.name)}\.[0-9]+")  # as `set_pages_aside` names them
    archives = sorted(entry for entry in pages.parent.iterdir() if numbered.fullmatch(entry.name))
    return list(map(str, [*stores_aside(path), *archives]))


def _pruning_of(archive: ArchiveReader, urls: UrlPattern, pages: Mapping[int, str]) -> Pruning:
    named = (beginning + url for url in pages.values() for beginning in ("", *PICTURES))
    keys = urls.keys(archive) | set(map(key_of, named))  # damaged answers name no URL
    return Pruning(archive, PruneRules(gone=keys))


def _note_takedowns(store: StoreWriter, notes: Iterable[Takedown]) -> None:
    noted = {tables.FORGOTTEN: [note._asdict() for note in notes]}
    store.commit(Batch(counters=tables.counters(store.connection) | noted))


def set_pages_aside(folder: Path) -> Path | None:
    """Rename an archive whose store is unknown, if there is one; return its new path."""
    if not segments.Segments(folder).numbers():
        return None
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    return folder.rename(next(name for name in names if not name.exists()))
