"""Computes the ranks that reports show when the crawl is over.

Law: the computation may take a tenth of the time of the run, at least 5 seconds, and ends one round
after the user stops it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from minicrawl.crawl.events import Converged, Converging, Listener, Warned
from minicrawl.crawl.refinement.converged_ranks import Refined, is_due, refine
from minicrawl.errors import DamagedStore, MinicrawlError

if TYPE_CHECKING:
    from minicrawl.ports import Clock

SHARE_AT_END, LEAST_AT_END_S = 0.1, 5.0


def refine_for(store: Path, ran_s: float) -> Refined | None:
    """Compute the ranks after a run of `ran_s` seconds, in this thread."""
    ends_at = monotonic() + max(LEAST_AT_END_S, SHARE_AT_END * ran_s)
    return refine(store, goes_on=lambda: monotonic() < ends_at)


class LastConvergence:
    """Computes the ranks when the crawl is over; in a thread, so that the loop can halt it."""

    def __init__(self, store: Path, clock: Clock, emit: Listener) -> None:
        self.is_under_way = False
        self._store, self._clock, self._emit = store, clock, emit
        self._is_halted = False

    def halt(self) -> None:
        self._is_halted = True

    async def run(self, ran_s: float) -> None:
        """Converge, after a run of `ran_s` seconds.

        Errors are only reported, as the crawl itself is safe, unless its store is damaged.
        Cancelling this task ends the computation as `halt` does.
        """
        self.is_under_way = True
        try:
            if is_due(self._store):
                await self._converge(max(LEAST_AT_END_S, SHARE_AT_END * ran_s))
        except DamagedStore:
            raise
        except (MinicrawlError, OSError) as error:
            self._emit(Warned(text=f"the ranks were not computed: {error}"))
        finally:
            self.is_under_way = False

    async def _converge(self, limit_s: float) -> None:
        loop, ends_at = asyncio.get_running_loop(), self._clock.now() + limit_s

        def progress(done: float) -> None:
            loop.call_soon_threadsafe(self._emit, Converging(done=done))

        work = loop.run_in_executor(
            None,
            partial(
                refine,
                self._store,
                progress=progress,
                goes_on=lambda: not self._is_halted and self._clock.now() < ends_at,
            ),
        )
        refined = await self._result(work)
        error_bound = refined.error_bound if refined and refined.is_kept else None
        is_complete = refined is not None and refined.converged
        self._emit(Converged(error_bound=error_bound, is_complete=is_complete))

    async def _result(self, work: asyncio.Future[Refined | None]) -> Refined | None:
        """Return the result; wait for the thread to end however often this task is cancelled."""
        while True:
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                if work.cancelled():
                    raise
                self.halt()
                if (task := asyncio.current_task()) is not None:
                    task.uncancel()
