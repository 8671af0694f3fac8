"""Samples have figures of the graph with their method and time; the sampler only reads."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.outline import Outline, outline
from minicrawl.model import KNOWN
from minicrawl.report.progress.followed_graph import MOST_WORK, FollowedGraph
from minicrawl.report.progress.live_sampler import Sampler, sampled_now
from minicrawl.report.progress.samples import EVERY_S, Basis, latest_sample, samples
from minicrawl.states import State
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.tables import last_step
from tests.graph.graphs import graph_of
from tests.processes import run_python
from tests.stores import HandCrawl, filled_store

PAGES = [f"http://a.example/{number}" for number in range(12)]


@pytest.fixture
def crawl(path: Path) -> Iterator[HandCrawl]:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(PAGES[:1])
        read(crawl, 0)
        yield crawl


def read(crawl: HandCrawl, number: int) -> None:
    """Read a page that links to the next page and the first."""
    crawl.read(PAGES[number], [PAGES[number + 1], PAGES[0]])
    crawl.commit()


def followed(live: FollowedGraph, crawl: HandCrawl) -> FollowedGraph:
    with reading(crawl.path) as connection:
        live.follow(connection)
    return live


def ticking() -> Callable[[], float]:
    """Return a clock by which a sample is due at every reading."""
    return partial(next, count(0.0, 1.5 * EVERY_S))


def path_graph(pages: int) -> Outline:
    """Return the figures of a path of pages, each of which also links to the first."""
    links = [(page, page + 1) for page in range(pages - 1)] + [(page, 0) for page in range(pages)]
    return outline(graph_of(pages, links), np.random.default_rng(1))


def test_a_sample_has_the_figures_of_the_crawl_and_of_its_graph(crawl: HandCrawl) -> None:
    for page in range(1, 5):
        read(crawl, page)
    crawl.ended(PAGES[5], State.TIMEOUT)
    crawl.commit()
    found = sampled_now(crawl.path)
    assert found is not None
    assert (found.crawled, found.errors, found.known, found.total) == (5, 1, 6, 6)
    assert found.outline == path_graph(5)
    assert (found.basis, found.distances_basis) == (Basis.BATCH, Basis.BATCH)
    known, estimated = sampled_now(crawl.path, KNOWN), sampled_now(crawl.path, most_work=0)
    assert known is not None
    assert estimated is not None
    assert known.outline.nodes == 6
    assert estimated.distances_basis == Basis.ESTIMATE
    assert samples(crawl.path) == []


def test_small_graphs_are_updated_link_by_link_and_larger_ones_in_batches(crawl: HandCrawl) -> None:
    live = FollowedGraph(most_exact=3)
    for number in range(1, 6):
        assert followed(live, crawl).is_exact == (number <= 3)
        live.measure(5.0, MOST_WORK)
        assert live.outline() == path_graph(number)
        assert live.distances_basis is (Basis.EXACT if live.is_exact else Basis.BATCH)
        read(crawl, number)


@pytest.mark.parametrize(
    ("pages", "is_exact"), [(2, True), pytest.param(320, False, marks=pytest.mark.slow)]
)
def test_many_links_at_once_are_a_batch(crawl: HandCrawl, pages: int, is_exact: bool) -> None:
    urls = [f"http://b.example/{number}" for number in range(320)]
    crawl.seeds(urls)
    for url in urls[:pages]:
        crawl.read(url, urls)
    crawl.commit()
    assert followed(FollowedGraph(), crawl).is_exact is is_exact


def test_distances_are_old_until_they_are_measured_by_a_named_method(crawl: HandCrawl) -> None:
    live = FollowedGraph(most_exact=0)
    assert live.is_unmeasured
    read(crawl, 1)
    assert followed(live, crawl).are_distances_old
    live.measure(7.0, most_work=0)
    assert (live.are_distances_old, live.is_unmeasured, live.distances_at) == (False, False, 7.0)
    assert str(live.distances_basis) == "estimate"
    # A chain of pages, and many pairs of pages: a sample of them tells little.
    names = [f"http://b.example/{number}" for number in range(1200)]
    crawl.seeds(names)
    for page, name in enumerate(names[:-1]):
        crawl.read(name, [names[page + 1]] if page < 30 or page % 2 else [name])
    crawl.commit()
    followed(live, crawl).measure(8.0, most_work=0)
    assert str(live.distances_basis) == "HyperBall"
    assert live.outline().by_hyperball


@pytest.mark.parametrize(("took_s", "rest_s"), [(3, 3), (10, 8), (14, 0), (20, 0)])
def test_measurements_pause_as_long_as_they_took_unless_distances_would_get_too_old(
    crawl: HandCrawl, took_s: float, rest_s: float
) -> None:
    now, measured = [0.0], list[float]()

    class Slow(Sampler):
        def measure(self) -> float:
            measured.append(now[0])
            now[0] += took_s
            return took_s

    for pause_s in Slow(crawl.path, clock=lambda: now[0]).pauses():
        if len(measured) == 2:
            break
        now[0] += min(pause_s, 0.5)
    assert measured[1] - took_s == pytest.approx(rest_s, abs=0.5)


@pytest.mark.parametrize("most_exact", [0, 3000])
def test_the_sampler_saves_a_sample_only_if_something_is_new(
    crawl: HandCrawl, most_exact: int
) -> None:
    work = Sampler(crawl.path, clock=ticking(), most_exact=most_exact).pauses()
    next(work)
    read(crawl, 1)
    next(work)
    while samples(crawl.path)[-1].distances_at < samples(crawl.path)[0].at:
        next(work)
    kept = samples(crawl.path)
    next(work)
    assert samples(crawl.path) == kept, "a sample without news was saved"
    assert replace(kept[-1].outline, diameter=1) == replace(path_graph(2), diameter=1)
    assert kept[0].outline == path_graph(1)


def test_a_new_store_at_the_same_path_starts_over(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    sampler = Sampler(store, clock=ticking())
    sampler.look()  # there is no store yet
    store.touch()
    sampler.look()  # the crawl is making it
    for first in (0, 3):
        crawl = HandCrawl(store)
        crawl.seeds(PAGES[first : first + 1])
        crawl.commit()
        sampler.look()  # nothing was requested yet
        read(crawl, first)
        crawl.close()
        sampler.look()
        found = latest_sample(store)
        assert found is not None
        assert found.crawled == found.outline.nodes == 1
        for file in tmp_path.glob("crawl.db*"):
            file.unlink()


@pytest.mark.parametrize("most_exact", [0, 3000])
def test_the_last_sample_has_all_steps_even_if_none_was_due(
    crawl: HandCrawl, most_exact: int
) -> None:
    """The clock stands still, so that no sample is due before the end."""
    is_over = [False]
    sampler = Sampler(
        crawl.path, clock=lambda: 1.0, is_over=lambda: is_over[0], most_exact=most_exact
    )
    pauses = sampler.pauses()
    next(pauses)
    for page in range(1, 4):
        read(crawl, page)
    next(pauses)
    assert samples(crawl.path)[-1].crawled == 1
    is_over[0] = True
    assert list(pauses) == []
    last = samples(crawl.path)[-1]
    assert (last.crawled, last.outline) == (4, path_graph(4))
    assert last.distances_at >= samples(crawl.path)[0].at
    with reading(crawl.path) as connection:
        assert last.step == last_step(connection)


def test_the_end_of_a_crawl_cancels_a_measurement_of_distances(crawl: HandCrawl) -> None:
    is_over = [False]
    sampler = Sampler(crawl.path, clock=ticking(), is_over=lambda: is_over[0], most_exact=0)
    sampler.look()
    for page in range(1, 4):
        read(crawl, page)
    sampler.look()
    is_over[0] = True
    sampler.measure()
    cancelled_at = time.time()
    assert list(sampler.pauses()) == []
    last = samples(crawl.path)[-1]
    assert last.outline == path_graph(4)
    assert last.distances_at >= cancelled_at, "the last sample has distances of its own"


def test_a_store_without_links_has_no_graph(path: Path) -> None:
    assert sampled_now(filled_store(path, StoreTerms(links=False))) is None


def test_a_crawl_that_is_sampled_does_not_import_scipy() -> None:
    code = "import sys, minicrawl.report.progress.sampling_process; print('scipy' in sys.modules)"
    assert run_python("-c", code).stdout == "False\n"
