"""Ships the commits of a `StoreWriter` to the engine, and makes snapshots.

Law: a commit counts when the engine has confirmed its entry.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minicrawl.cluster.engine import EngineFull, EngineUnavailable
from minicrawl.cluster.log_writer import Connect, EngineThread, LogWriter
from minicrawl.cluster.records import SnapshotRecord
from minicrawl.cluster.replica.entries import (
    PIECE_BYTES,
    EntryKind,
    ReplicaEntry,
    WalCompressor,
    pack_entry,
)
from minicrawl.cluster.replica.kept_pages import KeptPagesLog, TakenPages
from minicrawl.cluster.replica.restoring import Restored
from minicrawl.cluster.replica.snapshots import last_snapshot, store_snapshot
from minicrawl.errors import NoRoom, Unconfirmed, Unreachable
from minicrawl.store.wal import WalTail
from minicrawl.store.writer import SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLimits:
    """Sizes at which the log of a shard is shortened."""

    wal_bytes: int = 16 << 20
    """Size of the WAL at which it is folded into the file."""
    log_bytes: int = 32 << 20
    """Size of the log in the engine at which a snapshot is taken."""
    store_part: int = 2
    """For a large store: a snapshot waits until the log has 1 / `store_part` of the store's size.
    """
    piece_bytes: int = PIECE_BYTES
    """Size of the pieces in which kept pages are sent."""


class ShardReplica:
    """Replica of one shard's store. Close it after its `StoreWriter`."""

    def __init__(
        self,
        shard: int,
        path: Path,
        taken: Restored,
        connect: Connect,
        limits: ReplicaLimits | None = None,
        pages: TakenPages | None = None,
        objects: str | None = None,
    ) -> None:
        """`taken` is the result of the `take_over` that wrote the store to `path`.

        `pages` is the result of `take_over_pages`, if pages are kept. `objects` is the URL of the
        object store that gets the snapshots.
        """
        self._path, self._limits = path, limits or ReplicaLimits()
        self._thread = EngineThread(connect)
        self._log = LogWriter(self._thread, self._thread.engine, shard, taken.entry)
        self._log_bytes = taken.log_bytes
        self._queued = deque[bytes]()  # entries that are not confirmed yet
        self._compressor = WalCompressor()
        sent = self._limits.piece_bytes
        self._pages = KeptPagesLog(shard, pages, self._thread, sent) if pages else None
        self._tail = WalTail(path)
        try:
            self._snapshots = _Snapshots(shard, path, taken, self._thread, objects)
        except BaseException:
            self._thread.close()
            raise
        # Multiple of `wal_bytes` at which the WAL is folded. It grows by 1 with each attempt that a
        # reader prevents.
        self._patience = 1

    @property
    def last(self) -> int:
        """The last entry that the engine has confirmed."""
        return self._log.last

    def committed(self) -> None:
        """Send everything committed, and wait until the engine has confirmed it."""
        with self._raising_no_room():
            self._snapshots.check()
            self._append_queued()
            for offset, piece in self._tail.pieces(PIECE_BYTES):
                kind = EntryKind.MORE if offset else EntryKind.FIRST
                if kind is EntryKind.FIRST:
                    self._compressor = WalCompressor()
                compressed = self._compressor.compress(piece)
                entry = ReplicaEntry(kind, offset, len(piece), compressed)
                self._queued.append(pack_entry(entry))
                self._append_queued()

    def _append_queued(self) -> None:
        while self._queued:
            self._log.append(self._queued[0])
            self._log_bytes += len(self._queued.popleft())

    def kept(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places, and wait for confirmation."""
        if self._pages is None:
            raise ValueError("the pages of this shard were not taken over")
        with self._raising_no_room():
            self._pages.keep(begin, end)

    def moved(self) -> None:
        """Have the servers forget the bytes of segments that an object store has."""
        if self._pages is not None:
            self._pages.moved()

    @contextmanager
    def _raising_no_room(self) -> Iterator[None]:
        try:
            yield
        except EngineFull as error:
            self._snapshots.begin()  # a snapshot removes log entries
            raise NoRoom(f"{error}; {SAFE}") from error
        except EngineUnavailable as error:
            raise Unconfirmed(f"{error}; {SAFE}") from error

    def wants_checkpoint(self) -> bool:
        """Return whether the WAL is long enough to be folded, and may be."""
        is_long = self._tail.log_bytes >= self._patience * self._limits.wal_bytes
        return is_long and self.may_checkpoint()

    def may_checkpoint(self) -> bool:
        """Return whether no snapshot reads the file, and the engine has the whole WAL."""
        return not (self._queued or self._snapshots.is_under_way)

    def checkpointed(self, *, is_complete: bool) -> None:
        """Note that the WAL was folded into the file, or that a reader prevented it."""
        if not is_complete:
            self._patience += 1
            return
        self._patience = 1
        self._tail.forget()
        self._snapshots.folded = Restored(self._log.last, self._log_bytes)
        least = self._path.stat().st_size // self._limits.store_part
        if self._snapshots.log_bytes >= max(self._limits.log_bytes, least):
            self._snapshots.begin()

    def closing(self) -> None:
        """Cancel the snapshot: SQLite is about to fold the WAL into the file."""
        self._snapshots.cancel()

    def close(self) -> None:
        """Close the connection. The store is closed already."""
        self._snapshots.cancel()
        if self._pages is not None:
            self._pages.close()
        self._thread.close()


class _Snapshots:
    def __init__(
        self, shard: int, path: Path, taken: Restored, thread: EngineThread, objects: str | None
    ) -> None:
        self._shard, self._path, self._thread, self._objects = shard, path, thread, objects
        self.folded = taken
        """State of the file itself, without the WAL."""
        last = thread.run(last_snapshot(thread.engine, shard))
        self._entry = last.entry if last else 0
        self._bytes_before = 0
        self._under_way: Future[SnapshotRecord] | None = None

    @property
    def is_under_way(self) -> bool:
        """True while the file is read."""
        return self._under_way is not None and not self._under_way.done()

    @property
    def log_bytes(self) -> int:
        """Size of the log entries that a new snapshot would replace."""
        return self.folded.log_bytes - self._bytes_before

    def begin(self) -> None:
        """Begin a snapshot of the file, unless one is under way or has the same state."""
        if not self.is_under_way and self.folded.entry > self._entry:
            entry, engine = self.folded.entry, self._thread.engine
            work = store_snapshot(engine, self._shard, self._path, entry, self._objects)
            self._under_way = self._thread.begin(work)

    def check(self) -> None:
        """Process the result of a finished snapshot."""
        taken = self._under_way
        if taken is None or not taken.done():
            return
        self._under_way = None
        try:
            self._entry = taken.result().entry
        except (EngineUnavailable, Unreachable, CancelledError):
            return  # the next one is taken later
        except OSError as error:
            raise NoRoom(f"{self._path}: no snapshot: {error.strerror}; {SAFE}") from error
        self._bytes_before = self.folded.log_bytes

    def cancel(self) -> None:
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None
