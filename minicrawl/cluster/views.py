"""Synchronous views of a running cluster, for the dashboard.

Law: the cluster is followed over one connection, in a thread of its own, so no view waits for a
node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from minicrawl.cluster import overview as wishes
from minicrawl.cluster.access import ClusterAccess, connected_anew
from minicrawl.cluster.engine import ClusterEngine, EngineError
from minicrawl.cluster.gather.gathering import KeptStore, kept_store
from minicrawl.cluster.gather.holdings import in_use
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch
from minicrawl.cluster.replica import EngineThread
from minicrawl.config.parts import BY_NAME
from minicrawl.config.settings import Given
from minicrawl.dashboard.launching import Form
from minicrawl.dashboard.views import SHARE, Json, Views
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.report.status import status

T = TypeVar("T")
Wish = Callable[[ClusterEngine], Coroutine[Any, Any, T]]


class LiveCluster:
    """A followed cluster."""

    def __init__(self, access: ClusterAccess) -> None:
        try:
            self._thread = EngineThread(partial(connected_anew, access))
        except EngineError as error:  # a wrong value, as in all other commands
            raise UsageError(str(error)) from error
        self._watch = ClusterWatch(self._thread.engine)
        self._thread.run(self._begin())

    def status(self) -> ClusterStatus:
        """Return the present status. Raises UsageError if the cluster has no crawl."""
        return self._thread.run(self._status())

    def do(self, wish: Wish[T]) -> T:
        """Run `wish` with the engine, and return its result."""
        return self.begin(wish).result()

    def begin(self, wish: Wish[T]) -> Future[T]:
        """Start `wish` with the engine, without waiting."""
        return self._thread.begin(wish(self._thread.engine))

    def close(self) -> None:
        """Stop following the cluster."""
        self._thread.run(self._watch.end())
        self._thread.close()

    async def _begin(self) -> None:
        self._watch.begin()

    async def _status(self) -> ClusterStatus:
        return self._watch.status()


# ================================================================ dashboard views
#
# Views of a cluster: its nodes at present, and its gathered store.
#
# Laws: shards are gathered only while somebody looks, for at most a tenth of the time. All else is
# as in the dashboard of a store.

GATHERED_EVERY_S = 10.0
_BEGIN = "a crawl of a cluster is begun with: minicrawl crawl SEEDS --cluster URL"
_WISHES: dict[str, Wish[object]] = {
    "pause": wishes.pause,
    "resume": wishes.resume,
    "stop": wishes.stop,
    "rebalance": wishes.rebalance,
}


class ClusterViews(Views):
    """Views of one cluster."""

    def __init__(self, name: str, live: LiveCluster, folder: Path) -> None:
        """`name` is shown in place of the URL; `folder` is for gathered stores."""
        super().__init__(folder / "nothing-yet.db")
        self._name, self._live_cluster = name, live
        self._gathered = GatheredStore(partial(live.begin, partial(_gather, folder=folder)))
        self._told: tuple[Path, Json] | None = None

    def crawl(self) -> Json:
        """Return the present nodes, and the status of the gathered store."""
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
        """Refuse, as `start` does."""
        raise MinicrawlError(_BEGIN)

    def control(self, wanted: Json) -> Json:
        """Send a wish to all nodes or to one."""
        self._live_cluster.do(_wish_of(wanted))
        return {"ok": True}


def _wish_of(wanted: Json) -> Wish[object]:
    verb, node = str(wanted.get("verb")), str(wanted.get("node"))
    if verb in _WISHES:
        return _WISHES[verb]
    if verb == "set":
        values = wanted.get("values")
        if not isinstance(values, dict) or values.keys() != {"pages"}:
            raise UsageError("only the pages of a cluster can be set")
        pages = Given(values["pages"], "pages", " ").read_as(BY_NAME["pages"])
        assert pages is None or isinstance(pages, int)
        return partial(wishes.set_pages, pages=pages)
    if verb == "workers":
        workers = wanted.get("workers")
        if not isinstance(workers, int):
            raise UsageError(f"{workers!r} workers: must be a number")
        return partial(wishes.set_workers, node=node, workers=workers)
    if verb == "drain":
        return partial(wishes.undrain if wanted.get("undo") else wishes.drain, node=node)
    raise UsageError(f"no such request: {verb}")


async def _gather(engine: object, folder: Path) -> KeptStore:
    return await kept_store(engine, folder)  # type: ignore[arg-type]


class GatheredStore:
    """The gathered store, made anew from time to time while somebody looks.

    Each store stays until the next one is complete.
    """

    def __init__(self, begin: Callable[[], Future[KeptStore]]) -> None:
        self._begin = begin
        self._under_way: Future[KeptStore] | None = None
        self._reading = ExitStack()
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
            self._began, self._under_way = now, self._begin()
        return found

    def _taken(self, done: Future[KeptStore]) -> Path | None:
        try:
            kept = done.result()
        except (MinicrawlError, OSError) as error:
            self.why = str(error)
            return None
        self._reading.close()
        self._reading.enter_context(in_use(kept.store))
        self.at = time.time()
        return kept.store
