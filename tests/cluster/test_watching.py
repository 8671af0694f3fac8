"""The watch of a cluster shows its facts, over the fake engine."""

import asyncio
from dataclasses import replace

import pytest

from minicrawl.cluster.cash_threshold import TELL_S
from minicrawl.cluster.overview import ClusterStatus, ClusterWatch, CrawlView
from minicrawl.cluster.records import (
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    CrawlActivity,
    KeyEntry,
    ShardFacts,
    StateRecord,
)
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.cluster.traffic.admission import AdmissionThreshold
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.money import UNIT
from minicrawl.store.records import StoreTerms
from tests.cluster.fake_engine import FakeEngine
from tests.cluster.node.test_leases import lease, record
from tests.crawl.jumping_clock import Loop

RUN = 2
TERMS = TermsRecord(id="1", format=1, schema=1, version="1", shards=3, settings={}, seeds="seeds")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Run the tests in loops whose time jumps."""
    return "asyncio", {"loop_factory": Loop}


def told(shard: int, run: int = RUN) -> KeyEntry:
    content = ShardFacts(shard, fetched=100, run=run).pack()
    return KeyEntry(f"{TOLD_PREFIX}{shard}", content, 0)


@pytest.mark.anyio
async def test_facts_of_the_run_that_came_before_its_number_count() -> None:
    engine = FakeEngine()
    early = (told(0), told(1), told(2, run=1))
    for entry in early:
        await engine.put(entry.key, entry.value or b"")
    watch = ClusterWatch(engine)
    await watch.begin()
    # The watch shows news only once it has read all that was there before.
    while len(watch.crawl._told) < len(early):
        await asyncio.sleep(0)
    ended = StateRecord(doing=CrawlActivity.ENDED, run=RUN, reason="budget")
    await engine.put(TERMS_KEY, TERMS.pack())
    await engine.put(STATE_KEY, ended.pack())
    while watch.crawl.terms is None or watch.crawl.state.run != RUN:
        await asyncio.sleep(0)
    await watch.end()
    assert watch.status().fetched == 200


def test_a_crawl_that_ended_shows_all_its_pages_before_the_last_facts_arrive() -> None:
    seen = ClusterWatch(FakeEngine())
    ended = StateRecord(doing=CrawlActivity.ENDED, run=RUN, reason="budget", ended_with=300)
    for entry in (
        KeyEntry(TERMS_KEY, TERMS.pack(), 1),
        KeyEntry(STATE_KEY, ended.pack(), 2),
        *(told(shard) for shard in range(2)),
    ):
        seen.hear(entry, 0.0)
    assert seen.status(0.0).fetched == 300


@pytest.mark.anyio
async def test_the_last_status_has_the_pages_fetched_until_shards_heard_of_the_end() -> None:
    engine, shown = FakeEngine(), list[ClusterStatus]()
    ended = StateRecord(doing=CrawlActivity.ENDED, run=RUN, reason="budget", ended_with=70)
    await engine.put(TERMS_KEY, TERMS.pack())
    await engine.put("node.a", record("a").pack())
    await engine.put("lease.0", lease("a").pack())
    await engine.put(STATE_KEY, replace(ended, doing=CrawlActivity.RUNNING).pack())
    over = asyncio.create_task(ClusterWatch(engine).until_over(RUN, shown.append))
    while not shown or 0 in shown[-1].unheld:
        await asyncio.sleep(0.1)
    await engine.put(STATE_KEY, ended.pack())
    while not shown[-1].is_over:
        await asyncio.sleep(0.1)
    assert shown[-1].fetched == 70
    await engine.put(told(0).key, told(0).value or b"")
    await engine.put("lease.0", replace(lease("a"), session="").pack())
    found = await over
    assert (found.fetched, found.nodes[0].shards, found.nodes[0].fetched) == (100, (0,), 100)


def test_facts_of_a_holder_that_was_cut_off_do_not_replace_those_of_the_next_one() -> None:
    view = CrawlView(TERMS)
    view.hear(KeyEntry(STATE_KEY, StateRecord(doing="running", run=RUN, reason="").pack(), 2))
    before, after = ShardFacts(0, 101, entry=7, run=RUN), ShardFacts(0, 99, entry=8, run=RUN)
    for facts in (before, after, before):
        view.hear(KeyEntry(f"{TOLD_PREFIX}0", facts.pack(), 0))
    assert view.told == {0: after}


def test_facts_of_earlier_runs_and_invalid_ones_are_ignored() -> None:
    seen = CrawlView(TERMS)
    seen.hear(KeyEntry(STATE_KEY, StateRecord(doing="running", run=RUN, reason="").pack(), 2))
    seen.hear(told(0))
    seen.hear(told(0, RUN - 1))
    seen.hear(KeyEntry(f"{TOLD_PREFIX}1", b"nonsense", 0))
    assert [facts.fetched for facts in seen.told.values()] == [100]
    seen.hear(KeyEntry(STATE_KEY, StateRecord(doing="running", run=1, reason="").pack(), 1))
    assert seen.state.run == RUN


def test_the_cash_threshold_shown_is_the_one_that_shards_apply() -> None:
    # The pace of each shard counts in whole pages: two with 16.2 a second are worth 34.
    facts = [
        ShardFacts(0, pace=16.2, sketch={70: 67}, run=RUN),
        ShardFacts(1, pace=16.2, sketch={60: 9}, run=RUN),
    ]
    level = AdmissionThreshold(Frontier(StoreTerms(), lambda _: Spending(())), tuple, lambda *_: 1)
    level.hear(facts, TELL_S)
    seen = ClusterWatch(FakeEngine())
    for entry in (
        KeyEntry(TERMS_KEY, TERMS.pack(), 0),
        KeyEntry(STATE_KEY, StateRecord(doing=CrawlActivity.RUNNING, run=RUN, reason="").pack(), 0),
        *(KeyEntry(f"{TOLD_PREFIX}{one.shard}", one.pack(), 0) for one in facts),
    ):
        seen.hear(entry, 0.0)
    assert seen.status(0.0).level == level.key / UNIT
