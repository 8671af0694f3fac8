"""`crawl --dashboard` and `crawl --metrics`.

The dashboard of a crawl is a process of its own, which also serves the metrics.
"""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import Companion, CrawlRequest
from minicrawl.dashboard.commands import LAST_PORT
from minicrawl.errors import Interrupted, UsageError
from minicrawl.memory.child_interpreter import OWN_PYTHON

if TYPE_CHECKING:
    from minicrawl.app import Crawl


def _address_and_port(place: str) -> tuple[str, str]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise click.BadParameter(f"{place!r}: use ADDRESS:PORT, such as 127.0.0.1:9464")
    return host, port


class DashboardBeside(Companion):
    options = (
        click.option(
            "--dashboard",
            "has_dashboard",
            is_flag=True,
            help="Start a dashboard for this crawl and print its address. It runs until Ctrl-C.",
        ),
        click.option(
            "--metrics",
            metavar="ADDRESS:PORT",
            type=_address_and_port,
            help="Serve metrics for Prometheus at http://ADDRESS:PORT/metrics while the crawl "
            "runs, and print the token that they need.",
        ),
    )

    def refuse(self, request: CrawlRequest) -> None:
        """Refuse --metrics with --dashboard, which serves them as well."""
        if request.given["has_dashboard"] and request.given["metrics"]:
            raise click.UsageError("--dashboard serves /metrics as well: leave out --metrics")

    def samples_graph(self, request: CrawlRequest) -> bool:
        return bool(request.given["has_dashboard"])

    def beside(self, crawl: "Crawl", request: CrawlRequest) -> AbstractContextManager[None]:
        """Show the crawl until the user ends the dashboard, or serve metrics while it runs."""
        place, is_shown = request.given["metrics"], request.given["has_dashboard"]
        return _served(crawl, place) if place or is_shown else nullcontext()


@contextmanager
def _served(crawl: "Crawl", metrics: tuple[str, str] | None) -> Iterator[None]:
    """Run a dashboard in its own process, which signals of the terminal do not reach.

    It stays after the crawl, unless it serves metrics only, or a signal ended the crawl.
    """
    place = ("--host", metrics[0], "--port", metrics[1]) if metrics else ()
    with _process(str(crawl.settings.storing.store), *place) as (process, address):
        if metrics:
            origin, _, token = address.partition("/#")
            click.echo(f"metrics: {origin}/metrics, with Authorization: Bearer {token}", err=True)
            yield
            return
        click.echo(f"dashboard: {address}", err=True)
        stops = list[bool]()  # one for each event that stops the crawl through its control socket
        crawl.subscribe(lambda event: stops.extend([True] * getattr(event, "is_stopping", False)))
        try:
            yield
        except Interrupted:
            if stops:
                _wait(process, address)
            raise
        _wait(process, address)


@contextmanager
def _process(store: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = (*OWN_PYTHON, "-m", "minicrawl", "dashboard", "--auto-end", "--store", store)
    process = subprocess.Popen(
        [*command, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        # The first line is the address, or the command's one-line error.
        address = process.stdout.readline().strip()
        if not address.startswith("http"):
            raise UsageError(address.removeprefix(f"{PROGRAM}: ") or "the dashboard did not start")
        yield process, address
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _wait(process: subprocess.Popen[str], address: str) -> None:
    with suppress(KeyboardInterrupt):
        click.echo(f"the dashboard stays at {address}; Ctrl-C ends it", err=True)
        process.wait()
