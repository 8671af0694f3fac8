"""A real crawl whose workers come and go: nothing is lost, and the books are exact."""

from pathlib import Path

from minicrawl.control.client import ask, socket_path
from minicrawl.control.requests import ControlRequest, Verb
from minicrawl.errors import MinicrawlError
from minicrawl.model import FailureKind
from minicrawl.report.audit import audit
from minicrawl.report.status import status
from tests.dashboard.servers import crawl_of_demo, wait_until

PAGES = 600


def has_set(store: Path, **values: object) -> bool:
    """Whether the crawl took these values; False if it is not there (any more)."""
    try:
        ask(store, ControlRequest(verb=Verb.SET, values=values))
    except MinicrawlError:
        return False
    return True


def test_no_page_is_lost_while_workers_come_and_go(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    options = ("--demo-pages", str(PAGES), "--workers", "2", "--address-delay", "0.005")
    with crawl_of_demo(store, *options, "--delay", "0.05", "--no-converge") as crawl:
        wait_until(lambda: has_set(store, workers=3), "the crawl does not listen")
        changes = 0
        while crawl.poll() is None and has_set(store, workers=(4, 0, 1, 3, 0, 2)[changes % 6]):
            changes += 1
            known = status(store).pages_fetched or 0
            wait_until(
                lambda known=known: (
                    crawl.poll() is not None  # type: ignore[misc]
                    or (status(store).pages_fetched or 0) >= min(known + 40, PAGES)
                ),
                "the crawl stands still",
            )
        assert crawl.wait(60) == 0
    found = status(store)
    assert changes >= 5
    assert found.pages_fetched == PAGES
    assert FailureKind.LOST.value not in (found.failures or {})
    assert audit(store).is_intact
    assert not socket_path(store).exists()
