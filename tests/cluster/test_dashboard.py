"""The dashboard of a real cluster in a real browser, by clicks alone."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from minicrawl.cluster.engine import ClusterAccess, opened
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.demo.web import DemoServer
from tests.cluster.engines import needs_server
from tests.cluster.node_process import nodes
from tests.cluster.test_end_to_end import SITES, LoggedWeb, settings
from tests.dashboard.browsers import Watched, browser, playwright, watch
from tests.dashboard.servers import (
    PATIENCE_MS,
    dashboard_of_cluster,
    needs_chromium,
    wait_until,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "watch"]
pytestmark = [needs_server, needs_chromium, pytest.mark.timeout(600), pytest.mark.proof]

SHARDS = 3


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A cluster of two nodes that crawl without end, in a thread with a loop of its own."""
    answers: SimpleQueue[str | BaseException] = SimpleQueue()
    ending = threading.Event()

    async def run() -> None:
        async with AsyncExitStack() as stack:
            server = stack.enter_context(DemoServer(LoggedWeb()))
            servers = await stack.enter_async_context(local_servers(folder / "servers", 1))
            engine = await stack.enter_async_context(opened(ClusterAccess(servers.url)))
            seeds = [f"http://s{site}.example/1" for site in range(SITES)]
            loaded = settings(server.address)
            await start_or_join(engine, loaded, seeds, SHARDS)
            await stack.enter_async_context(nodes(dict.fromkeys("ab", servers.url), folder, loaded))
            answers.put(servers.url)
            await asyncio.to_thread(ending.wait)

    def begin() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            answers.put(error)
            raise

    thread = threading.Thread(target=begin)
    thread.start()
    try:
        found = answers.get()
        if isinstance(found, BaseException):
            raise found
        yield found
    finally:
        ending.set()
        thread.join()


def told(url: str) -> dict[str, Any]:
    """What `cluster status` says."""
    command = [sys.executable, "-m", "minicrawl", "cluster", "status", "--cluster", url, "--json"]
    found: dict[str, Any] = json.loads(subprocess.check_output(command))
    return found


def workers_of(url: str, name: str) -> int:
    return next(int(node["workers"]) for node in told(url)["nodes"] if node["name"] == name)


def test_nodes_are_watched_and_steered_and_what_they_found_is_shown(
    watch: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with cluster(tmp_path) as url, dashboard_of_cluster(url) as served:
        seen = watch(served)
        seen.wait_for_state("running")
        see_what_was_found(seen)
        steer_nodes(seen.page, url)
        steer_all(seen)
        assert told(url)["doing"] == "stopped"


def see_what_was_found(seen: Watched) -> None:
    page, expect = seen.page, playwright.expect
    expect(page.locator("tr[data-node]")).to_have_count(2, timeout=PATIENCE_MS)
    facts = page.locator("section[aria-label=Cluster]")
    expect(facts).to_contain_text("3 of 3 held", timeout=PATIENCE_MS)
    for name in ("Set up", "Search"):
        expect(page.get_by_role("tab", name=name)).to_be_hidden()
    expect(facts).to_contain_text("The shards were gathered at", timeout=PATIENCE_MS)
    expect(page.locator("section[aria-label=Hosts]")).to_contain_text("example")
    seen.tab("Pages")
    best = page.locator("section[aria-label='Best pages'] tbody tr")
    expect(best.first).to_be_visible(timeout=PATIENCE_MS)
    seen.tab("Status")


def steer_nodes(page: "Page", url: str) -> None:
    expect = playwright.expect
    slider = page.get_by_label("Worker processes for each shard of b")
    slider.fill("2")
    slider.dispatch_event("change")
    wait_until(lambda: workers_of(url, "b") == 2, "nobody asked for workers")
    page.get_by_role("button", name="Drain: a", exact=True).click()
    drained = page.locator("tr[data-node=a]")
    expect(drained).to_contain_text("none", timeout=PATIENCE_MS)
    expect(drained).to_contain_text("draining")
    page.get_by_role("button", name="Undo drain: a").click()
    expect(drained).to_contain_text("live", timeout=PATIENCE_MS)


def steer_all(seen: Watched) -> None:
    page = seen.page
    page.get_by_role("button", name="Pause").click()
    seen.wait_for_state("paused")
    page.get_by_role("button", name="Resume").click()
    seen.wait_for_state("running")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop it").click()
    seen.wait_for_state("stopped")
