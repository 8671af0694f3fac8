"""Converged ranks: the limit of endless replays along the stored links.

Laws: the store is only read, so cash, keys and the order of a crawl do not change. The ranks of
pages and of sites lie beside it and are replaced as a whole. The ranks of an interrupted refinement
are kept, with their error bound, if it is small enough to mean something. The next refinement
starts from the stored ranks.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.events import Converged, Converging, Event, Listener, Warned
from minicrawl.crawl.workers.supervisor import kill
from minicrawl.errors import DamagedStore, MinicrawlError, UsageError
from minicrawl.frontier.importance import (
    MOST_STEPS,
    UNTIL,
    GoOn,
    always,
    cash_flow,
    kept_importance,
    proven_share,
    rank_mass,
    rank_options,
)
from minicrawl.frontier.page_table import Frontier, load_frontier, verify
from minicrawl.frontier.url_table import sites_of
from minicrawl.memory import child_command
from minicrawl.opic.importance.cash_flow import CashFlow, Refinement
from minicrawl.opic.importance.rank_mass import RankMass
from minicrawl.ports import Progress, unreported
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    OPIC,
    OPIC_SITES,
    RankRow,
    guaranteed,
    keep_ranks,
    rank_row,
    reading_beside,
)
from minicrawl.store.reader import reading
from minicrawl.store.records import reporting_damage
from minicrawl.store.writer import copy_store
from minicrawl.web.urls import host_of

if TYPE_CHECKING:
    from minicrawl.config import Storing
    from minicrawl.crawl.settle.recorder import Recorder
    from minicrawl.ports import Clock

LEAST_UNTIL = 1e-12
"""Least error: below it, rounding errors could hide the remaining error."""
HONEST = 0.1
"""Largest error bound of ranks that are kept: beyond it, the crawl's own estimate is as good."""
TOP = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """Result of a refinement."""

    pages: int
    links: int
    rounds: int
    error_bound: float
    """Upper bound of the error of the shares, summed over all pages."""
    converged: bool
    """True if the bound is as small as requested."""
    moved: float
    """Change of the shares, summed over all pages: 2 at most."""
    top_kept: int
    """Number of the ten first pages that were among the ten first before."""
    store: Path

    @property
    def is_kept(self) -> bool:
        """True if the ranks are good enough to be kept."""
        return self.converged or self.error_bound <= HONEST


def refine(
    path: Path,
    *,
    until: float = UNTIL,
    to: Path | None = None,
    tell: Progress = unreported,
    goes_on: GoOn = always,
) -> Refined | None:
    """Refine until the error is no more than `until`, and keep the ranks beside the store.

    With `to`, the store is copied, and the ranks are kept beside the copy. Return None if the
    refinement was interrupted before the first round.
    """
    _check(path, until, to)
    with reading(path) as connection, reporting_damage(path):
        loaded = _Loaded.of(path, connection, goes_on)
    if loaded is None:
        return None
    refinement = Refinement(loaded.flow, loaded.shown)
    for error in refinement.until(until):
        tell(min(1.0, max(0.0, math.log(error) / math.log(until))))
        if not goes_on():
            break
    found = loaded.refined(refinement, until, to or path)
    if found.is_kept:
        ranks = loaded.ranks(found, refinement, goes_on)
        if to is not None:
            copy_store(path, to)
        with reading(path) as connection:
            keep_ranks(to or path, connection, ranks)
    return found


def is_due(path: Path) -> bool:
    """Return whether the ranks beside the store lack some of its links, or have not converged."""
    with reading(path) as connection:
        row = _kept(path, connection)
        return row is None or not row.converged or row.step != tables.last_step(connection)


def _check(path: Path, until: float, to: Path | None) -> None:
    if not LEAST_UNTIL <= until < 1:
        raise UsageError(f"--until {until:g}: must be a number from {LEAST_UNTIL:g} to below 1")
    with reading(path) as connection, reporting_damage(path):
        terms = tables.terms(connection)
        if terms is None or not questions.hosts_known(connection):
            raise UsageError(f"{path} has no pages yet: run `minicrawl crawl` first")
    if not terms.links:
        raise UsageError(f"{path} was crawled with --no-links: no stored links to replay")
    if terms.shards > 1:
        raise UsageError(
            f"{path} is shard {terms.shard} of {terms.shards}: its pages are linked from others, "
            "so gather all shards into one store first"
        )
    if to is not None and to.exists():
        raise UsageError(f"--to {to}: the file exists, and is not overwritten")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """Data of a store for a refinement, as of one step."""

    step: int
    flow: CashFlow
    mass: RankMass | None
    shown: Floats
    """Importance as shown before."""
    states: NDArray[np.uint8]
    site_of: NDArray[np.int32]
    before: RankRow | None
    """The ranks that were kept before."""

    @classmethod
    def of(cls, path: Path, connection: tables.Connection, goes_on: GoOn) -> _Loaded | None:
        """Load the data, or return None if time ran out."""
        frontier = _load(connection)
        flow = cash_flow(frontier, connection, goes_on)
        if flow is None:
            return None
        names = [host_of(origin) for origin in questions.origins(connection)]
        hosts = tables.whole(tables.urls(connection, "host"), "host")
        return cls(
            step=frontier.last_seq,
            flow=flow,
            mass=rank_mass(flow, frontier),
            shown=kept_importance(path, connection, frontier).shares,
            states=frontier.states(),
            site_of=sites_of(names, hosts[: len(frontier)])[1],
            before=_kept(path, connection),
        )

    def refined(self, refinement: Refinement, until: float, store: Path) -> Refined:
        after = refinement.importance
        return Refined(
            pages=self.flow.pages,
            links=self.flow.links,
            rounds=refinement.rounds,
            error_bound=refinement.error,
            converged=refinement.error <= until,
            moved=float(np.abs(after - self.shown).sum()),
            top_kept=len(_top(self.shown) & _top(after)),
            store=store,
        )

    def ranks(
        self, found: Refined, refinement: Refinement, goes_on: GoOn
    ) -> list[tuple[RankRow, Floats]]:
        """Return the ranks of pages, and of sites by the cash that then flows between them."""
        row, importance = self._row(found, refinement, goes_on), refinement.importance
        pages = np.bincount(self.site_of)
        given = self.flow.between(importance, self.site_of, len(pages))
        sites = row._replace(name=OPIC_SITES, options="{}", error_bound=math.inf)
        return [(row, importance), (sites, (given / np.maximum(pages, 1))[self.site_of])]

    def _row(self, found: Refined, refinement: Refinement, goes_on: GoOn) -> RankRow:
        proven = None if self.mass is None else proven_share(self.mass, self.states, goes_on)
        return RankRow(
            name=OPIC,
            options=rank_options(refinement, self.states, self.before, proven),
            made_at=time.time(),
            step=self.step,
            nodes=found.pages,
            edges=found.links,
            iterations=found.rounds,
            error_bound=found.error_bound,
            converged=found.converged,
        )


def _kept(path: Path, connection: tables.Connection) -> RankRow | None:
    with reading_beside(path, connection) as derived:
        return rank_row(derived, OPIC)


def _load(connection: tables.Connection) -> Frontier:
    terms = tables.terms(connection)
    assert terms is not None  # _check refuses a store without terms
    frontier = load_frontier(
        connection,
        terms,
        partial(tables.spending, connection),
        siblings=tables.uses_siblings_order(connection),
    )
    verify(frontier, connection)
    return frontier


def _top(importance: Floats) -> set[int]:
    return set(np.argsort(-importance, kind="stable")[:TOP].tolist())


# ================================================================ fresh ranks
#
# Keeps the importance that reports show fresh: while the crawl has time, and when it ends.
#
# Laws: ranks are computed apart from the crawl, whose order of reading does not change. During the
# crawl another process computes them at the lowest priority, and only if the loop, the disk and a
# core had time to spare just before and enough has changed. It skips a short log, whose ranks
# reports converge themselves. A crawl that ends at a proven share (--until) does not wait for spare
# time, and skips no log. At the end of a crawl the computation may take a tenth of the time of the
# run, at least 5 seconds, and ends one round after the user stops it.


SHARE_AT_END, LEAST_AT_END_S = 0.1, 5.0
SHARE_WHILE_CRAWLING = 0.25
"""Share of the time in which ranks may be computed beside a crawl."""
CHANGED = 0.02
"""Least share of new steps in the log."""
MOST_BUSY = 0.5
"""Largest share of the time since the last look that the crawl's process may have worked."""
FEWEST_SPARE = 0.5
"""Least number of cores that were idle, or busy with work of low priority only."""
AFTER_TROUBLE_S = 60.0
"""Pause after a computation that failed or took too long."""
_NICE = 19
_CODE = "from minicrawl.crawl.refinement import main; main()"
_PROC = Path("/proc")
_SCHEDULED = Path("self", "schedstat")
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
    def measured(cls, now: float, proc: Path = _PROC) -> Load:
        """Measure the load up to now, by the statistics in `proc`."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshRanks:
    """Policy of the ranks of a running crawl: when they are computed, and how."""

    look_every_s: float = 1.0
    fewest_steps: int = MOST_STEPS + 1
    """Least length of the log: reports converge the ranks of a shorter one themselves."""
    most_pages: int = 1_000_000
    """Maximum number of pages: with more, the other process would need too much memory."""
    most_s: float = 30.0
    """Time limit of the other process: while it reads, SQLite's write-ahead log only grows."""
    most_of_proof_s: float = 600.0
    """Time limit if the crawl ends at a proven share, which the process computes."""
    has_time: Callable[[Load, Load], bool] = has_time
    compute: Callable[[Path, float], Awaitable[bool]] = refine_beside


USUAL = FreshRanks()


@asynccontextmanager
async def kept_fresh(
    storing: Storing,
    recorder: Recorder,
    clock: Clock,
    *,
    proves: bool = False,
    policy: FreshRanks = USUAL,
) -> AsyncIterator[None]:
    """Compute the ranks of a running crawl again and again, whenever there is time.

    With `proves`, the crawl ends at a proven share, so the ranks do not wait for spare time.
    """
    if proves:
        _note_proof(storing.store, recorder)
    if not proves and not storing.may_converge:
        yield
        return
    work = _keep_fresh(storing.store, recorder, clock, policy, proves=proves)
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_fresh(
    store: Path, recorder: Recorder, clock: Clock, policy: FreshRanks, *, proves: bool
) -> None:
    frontier, committer = recorder.frontier, recorder.committer
    known, due, load = 0, 0.0, Load.measured(clock.now())
    most_s = policy.most_of_proof_s if proves else policy.most_s
    while proves or len(frontier) <= policy.most_pages:
        await asyncio.sleep(policy.look_every_s)
        before, load = load, Load.measured(clock.now())
        last = frontier.last_seq
        has_room = committer.takes_more and (proves or policy.has_time(before, load))
        is_wanted = (proves or last >= policy.fewest_steps) and has_changed(known, last)
        if load.at < due or not has_room or not is_wanted:
            continue
        is_done = await policy.compute(store, most_s)
        if is_done and proves:
            _note_proof(store, recorder)
        known, now = last, clock.now()
        due = now + (now - load.at) / SHARE_WHILE_CRAWLING if is_done else now + AFTER_TROUBLE_S
        load = Load.measured(now)


def _note_proof(store: Path, recorder: Recorder) -> None:
    """Note the share that is proven by the ranks beside the store.

    Ranks that cannot be read prove nothing; the crawl says so when it replaces them at its end.
    """
    found = None
    with suppress(MinicrawlError), reading(store) as connection:
        row = _kept(store, connection)
        found = None if row is None else guaranteed(row, connection)
    recorder.counters[tables.GUARANTEED] = found or 0.0


def main() -> None:
    """Refine the store of the first argument: entry point of the other process."""
    os.nice(_NICE)
    refine(Path(sys.argv[1]))


# ---------------------------------------------------------------- at the end


def refine_for(store: Path, ran_s: float) -> Refined | None:
    """Compute the ranks after a run of `ran_s` seconds, in this thread."""
    ends_at = monotonic() + _limit_s(ran_s)
    return refine(store, goes_on=lambda: monotonic() < ends_at)


def _limit_s(ran_s: float) -> float:
    return max(LEAST_AT_END_S, SHARE_AT_END * ran_s)


class LastConvergence:
    """Computes the ranks when the crawl is over; in a thread, so that the loop can halt it."""

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
                if (task := asyncio.current_task()) is not None:
                    task.uncancel()


def _post(loop: asyncio.AbstractEventLoop, tell: Callable[[Event], None], event: Event) -> None:
    """Report an event in the thread of the loop."""
    loop.call_soon_threadsafe(tell, event)
