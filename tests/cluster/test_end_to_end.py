"""A real cluster: a server, nodes that are processes, and sites on loopback that log requests.

During one crawl a node is killed, another is paused for longer than its leases last, and the last
is cut off from the server for as long, and then drained. At the end every page was fetched, no atom
is missing, and no host got a request sooner than its delay allows.
"""

import signal
from pathlib import Path

import pytest

from minicrawl.cluster import overview as steering
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gathering import gather_cluster
from minicrawl.config import Loaded
from minicrawl.model import State
from minicrawl.report.audit import audit
from minicrawl.results import Store
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import NodeProcess, nodes, shards_of, until
from tests.cluster.relay import Relay, relays

pytestmark = [needs_server, pytest.mark.proof, pytest.mark.anyio]

SHARDS = 6


async def test_nothing_is_lost_when_nodes_are_killed_paused_cut_off_and_drained(
    tmp_path: Path,
) -> None:
    web = LoggedWeb()
    with web.watched():
        async with (
            begun(tmp_path, web, settings, SHARDS) as (servers, engine, loaded),
            relays([servers.servers[0].address]) as (relay,),
        ):
            host, port = relay.place
            urls = dict.fromkeys("ab", servers.url) | {"c": f"nats://{host}:{port}"}
            async with nodes(urls, tmp_path, loaded) as started:
                await upset(engine, started, relay)
                web.end()
                end = await until(engine, lambda now: now.doing == "ended", "the crawl goes on")
                assert end.reason == "nothing left to fetch"
                await gather_cluster(engine, tmp_path / "all.db")
    assert list(audit(tmp_path / "all.db").wrong) == []
    with Store.open(tmp_path / "all.db") as store:
        read = {row.url for row in store.pages() if row.state == State.FETCHED.label}
    assert read >= web.urls
    web.check_delays()


async def test_pages_beyond_the_depth_are_refused_when_nothing_is_left(tmp_path: Path) -> None:
    def shallow(address: str) -> Loaded:
        values = {"max-depth": 1, "delay": 0.0, "pages": 1000}
        return Loaded.of(settings(address).settings.with_values(values))

    async with (
        begun(tmp_path, LoggedWeb(), shallow, shards=2) as (servers, engine, loaded),
        nodes({"a": servers.url}, tmp_path, loaded),
    ):
        await until(engine, lambda now: now.doing == "ended", "the crawl goes on")
        await gather_cluster(engine, tmp_path / "all.db")
    assert list(audit(tmp_path / "all.db").wrong) == []
    with Store.open(tmp_path / "all.db") as store:
        states = {row.state for row in store.pages()}
    assert states == {State.FETCHED.label, State.DEPTH.label}


async def upset(engine: ClusterEngine, started: dict[str, NodeProcess], relay: Relay) -> None:
    """Kill a node, pause the second, cut the third off and then drain it."""
    await until(
        engine,
        lambda now: now.fetched >= SITES and all(shards_of(now, name) for name in started),
        "nodes do not begin",
    )
    started["a"].process.kill()
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "a"),
        "nobody takes over the shards of a killed node",
    )
    started["b"].process.send_signal(signal.SIGSTOP)
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "b"),
        "nobody takes over the shards of a paused node",
    )
    started["b"].process.send_signal(signal.SIGCONT)
    back = await until(
        engine, lambda now: len(shards_of(now, "b")) == SHARDS // 2, "a paused node does not go on"
    )
    assert not back.unheld
    assert "lost the lease on shard" in started["b"].said
    relay.cut()
    await until(
        engine,
        lambda now: not now.unheld and not shards_of(now, "c"),
        "nobody takes over the shards of a node that is cut off",
    )
    relay.heal()
    await until(
        engine,
        lambda now: len(shards_of(now, "c")) == SHARDS // 2,
        "a node that was cut off does not go on",
    )
    assert "lost the lease on shard" in started["c"].said
    await steering.drain(engine, "c")
    await until(engine, lambda now: not shards_of(now, "c"), "a drained node keeps its shards")
