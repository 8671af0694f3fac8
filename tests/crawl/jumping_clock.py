"""A clock that jumps: when nothing is left to do but wait, it jumps to the next timer.

It stands still while a thread works, for example while the store is written, so a slow disk costs
no time.
"""

import asyncio
import selectors
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, TypeVar
from unittest.mock import patch

Result = TypeVar("Result")

NOON = 1_700_000_000.0
"""The time of day when the clock starts."""
FOR_EVER_S = 10_000.0
"""Time by the jumping clock after which work counts as hung."""
_MOST_TURNS = 300_000
_BLOCKED_S = 60.0
"""Processor time after which the loop counts as blocked."""


class _Selector(selectors.DefaultSelector):
    """A selector that never waits for time, but only for threads."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.in_threads = 0
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._turns = (self._turns + 1) % _MOST_TURNS
        assert self._turns, "the loop spins"
        if self.in_threads or not timeout:
            return super().select(timeout)
        if not (found := super().select(0)):
            self.now += timeout
        return found


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def go_by(self, seconds: float) -> None:
        """Advance the clock, as if something worked for `seconds`."""
        self._jumping.now += seconds

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Stop the clock for as long as the thread works."""
        self._jumping.in_threads += 1
        working = super().run_in_executor(executor, func, *args)
        working.add_done_callback(self._came_back)
        return working

    async def shutdown_default_executor(self, *_: object) -> None:
        """Wait for threads without a limit: the clock would jump to it while they end."""
        await super().shutdown_default_executor()

    def _came_back(self, _: "asyncio.Future[Any]") -> None:
        self._jumping.in_threads -= 1


class FakeClock:
    """Clock of a jumping loop. Tests may turn its time of day."""

    def __init__(self, turned_s: float = 0.0) -> None:
        self.turned_s = turned_s

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def today(self) -> float:
        return NOON + self.now() + self.turned_s


@contextmanager
def work_takes_no_time() -> Iterator[None]:
    """Make a crawl independent of the speed of the machine: processor time costs nothing.

    No host waits because it was expensive, no search for the next page is interrupted, and every
    body and page is read in one round of the loop.
    """
    with (
        patch("minicrawl.crawl.hosts.costs.FREE_S", inf),
        patch("minicrawl.crawl.dispatch.dispatcher.LONGEST_LOOK_S", inf),
        patch("minicrawl.crawl.workers.loop_rounds.ROUND_S", inf),
        patch("minicrawl.fetch.body.reading._TURN_S", inf),
    ):
        yield


def in_time(work: Coroutine[Any, Any, Result], *, for_ever_s: float = FOR_EVER_S) -> Result:
    """Run a coroutine in a loop whose time jumps. Raise TimeoutError if it hangs."""

    async def bounded() -> Result:
        async with asyncio.timeout(for_ever_s):
            return await work

    with _watched(), asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(bounded())


@contextmanager
def _watched() -> Iterator[None]:
    """Raise TimeoutError if a task blocks the loop, which stops the jumping clock."""

    def end(*_: object) -> None:
        raise TimeoutError("the loop is blocked")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _BLOCKED_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
