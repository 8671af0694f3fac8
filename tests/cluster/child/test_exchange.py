"""Facts that shards tell each other over the fake engine, with a clock that the test sets."""

import asyncio
import json

import pytest

from minicrawl.cluster.records import RecordError, ShardFacts
from minicrawl.cluster.terms import last_told
from minicrawl.cluster.traffic.exchange import FRESH_S, BatchExchange
from minicrawl.opic.ledger.channels import ShardPlace
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault

pytestmark = pytest.mark.anyio

RUN = 1


async def tell(teller: BatchExchange, listener: BatchExchange, facts: ShardFacts) -> None:
    """Tell these facts until they are heard: a listener that has just begun may miss them."""
    while listener.told.get(facts.shard) != facts:
        await teller.tell(facts)
        await asyncio.sleep(0)


async def test_old_facts_of_a_shard_are_forgotten() -> None:
    servers, clock = FakeServers(), [100.0]
    one, other = (
        BatchExchange(FakeEngine(servers), ShardPlace(shard, 2), RUN, lambda: clock[0])
        for shard in range(2)
    )
    listening = asyncio.create_task(one.listen())
    await tell(other, one, ShardFacts(1, fetched=5, run=RUN))
    clock[0] += FRESH_S
    assert set(one.told) == {1}
    clock[0] += 0.1
    assert one.told == {}
    await tell(other, one, ShardFacts(1, fetched=6, run=RUN))
    listening.cancel()


async def test_facts_are_stored_once_a_second_and_at_the_end() -> None:
    servers, clock = FakeServers(), [100.0]
    engine = FakeEngine(servers)
    exchange = BatchExchange(engine, ShardPlace(0, 2), RUN, lambda: clock[0])

    async def kept_after(fetched: int, *, are_last: bool = False) -> int:
        await exchange.tell(ShardFacts(0, fetched=fetched), are_last=are_last)
        (kept,) = await engine.keys("told.")
        return ShardFacts.unpack("told", kept.value or b"").fetched

    assert await kept_after(1) == 1
    clock[0] += 0.5
    assert await kept_after(2) == 1
    clock[0] += 0.5
    assert await kept_after(3) == 3
    assert await kept_after(4, are_last=True) == 4
    assert len(servers.said) == 4


async def test_facts_that_could_not_be_stored_are_stored_the_next_time() -> None:
    servers = FakeServers()
    exchange = BatchExchange(FakeEngine(servers), ShardPlace(0, 2), RUN)
    servers.faults = [Fault.BEFORE]
    await exchange.tell(ShardFacts(0))
    assert not servers.values
    await exchange.tell(ShardFacts(0))
    assert set(servers.values) == {"told.0"}


async def test_the_next_holder_reads_the_last_facts_of_its_shard() -> None:
    servers, place = FakeServers(), ShardPlace(0, 2)
    engine, facts = FakeEngine(servers), ShardFacts(0, entry=7, run=RUN)
    assert await last_told(engine, 0) == ShardFacts(0)
    await BatchExchange(engine, place, RUN).tell(facts)
    assert await last_told(engine, 0) == facts
    await engine.put("told.0", b"no facts")
    assert await last_told(engine, 0) == ShardFacts(0)


def test_a_sketch_with_more_cash_than_can_exist_is_refused() -> None:
    rich = json.loads(ShardFacts(0, sketch={1023: 1}).pack())
    assert ShardFacts.unpack("told", json.dumps(rich).encode()).sketch == {1023: 1}
    with pytest.raises(RecordError, match="more cash"):
        ShardFacts.unpack("told", json.dumps(rich | {"sketch": {"9000": 1 << 40}}).encode())
