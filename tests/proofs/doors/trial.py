"""One attack on one server, and what our client sees meanwhile."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from pathlib import Path

from minicrawl.cli import main
from tests.processes import killed_on_failure
from tests.proofs.doors.servers import Server

PAUSE_S = 0.5
"""Pause between two requests of our client, which has two a second at the search."""
GROWTH_BYTES = 64 << 20
SERVED_S = 1.0
"""Time within which our client is to be answered, without that in which it or the server waits for
a processor: the machine may have other work.
"""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What our client and the server saw during one attack."""

    requests: int
    failures: tuple[str, ...]
    slowest_s: float
    growth_bytes: int
    messages: bytes

    def broken(self, *, in_time: bool = False) -> list[str]:
        """Return the limits that were exceeded; that of the time only if `in_time`."""
        limits = {
            "answers": self.requests > 0 and not self.failures,
            "memory": self.growth_bytes <= GROWTH_BYTES,
            "messages": not self.messages,
            "time": not in_time or self.slowest_s <= SERVED_S,
        }
        return [name for name, holds in limits.items() if not holds]


def filled_store(folder: Path) -> Path:
    """Crawl and index the demo web."""
    store = folder / "crawl.db"
    arguments = ["crawl", "--demo", "--demo-pages", "100", "-q", "--index", "--store", str(store)]
    assert main(arguments) == 0
    return store


@contextmanager
def attacked(port: int, name: str) -> Iterator[None]:
    """Attack a server inside the block, once the first connections are there."""
    command = [sys.executable, "-m", "tests.proofs.doors.crowds", str(port), name]
    with killed_on_failure(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        assert process.poll() is None
        process.kill()


def _queued_s(pids: Iterable[int]) -> dict[Path, float]:
    """Return how long each thread of these processes has waited for a processor."""
    waits = dict[Path, float]()
    for thread in chain.from_iterable(Path(f"/proc/{pid}/task").iterdir() for pid in pids):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            waits[thread] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return waits


def measured(server: Server, seconds: float) -> Figures:
    """Ask the server again and again, and return what came."""
    ends, memory, said = time.monotonic() + seconds, server.memory, len(server.messages)
    times, failures, most = list[float](), list[str](), memory
    processes = os.getpid(), server.serving_pid
    while not times or time.monotonic() < ends:
        began, queued = time.monotonic(), _queued_s(processes)
        try:
            status = server.ask()
        except OSError as error:
            failures.append(type(error).__name__)
        else:
            failures += [] if status == HTTPStatus.OK else [str(status)]
        taken_s = time.monotonic() - began
        waits = (now_s - queued.get(one, 0.0) for one, now_s in _queued_s(processes).items())
        times.append(max(taken_s - max(waits), 0.0))
        most = max(most, server.memory)
        time.sleep(PAUSE_S)
    return Figures(
        requests=len(times),
        failures=tuple(failures),
        slowest_s=max(times),
        growth_bytes=most - memory,
        messages=server.messages[said:],
    )
