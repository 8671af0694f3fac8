"""One stream for the batches of all shards, from which acknowledged batches are removed.

Laws: a batch of a channel is published after the confirmation of the one before. An inbox has a
consumer of its own and removes those of older inboxes: a node that lost the shard, and does not
know it, receives nothing more.

A batch published twice arrives twice, and the receiver drops the second by its number. So the
servers need not find duplicates.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import suppress
from secrets import token_hex

import zstandard
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js.api import Header

from minicrawl.cluster.channels.batches import MOST_BYTES, TransferBatch, pack
from minicrawl.cluster.engine import MOST_VALUE_BYTES, BatchDelivery, Fenced
from minicrawl.cluster.nats.jetstream import API, NOT_UNIQUE, JetStreamRefusal
from minicrawl.cluster.nats.streams import NatsPart, Streams
from minicrawl.cluster.records import KeyEntry

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
    def __init__(self, message: Msg) -> None:
        self._message = message

    @property
    def packed(self) -> bytes:
        unpacking = zstandard.ZstdDecompressor(max_window_size=2 * MOST_BYTES)
        try:
            return unpacking.stream_reader(self._message.data).read(MOST_BYTES + 1)
        except zstandard.ZstdError:
            return b""  # refused by `channels.unpack`

    async def later(self) -> None:
        await self.done(_LATER)

    async def done(self, answer: bytes = _ACK) -> None:
        with suppress(Error):  # without a connection the batch comes again
            await self._message._client.publish(self._message.reply, answer)


class NatsBatches(NatsPart):
    def __init__(self, streams: Streams) -> None:
        super().__init__(streams)
        self._in_turn: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def publish(self, batch: TransferBatch) -> None:
        subject = self._streams.batch_subject(batch.sender, batch.receiver)
        content = zstandard.ZstdCompressor(level=_LEVEL).compress(pack(batch))
        async with self._in_turn[subject]:
            await self._jetstream.store(subject, content)

    async def inbox(self, shard: int) -> AsyncGenerator[BatchDelivery, None]:
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
        subject = f"CONSUMER.INFO.{self._streams.batches}.{consumer}"
        if await self._jetstream.api_if_found(subject) is None:
            raise Fenced(f"{consumer.rpartition('-')[0]} was opened by another node")
        await asyncio.sleep(_PAUSE_S)

    async def _take_over(self, shard: int) -> str:
        """Remove the consumers of older inboxes, create one, and return its name."""
        stream, mine = self._streams.batches, f"inbox-{shard}-{token_hex(8)}"
        config = {
            "durable_name": mine,
            "filter_subject": self._streams.batch_subject("*", shard),
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(_REDELIVER_S * _NS),
            "max_ack_pending": _MOST_UNACKNOWLEDGED,
            "max_deliver": -1,
        }
        while True:
            names, is_complete = list[str](), False
            while not is_complete:
                request = {"offset": len(names)}
                answer = await self._jetstream.api(f"CONSUMER.NAMES.{stream}", request)
                names += (page := answer.get("consumers") or [])
                is_complete = not page or len(names) >= answer.get("total", 0)
            for old in names:
                if old.startswith(f"inbox-{shard}-"):
                    await self._jetstream.api_if_found(f"CONSUMER.DELETE.{stream}.{old}")
            try:
                await self._jetstream.api(
                    f"CONSUMER.DURABLE.CREATE.{stream}.{mine}",
                    {"stream_name": stream, "config": config},
                )
            except JetStreamRefusal as refusal:
                if refusal.error_code != NOT_UNIQUE:
                    raise
            else:
                return mine


class NatsBroadcasts(NatsPart):
    """`Broadcasts` as plain messages of NATS, which no stream stores.

    A broadcast costs a small part of what a change of a key costs, and arrives at once. Without a
    connection it is lost, not queued: a queued message would arrive late and look new.
    """

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
