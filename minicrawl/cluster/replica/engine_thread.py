"""A thread with a loop and a connection to the engine of its own: no other work delays it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from minicrawl.cluster.engine import ClusterEngine

T = TypeVar("T")
Connect = Callable[[], Coroutine[Any, Any, ClusterEngine]]


class EngineThread:
    """A thread with an event loop and an engine of its own."""

    def __init__(self, connect: Connect) -> None:
        """`connect` is called in the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="replica", daemon=True)
        self._thread.start()
        try:
            self.engine = self.run(connect())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and wait for what comes of it."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Do it there meanwhile."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Close the engine, and end the thread."""
        try:
            self.run(self.engine.close())
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
