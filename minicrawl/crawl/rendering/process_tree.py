"""What a process and all that it started take of the machine, as Linux tells."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_PAGE_BYTES, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_DROP_CAPABILITY, _SET_PRIORITY = 24, 23  # PR_CAPBSET_DROP, CAP_SYS_NICE
_PARENT, _FIRST_TIME, _AFTER_TIMES = 1, 11, 15
"""Fields of /proc/PID/stat behind the name: those of time count dead children too."""


class Use(NamedTuple):
    """Bytes that no other process shares, and processor time since they began."""

    memory: int
    cpu_s: float


def descendants(of: int) -> list[int]:
    """The processes that it started, and those that they started."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
    found, new = list[int](), [of]
    while new:
        new = [child for one in new for child in children.get(one, ())]
        found += new
    return found


def use(of: int) -> Use:
    """Of the process with its descendants; the memory is that of the descendants alone."""
    tree = descendants(of)
    ticks = sum(_ticks(pid) for pid in (of, *tree))
    return Use(sum(map(_own_bytes, tree)), ticks / _TICKS)


def kill_descendants(of: int) -> None:
    """End all that it started."""
    for pid in descendants(of):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stay_behind() -> None:
    """What this process starts from now on may not put itself before others, as a browser does
    that root has started.
    """
    with suppress(OSError, AttributeError):  # elsewhere than on Linux
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _SET_PRIORITY, 0, 0, 0)


def _stat(pid: int) -> list[str]:
    """The fields behind the name; none if the process has ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return []


def _ticks(pid: int) -> int:
    return sum(map(int, _stat(pid)[_FIRST_TIME:_AFTER_TIMES]))


def _own_bytes(pid: int) -> int:
    with suppress(OSError):
        fields = (_PROC / str(pid) / "statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
    return 0
