"""Keeps the importance that reports show fresh while the crawl has time.

Laws: ranks are computed apart from the crawl, whose order of reading does not change. Another
process computes them at the lowest priority, and only if the loop, the disk and a core had time to
spare just before and enough has changed. It skips a short log, whose ranks reports converge
themselves. A crawl that ends at a proven share (--until) does not wait for spare time, and skips no
log.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.crawl.refinement.converged_ranks import refine, stored_row
from minicrawl.crawl.refinement.spare_time import Load, has_time
from minicrawl.crawl.workers.supervisor import kill
from minicrawl.errors import MinicrawlError
from minicrawl.frontier.importance import MOST_STEPS
from minicrawl.memory.child_interpreter import child_command
from minicrawl.store import tables
from minicrawl.store.derived.ranks import guaranteed
from minicrawl.store.reader import reading

if TYPE_CHECKING:
    from minicrawl.config import Storing
    from minicrawl.crawl.record.recorder import Recorder
    from minicrawl.ports import Clock

SHARE_WHILE_CRAWLING = 0.25
"""Share of the time in which ranks may be computed beside a crawl."""
CHANGED = 0.02
"""Least share of new steps in the log."""
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
