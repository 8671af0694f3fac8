"""Views and requests of the dashboard of a cluster, where they differ from those of a store."""

import asyncio
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from minicrawl import MinicrawlError
from minicrawl.cluster.commands.dashboard import (
    ClusterRequest,
    ClusterViews,
    GatheredStore,
    LiveCluster,
)
from minicrawl.cluster.gathering.kept_store import KeptStore
from minicrawl.cluster.gathering.marks import in_use, unread
from minicrawl.cluster.overview import ClusterStatus, overview
from minicrawl.cluster.records import NODE_PREFIX, STATE_KEY, TERMS_KEY, CrawlActivity, StateRecord
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.errors import StoreError, UsageError
from tests.cluster.fake_engine import FakeEngine
from tests.cluster.node.test_leases import record
from tests.cluster.test_restoring import terms

T = TypeVar("T")
TERMS = replace(terms(), settings={"pages": 7})


class LiveFake:
    """A cluster on the fake engine that carries requests out at once."""

    def __init__(self) -> None:
        self.engine = FakeEngine()

    def status(self) -> ClusterStatus:
        return asyncio.run(overview(self.engine))

    def do(self, request: ClusterRequest[T]) -> T:
        return asyncio.run(request(self.engine))

    def begin(self, request: ClusterRequest[T]) -> "Future[T]":
        done: Future[T] = Future()
        try:
            done.set_result(asyncio.run(request(self.engine)))
        except MinicrawlError as error:
            done.set_exception(error)
        return done

    def key(self, name: str) -> Any:
        found = asyncio.run(self.engine.get(name))
        return found and found.value


@pytest.fixture
def live() -> LiveFake:
    return LiveFake()


@pytest.fixture
def views(live: LiveFake, tmp_path: Path) -> ClusterViews:
    return ClusterViews("nats://there", cast(LiveCluster, live), tmp_path)


@pytest.fixture
def begun(live: LiveFake) -> LiveFake:
    async def begin() -> None:
        await live.engine.update(TERMS_KEY, TERMS.pack(), 0)
        state = StateRecord(doing=CrawlActivity.RUNNING, run=1, reason="")
        await live.engine.update(STATE_KEY, state.pack(), 0)
        await live.engine.update(f"{NODE_PREFIX}east", record("east").pack(), 0)

    asyncio.run(begin())
    return live


def test_a_cluster_without_a_crawl_is_shown_as_such(views: ClusterViews) -> None:
    views.crawl()
    found = views.crawl()
    assert found["store"] == "nats://there"
    assert found["live"] is None
    assert "no crawl yet" in found["cluster"]["why"]
    assert "no crawl yet" in found["status"]["missing"]


@pytest.mark.slow
@pytest.mark.usefixtures("begun")
def test_nodes_and_shards_are_shown_before_anything_is_gathered(views: ClusterViews) -> None:
    found = views.crawl()["cluster"]
    assert (found["doing"], found["budget"], found["shards"]) == ("running", 7, 3)
    assert found["unheld"] == [0, 1, 2]
    assert [node["name"] for node in found["nodes"]] == ["east"]
    assert found["gathered_at"] is None


def test_requests_steer_the_crawl_and_its_nodes(views: ClusterViews, begun: LiveFake) -> None:
    for verb, doing in (("pause", CrawlActivity.PAUSED), ("resume", CrawlActivity.RUNNING)):
        views.control({"verb": verb})
        assert StateRecord.unpack(STATE_KEY, begun.key(STATE_KEY)).doing == doing
    views.control({"verb": "set", "values": {"pages": "12"}})
    assert TermsRecord.unpack(TERMS_KEY, begun.key(TERMS_KEY)).settings["pages"] == 12
    views.control({"verb": "drain", "node": "east"})
    assert begun.key("drain.east")
    views.control({"verb": "drain", "node": "east", "undo": True})
    assert not begun.key("drain.east")
    views.control({"verb": "stop"})
    assert StateRecord.unpack(STATE_KEY, begun.key(STATE_KEY)).doing == CrawlActivity.STOPPED


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"verb": "add", "urls": ["http://a/"]}, "add"),
        ({"verb": "set", "values": {"delay": "1"}}, "page budget"),
        ({"verb": "set"}, "page budget"),
        ({"verb": "set", "values": {"pages": "many"}}, "many"),
        ({"verb": "workers", "node": "east", "workers": 2}, "no such request: workers"),
        ({"verb": "drain", "node": "west"}, "west"),
        ({}, "request"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_an_invalid_request_is_refused_with_a_reason(
    wanted: dict[str, Any], message: str, views: ClusterViews
) -> None:
    with pytest.raises(UsageError, match=message):
        views.control(wanted)


def test_a_crawl_of_a_cluster_cannot_be_started_in_the_dashboard(views: ClusterViews) -> None:
    for begin in (views.start, views.dry_run):
        with pytest.raises(MinicrawlError, match="--cluster"):
            asyncio.run(begin({}))


class Gatherings:
    """Gatherings that the test completes, with a clock that it sets, and the store of them."""

    def __init__(self) -> None:
        self.begun: list[Future[KeptStore]] = []
        self._reading: list[ExitStack] = []
        self.clock = 100.0
        self.store = GatheredStore(self._begin, lambda: self.clock)

    def _begin(self, reading: ExitStack) -> "Future[KeptStore]":
        self.begun.append(Future())
        self._reading.append(reading)
        return self.begun[-1]

    def complete(self, store: Path) -> None:
        """Complete the last gathering with this store."""
        self._reading[-1].enter_context(in_use(store))
        self.begun[-1].set_result(KeptStore(store, None))


def test_gathering_takes_at_most_a_tenth_of_the_time_and_its_error_is_shown(tmp_path: Path) -> None:
    gatherings = Gatherings()
    gathered = gatherings.store
    assert [gathered.look(), gathered.look()] == [None, None]
    assert len(gatherings.begun) == 1
    gatherings.clock += 4
    gatherings.complete(tmp_path / "one.db")
    assert gathered.look() == tmp_path / "one.db"
    assert gathered.at is not None
    for seconds, begun in ((39, 1), (1, 2)):
        gatherings.clock += seconds
        assert gathered.look() is None
        assert len(gatherings.begun) == begun
    gatherings.begun[1].set_exception(StoreError("cash is missing"))
    assert gathered.look() is None
    assert gathered.why == "cash is missing"


def test_a_gathered_store_is_in_use_before_anybody_looks_and_until_the_next_one(
    tmp_path: Path,
) -> None:
    gatherings, seen = Gatherings(), []
    for name in ("one.db", "two.db"):
        gatherings.store.look()
        gatherings.complete(tmp_path / name)
        seen.append(is_unread(tmp_path / "one.db"))
        assert gatherings.store.look() == tmp_path / name
        seen.append(is_unread(tmp_path / "one.db"))
        gatherings.clock += 100
    assert seen == [False, False, False, True]


def is_unread(store: Path) -> bool:
    with unread(store) as found:
        return found


def test_a_cluster_takes_no_pings(views: ClusterViews) -> None:
    with pytest.raises(UsageError, match="the dashboard of one store"):
        views.ping(["http://a.example/"], None)
