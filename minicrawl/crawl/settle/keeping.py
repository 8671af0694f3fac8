"""Where the answers of a crawl are kept: nowhere, or in an archive and in WARC files.

Law: an answer is there before the step that it led to is in the store.

Most crawls keep no answers, so what writes them is loaded only when it is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Storing
from minicrawl.crawl.events import Listener
from minicrawl.errors import NoRoom, UsageError
from minicrawl.store import tables
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter

if TYPE_CHECKING:
    from minicrawl.archive.writer import ArchiveWriter
    from minicrawl.crawl.settle.warc_files import WarcFiles
    from minicrawl.store.beside.lock import StoreLock


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
        from minicrawl.archive.pruning import PruneRules, Pruning
        from minicrawl.crawl.settle.archiving import prune

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
    from minicrawl.crawl.settle.archiving import open_places

    return open_places(store, storing, tell)


def _bytes_of(archive: ArchiveWriter) -> int:
    from minicrawl.archive.segments import bytes_between  # only where an archive is open

    end = archive.end
    return bytes_between(archive.reader.segments.begin(end), end)
