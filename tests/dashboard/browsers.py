"""A real browser, and what went wrong in it."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.servers import ARGUMENTS, CHROMIUM, PATIENCE_MS, RunningDashboard

playwright = pytest.importorskip("playwright.sync_api")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


class Watched:
    """A page of a browser, and all that went wrong in it."""

    def __init__(self, page: "Page", served: RunningDashboard) -> None:
        self.page, self._base = page, served.base
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
        if not request.url.startswith(self._base):
            self.wrong.append(f"asked elsewhere: {request.url}")

    def _refuse(self, dialog: Any) -> None:
        self.wrong.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def state(self) -> str:
        return self.page.locator("#state").inner_text()

    def wait_for_state(self, *names: str) -> None:
        wanted = re.compile(f"^({'|'.join(names)})$")
        playwright.expect(self.page.locator("#state")).to_have_text(wanted, timeout=PATIENCE_MS)

    def workers(self) -> set[int]:
        pids = self.page.evaluate(
            "[...document.querySelectorAll('tr[data-pid]')].filter((row) => "
            "row.cells[0].textContent.startsWith('worker')).map((row) => row.dataset.pid)"
        )
        return {int(pid) for pid in pids if pid.isdecimal()}


@pytest.fixture
def watch(browser: "Browser") -> Iterator[Callable[..., Watched]]:
    """Open a dashboard in a new browser window; at the end nothing has gone wrong in any."""
    opened: list[Watched] = []

    def watch(served: RunningDashboard, **options: Any) -> Watched:
        context = browser.new_context(**options)
        opened.append(Watched(context.new_page(), served))
        return opened[-1]

    yield watch
    for one in opened:
        one.page.context.close()
        assert one.wrong == []
