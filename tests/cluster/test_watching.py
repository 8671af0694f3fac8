"""What a watch of a cluster shows, over the fake engine."""

import asyncio

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


def test_what_ended_shards_told_counts_whenever_the_run_becomes_known() -> None:
    async def work() -> int:
        engine = FakeEngine()
        for entry in (told(0), told(1), told(2, run=1)):
            assert entry.value is not None
            await engine.put(entry.key, entry.value)
        watch = ClusterWatch(engine)
        watch.begin()
        await asyncio.sleep(0.05)  # what was told is heard, most likely
        ended = StateRecord(doing=CrawlActivity.ENDED, run=RUN, reason="budget")
        await engine.put(TERMS_KEY, TERMS.pack())
        await engine.put(STATE_KEY, ended.pack())
        while watch._seen.terms is None or watch.status().fetched < 200:
            await asyncio.sleep(0.01)
        await watch.end()
        return watch.status().fetched

    assert asyncio.run(asyncio.wait_for(work(), 60)) == 200


def test_the_level_is_the_one_that_shards_apply() -> None:
    """Each shard counts for whole pages: two of 16.2 a second are worth 34."""
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
