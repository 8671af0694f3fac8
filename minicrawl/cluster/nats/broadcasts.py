"""Broadcasts as plain messages of NATS, which no stream stores.

A broadcast costs a small part of what a change of a key costs, and arrives at once. Without a
connection it is lost, not queued: a queued message would arrive late and look new. It is lost as
well if a listener is slower than its senders for long.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from nats.aio.msg import Msg
from nats.errors import Error

from minicrawl.cluster.engine import MOST_VALUE_BYTES
from minicrawl.cluster.nats.streams import NatsPart
from minicrawl.cluster.records import KeyEntry

_MOST_WAITING_BYTES = 1 << 25
"""Limit of the messages that wait for a slow listener. Later ones are dropped."""


class NatsBroadcasts(NatsPart):
    async def broadcast(self, topic: str, content: bytes) -> None:
        if len(content) > MOST_VALUE_BYTES:
            raise ValueError(f"{topic}: {len(content):,} bytes are more than a broadcast may have")
        if self._jetstream.client.is_connected:
            with suppress(Error):  # the connection has just been lost
                await self._jetstream.client.publish(
                    self._streams.broadcast_subject(topic), content
                )

    async def broadcasts(self, prefix: str) -> AsyncGenerator[KeyEntry, None]:
        client, arrived = self._jetstream.client, asyncio.Queue[Msg](1)
        subjects = self._streams.broadcast_subject(f"{prefix}>")
        before = len(self._streams.broadcast_subject(""))
        coming = await client.subscribe(
            subjects, cb=arrived.put, pending_bytes_limit=_MOST_WAITING_BYTES
        )
        try:
            while True:
                message = await arrived.get()
                yield KeyEntry(message.subject[before:], message.data, 0)
        finally:
            with suppress(Error):  # the connection is closed
                await coming.unsubscribe()
