"""Limits of memory and of time for processes that parse untrusted data.

Laws: a process that parses untrusted data and needs more memory than its limit ends, or its task
fails; the machine is not affected. A limit of time counts processor time of the child, which the
kernel ends. The clock on the wall would end it early on a busy machine, where the same page would
have another text. It counts only for a child that sleeps, as a lock may let it for ever.
"""

import resource
import signal
from math import inf
from pathlib import Path

from minicrawl.memory.measures import FIRST_TIME, PROC, TICKS, stat

MOST_BYTES = 1 << 30
"""Limit of address space: 100 times the largest body; a PDF that needs more is a bomb."""


def limit_memory(most_bytes: int = MOST_BYTES) -> None:
    """Limit the memory of this process. A lower limit of the system is kept."""
    lower = [
        limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY
    ]
    most = min(most_bytes, *lower) if lower else most_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    # A parser that dies of a bomb would otherwise leave a core file as large as its memory.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


PATIENCE_S = 10.0
"""Time after which it is seen whether a silent child sleeps; it is given up if it still does."""
_LEAST_S = 1e-6
_MOST_AWAKE = 0.01
"""Share of the time that a sleeping child may use, such as one that waits in a loop."""


def limit_processor_time(more_s: float | None) -> None:
    """End this process by SIGPROF when it has used so much more time; None lifts the limit.

    There is no handler: one of Python would wait until a parser in C returns.
    """
    signal.setitimer(signal.ITIMER_PROF, 0 if more_s is None else max(more_s, _LEAST_S))


def why_ended(returncode: int | None, limit_s: float) -> str:
    """Return why a child with a limit did not answer; its parent has killed one that slept."""
    if returncode == -signal.SIGPROF:
        return f"not parsed within {limit_s:g} s of processor time"
    return "the parser sleeps" if returncode == -signal.SIGKILL else "the parser process ended"


class SleepWatch:
    """Tells whether a process or a thread sleeps, for a caller that asks at intervals."""

    def __init__(self) -> None:
        self.used_s = -inf
        """Processor time up to the last call."""

    def sleeps(self, pid: int, interval_s: float, proc: Path | None = None) -> bool:
        """Return True if it sleeps, and has done next to nothing since the last call.

        It does not sleep if it waits for a processor or a disk. Where the system has no /proc, it
        does.
        """
        before_s, fields = self.used_s, stat(proc or PROC, pid)
        self.used_s = sum(map(int, fields[FIRST_TIME : FIRST_TIME + 2])) / TICKS
        idle = self.used_s - before_s <= _MOST_AWAKE * interval_s
        return not fields or (idle and fields[0] == "S")
