"""A real cluster that loses a node with its disk keeps every page that was read."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from minicrawl import Loaded, State, Store
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gathering.kept_store import gather_cluster, kept_store
from minicrawl.report.integrity.audit import audit
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import nodes, shards_of, until, until_ended, until_taken_over

pytestmark = [needs_server, pytest.mark.proof, pytest.mark.anyio]

SHARDS = 4
SOME = 4 * SITES
KEEPING = partial(settings, keep="pages", delay=0.05)


def pages_of(store: Path) -> dict[str, str]:
    with Store.open(store) as found:
        read = [row.url for row in found.pages() if row.state == State.FETCHED.label]
        assert found.status().pages_fetched == len(read)
        return {url: found.body(url).decode() for url in read}


def are_right(found: dict[str, str]) -> bool:
    """Return True if every body begins with the host and the number of its page."""
    named = (url.removeprefix("http://").split("/") for url in found)
    return all(
        body.startswith(f"<p>{host} {number} ")
        for (host, number), body in zip(named, found.values(), strict=True)
    )


async def lose_a_node(
    engine: ClusterEngine, url: str, web: LoggedWeb, folder: Path, loaded: Loaded
) -> None:
    started = {name: folder / name for name in "ab"}
    async with nodes(dict.fromkeys(started, url), folder, loaded) as processes:
        await until(
            engine,
            lambda now: now.fetched >= SOME and all(shards_of(now, name) for name in started),
            "nodes do not begin",
        )
        processes["a"].kill()
        shutil.rmtree(started["a"])
        early = await kept_store(engine, folder / "kept", pages=True)
        found = pages_of(early.store)
        assert len(found) >= SOME
        assert are_right(found)
        await until_taken_over(engine, "a")
        web.end()
        await until_ended(engine)


async def test_every_page_is_kept_when_a_node_is_lost_with_its_disk(tmp_path: Path) -> None:
    web, once = LoggedWeb(), tmp_path / "all.db"
    async with begun(tmp_path, web, KEEPING, SHARDS) as (servers, engine, loaded):
        await lose_a_node(engine, servers.url, web, tmp_path, loaded)
        await gather_cluster(engine, once)
        grown = (await kept_store(engine, tmp_path / "kept", pages=True)).store
    for store in (once, grown):
        assert list(audit(store).wrong) == []
    found = pages_of(grown)
    assert are_right(found)
    assert pages_of(once) == found
    assert found.keys() >= web.urls
