"""What is used beside the crawl: commands that read its store and archive, and a dashboard.

Law: what fails here is noted or raised, and never passes for silence.
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

from minicrawl.dashboard.routes import TOKEN_HEADER
from tests.dashboard.servers import RunningDashboard, dashboard_of
from tests.processes import PATIENCE_S
from tests.soak.samples import Sample, sample

_INFO = ("archive", "--json")
_READERS = (_INFO, ("status",), ("top", "-n", "20"), ("archive", "--verify"), ("frontier",))
_BETWEEN_S = 1.0


@dataclass(slots=True)
class Beside:
    """What readers and the dashboard saw."""

    began: float
    reads: int = 0
    failed: list[str] = field(default_factory=list)
    archive_bytes: list[tuple[float, int]] = field(default_factory=list)
    """With the second at which they were counted."""
    events: int = 0
    dashboard: list[Sample] = field(default_factory=list)


@contextmanager
def beside(store: Path, seen: Beside) -> Iterator[None]:
    """Readers and a dashboard on a store that is there, until the block is left."""
    over = Event()
    with dashboard_of(store) as dashboard, ThreadPoolExecutor() as pool:
        both = [
            pool.submit(_read, store, seen, over),
            pool.submit(_watch, dashboard, store, seen, over),
        ]
        try:
            yield
        finally:
            over.set()
        for one in both:
            one.result()


def _read(store: Path, seen: Beside, over: Event) -> None:
    for reader in cycle(_READERS):
        command = [sys.executable, "-m", "minicrawl", *reader, "--store", str(store)]
        patience_s = 2 * PATIENCE_S
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=patience_s
        )
        seen.reads += 1
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            at_s = time.monotonic() - seen.began
            line = f"{at_s:,.0f} s: {' '.join(reader)} ended with {done.returncode}: {said}"
            print(line, file=sys.stderr)  # noqa: T201
            seen.failed.append(line)
        elif reader is _INFO:
            kept = json.loads(done.stdout)["bytes"]
            seen.archive_bytes.append((time.monotonic() - seen.began, kept))
        if over.wait(_BETWEEN_S):
            return


def _watch(dashboard: RunningDashboard, store: Path, seen: Beside, over: Event) -> None:
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
