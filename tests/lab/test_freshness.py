"""Freshness that orders of rereading reach, against theory."""

import numpy as np
import pytest

from minicrawl.lab.known_webs import (
    Days,
    FreshPoint,
    SitemapTruth,
    best_possible,
    freshness,
    nights,
)
from minicrawl.lab.webs import Model, synthetic_web

DAYS = Days(warm_up=10, counted=20, seed=1)
WEB = synthetic_web(Model.COPYING, 200, 1)


def test_the_best_rates_of_equal_pages_are_equal() -> None:
    equal = np.full(10, 0.1)
    assert best_possible(equal, np.full(10, 2.0), 30) == pytest.approx(3 / (3 + 2))


def test_no_other_rates_are_better_than_the_best() -> None:
    rng = np.random.default_rng(1)
    importance, rates = rng.dirichlet(np.ones(8)), rng.exponential(size=8)
    best = best_possible(importance, rates, 5)
    for share in rng.dirichlet(np.ones(8), size=1000):
        readings = 5 * share
        assert (importance * readings / (readings + rates)).sum() <= best + 1e-9


@pytest.fixture(scope="module")
def points() -> dict[tuple[str, SitemapTruth], FreshPoint]:
    found = freshness(WEB, [0.2], DAYS, lambda _: None)
    return {(point.order.strategy, point.order.sitemap): point for point in found}


def test_siblings_beat_breadth_first_and_breadth_first_beats_random(
    points: dict[tuple[str, SitemapTruth], FreshPoint],
) -> None:
    random, breadth_first, ours = (
        points[strategy, SitemapTruth.NONE].freshness
        for strategy in ("random", "breadth-first", "siblings")
    )
    assert random < breadth_first < ours


def test_honest_sitemaps_help_and_wrong_ones_cost_little(
    points: dict[tuple[str, SitemapTruth], FreshPoint],
) -> None:
    ours = {sitemap: points["siblings", sitemap].freshness for sitemap in SitemapTruth}
    assert ours[SitemapTruth.HONEST] > ours[SitemapTruth.NONE]
    assert min(ours[SitemapTruth.NEVER], ours[SitemapTruth.ALWAYS]) > ours[SitemapTruth.NONE] - 0.03


def test_nightly_updates_save_half_of_the_unchanged_reads_and_miss_little() -> None:
    found = list(nights(WEB, DAYS))
    for none, honest in zip(
        found[:: len(SitemapTruth)], found[1 :: len(SitemapTruth)], strict=True
    ):
        assert (none.sitemap, honest.sitemap) == (SitemapTruth.NONE, SitemapTruth.HONEST)
        assert none.asked == 1
        assert honest.unchanged < none.unchanged / 2
        assert honest.missed == 0
    assert max(one.missed for one in found) <= 0.02
