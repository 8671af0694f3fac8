"""Writer of a log, in a thread of its own, so that no other work delays a commit.

Laws: nothing from the engine is trusted: bytes that no node writes are refused. When another node
has the log, `append` raises Fenced for ever.
"""

import asyncio
import struct
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from enum import IntEnum
from typing import Any, TypeVar
from zlib import crc32

from minicrawl.cluster.engine import (
    ClusterEngine,
    EngineError,
    EngineUnavailable,
    Fenced,
    LogEntry,
    ShardLogs,
)

T = TypeVar("T")
K = TypeVar("K", bound=IntEnum)
Connect = Callable[[], Coroutine[Any, Any, ClusterEngine]]


class EngineThread:
    """A thread with an event loop and an engine of its own."""

    def __init__(self, connect: Connect) -> None:
        """Call `connect` in the new thread, and wait for its engine."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="replica", daemon=True)
        self._thread.start()
        try:
            self.engine = self.run(connect())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine in the thread, without waiting."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        try:
            self.run(self.engine.close())
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_VERSION = 1
_FRAME = struct.Struct(">IBB")
"""Checksum of all that follows, version, kind."""
_CHECKSUM = struct.Struct(">I")
_TAKE_TRIES = 100


def pack_frame(kind: int, head: bytes, content: bytes) -> bytes:
    """Encode an entry; `head` has its numbers."""
    checked = _FRAME.pack(0, _VERSION, kind)[_CHECKSUM.size :] + head + content
    return _CHECKSUM.pack(crc32(checked)) + checked


def unpack_frame(
    packed: bytes, kinds: type[K], head: struct.Struct
) -> tuple[K, tuple[int, ...], bytes]:
    """Decode an entry into kind, numbers and content."""
    try:
        checksum, version, kind = _FRAME.unpack_from(packed)
        if checksum != crc32(memoryview(packed)[_CHECKSUM.size :]):
            raise ValueError("its checksum is wrong")
        numbers = head.unpack_from(packed, _FRAME.size)
    except (struct.error, ValueError) as error:
        raise EngineError(f"it is damaged, or no minicrawl made it: {error}") from error
    if version != _VERSION:
        raise EngineError(
            f"it has version {version}, but this minicrawl reads {_VERSION}: upgrade minicrawl"
        )
    if kind not in tuple(kinds):
        raise EngineError(f"it is of the unknown kind {kind}")
    return kinds(kind), numbers, packed[_FRAME.size + head.size :]


_UNREADABLE = (
    "It may hold cash, so it is not skipped: restore an earlier copy of the servers' files, or "
    "start a new crawl under another name, as with --cluster nats://host:4222/again"
)


async def read_entry(
    entry: LogEntry, log: str, read: Callable[[bytes], T], emit: Callable[[str], None]
) -> T | None:
    """Call `read` with the entry, in a thread. Skip an empty entry, which no node writes."""
    if not entry.content:
        emit(f"entry {entry.number} of {log} is empty: it was skipped")
        return None
    try:
        return await asyncio.to_thread(read, entry.content)
    except EngineError as error:
        raise EngineError(f"entry {entry.number} of {log}: {error}. {_UNREADABLE}") from error


async def mark_taken(logs: ShardLogs, shard: int, mark: bytes) -> int:
    """Append a mark that fences off all earlier writers of the log, and return its number.

    The holder appends all the time, so the mark is refused until it happens to come between two of
    the holder's entries. From then on the holder is refused.
    """
    for _ in range(_TAKE_TRIES):
        last = (await logs.log_span(shard)).last
        with suppress(Fenced):  # the holder has just appended
            return await logs.append(shard, last, mark)
    raise EngineUnavailable(f"shard {shard} cannot be taken over: its holder appends without end")


class LogWriter:
    """Writing end of a log that was taken over with entry `last`."""

    def __init__(self, thread: EngineThread, logs: ShardLogs, shard: int, last: int) -> None:
        self._thread, self._logs, self._shard, self.last = thread, logs, shard, last
        self._fenced: Fenced | None = None

    def append(self, entry: bytes) -> None:
        """Append an entry, and wait until it is confirmed."""
        if self._fenced is not None:
            raise self._fenced
        try:
            self.last = self._thread.run(self._logs.append(self._shard, self.last, entry))
        except Fenced as error:
            self._fenced = error
            raise
