"""Broadcasts: plain messages of NATS, which no stream keeps.

They cost a small part of what a change of a key costs, and come at once. Without a connection they
are lost: what waited for one would come as if it were new.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from nats.aio.msg import Msg
from nats.errors import Error

from minicrawl.cluster.engine import MOST_VALUE_BYTES, Broadcast
from minicrawl.cluster.nats.parts import NatsPart


class NatsBroadcasts(NatsPart):
    """The broadcasts."""

    async def broadcast(self, topic: str, content: bytes) -> None:
        """Send it to all who listen now."""
        if len(content) > MOST_VALUE_BYTES:
            raise ValueError(f"{topic}: {len(content):,} bytes are more than a broadcast may have")
        if self._asking.client.is_connected:
            with suppress(Error):  # the connection has just been lost
                await self._asking.client.publish(self._streams.broadcast_subject(topic), content)

    async def broadcasts(self, prefix: str) -> AsyncGenerator[Broadcast, None]:
        """What is sent from now on under names that begin so, for ever."""
        client, came = self._asking.client, asyncio.Queue[Msg]()
        subjects = self._streams.broadcast_subject(f"{prefix}>")
        before = len(self._streams.broadcast_subject(""))
        coming = await client.subscribe(subjects, cb=came.put)
        try:
            while True:
                message = await came.get()
                yield Broadcast(message.subject[before:], message.data)
        finally:
            with suppress(Error):  # the connection is closed
                await coming.unsubscribe()
