"""A cluster as it goes on, for those who look now and then and have no event loop.

Law: it is followed over one connection, in a thread of its own; who looks never waits for a node.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from minicrawl.cluster.access import ClusterAccess, connected_anew
from minicrawl.cluster.engine import ClusterEngine, EngineError
from minicrawl.cluster.overview import ClusterStatus
from minicrawl.cluster.replica.engine_thread import EngineThread
from minicrawl.cluster.watching import ClusterWatch
from minicrawl.errors import UsageError

T = TypeVar("T")
Wish = Callable[[ClusterEngine], Coroutine[Any, Any, T]]


class LiveCluster:
    """A cluster that is followed."""

    def __init__(self, access: ClusterAccess) -> None:
        try:
            self._thread = EngineThread(partial(connected_anew, access))
        except EngineError as error:  # a wrong value, as for all other commands
            raise UsageError(str(error)) from error
        self._watch = ClusterWatch(self._thread.engine)
        self._thread.run(self._begin())

    def status(self) -> ClusterStatus:
        """The cluster as of now; raises UsageError while it has no crawl."""
        return self._thread.run(self._status())

    def do(self, wish: Wish[T]) -> T:
        """Do something with its engine."""
        return self.begin(wish).result()

    def begin(self, wish: Wish[T]) -> Future[T]:
        """Do something with its engine meanwhile."""
        return self._thread.begin(wish(self._thread.engine))

    def close(self) -> None:
        """Follow it no longer."""
        self._thread.run(self._watch.end())
        self._thread.close()

    async def _begin(self) -> None:
        self._watch.begin()

    async def _status(self) -> ClusterStatus:
        return self._watch.status()
