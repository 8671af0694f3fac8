"""The dashboard in a real browser, used by clicks alone."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from minicrawl import State
from minicrawl.report.progress.crawl_status import status
from tests.dashboard.browsers import Watched, browser, playwright, watch, watch_store
from tests.dashboard.servers import (
    RunningDashboard,
    crawl_of_demo,
    crawl_state,
    dashboard_of,
    needs_chromium,
    wait_until,
)
from tests.stores import HandCrawl

__all__ = ["browser", "watch", "watch_store"]
pytestmark = [needs_chromium, pytest.mark.timeout(600)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_a_demo_crawl_is_set_up_and_run_to_its_end(
    watch_store: Callable[..., Watched], tmp_path: Path
) -> None:
    store = tmp_path / "demo.db"
    seen = watch_store(store)
    page = seen.page
    page.get_by_role("button", name="Set up a crawl").click()
    page.get_by_role("button", name="Start").click()
    playwright.expect(page.locator("#w-seeds")).to_contain_text("URL")
    assert page.locator("#f-seeds").get_attribute("aria-invalid") == "true"
    page.get_by_label("Crawl the demo web").check()
    page.get_by_label("Pages of the demo web").fill("100")
    page.keyboard.press("Tab")  # the form takes a number when its field is left
    # Until then, the form shows and sends other values.
    playwright.expect(page.locator("form[data-shown='true false 100']")).to_be_visible()
    page.get_by_label("Delay between").fill("soon")
    page.get_by_role("button", name="Start").click()
    playwright.expect(page.locator("#w-delay")).to_contain_text("soon")
    page.get_by_label("Delay between").fill("0")
    page.get_by_role("button", name="Start").click()
    playwright.expect(page.get_by_role("tab", name="Status")).to_have_attribute(
        "aria-selected", "true"
    )
    seen.wait_for_state("not running")
    playwright.expect(seen.figure("crawled")).to_have_text("100")
    playwright.expect(page.locator("svg.chart").first).to_be_visible()
    seen.tab("Pages")
    page.locator("section[aria-label='Best pages'] button.link").first.click()
    playwright.expect(page.locator("svg.flow")).to_be_visible()
    seen.tab("Graph")
    playwright.expect(page.locator("circle.node").first).to_be_visible()
    assert status(store).pages_fetched == 100


@pytest.mark.slow
def test_slider_and_number_of_pages_agree_and_a_dry_run_shows_its_output_and_leaves_no_store(
    watch_store: Callable[..., Watched], path: Path
) -> None:
    seen = watch_store(path)
    page = seen.page
    seen.tab("Set up")
    pages = page.locator("#f-pages")
    slider = page.get_by_label("Pages, by a slider")
    slider.fill("3")
    playwright.expect(pages).to_have_value("100")
    pages.fill("4000")
    playwright.expect(slider).to_have_value("8")
    slider.fill("18")
    playwright.expect(pages).to_have_value("10000000")
    slider.fill("19")
    playwright.expect(pages).to_have_value("")
    page.locator("#setup").get_by_label("One more URL").fill("http://127.0.0.1:9/")
    page.locator("#setup").get_by_role("button", name="Add", exact=True).click()
    playwright.expect(page.locator(".chips li")).to_have_count(1)
    page.get_by_role("button", name="Dry run").click()
    playwright.expect(page.locator("pre")).to_contain_text("only robots.txt was fetched")
    assert not path.exists()


@pytest.mark.proof
def test_two_browsers_see_one_of_them_change_workers_pause_resume_and_stop(
    watch: Callable[..., Watched], tmp_path: Path
) -> None:
    store = tmp_path / "demo.db"
    options = ("--delay", "0.3", "--workers", "1", "--demo-pages", "3000")
    with crawl_of_demo(store, *options) as crawling, dashboard_of(store) as served:
        one, other = watch(served), watch(served)
        one.wait_for_state("running")
        slider = one.page.get_by_label("Worker processes:").locator("visible=true")
        slider.fill("3")
        wait_until(lambda: len(one.workers()) == 3, "there are not three workers")
        pids = one.workers()
        assert all(map(is_alive, pids))
        wait_until(lambda: other.workers() == pids, "the other browser shows other workers")
        slider.fill("0")
        wait_until(lambda: not one.workers(), "workers are shown")
        wait_until(lambda: not any(map(is_alive, pids)), "worker processes are alive")
        one.page.get_by_role("button", name="Pause").click()
        for seen in (one, other):
            seen.wait_for_state("paused")
        wait_until(
            lambda: (crawl_state(store) or {}).get("in_flight") == 0, "requests are in flight"
        )
        before = status(store).requests
        one.page.wait_for_timeout(1500)  # time for five requests of a crawl that is not paused
        assert status(store).requests == before
        other.page.get_by_role("button", name="Resume").click()
        for seen in (one, other):
            seen.wait_for_state("running")
        wait_until(lambda: status(store).requests != before, "nothing is requested")
        one.page.get_by_role("button", name="Stop", exact=True).click()
        one.page.get_by_role("button", name="Stop it").click()
        for seen in (one, other):
            seen.wait_for_state("stopping", "not running")
        assert crawling.wait(60) == 130
        one.wait_for_state("not running")


@pytest.mark.slow
def test_a_killed_crawl_is_shown_as_not_running_and_goes_on_by_a_click(
    watch: Callable[..., Watched], tmp_path: Path
) -> None:
    store = tmp_path / "demo.db"
    with (
        crawl_of_demo(store, "--delay", "0.3", "--demo-pages", "300") as crawling,
        dashboard_of(store) as served,
    ):
        seen = watch(served)
        seen.wait_for_state("running")
        wait_until(lambda: bool(status(store).pages_fetched), "no page is read")
        crawling.send_signal(signal.SIGKILL)
        seen.wait_for_state("not running")
        seen.tab("Set up")
        page = seen.page
        demo, delay = page.get_by_label("Crawl the demo web"), page.get_by_label("Delay between")
        # The form shows the settings that the store was begun with.
        playwright.expect(demo).to_be_checked()
        playwright.expect(page.get_by_label("Pages of the demo web")).to_have_value("300")
        playwright.expect(delay).to_have_value("0.3s")
        delay.fill("0")
        page.get_by_role("button", name="Start").click()
        wait_until(lambda: (status(store).pages_fetched or 0) >= 300, "the crawl has not ended")
        seen.wait_for_state("not running")


@pytest.mark.proof
def test_the_page_of_a_killed_dashboard_says_so_until_the_dashboard_is_back(
    watch: Callable[..., Watched], filled: Path
) -> None:
    with dashboard_of(filled) as served:
        seen = watch(served)
        seen.wait_for_state("not running")
        os.kill(served.process.pid, signal.SIGKILL)
        served.process.wait(30)
        banner = seen.page.locator("#stale")
        playwright.expect(banner).to_be_visible()
    port = served.base.rstrip("/").rpartition(":")[2]
    with dashboard_of(filled, "--port", port) as again:
        assert again.token == served.token
        playwright.expect(banner).to_be_hidden()


@pytest.mark.slow
def test_no_text_of_a_page_becomes_markup_or_a_script(
    watch_store: Callable[..., Watched], shared_vector: Callable[[str], Path], path: Path
) -> None:
    by_kind = json.loads(shared_vector("injection_strings.json").read_text(encoding="utf-8"))
    hostile = [line for kind in by_kind.values() for line in kind]
    a = "http://a.example/"
    urls = [f"{a}?q={quote(said, safe='<>()')}" for said in hostile]
    with closing(HandCrawl(path)) as hand:
        hand.seeds([a], endowment=10)
        hand.read(a, urls, title="<img src=x onerror=alert(1)>")
        for url, said in zip(urls, hostile, strict=True):
            hand.read(url, [a], title=said)
            hand.seeds([failed := f"http://b.example/{quote(said, safe='<>()')}"])
            hand.ended(failed, State.TLS, said)
    seen = watch_store(path)
    page = seen.page
    page.locator("summary", has_text="Log").click()
    playwright.expect(page.locator(".log div").first).to_be_visible()
    seen.tab("Pages")
    first = page.get_by_text("<img src=x onerror=alert(1)>")
    playwright.expect(first.first).to_be_visible()
    page.locator("section[aria-label='Best pages'] button.link").first.click()
    playwright.expect(page.locator("svg.flow")).to_be_visible()
    page.get_by_placeholder("words of a URL or a title").fill("alert")
    page.get_by_role("button", name="Search").click()
    playwright.expect(page.locator("section[aria-label=Search] tbody tr").first).to_be_visible()
    seen.tab("Graph")
    page.locator("#g-of").select_option("pages")
    playwright.expect(page.locator("circle.node").first).to_be_visible()
    assert page.evaluate("document.images.length") == 1
    assert page.evaluate("document.scripts.length") == 1
    hrefs = page.evaluate(
        "[...document.querySelectorAll('main a')].map((a) => [a.protocol, a.rel])"
    )
    assert {protocol for protocol, _ in hrefs} <= {"http:", "https:"}
    assert {rel for _, rel in hrefs} <= {"noopener noreferrer"}


@pytest.mark.slow
def test_unambiguous_host_names_are_shown_in_unicode(
    watch_store: Callable[..., Watched], tmp_path: Path
) -> None:
    read, sent, store = "http://bücher.example/", "http://xn--bcher-kva.example/", tmp_path / "c.db"
    with closing(HandCrawl(store)) as hand:
        hand.seeds([sent], endowment=10)
        hand.read(sent, ["http://xn--80ak6aa92e.com/"], title="Books")
    seen = watch_store(store)
    hosts = seen.page.locator("section[aria-label=Hosts]")
    playwright.expect(hosts).to_contain_text(read[:-1])
    seen.tab("Pages")
    best = seen.page.locator("section[aria-label='Best pages']")
    playwright.expect(best).to_contain_text("http://xn--80ak6aa92e.com/")
    best.get_by_role("button", name=read, exact=True).click()
    flow = seen.page.locator("svg.flow")
    playwright.expect(flow).to_be_visible()
    assert seen.page.locator(f"a[href='{sent}']").count()
    seen.tab("Graph")
    name = seen.page.locator("svg text", has_text="bücher.example")
    playwright.expect(name.first).to_be_visible()


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255)
    + 0.0722 * linear(b / 255);
  const paper = (one) => {
    for (let e = one; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), one = walker.currentNode.parentElement;
    if (!text || !one.getBoundingClientRect().width) continue;
    if (one.closest("svg, :disabled, .skip, noscript, [hidden]")) continue;
    const both = [light(rgb(getComputedStyle(one).color)), light(paper(one))];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (ratio < 4.5) found.push([text.slice(0, 40), ratio]);
  }
  return found;
}"""
"""Texts of the page whose contrast is below 4.5, which WCAG asks for."""
LOADED = {
    "Set up": "form[data-shown]",
    "Status": "section[aria-label=Hosts] tbody tr",
    "Pages": "section[aria-label='Best pages'] button.link",
    "Search": "#wrong",  # there is no index
    "Graph": "circle.node",
}
"""What each view shows once its data have come."""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_view_fits_its_width_and_can_be_read(
    watch_store: Callable[..., Watched], filled: Path, scheme: str, width: int
) -> None:
    screen = {"color_scheme": scheme, "viewport": {"width": width, "height": 740}}
    seen = watch_store(filled, **screen, reduced_motion="reduce")
    seen.wait_for_state("not running")
    for name, loaded in LOADED.items():
        seen.tab(name)
        seen.page.locator(loaded).locator("visible=true").first.wait_for()
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert seen.page.evaluate(wide) <= 0, name
        assert seen.page.evaluate(CONTRAST) == [], name


_LEFT_OF_LABELS = """async () => {
    const { curves } = await import("/page/charts.js");
    const { size } = await import("/page/dom.js");
    const series = [{ name: "bytes", points: [[0, 0], [60, 80e6]] }];
    const figure = curves("downloaded", series, size);
    document.querySelector("main").append(figure);
    return [...figure.querySelectorAll("svg text")].map((text) => text.getBBox().x);
}"""


@pytest.mark.slow
def test_an_axis_has_room_for_its_labels_and_a_small_share_is_not_0(
    watch_store: Callable[..., Watched], filled: Path
) -> None:
    page = watch_store(filled).page
    assert min(page.evaluate(_LEFT_OF_LABELS)) >= 0
    share = "async (of) => (await import('/page/dom.js')).share(...of)"
    for value, shown in {0: "0.000 %", 5e-6: "0.0005 %", 0.0238: "2.380 %"}.items():
        assert page.evaluate(share, [value, 3]) == shown


@pytest.mark.slow
def test_all_controls_have_names_and_tabs_obey_the_keyboard(
    watch_store: Callable[..., Watched], filled: Path
) -> None:
    seen = watch_store(filled)
    page = seen.page
    seen.wait_for_state("not running")
    page.locator("#tab-status").focus()
    for name in ("pages", "search", "graph", "setup", "status"):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert page.locator(f"#{name}").is_visible()
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select, textarea')].filter((e) => "
        "!(e.labels && e.labels.length) && !e.getAttribute('aria-label') && "
        "!e.textContent.trim()).map((e) => e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.slow
def test_without_the_token_nothing_is_shown_and_the_browser_tab_keeps_the_token(
    watch: Callable[..., Watched], filled: Path
) -> None:
    with dashboard_of(filled) as served:
        without = RunningDashboard(served.process, served.base)
        seen = watch(without)
        seen.wait_for_state("no token")
        playwright.expect(seen.page.locator("#notice")).to_contain_text("token")
        assert seen.page.get_by_role("tab", name="Set up").is_disabled()
        assert str(filled) not in seen.page.content()
        seen.page.goto(served.address)  # the same page, now with the token after the #
        seen.wait_for_state("not running")
        assert served.token not in seen.page.url
        seen.page.reload()
        seen.wait_for_state("not running")
        assert seen.page.context.cookies() == []
