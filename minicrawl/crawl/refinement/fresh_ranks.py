"""Keeps the importance that reports show fresh: while the crawl has time, and when it ends.

Laws: ranks are computed apart from the crawl, whose order of reading does not change. During the
crawl another process computes them at the lowest priority, and only if the loop, the disk and a
core had time to spare just before and enough has changed. It skips a short log, whose ranks
reports converge themselves. A crawl that ends at a proven share (--until) does not wait for spare
time, and skips no log. At the end of a crawl the computation may take a tenth of the time of the
run, at least 5 seconds, and ends one round after the user stops it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.crawl.events import Converged, Converging, Listener, Warned
from minicrawl.crawl.refinement.converged_ranks import Refined, is_due, refine, stored_row
from minicrawl.crawl.workers.supervisor import kill
from minicrawl.errors import DamagedStore, MinicrawlError
from minicrawl.frontier.importance import MOST_STEPS
from minicrawl.memory.child_interpreter import child_command
from minicrawl.store import tables
from minicrawl.store.derived.ranks import guaranteed
from minicrawl.store.reader import reading

if TYPE_CHECKING:
    from minicrawl.config import Storing
    from minicrawl.crawl.record.recorder import Recorder
    from minicrawl.ports import Clock

SHARE_AT_END, LEAST_AT_END_S = 0.1, 5.0
SHARE_WHILE_CRAWLING = 0.25
"""Share of the time in which ranks may be computed beside a crawl."""
CHANGED = 0.02
"""Least share of new steps in the log."""
MOST_BUSY = 0.5
"""Largest share of the time since the last look that the crawl's process may have worked."""
FEWEST_SPARE = 0.5
"""Least number of cores that were idle, or busy with work of low priority only."""
LOOK_EVERY_S = 1.0
FEWEST_STEPS = MOST_STEPS + 1
"""Least length of the log: reports converge the ranks of a shorter one themselves."""
MOST_PAGES = 1_000_000
"""Maximum number of pages: with more, the other process would need too much memory."""
MOST_S, MOST_OF_PROOF_S = 30.0, 600.0
"""Time limits of the other process: while it reads, SQLite's write-ahead log only grows. The second
one holds if the crawl ends at a proven share, which the process computes.
"""
AFTER_TROUBLE_S = 60.0
"""Pause after a computation that failed or took too long."""
_NICE = 19
_CODE = "from minicrawl.crawl.refinement.fresh_ranks import main; main()"
_PROC = Path("/proc")
_SCHEDULED = Path("self", "schedstat")
"""Statistics of the thread that runs the loop."""
_NICE_COLUMN, _IDLE_COLUMN = 2, 4


class Load(NamedTuple):
    """Work and idle time up to a moment, in seconds."""

    at: float
    own_s: float
    """Work of the crawl's own process, and the time that its loop waited for a core."""
    spare_s: float
    """Idle time of the cores that this process may use, including work of low priority."""

    @classmethod
    def measured(cls, now: float, proc: Path = _PROC) -> Load:
        stat, scheduled = proc / "stat", proc / _SCHEDULED
        lines = stat.read_text().splitlines() if stat.exists() else ()
        columns = (_IDLE_COLUMN,) if os.nice(0) > 0 else (_NICE_COLUMN, _IDLE_COLUMN)
        waited_s = waited(scheduled.read_text() if scheduled.exists() else "")
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
    """Return whether the loop and `FEWEST_SPARE` cores had time to spare in between."""
    passed = after.at - before.at
    is_calm = after.own_s - before.own_s <= MOST_BUSY * passed
    return is_calm and after.spare_s - before.spare_s >= FEWEST_SPARE * passed


def has_changed(known: int, last: int) -> bool:
    """Return whether enough steps followed the last one that the ranks know."""
    return last - known > CHANGED * last


async def refine_beside(store: Path, most_s: float, code: str = _CODE) -> bool:
    """Compute the ranks in another process. Return False if it failed or took too long."""
    # In a session of its own: Ctrl-C in the terminal is for the crawl, which then ends this
    # process.
    process = await asyncio.create_subprocess_exec(
        *child_command(code, str(store)),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(most_s):
            return await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            kill(process)
            await process.wait()


@asynccontextmanager
async def kept_fresh(
    storing: Storing, recorder: Recorder, clock: Clock, *, proves: bool = False
) -> AsyncIterator[None]:
    """Compute the ranks of a running crawl when there is time, or always if it `proves` a share."""
    if proves:
        _note_proof(storing.store, recorder)
    if not proves and not storing.may_converge:
        yield
        return
    task = asyncio.create_task(_keep_fresh(storing.store, recorder, clock, proves=proves))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_fresh(store: Path, recorder: Recorder, clock: Clock, *, proves: bool) -> None:
    frontier, committer = recorder.frontier, recorder.committer
    known, due, load = 0, 0.0, Load.measured(clock.now())
    most_s = MOST_OF_PROOF_S if proves else MOST_S
    while proves or len(frontier) <= MOST_PAGES:
        await asyncio.sleep(LOOK_EVERY_S)
        before, load = load, Load.measured(clock.now())
        last = frontier.last_seq
        has_room = committer.takes_more and (proves or has_time(before, load))
        is_wanted = (proves or last >= FEWEST_STEPS) and has_changed(known, last)
        if load.at < due or not has_room or not is_wanted:
            continue
        is_done = await refine_beside(store, most_s)
        if is_done and proves:
            _note_proof(store, recorder)
        known, now = last, clock.now()
        due = now + (now - load.at) / SHARE_WHILE_CRAWLING if is_done else now + AFTER_TROUBLE_S
        load = Load.measured(now)


def _note_proof(store: Path, recorder: Recorder) -> None:
    """Note the share that is proven by the ranks beside the store.

    Ranks that cannot be read prove nothing; the crawl says so when it replaces them at its end.
    """
    proven = None
    with suppress(MinicrawlError), reading(store) as connection:
        row = stored_row(store, connection)
        proven = None if row is None else guaranteed(row, connection)
    recorder.counters[tables.GUARANTEED] = proven or 0.0


def main() -> None:
    """Refine the store of the first argument: entry point of the other process."""
    os.nice(_NICE)
    refine(Path(sys.argv[1]))


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
