"""Keeps the responses of a crawl: in an archive, in WARC files, or nowhere.

Law: a response is kept before the step that it led to is in the store.
"""

from pathlib import Path

from minicrawl.archive.pruning import PruneRules, Pruning
from minicrawl.archive.segments import bytes_between, disk_errors
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.config.values.kinds import warc_place
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.record.archiving import NOWHERE, ArchiveSinks, open_places, prune
from minicrawl.errors import NoRoom, UsageError
from minicrawl.own_files import make_folder, refuse_links
from minicrawl.store import tables
from minicrawl.store.reader import EARLIER, file_beside
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

COLLECTION = "collection.dedupe"
"""File that marks a folder of WARC files whose crawls refer to each other's bodies."""
_GROWN, _WORTH = 2, 0.25
"""The archive is examined when its size is `_GROWN` times the bytes that had to stay last time, and
pruned if that frees `_WORTH` of it.
"""


class StoreWithArchive:
    def __init__(self, store: StoreWriter, keeping: ArchiveSinks) -> None:
        self._store, self._keeping = store, keeping
        self.connection, self.checkpoint = store.connection, store.checkpoint
        self._had_to_stay = 0  # bytes of the archive that the last examination could not free
        self._waits_for_readers = False
        self._has_doubtful_pruning = False  # the commit of a pruning failed
        self._appended: Batch | None = None
        self._end = 0  # of the archive, after the last append

    def commit(self, batch: Batch) -> None:
        """Write the responses of a batch, then commit its rows as one transaction."""
        archive = self._keeping.archive
        # Checked before a file is touched: another crawl that has taken the path may be writing the
        # same archive.
        self._store.lock.check()
        if archive is not None and self._has_doubtful_pruning:
            self._settle_pruning(archive)
        # After a failed commit the same batch is passed again; its records are on disk already.
        if self._appended is not batch:
            self._append(batch)
        if archive is not None and self._store.replica is not None:
            self._store.replica.kept(archive.end, self._end)
        self._store.commit(batch)
        # Confirmed after the commit: until then, the next append must overwrite these records.
        for place in (archive, self._keeping.warcs):
            if place is not None:
                place.confirm()
        for answer in batch.answers:
            # Closed only now: an append that failed halfway is repeated, and reads these files
            # again.
            if answer.payload is not None:
                answer.payload.close()
        self._appended = None
        if archive is not None and self._keeping.versions is not None:
            self._prune_old_versions(archive, self._keeping.versions)

    def _settle_pruning(self, archive: ArchiveWriter) -> None:
        """Ask the store whether the commit of a pruning that failed counts.

        It may be on the disk all the same, and a kill would make it count, until another commit has
        succeeded. Only then may segments be deleted.
        """
        self._store.commit(Batch(counters=tables.counters(self.connection)))
        if tables.archive_end(self.connection) == archive.end:
            archive.reader.segments.cut_off(archive.end)
        else:
            archive.confirm()
            self._waits_for_readers = not archive.remove_pruned()
        self._has_doubtful_pruning = False

    def _append(self, batch: Batch) -> None:
        """Write the responses, and note the new ends of archive and WARC files in the batch."""
        archive, warcs = self._keeping.archive, self._keeping.warcs
        if archive is not None:
            # The end is part of the batch, so that one transaction commits it with the steps. Two
            # transactions would allow a kill in between, which leaves answers that count without
            # their steps.
            batch.counters[tables.ARCHIVE_END] = self._end = archive.append(batch.answers)
            if self._keeping.versions is not None:
                batch.counters[tables.PRUNING_WAITS] = self._waits_for_readers
        if warcs is not None:
            batch.counters[tables.WARC] = warcs.append(batch.answers)
        self._appended = batch

    def _prune_old_versions(self, archive: ArchiveWriter, versions: int) -> None:
        """Prune old versions if that frees enough.

        The archive is examined once per run, and whenever it has twice the bytes that had to stay
        last time. Refused: twice the bytes that it had last time. Where pruning would have freed
        just under a quarter, the archive would grow to 2.7 times what had to stay.

        Pruned records are deleted when nobody reads them any more; until then nothing else is
        pruned.
        """
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
                self._has_doubtful_pruning = True
        self._had_to_stay = max(_bytes_of(archive) - freed, 1)


def open_keeping(store: StoreWriter, storing: Storing, emit: Listener) -> ArchiveSinks:
    """Open the archive and the WARC files that the settings ask for; raises `UsageError`."""
    if storing.warc is not None and storing.keep == "text":
        raise UsageError("--warc writes whole pages: it cannot be combined with --keep text")
    if storing.requisites and storing.keep != "pages":
        raise UsageError("--requisites needs --keep pages")
    keeps_some = storing.keeps_answers or storing.warc is not None
    if storing.objects is not None and not keeps_some:
        raise UsageError("--objects needs --keep pages, --keep text or --warc")
    if storing.dedupe_with is not None and not storing.keeps_failures:
        raise UsageError("--dedupe-with needs --keep pages or --warc")
    if (place := earlier_place(storing)) is not None:
        from minicrawl.archive.warc.earlier import read_earlier

        gone = tables.taken_down(tables.counters(store.connection))
        file = file_beside(store.path, EARLIER)
        read_earlier(place, file, lambda text: emit(Noted(text=text)), gone)
    return open_places(store, storing, emit) if keeps_some else NOWHERE


def earlier_place(storing: Storing) -> Path | None:
    """Return the file or folder with the indexes of earlier archives.

    A folder that is named both by --warc and by --dedupe-with is a collection: its later crawls, of
    any store, refer to each other without being asked again.
    """
    if storing.warc is None:
        return storing.dedupe_with
    folder = warc_place(storing.warc).folder
    mark = folder / COLLECTION
    if storing.dedupe_with is not None and storing.dedupe_with.resolve() == folder.resolve():
        with disk_errors(folder):
            make_folder(folder)
            refuse_links(mark).touch()
    return storing.dedupe_with or (folder if mark.exists() else None)


def _bytes_of(archive: ArchiveWriter) -> int:
    end = archive.end
    return bytes_between(archive.reader.segments.begin(end), end)
