"""`crawl --demo`: crawl a small web that this process serves itself."""

import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import click

from minicrawl.cli.companions import Companion, CrawlRequest, OwnWeb
from minicrawl.config.parts.storage import DEMO_PAGES, FEWEST_DEMO_PAGES
from minicrawl.errors import MissingStoreError


class Demo(Companion):
    """The demo web. Only flags count as settings, so that every demo is alike."""

    options = (
        click.option("--demo", is_flag=True, help="Crawl a small local demo web."),
        click.option(
            "--demo-pages",
            type=click.IntRange(min=FEWEST_DEMO_PAGES),
            metavar="N",
            help=f"Number of pages of the demo web.  [default: {DEMO_PAGES}]",
        ),
    )

    def refuse(self, request: CrawlRequest) -> None:
        """Refuse seeds, a size without a demo, and a store of a demo without it."""
        given, cluster = request.given, request.loaded.settings.cluster.url
        store = request.loaded.settings.storing.store
        if given["demo"] and given["seeds"]:
            raise click.UsageError("--demo has its own seeds: leave out SEEDS")
        if given["demo_pages"] and not given["demo"] and cluster != "demo":
            raise click.UsageError("--demo-pages needs --demo")
        if not (given["demo"] or given["fresh"] or cluster) and _is_of_a_demo(store):
            raise click.UsageError(f"{store} is of the demo web: only `crawl --demo` reads it")

    def own_web(self, request: CrawlRequest) -> AbstractContextManager[OwnWeb] | None:
        if not request.given["demo"]:
            return None
        return _served(request, request.given["demo_pages"] or DEMO_PAGES)


def _is_of_a_demo(store: Path) -> bool:
    from minicrawl.store import tables
    from minicrawl.store.disk.trouble import reporting_damage
    from minicrawl.store.reader import reading

    with suppress(MissingStoreError), reading(store) as connection, reporting_damage(store):
        command = tables.counters(connection).get(tables.COMMAND)
        return "--demo" in shlex.split(str(command or ""))
    return False


@contextmanager
def _served(request: CrawlRequest, pages: int) -> Iterator[OwnWeb]:
    from minicrawl.demo.server import DemoServer
    from minicrawl.demo.settings import demo_settings
    from minicrawl.demo.web import DemoWeb

    web = DemoWeb(pages)
    with DemoServer(web) as server:
        yield OwnWeb(web.seeds, demo_settings(request.loaded, pages, server.address))
