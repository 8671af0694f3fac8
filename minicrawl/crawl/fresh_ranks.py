"""Keeps the importance that reports show fresh: while the crawl has time, and when it ends.

Laws: ranks are computed apart from the crawl, whose order of reading does not change. During the
crawl another process computes them at the lowest priority, and only if the loop, the disk and a
core had time to spare just before and enough has changed. The ranks of a short log are converged by
reports themselves, so nothing is stored for it. At the end the computation may take a tenth of the
time of the run, at least 5 seconds, and ends one round after the user stops it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

from minicrawl.config import Storing
from minicrawl.crawl.events import Converged, Converging, Event, Listener, Warned
from minicrawl.crawl.refinement import Refined, is_due, refine
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.errors import DamagedStore, MinicrawlError
from minicrawl.frontier.importance import MOST_STEPS
from minicrawl.ports import Clock

SHARE_AT_END, LEAST_AT_END_S = 0.1, 5.0
LOOK_EVERY_S = 1.0
SHARE_WHILE_CRAWLING = 0.25
"""Share of the time in which ranks may be computed beside a crawl."""
FEWEST_STEPS = MOST_STEPS + 1
"""Least length of the log: reports converge the ranks of a shorter one themselves."""
CHANGED = 0.02
"""Share of all steps that must be new."""
MOST_BUSY = 0.5
"""Share of the last moments in which the crawl's own process may have worked."""
FEWEST_SPARE = 0.5
"""Number of cores that must have been idle, or busy with work of low priority only."""
MOST_PAGES = 1_000_000
"""Limit of pages: with more, another process would need too much memory beside the crawl."""
MOST_S = 30.0
"""Time limit of the other process: while it reads, SQLite's write-ahead log only grows."""
AFTER_TROUBLE_S = 60.0
_NICE = 19
_CODE = "from minicrawl.crawl.fresh_ranks import main; main()"
_STAT = Path("/proc/stat")
_SCHEDULED = Path("/proc/self/schedstat")
"""Statistics of the thread that runs the loop."""
_NICE_COLUMN, _IDLE_COLUMN = 2, 4


# ---------------------------------------------------------------- during a crawl


class Load(NamedTuple):
    """Work and idle time up to a moment, in seconds."""

    at: float
    own_s: float
    """Work of the crawl's own process, and the time that its loop waited for a core."""
    spare_s: float
    """Idle time of the cores that this process may use, including work of low priority."""

    @classmethod
    def measured(cls, now: float) -> Load:
        """Measure the load up to now."""
        lines = _STAT.read_text().splitlines() if _STAT.exists() else ()
        columns = (_IDLE_COLUMN,) if os.nice(0) > 0 else (_NICE_COLUMN, _IDLE_COLUMN)
        waited_s = waited(_SCHEDULED.read_text() if _SCHEDULED.exists() else "")
        spare = spare_s(lines, os.sched_getaffinity(0), columns) if lines else 0.0
        return cls(now, process_time() + waited_s, spare)


def spare_s(lines: Sequence[str], cores: set[int], columns: Sequence[int]) -> float:
    """Return the time that these cores had to spare, by these columns of the lines of /proc/stat.

    Work of low priority counts as spare time, unless the crawl is of low priority itself.
    """
    rows = (line.split() for line in lines)
    mine = [row for row in rows if row and row[0] in {f"cpu{core}" for core in cores}]
    ticks = sum(int(row[column]) for row in mine for column in columns)
    return ticks / os.sysconf("SC_CLK_TCK")


def waited(text: str) -> float:
    """Return the time in seconds that a thread was ready and had no core, by its line in /proc.

    A loop without a core is busy, however little it works. 0 where the system does not tell.
    """
    return int(text.split()[1]) / 1e9 if text else 0.0


def has_time(before: Load, after: Load) -> bool:
    """Return whether the loop and at least some cores had time to spare in between."""
    passed = after.at - before.at
    is_calm = after.own_s - before.own_s <= MOST_BUSY * passed
    return is_calm and after.spare_s - before.spare_s >= FEWEST_SPARE * passed


def has_changed(known: int, last: int) -> bool:
    """Return whether enough steps followed the last one that the ranks know."""
    return last - known > CHANGED * last


@asynccontextmanager
async def kept_fresh(storing: Storing, recorder: Recorder, clock: Clock) -> AsyncIterator[None]:
    """Compute the ranks of a running crawl again and again, whenever there is time."""
    if not storing.may_converge:
        yield
        return
    task = asyncio.create_task(_keep_fresh(storing.store, recorder, clock))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_fresh(store: Path, recorder: Recorder, clock: Clock) -> None:
    frontier, committer = recorder.frontier, recorder.committer
    known, due, load = 0, 0.0, Load.measured(clock.now())
    while len(frontier) <= MOST_PAGES:
        await asyncio.sleep(LOOK_EVERY_S)
        before, load = load, Load.measured(clock.now())
        last = frontier.last_seq
        has_room = committer.takes_more and has_time(before, load)
        is_wanted = last >= FEWEST_STEPS and has_changed(known, last)
        if load.at < due or not has_room or not is_wanted:
            continue
        is_done = await _refine_beside(store)
        known, now = last, clock.now()
        due = now + (now - load.at) / SHARE_WHILE_CRAWLING if is_done else now + AFTER_TROUBLE_S
        load = Load.measured(now)


async def _refine_beside(store: Path) -> bool:
    """Compute the ranks in another process. Return False if it failed or took too long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _CODE, str(store)),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(MOST_S):
            return await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def main() -> None:
    """Run the other process."""
    os.nice(_NICE)
    refine(Path(sys.argv[1]))


# ---------------------------------------------------------------- at the end


def refine_for(store: Path, ran_s: float) -> Refined | None:
    """Compute the ranks after a run of `ran_s` seconds, without a loop that waits."""
    ends_at = monotonic() + _limit_s(ran_s)
    return refine(store, goes_on=lambda: monotonic() < ends_at)


def _limit_s(ran_s: float) -> float:
    return max(LEAST_AT_END_S, SHARE_AT_END * ran_s)


class LastConvergence:
    """Computes the ranks when the crawl is over, in a thread, so that it can be told to end."""

    def __init__(self, store: Path, clock: Clock, tell: Listener) -> None:
        self.is_under_way = False
        self._store, self._clock, self._tell = store, clock, tell
        self._is_halted = False

    def halt(self) -> None:
        """End the computation after this round."""
        self._is_halted = True

    async def run(self, ran_s: float) -> None:
        """Converge, after a run of `ran_s` seconds.

        Errors are only reported, as the crawl itself is safe, unless its store is damaged.
        Cancelling this task ends the computation as `halt` does.
        """
        self.is_under_way = True
        try:
            if is_due(self._store):
                await self._converge(_limit_s(ran_s))
        except DamagedStore:
            raise
        except (MinicrawlError, OSError) as error:
            self._tell(Warned(text=f"the ranks were not computed: {error}"))
        finally:
            self.is_under_way = False

    async def _converge(self, limit_s: float) -> None:
        loop, ends_at = asyncio.get_running_loop(), self._clock.now() + limit_s
        work = loop.run_in_executor(
            None,
            partial(
                refine,
                self._store,
                tell=lambda done: _post(loop, self._tell, Converging(done=done)),
                goes_on=lambda: not self._is_halted and self._clock.now() < ends_at,
            ),
        )
        found = await self._result(work)
        kept = found is not None and found.is_kept
        self._tell(
            Converged(
                error_bound=found.error_bound if found and kept else None,
                is_complete=found is not None and found.converged,
            )
        )

    async def _result(self, work: asyncio.Future[Refined | None]) -> Refined | None:
        """Return the result.

        However often this task is cancelled, it waits for the thread to end.
        """
        while True:
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                if work.cancelled():
                    raise
                self.halt()
                _forget_cancellation()


def _post(loop: asyncio.AbstractEventLoop, tell: Callable[[Event], None], event: Event) -> None:
    """Report an event in the thread of the loop."""
    loop.call_soon_threadsafe(tell, event)


def _forget_cancellation() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
