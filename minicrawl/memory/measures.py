"""Memory and processor time, as Linux reports them in /proc."""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
PAGE_BYTES, TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_PARENT, FIRST_TIME, _AFTER_TIMES, RESIDENT = 1, 11, 15, 21
"""Fields of /proc/PID/stat behind the name: parent, times up to those of dead children, memory."""

_AWAKE = (["R"], ["D"])
"""States of threads that run or wait for a processor, or for a disk."""


def resident_bytes(proc: Path = PROC) -> int:
    """Return the resident memory of this process in bytes: now on Linux, the peak elsewhere."""
    try:
        pages = int((proc / "self" / "statm").read_text(encoding="ascii").split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * PAGE_BYTES


class ResourceUsage(NamedTuple):
    """Unshared memory in bytes, and processor time in seconds so far."""

    memory: int
    cpu_s: float


def resource_usage(of: int, proc: Path = PROC) -> ResourceUsage:
    """Return the time of a process and its descendants, and the memory of the descendants."""
    tree = descendants(of, proc)
    ticks = sum(sum(map(int, stat(proc, pid)[FIRST_TIME:_AFTER_TIMES])) for pid in (of, *tree))
    memory = 0
    for pid in tree:
        with suppress(OSError):
            fields = (proc / str(pid) / "statm").read_text().split()
            memory += (int(fields[1]) - int(fields[2])) * PAGE_BYTES  # without shared pages
    return ResourceUsage(memory, ticks / TICKS)


def descendants(of: int, proc: Path = PROC) -> list[int]:
    """Return the descendants of a process; none where the system has no /proc."""
    children: dict[int, list[int]] = {}
    for folder in proc.iterdir() if proc.is_dir() else ():
        if folder.name.isdecimal() and (fields := stat(proc, int(folder.name))):
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    processes, new = list[int](), [of]
    while new:
        new = [child for parent in new for child in children.get(parent, ())]
        processes += new
    return processes


def are_asleep(of: int, proc: Path = PROC) -> bool:
    """Return whether no thread of the descendants runs, or waits for a processor or a disk."""
    for pid in descendants(of, proc):
        with suppress(OSError):
            threads = proc / str(pid) / "task"
            if any(stat(threads, int(each.name))[:1] in _AWAKE for each in threads.iterdir()):
                return False
    return True


def kill_descendants(of: int, proc: Path = PROC) -> None:
    for pid in descendants(of, proc):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stat(proc: Path, pid: int) -> list[str]:
    """Return the fields behind the name, or none if the process has ended."""
    with suppress(OSError):
        return (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return []
