"""The watch of a cluster shows its facts, over the fake engine."""

import asyncio

import pytest

from minicrawl.cluster.assignment import TELL_S, ShardFacts, as_bytes
from minicrawl.cluster.engine import KeyEntry
from minicrawl.cluster.overview import ClusterOverview, ClusterWatch
from minicrawl.cluster.terms import (
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    CrawlActivity,
    StateRecord,
    TermsRecord,
)
from minicrawl.cluster.together import AdmissionThreshold
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger import Spending
from minicrawl.opic.money import UNIT
from minicrawl.store.records import StoreTerms
from tests.cluster.fake_engine import FakeEngine

RUN = 2
TERMS = TermsRecord(id="1", format=1, schema=1, version="1", shards=3, settings={}, seeds="seeds")


def told(shard: int, run: int = RUN) -> KeyEntry:
    content = as_bytes(ShardFacts(shard, fetched=100))
    return KeyEntry(f"{TOLD_PREFIX}{run}.{shard}", content, 0)


@pytest.mark.anyio
async def test_facts_of_the_run_that_came_before_its_number_count() -> None:
    engine = FakeEngine()
    early = (told(0), told(1), told(2, run=1))
    for entry in early:
        await engine.put(entry.key, entry.value or b"")
    watch = ClusterWatch(engine)
    watch.begin()
    while len(watch._early) < len(early):
        await asyncio.sleep(0)
    ended = StateRecord(doing=CrawlActivity.ENDED, run=RUN, reason="budget")
    await engine.put(TERMS_KEY, TERMS.pack())
    await engine.put(STATE_KEY, ended.pack())
    while watch._seen.terms is None or watch._early:
        await asyncio.sleep(0)
    await watch.end()
    assert watch.status().fetched == 200


def test_the_cash_threshold_shown_is_the_one_that_shards_apply() -> None:
    # The pace of each shard counts in whole pages: two with 16.2 a second are worth 34.
    facts = [ShardFacts(0, pace=16.2, sketch={70: 67}), ShardFacts(1, pace=16.2, sketch={60: 9})]
    level = AdmissionThreshold(Frontier(StoreTerms(), lambda _: Spending(())), tuple, lambda *_: 1)
    level.hear(facts, TELL_S)
    seen = ClusterOverview()
    for entry in (
        KeyEntry(TERMS_KEY, TERMS.pack(), 0),
        KeyEntry(STATE_KEY, StateRecord(doing=CrawlActivity.RUNNING, run=RUN, reason="").pack(), 0),
        *(KeyEntry(f"{TOLD_PREFIX}{RUN}.{one.shard}", as_bytes(one), 0) for one in facts),
    ):
        seen.hear(entry)
    assert seen.status(frozenset()).level == level.key / UNIT
