"""Shards together never exceed the pace of an address, whatever engine and holders do."""

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicrawl import Event, Warned
from minicrawl.cluster.traffic.addresses import ADDRESS_PREFIX, IDLE_S, ShardAddresses
from minicrawl.config import Politeness
from minicrawl.crawl.hosts.addresses import FIRST, AddressPacing, address_delay
from minicrawl.crawl.hosts.crawl_pace import CRAWL, CrawlPace
from minicrawl.opic.ledger.channels import ShardPlace
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault
from tests.crawl.jumping_clock import Loop

pytestmark = pytest.mark.anyio

SHARDS, MOST, PACE_S = 4, 8, 0.1
ADDRESS = "192.0.2.1"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Run the tests in loops whose time jumps."""
    return "asyncio", {"loop_factory": Loop}


class Holder:
    """Holder of a shard, with its pacing and a clock that the test sets."""

    def __init__(self, servers: FakeServers, shard: int, generation: int = 1) -> None:
        self.servers, self.shard, self.generation, self.now = servers, shard, generation, 0.0
        self.heard: list[Event] = []
        politeness = Politeness(per_address=MOST, address_delay_s=PACE_S, max_rate="10")
        self.pacing = AddressPacing(MOST, address_delay(politeness))
        clock = SimpleNamespace(now=lambda: self.now)
        self.pace = CrawlPace(politeness, cast(Any, clock))
        self.has_pages = True
        context = SimpleNamespace(clock=clock, emit=self.heard.append, wake=lambda: None)
        hosts = SimpleNamespace(addresses=self.pacing, pace=self.pace)
        self.addresses = ShardAddresses(
            *(cast(Any, context), cast(Any, hosts), ShardPlace(shard, SHARDS)),
            *(FakeEngine(servers), generation, lambda: self.has_pages),
        )
        self.task = asyncio.create_task(self.addresses.run())

    @property
    def share(self) -> float:
        return self.addresses.share_of(ADDRESS)

    def want(self) -> None:
        """Let a page wait for the address."""
        if not self.pacing.has_room(ADDRESS, 1, self.now):
            self.pacing.wait(ADDRESS, 1, FIRST, self.now)

    def ask(self) -> None:
        self.now += PACE_S * SHARDS
        assert self.pacing.admit(self.now) == [1]
        self.pacing.begin(ADDRESS, self.now)

    async def end(self) -> None:
        """End without any clean-up, as a killed process does."""
        self.task.cancel()
        await asyncio.wait((self.task,))

    async def next(self) -> "Holder":
        """Kill this holder, and return the next one of the shard."""
        await self.end()
        return Holder(self.servers, self.shard, self.generation + 1)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.1)


@pytest.fixture
def servers() -> FakeServers:
    return FakeServers()


Hold = Callable[..., Holder]


@pytest.fixture
def hold(servers: FakeServers) -> Hold:
    """Return a function that starts the holder of a shard; it ends with the loop of the test."""
    return partial(Holder, servers)


async def test_a_shard_alone_has_the_pace_of_one_machine_and_several_have_even_parts(
    hold: Hold,
) -> None:
    one, other = hold(0), hold(2)
    one.want()
    await until(lambda: one.share == 1)
    one.ask()
    assert not one.pacing.has_room(ADDRESS, 1, one.now + PACE_S - 0.01)
    assert one.pacing.has_room(ADDRESS, 1, one.now + PACE_S)
    other.want()
    await until(lambda: (one.share, other.share) == (0.5, 0.5))
    other.ask()
    assert not other.pacing.has_room(ADDRESS, 1, other.now + 2 * PACE_S - 0.01)
    assert other.pacing.has_room(ADDRESS, 1, other.now + 2 * PACE_S)


async def test_a_new_shard_has_no_share_until_the_other_has_ended_half_of_its_requests(
    hold: Hold,
) -> None:
    one, other = hold(0), hold(1)
    one.want()
    await until(lambda: one.share == 1)
    one.ask()
    for _ in range(MOST - 1):
        one.now += PACE_S
        one.pacing.begin(ADDRESS, one.now)
    other.want()
    await until(lambda: one.share == 0.5)
    for _ in range(MOST // 2):
        assert other.share == 0
        assert not other.pacing.has_room(ADDRESS, 1, 1000)
        one.pacing.end(ADDRESS)
        await asyncio.sleep(1)
    await until(lambda: other.share == 0.5)


async def test_the_share_of_a_killed_holder_stays_taken_until_the_next_one_gives_it_up(
    hold: Hold,
) -> None:
    one, other = hold(0), hold(1)
    one.want()
    await until(lambda: one.share == 1)
    await one.end()
    other.want()
    for _ in range(50):
        await asyncio.sleep(1)
        assert other.share == 0
    await one.next()  # this holder has no page for the address
    await until(lambda: other.share == 1)


async def test_a_former_holder_changes_no_record_and_loses_its_share(
    hold: Hold, servers: FakeServers
) -> None:
    late, new = hold(0), hold(0, generation=2)
    late.want()
    await until(lambda: late.share == 1)
    new.want()
    await until(lambda: new.share == 1)
    record = servers.values[f"{ADDRESS_PREFIX}{ADDRESS}"]
    # Examined now: the next turn of a shard that lags is some time off.
    late.addresses._to_examine.put_nowait(ADDRESS)
    await until(lambda: late.share == 0)
    assert servers.values[record.key] == record


async def test_a_shard_without_requests_leaves_its_share_to_the_others(hold: Hold) -> None:
    one, other = hold(0), hold(1)
    for holder in (one, other):
        holder.want()
    await until(lambda: (one.share, other.share) == (0.5, 0.5))
    one.ask()
    one.pacing.end(ADDRESS)
    one.now += IDLE_S + 1
    await until(lambda: (one.share, other.share) == (0, 1))
    one.want()
    await until(lambda: (one.share, other.share) == (0.5, 0.5))


@pytest.mark.parametrize("record", [b'{"parts": "all"}', b'{"parts": {"9": [0, 1]}}'])
async def test_an_address_with_an_invalid_record_gets_no_requests_and_a_warning(
    hold: Hold, servers: FakeServers, record: bytes
) -> None:
    await FakeEngine(servers).put(f"{ADDRESS_PREFIX}{ADDRESS}", record)
    one = hold(0)
    await FakeEngine(servers).broadcast("look.0.at", b"[" * 9000)
    one.want()
    await until(lambda: bool(one.heard))
    assert isinstance(one.heard[0], Warned)
    assert ADDRESS in one.heard[0].text
    assert one.share == 0


async def test_addresses_without_a_delay_are_not_shared(hold: Hold, servers: FakeServers) -> None:
    one = hold(0)
    one.pacing.change(lambda _name: 0.0)
    assert one.pacing.has_room("127.0.0.1", 1, 0)
    one.pacing.begin("127.0.0.1", 0)
    assert one.pacing.has_room("127.0.0.1", 1, 0)
    assert not servers.values


@pytest.mark.parametrize("seed", range(6))
async def test_shares_never_exceed_the_whole_with_faults_and_kills_and_end_even(
    seed: int,
) -> None:
    chance, servers = Random(seed), FakeServers(seed)
    holders = [Holder(servers, shard) for shard in range(SHARDS)]
    for _ in range(150):
        shard = chance.randrange(SHARDS)
        match chance.randrange(5):
            case 0 | 1:
                holders[shard].want()
            case 2:
                holders[shard] = await holders[shard].next()
            case 3:
                servers.faults += [chance.choice((Fault.BEFORE, Fault.AFTER, None))]
            case 4:
                await asyncio.sleep(chance.choice((0, 0.1, 1)))
        assert sum(holder.share for holder in holders) <= 1
    for holder in holders:
        holder.want()
    await until(lambda: all(holder.share == 1 / SHARDS for holder in holders))


async def test_the_rate_of_the_whole_crawl_is_shared_by_the_shards_that_have_pages(
    hold: Hold,
) -> None:
    one, other, idle = hold(0), hold(2), hold(3)
    idle.has_pages = False

    def of_crawl(holder: Holder) -> float:
        holder.pace.wait_s(holder.now)  # requests a share, as each round of the loop does
        return holder.addresses.share_of(CRAWL)

    assert one.pace.wait_s(one.now) > 0
    await until(lambda: of_crawl(one) == 1)
    one.now += 0.1
    assert one.pace.wait_s(one.now) == 0
    one.pace.begin(one.now)
    assert one.pace.wait_s(one.now) == pytest.approx(0.1)
    await until(lambda: of_crawl(other) == of_crawl(one) == 0.5)
    assert of_crawl(idle) == 0
    assert one.pace.wait_s(one.now) == pytest.approx(0.2)
    other.pace.begin(other.now)
    assert other.pace.wait_s(other.now) >= 0.2
    other.has_pages = False
    other.now += 60
    await until(lambda: of_crawl(one) == 1)
