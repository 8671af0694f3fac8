"""The keys of the engine as they are now, for whoever follows them, and what is broadcast.

Law: who follows keys hears of each as it is in the end; of what was deleted while the engine could
not be reached as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing

from minicrawl.cluster.engine import (
    Broadcast,
    Broadcasts,
    EngineUnavailable,
    KeyEntry,
    KeyValues,
)

Hear = Callable[[KeyEntry], None]
_AGAIN_S = 0.5


async def follow(engine: KeyValues, prefix: str, hear: Hear) -> None:
    """Hear of all keys whose names begin so, for ever."""
    kept: set[str] = set()
    while True:
        try:
            await _follow_once(engine, prefix, hear, kept)
        except EngineUnavailable:
            await asyncio.sleep(_AGAIN_S)


async def listen(engine: Broadcasts, prefix: str, hear: Callable[[Broadcast], None]) -> None:
    """Hear of all that is broadcast under names that begin so, for ever."""
    async with aclosing(engine.broadcasts(prefix)) as coming:
        async for said in coming:
            hear(said)


async def cancelled(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended.

    `asyncio.wait_for` of Python 3.11, which nats-py uses, may swallow a cancellation.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_S)


async def _follow_once(engine: KeyValues, prefix: str, hear: Hear, kept: set[str]) -> None:
    found: set[str] | None = set()
    async with aclosing(engine.watch(prefix)) as changes:
        async for entry in changes:
            if entry is None:
                for gone in kept - (found or set()):
                    hear(KeyEntry(gone, None, 0))
                kept &= found or set()
                found = None
                continue
            hear(entry)
            if found is not None:
                found.add(entry.key)
            if entry.value is None:
                kept.discard(entry.key)
            else:
                kept.add(entry.key)
    raise EngineUnavailable(f"the engine ended the watch of {prefix or 'all keys'}")
