"""Simulated nodes that crawl a web together, by hand and against one machine."""

from collections.abc import Sequence

import numpy as np
import pytest

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.importance_curves import Crawls, draw_seeds
from minicrawl.lab.webs import Model, synthetic_web
from minicrawl.opic.ledger.ledger import READ
from tests.bench.cluster.against_one_machine import ClusterPoint, Staleness, cluster_points
from tests.bench.cluster.estimated_traffic import (
    SIMULATED_SHARDS,
    RealCrawl,
)
from tests.bench.cluster.simulated_nodes import ShardedCrawl, SimulatedNodes
from tests.bench.cluster.simulated_shard import owners
from tests.cluster.shards.audit import missing, statement_of, under_way

EDGE = 0.15
CHAIN = [[1], [2], [3], []]
"""Links of pages of which each links to the next."""


def crawled(
    links: Sequence[Sequence[int]], owner_of: Sequence[int], settings: SimulatedNodes, budget: int
) -> ShardedCrawl:
    crawl = ShardedCrawl(links, owner_of, EDGE, settings)
    crawl.start([0], 10)
    crawl.fetch(budget)
    return crawl


def test_a_page_of_another_shard_is_read_when_its_batch_arrives() -> None:
    """Page 0 is read at tick 0, its batch arrives at tick 1; late batches wait 3 ticks longer."""
    at_once = crawled(CHAIN, [0, 1, 0, 1], SimulatedNodes(nodes=2, shards=2, wait=0), 4)
    assert at_once.fetched == [0, 1, 2, 3]
    assert (at_once.traffic.ticks, at_once.traffic.batches) == (4, 3)
    late = crawled(CHAIN, [0, 1, 0, 1], SimulatedNodes(nodes=2, shards=2, wait=3), 4)
    assert late.fetched == [0, 1, 2, 3]
    assert late.traffic.ticks == 4 + 3 * 3
    assert late.traffic.idle > at_once.traffic.idle


def test_a_node_with_poor_pages_is_idle_while_others_are_richer() -> None:
    """Page 1 gives little to the pages of shard 1, while two rich pages wait in shard 0."""
    links = [[1, 2, 3], [4, 5, 6, 7], [], [], [], [], [], []]
    owner_of = [0] * 4 + [1] * 4

    def order(headroom: int) -> list[int]:
        settings = SimulatedNodes(nodes=2, shards=2, wait=0, headroom=headroom)
        return crawled(links, owner_of, settings, 8).fetched

    assert order(0) == [0, 1, 2, 4, 3, 5, 6, 7]
    assert order(1) == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("headroom", [0, 2])
@pytest.mark.parametrize("wait", [0, 4])
def test_every_page_is_read_once_and_no_atom_is_lost(headroom: int, wait: int) -> None:
    web = synthetic_web(Model.COPYING, 600, seed=2)
    owner_of = owners(web, 8, 10)
    settings = SimulatedNodes(nodes=4, shards=8, wait=wait, tell=2, headroom=headroom)
    crawl = ShardedCrawl(list(web.graph.adjacency()), owner_of, EDGE, settings)
    crawl.start(draw_seeds(web, 1, 0), 100)
    fetched = crawl.fetch(10_000)
    assert len(fetched) == len(set(fetched)) > 300
    statements = [statement_of(shard.ledger, shard.shard.channels) for shard in crawl.shards]
    assert missing(statements) == under_way(statements) == 0
    own = sum(shard.ledger.own for shard in crawl.shards)
    assert own == len(fetched)
    for shard in crawl.shards:
        assert shard.ledger.missing() == 0
        read = shard.ledger.flags.count(READ)
        assert read == shard.ledger.own


def test_one_node_with_one_shard_reads_like_one_machine() -> None:
    web = synthetic_web(Model.COPYING, 2000, seed=3)
    links, seeds = list(web.graph.adjacency()), draw_seeds(web, 1, 0)
    alone = Exploration(web, links, np.zeros(len(links)), EDGE)
    alone.start(seeds, 0)
    settings = SimulatedNodes(nodes=1, shards=1, wait=0)
    together = ShardedCrawl(links, [0] * len(links), EDGE, settings)
    together.start(seeds, 0)
    expected = fetched(alone, ORDERS["greedy"](alone), 1000)
    found = together.fetch(1000)
    assert len(set(found) & set(expected)) > 980  # equal pages may swap


def real(nodes: int, wait_s: float = 1, pages: int = 10**9) -> RealCrawl:
    return RealCrawl(nodes=nodes, pages=pages, pace=100, wait_s=wait_s, transfers=1000)


def test_a_tick_reads_the_same_share_of_the_simulated_and_the_real_web() -> None:
    """1,000 nodes read 100,000 of 10^9 pages a second, so 10 nodes read 10 of 100,000 pages."""
    assert Staleness.of(real(1000), 100_000) == Staleness(10, 1.0)
    assert Staleness.of(real(10_000), 100_000).nodes == SIMULATED_SHARDS
    assert Staleness.of(real(10), 100_000) == Staleness(8, 80.0)
    assert Staleness.of(real(2), 100_000).nodes == 2
    settings = Staleness.of(real(1000, wait_s=60), 100_000).simulated(real(1000, wait_s=60), 8)
    assert (settings.wait, settings.tell, settings.headroom) == (60, 1, 8)


@pytest.fixture(scope="module")
def points() -> list[ClusterPoint]:
    told: list[float] = []
    web = synthetic_web(Model.COPYING, 1500, seed=1)
    found = cluster_points(
        web,
        crawls=Crawls(draws=2, seed=1, endowment=0, fractions=(0.1, 0.5)),
        wanted=[real(10), real(20), real(10_000, wait_s=300)],
        site_pages=100,
        headroom=2,
        progress=told.append,
    )
    assert told[-1] == 1
    return found


@pytest.mark.proof
def test_late_cash_costs_importance(points: list[ClusterPoint]) -> None:
    few, _, many = points
    assert few.one_machine == many.one_machine
    assert many.mass.mean[0] < few.mass.mean[0] <= few.one_machine.mean[0] + 0.01
    assert many.agreement.mean[0] < few.agreement.mean[0] <= 1
    assert many.under_way > 5 * few.under_way
    assert few.to_json()["tick_s"] == pytest.approx(few.tick_s)
