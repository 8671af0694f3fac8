"""Child processes: their interpreter, limits and allocator settings, and what processes take.

The module stays small, because light processes import it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import NamedTuple

# ================================================================ interpreter
#
# Law: a child ends with the process that started it, even if that is killed. Otherwise the orphan
# would go on with what nobody waits for, and hold locks that the next command needs. A closed pipe
# is not enough: a child that parses or indexes reads it only when it has finished.

OWN_PYTHON = (sys.executable, "-P")
"""Command that runs Python in another process. Without -P, a module in the current folder, which
may be a stranger's, would be imported in place of an installed one.
"""
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def child_command(code: str, *arguments: str, end_by: int = signal.SIGKILL) -> tuple[str, ...]:
    """Return the command of a child that runs Python code and ends with the calling thread.

    `end_by` is the signal that ends it.
    """
    ending = f"from minicrawl.memory import end_with; end_with({os.getpid()}, {end_by:d})"
    return (*OWN_PYTHON, "-c", f"{ending}\n{code}", *arguments)


def end_with(parent: int, end_by: int) -> None:
    """Have the system send this process a signal when its parent ends."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, int(end_by))
    if os.getppid() != parent:  # it ended before the call took effect
        os._exit(1)


# ================================================================ limit
#
# Laws: a process that parses untrusted data and needs more memory than its limit ends, or its task
# fails; the machine is not affected. A limit of time counts processor time of the child, which the
# kernel ends. The clock on the wall would end it early on a busy machine, where the same page would
# have another text. It counts only for a child that sleeps, as a lock may let it for ever.

MOST_BYTES = 1 << 30
"""Limit of address space: 100 times the largest body; a PDF that needs more is a bomb."""


def limit_memory(most_bytes: int = MOST_BYTES) -> None:
    """Limit the memory of this process. A lower limit of the system is kept."""
    lower = [one for one in resource.getrlimit(resource.RLIMIT_AS) if one != resource.RLIM_INFINITY]
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
        before_s, fields = self.used_s, _stat(proc or _PROC, pid)
        self.used_s = sum(map(int, fields[_FIRST_TIME : _FIRST_TIME + 2])) / _TICKS
        idle = self.used_s - before_s <= _MOST_AWAKE * interval_s
        return not fields or (idle and fields[0] == "S")


# ================================================================ allocator
#
# glibc adapts to freed memory: after a while it takes large arrays from the heap that all small
# objects share. Arrays that grow and move leave holes there, in the end a third of all memory, and
# so do threads that each have a heap of their own. Both can be switched off, but not on again, so
# only a command whose process does nothing but crawl does so.

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8  # of malloc.h
_LARGE = 128 * 1024
_FREE_AT_MOST, _TAKEN_AT_ONCE = 4 * 1024 * 1024, 256 * 1024


def mmap_large_arrays() -> None:
    """Give large arrays pages of their own from now on. Nothing changes without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_ARENA_MAX, 1)
        mallopt(_TRIM_THRESHOLD, _FREE_AT_MOST)
        mallopt(_TOP_PAD, _TAKEN_AT_ONCE)


# ================================================================ garbage collector
#
# Python looks for reference cycles among all objects after every few hundred new ones. A crawl
# makes hardly any, and a search stalled it for 200 ms at a million URLs: a fifth of the time of a
# settlement. So searches are rare while a crawl runs, and connections must leave no cycles. In a
# worker nearly all objects are those of loaded modules: once they are exempted, a search is quick.
# A search before exempting them was rejected: modules make hardly any cycles, and it would take
# longer than to load most of them.

GC_THRESHOLDS = 2_000, 10, 5_000
"""Thresholds: new objects, searches among young objects, searches among older ones."""
_IN_A_WORKER = 2_000, 5, 5


class RareGarbageCollection:
    """Setting that makes searches for cycles rare while a crawl runs in this process."""

    def __init__(self) -> None:
        self._crawls = 0
        self._former = gc.get_threshold()

    @contextmanager
    def during_a_crawl(self) -> Iterator[None]:
        """Make searches rare.

        The last crawl that ends restores the thresholds that the first one found.
        """
        if not self._crawls:
            self._former = gc.get_threshold()
            gc.set_threshold(*GC_THRESHOLDS)
        self._crawls += 1
        try:
            yield
        finally:
            self._crawls -= 1
            if not self._crawls:
                gc.set_threshold(*self._former)


RARE_GARBAGE_COLLECTION = RareGarbageCollection()
"""The instance of this process."""


def freeze_loaded_objects() -> None:
    """Exempt the present objects from the search for cycles: they live as long as the process."""
    gc.freeze()
    gc.set_threshold(*_IN_A_WORKER)


# ================================================================ measures
#
# Memory and processor time, as Linux reports them in /proc.

_PROC = Path("/proc")
_PAGE_BYTES, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_PARENT, _FIRST_TIME, _AFTER_TIMES = 1, 11, 15
"""Fields of /proc/PID/stat behind the name. Those of time include dead children."""


def resident_bytes(proc: Path = _PROC) -> int:
    """Return the resident memory of this process in bytes: now on Linux, the peak elsewhere."""
    try:
        pages = int((proc / "self" / "statm").read_text(encoding="ascii").split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * _PAGE_BYTES


class ResourceUsage(NamedTuple):
    """Unshared memory in bytes, and processor time in seconds so far."""

    memory: int
    cpu_s: float


def resource_usage(of: int, proc: Path = _PROC) -> ResourceUsage:
    """Return the time of a process and its descendants, and the memory of the descendants."""
    tree = descendants(of, proc)
    ticks = sum(sum(map(int, _stat(proc, pid)[_FIRST_TIME:_AFTER_TIMES])) for pid in (of, *tree))
    return ResourceUsage(sum(_unshared_bytes(proc, pid) for pid in tree), ticks / _TICKS)


def descendants(of: int, proc: Path = _PROC) -> list[int]:
    """Return the descendants of a process; none where the system has no /proc."""
    children: dict[int, list[int]] = {}
    for folder in proc.iterdir() if proc.is_dir() else ():
        if folder.name.isdecimal() and (fields := _stat(proc, int(folder.name))):
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    found, new = list[int](), [of]
    while new:
        new = [child for one in new for child in children.get(one, ())]
        found += new
    return found


def kill_descendants(of: int, proc: Path = _PROC) -> None:
    """Kill the descendants of a process."""
    for pid in descendants(of, proc):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stat(proc: Path, pid: int) -> list[str]:
    """Return the fields behind the name, or none if the process has ended."""
    with suppress(OSError):
        return (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def _unshared_bytes(proc: Path, pid: int) -> int:
    with suppress(OSError):
        fields = (proc / str(pid) / "statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
    return 0
