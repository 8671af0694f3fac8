"""A real browser, and a record of everything that goes wrong in it."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.servers import (
    ARGUMENTS,
    CHROMIUM,
    PATIENCE_MS,
    RunningDashboard,
    crawl_of_demo,
    dashboard_of,
)

playwright = pytest.importorskip("playwright.sync_api")
playwright.expect.set_options(timeout=PATIENCE_MS)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


class Watched:
    """A dashboard in a page of a browser, and everything that went wrong there."""

    def __init__(self, page: "Page", served: RunningDashboard) -> None:
        self.page, self.served = page, served
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._hear)
        page.on("request", self._see)
        page.on("dialog", self._refuse)
        page.goto(served.address)

    def _hear(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def _see(self, request: Any) -> None:
        if not request.url.startswith(self.served.base):
            self.wrong.append(f"request to another server: {request.url}")

    def _refuse(self, dialog: Any) -> None:
        self.wrong.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def figure(self, name: str) -> "Locator":
        """Return the place of the figure with this name in the status."""
        label = self.page.locator("#status dt", has_text=re.compile(f"^{name}$"))
        return label.locator("xpath=../dd")

    def wait_for_state(self, *names: str) -> None:
        wanted = re.compile(f"^({'|'.join(names)})$")
        playwright.expect(self.page.locator("#state")).to_have_text(wanted)

    def workers(self) -> set[int]:
        """Return the process ids of the workers in the table of crawlers."""
        pids = self.page.evaluate(
            "[...document.querySelectorAll('tr[data-pid]')].filter((row) => "
            "row.cells[0].textContent.startsWith('worker')).map((row) => row.dataset.pid)"
        )
        return {int(pid) for pid in pids if pid.isdecimal()}


@pytest.fixture
def watch(browser: "Browser") -> Iterator[Callable[..., Watched]]:
    """Open a dashboard in a new browser window. At the end nothing may have gone wrong in any."""
    opened: list[Watched] = []

    def watch(served: RunningDashboard, **options: Any) -> Watched:
        context = browser.new_context(**options)
        opened.append(Watched(context.new_page(), served))
        return opened[-1]

    yield watch
    for seen in opened:
        seen.page.context.close()
        assert seen.wrong == []


@pytest.fixture
def watch_store(watch: Callable[..., Watched]) -> Iterator[Callable[..., Watched]]:
    """Run a dashboard of a store until the end of the test, and open it in a browser."""
    with ExitStack() as running:
        yield lambda store, **options: watch(running.enter_context(dashboard_of(store)), **options)


@pytest.fixture
def watch_crawl(
    watch_store: Callable[..., Watched], tmp_path: Path
) -> Iterator[Callable[..., Watched]]:
    """Start a demo crawl with these options, and open its dashboard in a browser."""
    with ExitStack() as running:

        def start(*options: str) -> Watched:
            store = tmp_path / "demo.db"
            running.enter_context(crawl_of_demo(store, "--demo-pages", "3000", *options))
            seen = watch_store(store)
            seen.wait_for_state("running")
            return seen

        yield start
