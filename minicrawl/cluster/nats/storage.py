"""The parts of the engine in JetStream: logs, keys, objects, batches and broadcasts.

The log of each shard, and that of its kept pages, is a stream. Laws: a message names the last
message that its sender knew, and is an entry only if no other entry lies between the two. The last
removed message was an entry. The log of a shard has one writer, and the server refuses a message
whose sender did not know the last one. In a log with many writers the server accepts everything,
and readers find out which messages are entries: servers before 2.10.5 count refused messages of a
stream, lose the count in a restart, and then drop as many later messages (nats-server pull requests
4365 and 4777).

One stream for all logs was rejected. With a stream for each log, sequence numbers are entry
numbers, removing the first entries drops whole files, and different servers lead different logs.
"""

import asyncio
import base64
import json
import math
import re
from asyncio import to_thread
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import zstandard
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js.api import Header

from minicrawl.cluster.channels import MOST_BYTES, TransferBatch, pack
from minicrawl.cluster.engine import (
    MOST_ENTRY_BYTES,
    MOST_VALUE_BYTES,
    BatchDelivery,
    EngineError,
    EngineUnavailable,
    Fenced,
    KeyTaken,
    LogEntry,
    LogSpan,
)
from minicrawl.cluster.nats.jetstream import (
    API,
    NOT_UNIQUE,
    WRONG_SEQUENCE,
    Bucket,
    JetStreamClient,
    JetStreamRefusal,
    LogKind,
    NatsPart,
    StoredMessage,
    Streams,
)
from minicrawl.cluster.records import KeyEntry

# ================================================================ logs

_AT_ONCE = 16
"""Number of entries that are requested at the same time."""
_ELECTION_S = 1.0
"""Rough time that servers take to follow a new leader."""

_AFTER, _EXPECTED = "Minicrawl-After", "Nats-Expected-Last-Sequence"
_IN_HEADERS = re.compile(rb"\r\n%s: ([0-9]{1,19})\r\n" % _AFTER.encode())


class _RefusedError(Exception):
    """The server refused a message, since it has a later one than the sender knew."""


class _Message(NamedTuple):
    """Message in the stream of a log."""

    content: bytes
    after: int
    """Number of the last message that the sender knew."""


class NatsLogs(NatsPart):
    """`ShardLogs` of one kind: a stream for each shard."""

    _kind = LogKind.STORE

    async def log_span(self, shard: int) -> LogSpan:
        answer = await self._jetstream.api(f"STREAM.INFO.{await self._stream(shard)}")
        state = answer["state"]
        last = int(state["last_seq"])
        return LogSpan(int(state["first_seq"]) if state["messages"] else last + 1, last)

    async def append(
        self, shard: int, after: int, content: bytes, *, is_shared: bool = False
    ) -> int:
        if len(content) > MOST_ENTRY_BYTES:
            raise ValueError(f"{len(content):,} bytes are more than an entry may have")
        if is_shared:
            number = await self._send(shard, content, {_AFTER: str(after)})
            return await self._number_of_entry(shard, after, number, content)
        try:
            return await self._send(shard, content, {_AFTER: str(after), _EXPECTED: str(after)})
        except _RefusedError:
            return await self._number_of_entry(shard, after, None, content)

    async def _send(self, shard: int, content: bytes, headers: dict[str, str]) -> int:
        name, subject = await self._stream(shard), self._streams.log_subject(shard, self._kind)
        try:
            return await self._jetstream.store(subject, content, headers, name)
        except JetStreamRefusal as refusal:
            if refusal.error_code in WRONG_SEQUENCE:
                raise _RefusedError from None
            raise EngineError(f"{refusal}: the log of shard {shard} cannot be written") from None

    async def _number_of_entry(
        self, shard: int, after: int, number: int | None, content: bytes
    ) -> int:
        """Return the number of the entry with this content after `after`.

        Its message has the number `number`, or was refused (None) because there is a later one.
        """
        if number == after + 1:
            return number
        first, last = await self.log_span(shard)
        end = last + 1 if number is None else number
        if end <= after:
            await self.change_leader(shard)
            raise EngineUnavailable(f"the server that leads the log of shard {shard} lost entries")
        if after < first - 1:
            raise Fenced(f"shard {shard} was taken over by another node")
        async for entry in self._entries_of(shard, after, range(after + 1, end)):
            if entry.content == content:
                return entry.number  # our own entry, whose answer was lost
            raise Fenced(f"shard {shard} was taken over by another node")
        if number is None:
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        return number

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        first, last = await self.log_span(shard)
        after = max(after, first - 1)
        async for entry in self._entries_of(shard, after, range(after + 1, last + 1)):
            yield entry

    async def _entries_of(
        self, shard: int, after: int, numbers: range
    ) -> AsyncGenerator[LogEntry, None]:
        """Yield those of these messages that are entries; `after` is the entry before them."""
        for begin in range(0, len(numbers), _AT_ONCE):
            part = numbers[begin : begin + _AT_ONCE]
            found = await asyncio.gather(*(self._message(shard, number) for number in part))
            for number, message in zip(part, found, strict=True):
                if message is None:
                    raise EngineUnavailable(
                        f"entry {number} of shard {shard} was removed meanwhile"
                    )
                if after <= message.after < number:
                    after = number
                    yield LogEntry(number, message.content)

    async def remove_entries(self, shard: int, up_to: int) -> None:
        name = await self._stream(shard)
        await self._jetstream.api(f"STREAM.PURGE.{name}", {"seq": up_to + 1})

    async def change_leader(self, shard: int) -> None:
        """Make another server lead the log, if there is one, and give it time to take over."""
        with suppress(JetStreamRefusal):  # no other server can lead now
            await self._streams.step_down(await self._stream(shard))
        await asyncio.sleep(_ELECTION_S)

    async def _message(self, shard: int, number: int) -> _Message | None:
        """Return a message from the leader, or None if it was removed."""
        found = await self._jetstream.message(await self._stream(shard), {"seq": number})
        if found is None:
            if number < (await self.log_span(shard)).first:
                return None
            raise EngineUnavailable(f"a new leader does not know the log of shard {shard} yet")
        after = _IN_HEADERS.search(found.headers)
        return _Message(found.content, int(after[1]) if after else number - 1)

    async def _stream(self, shard: int) -> str:
        return await self._streams.log(shard, self._kind)


class NatsPages(NatsLogs):
    """Logs of kept pages: a second stream for each shard."""

    _kind = LogKind.PAGES


# ================================================================ keys

_LOOKS_EVERY_S = 2.0
"""Interval at which a watcher reads changes, even if none was announced."""
_SETTLES_S = 0.05
"""Time from the message of a change until the servers agree on it."""
_EXPECTED_REVISION, _OPERATION = "Nats-Expected-Last-Subject-Sequence", "KV-Operation"
_MARKER = f"{_OPERATION}: ".encode()


class NatsKeys(NatsPart):
    """`KeyValues` in a bucket in the format of `nats kv`."""

    @property
    def _bucket(self) -> Bucket:
        return self._streams.keys

    async def get(self, key: str) -> KeyEntry | None:
        found = await self._find({"last_by_subj": self._bucket.subject(key)})
        return None if found is None or found.value is None else found

    async def create(self, key: str, value: bytes) -> int:
        marker = await self._find({"last_by_subj": self._bucket.subject(key)})
        if marker is None or marker.value is None:
            return await self._update(key, value, marker.revision if marker else 0)
        raise KeyTaken(f"{key} is there")

    async def update(self, key: str, value: bytes, revision: int) -> int:
        if not revision:
            return await self.create(key, value)
        return await self._update(key, value, revision)

    async def _update(self, key: str, value: bytes, revision: int) -> int:
        try:
            return await self._store_after(revision, key, value)
        except KeyTaken:
            found = await self._find({"last_by_subj": self._bucket.subject(key)})
            if found is None or found.value != value or found.revision <= revision:
                raise
            return found.revision  # our own change, whose answer was lost

    async def put(self, key: str, value: bytes) -> int:
        return await self._store(key, value)

    async def delete(self, key: str) -> None:
        if await self.get(key) is not None:
            await self._store(key, b"", {_OPERATION: "DEL"})

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        subjects, found = sorted(await self._subjects_now(prefix)), list[KeyEntry]()
        for begin in range(0, len(subjects), _AT_ONCE):
            part = subjects[begin : begin + _AT_ONCE]
            wanted = (self._find({"last_by_subj": subject}) for subject in part)
            found += filter(None, await asyncio.gather(*wanted))
        return [entry for entry in found if entry.value is not None]

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry | None, None]:
        """Yield keys with this prefix as they are, then None, then each change, for ever."""
        changed, seen, said = asyncio.Event(), 0, 0

        async def wake(_message: Msg) -> None:
            nonlocal said
            said += 1
            changed.set()

        now = asyncio.get_running_loop().time
        looks_at = now() + _LOOKS_EVERY_S
        changes = await self._jetstream.client.subscribe(self._subjects(prefix), cb=wake)
        try:
            # Keys may change faster than a distant node reads them, so there may be no end.
            unseen = await self._subjects_now(prefix)
            async for entry in self._changes_after(seen, prefix):
                seen = entry.revision
                if entry.value is not None:
                    yield entry
                unseen.discard(self._bucket.subject(entry.key))
                if not unseen:
                    break
            yield None
            while True:
                await _wait_for_change(changed)
                is_time = now() >= looks_at  # announcements may have been lost
                if is_time:
                    looks_at = now() + _LOOKS_EVERY_S
                most, said = None if is_time else said, 0
                async for entry in self._changes_after(seen, prefix, most):
                    seen = entry.revision
                    yield entry
        finally:
            with suppress(Error):  # the connection is closed
                await changes.unsubscribe()

    async def _changes_after(
        self, revision: int, prefix: str, most: int | None = None
    ) -> AsyncGenerator[KeyEntry, None]:
        """Yield keys and deletion markers with later revisions, in order, at most `most`.

        A caller that knows their number saves the request that finds no more.
        """
        subjects = self._subjects(prefix)
        left, at_once = math.inf if most is None else most, 1
        while left > 0:
            numbers = range(revision + 1, revision + 1 + int(min(at_once, left)))
            wanted = (self._find({"seq": number, "next_by_subj": subjects}) for number in numbers)
            before = left
            for entry in await asyncio.gather(*wanted):
                if entry is None:
                    return  # what a later request has found may have come after an unseen change
                if entry.revision > revision:
                    revision, left = entry.revision, left - 1
                    yield entry
            is_dense = before - left == len(numbers)
            at_once = min(2 * at_once, _AT_ONCE) if is_dense else 1

    async def _subjects_now(self, prefix: str) -> set[str]:
        """Return the subjects of all keys and deletion markers with this prefix."""
        wanted = {"subjects_filter": self._subjects(prefix)}
        answer = await self._jetstream.api(f"STREAM.INFO.{self._bucket.stream}", wanted)
        return set(answer["state"].get("subjects") or ())

    def _subjects(self, prefix: str) -> str:
        if prefix and not prefix.endswith("."):
            raise ValueError(f"the prefix {prefix!r} does not end with a dot")
        return self._bucket.subject(f"{prefix}>")

    async def _find(self, wanted: dict[str, Any]) -> KeyEntry | None:
        found = await self._jetstream.message(self._bucket.stream, wanted)
        if found is None:
            return None
        key = found.subject.removeprefix(self._bucket.subject(""))
        return KeyEntry(key, None if _MARKER in found.headers else found.content, found.number)

    async def _store_after(self, revision: int, key: str, value: bytes) -> int:
        """Store a change of the key from this revision, and return the new revision."""
        # A key with another revision is recognised here rather than refused by the server: see the
        # top of this module.
        found = await self._find({"last_by_subj": self._bucket.subject(key)})
        known = found.revision if found else 0
        if known > revision:
            raise KeyTaken(f"{key} was changed by another node")
        return await self._store(key, value, {_EXPECTED_REVISION: str(revision)})

    async def _store(self, key: str, value: bytes, headers: Mapping[str, str] | None = None) -> int:
        if len(value) > MOST_VALUE_BYTES:
            raise ValueError(f"{key}: {len(value):,} bytes are more than a value may have")
        try:
            return await self._jetstream.store(self._bucket.subject(key), value, headers)
        except JetStreamRefusal as refusal:
            if refusal.error_code not in WRONG_SEQUENCE:
                raise
            raise KeyTaken(f"{key} was changed by another node") from None


class NatsBeats(NatsKeys):
    """`BeatKeys` in a bucket of its own."""

    @property
    def _bucket(self) -> Bucket:
        return self._streams.beats

    async def separate_leaders(self) -> None:
        streams = self._streams
        with suppress(JetStreamRefusal):  # no other server can lead now
            leader = await streams.leader(streams.keys.stream)
            if leader and leader == await streams.leader(self._bucket.stream):
                await streams.step_down(self._bucket.stream)

    async def switch_server(self) -> None:
        await self._jetstream.switch_server()


async def _wait_for_change(changed: asyncio.Event) -> None:
    """Wait until `changed` is set, at most `_LOOKS_EVERY_S`, and clear it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LOOKS_EVERY_S):  # `wait_for` may swallow a cancellation
            await changed.wait()
        await asyncio.sleep(_SETTLES_S)
    changed.clear()


# ================================================================ objects
#
# A bucket of JetStream's object store, in the format of `nats object`.
#
# Laws: an object exists when its description does, which is written last. Reads are checked against
# the digest in the description. A file is read and written in pieces, never as a whole.
#
# description   message with name, size, digest and chunks of an object
# chunk         message with a piece of the file

_CHUNK_BYTES = 1 << 17
_ROLLUP = "sub"
_UNIQUE = re.compile("[A-Za-z0-9]+")


class _Description(NamedTuple):
    """Checked description of an object; `nuid` is the last part of the subject of its chunks."""

    name: str
    nuid: str
    size: int
    chunks: int
    digest: str

    @classmethod
    def read(cls, content: bytes) -> "_Description | None":
        """Decode a description; None if the object was deleted. Raises EngineError."""
        try:
            found = json.loads(content)
            if found.get("deleted"):
                return None
            described = cls(*(found[field] for field in cls._fields))
            texts, numbers = (described[0], described[1], described[4]), described[2:4]
            has_numbers = all(type(one) is int and one >= 0 for one in numbers)
            has_texts = all(isinstance(one, str) for one in texts)
            # A wildcard in place of the unique part would name the chunks of all objects.
            if has_numbers and has_texts and _UNIQUE.fullmatch(described.nuid):
                return described
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # refused below, as are wrong types
        raise EngineError("the description of an object is damaged, or no minicrawl made it")


class NatsObjects(NatsPart):
    """`ObjectFiles` in a bucket in the format of `nats object`."""

    async def put_object(self, name: str, file: Path) -> None:
        before = await self._description(name)
        unique = token_hex(11)
        digest, size, chunks = sha256(), 0, 0
        async for piece in _pieces(file):
            number = {"Nats-Msg-Id": f"{unique}-{chunks}"}
            await self._jetstream.store(self._chunks(unique), piece, number, self._streams.objects)
            digest.update(piece)
            size, chunks = size + len(piece), chunks + 1
        await self._describe(
            name,
            {
                "name": name,
                "bucket": self._streams.bucket,
                "nuid": unique,
                "size": size,
                "chunks": chunks,
                "digest": _digest_text(digest.digest()),
                "options": {"max_chunk_size": _CHUNK_BYTES},
            },
        )
        if before is not None:
            await self._purge(self._chunks(before.nuid))

    async def get_object(self, name: str, file: Path) -> None:
        described = await self._description(name)
        if described is None:
            raise EngineError(f"object {name} does not exist")
        digest, size = sha256(), 0
        with file.open("wb") as written:
            async for piece in self._read(described):
                digest.update(piece)
                if (size := size + len(piece)) > described.size:
                    break
                await to_thread(written.write, piece)
        if size != described.size or _digest_text(digest.digest()) != described.digest:
            raise EngineError(f"the object {name} is damaged, or was replaced while it was read")

    async def delete_object(self, name: str) -> None:
        if (described := await self._description(name)) is not None:
            await self._purge(self._subject(name))
            await self._purge(self._chunks(described.nuid))

    async def objects(self) -> list[str]:
        subject, names = f"$O.{self._streams.bucket}.M.>", list[str]()
        number = 0
        while (found := await self._next(number + 1, subject)) is not None:
            number = found.number
            with suppress(EngineError):  # a damaged one, or not ours: no caller asks for it
                if (described := _Description.read(found.content)) is not None:
                    names.append(described.name)
        return sorted(names)

    async def _read(self, described: _Description) -> AsyncIterator[bytes]:
        subject, number = self._chunks(described.nuid), 0
        for _ in range(described.chunks):
            found = await self._next(number + 1, subject)
            if found is None:
                return
            number = found.number
            yield found.content

    async def _description(self, name: str) -> _Description | None:
        found = await self._next(1, self._subject(name))
        return None if found is None else _Description.read(found.content)

    async def _describe(self, name: str, description: dict[str, Any]) -> None:
        content = json.dumps(description).encode()
        await self._jetstream.store(self._subject(name), content, {"Nats-Rollup": _ROLLUP})

    async def _next(self, number: int, subject: str) -> StoredMessage | None:
        wanted = {"seq": number, "next_by_subj": subject}
        return await self._jetstream.message(self._streams.objects, wanted)

    async def _purge(self, subject: str) -> None:
        await self._jetstream.api(f"STREAM.PURGE.{self._streams.objects}", {"filter": subject})

    def _subject(self, name: str) -> str:
        coded = base64.urlsafe_b64encode(name.encode()).decode()
        return f"$O.{self._streams.bucket}.M.{coded}"

    def _chunks(self, unique: str) -> str:
        return f"$O.{self._streams.bucket}.C.{unique}"


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as source:
        for _ in count():
            piece = await to_thread(source.read, _CHUNK_BYTES)
            if not piece:
                return
            yield piece


def _digest_text(digest: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(digest).decode()}"


# ================================================================ batches
#
# One stream for the batches of all shards, from which acknowledged batches are removed.
#
# Laws: a batch of a channel is published after the confirmation of the one before. An inbox has a
# consumer of its own and removes those of older inboxes: a node that lost the shard, and does not
# know it, receives nothing more.
#
# A batch published twice arrives twice, and the receiver drops the second by its number.
# Deduplication by the servers (`Nats-Msg-Id`) was rejected: servers before 2.10.5 count duplicates
# as refused messages, and then lose later ones (see the top of this module).

_BATCHES_A_PULL = 32
_PULL_S = 2.0
"""Lifetime of a pull request. It is short, since the loss of a server loses pull requests."""
_REDELIVER_S = 30.0
"""Time after which an unacknowledged batch is redelivered."""
_MOST_UNACKNOWLEDGED = 256
_NS = 10**9
_LEVEL = 3
_ACK, _LATER = b"+ACK", b'-NAK {"delay": 500000000}'
_EXPIRED = "408"
_PAUSE_S = 0.1


class NatsDelivery:
    """A batch that has arrived for a shard."""

    def __init__(self, message: Msg) -> None:
        self._message = message

    @property
    def packed(self) -> bytes:
        unpacking = zstandard.ZstdDecompressor(max_window_size=2 * MOST_BYTES)
        try:
            return unpacking.stream_reader(self._message.data).read(MOST_BYTES + 1)
        except zstandard.ZstdError:
            return b""  # refused by `channels.unpack`

    async def done(self) -> None:
        await self._answer(_ACK)

    async def later(self) -> None:
        await self._answer(_LATER)

    async def _answer(self, answer: bytes) -> None:
        with suppress(Error):  # without a connection the batch comes again
            await self._message._client.publish(self._message.reply, answer)


class NatsBatches(NatsPart):
    """`BatchChannels` in one stream for all shards."""

    def __init__(self, jetstream: JetStreamClient, streams: Streams) -> None:
        super().__init__(jetstream, streams)
        self._in_turn: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def publish(self, batch: TransferBatch) -> None:
        """Store the batch for its receiver. A batch published twice arrives twice."""
        subject = self._streams.batch_subject(batch.sender, batch.receiver)
        content = zstandard.ZstdCompressor(level=_LEVEL).compress(pack(batch))
        async with self._in_turn[subject]:
            await self._jetstream.store(subject, content, stream=self._streams.batches)

    async def inbox(self, shard: int) -> AsyncGenerator[BatchDelivery, None]:
        """Yield deliveries for the shard, for ever. Unacknowledged ones come again."""
        consumer = await self._take_over(shard)
        client = self._jetstream.client
        arrived = asyncio.Queue[Msg]()
        coming = await client.subscribe(client.new_inbox(), cb=arrived.put)
        try:
            while True:
                async for message in self._pull(consumer, coming.subject, arrived):
                    yield NatsDelivery(message)
        finally:
            with suppress(Error):  # the connection is closed
                await coming.unsubscribe()

    async def _pull(
        self, consumer: str, address: str, arrived: asyncio.Queue[Msg]
    ) -> AsyncGenerator[Msg, None]:
        """Request messages once, and yield those that arrive in time, possibly none.

        Raises Fenced if the consumer was removed.
        """
        request = json.dumps({"batch": _BATCHES_A_PULL, "expires": int(_PULL_S * _NS)}).encode()
        subject = f"{API}CONSUMER.MSG.NEXT.{self._streams.batches}.{consumer}"
        await self._jetstream.client.publish(subject, request, reply=address)
        for _ in range(_BATCHES_A_PULL):
            try:
                async with asyncio.timeout(2 * _PULL_S):  # `wait_for` may swallow a cancellation
                    message = await arrived.get()
            except TimeoutError:
                break
            status = (message.headers or {}).get(Header.STATUS.value)
            if status == _EXPIRED:
                return
            if status:
                break
            yield message
        else:
            return
        await self._check(consumer)

    async def _check(self, consumer: str) -> None:
        """Raise Fenced if the consumer was removed. Otherwise wait for `_PAUSE_S`."""
        subject = f"CONSUMER.INFO.{self._streams.batches}.{consumer}"
        if await self._jetstream.api_if_found(subject) is None:
            raise Fenced(f"{consumer.rpartition('-')[0]} was opened by another node")
        await asyncio.sleep(_PAUSE_S)

    async def _take_over(self, shard: int) -> str:
        """Remove the consumers of older inboxes, create one, and return its name."""
        stream, mine = self._streams.batches, f"inbox-{shard}-{token_hex(8)}"
        while True:
            for old in await self._consumers(f"inbox-{shard}-"):
                await self._jetstream.api_if_found(f"CONSUMER.DELETE.{stream}.{old}")
            try:
                await self._jetstream.api(
                    f"CONSUMER.DURABLE.CREATE.{stream}.{mine}",
                    {"stream_name": stream, "config": self._config(mine, shard)},
                )
            except JetStreamRefusal as refusal:
                if refusal.error_code != NOT_UNIQUE:
                    raise
            else:
                return mine

    def _config(self, name: str, shard: int) -> dict[str, object]:
        return {
            "durable_name": name,
            "filter_subject": self._streams.batch_subject("*", shard),
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(_REDELIVER_S * _NS),
            "max_ack_pending": _MOST_UNACKNOWLEDGED,
            "max_deliver": -1,
        }

    async def _consumers(self, prefix: str) -> list[str]:
        found: list[str] = []
        while True:
            answer = await self._jetstream.api(
                f"CONSUMER.NAMES.{self._streams.batches}", {"offset": len(found)}
            )
            page = answer.get("consumers") or []
            found += page
            if not page or len(found) >= answer.get("total", 0):
                return [name for name in found if name.startswith(prefix)]


# ================================================================ broadcasts
#
# Plain messages of NATS, which no stream stores.
#
# A broadcast costs a small part of what a change of a key costs, and arrives at once. Without a
# connection it is lost, not queued: a queued message would arrive late and look new.


class NatsBroadcasts(NatsPart):
    """`Broadcasts` as plain messages of NATS."""

    async def broadcast(self, topic: str, content: bytes) -> None:
        if len(content) > MOST_VALUE_BYTES:
            raise ValueError(f"{topic}: {len(content):,} bytes are more than a broadcast may have")
        if self._jetstream.client.is_connected:
            with suppress(Error):  # the connection has just been lost
                await self._jetstream.client.publish(
                    self._streams.broadcast_subject(topic), content
                )

    async def broadcasts(self, prefix: str) -> AsyncGenerator[KeyEntry, None]:
        client, arrived = self._jetstream.client, asyncio.Queue[Msg]()
        subjects = self._streams.broadcast_subject(f"{prefix}>")
        before = len(self._streams.broadcast_subject(""))
        coming = await client.subscribe(subjects, cb=arrived.put)
        try:
            while True:
                message = await arrived.get()
                yield KeyEntry(message.subject[before:], message.data, 0)
        finally:
            with suppress(Error):  # the connection is closed
                await coming.unsubscribe()
