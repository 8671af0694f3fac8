"""Protocols of the engine that joins the shards of a crawl.

The engine has logs, keys and broadcasts. `nats` implements it.

Laws of every engine: confirmed data stays until somebody removes it. Only a caller that knows the
end of a log appends to it. `update` changes a key only from the revision that the caller knows. A
failed call may be repeated.

log        numbered entries of one shard; the first ones may have been removed
pages      logs of the same kind, for the kept pages of shards
snapshots  logs of the same kind, for snapshots of their stores
key        a name with a small value and a revision, which grows with each change of any key
broadcast  a message to current listeners; it is not stored, and may be lost
"""

from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

from minicrawl.cluster.records import KeyEntry
from minicrawl.cluster.server_versions import ServerFacts
from minicrawl.errors import MinicrawlError

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
    number: int
    content: bytes


class LogSpan(NamedTuple):
    """First and last number of a log; `first` is `last + 1` if it is empty."""

    first: int
    last: int


class ShardLogs(Protocol):
    async def log_span(self, shard: int) -> LogSpan:
        """Return the first and last number of the log."""

    async def append(self, shard: int, after: int, content: bytes) -> int:
        """Append after entry `after`, the last one, and return the number of the new entry.

        Raises Fenced if there is a later entry; if that is this very entry, an earlier call
        appended it, and its number is returned.
        """

    def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        """Yield the entries after `after` that were not removed, up to the last one as of now."""

    async def remove_entries(self, shard: int, up_to: int) -> None:
        """Remove all entries up to and including `up_to`. The others keep their numbers."""

    async def change_leader(self, shard: int) -> None:
        """Make another server lead the log, if there is one: this one lacks confirmed entries."""


class KeyValues(Protocol):
    """Small values under names such as `lease.3`, for leases, facts, settings and commands."""

    async def get(self, key: str) -> KeyEntry | None:
        """Return the key as it is now, or None."""

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

    def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry, None]:
        """Yield the keys with this prefix, deleted ones too, and then each change, for ever.

        Of changes in quick succession only the last one may come. Close it with `aclose`.
        """


class Broadcasts(Protocol):
    """Messages to current listeners, under names such as those of keys."""

    async def broadcast(self, topic: str, content: bytes) -> None:
        """Send a message to all current listeners."""

    def broadcasts(self, prefix: str) -> AsyncGenerator[KeyEntry, None]:
        """Yield messages with this prefix from now on, for ever, as keys of revision 0.

        Close it with `aclose`.
        """


class ClusterEngine(ShardLogs, KeyValues, Broadcasts, Protocol):
    """The whole engine. Use it in one event loop."""

    @property
    def name(self) -> str:
        """Name of the crawl."""

    @property
    def pages(self) -> ShardLogs:
        """The logs of kept pages: each shard has one beside its log, made on first use."""

    @property
    def snapshots(self) -> ShardLogs:
        """The logs of snapshots, made on first use."""

    async def server_facts(self) -> list[ServerFacts]:
        """Return the servers that answer; at least the one that we are connected to."""

    async def close(self) -> None:
        """Close the connection. Watches end."""
