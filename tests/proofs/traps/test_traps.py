"""A crawl of the web of traps reads most healthy pages, and a limit ends every trap.

All settings have their defaults. The budget is twice the healthy pages, so that enough of it is
left for the traps.
"""

from pathlib import Path

import pytest

from minicrawl import Settings
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.explanation import explain
from tests.proofs.traps.crawl import LEAST_HEALTHY, MOST_TRAPPED, Outcome, crawl
from tests.proofs.traps.web import KINDS

LIMITS = (
    ("calendar", "--barren-pages 20"),
    ("session", "--barren-pages 20"),
    ("deeper", "--barren-pages 20"),
    ("repeated", "more than 4"),
    ("soft-404", "--barren-pages 20"),
    ("mirror", "seen on 10 pages"),
    ("chain", "--barren-pages 20"),
    ("farm", "--site-pages 1,000"),
    ("babble", "--site-pages 1,000"),
)
"""Kinds of traps, and the limits that end them."""


@pytest.mark.proof
def test_most_healthy_pages_are_read_and_a_limit_ends_every_trap(path: Path) -> None:
    """One test checks several laws: as many tests of one crawl, two processes would crawl."""
    outcome = crawl(path)
    assert outcome.healthy_share >= LEAST_HEALTHY
    assert_traps_get_few_of_the_requests(outcome)
    assert outcome.requests.keys() >= set(KINDS)
    assert_limits_are_explained(outcome, path)
    assert_filters_end_by_either_of_two_limits(outcome)
    assert audit(path).wrong == []


def assert_traps_get_few_of_the_requests(outcome: Outcome) -> None:
    """Requests for robots.txt that are under way when the quota of a site is spent are allowed."""
    total, under_way = outcome.requests.total(), Settings.of().politeness.concurrency
    assert total - outcome.requests["healthy"] <= MOST_TRAPPED * total + under_way


def assert_limits_are_explained(outcome: Outcome, store: Path) -> None:
    with snapshot(store) as seen:
        for kind, limit in LIMITS:
            reasons = explain(seen, outcome.examples[kind, limit]).reasons
            assert any(reason.endswith(limit) for reason in reasons), (kind, limit)


def assert_filters_end_by_either_of_two_limits(outcome: Outcome) -> None:
    limits = {limit for kind, limit in outcome.examples if kind == "permutations"}
    assert limits
    assert limits <= {"seen on 10 pages", "--barren-pages 20"}
