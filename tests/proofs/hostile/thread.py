"""Servers that run in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager

_POLL_S = 0.05


@contextmanager
def beside(open_all: Callable[[AsyncExitStack], Awaitable[None]]) -> Iterator[None]:
    """Run servers in a thread until the block ends. `open_all` opens them."""
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as leaving:
            await open_all(leaving)
            ready.set()
            await over.wait()

    with ThreadPoolExecutor(1, thread_name_prefix="sites") as thread, asyncio.Runner() as runner:
        served = thread.submit(runner.run, serve())
        while not ready.wait(_POLL_S):
            if served.done():
                served.result()
        try:
            yield
        finally:
            runner.get_loop().call_soon_threadsafe(over.set)
            served.result()
