"""`minicrawl crawl --cluster` and `minicrawl dashboard --cluster`."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.crawl_session import NotFetched
from minicrawl.cli.output import show_json
from minicrawl.cluster import overview as steering
from minicrawl.cluster.commands.nodes import FOLDER, facts_of, folder_of
from minicrawl.cluster.engine import (
    ClusterAccess,
    ClusterEngine,
    EngineError,
    EngineThread,
    access_of,
    connect_engine,
    opened,
)
from minicrawl.cluster.gathering import KeptStore, kept_store
from minicrawl.cluster.node.node import NodeConfig, default_node_name, run_node
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.cluster.servers import DEMO_SHARDS, DEMO_STORE, demo_cluster, save_demo_store
from minicrawl.cluster.terms import settings_of_node, start_or_join, state_of, workers_of_node
from minicrawl.config import Loaded, Settings
from minicrawl.config.values import without_logins
from minicrawl.dashboard.launching import Form
from minicrawl.dashboard.serving import Place, serve_views
from minicrawl.dashboard.views import SHARE, Json, Views
from minicrawl.errors import Interrupted, MinicrawlError, UsageError
from minicrawl.report.crawl_status import status
from minicrawl.wording import as_duration, counted, rate, visible

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

    @property
    def is_demo(self) -> bool:
        """True if the cluster is started for this crawl, and removed at its end."""
        return self.loaded.settings.cluster.url == DEMO


def crawl_in_cluster(run: ClusterRun) -> None:
    shown = ClusterDisplay(is_quiet=run.is_quiet)
    found = asyncio.run(_crawled(run, shown))
    shown.end()
    if run.as_json:
        show_json(found.as_json())
    elif not run.is_quiet:
        for name, value in facts_of(found):
            click.echo(f"  {name:<16}{value}", err=True)
        click.echo(_next_commands(run.loaded), err=True)
    if found.doing == "stopped":
        raise Interrupted(f"stopped; resume with: {run.resume}")
    if not found.fetched:
        raise NotFetched("nothing could be fetched")


async def _crawled(run: ClusterRun, shown: ClusterDisplay) -> ClusterStatus:
    interrupted, leaving = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    async with _cluster(run, shown) as (access, wanted), opened(access) as engine:
        await start_or_join(engine, wanted.loaded, wanted.seeds, wanted.shards)
        state, _ = await state_of(engine)
        watching = asyncio.ensure_future(ClusterWatch(engine).until_over(state.run, shown.show))
        waiting = asyncio.ensure_future(interrupted.wait())
        node = asyncio.ensure_future(_run_node(access, wanted, leaving, shown))
        try:
            await asyncio.wait((watching, waiting, node), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                shown.say("handing over the shards of this node; interrupt again to stop now")
                _restore_default_signals()
        finally:
            leaving.set()
            await node
            waiting.cancel()
            if not watching.done():
                watching.cancel()
        if waiting.done() and not watching.done():
            raise Interrupted(_how_to_continue(run))
        if run.is_demo:
            await save_demo_store(engine)
        return watching.result()


def _next_commands(loaded: Loaded) -> str:
    url = loaded.settings.cluster.url or ""
    named = f"--cluster {shlex.quote(without_logins(url))}"
    where = f"--store {DEMO_STORE}" if url == DEMO else named
    commands = (f"  {PROGRAM} {name} {where}" for name in ("top --n 20", "status", "check"))
    return "\n".join(("", "next steps", *commands))


def _how_to_continue(run: ClusterRun) -> str:
    if run.is_demo:
        return "demo cluster removed; nothing was kept"
    return f"other nodes continue; rejoin them with: {run.resume}"


def _restore_default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)


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


# ---------------------------------------------------------------- display


class ClusterDisplay:
    """Progress line of the whole cluster, on stderr; on a terminal it is updated in place."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._is_terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next_line = self._began + LINE_EVERY_S
        self._has_line = False

    def show(self, found: ClusterStatus) -> None:
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
        if not self._is_quiet:
            self._erase()
            click.echo(visible(text), err=True)

    def end(self) -> None:
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


# ================================================================ live cluster

T = TypeVar("T")
ClusterRequest = Callable[[ClusterEngine], Coroutine[Any, Any, T]]


class LiveCluster:
    """A cluster that a thread follows, so that it can be asked at any time."""

    def __init__(self, access: ClusterAccess) -> None:
        try:
            self._thread = EngineThread(partial(connect_engine, access))
        except EngineError as error:  # as `opened` does for other commands
            raise UsageError(str(error)) from error
        self._watch = ClusterWatch(self._thread.engine)
        self._thread.run(self._begin())

    def status(self) -> ClusterStatus:
        """Return the current status. Raises UsageError if the cluster has no crawl."""
        return self._thread.run(self._status())

    def do(self, request: ClusterRequest[T]) -> T:
        return self.begin(request).result()

    def begin(self, request: ClusterRequest[T]) -> Future[T]:
        """Start `request` with the engine, without waiting."""
        return self._thread.begin(request(self._thread.engine))

    def close(self) -> None:
        self._thread.run(self._watch.end())
        self._thread.close()

    async def _begin(self) -> None:
        self._watch.begin()

    async def _status(self) -> ClusterStatus:
        return self._watch.status()


# ================================================================ dashboard
#
# Views of a cluster: its live nodes, and its gathered store.
#
# Laws: shards are gathered only while somebody looks, for at most a tenth of the time. All else is
# as in the dashboard of a store.

GATHERED_EVERY_S = 10.0
_BEGIN = "start a crawl of a cluster with: minicrawl crawl SEEDS --cluster URL"


class ClusterViews(Views):
    """Views of one cluster."""

    def __init__(self, name: str, live: LiveCluster, folder: Path) -> None:
        """`name` is shown in place of the URL; `folder` is for gathered stores."""
        super().__init__(folder / "nothing-yet.db")
        self._name, self._live_cluster = name, live
        self._gathered = GatheredStore(
            lambda reading: live.begin(partial(kept_store, folder=folder, reading=reading))
        )
        self._told: tuple[Path, Json] | None = None

    def crawl(self) -> Json:
        """Return the current nodes, and the status of the gathered store."""
        self.store = self._gathered.look() or self.store
        return {
            "store": self._name,
            "live": None,
            "launched": False,
            "ended": None,
            "status": self._status(),
            "cluster": self._cluster(),
        }

    def _cluster(self) -> Json:
        at = time.time()
        try:
            found = self._live_cluster.status().as_json()
        except MinicrawlError as error:
            return {"why": str(error)}
        return found | {"gathered_at": self._gathered.at, "at": at}

    def _status(self) -> Json:
        """Return the status of the gathered store, which never changes, from a cache."""
        if not self.store.is_file():
            return {"missing": self._gathered.why}
        if self._told is None or self._told[0] != self.store:
            self._told = self.store, status(self.store).as_json()
        return self._told[1] | {"at": self._gathered.at}

    def moment(self) -> float | None:
        """Return the time at which the shards were gathered."""
        return self._gathered.at

    # ------------------------------------------------------------ changes

    async def start(self, form: Form) -> None:  # the form is ignored
        """Refuse: a crawl in a cluster needs a node."""
        raise MinicrawlError(_BEGIN)

    async def dry_run(self, form: Form) -> str:  # the form is ignored
        """Refuse: a crawl in a cluster needs a node."""
        raise MinicrawlError(_BEGIN)

    def ping(self, urls: Sequence[str], host: str | None) -> Json:  # both are ignored
        """Refuse: pings are kept beside a store, and shards have many."""
        raise UsageError("a cluster takes no pings: send them to the dashboard of one store")

    def control(self, wanted: Json) -> Json:
        """Send a request to all nodes, or to one."""
        self._live_cluster.do(_request_of(wanted))
        return {"ok": True}


def _request_of(wanted: Json) -> ClusterRequest[object]:
    verb, node = str(wanted.get("verb")), str(wanted.get("node"))
    if verb in steering.REQUESTS:
        return steering.REQUESTS[verb]
    if verb == "set":
        values = wanted.get("values")
        if not isinstance(values, dict) or values.keys() != {"pages"}:
            raise UsageError("only the page budget of a cluster can be changed")
        return partial(steering.set_pages, given=values["pages"])
    if verb == "workers":
        workers = wanted.get("workers")
        if not isinstance(workers, int):
            raise UsageError(f"{workers!r} workers: must be a number")
        return partial(steering.set_workers, node=node, workers=workers)
    if verb == "drain":
        return partial(steering.undrain if wanted.get("undo") else steering.drain, node=node)
    raise UsageError(f"no such request: {verb}")


class GatheredStore:
    """The gathered store, rebuilt from time to time while somebody looks.

    Each store stays until the next one is complete: other commands must not remove it.
    """

    def __init__(self, begin: Callable[[ExitStack], Future[KeptStore]]) -> None:
        """`begin` starts a gathering, whose store stays until the stack is closed."""
        self._begin = begin
        self._under_way: Future[KeptStore] | None = None
        self._reading, self._reading_next = ExitStack(), ExitStack()
        self._began = self._due = 0.0
        self.why = "the shards are being gathered"
        """Reason why there is no store yet."""
        self.at: float | None = None
        """Time at which the last store was made."""

    def look(self) -> Path | None:
        """Return a new store if one is complete, and begin the next one when it is due."""
        now, found = time.monotonic(), None
        if self._under_way is not None and self._under_way.done():
            found = self._taken(self._under_way)
            self._under_way = None
            self._due = now + max(GATHERED_EVERY_S, (now - self._began) / SHARE)
        if self._under_way is None and now >= self._due:
            self._reading_next = ExitStack()
            self._began, self._under_way = now, self._begin(self._reading_next)
        return found

    def _taken(self, done: Future[KeptStore]) -> Path | None:
        try:
            kept = done.result()
        except (MinicrawlError, OSError) as error:
            self._reading_next.close()
            self.why = str(error)
            return None
        self._reading.close()
        self._reading = self._reading_next
        self.at = time.time()
        return kept.store


def serve_cluster(settings: Settings, place: Place) -> None:
    """Serve the dashboard of a cluster until the process is stopped."""
    folder = folder_of(settings.cluster)
    with closing(LiveCluster(access_of(settings))) as live:
        views = ClusterViews(without_logins(settings.cluster.url or ""), live, folder)
        serve_views(views, folder / "cluster", place, click.echo)
