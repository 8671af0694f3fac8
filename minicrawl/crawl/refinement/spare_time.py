"""Time that the loop of a crawl and the cores had to spare, as the kernel accounts for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

MOST_BUSY = 0.5
"""Largest share of the time since the last look that the crawl's process may have worked."""
FEWEST_SPARE = 0.5
"""Least number of cores that were idle, or busy with work of low priority only."""
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
