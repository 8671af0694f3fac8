"""`search --serve`, in a real browser and by requests that no browser sends."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from minicrawl.cli import main
from minicrawl.dashboard.routes import TOKEN_HEADER
from minicrawl.search.indexing import bring_up_to_date
from tests.dashboard.servers import ARGUMENTS, CHROMIUM, PATIENCE_MS, needs_chromium
from tests.processes import killed_on_failure
from tests.search.stored.stores import read_into

pytestmark = pytest.mark.timeout(600)

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVIL = "http://a.example/evil"
PAGES = {
    EVIL: b"<title>&lt;img src=x onerror=alert(1)&gt; harbour</title>"
    b"<p>&lt;script&gt;alert(2)&lt;/script&gt; \xf0\x9f\xa6\x80 a harbour \xe2\x80\xae with crabs",
    **{
        f"http://b.example/{n}": f"<html lang=de><title>Quay {n}</title><p>harbour {n}".encode()
        for n in range(14)
    },
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "crawl.db"
    read_into(path, PAGES)
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "minicrawl", "search", "--serve", "--port", "0"]
    with killed_on_failure(
        subprocess.Popen(
            [*command, "--store", str(store)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    ) as process:
        assert process.stdout is not None
        found = process.stdout.readline().strip()
        assert found.startswith("http://127.0.0.1:"), found
        yield found
        process.terminate()


def asked(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, Any]:
    place, _, token = address.partition("/#")
    with closing(HTTPConnection(place.removeprefix("http://"), timeout=60)) as connection:
        connection.request(method, path, headers={TOKEN_HEADER: token} | headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def found(address: str, query: str) -> Any:
    return json.loads(asked(address, f"/api/search?q={quote(query)}")[2])


# ---------------------------------------------------------------- requests


def test_only_its_own_page_may_ask_by_its_own_name(address: str) -> None:
    assert asked(address, "/")[0] == 200
    assert asked(address, "/", Host="evil.example")[0] == 403
    assert asked(address, "/api/about", Origin="http://evil.example")[0] == 403
    assert asked(address, "/api/search?q=a", "POST")[0] == 405
    assert asked(address, "/page/..%2f..%2fpyproject.toml")[0] == 404


@pytest.mark.parametrize("path", ["/api/about", "/api/search?q=harbour"])
def test_another_user_of_the_machine_searches_nothing(address: str, path: str) -> None:
    for token in ("", "a" * 32):
        status, _, body = asked(address, path, **{TOKEN_HEADER: token})
        assert status == 403
        assert "token" in json.loads(body)["error"]
    assert asked(address, path)[0] == 200


def test_the_page_runs_nothing_but_its_own_script(address: str) -> None:
    _, headers, _ = asked(address, "/")
    policy = headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "trusted-types 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("query", ["", "?!", "\0", "-x", "after:never", "\u200f", "a" * 20_000])
def test_no_query_is_more_than_a_line(address: str, query: str) -> None:
    answer = found(address, query)
    assert ("error" in answer) != ("results" in answer)
    assert "\n" not in answer.get("error", "")


def test_numbers_that_are_none_are_zero(address: str) -> None:
    status, _, body = asked(address, "/api/search?q=harbour&offset=-3")
    assert status == 200
    assert json.loads(body)["results"][0]["rank"] == 1
    status, _, body = asked(address, f"/api/search?q=harbour&offset={'9' * 5_000}")
    assert (status, json.loads(body)["results"]) == (200, [])


def test_what_is_indexed_later_is_found(address: str, store: Path) -> None:
    assert found(address, "submarine")["results"] == []
    read_into(store, {"http://a.example/new": b"<title>A submarine</title>"})
    bring_up_to_date(store)
    assert [one["title"] for one in found(address, "submarine")["results"]] == ["A submarine"]


def test_words_are_given_in_the_browser(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--serve", "words", "--store", str(store)]) == 2
    assert main(["search", "--store", str(store)]) == 2
    assert "--serve" in capsys.readouterr().err


# ---------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def page(address: str) -> Iterator["Page"]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        opened = browser.new_page()
        opened.set_default_timeout(PATIENCE_MS)
        wrong: list[str] = []
        base = address.partition("#")[0]
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("dialog", lambda dialog: wrong.append(dialog.message))
        opened.on(
            "request",
            lambda one: None if one.url.startswith(base) else wrong.append(one.url),
        )
        opened.goto(address)
        yield opened
        assert wrong == []
        browser.close()


@needs_chromium
def test_results_come_while_one_types_and_their_text_is_no_markup(page: "Page") -> None:
    page.fill("#q", "crabs")
    page.wait_for_selector("#results li")
    assert page.locator("#results li").count() == 1
    assert page.locator("#results h2").inner_text() == "<img src=x onerror=alert(1)> harbour"
    assert page.locator("#results img, #results script").count() == 0
    assert page.locator("mark").all_inner_texts() == ["crabs"]
    assert "\\u202e" in page.locator("#results").inner_text()


@needs_chromium
def test_filters_more_results_and_reasons(page: "Page") -> None:
    page.fill("#q", "harbour")
    page.locator("form summary").click()
    page.get_by_label("Site").fill("b.example")
    page.get_by_label("Language").fill("de")
    page.wait_for_selector("#results li:nth-child(10):last-child")
    page.locator("#results .place", has_text="a.example").wait_for(state="detached")
    assert "b.example" in page.locator("#results .place").first.inner_text()
    page.get_by_role("button", name="More results").click()
    page.wait_for_selector("#results li:nth-child(14):last-child")
    page.locator("#results summary").first.click()
    assert page.get_by_role("cell", name="bm25").first.is_visible()


@needs_chromium
def test_it_can_be_used_by_keyboard_and_says_what_is_wrong(page: "Page") -> None:
    page.get_by_label("Site").fill("")
    page.get_by_label("Language").fill("")
    page.focus("#q")
    page.fill("#q", "?!")
    page.keyboard.press("Enter")
    page.wait_for_selector("#wrong:not([hidden])")
    assert "has no word" in page.get_by_role("alert").inner_text()
    page.fill("#q", "quay 3")
    page.keyboard.press("Enter")
    page.wait_for_selector("#wrong", state="hidden")
    page.wait_for_selector("#results li")
    assert page.get_by_role("status").inner_text()
    fields = "e => e.filter(one => !one.labels?.length && !one.textContent).length"
    assert page.locator("input, button").evaluate_all(fields) == 0
