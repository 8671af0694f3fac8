"""Companions of the crawl: commands that read its store and archive, and a dashboard.

Law: every failure of a companion is logged or raised.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from threading import Event
from urllib.request import Request, urlopen

from minicrawl.dashboard.access import TOKEN_HEADER
from tests.dashboard.servers import RunningDashboard, dashboard_of
from tests.processes import PATIENCE_S
from tests.proofs.soak.samples import Sample, sample

_INFO = ("archive", "--json")
_READERS = (_INFO, ("status",), ("top", "-n", "20"), ("archive", "--verify"), ("frontier",))
_BETWEEN_S = 1.0


@dataclass(slots=True)
class CompanionLog:
    """Results of the readers and the dashboard."""

    began: float
    reads: int = 0
    failed: list[str] = field(default_factory=list)
    archive_bytes: list[tuple[float, int]] = field(default_factory=list)
    """Pairs of a time, in seconds after the beginning, and a size."""
    events: int = 0
    dashboard: list[Sample] = field(default_factory=list)


@contextmanager
def companions(store: Path, seen: CompanionLog) -> Iterator[None]:
    """Run readers and a dashboard on an existing store until the block ends."""
    over = Event()
    with dashboard_of(store) as dashboard, ThreadPoolExecutor() as pool:
        reading = pool.submit(_read, store, seen, over)
        watching = pool.submit(_watch, dashboard, store, seen, over)
        try:
            yield
        finally:
            over.set()
        reading.result()
        watching.result()


def _read(store: Path, seen: CompanionLog, over: Event) -> None:
    for reader in cycle(_READERS):
        command = [sys.executable, "-m", "minicrawl", *reader, "--store", str(store)]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=2 * PATIENCE_S
        )
        seen.reads += 1
        if done.returncode:
            error = (done.stderr or done.stdout).strip()
            at_s = time.monotonic() - seen.began
            line = f"{at_s:,.0f} s: {' '.join(reader)} exited with {done.returncode}: {error}"
            print(line, file=sys.stderr)  # noqa: T201
            seen.failed.append(line)
        elif reader is _INFO:
            kept = json.loads(done.stdout)["bytes"]
            seen.archive_bytes.append((time.monotonic() - seen.began, kept))
        if over.wait(_BETWEEN_S):
            return


def _watch(dashboard: RunningDashboard, store: Path, seen: CompanionLog, over: Event) -> None:
    asked = Request(f"{dashboard.base}events", headers={TOKEN_HEADER: dashboard.token})
    with urlopen(asked, timeout=PATIENCE_S) as answer:
        for line in answer:
            if line.startswith(b"data:"):
                seen.events += 1
                at_s = time.monotonic() - seen.began
                seen.dashboard.append(sample(at_s, dashboard.process.pid, store))
            if over.is_set() and seen.events:
                return
    seen.failed.append("the dashboard ended its events")
