"""Where the answers of a crawl are kept: nowhere, or in an archive and in WARC files.

Law: an answer is there before the step that it led to is in the store.

Most crawls keep no answers, so what writes them is loaded only when it is wanted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from minicrawl.archive.index import IndexRow, index_errors, open_captures
from minicrawl.archive.record import PLAIN, Answer, Codec, RecordKind, key_of, read_packed
from minicrawl.archive.segments import (
    FIRST,
    Segments,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
    sync,
    write_at,
)
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, Noted, Warned, nobody_listens
from minicrawl.errors import NoRoom, UsageError
from minicrawl.export.warc import QUICK, Capture, Original, WarcWriter, payload_digest
from minicrawl.model import KeptAnswer
from minicrawl.own_files import refuse_links
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, real_path
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter

if TYPE_CHECKING:
    from minicrawl.archive.writer import PruneRules, Pruning
    from minicrawl.store.lock import StoreLock


class Keeping(NamedTuple):
    """Where answers are kept."""

    archive: ArchiveWriter | None = None
    warcs: WarcFiles | None = None
    versions: int | None = None
    """Of each page, how many answers stay in the archive."""
    lock: StoreLock | None = None

    @property
    def places(self) -> list[ArchiveWriter | WarcFiles]:
        """All that there are."""
        return [one for one in (self.archive, self.warcs) if one is not None]

    def __bool__(self) -> bool:
        return self.archive is not None or self.warcs is not None

    def close(self) -> None:
        """Drop what was not confirmed, unless another crawl may write there by now."""
        cuts_off = self.lock is None or self.lock.renew()
        for one in self.places:
            one.close(cuts_off=cuts_off)


NOWHERE = Keeping()
_GROWN, _WORTH = 2, 0.25
"""Times its size, until an archive is looked through again; what share of it is worth a copy."""


class ArchivingStore:
    """A store whose batches bring answers that are kept."""

    def __init__(self, store: StoreWriter, keeping: Keeping) -> None:
        self._store, self._keeping = store, keeping
        self._looked_through_at = 0  # bytes of the archive
        self._waits_for_readers = False
        self._appended: Batch | None = None
        self._end = 0  # of the archive, behind what was appended

    @property
    def connection(self) -> tables.Connection:
        """The connection of the store."""
        return self._store.connection

    def commit(self, batch: Batch) -> None:
        """Add all of the batch: the answers first, then the rows, as one."""
        archive = self._keeping.archive
        self._store.lock.check()
        if self._appended is not batch:
            self._append(batch)
        if archive is not None and self._store.replica is not None:
            self._store.replica.kept(archive.end, self._end)
        self._store.commit(batch)
        for one in self._keeping.places:
            one.confirm()
        self._appended = None
        if archive is not None and self._keeping.versions is not None:
            self._let_go_of_versions(archive, self._keeping.versions)

    def _append(self, batch: Batch) -> None:
        """Write the answers. A batch that comes again, since something had no room, has them."""
        archive, warcs = self._keeping.archive, self._keeping.warcs
        if archive is not None:
            batch.counters[tables.ARCHIVE_END] = self._end = archive.append(batch.answers)
            if self._keeping.versions is not None:
                batch.counters[tables.PRUNING_WAITS] = self._waits_for_readers
        if warcs is not None:
            batch.counters[tables.WARC] = warcs.append(batch.answers)
        self._appended = batch

    def _let_go_of_versions(self, archive: ArchiveWriter, versions: int) -> None:
        """Prune, if that is worth it; each run looks once, and whenever the archive has doubled.

        What was pruned goes when nobody reads it any more, and nothing else is pruned until then.
        """
        from minicrawl.archive.writer import PruneRules, Pruning

        if self._waits_for_readers and archive.remove_pruned():
            self._waits_for_readers = False
        if _bytes_of(archive) < _GROWN * self._looked_through_at:
            return
        self._waits_for_readers = not archive.remove_pruned()
        if self._waits_for_readers:
            return
        archive.reader.go_on_to(archive.end)
        pruning = Pruning(archive.reader, PruneRules(versions=versions))
        if pruning.dropped and pruning.freed_bytes() >= _WORTH * pruning.record_bytes:
            try:
                self._waits_for_readers = not prune(archive, self._store, pruning.keeps)
            except NoRoom:  # what was committed is as it was
                archive.reader.segments.cut_off(archive.end)
        self._looked_through_at = max(_bytes_of(archive), 1)

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the rows that changed."""
        self._store.checkpoint(checkpoint, forget_links=forget_links)


def open_keeping(store: StoreWriter, storing: Storing, tell: Listener) -> Keeping:
    """All places where answers are kept."""
    if storing.warc is not None and storing.keep == "text":
        raise UsageError("--warc writes whole pages, and --keep text has only their text")
    if storing.requisites and storing.keep != "pages":
        raise UsageError("--requisites keeps what pages need to be shown: it needs --keep pages")
    if not (storing.keeps_answers or storing.warc is not None):
        return NOWHERE

    return open_places(store, storing, tell)


def _bytes_of(archive: ArchiveWriter) -> int:
    from minicrawl.archive.segments import bytes_between  # only where an archive is open

    end = archive.end
    return bytes_between(archive.reader.segments.begin(end), end)


# ================================================================ archiving
#
# The archive and the WARC files of a store are opened as of its last commit, and pruned.
#
# Laws: what is in the archive and not in the store is cut off. An archive that belongs to no store
# that is known is set aside, and never cut off. The same holds for WARC files.
#
# What writes WARC files and what prunes is loaded only when it is wanted.


def open_places(store: StoreWriter, storing: Storing, tell: Listener) -> Keeping:
    """All places where the answers of a crawl are kept, as of the last commit of its store."""
    archive = open_archive(store, storing, tell)
    try:
        versions = storing.keep_versions if isinstance(storing.keep_versions, int) else None
        warcs = open_warcs(store, storing.warc, archive, tell)
        return Keeping(archive, warcs, versions, store.lock)
    except BaseException:
        Keeping(archive, lock=store.lock).close()
        raise


def open_warcs(
    store: StoreWriter, folder: Path | None, archive: ArchiveWriter | None, tell: Listener
) -> WarcFiles | None:
    """The WARC files of a store in this folder, which the user has named for this run.

    Another folder that the store names is let alone: a stranger may have written it.
    """
    if folder is None:
        return None

    counters, place = tables.counters(store.connection), real_path(store.path)
    series = WarcSeries.read(counters.get(tables.WARC))
    if series is None or (series.store, series.folder) != (str(place), str(folder)):
        series = WarcSeries.of(folder, place, time.time())
        store.commit(Batch(counters=counters | {tables.WARC: series._asdict()}))
    warcs = WarcFiles(series, PLAIN if archive is None else archive.reader.codec)
    if warcs.was_shortened:
        tell(Warned(text=f"the last WARC file in {folder} was changed: a new one is begun"))
    return warcs


def open_archive(store: StoreWriter, storing: Storing, tell: Listener) -> ArchiveWriter | None:
    """The archive of a store as of its last commit; None if nothing is to be kept."""
    if not storing.keeps_answers:
        return None
    folder, counters = archive_folder(store.path), tables.counters(store.connection)
    end = tables.archive_end(store.connection)
    store.lock.hold_folder(folder)
    if end is None:
        if aside := set_pages_aside(folder):
            folder.mkdir()
            store.lock.check()  # which holds the new folder
            tell(Noted(text=f"the pages that were there are in {aside} now"))
        end = FIRST
        store.commit(Batch(counters=counters | {tables.ARCHIVE_END: end}))
    archive = ArchiveWriter(folder, end, only_changes=storing.keep_versions == "changed")
    if archive.was_shortened:
        known = tables.counters(store.connection)
        store.commit(Batch(counters=known | {tables.LOST_AT: time.time()}))
        tell(Warned(text=f"{folder} has less than the store says: pages that were kept are gone"))
    return archive


def prune(archive: ArchiveWriter, store: StoreWriter, stays: Callable[[IndexRow], bool]) -> bool:
    """Let go of the answers that do not stay; False if somebody reads them, so that they are
    removed later.
    """
    end = archive.prune(stays)
    store.commit(Batch(counters=tables.counters(store.connection) | {tables.ARCHIVE_END: end}))
    archive.confirm()
    return archive.remove_pruned()


def prune_store(path: Path, rules: PruneRules) -> tuple[Pruning, bool]:
    """Prune the archive of a store that no crawl writes: what goes, and whether it is gone."""
    from minicrawl.archive.writer import Pruning

    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        with closing(archive):
            pruning = Pruning(archive.reader, rules)
            pruning.refuse_all(archive.reader)
            is_gone = not pruning.dropped or prune(archive, store, pruning.keeps)
            return pruning, is_gone


def set_pages_aside(folder: Path) -> Path | None:
    """Rename an archive whose store is not known; its new name, or None if there is none."""
    if not Segments(folder).numbers():
        return None
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    return folder.rename(next(name for name in names if not name.exists()))


# ================================================================ warc files
#
# The WARC files that a crawl writes: a new one at about 1 GB, exact as of the last commit.
#
# Laws: what is appended counts from `confirm` on, which is called when the store has committed the
# steps of these answers; until then the next append writes over it. The next start cuts off what
# the store does not know of: each record is a gzip member of its own, so what is left is a whole
# file. Files that no store knows of are never touched: each store writes to files with a name of
# its own.
#
# place   where a record begins: the number of its file and the offset in it, as in segments
# series  the files of one store in one folder

FILE_BYTES = 1 << 30
"""A file that is as long as this gets no more records."""
_WRITTEN_AT_ONCE = 1 << 22


class WarcSeries(NamedTuple):
    """The files of a store in a folder, and where the last one ends."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST

    @classmethod
    def of(cls, folder: Path, store: Path, now: float) -> Self:
        """A new series, with a name that no other one has."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """From a counter of the store; None if it has none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            found = cls(**value)
            if Path(found.prefix).name == found.prefix:  # else a stranger's, which leads elsewhere
                return found._replace(end=int(found.end))
        return None


class WarcFiles:
    """A series that is open for writing. Whoever opens it holds the lock of its store."""

    def __init__(self, series: WarcSeries, codec: Codec) -> None:
        """Cuts off what lies behind its end; `codec` reads the records of answers."""
        self._series, self._codec = series, codec
        self._folder = Path(series.folder)
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        for file in self._folder.glob(f"{series.prefix}-*"):
            refuse_links(file)
        cut_off(series)
        self._mark = self._ahead = self._continued()
        self.was_shortened = self._mark != series.end and self._path(series.end).exists()
        self._captures = open_captures(self._folder / f"{series.prefix}-bodies.db")
        self._unwritten = BytesIO()
        self._writer = self._writer_at(self._mark)

    @property
    def series(self) -> WarcSeries:
        """The series, with the place behind the last record that was confirmed."""
        return self._series._replace(end=self._mark)

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write answers behind the last confirmed record; answers with the series as it is then."""
        self._ahead = begin = self._mark
        self._writer = self._writer_at(begin)
        with index_errors(self._folder):
            self._captures.begin(begin)
            for answer in answers:
                self._append(answer)
            self._write()
            self._sync(begin)
            self._captures.commit()
        return self._series._replace(end=self._ahead)._asdict()

    def confirm(self) -> None:
        """What was appended last stays."""
        self._mark = self._ahead

    def close(self, *, cuts_off: bool = True) -> None:
        """Drop what was not confirmed; without `cuts_off`, change nothing."""
        self._captures.close()
        if cuts_off:
            cut_off(self.series)

    # ------------------------------------------------------------ one answer

    def _append(self, kept: KeptAnswer) -> None:
        if self._writer.offset >= FILE_BYTES:
            self._write()
            self._ahead = place_at(segment_of(self._ahead) + 1, 0)
            self._writer = self._writer_at(self._ahead)
        if self._writer.offset == 0:
            self._writer.begin(kept.at)
        capture = _capture(kept, self._codec)
        key = key_of(capture.url)
        digest, original = self._body_of(capture, key)
        place = place_at(segment_of(self._ahead), self._writer.offset)
        self._writer.add(capture, digest, original)
        self._captures.add(place, key, digest, capture.at, None if original else capture.url)
        if self._unwritten.tell() >= _WRITTEN_AT_ONCE:
            self._write()

    def _body_of(self, capture: Capture, key: int) -> tuple[str, Original | None]:
        """The digest of the body, and the answer that has it already."""
        last = self._captures.last_digest(key) if capture.is_confirmed else None
        digest = last or payload_digest(capture.body)
        found = self._captures.original(digest) if last or capture.body else None
        return digest, None if found is None else Original(*found)

    # ------------------------------------------------------------ files

    def _continued(self) -> int:
        """Where to go on: in a file of its own, if the last one is not there as it was."""
        end = self._series.end
        path = self._path(end)
        length = path.stat().st_size if path.exists() else 0
        return end if length == offset_of(end) else place_at(segment_of(end) + 1, 0)

    def _path(self, place: int) -> Path:
        return _path(self._series, segment_of(place))

    def _writer_at(self, place: int) -> WarcWriter:
        self._unwritten = BytesIO()
        name, offset = self._path(place).name, offset_of(place)
        return WarcWriter(self._unwritten, name, offset=offset, level=QUICK)

    def _write(self) -> None:
        content = self._unwritten.getvalue()
        if content:
            write_at(self._path(self._ahead), offset_of(self._ahead), content)
            self._ahead += len(content)
            self._unwritten.seek(0)
            self._unwritten.truncate()

    def _sync(self, begin: int) -> None:
        with disk_errors(self._folder):
            for number in range(segment_of(begin), segment_of(self._ahead) + 1):
                with suppress(FileNotFoundError):  # nothing was written yet
                    sync(_path(self._series, number))
            if offset_of(begin) == 0 or segment_of(begin) != segment_of(self._ahead):
                sync(self._folder)


def cut_off(series: WarcSeries) -> None:
    """Remove what lies behind the end of a series."""
    number, keep = segment_of(series.end), offset_of(series.end)
    with disk_errors(Path(series.folder)):
        if (path := _path(series, number)).exists() and path.stat().st_size > keep:
            os.truncate(path, keep) if keep else path.unlink()
        while (path := _path(series, number := number + 1)).exists():
            path.unlink()


def _path(series: WarcSeries, number: int) -> Path:
    return Path(series.folder) / f"{series.prefix}-{number:05}.warc.gz"


def _capture(kept: KeptAnswer, codec: Codec) -> Capture:
    answer = read_packed(kept.record, codec) if kept.record else _unchanged(kept.url)
    return Capture(
        url=answer.spelled or answer.url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        at=kept.at,
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED,
        cut=answer.cut,
        title="",
        rank=0,
        importance=kept.importance,
        hops=kept.hops,
    )


def _unchanged(url: str) -> Answer:
    """What a server said that the page has not changed."""
    return Answer(url, HTTPStatus.NOT_MODIFIED, {}, b"", 0.0, RecordKind.REVISIT)
