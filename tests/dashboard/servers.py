"""A dashboard as a process of its own, and browsers."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S, killed_on_failure

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE_MS = 1000 * PATIENCE_S
needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM}")


class RunningDashboard:
    """The process and the printed address, with the token."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address

    @property
    def base(self) -> str:
        return self.address.partition("#")[0]

    @property
    def token(self) -> str:
        return self.address.partition("#")[2]


def command(store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "minicrawl", "dashboard", "--store", str(store), *options]


@contextmanager
def dashboard_of_cluster(url: str) -> Iterator[RunningDashboard]:
    """A dashboard of the cluster; it is ended when the block is left."""
    wanted = [sys.executable, "-m", "minicrawl", "dashboard", "--cluster", url, "--port", "0"]
    with _announced(wanted) as running:
        yield running


@contextmanager
def dashboard_of(store: Path, *options: str) -> Iterator[RunningDashboard]:
    """A dashboard of the store; it is ended when the block is left."""
    with _announced(command(store, *(options or ("--port", "0")))) as running:
        yield running


@contextmanager
def _announced(wanted: Sequence[str]) -> Iterator[RunningDashboard]:
    with killed_on_failure(subprocess.Popen(wanted, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield RunningDashboard(process, address)
        process.terminate()


@contextmanager
def crawl_of_demo(store: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A crawl of the demo web; it is killed when the block is left, if it has not ended."""
    given = (*options, "--store", str(store))
    with killed_on_failure(
        subprocess.Popen(
            (sys.executable, "-m", "minicrawl", "crawl", "--demo", "--quiet", *given),
            stdout=subprocess.DEVNULL,
            text=True,
        )
    ) as process:
        yield process
        process.kill()


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something outside is so, a moment at a time, but not for ever."""
    ends_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends_at, what
        time.sleep(0.05)
