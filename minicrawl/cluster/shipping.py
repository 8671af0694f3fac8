"""Ships the commits of a `StoreWriter` to the engine, before they count.

Laws: `committed` returns when the engine has confirmed everything committed. Without room in the
engine, or without an answer, it raises NoRoom: the crawl waits, and the next call continues where
this one broke off. When another node has the shard, it raises Fenced, and nothing is written any
more. The file of the store does not change while a snapshot of it is taken. Kept pages are in the
engine before the commit that counts them.

The store's thread waits for the engine, so a slow engine slows the crawl as a slow disk does.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minicrawl.cluster.engine import EngineFull, EngineUnavailable, Fenced
from minicrawl.cluster.pages import KeptPagesLog, TakenPages
from minicrawl.cluster.replica import (
    PIECE_BYTES,
    Connect,
    EngineThread,
    EntryKind,
    ReplicaEntry,
    Restored,
    StoreSnapshot,
    WalCompressor,
    last_snapshot,
    pack_entry,
    store_snapshot,
)
from minicrawl.errors import NoRoom
from minicrawl.store.files import WalPiece, WalTail

_SAFE = "everything committed before is safe"


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
    """Replica of one shard's store. Its `StoreWriter` calls all methods but `close`."""

    def __init__(
        self,
        shard: int,
        path: Path,
        taken: Restored,
        connect: Connect,
        limits: ReplicaLimits | None = None,
        pages: TakenPages | None = None,
    ) -> None:
        """`taken` is the result of the `take_over` that wrote the store to `path`.

        `pages` is the result of `take_over_pages`, if pages are kept.
        """
        self._path, self._limits = path, limits or ReplicaLimits()
        self._thread = EngineThread(connect)
        self._log = _ReplicaLog(shard, taken, self._thread)
        self._pages = KeptPagesLog(shard, pages, self._thread) if pages else None
        self._tail = WalTail(path)
        try:
            self._snapshots = _Snapshots(shard, path, taken, self._thread)
        except BaseException:
            self._thread.close()
            raise
        self._patience = 1

    @property
    def last(self) -> int:
        """The last entry that the engine has confirmed."""
        return self._log.last

    def committed(self) -> None:
        """Wait until the engine has everything committed."""
        with self._waiting_for_room():
            self._snapshots.check()
            self._log.go_on()
            for piece in self._tail.pieces(PIECE_BYTES):
                self._log.add(piece)
                self._log.go_on()

    def kept(self, begin: int, end: int) -> None:
        """Wait until the engine has what was appended to the archive between two places."""
        if self._pages is None:
            raise ValueError("the pages of this shard were not taken over")
        with self._waiting_for_room():
            self._pages.keep(begin, end)

    @contextmanager
    def _waiting_for_room(self) -> Iterator[None]:
        try:
            yield
        except EngineFull as error:
            self._snapshots.begin()  # it will remove entries
            raise NoRoom(f"{error}; {_SAFE}") from error
        except EngineUnavailable as error:
            raise NoRoom(f"{error}; {_SAFE}") from error

    def wants_checkpoint(self) -> bool:
        """Return whether the WAL is long enough to be folded."""
        is_long = self._tail.log_bytes >= self._patience * self._limits.wal_bytes
        return is_long and self.may_checkpoint()

    def may_checkpoint(self) -> bool:
        """Return whether no snapshot reads the file, and the engine has the whole WAL."""
        return not (self._log.is_behind or self._snapshots.is_under_way)

    def checkpointed(self, *, is_complete: bool) -> None:
        """Note that the WAL was folded into the file, or that a reader prevented it."""
        if not is_complete:
            self._patience += 1
            return
        self._patience = 1
        self._tail.forget()
        self._snapshots.folded = Restored(self._log.last, self._log.bytes_so_far)
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


class _ReplicaLog:
    """Writing end of the shard's log, with the entries not confirmed yet."""

    def __init__(self, shard: int, taken: Restored, thread: EngineThread) -> None:
        self._shard, self._thread = shard, thread
        self.last, self.bytes_so_far = taken
        self._waiting = deque[bytes]()
        self._compressor = WalCompressor()
        self._fenced: Fenced | None = None

    @property
    def is_behind(self) -> bool:
        """True if a commit is not confirmed yet."""
        return bool(self._waiting)

    def add(self, piece: WalPiece) -> None:
        """Queue the next WAL bytes; a new WAL gets a new compressor."""
        is_first = not piece.offset
        if is_first:
            self._compressor = WalCompressor()
        compressed = self._compressor.compress(piece.content)
        kind = EntryKind.FIRST if is_first else EntryKind.MORE
        entry = ReplicaEntry(kind, piece.offset, len(piece.content), compressed)
        self._waiting.append(pack_entry(entry))

    def go_on(self) -> None:
        """Append the queued entries."""
        if self._fenced is not None:
            raise self._fenced
        while self._waiting:
            content = self._waiting[0]
            try:
                append = self._thread.engine.append(self._shard, self.last, content)
                self.last = self._thread.run(append)
            except Fenced as error:
                self._fenced = error
                raise
            self.bytes_so_far += len(content)
            self._waiting.popleft()


class _Snapshots:
    """Snapshots of the file, taken while the crawl goes on."""

    def __init__(self, shard: int, path: Path, taken: Restored, thread: EngineThread) -> None:
        self._shard, self._path, self._thread = shard, path, thread
        self.folded = taken
        """State of the file itself, without the WAL."""
        kept = thread.run(last_snapshot(thread.engine, shard))
        self._entry = kept.entry if kept else 0
        self._bytes_before = 0
        self._under_way: Future[StoreSnapshot] | None = None

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
            work = store_snapshot(self._thread.engine, self._shard, self._path, self.folded.entry)
            self._under_way = self._thread.begin(work)

    def check(self) -> None:
        """Take in the result of a finished snapshot."""
        taken = self._under_way
        if taken is None or not taken.done():
            return
        self._under_way = None
        try:
            self._entry = taken.result().entry
        except (EngineUnavailable, CancelledError):
            return  # the next one is taken later
        except OSError as error:
            raise NoRoom(f"{self._path}: no snapshot: {error.strerror}; {_SAFE}") from error
        self._bytes_before = self.folded.log_bytes

    def cancel(self) -> None:
        """Stop reading the file."""
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None
