"""A stopped crawl gets another number of shards, all at once or not at all."""

import asyncio
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.cluster.gathering.gather import Gathered
from minicrawl.cluster.gathering.kept_store import gather_cluster
from minicrawl.cluster.gathering.resharding import reshard
from minicrawl.cluster.records import (
    GRANTS_KEY,
    STATE_KEY,
    CrawlActivity,
    GrantsRecord,
    KeyEntry,
    StateRecord,
)
from minicrawl.cluster.replica.restoring import restore
from minicrawl.cluster.terms import begin_crawl, seeds_of, state_of, terms_of
from minicrawl.errors import UsageError
from minicrawl.report.snapshot import snapshot
from minicrawl.store import tables
from minicrawl.store.questions import all_urls
from minicrawl.store.reader import reading
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.hand_shards import HandCluster
from tests.cluster.test_gathering import links_of, rows_of
from tests.cluster.test_restoring import SHARDS, URLS, keep, terms

MANY = 9
"""More shards than there are sites, so that some have no pages."""
STOPPED = StateRecord(doing=CrawlActivity.STOPPED, run=2, reason="by the user", ended_with=3)


class Killed(BaseException):
    """The command was killed."""


class Mortal(FakeEngine):
    """Engine of a command that is killed at its n-th call, before or after that is done."""

    lives = 0

    def _call(self):  # type: ignore[no-untyped-def]
        Mortal.lives -= 1
        if not Mortal.lives:
            raise Killed
        return super()._call()

    @property
    def pages(self) -> "Mortal":
        return Mortal(self.servers, self.servers.pages)

    @property
    def snapshots(self) -> "Mortal":
        return Mortal(self.servers, self.servers.snapshots)


def continued(servers: FakeServers) -> FakeEngine:
    engine = FakeEngine(servers)
    engine.name = "crawl--new"
    return engine


async def stopped_crawl(folder: Path, engine: FakeEngine, reads: list[int]) -> None:
    """Crawl some pages, and leave cash in outboxes and under way."""
    with ExitStack() as stack:
        hand = HandCluster(folder, SHARDS, stack)
        hand.seeds(URLS[:4], 1)
        for read in reads:
            url = URLS[read % len(URLS)]
            if hand.knows(url):
                hand.of(url).read(url, [URLS[read * step % len(URLS)] for step in (3, 5, 7)])
            if read % 3:
                hand.send_all(of_pot=read)
            if read % 5 == 0:
                hand.deliver(1)
        for shard in hand.shards:
            shard.batch.counters["fetched"] = len(shard.frontier)
        await keep(engine, hand)
    await begin_crawl(engine, terms(), URLS[:4], STOPPED)


async def of_crawl(engine: FakeEngine, folder: Path) -> tuple[Gathered, tuple[object, ...]]:
    store = folder / "all.db"
    made = await gather_cluster(engine, store)
    with snapshot(store) as seen:
        fetched = tables.counters(seen.connection)["fetched"]
        assert seen.frontier.ledger.missing() == 0
        return made, (seen.frontier.ledger.minted, rows_of(seen), links_of(seen), fetched)


async def resharded(folder: Path, reads: list[int], shards: int, lives: int) -> None:
    """Reshard and be killed, perhaps. The crawl is whole, in its old shards or in the new ones."""
    old, new = FakeServers(), FakeServers()
    await stopped_crawl(folder / "shards", FakeEngine(old), reads)
    _, before = await of_crawl(FakeEngine(old), folder / "before")
    Mortal.lives = lives
    target = Mortal(new)
    target.name = "crawl--new"
    with suppress(Killed):
        await reshard(Mortal(old), target, shards, folder)
    state, _ = await state_of(FakeEngine(old))
    engine = continued(new) if state.continued_as else FakeEngine(old)
    made, after = await of_crawl(engine, folder / "after")
    assert after == before
    assert (made.in_outboxes, made.under_way) == (0, 0) or not state.continued_as
    assert (await terms_of(engine))[0].shards == (shards if state.continued_as else SHARDS)
    if state.continued_as:
        assert state.continued_as == "crawl--new"
        again, _ = await state_of(engine)
        entry = await engine.get(GRANTS_KEY)
        grants = GrantsRecord.of(entry)
        assert grants is not None
        assert again.is_over
        assert sum(grants.granted.values()) == again.ended_with
        assert await seeds_of(engine, (await terms_of(engine))[0].seeds) == URLS[:4]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from((2, 4, MANY)),
    st.integers(0, 90),
)
def test_a_reshard_that_is_killed_leaves_one_whole_sharding_with_all_cash(
    reads: list[int], shards: int, lives: int
) -> None:
    with TemporaryDirectory() as name:
        asyncio.run(resharded(Path(name), reads, shards, lives))


def test_a_reshard_carries_cash_links_budget_and_seeds(tmp_path: Path) -> None:
    asyncio.run(resharded(tmp_path, [0, 9, 5, 12], 5, -1))


@pytest.mark.anyio
async def test_pages_are_taken_down_on_the_way(tmp_path: Path) -> None:
    old, target = FakeServers(), continued(FakeServers())
    await stopped_crawl(tmp_path / "shards", FakeEngine(old), [0, 9, 5, 12])
    _, (minted, *_) = await of_crawl(FakeEngine(old), tmp_path / "before")
    await reshard(FakeEngine(old), target, MANY, tmp_path, gone=[URLS[1]])
    for shard in range(MANY):
        await restore(target, shard, store := tmp_path / "one.db")
        with reading(store) as connection:
            assert tables.taken_down(tables.counters(connection)).covers(URLS[1])
    _, (minted_after, *_) = await of_crawl(target, tmp_path / "after")
    assert minted_after == minted
    with reading(tmp_path / "after" / "all.db") as connection:
        urls = {url for _, url in all_urls(connection)}
        assert tables.taken_down(tables.counters(connection)).covers(URLS[1])
    assert not urls & {URLS[1]}
    assert await seeds_of(target, (await terms_of(target))[0].seeds) == [URLS[0], *URLS[2:4]]


@pytest.mark.anyio
async def test_a_running_crawl_and_one_that_is_continued_meanwhile_keep_their_shards(
    tmp_path: Path,
) -> None:
    servers = FakeServers()
    engine = FakeEngine(servers)
    await stopped_crawl(tmp_path / "shards", engine, [0])
    running = replace(STOPPED, doing=CrawlActivity.RUNNING)
    await engine.put(STATE_KEY, running.pack())
    with pytest.raises(UsageError, match="stop it first"):
        await reshard(engine, continued(FakeServers()), 4, tmp_path)
    await engine.put(STATE_KEY, STOPPED.pack())
    with pytest.raises(UsageError, match="3 shards already"):
        await reshard(engine, continued(FakeServers()), SHARDS, tmp_path)

    class Restarted(FakeEngine):
        async def update(self, key: str, value: bytes, revision: int) -> int:
            servers.values[STATE_KEY] = KeyEntry(STATE_KEY, running.pack(), revision + 1)
            return await super().update(key, value, revision)

    target = continued(FakeServers())
    with pytest.raises(UsageError, match="continued the crawl meanwhile"):
        await reshard(Restarted(servers), target, 4, tmp_path)
    assert (await state_of(engine))[0] == running
    assert not any(log.contents for log in target.servers.snapshots.values())
    made, _ = await of_crawl(engine, tmp_path / "after")
    assert made.shards == SHARDS
