"""The archive and the WARC files of a store are opened as of its last commit, and pruned.

Laws: what is in the archive and not in the store is cut off. An archive that belongs to no store
that is known is set aside, and never cut off. The same holds for WARC files.

What writes WARC files and what prunes is loaded only when it is wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.archive.index import IndexRow
from minicrawl.archive.record import PLAIN
from minicrawl.archive.segments import FIRST, Segments
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, Noted, Warned, nobody_listens
from minicrawl.crawl.settle.keeping import Keeping
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, real_path
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

if TYPE_CHECKING:
    from minicrawl.archive.pruning import PruneRules, Pruning
    from minicrawl.crawl.settle.warc_files import WarcFiles


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
    from minicrawl.crawl.settle.warc_files import WarcFiles, WarcSeries

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
    from minicrawl.archive.pruning import Pruning

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
