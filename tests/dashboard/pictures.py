"""`python -m tests.dashboard.pictures`: draw each view of the dashboard into docs/img.

A demo crawl runs while the views are drawn, so that there is something to see on each of them.
Needs the chromium of the tests. Look at what it has drawn before you commit it.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image

from tests.dashboard.browsers import Watched, playwright
from tests.dashboard.servers import (
    ARGUMENTS,
    CHROMIUM,
    PATIENCE_MS,
    crawl_of_demo,
    dashboard_of,
    wait_until,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parents[2] / "docs" / "img"
SCHEMES = {"light": "", "dark": "-dark"}
_SIZE = {"width": 1200, "height": 900}
_CRAWL = (
    *("--demo-pages", "2000", "--delay", "0.2", "--workers", "2"),
    *("--keep", "pages", "--index", "--graph-stats"),
)
_ENOUGH = 400
_WORDS = "museum harbour"


def _status(page: "Page") -> None:
    figures = page.get_by_text("strong components").first
    playwright.expect(figures).to_be_visible(timeout=PATIENCE_MS)


def _pages(page: "Page") -> None:
    page.locator("section[aria-label='Best pages'] button.link").first.click()
    playwright.expect(page.locator("svg.flow")).to_be_visible(timeout=PATIENCE_MS)


def _graph(page: "Page") -> None:
    playwright.expect(page.locator("circle.node").first).to_be_visible(timeout=PATIENCE_MS)


def _search(page: "Page") -> None:
    page.get_by_role("searchbox").locator("visible=true").fill(_WORDS)
    playwright.expect(page.locator("mark").first).to_be_visible(timeout=PATIENCE_MS)


VIEWS: dict[str, tuple[str, Callable[["Page"], None]]] = {
    "setup": ("Set up", lambda _page: None),
    "status": ("Status", _status),
    "pages": ("Pages", _pages),
    "graph": ("Graph", _graph),
    "search": ("Search", _search),
}


def draw(folder: Path) -> list[Path]:
    """Draw all views, light and dark."""
    drawn = []
    with (
        TemporaryDirectory() as place,
        crawl_of_demo(store := Path(place) / "demo.db", *_CRAWL),
        playwright.sync_playwright() as driver,
    ):
        wait_until(store.exists, "a store")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        with dashboard_of(store) as served:
            for scheme, suffix in SCHEMES.items():
                context = browser.new_context(color_scheme=scheme, viewport=_SIZE)
                seen = Watched(context.new_page(), served)
                seen.page.set_default_timeout(PATIENCE_MS)
                seen.wait_for_state("running")
                wait_until(partial(_has_enough, seen), "some pages")
                for name, (tab, wait) in VIEWS.items():
                    seen.tab(tab)
                    wait(seen.page)
                    drawn.append(folder / f"dashboard-{name}{suffix}.png")
                    seen.page.screenshot(path=drawn[-1], full_page=True)
                    Image.open(drawn[-1]).quantize().save(drawn[-1], optimize=True)
                context.close()
        browser.close()
    return drawn


def _has_enough(seen: Watched) -> bool:
    seen.tab("Status")
    crawled = seen.page.locator("dt", has_text="crawled").locator("xpath=../dd").first
    shown = crawled.inner_text().replace(",", "")
    return shown.isdecimal() and int(shown) >= _ENOUGH


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in draw(IMAGES))
