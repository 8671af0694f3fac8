"""Ships the commits of a `StoreWriter` to the engine, and makes snapshots.

Law: a commit counts when the engine has confirmed its entry.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import zstandard

from minicrawl.cluster.engine import EngineFull, EngineUnavailable
from minicrawl.cluster.engine_thread import Connect, EngineThread
from minicrawl.cluster.replica.entries import PIECE_BYTES, Entry, EntryKind
from minicrawl.cluster.replica.kept_pages import KeptPagesLog, TakenPages
from minicrawl.cluster.replica.restoring import Restored
from minicrawl.cluster.replica.shard_log import LogWriter
from minicrawl.cluster.replica.snapshots import SnapshotWriter
from minicrawl.errors import NoRoom, Unconfirmed, Unreachable
from minicrawl.store.disk.wal import WalTail
from minicrawl.store.writer import SAFE

_LEVEL = 3


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
        self._log = LogWriter(self._thread.engine, shard, taken.entry)
        self._log_bytes = taken.log_bytes
        self._queued = deque[Entry]()  # entries that are not confirmed yet
        self._compressor = zstandard.ZstdCompressor(_LEVEL).compressobj()
        self._pages = KeptPagesLog(shard, pages, self._thread) if pages else None
        self._tail = WalTail(path)
        self._snapshots = _Snapshots(shard, path, taken, self._thread, objects)
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
                    self._compressor = zstandard.ZstdCompressor(_LEVEL).compressobj()
                content = self._compressor.compress(piece)
                content += self._compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
                self._queued.append(Entry(kind, offset, content))
                self._append_queued()

    def _append_queued(self) -> None:
        while self._queued:
            self._thread.run(self._log.append(self._queued[0]))
            self._log_bytes += len(self._queued.popleft().content)

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
        self._snapshots.folded = self._log.last, self._log_bytes
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
        self._path, self._thread, self._objects = path, thread, objects
        self._writer = SnapshotWriter(thread.engine, shard, path, taken.snapshots)
        self.folded = taken.entry, taken.log_bytes
        """The last entry that is in the file itself, without the WAL, and the log's size to it."""
        self._taken = taken.snapshot, 0  # the same for the last snapshot
        self._under_way: Future[None] | None = None
        self._next = self._taken

    @property
    def is_under_way(self) -> bool:
        """True while the file is read."""
        return self._under_way is not None and not self._under_way.done()

    @property
    def log_bytes(self) -> int:
        """Size of the log entries that a new snapshot would replace."""
        return self.folded[1] - self._taken[1]

    def begin(self) -> None:
        """Begin a snapshot of the file, unless one is under way or has the same state."""
        if not self.is_under_way and self.folded[0] > self._taken[0]:
            self._next = self.folded
            self._under_way = self._thread.begin(self._writer.store(self._next[0], self._objects))

    def check(self) -> None:
        """Process the result of a finished snapshot."""
        taken = self._under_way
        if taken is None or not taken.done():
            return
        self._under_way = None
        try:
            taken.result()
        except (EngineUnavailable, Unreachable, CancelledError):
            return  # the next one is taken later
        except OSError as error:
            raise NoRoom(f"{self._path}: no snapshot: {error.strerror}; {SAFE}") from error
        self._taken = self._next

    def cancel(self) -> None:
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None
