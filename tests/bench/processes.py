"""Time and memory of a process and its descendants.

Law: no process is left behind, even after an error.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import click

from tests.memory import memory_bytes

_POLL_S = 0.02
_LAST_WORDS = 2000  # bytes
_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM = 11, 12  # among the fields of /proc/PID/stat that follow the name
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"  # for users, modules are compiled only once


class Cost(NamedTuple):
    """Time and memory of a process. Memory is the sum of the peaks of all its processes."""

    wall_s: float
    cpu_s: float
    main_cpu_s: float
    """Time of the process alone."""
    peak_bytes: int
    exit_code: int
    last_words: str


def run(command: Sequence[str], folder: Path, is_enough: Callable[[], bool]) -> Cost:
    """Run a command in `folder`, with a terminal as stderr, until it ends or `is_enough`."""
    memory: dict[int, int] = {}
    words = b""
    began = time.perf_counter()
    with _started(command, folder) as (process, ended, terminal):
        while ended not in (ready := select.select([ended, terminal], [], [], _POLL_S)[0]):
            if terminal in ready:
                words = (words + os.read(terminal, _LAST_WORDS))[-_LAST_WORDS:]
            _note_peaks(process.pid, memory)
            if is_enough():
                process.kill()
        wall_s = time.perf_counter() - began
        main_cpu_s = cpu_s_of(process.pid)  # it has ended, but is not reaped
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        main_cpu_s=main_cpu_s,
        peak_bytes=sum(memory.values()),
        exit_code=process.returncode,
        last_words=words.decode(errors="replace"),
    )


def run_whole(command: Sequence[str], folder: Path) -> Cost:
    """Run a command that must succeed."""
    cost = run(command, folder, lambda: False)
    if cost.exit_code:
        raise click.ClickException(f"{' '.join(command)} failed\n{cost.last_words}")
    return cost


class Load:
    """Load of the machine by other processes since a moment."""

    def __init__(self) -> None:
        self._began, self._before_s = time.perf_counter(), machine_cpu_s()

    def of_others(self, own_s: float) -> str:
        """Return the cores that others used, beside `own_s` of processor time of our own."""
        others_s = machine_cpu_s() - self._before_s - own_s
        return f"{max(others_s, 0) / (time.perf_counter() - self._began):.1f}"


def as_for_users() -> dict[str, str]:
    """Return the environment without the variable that makes each start compile all modules."""
    return {name: value for name, value in os.environ.items() if name != _UNCOMPILED}


@contextmanager
def _started(
    command: Sequence[str], folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """Start a process; yield it, its pidfd, and its terminal."""
    ours, its = pty.openpty()
    with (
        closing(os.fdopen(ours, "rb", 0)),
        closing(os.fdopen(its, "wb", 0)),
        subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=its,
            env=as_for_users(),
            start_new_session=True,
        ) as process,
    ):
        ended = os.pidfd_open(process.pid)
        try:
            yield process, ended, ours
        finally:
            os.close(ended)
            if process.returncode is None:
                process.kill()


def _note_peaks(pid: int, memory: dict[int, int]) -> None:
    """Update the peaks, except of processes that were not started by a main thread."""
    with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
        memory[pid] = memory_bytes("VmHWM", pid) or memory.get(pid, 0)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            _note_peaks(int(child), memory)


def cpu_s_of(process: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS


def exit_on_sigterm() -> None:
    """Let SIGTERM raise SystemExit, so that no server is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def machine_cpu_s() -> float:
    """Return the processor time of all processes, plus the time that other machines have stolen."""
    user, nice, system, _idle, _wait, irq, softirq, stolen = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + stolen) / _TICKS
