"""Places where a crawl keeps responses: nowhere, or in an archive and in WARC files.

Law: a response is kept before the step that it led to is in the store.

Most crawls keep no responses, so the code that writes them is imported only on demand.
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
from minicrawl.archive.warc import QUICK, Capture, Original, WarcWriter, payload_digest
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, Noted, Warned, nobody_listens
from minicrawl.errors import NoRoom, UsageError
from minicrawl.model import KeptAnswer
from minicrawl.own_files import refuse_links
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, real_path
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter

if TYPE_CHECKING:
    from minicrawl.archive.writer import PruneRules, Pruning
    from minicrawl.store.writer import StoreLock


class Keeping(NamedTuple):
    """Places where responses are kept."""

    archive: ArchiveWriter | None = None
    warcs: WarcFiles | None = None
    versions: int | None = None
    """Number of responses per page that stay in the archive."""
    lock: StoreLock | None = None

    @property
    def places(self) -> list[ArchiveWriter | WarcFiles]:
        """The archive and the WARC files, if open."""
        return [one for one in (self.archive, self.warcs) if one is not None]

    def __bool__(self) -> bool:
        return self.archive is not None or self.warcs is not None

    def close(self) -> None:
        """Close all files, and cut off unconfirmed records unless another crawl holds the lock."""
        cuts_off = self.lock is None or self.lock.renew()
        for one in self.places:
            one.close(cuts_off=cuts_off)


NOWHERE = Keeping()
_GROWN, _WORTH = 2, 0.25
"""Size of the archive, as a factor of what had to stay when it was last examined, at which it is
examined again; share of it worth rewriting."""


class ArchivingStore:
    """Store that keeps the responses of a batch before it commits the batch."""

    def __init__(self, store: StoreWriter, keeping: Keeping) -> None:
        self._store, self._keeping = store, keeping
        self._had_to_stay = 0  # bytes of the archive that no pruning could have freed
        self._waits_for_readers = False
        self._appended: Batch | None = None
        self._end = 0  # of the archive, after the last append

    @property
    def connection(self) -> tables.Connection:
        return self._store.connection

    def commit(self, batch: Batch) -> None:
        """Write the responses of a batch, then commit its rows as one transaction."""
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
        """Write the responses, unless an earlier attempt at this batch already has."""
        archive, warcs = self._keeping.archive, self._keeping.warcs
        if archive is not None:
            batch.counters[tables.ARCHIVE_END] = self._end = archive.append(batch.answers)
            if self._keeping.versions is not None:
                batch.counters[tables.PRUNING_WAITS] = self._waits_for_readers
        if warcs is not None:
            batch.counters[tables.WARC] = warcs.append(batch.answers)
        self._appended = batch

    def _let_go_of_versions(self, archive: ArchiveWriter, versions: int) -> None:
        """Prune old versions if that frees enough.

        That is examined once per run, and whenever the archive has twice the bytes that had to
        stay. Refused: twice the bytes that it had. Where pruning would have freed just under a
        quarter, the archive would grow to 2.7 times what had to stay.

        Pruned records are deleted when nobody reads them any more; until then nothing else is
        pruned.
        """
        from minicrawl.archive.writer import PruneRules, Pruning

        if self._waits_for_readers and archive.remove_pruned():
            self._waits_for_readers = False
        if _bytes_of(archive) < _GROWN * self._had_to_stay:
            return
        self._waits_for_readers = not archive.remove_pruned()
        if self._waits_for_readers:
            return
        archive.reader.go_on_to(archive.end)
        pruning = Pruning(archive.reader, PruneRules(versions=versions))
        freed = pruning.freed_bytes()
        if pruning.dropped and freed >= _WORTH * pruning.record_bytes:
            freed = 0
            try:
                self._waits_for_readers = not prune(archive, self._store, pruning.keeps)
            except NoRoom:  # the committed part of the archive is unchanged
                archive.reader.segments.cut_off(archive.end)
        self._had_to_stay = max(_bytes_of(archive) - freed, 1)

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the changed rows."""
        self._store.checkpoint(checkpoint, forget_links=forget_links)


def open_keeping(store: StoreWriter, storing: Storing, tell: Listener) -> Keeping:
    """Open the archive and the WARC files that the settings ask for."""
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
# Opens the archive and the WARC files of a store as of its last commit, and prunes the archive.
#
# Laws: records that the store does not know are cut off. An archive without a known store is set
# aside and never cut off. The same holds for WARC files.
#
# The code that writes WARC files and the code that prunes are imported only on demand.


def open_places(store: StoreWriter, storing: Storing, tell: Listener) -> Keeping:
    """Open the places where responses are kept, as of the last commit of the store."""
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
    """Open the WARC files of a store in this folder, which the user has named for this run.

    Another folder that the store names is not opened: somebody else may have written that name.
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
    """Prune records. Return False if a reader delays their deletion."""
    end = archive.prune(stays)
    store.commit(Batch(counters=tables.counters(store.connection) | {tables.ARCHIVE_END: end}))
    archive.confirm()
    return archive.remove_pruned()


def prune_store(path: Path, rules: PruneRules) -> tuple[Pruning, bool]:
    """Prune the archive of a store that no crawl is writing.

    Return the pruning, and whether the records are deleted already.
    """
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
    """Rename an archive whose store is unknown.

    Return its new path, or None if there is no archive.
    """
    if not Segments(folder).numbers():
        return None
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    return folder.rename(next(name for name in names if not name.exists()))


# ================================================================ warc files
#
# WARC files of a crawl: a new one every 1 GB or so, exact as of the last commit.
#
# Laws: appended records count from `confirm` on, which is called when the store has committed the
# steps of these responses; until then the next append overwrites them. The next start cuts off
# records that the store does not know: each record is a gzip member of its own, so what remains is
# a valid file. Files of other stores are never touched: each store uses its own file names.
#
# place   number of a file and offset of a record in it, as in segments
# series  the files of one store in one folder

FILE_BYTES = 1 << 30
"""Size at which a file gets no more records."""
_WRITTEN_AT_ONCE = 1 << 22


class WarcSeries(NamedTuple):
    """The WARC files of a store in a folder, and the end of the last one."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST

    @classmethod
    def of(cls, folder: Path, store: Path, now: float) -> Self:
        """Return a new series with a unique name."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """Return the series that a counter of the store describes; None if it describes none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            found = cls(**value)
            if Path(found.prefix).name == found.prefix:  # else it could lead out of the folder
                return found._replace(end=int(found.end))
        return None


class WarcFiles:
    """Series that is open for writing. The caller holds the lock of its store."""

    def __init__(self, series: WarcSeries, codec: Codec) -> None:
        """Open the series and cut off what is behind its end. The `codec` unpacks records."""
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
        """The series up to the last confirmed record."""
        return self._series._replace(end=self._mark)

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write responses behind the last confirmed record. Return the series with its new end."""
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
        """Confirm the records that were appended last."""
        self._mark = self._ahead

    def close(self, *, cuts_off: bool = True) -> None:
        """Cut off unconfirmed records; without `cuts_off`, change nothing."""
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
        """Return the digest of the body, and the earlier response that has the same body."""
        last = self._captures.last_digest(key) if capture.is_confirmed else None
        digest = last or payload_digest(capture.body)
        found = self._captures.original(digest) if last or capture.body else None
        return digest, None if found is None else Original(*found)

    # ------------------------------------------------------------ files

    def _continued(self) -> int:
        """Return the place to continue at: a new file if the last one has changed."""
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
    """Remove everything behind the end of a series."""
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
    """Return the response of a server that reported the page as unchanged."""
    return Answer(url, HTTPStatus.NOT_MODIFIED, {}, b"", 0.0, RecordKind.REVISIT)
