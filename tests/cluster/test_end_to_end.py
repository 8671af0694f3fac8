"""A real cluster loses nothing when nodes are killed, paused, cut off and drained."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from minicrawl import Loaded, State, Store
from minicrawl.cluster import steering
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gathering.kept_store import gather_cluster
from minicrawl.cluster.node.crawl_state import NOTHING_LEFT
from minicrawl.cluster.overview import ClusterStatus
from minicrawl.cluster.terms import start_or_join
from minicrawl.report.integrity.audit import audit
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import (
    NodeProcess,
    nodes,
    shards_of,
    until,
    until_ended,
    until_taken_over,
)
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
                assert (await until_ended(engine)).reason == NOTHING_LEFT
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
        await until_ended(engine)
        # The node refuses these pages when it gives up its shards, after it has said the end.
        await until(engine, lambda now: not shards_of(now, "a"), "the node holds shards")
        await gather_cluster(engine, tmp_path / "all.db")
    assert list(audit(tmp_path / "all.db").wrong) == []
    with Store.open(tmp_path / "all.db") as store:
        states = {row.state for row in store.pages()}
    assert states == {State.FETCHED.label, State.DEPTH.label}


async def test_a_crawl_goes_on_in_other_shards_with_its_nodes_pages_and_budget(
    tmp_path: Path,
) -> None:
    def kept(address: str) -> Loaded:
        return settings(address, pages=120, keep="pages")

    web = LoggedWeb()
    with web.watched():
        async with (
            begun(tmp_path, web, kept, SHARDS) as (servers, engine, loaded),
            nodes({"a": servers.url, "b": servers.url}, tmp_path, loaded) as started,
        ):
            await until(engine, lambda now: now.fetched > 40, "no page is fetched")
            await steering.stop(engine)
            command = ["cluster", "reshard", "--shards", "3", "--cluster", servers.url]
            resharding = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "minicrawl", *command, stdout=asyncio.subprocess.PIPE
            )
            out, _ = await resharding.communicate()
            assert b"none missing" in out
            async with opened(ClusterAccess(servers.url)) as again:
                await start_or_join(again, loaded, ())
                ended = await until_ended(again)
                assert (ended.fetched, ended.shards) == (120, 3)
                await until(again, lambda now: not any(row.shards for row in now.nodes), "held")
                await gather_cluster(again, tmp_path / "all.db")
            assert all("other shards now" in node.said for node in started.values())
    assert list(audit(tmp_path / "all.db").wrong) == []
    with Store.open(tmp_path / "all.db") as store:
        read = [row.url for row in store.pages() if row.state == State.FETCHED.label]
    assert len(read) == 120
    asked = [(host, target) for host, requests in web.asked.items() for _, target in requests]
    assert len(asked) == len(set(asked))
    web.check_delays()


async def upset(engine: ClusterEngine, started: dict[str, NodeProcess], relay: Relay) -> None:
    """Kill a node, pause the second, cut the third off and then drain it."""
    await until(
        engine,
        lambda now: now.fetched >= SITES and all(shards_of(now, name) for name in started),
        "nodes do not begin",
    )
    started["a"].process.kill()
    await until_taken_over(engine, "a")
    started["b"].process.send_signal(signal.SIGSTOP)
    await until_taken_over(engine, "b")
    started["b"].process.send_signal(signal.SIGCONT)
    assert not (await until_back(engine, started["b"])).unheld
    relay.cut()
    await until_taken_over(engine, "c")
    relay.heal()
    await until_back(engine, started["c"])
    await steering.drain(engine, "c")
    await until(engine, lambda now: not shards_of(now, "c"), "a drained node keeps its shards")


async def until_back(engine: ClusterEngine, node: NodeProcess) -> ClusterStatus:
    """Wait until a node that has lost its shards, and said so, holds half of all shards."""
    found = await until(
        engine,
        lambda now: len(shards_of(now, node.name)) == SHARDS // 2,
        f"node {node.name} does not go on",
    )
    assert "lost the lease on shard" in node.said
    return found
