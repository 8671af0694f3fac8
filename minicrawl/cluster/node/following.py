"""Following keys of the engine, and listening to broadcasts.

Law: a follower hears the final value of each key, and deletions, even those made while the engine
could not be reached.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TypeVar

from minicrawl.cluster.engine import Broadcasts, EngineUnavailable, KeyValues
from minicrawl.cluster.records import KeyEntry

Hear = Callable[[KeyEntry], None]
_AGAIN_S = 0.5

T = TypeVar("T")


async def until_answered(ask: Callable[[], Awaitable[T]]) -> T:
    while True:
        with suppress(EngineUnavailable):
            return await ask()
        await asyncio.sleep(_AGAIN_S)


async def follow(engine: KeyValues, prefix: str, hear: Hear) -> None:
    """Call `hear` for all keys with this prefix and their changes, for ever."""
    while True:
        with suppress(EngineUnavailable):
            async with aclosing(engine.watch(prefix)) as changes:
                async for entry in changes:
                    hear(entry)
        await asyncio.sleep(_AGAIN_S)


async def listen(engine: Broadcasts, prefix: str, hear: Hear) -> None:
    """Call `hear` for all broadcasts with this prefix, for ever."""
    async with aclosing(engine.broadcasts(prefix)) as broadcasts:
        async for broadcast in broadcasts:
            hear(broadcast)
