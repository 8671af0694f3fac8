"""The archive of a crawl: opened as of the last commit of its store, and written before each.

Laws: an answer is in the archive before the step that it led to is in the store. What is in the
archive and not in the store is cut off at the next start. An archive that belongs to no store that
is known is set aside, and never cut off.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

from minicrawl.archive.segments import FIRST
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import Store


class ArchivingStore:
    """A store whose batches bring answers for the archive, if there is one."""

    def __init__(self, store: Store, archive: ArchiveWriter | None) -> None:
        self._store, self._archive = store, archive

    @property
    def connection(self) -> tables.Connection:
        """The connection of the store."""
        return self._store.connection

    def commit(self, batch: Batch) -> None:
        """Add all of the batch: the answers first, then the rows, as one."""
        if self._archive is not None:
            batch.counters[tables.ARCHIVE_END] = self._archive.append(batch.answers)
        self._store.commit(batch)
        if self._archive is not None:
            self._archive.confirm()

    def checkpoint(self, checkpoint: Checkpoint, *, forget_links: bool = False) -> None:
        """Write the rows that changed."""
        self._store.checkpoint(checkpoint, forget_links=forget_links)


def open_archive(store: Store, storing: Storing, tell: Listener) -> ArchiveWriter | None:
    """The archive of a store as of its last commit; None if nothing is to be kept."""
    if storing.keep == "none":
        return None
    folder, counters = archive_folder(store.path), tables.counters(store.connection)
    end = tables.archive_end(store.connection)
    if end is None:
        if folder.exists():
            tell(Noted(text=f"the pages that were there are in {_set_aside(folder)} now"))
        end = FIRST
        store.commit(Batch(counters=counters | {tables.ARCHIVE_END: end}))
    archive = ArchiveWriter(folder, end, only_changes=storing.keep_versions == "changed")
    if archive.was_shortened:
        tell(Warned(text=f"{folder} has less than the store says: pages that were kept are gone"))
    return archive


def _set_aside(folder: Path) -> Path:
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    return folder.rename(next(name for name in names if not name.exists()))
