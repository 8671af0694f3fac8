"""The dashboard of a real cluster in a real browser, used by clicks alone."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from anyio.from_thread import start_blocking_portal

from tests.cluster.engines import needs_server
from tests.cluster.logged_web import LoggedWeb, begun, settings
from tests.cluster.node_process import nodes
from tests.dashboard.browsers import Watched, browser, playwright, watch
from tests.dashboard.servers import dashboard_of_cluster, needs_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "watch"]
pytestmark = [needs_server, needs_chromium, pytest.mark.timeout(600), pytest.mark.proof]

SHARDS = 3


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[str]:
    """Run a cluster of two nodes that crawl without end, and give its URL."""
    async with (
        begun(folder, LoggedWeb(), settings, SHARDS) as (servers, _, loaded),
        nodes(dict.fromkeys("ab", servers.url), folder, loaded),
    ):
        yield servers.url


def told(url: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "minicrawl", "cluster", "status", "--cluster", url, "--json"]
    found: dict[str, Any] = json.loads(subprocess.check_output(command))
    return found


def test_nodes_are_shown_with_the_gathered_pages_and_steered(
    watch: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(cluster(tmp_path)) as url,
        dashboard_of_cluster(url) as served,
    ):
        seen = watch(served)
        seen.wait_for_state("running")
        see_what_was_found(seen)
        steer_nodes(seen.page)
        steer_all(seen)
        assert told(url)["doing"] == "stopped"


def see_what_was_found(seen: Watched) -> None:
    page, expect = seen.page, playwright.expect
    expect(page.locator("tr[data-node]")).to_have_count(2)
    facts = page.locator("section[aria-label=Cluster]")
    expect(facts).to_contain_text("3 of 3 held")
    for name in ("Set up", "Search"):
        expect(page.get_by_role("tab", name=name)).to_be_hidden()
    expect(facts).to_contain_text("The shards were gathered at")
    expect(page.locator("section[aria-label=Hosts]")).to_contain_text("example")
    seen.tab("Pages")
    best = page.locator("section[aria-label='Best pages'] tbody tr")
    expect(best.first).to_be_visible()
    seen.tab("Status")


def steer_nodes(page: "Page") -> None:
    expect = playwright.expect
    page.get_by_role("button", name="Drain: a", exact=True).click()
    drained = page.locator("tr[data-node=a]")
    expect(drained).to_contain_text("none")
    expect(drained).to_contain_text("draining")
    page.get_by_role("button", name="Undo drain: a").click()
    expect(drained).to_contain_text("live")


def steer_all(seen: Watched) -> None:
    page = seen.page
    page.get_by_role("button", name="Pause").click()
    seen.wait_for_state("paused")
    page.get_by_role("button", name="Resume").click()
    seen.wait_for_state("running")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop it").click()
    seen.wait_for_state("stopped")
