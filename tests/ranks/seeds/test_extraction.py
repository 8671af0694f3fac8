"""One core for each community: links inside hosts do not count, and no page is in two cores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import copying_web
from minicrawl.ranks.seeds import Core, CoreKind, CoreRule, between_hosts, extracted
from tests.graph.graphs import Link, graph_of, links_of, nodes_and_links

MAXIMAL = CoreRule(kind=CoreKind.MAXIMAL)


def pruned(graph: Csr) -> Csr:
    """Drop links inside hosts, where every page is a host of its own."""
    return between_hosts(graph, np.arange(graph.nodes))


def community(hubs: range, authorities: range) -> list[Link]:
    return [(hub, authority) for hub in hubs for authority in authorities]


# Three communities, the largest in the middle: 3 × 3, 5 × 4, 2 × 2.
PLANTED = [
    *community(range(3), range(3, 6)),
    *community(range(6, 11), range(11, 15)),
    *community(range(15, 17), range(17, 19)),
]


def shapes(cores: list[Core]) -> list[tuple[int, int]]:
    return [(len(core.hubs), len(core.authorities)) for core in cores]


def test_planted_communities_are_cores_the_strongest_first() -> None:
    graph = graph_of(19, PLANTED)
    cores = extracted(pruned(graph), 3, MAXIMAL)
    assert [(sorted(core.hubs), sorted(core.authorities)) for core in cores] == [
        ([6, 7, 8, 9, 10], [11, 12, 13, 14]),
        ([0, 1, 2], [3, 4, 5]),
        ([15, 16], [17, 18]),
    ]


def test_stray_links_between_communities_change_nothing() -> None:
    graph = graph_of(19, [*PLANTED, (0, 11), (15, 3), (6, 17)])
    assert shapes(extracted(pruned(graph), 3, MAXIMAL)) == [(5, 4), (3, 3), (2, 2)]


def test_there_are_as_many_cores_as_asked_for_or_communities() -> None:
    graph = graph_of(19, PLANTED)
    assert [len(extracted(pruned(graph), count)) for count in (0, 1, 3, 9)] == [0, 1, 3, 3]


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_a_graph_without_links_has_no_core(nodes: int) -> None:
    graph = graph_of(nodes, [])
    assert extracted(pruned(graph), 5) == []


def test_links_inside_a_host_do_not_count() -> None:
    graph = graph_of(4, [(0, 1), (1, 0), (1, 1), (1, 2), (3, 2), (2, 3)])
    hosts = np.array([7, 7, 8, 8])
    assert links_of(between_hosts(graph, hosts)) == [(1, 2)]
    (core,) = extracted(between_hosts(graph, hosts), 5)
    assert (core.hubs, core.authorities, core.best_hub, core.links) == ((1,), (2,), 1, 1)


def test_a_self_link_is_inside_a_host() -> None:
    graph = graph_of(2, [(0, 0), (1, 1)])
    assert extracted(pruned(graph), 5) == []


def test_a_core_removes_its_pages_and_their_links() -> None:
    # The first core takes the best authorities, 2 and 5; the link from 1 to 3 is left.
    graph = graph_of(7, [*community(range(2), range(2, 4)), (0, 5), (4, 2), (4, 5), (4, 6)])
    first, second = extracted(pruned(graph), 2, MAXIMAL)
    assert (first.hubs, first.authorities) == ((0, 4), (2, 5))
    assert second.hubs == (1,)
    assert second.authorities == (3,)


def test_progress_rises_to_1() -> None:
    graph = graph_of(19, PLANTED)
    told: list[float] = []
    extracted(pruned(graph), 3, tell=told.append)
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


@given(nodes_and_links(), st.sampled_from(CoreKind))
def test_no_page_is_in_two_cores_and_no_link_between_hosts_is_left(
    case: tuple[int, list[Link]], kind: CoreKind
) -> None:
    graph = graph_of(*case)
    cores = extracted(pruned(graph), 99, CoreRule(kind=kind))
    taken = [{*core.hubs, *core.authorities} for core in cores]
    assert sum(map(len, taken)) == len(set().union(*taken))
    for source, target in case[1]:
        assert source == target or {source, target} & set().union(*taken)


@given(nodes_and_links(), st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_the_links_left_are_those_between_hosts_and_between_pages_of_no_earlier_core(
    case: tuple[int, list[Link]], drawn: list[int]
) -> None:
    nodes, links = case
    hosts = [drawn[node % len(drawn)] for node in range(nodes)]
    taken: set[int] = set()
    for core in extracted(between_hosts(graph_of(*case), np.array(hosts, dtype=np.int64)), 99):
        assert core.links_left == sum(
            hosts[source] != hosts[target] and taken.isdisjoint((source, target))
            for source, target in set(links)
        )
        taken.update(core.hubs, core.authorities)


@given(nodes_and_links())
def test_the_same_graph_gives_the_same_cores(case: tuple[int, list[Link]]) -> None:
    graph = graph_of(*case)
    assert extracted(pruned(graph), 5) == extracted(pruned(graph), 5)


# ---------------------------------------------------------------- webs


def test_communities_planted_into_a_web_are_found_first() -> None:
    rng: Generator = np.random.default_rng(1)
    web = copying_web(2000, rng)
    planted = [community(range(k, k + 30), range(k + 30, k + 60)) for k in (2000, 2060, 2120)]
    links = np.array(
        [*links_of(web.graph), *(link for links in planted for link in links)], dtype=np.int64
    )
    graph = Csr.from_edges(2180, links[:, 0], links[:, 1])
    hosts = np.concatenate([web.host, np.arange(180) + web.host.max() + 1])
    cores = extracted(between_hosts(graph, hosts), 20, MAXIMAL)
    assert shapes(cores).count((30, 30)) == 3
