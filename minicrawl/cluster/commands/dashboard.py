"""`minicrawl dashboard --cluster`: live nodes of a cluster, and views of its gathered store.

Laws: shards are gathered only while somebody looks, for at most a tenth of the time. All else is as
in the dashboard of a store.
"""

import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from minicrawl.cluster import steering
from minicrawl.cluster.access import ClusterAccess, access_of, connect_engine
from minicrawl.cluster.commands.gather import folder_of
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.engine_thread import EngineThread
from minicrawl.cluster.gathering.kept_store import KeptStore, kept_store
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.config import Settings
from minicrawl.config.values.networks import without_logins
from minicrawl.dashboard.crawl_form import Form
from minicrawl.dashboard.server import Place, serve_views
from minicrawl.dashboard.views import SHARE, Json, Views
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.json_values import to_json
from minicrawl.report.progress.crawl_status import status

T = TypeVar("T")
ClusterRequest = Callable[[ClusterEngine], Coroutine[Any, Any, T]]


class LiveCluster:
    """A cluster that a thread follows, so that it can be asked at any time."""

    def __init__(self, access: ClusterAccess) -> None:
        self._thread = EngineThread(partial(connect_engine, access))
        self._watch = ClusterWatch(self._thread.engine)
        self._thread.run(self._watch.begin())

    def status(self) -> ClusterStatus:
        """Return the current status. Raises UsageError if the cluster has no crawl."""
        return self._thread.run(self._status())

    def begin(self, request: ClusterRequest[T]) -> Future[T]:
        """Start `request` with the engine, without waiting."""
        return self._thread.begin(request(self._thread.engine))

    def close(self) -> None:
        self._thread.run(self._watch.end())
        self._thread.close()

    async def _status(self) -> ClusterStatus:
        return self._watch.status()


GATHERED_EVERY_S = 10.0


class ClusterViews(Views):
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
        moments: Json = {"gathered_at": self._gathered.at, "at": time.time()}
        try:
            cluster: Json = to_json(self._live_cluster.status()) | moments
        except MinicrawlError as error:
            cluster = {"why": str(error)}
        return super().crawl() | {"store": self._name, "cluster": cluster}

    def _live(self) -> None:
        """Return None: no crawl writes the gathered store."""

    def _status(self) -> Json:
        """Return the status of the gathered store, which never changes, from a cache."""
        if not self.store.is_file():
            return {"missing": self._gathered.why}
        if self._told is None or self._told[0] != self.store:
            self._told = self.store, to_json(status(self.store))
        return self._told[1] | {"at": self._gathered.at}

    def moment(self) -> float | None:
        """Return the time at which the shards were gathered."""
        return self._gathered.at

    async def start(self, form: Form) -> NoReturn:  # the form is ignored
        """Refuse: a crawl in a cluster needs a node."""
        raise MinicrawlError("start a crawl of a cluster with: minicrawl crawl SEEDS --cluster URL")

    dry_run = start

    def ping(self, urls: Sequence[str], host: str | None) -> Json:  # both are ignored
        """Refuse: pings are kept beside a store, and shards have many."""
        raise UsageError("a cluster takes no pings: send them to the dashboard of one store")

    def control(self, request: Json) -> Json:
        change: ClusterRequest[object]
        match request:
            case {"verb": str(verb)} if verb in steering.REQUESTS:
                change = steering.REQUESTS[verb]
            case {"verb": "set", "values": {"pages": pages, **others}} if not others:
                change = partial(steering.set_pages, given=pages)
            case {"verb": "set"}:
                raise UsageError("only the page budget of a cluster can be changed")
            case {"verb": "drain", "node": str(node)}:
                change = partial(steering.drain, node=node, undo=bool(request.get("undo")))
            case _:
                raise UsageError(f"no such request: {request.get('verb')}")
        self._live_cluster.begin(change).result()
        return {"ok": True}


class GatheredStore:
    """The gathered store, rebuilt from time to time while somebody looks.

    Each store stays until the next one is complete: other commands must not remove it.
    """

    def __init__(
        self,
        begin: Callable[[ExitStack], Future[KeptStore]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`begin` starts a gathering, whose store stays until the stack is closed."""
        self._begin, self._now = begin, now
        self._under_way: Future[KeptStore] | None = None
        self._reading, self._reading_next = ExitStack(), ExitStack()
        self._began = self._due = 0.0
        self.why = "the shards are being gathered"
        """Reason why there is no store yet."""
        self.at: float | None = None
        """Time at which the last store was made."""

    def look(self) -> Path | None:
        """Return a new store if one is complete, and begin the next one when it is due."""
        now = self._now()
        store: Path | None = None
        if self._under_way is not None and self._under_way.done():
            try:
                store, _ = self._under_way.result()
                self._reading.close()
                self._reading, self.at = self._reading_next, time.time()
            except (MinicrawlError, OSError) as error:
                self._reading_next.close()
                self.why = str(error)
            self._under_way = None
            self._due = now + max(GATHERED_EVERY_S, (now - self._began) / SHARE)
        if self._under_way is None and now >= self._due:
            self._reading_next = ExitStack()
            self._began, self._under_way = now, self._begin(self._reading_next)
        return store


def serve_cluster(settings: Settings, place: Place) -> None:
    """Serve the dashboard of a cluster until the process is stopped."""
    folder = folder_of(settings)
    with closing(LiveCluster(access_of(settings))) as live:
        views = ClusterViews(without_logins(settings.cluster.url or ""), live, folder)
        serve_views(views, folder / "cluster", place, click.echo)
