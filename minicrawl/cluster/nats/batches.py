"""Batches on their way: one stream for all, from which what is done is removed.

Laws: batches of a channel are published one after the other, each when the one before is there. An
inbox has a consumer of its own, and removes that of an older inbox: whoever lost the shard and does
not know it gets nothing more.

What is published twice comes twice; the numbers of the receiver's channels tell. Servers could find
such batches as well (`Nats-Msg-Id`), and are not asked to: those before 2.10.5 count what they
refused, and lose later messages by it (see `logs`).
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

from minicrawl.cluster.engine import BatchDelivery, EngineError, Fenced
from minicrawl.cluster.nats.asking import (
    API,
    NOT_FOUND,
    NOT_UNIQUE,
    STATUS,
    Asking,
    JetStreamRefusal,
    header,
)
from minicrawl.cluster.nats.parts import NatsPart
from minicrawl.cluster.nats.streams import Streams
from minicrawl.shards.batches import MOST_BYTES, TransferBatch, pack

_AT_ONCE = 32
_WAITS_S = 2.0
"""A consumer is asked anew so often: servers forget who waited when one of them is gone."""
_AGAIN_S = 30.0
"""When what is not done comes again."""
_MOST_UNDONE = 256
_NS = 10**9
_LEVEL = 3
_ACK, _LATER = b"+ACK", b'-NAK {"delay": 500000000}'
_EXPIRED = "408"
_PAUSE_S = 0.1


class NatsDelivery:
    """A batch that came for a shard."""

    def __init__(self, message: Msg) -> None:
        self._message = message

    @property
    def packed(self) -> bytes:
        """As `shards.batches.pack` made it; nothing of it was checked."""
        unpacking = zstandard.ZstdDecompressor(max_window_size=2 * MOST_BYTES)
        try:
            return unpacking.stream_reader(self._message.data).read(MOST_BYTES + 1)
        except zstandard.ZstdError:
            return b""  # which no receiver takes for a batch

    async def done(self) -> None:
        """It is in the log of the shard, or was before: it need not come again."""
        await self._answer(_ACK)

    async def later(self) -> None:
        """It came too early: let it come again in a moment."""
        await self._answer(_LATER)

    async def _answer(self, answer: bytes) -> None:
        with suppress(Error):  # there is no connection, and no room: the batch comes again
            await self._message._client.publish(self._message.reply, answer)


class NatsBatches(NatsPart):
    """The batches."""

    def __init__(self, asking: Asking, streams: Streams) -> None:
        super().__init__(asking, streams)
        self._in_turn: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def publish(self, batch: TransferBatch) -> None:
        """Keep the batch for its receiver. One that was published before comes again."""
        subject = self._streams.batch_subject(batch.sender, batch.receiver)
        content = zstandard.ZstdCompressor(level=_LEVEL).compress(pack(batch))
        async with self._in_turn[subject]:
            await self._asking.store(subject, content, stream=self._streams.batches)

    async def inbox(self, shard: int) -> AsyncGenerator[BatchDelivery, None]:
        """All that comes for the shard, for ever. What is not done comes again."""
        consumer = await self._take_over(shard)
        client = self._asking.client
        came = asyncio.Queue[Msg]()
        coming = await client.subscribe(client.new_inbox(), cb=came.put)
        try:
            while True:
                async for message in self._pull(consumer, coming.subject, came):
                    yield NatsDelivery(message)
        finally:
            with suppress(Error):  # the connection is closed
                await coming.unsubscribe()

    async def _pull(
        self, consumer: str, address: str, came: asyncio.Queue[Msg]
    ) -> AsyncGenerator[Msg, None]:
        """Some that come soon; none says nothing but that time has passed."""
        request = json.dumps({"batch": _AT_ONCE, "expires": int(_WAITS_S * _NS)}).encode()
        subject = f"{API}CONSUMER.MSG.NEXT.{self._streams.batches}.{consumer}"
        await self._asking.client.publish(subject, request, reply=address)
        for _ in range(_AT_ONCE):
            try:
                async with asyncio.timeout(2 * _WAITS_S):  # `wait_for` may swallow a cancellation
                    message = await came.get()
            except TimeoutError:
                break
            status = header(message, STATUS)
            if status == _EXPIRED:
                return
            if status:
                break
            yield message
        else:
            return
        await self._check(consumer)

    async def _check(self, consumer: str) -> None:
        """Raises Fenced if the consumer was removed, and waits a little if it is there."""
        try:
            await self._asking.api(f"CONSUMER.INFO.{self._streams.batches}.{consumer}")
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise EngineError(str(refusal)) from None
            raise Fenced(f"{consumer.rpartition('-')[0]} was opened by another node") from None
        await asyncio.sleep(_PAUSE_S)

    async def _take_over(self, shard: int) -> str:
        """A new consumer, in the place of all older ones."""
        stream, mine = self._streams.batches, f"inbox-{shard}-{token_hex(8)}"
        while True:
            for old in await self._consumers(f"inbox-{shard}-"):
                await self._remove(old)
            try:
                await self._asking.api(
                    f"CONSUMER.DURABLE.CREATE.{stream}.{mine}",
                    {"stream_name": stream, "config": self._config(mine, shard)},
                )
            except JetStreamRefusal as refusal:
                if refusal.error_code != NOT_UNIQUE:
                    raise EngineError(str(refusal)) from None
            else:
                return mine

    def _config(self, name: str, shard: int) -> dict[str, object]:
        return {
            "durable_name": name,
            "filter_subject": self._streams.batch_subject("*", shard),
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": int(_AGAIN_S * _NS),
            "max_ack_pending": _MOST_UNDONE,
            "max_deliver": -1,
        }

    async def _consumers(self, prefix: str) -> list[str]:
        found: list[str] = []
        while True:
            answer = await self._asking.api(
                f"CONSUMER.NAMES.{self._streams.batches}", {"offset": len(found)}
            )
            page = answer.get("consumers") or []
            found += page
            if not page or len(found) >= answer.get("total", 0):
                return [name for name in found if name.startswith(prefix)]

    async def _remove(self, consumer: str) -> None:
        try:
            await self._asking.api(f"CONSUMER.DELETE.{self._streams.batches}.{consumer}")
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise EngineError(str(refusal)) from None
