"""Crawls of the whole catalogue; `python -m tests.proofs.hostile` prints their results."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.proofs.hostile.fault import Fault
from tests.proofs.hostile.faults import CATALOGUE, ON_THE_WIRE, UNREADABLE
from tests.proofs.hostile.sites import serving
from tests.proofs.hostile.trial import Figures, planned, run
from tests.proofs.hostile.verdict import GROWTH_BYTES, complaints, judge

NOTHING_LEFT = "no page is left to fetch"


def finished_in_bounds(figures: Figures) -> bool:
    """Return True if the crawl finished within the memory limit.

    The limit is doubled, because the peak depends on which large bodies arrive together: 50 to
    71 MiB were seen. Times depend on the machine, so they are printed and not tested.
    """
    return figures.growth_bytes <= 2 * GROWTH_BYTES and figures.reason == NOTHING_LEFT


@pytest.mark.proof
@pytest.mark.parametrize(("catalogue", "workers"), [(CATALOGUE, 0), (ON_THE_WIRE, 2)])
def test_every_fault_has_a_right_outcome_in_time_and_harms_no_other_host(
    catalogue: Mapping[str, Fault], workers: int, tmp_path: Path
) -> None:
    store = tmp_path / "crawl.db"
    with serving(catalogue, tmp_path) as sites:
        figures = run(planned(sites, store, robots=False, workers=workers))
    wrong = [line for line in judge(catalogue, sites, store) if line.complaint]
    assert wrong == []
    assert list(complaints(sites, store)) == []
    assert finished_in_bounds(figures), figures


@pytest.mark.proof
def test_no_page_is_requested_after_an_unreadable_robots_txt(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    with serving(CATALOGUE, tmp_path) as sites:
        figures = run(planned(sites, store, robots=True, workers=0))
    forbidden = [name for name, fault in CATALOGUE.items() if UNREADABLE.issuperset(fault.outcomes)]
    logs = {name: sites.wires[name].asked for name in forbidden if name in sites.wires}
    asked = [n for n, log in logs.items() if any(head.startswith(b"GET / ") for head in log)]
    assert asked == []
    assert len(logs) > 80
    assert list(complaints(sites, store)) == []
    assert finished_in_bounds(figures), figures
