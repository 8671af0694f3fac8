"""A thread with an event loop and an engine: no other work delays what it does."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from minicrawl.cluster.engine import ClusterEngine

T = TypeVar("T")
Connect = Callable[[], Coroutine[Any, Any, ClusterEngine]]


class EngineThread:
    def __init__(self, connect: Connect) -> None:
        """Call `connect` in the new thread, and wait for its engine."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="replica", daemon=True)
        self._thread.start()
        try:
            self.engine = self.run(connect())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine in the thread, without waiting."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        try:
            self.run(self.engine.close())
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
