"""A real cluster whose nodes move kept pages to an object store loses and doubles nothing."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from minicrawl import Loaded, State, Store
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gathering.kept_store import gather_cluster, kept_store
from minicrawl.cluster.replica.kept_pages import restore_pages
from minicrawl.report.integrity.audit import audit
from tests.archive.object_stores import SECRET, S3Server, objects, s3, store
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import NodeProcess, nodes, shards_of, until, until_ended
from tests.cluster.test_lost_disk import are_right, pages_of
from tests.cluster.test_moved_pages import names

__all__ = ["s3", "store"]
pytestmark = [needs_server, pytest.mark.proof, pytest.mark.anyio, pytest.mark.timeout(900)]

SHARDS, KILLS = 4, 5
SMALL = """
import minicrawl.archive.objects.bucket as bucket
import minicrawl.archive.segments as segments
import minicrawl.cluster.replica.shipping as shipping
import minicrawl.crawl.record.moving as moving

segments.REPLICATED_BYTES = 1_500
moving.PAUSE_S = moving.TROUBLE_PAUSE_S = 0.1
bucket.REQUEST_S, bucket.RETRIES, bucket.REST_S = 1.0, 0, 0.0
shipping.ReplicaLimits.__init__.__kwdefaults__.update(wal_bytes=100_000, log_bytes=50_000)
"""
"""What every process of a node does first: small segments and frequent snapshots."""


def environs(folder: Path) -> Mapping[str, Mapping[str, str]]:
    (folder / "small").mkdir()
    (folder / "small" / "sitecustomize.py").write_text(SMALL)
    return {name: {"PYTHONPATH": str(folder / "small")} for name in "ab"}


async def kill_at_random(
    engine: ClusterEngine, started: Mapping[str, NodeProcess], s3_server: S3Server | None
) -> None:
    """Kill nodes with their disks, while the object store fails now and then."""
    random = Random(7)
    for kill in range(KILLS):
        fetched = (await until(engine, lambda now: now.fetched > 0, "none")).fetched
        await until(
            engine,
            lambda now, least=fetched + 2 * SITES: (  # type: ignore[misc]
                now.fetched >= least and any(shards_of(now, name) for name in started)
            ),
            "the crawl does not go on",
        )
        if s3_server is not None:
            fault = ("500", "lost", "expired", "503", "slow", "")[kill % 6]
            s3_server.fault, s3_server.share = fault, 0.5
        await asyncio.sleep(random.uniform(0, 2))
        node = started["ab"[kill % 2]]
        node.kill()
        shutil.rmtree(node.folder, ignore_errors=True)
        node.start()
        await asyncio.sleep(random.uniform(0, 2))
        if s3_server is not None:  # what a shard needs to go on must arrive in the end
            s3_server.fault = ""


async def test_random_kills_lose_and_double_no_page(
    store: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINICRAWL_OBJECTS", store)

    def keeping(address: str) -> Loaded:
        return settings(address, keep="pages", delay=0.05, objects=store)

    server = request.getfixturevalue("s3") if store.startswith("s3") else None
    web = LoggedWeb()
    async with (
        begun(tmp_path, web, keeping, SHARDS) as (servers, engine, loaded),
        nodes(
            dict.fromkeys("ab", servers.url), tmp_path, loaded, environs=environs(tmp_path)
        ) as started,
    ):
        await kill_at_random(engine, started, server)
        early = await kept_store(engine, tmp_path / "kept", pages=True)
        assert are_right(pages_of(early.store))
        web.end()
        await until_ended(engine)
        await until(engine, lambda now: not any(row.shards for row in now.nodes), "held")
        await gather_cluster(engine, tmp_path / "all.db")
        grown = (await kept_store(engine, tmp_path / "kept", pages=True)).store
        named = set[str]()
        for shard in range(SHARDS):
            folder = tmp_path / f"shard-{shard}"
            await restore_pages(engine, shard, folder)
            named.update(names(folder))
        snapshots = {name for name in objects(store) if "/shard-" in name}
        # Killed on the way from the object to the log, a node leaves what the next holder names.
        assert named <= set(objects(store))
        assert len(named) > 2 * SHARDS
        assert len(snapshots) <= 2 * SHARDS
        said = "".join(node.said for node in started.values())
    assert SECRET not in said
    assert list(audit(tmp_path / "all.db").wrong) == []
    found = pages_of(tmp_path / "all.db")
    assert are_right(found)
    assert pages_of(grown) == found
    assert found.keys() >= web.urls
    with Store.open(tmp_path / "all.db") as whole:
        read = [row.url for row in whole.pages() if row.state == State.FETCHED.label]
    assert len(read) == len(set(read)) == len(found)
