"""Webs: synthetic ones, those of files, and errors of estimates."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.lab.known_webs import errors, mean
from minicrawl.lab.webs import (
    Model,
    Web,
    WebHabits,
    copying_web,
    poisson,
    power_law,
    synthetic_web,
    web_of,
)
from tests.graph.graphs import links_of

Generator: TypeAlias = Callable[[int, np.random.Generator], Csr]


def dice() -> np.random.Generator:
    return np.random.default_rng(1)


def web_graph(nodes: int, rng: np.random.Generator) -> Csr:
    return copying_web(nodes, rng).graph


every_generator = pytest.mark.parametrize("generate", [power_law, poisson, web_graph])


def shares_by_degree(degrees: NDArray[np.int64], up_to: int) -> NDArray[np.float64]:
    return np.bincount(degrees, minlength=up_to + 1)[: up_to + 1] / len(degrees)


@every_generator
@given(nodes=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_links_stay_in_the_graph_and_never_lead_back_to_their_page(
    generate: Generator, nodes: int, seed: int
) -> None:
    graph = generate(nodes, np.random.default_rng(seed))
    assert graph.nodes == nodes
    assert all(source != target for source, target in links_of(graph))
    assert len(set(links_of(graph))) == graph.edges


SHARES = ("founding", "spreading", "inside", "recommended", "original")


def zipf_law(exponent: float, most: int) -> NDArray[np.float64]:
    """Probabilities of 0 to `most` by Zipf's law; that of 0 is 0."""
    weights = np.zeros(most + 1)
    weights[1:] = np.arange(1.0, most + 1) ** -exponent
    return weights / float(weights.sum())


def poisson_law(mean: float, most: int) -> list[float]:
    """Probabilities of 0 to `most` by Poisson's law."""
    return [math.exp(-mean) * mean**count / math.factorial(count) for count in range(most + 1)]


def test_in_degrees_follow_the_power_law_up_to_its_tail_and_out_degrees_poissons() -> None:
    graph = power_law(100_000, dice())
    law = zipf_law(2.1, graph.nodes)
    assert shares_by_degree(graph.in_degrees(), 10) == pytest.approx(law[:11], abs=0.005)
    for degree in (30, 100, 300):
        shares = np.mean(graph.in_degrees() >= degree)
        assert shares == pytest.approx(law[degree:].sum(), rel=0.25)
    out_law = poisson_law(graph.edges / graph.nodes, 9)
    assert shares_by_degree(graph.out_degrees(), 9) == pytest.approx(out_law, abs=0.005)


@pytest.mark.parametrize("mean", [0, 1, 4.2])
def test_in_and_out_degrees_follow_poissons_law(mean: float) -> None:
    graph, law = poisson(100_000, dice(), mean=mean), poisson_law(mean, 11)
    assert shares_by_degree(graph.in_degrees(), 11) == pytest.approx(law, abs=0.005)
    assert shares_by_degree(graph.out_degrees(), 11) == pytest.approx(law, abs=0.005)


def is_inside(web: Web) -> NDArray[np.bool_]:
    return np.equal(web.host[web.graph.sources()], web.host[web.graph.targets])


def is_older(web: Web) -> NDArray[np.bool_]:
    """Whether each link leads to a page older than its own."""
    return web.graph.targets < web.graph.sources()


@pytest.mark.parametrize(
    ("habits", "holds"),
    [
        pytest.param({"spreading": 0}, lambda web: largest_host(web) > 1000, id="a giant"),
        pytest.param({"spreading": 1}, lambda web: largest_host(web) < 300, id="no giant"),
        pytest.param({"inside": 1}, lambda web: is_inside(web).all(), id="inside a host"),
        pytest.param(
            {"inside": 1},
            lambda web: np.mean(is_older(web)) == pytest.approx(0.5, abs=0.02),
            id="inside a host, to newer pages too",
        ),
        pytest.param({"inside": 0}, lambda web: is_older(web).all(), id="outside, to older pages"),
        pytest.param(
            {"inside": 0, "recommended": 1, "original": 0},
            lambda web: set(web.graph.targets.tolist()) == {0},
            id="without original links all repeat the first",
        ),
    ],
)
def test_habits_shape_the_web(habits: dict[str, float], holds: Callable[[Web], bool]) -> None:
    web = copying_web(3000, dice(), WebHabits(**habits))
    _, first_pages = np.unique(web.host, return_index=True)
    assert np.all(np.diff(first_pages) > 0)  # hosts are numbered by age
    assert holds(web)


def largest_host(web: Web) -> int:
    return int(np.bincount(web.host).max())


@pytest.mark.parametrize("links_per_page", [0, 0.5, 5])
def test_pages_have_as_many_links_as_asked_for(links_per_page: float) -> None:
    habits = WebHabits(links_per_page=links_per_page, inside=0, recommended=0)
    web = copying_web(20_000, dice(), habits)
    assert web.graph.edges / web.graph.nodes == pytest.approx(links_per_page, rel=0.05)


@given(
    nodes=st.integers(1, 60),
    seed=st.integers(0, 2**32),
    links_per_page=st.floats(0, 20),
    shares=st.tuples(*[st.floats(0, 1)] * 5),
)
def test_any_habits_make_a_web(
    nodes: int, seed: int, links_per_page: float, shares: tuple[float, ...]
) -> None:
    habits = WebHabits(links_per_page=links_per_page, **dict(zip(SHARES, shares, strict=True)))
    web = copying_web(nodes, np.random.default_rng(seed), habits)
    assert web.host.shape == (nodes,)
    assert web.host.dtype == np.int32
    assert sorted(set(web.host.tolist())) == list(range(web.host.max() + 1))
    assert web.graph.nodes == nodes


@pytest.fixture(scope="module")
def web() -> Web:
    return copying_web(200_000, np.random.default_rng(1))


@pytest.mark.slow
def test_the_default_web_has_large_hosts_and_pages(web: Web) -> None:
    """Three pages of a hundred found a host, and two of three links stay inside theirs."""
    assert web.host.max() + 1 == pytest.approx(6000, abs=250)
    assert np.mean(is_inside(web)) == pytest.approx(0.66, abs=0.02)
    for amounts in (web.graph.in_degrees(), np.bincount(web.host)):
        assert np.median(amounts) <= 20
        assert np.sort(amounts)[-20] > 300
    assert web.graph.in_degrees()[0] / web.graph.nodes == pytest.approx(0.43, abs=0.08)


@pytest.mark.parametrize("draw", range(3))
def test_nearly_all_can_be_reached_from_ten_pages(web: Web, draw: int) -> None:
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


@pytest.mark.slow
def test_one_page_of_a_hundred_holds_a_fifth_of_the_importance() -> None:
    graph = copying_web(20_000, np.random.default_rng(1)).graph
    ranks = networkx.pagerank(networkx.DiGraph(links_of(graph)), alpha=0.85)
    best = sorted(ranks.values(), reverse=True)[: graph.nodes // 100]
    assert sum(best) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("model", Model)
def test_the_same_seed_gives_the_same_web(model: Model) -> None:
    one, same, other = (synthetic_web(model, 500, seed) for seed in (1, 1, 2))
    assert one.graph.nodes == 500
    assert list(one.graph.targets) == list(same.graph.targets) != list(other.graph.targets)
    assert list(one.host) == list(same.host)


def test_pages_without_urls_are_on_one_host(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_text("10 20\n20 10\n20 30\n")
    web = web_of(read(path), path)
    assert web.graph.adjacency() == [[1], [0, 2], []]
    assert list(web.host) == list(web.site) == [0, 0, 0]
    assert not web.has_hosts


def test_the_hosts_of_urls_and_their_sites_are_known(tmp_path: Path) -> None:
    path = tmp_path / "web.tsv"
    path.write_text("http://a.x.org/1\thttp://b.x.org/\nhttp://b.x.org/\thttp://a.x.org/2\n")
    web = web_of(read(path), path)
    assert list(web.host) == [0, 1, 0]
    assert list(web.site) == [0, 0, 0]
    assert web.has_hosts


@pytest.mark.parametrize("content", ["7 7\n", "1 2\nhello\n", ""])
def test_a_file_without_a_usable_web_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "web.txt"
    path.write_text(content)
    with pytest.raises(GraphFileError, match=r"web\.txt"):
        web_of(read(path), path)


TRUTH = np.array([0.4, 0.3, 0.2, 0.1])


def test_a_multiple_of_the_truth_has_no_error() -> None:
    found = errors(3 * TRUTH, TRUTH)
    assert found[:4] == pytest.approx((0, 0, 0, 0))


def test_errors_by_hand() -> None:
    """Relative errors are 0.2/0.4, 0, 0, 0.2/0.1. Pages 1 and 3 are equal, then 0 and 2."""
    found = errors(np.array([0.2, 0.3, 0.2, 0.3]), TRUTH)
    assert found.error_all == pytest.approx(100 * (0.5 + 2) / 4)
    assert found.error_top10 == pytest.approx(50)
    assert found.error_weighted == pytest.approx(100 * (0.2 + 0.2))
    assert found.rank_error == pytest.approx(100 * (2.5 + 0.5 + 0.5 + 2.5) / 4 / 4)
    assert found.deviation == pytest.approx(100 * np.std([0.5, 0, 0, 2]))
    assert found.above_twice == 25


def test_the_mean_of_moments_is_that_of_each_error() -> None:
    wrong = errors(np.array([0.2, 0.3, 0.2, 0.3]), TRUTH)
    found = mean([wrong, errors(TRUTH, TRUTH), wrong, wrong])
    assert found.error_all == pytest.approx(0.75 * wrong.error_all)
    assert found.above_twice == pytest.approx(0.75 * wrong.above_twice)


def test_the_top_tenth_is_that_of_the_truth() -> None:
    truth = np.arange(1, 21, dtype=float)
    wrong_at_the_top = truth.copy()
    wrong_at_the_top[[18, 19]] = wrong_at_the_top[[19, 18]]
    found = errors(wrong_at_the_top, truth)
    assert found.error_top10 == pytest.approx(100 * (1 / 19 + 1 / 20) / 2)
    assert found.error_all == pytest.approx(found.error_top10 / 10)


def test_pages_in_reverse_order_are_off_by_half_of_all_places() -> None:
    truth = np.arange(1, 1001, dtype=float)
    assert errors(truth[::-1], truth).rank_error == pytest.approx(50)
