"""A real crawl whose number of workers changes: no page is lost, and its ledger balances."""

from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.control import ControlRequest, Verb, ask, socket_path
from minicrawl.errors import MinicrawlError
from minicrawl.report.progress.crawl_status import status
from minicrawl.states import State
from tests.dashboard.servers import crawl_of_demo, wait_until
from tests.processes import PATIENCE_S

WEB_PAGES = 3000
"""Pages of the demo web: too many to be read before the crawl is told to end."""
CREWS = (4, 0, 1, 3, 0, 2)
STEP = 20
"""Number of pages to read with each number of workers."""


def has_set(store: Path, **values: object) -> bool:
    """Return True if the crawl accepted these values; False if no crawl is running."""
    try:
        ask(store, ControlRequest(verb=Verb.SET, values=values))
    except MinicrawlError:
        return False
    return True


def fetched(store: Path) -> int:
    return status(store).pages_fetched or 0


@pytest.mark.proof
def test_no_page_is_lost_while_workers_come_and_go(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    options = ("--demo-pages", str(WEB_PAGES), "--workers", "2", "--address-delay", "0.01")
    with crawl_of_demo(store, *options, "--delay", "0.05") as crawl:
        wait_until(lambda: has_set(store, workers=3), "the crawl does not listen")
        for workers in CREWS:
            assert has_set(store, workers=workers)
            wanted = fetched(store) + STEP
            wait_until(lambda wanted=wanted: fetched(store) >= wanted, "the crawl stands still")  # type: ignore[misc]
        last = fetched(store) + 5 * STEP
        assert has_set(store, pages=last)
        assert crawl.wait(PATIENCE_S) == 0
    found = status(store)
    assert found.pages_fetched == last
    assert State.LOST.label not in (found.failures or {})
    assert main(["check", "--store", str(store)]) == 0
    assert not socket_path(store).exists()
