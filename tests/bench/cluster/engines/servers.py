"""Servers to measure, each in a folder of its own, and their processor time and memory.

Law: every process ends with the measurement, by its own id.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

import click

_POLL_S = 0.1
_PATIENCE_S = 60.0


class Absent(click.ClickException):
    """A program or a client of an engine is missing."""


class AppendClient(Protocol):
    """One writer of one log."""

    def append(self, number: int, content: bytes) -> None:
        """Append the entry with this number, from 1 on; return after the acknowledgement."""

    def compare_and_set(self, round_: int) -> None:
        """Change a key for the `round_`th time, on condition of its revision."""

    def count(self) -> int:
        """Return the number of entries."""

    def close(self) -> None:
        """Close the connection."""


class MeasuredEngine(Protocol):
    """An engine on this machine."""

    name: str
    has_keys: bool

    @property
    def pids(self) -> Sequence[int]:
        """Process ids of the servers, without their children."""

    def __enter__(self) -> Self:
        """Start the engine, and wait until it answers."""

    def __exit__(self, *error: object) -> None:
        """Stop the engine."""

    def client(self, log: int) -> AppendClient:
        """Return a writer of this log."""

    def kill(self) -> None:
        """Kill all servers with SIGKILL, and start them again."""


class OwnServer:
    """Process of a server that stays in the foreground."""

    def __init__(
        self, command: Sequence[str], folder: Path, user: str, env: dict[str, str] | None = None
    ) -> None:
        self._command, self._folder = command, folder
        self._user = user if os.getuid() == 0 else None
        self._env = {**os.environ, **(env or {})}
        self.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                env=self._env,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise Absent with the last lines of its log if the server has ended."""
        if self._process.poll() is not None:
            words = (self._folder / "log").read_text(errors="replace").splitlines()[-3:]
            raise Absent(f"{self._command[0]} ended: {'; '.join(words)}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the server and its children."""
        group = [self._process.pid, *descendants(self._process.pid)]
        with suppress(ProcessLookupError):
            self._process.send_signal(how)
        if how == signal.SIGKILL:
            for pid in group[1:]:
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def folder_of(user: str, folder: Path) -> Path:
    """Make a folder for a server that runs as this user."""
    folder.mkdir(parents=True, mode=0o700)
    if os.getuid() == 0:
        found = pwd.getpwnam(user)
        os.chown(folder, found.pw_uid, found.pw_gid)
        for parent in folder.parents:
            if parent.stat().st_uid == 0 and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o011)
    return folder


def found_program(name: str, path: str = "/usr/sbin:/usr/bin") -> str:
    found = shutil.which(name, path=path)
    if found is None:
        raise Absent(f"no {name}")
    return found


def until_it_answers(server: OwnServer, ask: Callable[[], object]) -> None:
    """Call `ask` until it raises nothing."""
    ends_at = time.monotonic() + _PATIENCE_S
    while True:
        server.check()
        try:
            ask()
        except Exception:  # each client has errors of its own
            if time.monotonic() > ends_at:
                raise
            time.sleep(_POLL_S)
        else:
            return


# ---------------------------------------------------------------- costs of processes


def descendants(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *descendants(child))]


def processor_s(pids: Iterable[int]) -> float:
    """Return the processor time of these processes and all their descendants, ended ones too."""
    return sum(_ticks(one) for pid in pids for one in (pid, *descendants(pid))) / os.sysconf(
        "SC_CLK_TCK"
    )


def memory_mb(pids: Iterable[int]) -> float:
    """Return the proportional memory of these processes and their descendants."""
    return sum(_kb(one) for pid in pids for one in (pid, *descendants(pid))) / 1000


def _ticks(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError):
        cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, cells[11:15]))
    return 0


def _kb(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError):
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return 0
