"""`python -m tests.dashboard.pictures`: draw each view of the dashboard into docs/img.

A demo crawl runs meanwhile, so that every view has something to show. This needs the chromium of
the tests. Look at the pictures before you commit them.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image

from tests.dashboard.browsers import Watched, playwright
from tests.dashboard.servers import (
    ARGUMENTS,
    CHROMIUM,
    RunningDashboard,
    crawl_of_demo,
    dashboard_of,
    dashboard_of_cluster,
    wait_until,
)
from tests.processes import killed_on_failure

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parents[2] / "docs" / "img"
SCHEMES = {"light": "", "dark": "-dark"}
_SIZE = {"width": 1200, "height": 900}
_CRAWL = (
    *("--demo-pages", "2000", "--delay", "0.2", "--workers", "2"),
    *("--keep", "pages", "--index", "--graph-stats"),
)
_CLUSTER = ("--demo-pages", "5000", "--delay", "0.2")
_URL = re.compile("--cluster (nats://.*)")
_ENOUGH_PAGES = 400
_ENOUGH_GATHERED_PAGES = 50  # shards are gathered about once a minute
_WORDS = "museum harbour"


def _set_up(page: "Page") -> None:
    playwright.expect(page.locator("form[data-shown]")).to_be_visible()


def _status(page: "Page") -> None:
    figures = page.get_by_text("strong components").first
    playwright.expect(figures).to_be_visible()


def _pages(page: "Page") -> None:
    page.locator("section[aria-label='Best pages'] button.link").first.click()
    playwright.expect(page.locator("svg.flow")).to_be_visible()


def _graph(page: "Page") -> None:
    playwright.expect(page.locator("circle.node").first).to_be_visible()


def _search(page: "Page") -> None:
    page.get_by_role("searchbox").locator("visible=true").fill(_WORDS)
    playwright.expect(page.locator("mark").first).to_be_visible()


VIEWS: dict[str, tuple[str, Callable[["Page"], None]]] = {
    "setup": ("Set up", _set_up),
    "status": ("Status", _status),
    "pages": ("Pages", _pages),
    "graph": ("Graph", _graph),
    "search": ("Search", _search),
}


def draw(folder: Path) -> Iterator[Path]:
    """Draw all views, light and dark, and yield the pictures."""
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as place,
        crawl_of_demo(store := Path(place) / "demo.db", *_CRAWL),
    ):
        wait_until(store.exists, "no store")
        with dashboard_of(store) as served:
            for suffix, seen in _in_both_schemes(served, _ENOUGH_PAGES):
                for name, (tab, wait) in VIEWS.items():
                    seen.tab(tab)
                    wait(seen.page)
                    file = folder / f"dashboard-{name}{suffix}.png"
                    yield _saved(seen.page, file, full_page=True)


def draw_cluster(folder: Path) -> Iterator[Path]:
    """Draw the nodes of a demo cluster, light and dark, and yield the pictures."""
    with (
        TemporaryDirectory() as place,
        cluster_of_demo(Path(place)) as url,
        dashboard_of_cluster(url) as served,
    ):
        for suffix, seen in _in_both_schemes(served, _ENOUGH_GATHERED_PAGES):
            yield _saved(seen.page, folder / f"dashboard-cluster{suffix}.png")


def _in_both_schemes(served: RunningDashboard, pages: int) -> Iterator[tuple[str, Watched]]:
    """Open the dashboard light and dark; yield the suffix of the scheme and the browser page."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for scheme, suffix in SCHEMES.items():
            context = browser.new_context(color_scheme=scheme, viewport=_SIZE)
            seen = Watched(context.new_page(), served)
            seen.wait_for_state("running")
            wait_until(partial(_has_crawled, seen, pages), f"fewer than {pages} pages")
            yield suffix, seen
            context.close()
        browser.close()


def _saved(page: "Page", file: Path, *, full_page: bool = False) -> Path:
    page.screenshot(path=file, full_page=full_page)
    Image.open(file).quantize().save(file, optimize=True)
    return file


@contextmanager
def cluster_of_demo(folder: Path) -> Iterator[str]:
    """Run `crawl --cluster demo` inside the block; give the URL of its servers."""
    os.environ["XDG_CACHE_HOME"] = str(folder)
    command = (sys.executable, "-m", "minicrawl", "crawl", "--cluster", "demo", *_CLUSTER)
    with killed_on_failure(
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder)
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := _URL.search(line):
                yield found[1]
                break
        process.send_signal(signal.SIGINT)
        process.communicate()


def _has_crawled(seen: Watched, pages: int) -> bool:
    seen.tab("Status")
    shown = seen.figure("crawled").inner_text().replace(",", "")
    return shown.isdecimal() and int(shown) >= pages


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in (*draw(IMAGES), *draw_cluster(IMAGES)))
