"""`minicrawl crawl --cluster`: begins or joins a crawl, and shows it until it is over."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.crawl.session import NotFetched
from minicrawl.cli.output import show_json
from minicrawl.cluster.access import ClusterAccess, access_of, opened
from minicrawl.cluster.commands.node import FOLDER
from minicrawl.cluster.commands.nodes import facts_of
from minicrawl.cluster.demo import DEMO_SHARDS, DEMO_STORE, demo_cluster, save_demo_store
from minicrawl.cluster.node.running import NodeConfig, default_node_name, run_node
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.cluster.shared_settings import settings_of_node, workers_of_node
from minicrawl.cluster.terms import start_or_join, state_of
from minicrawl.config import Loaded
from minicrawl.config.values.networks import without_logins
from minicrawl.errors import Interrupted
from minicrawl.wording import as_duration, counted, rate, visible

DEMO = "demo"
LINE_EVERY_S = 10.0


class ClusterRun(NamedTuple):
    loaded: Loaded
    seeds: Iterable[str]
    shards: int | None
    demo_pages: int
    resume: str
    is_quiet: bool
    as_json: bool

    @property
    def is_demo(self) -> bool:
        """True if the cluster is started for this crawl, and removed at its end."""
        return self.loaded.settings.cluster.url == DEMO


def crawl_in_cluster(run: ClusterRun) -> None:
    shown = ClusterDisplay(is_quiet=run.is_quiet)
    status = asyncio.run(_crawled(run, shown))
    shown.end()
    show_end(run, status)


def show_end(run: ClusterRun, status: ClusterStatus) -> None:
    """Show how the crawl has ended; raise for the exit code if it was stopped or read nothing."""
    if run.as_json:
        show_json(status)
    elif not run.is_quiet:
        for name, value in facts_of(status):
            click.echo(f"  {name:<16}{value}", err=True)
        click.echo(_next_commands(run.loaded), err=True)
    if status.doing == "stopped":
        raise Interrupted(f"stopped; resume with: {run.resume}")
    if not status.fetched:
        raise NotFetched("nothing could be fetched")


async def _crawled(run: ClusterRun, shown: ClusterDisplay) -> ClusterStatus:
    interrupted, leaving = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    async with _cluster(run, shown) as (access, joined), opened(access) as engine:
        await start_or_join(engine, joined.loaded, joined.seeds, joined.shards)
        state, _ = await state_of(engine)
        watching = asyncio.ensure_future(ClusterWatch(engine).until_over(state.run, shown.show))
        waiting = asyncio.ensure_future(interrupted.wait())
        node = asyncio.ensure_future(_run_node(access, joined, leaving, shown))
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
            if run.is_demo:
                raise Interrupted("demo cluster removed; nothing was kept")
            raise Interrupted(
                f"this node has left; others continue, if there are any; rejoin with: {run.resume}"
            )
        if run.is_demo:
            await save_demo_store(engine)
        return watching.result()


def _next_commands(loaded: Loaded) -> str:
    url = loaded.settings.cluster.url or ""
    named = f"--cluster {shlex.quote(without_logins(url))}"
    where = f"--store {DEMO_STORE}" if url == DEMO else named
    commands = (f"  {PROGRAM} {name} {where}" for name in ("top --n 20", "status", "check"))
    return "\n".join(("", "next steps", *commands))


@asynccontextmanager
async def _cluster(
    run: ClusterRun, shown: ClusterDisplay
) -> AsyncIterator[tuple[ClusterAccess, ClusterRun]]:
    """Yield access to the named cluster, or to one started for a demo, and what to crawl there."""
    if not run.is_demo:
        yield access_of(run.loaded.settings), run
        return
    async with demo_cluster(run.loaded, run.demo_pages, shown.say) as (access, loaded, seeds):
        shown.say(f"watch it with: {PROGRAM} cluster status --cluster {access.url}")
        yield access, run._replace(loaded=loaded, seeds=seeds, shards=run.shards or DEMO_SHARDS)


async def _run_node(
    access: ClusterAccess, run: ClusterRun, leaving: asyncio.Event, shown: ClusterDisplay
) -> None:
    """Run a node on this machine, except for a demo, which has its own."""
    if run.is_demo:
        await leaving.wait()
        return
    workers = workers_of_node(run.loaded)
    # A node that runs as a service on this machine has the machine's name.
    place = NodeConfig(name=default_node_name("-crawl"), folder=FOLDER, workers=workers)
    await run_node(access, place, settings_of_node(run.loaded), shown.say, leaving)


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
            self._erase()
            click.echo(line, err=True, nl=False)
            self._has_line = True
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            click.echo(line, err=True)

    def say(self, text: str) -> None:
        if not self._is_quiet:
            self._erase()
            click.echo(visible(text), err=True)

    def end(self) -> None:
        self._erase()

    def _erase(self) -> None:
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
