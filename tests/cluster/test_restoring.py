"""A whole cluster is gathered from its engine, and the store is kept until the crawl goes on."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cluster.engine import EngineUnavailable
from minicrawl.cluster.gathering.kept_store import gather_cluster, kept_store
from minicrawl.cluster.records import STATE_KEY, TERMS_KEY, ShardFacts, StateRecord
from minicrawl.cluster.replica.snapshots import SnapshotWriter
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.cluster.terms import FORMAT
from minicrawl.cluster.traffic.exchange import BatchExchange
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.report.integrity.audit import audit
from minicrawl.store import schema
from minicrawl.store.reader import search_folder
from tests.cluster.fake_engine import FakeEngine
from tests.cluster.hand_shards import HandCluster

pytestmark = pytest.mark.anyio

SHARDS, RUN = 3, 2
URLS = [f"http://s{number}.example/" for number in range(8)]


def terms(version: int = schema.VERSION) -> TermsRecord:
    crawl: Any = {"id": "c0ffee", "shards": SHARDS, "settings": {}, "seeds": "seeds"}
    return TermsRecord(format=FORMAT, schema=version, version="0", **crawl)


async def begin(engine: FakeEngine, terms: TermsRecord) -> None:
    await engine.update(STATE_KEY, StateRecord(doing="running", run=RUN, reason="").pack(), 0)
    await engine.update(TERMS_KEY, terms.pack(), 0)


async def keep(engine: FakeEngine, hand: HandCluster) -> None:
    """Append an entry to the log of each shard, and store a snapshot as of that entry."""
    hand.commit()
    for shard, one in enumerate(hand.shards):
        one.store.compact()
        entry = await engine.append(shard, (await engine.log_span(shard)).last, b"a commit")
        await store_snapshot(engine, shard, hand.paths[shard], entry)


async def store_snapshot(engine: FakeEngine, shard: int, store: Path, entry: int) -> None:
    last = (await engine.snapshots.log_span(shard)).last
    await SnapshotWriter(engine, shard, store, last).store(entry)


def crawled(folder: Path, stack: ExitStack) -> HandCluster:
    hand = HandCluster(folder, SHARDS, stack)
    hand.seeds(URLS[:4], 1)
    hand.of(URLS[0]).read(URLS[0], URLS[1:6])
    hand.send_all()
    return hand


def files_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def hand(tmp_path: Path, stack: ExitStack) -> HandCluster:
    return crawled(tmp_path / "shards", stack)


@pytest.fixture
async def engine() -> FakeEngine:
    engine = FakeEngine()
    await begin(engine, terms())
    return engine


async def test_a_kept_store_is_used_until_the_crawl_goes_on(
    engine: FakeEngine, hand: HandCluster, tmp_path: Path
) -> None:
    await keep(engine, hand)
    first = await kept_store(engine, tmp_path / "kept")
    assert first.made is not None
    assert first.store.with_name(f"{first.store.name}-ranks").exists()
    again = await kept_store(engine, tmp_path / "kept")
    assert (again.store, again.made) == (first.store, None)
    hand.of(URLS[1]).read(URLS[1], [URLS[7]])
    await keep(engine, hand)
    later = await kept_store(engine, tmp_path / "kept")
    assert later.made is not None
    assert later.made.pages == 7
    assert files_in(tmp_path / "kept") == {later.store.name, f"{later.store.name}-ranks"}


async def test_an_old_kept_store_is_deleted_only_after_its_readers_have_left(
    engine: FakeEngine, hand: HandCluster, tmp_path: Path
) -> None:
    with ExitStack() as reading, ExitStack() as reading_too:
        await keep(engine, hand)
        first = (await kept_store(engine, tmp_path / "kept", reading=reading)).store
        assert (await kept_store(engine, tmp_path / "kept", reading=reading_too)).made is None
        index = search_folder(first)
        index.mkdir()
        reading_too.close()
        await keep(engine, hand)
        second = (await kept_store(engine, tmp_path / "kept")).store
        assert first != second
        assert first.exists()
        assert index.exists()
    await keep(engine, hand)
    third = (await kept_store(engine, tmp_path / "kept")).store
    assert files_in(tmp_path / "kept") == {third.name, f"{third.name}-ranks"}


async def test_the_pages_of_an_earlier_crawl_stay_until_its_readers_have_left(
    engine: FakeEngine, hand: HandCluster, tmp_path: Path
) -> None:
    pages = tmp_path / "kept" / f"{terms().id}.pages"
    with ExitStack() as reading:
        await keep(engine, hand)
        await kept_store(engine, tmp_path / "kept", reading=reading)
        pages.mkdir()
        await engine.put(TERMS_KEY, replace(terms(), id="decaf").pack())
        await kept_store(engine, tmp_path / "kept")
        assert pages.exists()
    await keep(engine, hand)
    await kept_store(engine, tmp_path / "kept")
    assert not pages.exists()


async def test_a_server_that_has_lost_entries_loses_the_lead_or_is_refused(
    engine: FakeEngine, hand: HandCluster, tmp_path: Path
) -> None:
    await engine.put(STATE_KEY, StateRecord(doing="crawl", run=RUN, reason="").pack())
    await keep(engine, hand)
    before = (await kept_store(engine, tmp_path / "kept")).store
    told = ShardFacts(1, run=RUN, entry=(await engine.log_span(1)).last)
    await BatchExchange(engine, ShardPlace(1, SHARDS), RUN).tell(told)
    engine.servers.forgot[1] = 1
    assert (await kept_store(engine, tmp_path / "kept")).store == before
    assert engine.servers.forgot[1] == 0
    await BatchExchange(engine, ShardPlace(1, SHARDS), RUN).tell(ShardFacts(1, entry=99))
    with pytest.raises(EngineUnavailable, match=r"entry 1\b.* 99 "):
        await gather_cluster(engine, tmp_path / "all.db")


async def test_a_shard_that_no_node_has_begun_has_no_pages(
    engine: FakeEngine, stack: ExitStack, tmp_path: Path
) -> None:
    hand = HandCluster(tmp_path / "shards", SHARDS, stack)
    shard = hand.of(URLS[0])
    number = shard.terms.shard
    hand.seeds(URLS[:1])
    shard.read(URLS[0], URLS[1:6])
    for other in (1, 2):
        shard.send((number + other) % SHARDS)
    hand.commit()
    shard.store.compact()
    await store_snapshot(engine, number, shard.path, 0)
    found = await gather_cluster(engine, tmp_path / "all.db")
    assert (found.shards, found.pages) == (1, 6)
    assert found.under_way > 0
    assert audit(tmp_path / "all.db").is_intact


@pytest.mark.parametrize(
    ("begun", "message"),
    [
        (None, "no crawl yet"),
        (terms(version=1), "minicrawl 0"),
        (terms(), "no pages yet"),
    ],
)
async def test_without_pages_of_this_version_nothing_is_gathered_and_the_error_says_why(
    begun: TermsRecord | None, message: str, tmp_path: Path
) -> None:
    engine = FakeEngine()
    if begun is not None:
        await begin(engine, begun)
    with pytest.raises(UsageError, match=message):
        await gather_cluster(engine, tmp_path / "all.db")
    assert list(tmp_path.iterdir()) == []
