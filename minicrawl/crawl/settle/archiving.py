"""Answers are kept: in the archive and in WARC files, opened as of the last commit of their store,
and written before each.

Laws: an answer is in the archive before the step that it led to is in the store. What is in the
archive and not in the store is cut off at the next start. An archive that belongs to no store that
is known is set aside, and never cut off. The same holds for WARC files.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.index import IndexRow
from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.record import PLAIN
from minicrawl.archive.segments import FIRST
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, Noted, Warned, nobody_listens
from minicrawl.crawl.settle.warc_files import WarcFiles, WarcSeries, cut_off
from minicrawl.errors import NoRoom, UsageError
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, real_path
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter


class Keeping(NamedTuple):
    """Where answers are kept."""

    archive: ArchiveWriter | None = None
    warcs: WarcFiles | None = None
    versions: int | None = None
    """Of each page, how many answers stay in the archive."""

    @property
    def places(self) -> list[ArchiveWriter | WarcFiles]:
        """All that there are."""
        return [one for one in (self.archive, self.warcs) if one is not None]

    def __bool__(self) -> bool:
        return bool(self.places)

    def close(self) -> None:
        """Drop what was not confirmed."""
        for one in self.places:
            one.close()


NOWHERE = Keeping()
_GROWN, _WORTH = 2, 0.25
"""Times its size, until an archive is looked through again; what share of it is worth a copy."""


class ArchivingStore:
    """A store whose batches bring answers that are kept."""

    def __init__(self, store: StoreWriter, keeping: Keeping) -> None:
        self._store, self._keeping = store, keeping
        self._looked_through_at = 0  # bytes of the archive

    @property
    def connection(self) -> tables.Connection:
        """The connection of the store."""
        return self._store.connection

    def commit(self, batch: Batch) -> None:
        """Add all of the batch: the answers first, then the rows, as one."""
        archive, warcs = self._keeping.archive, self._keeping.warcs
        if archive is not None:
            batch.counters[tables.ARCHIVE_END] = archive.append(batch.answers)
        if warcs is not None:
            batch.counters[tables.WARC] = warcs.append(batch.answers)
        self._store.commit(batch)
        for one in self._keeping.places:
            one.confirm()
        if archive is not None and self._keeping.versions is not None:
            self._let_go_of_versions(archive, self._keeping.versions)

    def _let_go_of_versions(self, archive: ArchiveWriter, versions: int) -> None:
        """Prune, if that is worth it; each run looks once, and whenever the archive has doubled."""
        if _bytes_of(archive) < _GROWN * self._looked_through_at:
            return
        archive.reader.go_on_to(archive.end)
        pruning = Pruning(archive.reader, PruneRules(versions=versions))
        if pruning.dropped and pruning.freed_bytes() >= _WORTH * pruning.record_bytes:
            try:
                prune(archive, self._store, pruning.keeps)
            except NoRoom:  # what was committed is as it was
                archive.reader.segments.cut_off(archive.end)
        self._looked_through_at = max(_bytes_of(archive), 1)

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the rows that changed."""
        self._store.checkpoint(checkpoint, forget_links=forget_links)


def open_keeping(store: StoreWriter, storing: Storing, tell: Listener) -> Keeping:
    """All places where the answers of a crawl are kept, as of the last commit of its store."""
    if storing.warc is not None and storing.keep == "text":
        raise UsageError("--warc writes whole pages, and --keep text has only their text")
    archive = open_archive(store, storing, tell)
    try:
        versions = storing.keep_versions if isinstance(storing.keep_versions, int) else None
        return Keeping(archive, open_warcs(store, storing.warc, archive, tell), versions)
    except BaseException:
        Keeping(archive).close()
        raise


def open_warcs(
    store: StoreWriter, folder: Path | None, archive: ArchiveWriter | None, tell: Listener
) -> WarcFiles | None:
    """The WARC files of a store in this folder; in others, what was not committed is cut off."""
    counters, place = tables.counters(store.connection), real_path(store.path)
    series = WarcSeries.read(counters.get(tables.WARC))
    if series is not None and (series.store, series.folder) != (str(place), str(folder)):
        if series.store == str(place):
            cut_off(series)
        series = None
    if folder is None:
        return None
    if series is None:
        series = WarcSeries.of(folder, place, time.time())
        store.commit(Batch(counters=counters | {tables.WARC: series._asdict()}))
    warcs = WarcFiles(series, PLAIN if archive is None else archive.reader.codec)
    if warcs.was_shortened:
        tell(Warned(text=f"the last WARC file in {folder} was changed: a new one is begun"))
    return warcs


def open_archive(store: StoreWriter, storing: Storing, tell: Listener) -> ArchiveWriter | None:
    """The archive of a store as of its last commit; None if nothing is to be kept."""
    if storing.keep in ("links", "none"):
        return None
    folder, counters = archive_folder(store.path), tables.counters(store.connection)
    end = tables.archive_end(store.connection)
    if end is None:
        if aside := set_pages_aside(folder):
            tell(Noted(text=f"the pages that were there are in {aside} now"))
        end = FIRST
        store.commit(Batch(counters=counters | {tables.ARCHIVE_END: end}))
    archive = ArchiveWriter(folder, end, only_changes=storing.keep_versions == "changed")
    if archive.was_shortened:
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
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        with closing(archive):
            pruning = Pruning(archive.reader, rules)
            is_gone = not pruning.dropped or prune(archive, store, pruning.keeps)
            return pruning, is_gone


def _bytes_of(archive: ArchiveWriter) -> int:
    segments, end = archive.reader.segments, archive.end
    return segments.bytes_between(segments.begin(end), end)


def set_pages_aside(folder: Path) -> Path | None:
    """Rename an archive whose store is not known; its new name, or None if there is none."""
    if not folder.exists():
        return None
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    return folder.rename(next(name for name in names if not name.exists()))
