"""Dashboards and demo crawls as processes of their own."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from minicrawl import MinicrawlError
from minicrawl.control import ControlRequest, Reply, Verb, ask
from minicrawl.crawl.rendering.pool import NAMES
from tests.processes import PATIENCE_S, killed_on_failure

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE_MS = 1000 * PATIENCE_S
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=f"no {NAMES[0]}")


class RunningDashboard:
    """Process of a dashboard, and the address that it printed, with the token."""

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
    """Run a dashboard of the cluster inside the block."""
    wanted = [sys.executable, "-m", "minicrawl", "dashboard", "--cluster", url, "--port", "0"]
    with announced(wanted) as running:
        yield running


@contextmanager
def dashboard_of(store: Path, *options: str) -> Iterator[RunningDashboard]:
    """Run a dashboard of the store inside the block, by default at any port."""
    with announced(command(store, *(options or ("--port", "0")))) as running:
        yield running


@contextmanager
def announced(
    wanted: Sequence[str], *, start_new_session: bool = False
) -> Iterator[RunningDashboard]:
    """Run this command inside the block, from the moment when it has printed its address."""
    with killed_on_failure(
        subprocess.Popen(
            wanted, stdout=subprocess.PIPE, text=True, start_new_session=start_new_session
        )
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield RunningDashboard(process, address)
        process.terminate()


@contextmanager
def crawl_of_demo(store: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a crawl of the demo web. It is killed at the end of the block if it still runs."""
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


def crawl_state(store: Path) -> Reply | None:
    """Return what the running crawl of the store says of itself, or None without one."""
    try:
        return ask(store, ControlRequest(verb=Verb.SHOW))
    except MinicrawlError:
        return None


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until a condition outside this process holds; fail with `what` after a minute."""
    ends_at = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends_at, what
        time.sleep(0.05)
