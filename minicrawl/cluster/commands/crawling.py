"""`minicrawl crawl --cluster`: start or join a crawl as a node, and show its progress."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from typing import NamedTuple

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.crawl_session import NotFetched
from minicrawl.cli.output import show_json
from minicrawl.cluster.access import ClusterAccess, access_of, opened
from minicrawl.cluster.commands.gather import folder_of
from minicrawl.cluster.commands.nodes import FOLDER
from minicrawl.cluster.commands.status import facts_of
from minicrawl.cluster.node.running import NodePlace, run_node, usual_name
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.cluster.servers import SHARDS, STORE, demo_cluster, keep_what_was_found
from minicrawl.cluster.terms import begin_or_join, settings_of_node, state_of, workers_of_node
from minicrawl.cluster.views import ClusterViews, LiveCluster
from minicrawl.config import Cluster, Loaded
from minicrawl.config.values import without_login
from minicrawl.dashboard.serving import Place, serve_views
from minicrawl.errors import Interrupted
from minicrawl.export.cells import visible
from minicrawl.wording import as_duration, counted, rate

DEMO = "demo"
LINE_EVERY_S = 10.0


class ClusterRun(NamedTuple):
    """Options of `crawl --cluster`."""

    loaded: Loaded
    seeds: Iterable[str]
    shards: int | None
    demo_pages: int
    resume: str
    is_quiet: bool
    as_json: bool


def crawl_in_cluster(run: ClusterRun) -> None:
    """Crawl until the whole cluster has finished."""
    shown = ClusterDisplay(is_quiet=run.is_quiet)
    found = asyncio.run(_crawled(run, shown))
    shown.end()
    if run.as_json:
        show_json(found.as_json())
    elif not run.is_quiet:
        for name, value in facts_of(found):
            click.echo(f"  {name:<12}{value}", err=True)
        click.echo(_next_commands(run.loaded), err=True)
    if found.doing == "stopped":
        raise Interrupted(f"stopped; resume with: {run.resume}")
    if not found.fetched:
        raise NotFetched("nothing could be fetched")


async def _crawled(run: ClusterRun, shown: ClusterDisplay) -> ClusterStatus:
    interrupted, leaving = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    async with _cluster(run, shown) as where, opened(where.access) as engine:
        await begin_or_join(engine, where.loaded, where.seeds, where.shards)
        state, _ = await state_of(engine)
        watching = asyncio.ensure_future(ClusterWatch(engine).until_over(state.run, shown.show))
        waiting = asyncio.ensure_future(interrupted.wait())
        node = asyncio.ensure_future(_be_a_node(where, leaving, shown))
        try:
            await asyncio.wait((watching, waiting, node), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                shown.say("this node gives its shards up; interrupt again to end at once")
                _let_signals_kill()
        finally:
            leaving.set()
            await node
            waiting.cancel()
            if not watching.done():
                watching.cancel()
        if waiting.done() and not watching.done():
            raise Interrupted(_how_to_go_on(run))
        if where.is_demo:
            await keep_what_was_found(engine)
        return watching.result()


def _next_commands(loaded: Loaded) -> str:
    url = loaded.settings.cluster.url or ""
    where = f"--store {STORE}" if url == DEMO else f"--cluster {shlex.quote(without_login(url))}"
    commands = (f"  {PROGRAM} {name} {where}" for name in ("top --n 20", "status", "check"))
    return "\n".join(("", "next steps", *commands))


def _how_to_go_on(run: ClusterRun) -> str:
    if run.loaded.settings.cluster.url == DEMO:
        return "the demo cluster is gone, and kept nothing"
    return f"other nodes go on; join them again with: {run.resume}"


def _let_signals_kill() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)


class CrawlPlace(NamedTuple):
    """Cluster and its crawl."""

    access: ClusterAccess
    loaded: Loaded
    seeds: Iterable[str]
    shards: int | None
    is_demo: bool


@asynccontextmanager
async def _cluster(run: ClusterRun, shown: ClusterDisplay) -> AsyncIterator[CrawlPlace]:
    """Yield access to the named cluster, or to one started for a demo."""
    cluster = run.loaded.settings.cluster
    if cluster.url != DEMO:
        yield CrawlPlace(access_of(cluster), run.loaded, run.seeds, run.shards, is_demo=False)
        return
    async with demo_cluster(run.loaded, run.demo_pages, shown.say) as (access, loaded, seeds):
        shown.say(f"watch it with: {PROGRAM} cluster status --cluster {access.url}")
        yield CrawlPlace(access, loaded, seeds, run.shards or SHARDS, is_demo=True)


async def _be_a_node(where: CrawlPlace, leaving: asyncio.Event, shown: ClusterDisplay) -> None:
    """Run a node on this machine, except for a demo, which has its own."""
    if where.is_demo:
        await leaving.wait()
        return
    workers = workers_of_node(where.loaded)
    place = NodePlace(name=usual_name(), folder=FOLDER, workers=workers)
    own = settings_of_node(where.loaded)
    await run_node(where.access, place, own, shown.say, leaving)


# ---------------------------------------------------------------- display


class ClusterDisplay:
    """Progress line of the whole cluster, on stderr: updated in place on a terminal, elsewhere a
    new line from time to time.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next_line = self._began + LINE_EVERY_S
        self._has_line = False

    def show(self, found: ClusterStatus) -> None:
        """Show the current status."""
        if self._is_quiet:
            return
        line = f"{as_duration(time.monotonic() - self._began)}  {as_line(found)}"
        if self._is_terminal:
            self._erase()
            click.echo(line, err=True, nl=False)
            self._has_line = True
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            click.echo(line, err=True)

    def say(self, text: str) -> None:
        """Show a message."""
        if not self._is_quiet:
            self._erase()
            click.echo(visible(text), err=True)

    def end(self) -> None:
        """End the display."""
        self._erase()

    def _erase(self) -> None:
        if self._has_line:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._has_line = False


def as_line(found: ClusterStatus) -> str:
    """Format the status of the whole cluster in one line."""
    return ", ".join(_parts(found))


def _parts(found: ClusterStatus) -> Iterator[str]:
    live = [row for row in found.nodes if row.state != "silent"]
    budget = f" of {found.budget:,}" if found.budget is not None else ""
    yield f"{found.fetched:,}{budget} pages"
    yield rate(found.pace)
    yield f"{found.waiting:,} waiting"
    yield counted(len(live), "node")
    if found.unheld:
        yield f"{counted(len(found.unheld), 'shard')} of {found.shards} held by nobody"
    if found.batches:
        yield f"{counted(found.batches, 'batch', 'batches')} under way"
    if found.doing != "running":
        yield found.doing


# ================================================================ dashboard
#
# `minicrawl dashboard --cluster`: all nodes of a cluster in the browser.


def serve_cluster(cluster: Cluster, place: Place) -> None:
    """Serve the dashboard of a cluster until the process is stopped."""
    folder = folder_of(cluster)
    with closing(LiveCluster(access_of(cluster))) as live:
        views = ClusterViews(without_login(cluster.url or ""), live, folder)
        serve_views(views, folder / "cluster", place, click.echo)
