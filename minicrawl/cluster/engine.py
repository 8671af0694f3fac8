"""What joins the shards of a crawl: a replicated log, batches, keys, broadcasts and objects, as
protocols.

Laws, of every engine: what it confirmed is there until somebody removes it. A log is appended to
only by who knows its end. Batches from one shard to another come in the order in which they were
published. A key changes only for who knows its revision. Whatever failed may be asked again:
nothing is done twice.

log        the entries of one shard, with numbers that grow; the first ones may have been removed
pages      logs of the same kind, of what shards keep of their pages
batch      transfers from shard to shard; it comes again until the receiver says that it is done
key        a name with a small value and a revision, which grows with each change of any key
beats      keys apart from the others: while servers choose who leads the ones, the others answer
object     a large file with a name
broadcast  a message for whoever listens now: nobody keeps it, and some may be lost
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple, Protocol

from minicrawl.cluster.channels import TransferBatch
from minicrawl.errors import MinicrawlError

MOST_ENTRY_BYTES = 1 << 19
"""Of an entry of a log. A message of NATS has at most a MiB, unless its server says otherwise."""
MOST_VALUE_BYTES = 1 << 18
"""Of the value of a key, and of a broadcast."""


class EngineError(MinicrawlError):
    """The engine did not do what was asked, and would not if asked again; says what to do."""


class EngineUnavailable(EngineError):
    """Nobody answered in time: it may or may not have been done. The same again may succeed."""


class EngineFull(EngineUnavailable):
    """There is no room: nothing was done. The same again may succeed when there is."""


class Fenced(EngineError):
    """The log has an entry that we do not know: another node has taken the shard over."""


class KeyTaken(EngineError):
    """The key has another revision than the caller expected: somebody else has changed it."""


class LogEntry(NamedTuple):
    """An entry of a shard's log."""

    number: int
    content: bytes


class LogSpan(NamedTuple):
    """The numbers of the entries of a log: `first` is `last + 1` if there are none."""

    first: int
    last: int


class KeyEntry(NamedTuple):
    """A key as of one revision. `value` is None if it was deleted."""

    key: str
    value: bytes | None
    revision: int


class Broadcast(NamedTuple):
    """A message that somebody has just sent to whoever listens."""

    topic: str
    content: bytes


class BatchDelivery(Protocol):
    """A batch that came for a shard."""

    @property
    def packed(self) -> bytes:
        """As `shards.batches.pack` made it; nothing of it was checked."""

    async def done(self) -> None:
        """It is in the log of the shard, or was before: it need not come again."""

    async def later(self) -> None:
        """It came too early: let it come again in a moment."""


class ShardLogs(Protocol):
    """The logs of all shards."""

    async def log_span(self, shard: int) -> LogSpan:
        """What the log has now."""

    async def append(
        self, shard: int, after: int, content: bytes, *, is_shared: bool = False
    ) -> int:
        """Append behind entry `after`, which must be the last one; the number of the new entry,
        which is the next one or a later one.

        Raises Fenced if there is a later entry. If that is this one, it was appended before.
        `is_shared` says that many append to this log, and not one alone until another one does.
        """

    def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        """The entries behind `after`, or behind what was removed, up to the last one as of now."""

    async def remove_entries(self, shard: int, up_to: int) -> None:
        """Remove the first entries, up to and with this one. Numbers stay as they are."""

    async def distrust(self, shard: int) -> None:
        """Entries that were confirmed are missing: let another server lead, if there is one."""


class BatchChannels(Protocol):
    """Batches on their way."""

    async def publish(self, batch: TransferBatch) -> None:
        """Keep the batch for its receiver. One that was published before may come again or not."""

    def inbox(self, shard: int) -> AsyncGenerator[BatchDelivery, None]:
        """All that comes for the shard, for ever. What is not done comes again, here or elsewhere.

        Whoever asks last gets everything; an older inbox of the same shard raises Fenced. Close it
        with `aclose`.
        """


class KeyValues(Protocol):
    """Small values under names such as `lease.3`, for leases, facts, settings and commands."""

    async def get(self, key: str) -> KeyEntry | None:
        """The key as it is now; None if there is none."""

    async def create(self, key: str, value: bytes) -> int:
        """A new key; its revision. Raises KeyTaken if it is there."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Change the key if this is its revision; its new one. Raises KeyTaken if it is not."""

    async def put(self, key: str, value: bytes) -> int:
        """Set the key, whatever it was; its revision."""

    async def delete(self, key: str, revision: int | None = None) -> None:
        """Remove the key, if it has this revision. Raises KeyTaken if it has another one."""

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        """All keys whose names begin so, by name."""

    def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry | None, None]:
        """Those keys as they are, then None, then each as it changes, for ever.

        Of changes that follow each other quickly only the last one may come. Close it with
        `aclose`.
        """


class BeatKeys(KeyValues, Protocol):
    """Keys of their own, for what nodes say again and again."""

    async def lead_apart(self) -> None:
        """Let another server lead these than the one that leads the keys, if there are several."""

    async def leave_server(self) -> None:
        """Go to another server, if there are several: this one may be cut off from the others."""


class Broadcasts(Protocol):
    """Messages of the moment, under names such as those of keys."""

    async def broadcast(self, topic: str, content: bytes) -> None:
        """Send it to all who listen now."""

    def broadcasts(self, prefix: str) -> AsyncGenerator[Broadcast, None]:
        """What is sent from now on under names that begin so, for ever. Close it with `aclose`."""


class ObjectFiles(Protocol):
    """Large files, such as snapshots of stores."""

    async def put_object(self, name: str, file: Path) -> None:
        """Keep a copy of the file under this name; it replaces an older one when it is complete."""

    async def get_object(self, name: str, file: Path) -> None:
        """Write the object into this file. Raises EngineError if it is absent or damaged."""

    async def delete_object(self, name: str) -> None:
        """Remove the object, if it is there."""

    async def objects(self) -> list[str]:
        """The names of all objects."""


class ClusterEngine(ShardLogs, BatchChannels, KeyValues, Broadcasts, ObjectFiles, Protocol):
    """All of it. Use it in one event loop."""

    @property
    def beats(self) -> BeatKeys:
        """Keys apart from the others."""

    @property
    def pages(self) -> ShardLogs:
        """The logs of kept pages: each shard has one beside its log, made when it is used."""

    async def close(self) -> None:
        """Let go of the connection. Inboxes and watches end, and nothing more is heard."""
