"""Pages are granted to shards that need them; over a bad engine, exactly the budget is fetched."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st

from minicrawl.cluster.engine import Fenced
from minicrawl.cluster.node.page_budget import (
    AHEAD_PARTS,
    AHEAD_S,
    LEAST_AHEAD,
    SHORTEST_S,
    ahead_s,
    new_grants,
)
from minicrawl.cluster.node.shared_budget import SharedBudget
from minicrawl.cluster.records import GRANTS_KEY, GrantsRecord, ShardFacts
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault

pytestmark = pytest.mark.anyio

SHARDS = 4


def need_of(spent: int, left: int, pace: float, *, wants_pages: bool = False) -> ShardFacts:
    return ShardFacts(0, fetched=spent, waiting=left, pace=pace, wants_pages=wants_pages)


class BudgetOfNode:
    """A node's view of the budget, and the crawls of its shards, which fetch all that they may."""

    def __init__(self, servers: FakeServers, leases: Mapping[int, int], budget: int = 20) -> None:
        self.servers, self.leases, self.budget = servers, dict(leases), budget
        self.shared = SharedBudget(FakeEngine(servers), SHARDS)
        self.fetched = dict.fromkeys(self.leases, 0)
        self.waiting = dict.fromkeys(self.leases, 500)
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """Awaited while a crawl is asked how many pages it has fetched."""

    def hear(self) -> None:
        if entry := self.servers.values.get(GRANTS_KEY):
            self.shared.hear(entry)

    async def share_out(self, *, is_wanted: bool = False) -> None:
        needs = {
            shard: need_of(fetched, self.waiting[shard], 0, wants_pages=is_wanted)
            for shard, fetched in self.fetched.items()
        }
        await self.shared.share_out(self.budget, self.leases, needs, self._give_back)

    async def _give_back(self, shard: int) -> int | None:
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.fetched[shard]

    def granted(self) -> dict[int, int]:
        return {
            one: self.shared.granted(one, generation) for one, generation in self.leases.items()
        }

    def fetch(self, most: int = 1000) -> None:
        for shard, pages in self.granted().items():
            wanted = min(self.waiting[shard], most, pages - self.fetched[shard])
            self.fetched[shard] += max(0, wanted)
            self.waiting[shard] -= max(0, wanted)


def written(servers: FakeServers) -> GrantsRecord:
    return GrantsRecord.unpack(GRANTS_KEY, servers.logs[SHARDS].contents[-1])


async def test_a_change_that_arrives_after_its_retry_is_refused() -> None:
    # A request may still be on its way when its sender gives it up.
    servers = FakeServers()
    node, engine = BudgetOfNode(servers, {0: 1}), FakeEngine(servers)
    await node.share_out()
    before = written(servers)
    servers.faults = [Fault.BEFORE]
    node.fetch(most=2)
    node.waiting[0] = 0
    await node.share_out()
    late = replace(before, entry=before.entry + 1, granted={0: 3}).pack()
    await node.share_out()
    node.waiting[0] = 500
    await node.share_out()
    assert node.granted()[0] > 2
    with pytest.raises(Fenced):
        await engine.append(SHARDS, before.entry, late)


async def test_a_new_holder_of_a_shard_has_no_pages_before_its_claim_is_written() -> None:
    servers = FakeServers()
    former, later = BudgetOfNode(servers, {0: 1}), BudgetOfNode(servers, {0: 2})
    await former.share_out()
    later.hear()
    assert later.granted() == {0: 0}
    await later.share_out()
    granted = later.granted()
    assert granted == {0: LEAST_AHEAD}
    former.fetch(most=2)
    former.waiting[0] = 0
    await former.share_out()  # the former holder was paused, and does not know of the new one
    later.hear()
    assert later.granted() == granted
    former.hear()
    assert former.granted() == {0: 0}
    await former.share_out()
    assert written(servers).generations == {0: 2}


async def test_an_earlier_holder_changes_no_grant_of_a_shard_that_was_claimed() -> None:
    # It has not heard yet that its lease is lost, and its crawl has fetched less.
    servers = FakeServers()
    earlier = BudgetOfNode(servers, {0: 1})
    await earlier.share_out()
    later = BudgetOfNode(servers, {0: 2})
    later.hear()
    await later.share_out()
    later.fetch()
    earlier.hear()
    earlier.waiting[0] = 0
    await earlier.share_out(is_wanted=True)
    later.hear()
    assert later.granted() == later.fetched


async def test_a_crawl_that_does_not_answer_keeps_what_it_was_granted() -> None:
    node = BudgetOfNode(FakeServers(), {0: 1})
    await node.share_out()

    async def silent(_shard: int) -> int | None:
        return None

    needs = {0: need_of(0, 0, 0)}
    await node.shared.share_out(20, node.leases, needs, silent)
    assert node.granted() == {0: LEAST_AHEAD}


async def test_a_node_is_short_of_pages_when_a_shard_will_soon_have_fetched_all_its_grant() -> None:
    node = BudgetOfNode(FakeServers(), {0: 1})
    await node.share_out()
    assert not node.shared.is_short(node.leases, {0: need_of(LEAST_AHEAD - 1, 5, 0)})
    assert node.shared.is_short(node.leases, {0: need_of(LEAST_AHEAD - 1, 5, 9)})
    assert node.shared.is_short(node.leases, {0: need_of(LEAST_AHEAD, 5, 0)})
    assert not node.shared.is_short(node.leases, {0: need_of(LEAST_AHEAD, 0, 0)})
    assert not node.shared.is_short(node.leases, {1: need_of(LEAST_AHEAD, 5, 0)})


@pytest.mark.parametrize("seed", range(20))
async def test_the_budget_is_fetched_exactly_with_faults_and_moves(seed: int) -> None:
    """Two nodes share it; shards move between them, and the engine fails before and after calls."""
    chance, servers, budget = Random(seed), FakeServers(), 60
    nodes = [
        BudgetOfNode(servers, {0: 1, 1: 1}, budget),
        BudgetOfNode(servers, {2: 1, 3: 1}, budget),
    ]
    for turn in range(400):
        node = chance.choice(nodes)
        if chance.random() < 0.7:
            node.hear()
        for shard in node.waiting:
            node.waiting[shard] = chance.choice((0, 3, 500))
        rules = (None, None, Fault.BEFORE, Fault.AFTER) if turn < 300 else (None,)
        servers.faults = [chance.choice(rules)]
        node.meanwhile = _turn_of_others(chance, nodes, node) if chance.random() < 0.3 else None
        await node.share_out(is_wanted=chance.random() < 0.5)
        servers.faults = []
        node.fetch(most=chance.choice((0, 1, 8)))
        assert fetched(nodes) <= budget
        if chance.random() < 0.1:
            _move(chance, nodes)
    assert fetched(nodes) == budget


def fetched(nodes: list[BudgetOfNode]) -> int:
    return sum(sum(node.fetched.values()) for node in nodes)


def _turn_of_others(
    chance: Random, nodes: list[BudgetOfNode], busy: BudgetOfNode
) -> Callable[[], Awaitable[None]]:
    """Return a turn in which the other node shares out and the busy one hears of it."""

    async def turn() -> None:
        busy.meanwhile = None
        other = next(node for node in nodes if node is not busy)
        other.meanwhile = None
        other.hear()
        await other.share_out()
        other.fetch(most=chance.choice((0, 8)))
        busy.hear()

    return turn


def _move(chance: Random, nodes: list[BudgetOfNode]) -> None:
    """Move a shard of one node to the other, with the pages that its log has counted."""
    giver, taker = chance.sample(nodes, 2)
    if giver.leases:
        shard = chance.choice(sorted(giver.leases))
        taker.leases[shard] = giver.leases.pop(shard) + 1
        taker.fetched[shard] = giver.fetched.pop(shard)
        taker.waiting[shard] = giver.waiting.pop(shard)


NEEDS = st.dictionaries(
    st.integers(0, 7),
    st.builds(need_of, st.integers(0, 50), st.integers(0, 300), st.integers(0, 90)),
)
GRANTED = st.dictionaries(st.integers(0, 7), st.integers(0, 60))


@pytest.mark.parametrize(
    ("budget", "granted", "needs", "new"),
    [
        pytest.param(1000, {}, {0: need_of(0, 500, 0)}, {0: LEAST_AHEAD}, id="slow"),
        pytest.param(9000, {0: 10}, {0: need_of(10, 5000, 50)}, {0: 610}, id="time ahead"),
        pytest.param(1000, {}, {0: need_of(0, 2, 50)}, {0: 2}, id="no more than wait"),
        pytest.param(20, {0: 12}, {0: need_of(4, 0, 0)}, {0: 4}, id="unspent pages back"),
        pytest.param(
            *(20, {0: 9, 1: 8}, {0: need_of(9, 50, 9), 1: need_of(8, 70, 9)}, {0: 10, 1: 9}),
            id="last pages one by one",
        ),
    ],
)
def test_a_shard_is_granted_the_pages_that_it_reads_soon(
    budget: int, granted: dict[int, int], needs: dict[int, ShardFacts], new: dict[int, int]
) -> None:
    assert new_grants(budget, granted, needs, 4) == new


def test_grants_are_for_less_time_ahead_towards_the_end_of_the_budget() -> None:
    assert ahead_s(10_000, 100) == AHEAD_S
    assert ahead_s(400, 100) == 400 / 100 / AHEAD_PARTS
    assert ahead_s(0, 100) == SHORTEST_S
    assert ahead_s(0, 0) == AHEAD_S
    need = {0: need_of(40, 500, 40)}
    assert new_grants(10_000, {0: 40}, need, 8, pace=160) == {0: 520}
    assert new_grants(680, {0: 40}, need, 8, pace=160) == {0: 80}


def test_a_slow_shard_gives_back_unspent_pages_that_others_want() -> None:
    reads_nothing, reads_slowly = need_of(4, 50, 0), need_of(4, 50, 1)
    wants = need_of(8, 70, 9)
    for slow in (reads_nothing, reads_slowly):
        granted = {0: 9, 1: 8}
        assert new_grants(17, granted, {0: slow, 1: wants}, 2, is_wanted=True) == {0: 4}
        assert new_grants(17, granted, {0: slow, 1: wants}, 2) == {}
    assert new_grants(15, {0: 7, 1: 8}, {0: reads_slowly, 1: wants}, 2, is_wanted=True) == {}


@given(st.integers(0, 200), GRANTED, NEEDS, st.booleans())
def test_grants_never_exceed_the_budget_and_are_never_below_the_pages_spent(
    budget: int, granted: dict[int, int], needs: dict[int, ShardFacts], is_wanted: bool
) -> None:
    after = granted | new_grants(budget, granted, needs, 8, is_wanted=is_wanted)
    assert sum(after.values()) <= max(budget, sum(granted.values()))
    for shard, need in needs.items():
        assert after.get(shard, 0) >= min(granted.get(shard, 0), need.spent)
