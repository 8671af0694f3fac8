"""Every figure of a crawl in the browser, also over a slow network and after an interruption."""

import os
import re
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from minicrawl import State
from minicrawl.report.progress.live_sampler import sampled_now
from minicrawl.report.progress.samples import keep_sample
from minicrawl.store.reader import reading
from tests.dashboard.browsers import Watched, browser, playwright, watch, watch_crawl, watch_store
from tests.dashboard.servers import PATIENCE_MS, dashboard_of, needs_chromium
from tests.stores import HandCrawl, filled_store

__all__ = ["browser", "watch", "watch_crawl", "watch_store"]
pytestmark = [needs_chromium, pytest.mark.timeout(600), pytest.mark.proof]

FIGURES = (
    *("crawl time", "URLs a second", "downloaded", "throughput", "crawled", "errors", "total"),
    *("maximum", "known", "waiting", "strong components", "largest of them", "weak components"),
    *("dangling pages", "diameter", "mean distance", "reciprocity", "links"),
)
CURVES = ("requests", "requests a second", "downloaded", "components", "distances")
CRAWLER_COLUMNS = ("crawler", "process", "doing now", "last request", "requests", "CPU", "memory")
HOST_COLUMNS = ("host", "read", "waiting", "failed", "importance", "next")


def test_the_status_of_a_running_crawl_has_all_figures_and_their_source(
    watch_crawl: Callable[..., Watched],
) -> None:
    seen = watch_crawl("--graph-stats", "--delay", "0.2", "--workers", "1")
    page = seen.page
    for name in FIGURES:
        playwright.expect(seen.figure(name)).to_have_text(re.compile("[0-9]|no limit"))
    graph = page.locator("section[aria-label='Graph of the pages']")
    playwright.expect(graph).to_contain_text("exact figures")
    for name in CURVES:
        titled = page.locator(".plot", has=page.locator("h3", has_text=re.compile(f"^{name}$")))
        # A curve of the graph needs two samples, which a process beside the crawl takes.
        playwright.expect(titled.locator("svg.chart")).to_be_visible(timeout=4 * PATIENCE_MS)
    degrees = page.locator("section[aria-label='Degree distributions']")
    playwright.expect(degrees.locator("svg.chart")).to_be_visible()
    playwright.expect(degrees.locator("tbody tr").first).to_contain_text("0–19")
    for section, columns in (("Crawlers", CRAWLER_COLUMNS), ("Hosts", HOST_COLUMNS)):
        heads = page.locator(f"section[aria-label={section}] th")
        playwright.expect(heads.first).to_be_visible()
        assert tuple(heads.all_inner_texts()) == columns
    hosts = page.locator("section[aria-label=Hosts] tbody tr td:last-child")
    playwright.expect(hosts.first).to_have_text(re.compile("now|in [0-9]+ s"))


def test_a_kind_of_errors_leads_to_its_pages_and_a_page_to_its_history(
    watch_store: Callable[..., Watched], path: Path
) -> None:
    with closing(HandCrawl(path)) as hand:
        a, b = "http://a.example/", "http://b.example/"
        hand.seeds([a], endowment=10)
        others = [f"{a}{number}" for number in range(4)]
        hand.read(a, [b, *others])
        for url in others:
            hand.read(url, [b])
        hand.ended(b, State.TIMEOUT, "no answer in 20 s")
    seen = watch_store(hand.path)
    page = seen.page
    errors = page.locator("section[aria-label=Errors]")
    errors.get_by_role("button", name="timeout").click()
    playwright.expect(errors).to_contain_text("timeout: the latest 1")
    playwright.expect(errors).to_contain_text("no answer in 20 s")
    errors.get_by_role("button", name=b).click()
    about = page.locator("section[aria-label='One page']")
    playwright.expect(about.locator("svg.flow")).to_have_attribute(
        "aria-label", "5 givers and 0 receivers"
    )
    playwright.expect(about).to_contain_text("timeout")
    for name in ("cash received", "givers"):
        playwright.expect(about.locator(f"svg.chart[aria-label^='{name}']")).to_be_visible()
    label = about.locator("svg.chart[aria-label^='givers']").get_attribute("aria-label")
    assert label == "givers: pages 5 at the end"


def test_a_late_response_does_not_replace_that_of_a_later_click(
    watch_store: Callable[..., Watched], filled: Path
) -> None:
    held: list[Any] = []
    seen = watch_store(filled)
    page = seen.page
    seen.tab("Pages")
    buttons = page.locator("section[aria-label='Best pages'] button.link")
    slow, quick = buttons.nth(0).inner_text(), buttons.nth(1).inner_text()
    url = re.compile(f"/api/page.*url={re.escape(quote(slow, safe=''))}$")
    page.route(url, lambda route: held.append(route))  # noqa: PLW0108  # playwright marks it
    buttons.nth(0).click()
    about = page.locator("section[aria-label='One page']")
    playwright.expect(about).to_contain_text("Reading all links")
    buttons.nth(1).click()
    playwright.expect(about.locator("p").first).to_contain_text(quick)
    (late,) = held
    late.continue_()
    playwright.expect(about.locator(".moment")).to_contain_text("as of")
    assert quick in about.locator("p").first.inner_text()


def test_each_block_shows_when_its_own_numbers_were_read(
    watch_store: Callable[..., Watched], filled: Path
) -> None:
    now = sampled_now(filled)
    assert now is not None
    with reading(filled) as connection:  # the graph was last measured an hour ago
        keep_sample(filled, connection, replace(now, at=now.at - 3600))
    seen = watch_store(filled)
    cards = seen.page.locator("#status section.card:has(header)")
    moments = cards.locator("> header .moment")
    playwright.expect(moments.last).to_contain_text("as of")
    graph = ("Graph of the pages", "Degree distributions")
    for number in range(cards.count()):
        name = cards.nth(number).get_attribute("aria-label")
        shown = moments.nth(number)
        playwright.expect(shown).to_contain_text("as of")
        at = datetime.strptime(shown.inner_text()[-8:], "%H:%M:%S")
        ago = (datetime.now() - at).seconds % 86400
        assert (ago >= 3600) == (name in graph), name


def _store_with_curves(folder: Path) -> tuple[Path, Callable[[int], None]]:
    """Return a store with two samples of the graph, and what adds one with so many components."""
    store = filled_store(folder / "crawl.db")
    now = sampled_now(store)
    assert now is not None

    def keep(components: int) -> None:
        outline = replace(now.outline, strong_components=components)
        with reading(store) as connection:
            later = replace(now, at=now.at + components, outline=outline)
            keep_sample(store, connection, later)

    keep(1001)
    keep(1002)
    return store, keep


def test_each_curve_has_a_table_of_its_figures_that_stays_open_when_figures_come(
    watch_store: Callable[..., Watched], tmp_path: Path
) -> None:
    store, keep = _store_with_curves(tmp_path)
    seen = watch_store(store)
    for name in CURVES:
        title = seen.page.locator("h3", has_text=re.compile(f"^{name}$"))
        plot = seen.page.locator(".plot", has=title)
        playwright.expect(plot.locator("svg.chart")).to_be_visible()
        plot.locator("summary").click()
        playwright.expect(plot.locator("tbody tr").nth(1)).to_be_visible()
        heads = plot.locator("th").all_inner_texts()
        assert len(heads) == plot.locator("tbody tr:first-child td").count() >= 2
    components = seen.page.get_by_role("region", name="components, a table")
    assert components.locator("tbody td:nth-child(2)").all_inner_texts() == ["1,001", "1,002"]
    keep(1003)
    playwright.expect(components).to_contain_text("1,003")
    playwright.expect(components.locator("table")).to_be_visible()


def test_a_click_and_the_focus_are_not_lost_when_figures_come(
    watch: Callable[..., Watched], tmp_path: Path
) -> None:
    store, keep = _store_with_curves(tmp_path)
    with dashboard_of(store) as served:
        clicked, beside = watch(served).page, watch(served).page
        opener = clicked.locator(".plot", has_text="components").locator("summary")
        opener.hover()
        clicked.mouse.down()
        keep(1003)
        other = beside.locator(".plot", has_text="components")
        other.locator("summary").click()
        playwright.expect(other).to_contain_text("1,003")
        clicked.mouse.up()
        table = clicked.get_by_role("region", name="components, a table")
        playwright.expect(table).to_contain_text("1,003")
        keep(1004)
        playwright.expect(table).to_contain_text("1,004")
        playwright.expect(opener).to_be_focused()


def test_lines_of_the_log_name_the_crawler(watch_crawl: Callable[..., Watched]) -> None:
    seen = watch_crawl("--delay", "0.2", "--workers", "2")
    seen.page.locator("summary", has_text="Log").click()
    for name in ("worker 1", "worker 2"):
        line = seen.page.locator(".log div", has_text=name).first
        playwright.expect(line).to_be_visible()
        playwright.expect(line).to_contain_text("http://")


def test_over_a_slow_network_figures_change_and_are_not_called_stale(
    watch_crawl: Callable[..., Watched],
) -> None:
    seen = watch_crawl("--graph-stats", "--delay", "0.3", "--workers", "1")
    network = seen.page.context.new_cdp_session(seen.page)
    slow = {"offline": False, "latency": 1000, "downloadThroughput": 20_000}
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", slow | {"uploadThroughput": 5000})
    seen.page.reload()
    seen.wait_for_state("running")
    crawled = seen.figure("crawled")
    first = crawled.inner_text()
    playwright.expect(crawled).not_to_have_text(first)
    assert seen.page.locator("#stale").is_hidden()
    seen.page.get_by_role("button", name="Pause").click()
    seen.wait_for_state("paused")


def test_a_browser_says_that_it_is_cut_off_and_catches_up_afterwards(
    watch_crawl: Callable[..., Watched],
) -> None:
    seen = watch_crawl("--delay", "0.3", "--workers", "1")
    server, banner = seen.served.process.pid, seen.page.locator("#stale")
    os.kill(server, signal.SIGSTOP)  # as if the cable were cut: no connection is closed
    try:
        playwright.expect(banner).to_be_visible()
    finally:
        os.kill(server, signal.SIGCONT)
    playwright.expect(banner).to_be_hidden()
    seen.wait_for_state("running")
