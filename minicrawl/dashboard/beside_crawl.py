"""`crawl --dashboard`: a dashboard beside a crawl, in its own process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import Companion, CrawlRequest
from minicrawl.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.crawl.events import Event


class DashboardBeside(Companion):
    """Dashboard of a crawl that begins."""

    options = (
        click.option(
            "--dashboard",
            "has_dashboard",
            is_flag=True,
            help="Start a dashboard for this crawl and print its address. It runs until Ctrl-C.",
        ),
    )

    def samples_graph(self, asked: CrawlRequest) -> bool:
        """Sample the graph for the curves of the page."""
        return bool(asked.given["has_dashboard"])

    def beside(self, crawl: "Crawl", asked: CrawlRequest) -> AbstractContextManager[None]:
        """Show the crawl until the user ends the dashboard."""
        return _dashboard_beside(crawl) if asked.given["has_dashboard"] else nullcontext()


@contextmanager
def _dashboard_beside(crawl: "Crawl") -> Iterator[None]:
    """Run a dashboard in its own process. It stays after the crawl, unless that was interrupted.

    Signals of the terminal do not reach the process.
    """
    with _process(str(crawl.settings.storing.store)) as (process, address):
        stopped = [False]
        crawl.subscribe(lambda event: _hear(event, stopped))
        try:
            yield
        except Interrupted:
            if stopped[0]:
                _wait(process, address)
            raise
        _wait(process, address)


def _hear(event: "Event", stopped: list[bool]) -> None:
    """Note whether the crawl is stopped from outside."""
    stopped[0] |= getattr(event, "is_stopping", False)


@contextmanager
def _process(store: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "minicrawl", "dashboard", "--auto-end", "--store", store],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address.startswith("http"):
            raise UsageError(address.removeprefix(f"{PROGRAM}: ") or "the dashboard did not start")
        click.echo(f"dashboard: {address}", err=True)
        yield process, address
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _wait(process: subprocess.Popen[str], address: str) -> None:
    with suppress(KeyboardInterrupt):
        click.echo(f"the dashboard stays at {address}; Ctrl-C ends it", err=True)
        process.wait()
