"""A crawl of the web of traps reads most healthy pages, and a limit ends every trap.

All settings have their defaults. The budget is twice the healthy pages, so that enough of it is
left for the traps.
"""

from pathlib import Path

import pytest

from minicrawl import Settings
from minicrawl.report.audit import audit
from minicrawl.report.page_states import explain
from minicrawl.report.snapshot import snapshot
from tests.proofs.traps.crawl import LEAST_HEALTHY, MOST_TRAPPED, Outcome, crawl
from tests.proofs.traps.web import KINDS

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traps") / "crawl.db"


@pytest.fixture(scope="module")
def outcome(store: Path) -> Outcome:
    return crawl(store)


def test_most_healthy_pages_are_read(outcome: Outcome) -> None:
    assert outcome.healthy_share >= LEAST_HEALTHY


def test_traps_get_few_of_the_requests(outcome: Outcome) -> None:
    """Requests for robots.txt that are under way when the quota of a site is spent are allowed."""
    total, under_way = outcome.requests.total(), Settings.of().politeness.concurrency
    assert total - outcome.requests["healthy"] <= MOST_TRAPPED * total + under_way


def test_every_trap_is_entered(outcome: Outcome) -> None:
    assert outcome.requests.keys() >= set(KINDS)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("calendar", "--barren-pages 20"),
        ("session", "--barren-pages 20"),
        ("deeper", "--barren-pages 20"),
        ("repeated", "more than 4"),
        ("soft-404", "--barren-pages 20"),
        ("mirror", "seen on 10 pages"),
        ("chain", "--barren-pages 20"),
        ("farm", "--site-pages 1,000"),
        ("babble", "--site-pages 1,000"),
    ],
)
def test_each_trap_ends_by_a_limit_that_is_explained(
    kind: str, limit: str, outcome: Outcome, store: Path
) -> None:
    with snapshot(store) as seen:
        found = explain(seen, outcome.examples[kind, limit])
    assert any(reason.endswith(limit) for reason in found.reasons)


def test_filters_end_by_either_of_two_limits(outcome: Outcome) -> None:
    limits = {limit for kind, limit in outcome.examples if kind == "permutations"}
    assert limits
    assert limits <= {"seen on 10 pages", "--barren-pages 20"}


def test_the_store_passes_its_audit(outcome: Outcome, store: Path) -> None:
    assert outcome.requests
    assert audit(store).wrong == []
