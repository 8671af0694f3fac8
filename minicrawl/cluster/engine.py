"""Protocols of the engine that joins the shards of a crawl, and access to it.

The engine has logs, batches, keys, broadcasts and objects. `nats` implements it.

Laws of every engine: confirmed data stays until somebody removes it. Only a caller that knows the
end of a log appends to it. Batches of one channel arrive in the order of their publication, except
those that are delivered again. `update` changes a key only from the revision that the caller knows.
A failed call may be repeated: only batches and broadcasts may then arrive twice.

log        numbered entries of one shard; the first ones may have been removed
pages      logs of the same kind, for the kept pages of shards
batch      transfers from shard to shard; redelivered until the receiver acknowledges it
key        a name with a small value and a revision, which grows with each change of any key
beats      keys with a leader of their own: they answer while servers elect one for the other keys
object     a large file with a name
broadcast  a message to current listeners; it is not stored, and may be lost
"""

from __future__ import annotations

import asyncio
import os
import re
import struct
import sys
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit
from zlib import crc32

from minicrawl.cluster.channels import TransferBatch
from minicrawl.cluster.records import KeyEntry
from minicrawl.config import Settings
from minicrawl.errors import MinicrawlError, UsageError, needs
from minicrawl.fetch.tls import covers

MOST_ENTRY_BYTES = 1 << 19
"""Limit of a log entry. NATS messages have at most 1 MiB unless the server says otherwise."""
MOST_VALUE_BYTES = 1 << 18
"""Limit of the value of a key, and of a broadcast."""


def ignore(_line: str) -> None:
    """Discard a message."""


class EngineError(MinicrawlError):
    """The engine refused, and would refuse again; the message says what to do."""


class EngineUnavailable(EngineError):
    """Nobody answered in time: the call may or may not have been done. A retry may succeed."""


class EngineFull(EngineUnavailable):
    """The engine has no room: nothing was done. A retry may succeed when there is."""


class Fenced(EngineError):
    """The log has an entry unknown to us: another node has taken the shard over."""


class KeyTaken(EngineError):
    """The key has a revision that the caller did not expect: somebody else has changed it."""


class LogEntry(NamedTuple):
    """An entry of a shard's log."""

    number: int
    content: bytes


class LogSpan(NamedTuple):
    """First and last number of a log; `first` is `last + 1` if it is empty."""

    first: int
    last: int


class BatchDelivery(Protocol):
    """A batch that has arrived for a shard."""

    @property
    def packed(self) -> bytes:
        """The bytes of `channels.pack`, unchecked."""

    async def done(self) -> None:
        """Acknowledge: the batch is in the log of the shard, and need not come again."""

    async def later(self) -> None:
        """Ask for redelivery in a moment: an earlier batch is missing."""


class ShardLogs(Protocol):
    """The logs of all shards."""

    async def log_span(self, shard: int) -> LogSpan:
        """Return the first and last number of the log."""

    async def append(
        self, shard: int, after: int, content: bytes, *, is_shared: bool = False
    ) -> int:
        """Append after entry `after`, the last one, and return the number of the new entry.

        The number is `after + 1` or larger. Raises Fenced if there is a later entry; if that is
        this very entry, an earlier call appended it, and its number is returned. `is_shared` says
        that several clients append to this log.
        """

    def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        """Yield the entries after `after` that were not removed, up to the last one as of now."""

    async def remove_entries(self, shard: int, up_to: int) -> None:
        """Remove all entries up to and including `up_to`. The others keep their numbers."""

    async def change_leader(self, shard: int) -> None:
        """Make another server lead the log, if there is one: this one lacks confirmed entries."""


class BatchChannels(Protocol):
    """Batches between shards."""

    async def publish(self, batch: TransferBatch) -> None:
        """Store the batch for its receiver. A batch published twice may arrive twice."""

    def inbox(self, shard: int) -> AsyncGenerator[BatchDelivery, None]:
        """Yield deliveries for the shard, for ever.

        Deliveries that are not acknowledged come again, here or elsewhere. The latest inbox of a
        shard gets everything; an older one raises Fenced. Close it with `aclose`.
        """


class KeyValues(Protocol):
    """Small values under names such as `lease.3`, for leases, facts, settings and commands."""

    async def get(self, key: str) -> KeyEntry | None:
        """Return the key as it is now, or None."""

    async def create(self, key: str, value: bytes) -> int:
        """Create the key and return its revision. Raises KeyTaken if it exists."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Change the key if it has this revision, and return the new one.

        Revision 0 creates it. Raises KeyTaken if the key has another revision.
        """

    async def put(self, key: str, value: bytes) -> int:
        """Set the key unconditionally, and return its revision."""

    async def delete(self, key: str) -> None:
        """Delete the key, if it exists."""

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        """Return all keys with this prefix, sorted by name."""

    def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry | None, None]:
        """Yield the keys with this prefix, then None, then each change, for ever.

        Of changes in quick succession only the last one may come. Close it with `aclose`.
        """


class BeatKeys(KeyValues, Protocol):
    """Keys with a leader of their own, for what nodes repeat every second."""

    async def separate_leaders(self) -> None:
        """Move the lead of the beats to a server that does not lead the keys, if there is one."""

    async def switch_server(self) -> None:
        """Connect to another server, if there are several.

        This server may be cut off from the others.
        """


class Broadcasts(Protocol):
    """Messages to current listeners, under names such as those of keys."""

    async def broadcast(self, topic: str, content: bytes) -> None:
        """Send a message to all current listeners."""

    def broadcasts(self, prefix: str) -> AsyncGenerator[KeyEntry, None]:
        """Yield messages with this prefix from now on, for ever, as keys of revision 0.

        Close it with `aclose`.
        """


class ObjectFiles(Protocol):
    """Large files, such as snapshots of stores."""

    async def put_object(self, name: str, file: Path) -> None:
        """Store a copy of the file; it replaces an older one when it is complete."""

    async def get_object(self, name: str, file: Path) -> None:
        """Write the object to `file`. Raises EngineError if it is absent or damaged."""

    async def delete_object(self, name: str) -> None:
        """Delete the object, if it exists."""

    async def objects(self) -> list[str]:
        """Return the names of all objects."""


class ClusterEngine(ShardLogs, BatchChannels, KeyValues, Broadcasts, ObjectFiles, Protocol):
    """The whole engine, with all its protocols. Use it in one event loop."""

    @property
    def beats(self) -> BeatKeys:
        """Keys with a leader of their own."""

    @property
    def pages(self) -> ShardLogs:
        """The logs of kept pages: each shard has one beside its log, made on first use."""

    async def close(self) -> None:
        """Close the connection. Inboxes and watches end."""


# ================================================================ access

_NAMED = re.compile("(.*[^/])/([A-Za-z0-9_-]*)")
"""Servers and the path after them; the slashes of `nats://` do not count."""
DEFAULT_NAME = "crawl"
_OTHER_SYSTEM = "a cluster needs Linux, and this is {}: use a Linux container or virtual machine"
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_CANCEL_AGAIN_S = 0.2
_SCHEMES = ("nats", "tls", "ws", "wss")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Address of the engine of one crawl, and access to it.

    Law: nothing that is shown, logged or stored has a password.
    """

    url: str
    """Comma-separated URLs of servers. Other servers of the cluster are discovered."""
    name: str = DEFAULT_NAME
    """Name of the crawl: several crawls may use the same servers."""
    creds: Path | None = None
    """File with credentials in the format of NATS, or with the seed of an nkey."""
    ca: Path | None = None
    """File with certificates to trust instead of the system's."""
    cert: Path | None = None
    """File with our certificate, if servers require one."""
    key: Path | None = None
    """File with the key of `cert`, if it is in a file of its own."""
    tls: bool = False
    """True if the connection must be encrypted, whatever the URLs say."""
    patience_s: float = 15.0
    """Time for which a request is repeated. Servers take up to 10 s to elect a leader."""

    def __post_init__(self) -> None:
        for url in self.urls:
            _check(url)
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot be the name of a cluster: use letters, digits, - and _"
            )

    @property
    def urls(self) -> list[str]:
        """URLs of the servers, including passwords."""
        return [url.strip() for url in self.url.split(",")]

    @property
    def bucket(self) -> str:
        """Name of the crawl's buckets, and prefix of all its subjects except JetStream's own."""
        return f"minicrawl-{self.name}"

    @property
    def shown(self) -> str:
        """URLs of the servers, without users and passwords."""
        return ",".join(map(without_password, self.urls))

    @property
    def wants_tls(self) -> bool:
        """True if the connection must be encrypted."""
        has_files = self.ca is not None or self.cert is not None
        return self.tls or has_files or any(url.startswith(("tls:", "wss:")) for url in self.urls)


def without_password(url: str) -> str:
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://{after}" if at else url


def _check(url: str) -> None:
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its text may contain the password
        is_valid = False
    if not is_valid:
        raise UsageError(f"{shown!r} is not a server: write nats://HOST:4222 or tls://HOST:4222")


_FILE_VARIABLES = ("NATS_CREDS", "NATS_CA", "NATS_CERT", "NATS_KEY")
"""Environment variables of NATS's own command: files with credentials, trusted certificates, our
certificate, and its key."""


def access_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> ClusterAccess:
    """Return the access that the settings and NATS's variables describe.

    A URL such as nats://host:4222/news has the servers and the name of the crawl. Connections to
    other machines must be encrypted and need credentials, except to hosts that --insecure names.
    """
    if (url := settings.cluster.url) is None:
        raise UsageError("no cluster: name its servers with --cluster nats://host:4222")
    found = _NAMED.fullmatch(url)
    servers, name = found.groups() if found else (url, "")
    creds, ca, cert, key = (
        Path(one) if (one := environ.get(name)) else None for name in _FILE_VARIABLES
    )
    access = ClusterAccess(servers, name or DEFAULT_NAME, creds, ca, cert, key)
    exposed = _exposed(access.urls, settings.network.insecure)
    if exposed and "@" not in servers and access.creds is None and access.cert is None:
        raise UsageError(
            f"{exposed[0]} is another machine, and no credentials are given: name them in "
            f"NATS_CREDS, tls://USER:PASSWORD@{exposed[0]} or NATS_CERT; or say "
            f"--insecure {exposed[0]} (MINICRAWL_INSECURE) if you trust everybody on its network"
        )
    return replace(access, tls=bool(exposed))


def _exposed(urls: Sequence[str], insecure: Sequence[str]) -> list[str]:
    """Return the hosts that are neither this machine nor named as insecure."""
    hosts = [urlsplit(url).hostname or "" for url in urls]
    named = [name.strip("[]").lower() for name in insecure]
    return [
        host
        for host in hosts
        if not (_LOOPBACK.fullmatch(host) or any(covers(pattern, host) for pattern in named))
    ]


@asynccontextmanager
async def opened(access: ClusterAccess, *, makes: bool = True) -> AsyncIterator[ClusterEngine]:
    """Open the engine, and close it on exit.

    Raises UsageError if the servers refuse us, or, with `makes` false, if they have no such crawl;
    otherwise an absent crawl is made.
    """
    try:
        engine = await connect_engine(access, makes=makes)
    except EngineError as error:
        raise UsageError(str(error)) from error
    try:
        yield engine
    finally:
        await engine.close()


def refuse_other_systems() -> None:
    """Refuse systems without CLOCK_BOOTTIME: leases need a clock that runs during sleep."""
    if sys.platform != "linux":
        system = "macOS" if sys.platform == "darwin" else sys.platform
        raise UsageError(_OTHER_SYSTEM.format(system))


def import_engine() -> None:
    """Import the modules that a connection needs.

    Called early, it makes the first connection faster.
    """
    refuse_other_systems()
    with needs("cluster", "a cluster"):
        import minicrawl.cluster.nats.connecting  # noqa: F401


async def connect_engine(access: ClusterAccess, *, makes: bool = True) -> ClusterEngine:
    """Connect to the engine. The caller closes the connection."""
    import_engine()
    from minicrawl.cluster.nats.connecting import connect

    return await connect(access, makes=makes)


async def cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks again and again until they have ended.

    `asyncio.wait_for` of Python 3.11, which nats-py uses, may swallow a cancellation.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_S)


# ================================================================ engine thread
#
# A thread with its own event loop and engine connection, so that no other work delays a commit.

T = TypeVar("T")
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


# ================================================================ log entries
#
# Frame of log entries; taking logs over, which fences off earlier writers; writing to them.
#
# Laws: nothing from the engine is trusted: bytes that no node writes are refused. When another node
# has the log, `append` raises Fenced for ever.

_VERSION = 1
_FRAME = struct.Struct(">IBB")
"""Checksum of all that follows, version, kind."""
_CHECKSUM = struct.Struct(">I")
_TAKE_TRIES = 100


def pack_frame(kind: int, head: bytes, content: bytes) -> bytes:
    """Encode an entry; `head` has its numbers."""
    checked = _FRAME.pack(0, _VERSION, kind)[_CHECKSUM.size :] + head + content
    return _CHECKSUM.pack(crc32(checked)) + checked


def unpack_frame(packed: bytes, head: struct.Struct) -> tuple[int, tuple[int, ...], bytes]:
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
    return kind, numbers, packed[_FRAME.size + head.size :]


_UNREADABLE = (
    "It may hold cash, so it is not skipped: restore an earlier copy of the servers' files, or "
    "start a new crawl under another name, as with --cluster nats://host:4222/again"
)


async def read_entry(
    entry: LogEntry, log: str, read: Callable[[bytes], T], tell: Callable[[str], None]
) -> T | None:
    """Call `read` with the entry, in a thread. Skip an empty entry, which no node writes."""
    if not entry.content:
        tell(f"entry {entry.number} of {log} is empty: it was skipped")
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
