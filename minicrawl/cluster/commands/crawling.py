"""`minicrawl crawl --cluster`: begins or joins a crawl, and shows it until it is over.

`--cluster demo` is a cluster on this machine to look at: three servers, four nodes, and the demo
web. Law: at its end only the store of the pages found remains, and after a kill -9 the folder of
temporary files.
"""

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import CrawlRequest
from minicrawl.cli.crawl.seeds import seeds_of
from minicrawl.cli.crawl.session import NotFetched
from minicrawl.cli.output import show_json
from minicrawl.cluster.access import ClusterAccess, access_of, opened
from minicrawl.cluster.beside_crawl import DEMO
from minicrawl.cluster.commands.node import FOLDER
from minicrawl.cluster.commands.nodes import facts_of
from minicrawl.cluster.gathering.kept_store import gather_cluster
from minicrawl.cluster.node.running import default_node_name, run_node
from minicrawl.cluster.node.supervisor import Tell
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.cluster.servers import (
    PROGRAM as SERVER,
    WHEEL,
    WHEEL_VERSION,
    local_servers,
    server_program,
)
from minicrawl.cluster.shared_settings import refuse_what_needs_one_machine
from minicrawl.cluster.terms import start_or_join, state_of
from minicrawl.config import Loaded
from minicrawl.config.parts.storage import DEMO_PAGES
from minicrawl.config.values.networks import without_logins
from minicrawl.demo.server import DemoServer
from minicrawl.demo.settings import demo_settings
from minicrawl.demo.web import DemoWeb
from minicrawl.errors import Interrupted
from minicrawl.store.disk.files import files_of, remove
from minicrawl.wording import as_duration, counted, rate, visible

LINE_EVERY_S = 10.0


def crawl_in_cluster(request: CrawlRequest) -> None:
    refuse_what_needs_one_machine(request.loaded.settings)  # whether or not servers can be reached
    shown = ClusterDisplay(is_quiet=request.given["quiet"])
    with ExitStack() as stack:
        named = request.given["seeds"]
        seeds = seeds_of(named, stack) if named else ()
        status = asyncio.run(_crawled(request, seeds, shown))
    shown.erase()
    show_end(request, status)


def show_end(request: CrawlRequest, status: ClusterStatus) -> None:
    """Show how the crawl has ended; raise for the exit code if it was stopped or read nothing."""
    if request.given["as_json"]:
        show_json(status)
    elif not request.given["quiet"]:
        for name, value in facts_of(status):
            click.echo(f"  {name:<16}{value}", err=True)
        url = request.loaded.settings.cluster.url or ""
        named = f"--cluster {shlex.quote(without_logins(url))}"
        where = f"--store {DEMO_STORE}" if url == DEMO else named
        commands = (f"  {PROGRAM} {name} {where}" for name in ("top --n 20", "status", "check"))
        click.echo("\n".join(("", "next steps", *commands)), err=True)
    if status.doing == "stopped":
        raise Interrupted(f"stopped; resume with: {request.resume}")
    if not status.fetched:
        raise NotFetched("nothing could be fetched")


async def _crawled(
    request: CrawlRequest, seeds: Iterable[str], shown: "ClusterDisplay"
) -> ClusterStatus:
    """Crawl with a node of this machine, or in a cluster that is started for a demo."""
    interrupted, leaving = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    loaded, shards = request.loaded, request.given["shards"]
    is_demo = loaded.settings.cluster.url == DEMO
    async with AsyncExitStack() as stack:
        if is_demo:
            pages, shards = request.given.get("demo_pages") or DEMO_PAGES, shards or DEMO_SHARDS
            demo = demo_cluster(loaded, pages, shown.say)
            access, loaded, seeds = await stack.enter_async_context(demo)
            shown.say(f"watch it with: {PROGRAM} cluster status --cluster {access.url}")
        else:
            access = access_of(loaded.settings)
        engine = await stack.enter_async_context(opened(access))
        await start_or_join(engine, loaded, seeds, shards)
        state, _ = await state_of(engine)
        watching = asyncio.ensure_future(ClusterWatch(engine).until_over(state.run, shown.show))
        waiting = asyncio.ensure_future(interrupted.wait())
        if is_demo:  # it has nodes of its own
            node: asyncio.Task[object] = asyncio.create_task(leaving.wait())
        else:
            # A node that runs as a service on this machine has the machine's name.
            crawling = run_node(
                default_node_name("-crawl"), access, loaded, FOLDER, shown.say, leaving
            )
            node = asyncio.create_task(crawling)
        try:
            await asyncio.wait((watching, waiting, node), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                shown.say("handing over the shards of this node; interrupt again to stop now")
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().remove_signal_handler(number)
                    signal.signal(number, signal.SIG_DFL)
        finally:
            leaving.set()
            await node
            waiting.cancel()
            if not watching.done():
                watching.cancel()
        if waiting.done() and not watching.done():
            if is_demo:
                raise Interrupted("demo cluster removed; nothing was kept")
            raise Interrupted(
                f"this node has left; others continue, if there are any; "
                f"rejoin with: {request.resume}"
            )
        if is_demo:
            remove(*files_of(DEMO_STORE))  # of an earlier demo
            await gather_cluster(engine, DEMO_STORE)
        return watching.result()


class ClusterDisplay:
    """Progress line of the whole cluster, on stderr; on a terminal it is updated in place."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next_line = self._began + LINE_EVERY_S
        self._has_line = False

    def show(self, status: ClusterStatus) -> None:
        if self._is_quiet:
            return
        line = f"{as_duration(time.monotonic() - self._began)}  {as_line(status)}"
        if self._is_terminal:
            self.erase()
            click.echo(line, err=True, nl=False)
            self._has_line = True
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            click.echo(line, err=True)

    def say(self, text: str) -> None:
        if not self._is_quiet:
            self.erase()
            click.echo(visible(text), err=True)

    def erase(self) -> None:
        if self._has_line:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._has_line = False


def as_line(status: ClusterStatus) -> str:
    live = [row for row in status.nodes if row.state != "silent"]
    budget = f" of {status.budget:,}" if status.budget is not None else ""
    pages, waiting = f"{status.fetched:,}{budget} pages", f"{status.waiting:,} waiting"
    parts = [pages, rate(status.pace), waiting, counted(len(live), "node")]
    if status.unheld and not status.is_over:
        parts.append(f"{counted(len(status.unheld), 'shard')} of {status.shards} held by nobody")
    if status.batches:
        parts.append(f"{counted(status.batches, 'batch', 'batches')} under way")
    return ", ".join(parts if status.doing == "running" else [*parts, status.doing])


DEMO_SERVERS, DEMO_NODES, DEMO_SHARDS = 3, 4, 8
DEMO_STORE = Path("data/demo-cluster.db")
"""Store of all pages found."""


@asynccontextmanager
async def demo_cluster(
    loaded: Loaded, pages: int, emit: Tell
) -> AsyncIterator[tuple[ClusterAccess, Loaded, list[str]]]:
    """Start servers and nodes, which wait for the crawl of a web of `pages` pages.

    Yield access to the cluster, and settings and seeds of the crawl to begin in it.
    """

    def say(name: str, text: str) -> None:
        emit(f"{name}: {text}")

    web, stopped = DemoWeb(pages), asyncio.Event()
    with TemporaryDirectory(prefix="minicrawl-cluster-") as folder, DemoServer(web) as server:
        settings = demo_settings(loaded, pages, server.address)
        async with local_servers(Path(folder) / "servers", DEMO_SERVERS) as servers:
            if WHEEL in (server_program() or ""):
                emit(f"{SERVER} is that of {WHEEL_VERSION}, for demos and tests only")
            access = ClusterAccess(servers.url)
            names = [f"demo-{number}" for number in range(1, DEMO_NODES + 1)]
            nodes = [
                asyncio.create_task(
                    run_node(
                        name, access, settings, Path(folder) / name, partial(say, name), stopped
                    )
                )
                for name in names
            ]
            try:
                yield access, settings, list(web.seeds)
            finally:
                stopped.set()
                await asyncio.gather(*nodes)
