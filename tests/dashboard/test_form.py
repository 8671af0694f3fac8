"""The set-up form in a browser shows the settings that its command line gives the crawl."""

import itertools
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Settings
from minicrawl.cli import main
from minicrawl.cli.companions import Companion, CrawlRequest
from minicrawl.config import load
from minicrawl.config.table import BY_NAME
from minicrawl.crawl.start.settings import with_stored_settings
from minicrawl.dashboard.access import DashboardAccess
from minicrawl.dashboard.crawl_form import FIELDS
from minicrawl.dashboard.http_server import LimitedServer, listening
from minicrawl.dashboard.launcher import Launcher
from minicrawl.dashboard.routes import Dashboard
from minicrawl.dashboard.views import Views
from minicrawl.demo.settings import demo_settings
from tests.dashboard.browsers import browser, playwright
from tests.dashboard.servers import PATIENCE_MS, needs_chromium
from tests.dashboard.test_launching import strict_store
from tests.proofs import IS_LONG
from tests.stores import filled_store

__all__ = ["browser"]
pytestmark = [needs_chromium, pytest.mark.timeout(900)]

UNTOUCHED = object()
TOKEN = "t" * 32
TOML = """
budget.pages = 77
scope.scope = "domain"
scope.allow = ["a", "b"]
network.workers = 12
"""
FACTORS: dict[str, Sequence[object]] = {
    "store": ("none", "plain", "strict", "file"),
    "demo": (UNTOUCHED, True),
    "fresh": (UNTOUCHED, True),
    "demo-pages": (UNTOUCHED, "300"),
    "scope": (UNTOUCHED, "any", "host"),
    "keep": (UNTOUCHED, "none", "pages"),
    "robots": (True, False),
    "workers": (UNTOUCHED, "auto", "3"),
    "max-depth": (UNTOUCHED, "", "2"),
    "allow": (UNTOUCHED, "", "one\n  two ", "none"),
    "deny": (UNTOUCHED, "", r"\.pdf$"),
    "pages": (UNTOUCHED, "", "1_000", "slider"),
    "for": (UNTOUCHED, "", "1h30m"),
    "bytes": (UNTOUCHED, "", "500MB"),
    "until": (UNTOUCHED, "", "90%"),
    "concurrency": (UNTOUCHED, "", "7"),
    "delay": (UNTOUCHED, "", "2s", "auto"),
    "contact": (UNTOUCHED, "", "https://example.org/me"),
}


GIVES_DEFAULTS = {"store", "demo", "fresh"}
"""Factors on which the defaults of the other fields depend."""


def pairwise(factors: Mapping[str, Sequence[object]], seed: int) -> list[dict[str, object]]:
    """Return states such that any two values of two factors occur together in one of them.

    Of pairs of fields with the same defaults, only the long proof has all.
    """
    draw, names = random.Random(seed), list(factors)
    missing = {
        frozenset(((one, value), (other, of_other)))
        for one, other in itertools.combinations(names, 2)
        if IS_LONG or GIVES_DEFAULTS & {one, other}
        for value in factors[one]
        for of_other in factors[other]
    }
    states = []
    while missing:
        chosen = dict(sorted(draw.choice(sorted(missing, key=repr)), key=repr))
        for name in draw.sample(names, len(names)):
            if name not in chosen:
                values = draw.sample(list(factors[name]), len(factors[name]))
                chosen[name] = max(values, key=lambda value: _news(chosen, name, value, missing))
        missing -= {frozenset(pair) for pair in itertools.combinations(chosen.items(), 2)}
        states.append(chosen)
    return states


def _news(chosen: Mapping[str, object], name: str, value: object, missing: set[Any]) -> int:
    return sum(frozenset((one, (name, value))) in missing for one in chosen.items())


class NotingViews(Views):
    """Views that note the options and seeds of crawls, instead of starting them."""

    def __init__(self, store: Path, config: Path | None) -> None:
        self.config = () if config is None else ("--config", str(config))
        super().__init__(store, Launcher(store, lambda: load({}, {}, config)))
        self.started: list[tuple[list[str], list[str]]] = []

    async def start(self, form: Mapping[str, Any]) -> None:
        self.started.append(self.launcher.form.arguments(form))


@contextmanager
def served(views: Views) -> Iterator[str]:
    """Run a dashboard in a thread of this process inside the block; give its address."""
    with listening("127.0.0.1", 0) as listener:
        port = int(listener.getsockname()[1])
        dashboard = Dashboard(views, DashboardAccess(port=port, names=frozenset(), token=TOKEN))
        server = LimitedServer(dashboard.app())
        thread = threading.Thread(target=server.run_at, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/#{TOKEN}"
        finally:
            dashboard.end()
            server.should_exit = True
            thread.join()


def settings_of(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return the settings of the crawl that this command line would run."""
    found: list[Settings] = []

    class Recorder(Companion):
        def crawls_instead(self, request: CrawlRequest) -> bool:
            loaded, given = request.loaded, request.given
            store = loaded.settings.storing.store
            if given["demo"]:
                loaded = demo_settings(loaded, given["demo_pages"], "127.0.0.1:1")
            found.append((loaded if given["fresh"] else with_stored_settings(loaded)).settings)
            assert found[-1].storing.store == store
            return True

    with monkeypatch.context() as patched:
        patched.setattr("minicrawl.cli.crawl.command.companions", lambda: [Recorder()])
        assert main(["crawl", *arguments]) == 0, arguments
    return found[0]


class Form:
    """The form as a user reads it and fills it in."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def fill(self, name: str, value: object) -> None:
        control = self._page.locator(f"#f-{name}")
        if value is UNTOUCHED or not (control.is_visible() or name == "workers"):
            return
        if name == "workers":
            auto = self._page.locator("#workers-auto")
            auto.set_checked(value == "auto")
            if value != "auto":
                control.fill(value)
        elif name == "pages" and value == "slider":
            self._page.get_by_label("Pages, by a slider").fill("5")
        elif isinstance(value, bool):
            control.set_checked(value)
        elif name in ("scope", "keep"):
            control.select_option(value)
        else:
            control.fill(value)
            control.blur()

    def shows(self, name: str) -> object:
        control = self._page.locator(f"#f-{name}")
        if name == "workers":
            return self._page.locator("output[for=f-workers]").inner_text()
        if name == "robots":
            return control.is_checked()
        text = control.input_value().strip()
        if name in ("allow", "deny"):
            return [line.strip() for line in text.splitlines()] or "none"
        return text or control.get_attribute("placeholder")

    def settle(self, wanted: Mapping[str, object]) -> None:
        """Wait until the form shows the values for such a crawl."""
        kinds = ["true" if wanted.get(name) is True else "false" for name in ("demo", "fresh")]
        pages = wanted.get("demo-pages", UNTOUCHED)
        size = pages if pages is not UNTOUCHED and wanted.get("demo") is True else "2000"
        form = self._page.locator("#setup form")
        playwright.expect(form).to_have_attribute("data-shown", f"{' '.join(kinds)} {size}")


def expected(name: str, shown: object) -> object:
    """Return the value of the setting that the shown text stands for."""
    kind = BY_NAME[name].kind
    return kind.read("none" if shown == "no limit" else shown)


@pytest.mark.proof
def test_a_crawl_runs_with_the_values_that_the_form_shows(
    browser: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    toml = tmp_path / "some.toml"
    toml.write_text(TOML, encoding="utf-8")
    of_stores = {
        "none": NotingViews(tmp_path / "none.db", None),
        "plain": NotingViews(filled_store(tmp_path / "plain.db"), None),
        "strict": NotingViews(strict_store(tmp_path / "strict.db"), None),
        "file": NotingViews(filled_store(tmp_path / "file.db"), toml),
    }
    states = pairwise(FACTORS, seed=44)
    for kind, views in of_stores.items():
        with ExitStack() as stack:
            address = stack.enter_context(served(views))
            page = stack.enter_context(browser.new_context()).new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(address)
            for state in states:
                if state["store"] == kind:
                    check_state(page, state, views, monkeypatch)


def check_state(
    page: Any, state: dict[str, object], views: NotingViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.get_by_role("tab", name="Set up").click()
    form = Form(page)
    form.settle({})
    for name in ("demo", "fresh", "demo-pages"):
        form.fill(name, state[name])
    form.settle(state)
    for name in FIELDS:
        form.fill(name, state[name])
    if state["demo"] is not True:
        page.locator("#f-seeds").fill("a.example")
    shown = {name: form.shows(name) for name in FIELDS}
    page.get_by_role("button", name="Start", exact=True).click()
    status = page.get_by_role("tab", name="Status")
    playwright.expect(status).to_have_attribute("aria-selected", "true")
    options, seeds = views.started.pop()
    assert not views.started
    given = [*seeds, "--store", str(views.store), *views.config, *options]
    found = settings_of(given, monkeypatch)
    for name, text in shown.items():
        assert found.value(BY_NAME[name]) == expected(name, text), (name, text, options)
    assert ("--fresh" in options) == (state["fresh"] is True)
    assert seeds == ([] if state["demo"] is True else ["https://a.example/"])
