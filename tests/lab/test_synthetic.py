"""Synthetic graphs follow the laws of their generators."""

import math
from collections.abc import Callable
from typing import TypeAlias

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import SyntheticWeb, WebHabits, copying_web, poisson, power_law
from tests.graph.graphs import links_of

Generator: TypeAlias = Callable[[int, np.random.Generator], Csr]


def web_graph(nodes: int, rng: np.random.Generator) -> Csr:
    return copying_web(nodes, rng).graph


every_generator = pytest.mark.parametrize("generate", [power_law, poisson, web_graph])


def shares_by_degree(degrees: NDArray[np.int64], up_to: int) -> NDArray[np.float64]:
    return np.bincount(degrees, minlength=up_to + 1)[: up_to + 1] / len(degrees)


@every_generator
def test_the_same_seed_gives_the_same_graph(generate: Generator) -> None:
    one, two = (generate(500, np.random.default_rng(7)) for _ in range(2))
    assert links_of(one) == links_of(two)


@every_generator
@given(nodes=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_links_stay_in_the_graph_and_never_lead_back_to_their_page(
    generate: Generator, nodes: int, seed: int
) -> None:
    graph = generate(nodes, np.random.default_rng(seed))
    assert graph.nodes == nodes
    assert all(source != target for source, target in links_of(graph))
    assert len(set(links_of(graph))) == graph.edges


@every_generator
@pytest.mark.parametrize("nodes", [0, -3])
def test_a_graph_without_pages_is_refused(generate: Generator, nodes: int) -> None:
    with pytest.raises(UsageError, match=f"at least one page, not {nodes}"):
        generate(nodes, np.random.default_rng(1))


# ---------------------------------------------------------------- power law and Poisson


def zipf_law(exponent: float, most: int) -> NDArray[np.float64]:
    """Probabilities of 0 to `most` by Zipf's law; that of 0 is 0."""
    weights = np.zeros(most + 1)
    weights[1:] = np.arange(1.0, most + 1) ** -exponent
    return weights / float(weights.sum())


def poisson_law(mean: float, most: int) -> list[float]:
    """Probabilities of 0 to `most` by Poisson's law."""
    return [math.exp(-mean) * mean**count / math.factorial(count) for count in range(most + 1)]


@pytest.fixture(scope="module")
def skewed() -> Csr:
    return power_law(100_000, np.random.default_rng(1))


def test_in_degrees_follow_the_power_law(skewed: Csr) -> None:
    law = zipf_law(2.1, skewed.nodes)[:11]
    assert shares_by_degree(skewed.in_degrees(), 10) == pytest.approx(law, abs=0.005)


def test_the_power_law_holds_far_up_its_tail(skewed: Csr) -> None:
    in_degrees, law = skewed.in_degrees(), zipf_law(2.1, skewed.nodes)
    for degree in (30, 100, 300):
        expected = law[degree:].sum()
        assert np.mean(in_degrees >= degree) == pytest.approx(expected, rel=0.25)


def test_out_degrees_of_the_power_law_follow_poissons_law(skewed: Csr) -> None:
    law = poisson_law(skewed.edges / skewed.nodes, 9)
    assert shares_by_degree(skewed.out_degrees(), 9) == pytest.approx(law, abs=0.005)


@pytest.mark.parametrize("exponent", [3, 3.0])
def test_a_steeper_law_has_fewer_links(exponent: float) -> None:
    steep = power_law(10_000, np.random.default_rng(1), exponent=exponent)
    law = zipf_law(3, 10_000)
    assert shares_by_degree(steep.in_degrees(), 1)[1] == pytest.approx(law[1], rel=0.02)


@pytest.mark.parametrize("exponent", [0, -1.0, float("nan")])
def test_an_exponent_that_is_not_above_0_is_refused(exponent: float) -> None:
    with pytest.raises(UsageError, match=f"above 0, not {exponent}"):
        power_law(10, np.random.default_rng(1), exponent=exponent)


def test_in_and_out_degrees_follow_poissons_law() -> None:
    graph = poisson(100_000, np.random.default_rng(1))
    law = poisson_law(4.2, 11)
    assert shares_by_degree(graph.in_degrees(), 11) == pytest.approx(law, abs=0.005)
    assert shares_by_degree(graph.out_degrees(), 11) == pytest.approx(law, abs=0.005)


@pytest.mark.parametrize("mean", [0, 1, 10.5])
def test_the_mean_degree_is_the_one_asked_for(mean: float) -> None:
    graph = poisson(20_000, np.random.default_rng(1), mean=mean)
    assert graph.edges / graph.nodes == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("mean", [-1, float("inf"), float("nan")])
def test_a_mean_out_of_range_is_refused(mean: float) -> None:
    with pytest.raises(UsageError, match=f"0 or more, not {mean}"):
        poisson(10, np.random.default_rng(1), mean=mean)


# ---------------------------------------------------------------- the growing web


def grown(nodes: int = 3000, **habits: float) -> SyntheticWeb:
    return copying_web(nodes, np.random.default_rng(1), WebHabits(**habits))


def is_inside(web: SyntheticWeb) -> NDArray[np.bool_]:
    return np.equal(web.host[web.graph.sources()], web.host[web.graph.targets])


def is_older(web: SyntheticWeb) -> NDArray[np.bool_]:
    """Whether each link leads to a page older than its own."""
    return web.graph.targets < web.graph.sources()


def test_without_founders_there_is_one_host() -> None:
    assert set(grown(founding=0).host.tolist()) == {0}


def test_if_all_pages_are_founders_every_page_is_a_host() -> None:
    assert grown(founding=1).host.tolist() == list(range(3000))


def test_hosts_are_numbered_by_age() -> None:
    _, first_pages = np.unique(grown().host, return_index=True)
    assert np.all(np.diff(first_pages) > 0)


def test_joining_by_size_grows_one_giant_and_spreading_grows_none() -> None:
    giant, largest_of_equals = (np.bincount(grown(spreading=share).host).max() for share in (0, 1))
    assert giant > 1000
    assert largest_of_equals < 300


def test_inside_links_stay_on_their_host_and_reach_newer_pages_too() -> None:
    web = grown(inside=1)
    assert is_inside(web).all()
    assert np.mean(is_older(web)) == pytest.approx(0.5, abs=0.02)


def test_outside_links_lead_to_older_pages() -> None:
    assert is_older(grown(inside=0)).all()


def test_outside_links_without_recommendations_are_even() -> None:
    web = grown(inside=0, recommended=0)
    half_as_old = web.graph.targets < web.graph.sources() / 2
    assert np.mean(half_as_old) == pytest.approx(0.5, abs=0.02)
    assert web.graph.in_degrees().max() < 200


def test_without_original_links_all_repeat_the_first() -> None:
    web = grown(inside=0, recommended=1, original=0)
    assert set(web.graph.targets.tolist()) == {0}


@pytest.mark.parametrize("links_per_page", [0, 0.5, 5])
def test_pages_have_as_many_links_as_asked_for(links_per_page: float) -> None:
    web = grown(20_000, links_per_page=links_per_page, inside=0, recommended=0)
    assert web.graph.edges / web.graph.nodes == pytest.approx(links_per_page, rel=0.05)


def test_some_pages_are_dead_ends() -> None:
    dead_ends = np.mean(grown(20_000).graph.out_degrees() == 0)
    assert dead_ends == pytest.approx(1 / 14, abs=0.01)


@pytest.mark.parametrize("links_per_page", [-1, float("inf"), float("nan")])
def test_a_number_of_links_out_of_range_is_refused(links_per_page: float) -> None:
    with pytest.raises(UsageError, match=f"links_per_page must be 0 or more, not {links_per_page}"):
        WebHabits(links_per_page=links_per_page)


@pytest.mark.parametrize("habit", ["founding", "spreading", "inside", "recommended", "original"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused(habit: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{habit} must be a share from 0 to 1, not {value}"):
        WebHabits(**{habit: value})


@given(
    nodes=st.integers(1, 60),
    seed=st.integers(0, 2**32),
    links_per_page=st.floats(0, 20),
    shares=st.tuples(*[st.floats(0, 1)] * 5),
)
def test_any_habits_make_a_web(
    nodes: int, seed: int, links_per_page: float, shares: tuple[float, ...]
) -> None:
    names = ("founding", "spreading", "inside", "recommended", "original")
    habits = WebHabits(links_per_page=links_per_page, **dict(zip(names, shares, strict=True)))
    web = copying_web(nodes, np.random.default_rng(seed), habits)
    assert web.host.shape == (nodes,)
    assert web.host.dtype == np.int32
    assert sorted(set(web.host.tolist())) == list(range(web.host.max() + 1))
    assert web.graph.nodes == nodes


# ---------------------------------------------------------------- the web as it is by default


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return copying_web(200_000, np.random.default_rng(1))


def test_three_pages_of_a_hundred_found_a_host(web: SyntheticWeb) -> None:
    assert web.host.max() + 1 == pytest.approx(6000, abs=250)


def test_two_links_of_three_stay_inside_their_host(web: SyntheticWeb) -> None:
    assert np.mean(is_inside(web)) == pytest.approx(0.66, abs=0.02)


@pytest.mark.parametrize("what", ["links in", "pages of a host"])
def test_a_few_hosts_and_pages_are_very_large(web: SyntheticWeb, what: str) -> None:
    amounts = web.graph.in_degrees() if what == "links in" else np.bincount(web.host)
    assert np.median(amounts) <= 20
    assert np.sort(amounts)[-20] > 300


def test_more_than_a_third_of_all_pages_link_to_the_first(web: SyntheticWeb) -> None:
    assert web.graph.in_degrees()[0] / web.graph.nodes == pytest.approx(0.43, abs=0.08)


@pytest.mark.parametrize("draw", range(3))
def test_nearly_all_can_be_reached_from_ten_pages(web: SyntheticWeb, draw: int) -> None:
    well_linked = np.flatnonzero(web.graph.out_degrees() >= 5)
    seeds = np.random.default_rng(draw).choice(well_linked, 10, replace=False)
    assert len(reached(web.graph, seeds)) >= 0.9 * web.graph.nodes


def reached(graph: Csr, seeds: NDArray[np.int64]) -> NDArray[np.int32]:
    """Pages that scipy reaches from one more page, which links to the seeds, without that page."""
    start = graph.nodes
    sources = np.append(graph.sources(), np.full(len(seeds), start))
    links = csr_array(
        (np.ones(len(sources)), (sources, np.append(graph.targets, seeds))),
        shape=(start + 1, start + 1),
    )
    order: NDArray[np.int32] = breadth_first_order(links, start, return_predecessors=False)
    return order[1:]


def test_one_page_of_a_hundred_holds_a_fifth_of_the_importance() -> None:
    graph = copying_web(20_000, np.random.default_rng(1)).graph
    ranks = networkx.pagerank(networkx.DiGraph(links_of(graph)), alpha=0.85)
    best = sorted(ranks.values(), reverse=True)[: graph.nodes // 100]
    assert sum(best) == pytest.approx(0.2, abs=0.05)
