"""The search page of `search --serve` and the search view of the dashboard, in a browser."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from minicrawl.cli import main
from minicrawl.dashboard.access import TOKEN_HEADER
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.dashboard.asking import get, post
from tests.dashboard.browsers import Watched, browser, playwright, watch, watch_store
from tests.dashboard.servers import RunningDashboard, announced, needs_chromium
from tests.search.stored.stores import read_into

__all__ = ["browser", "watch", "watch_store"]
pytestmark = pytest.mark.timeout(600)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
def served(store: Path) -> Iterator[RunningDashboard]:
    command = [sys.executable, "-m", "minicrawl", "search", "--serve", "--port", "0"]
    with announced([*command, "--store", str(store)]) as running:
        yield running


def found(served: RunningDashboard, query: str) -> Any:
    return get(served, f"api/search?q={quote(query)}").json()


@pytest.mark.slow
def test_foreign_host_names_origins_methods_files_and_tokens_are_refused(
    served: RunningDashboard,
) -> None:
    assert get(served, "").status_code == 200
    assert get(served, "", host="evil.example").status_code == 403
    assert get(served, "api/about", origin="http://evil.example").status_code == 403
    assert post(served, "api/search?q=a", {}).status_code == 405
    assert get(served, "page/..%2fserving.py").status_code == 404
    for path in ("api/about", "api/search?q=harbour"):
        for wrong in ("", "a" * 32):
            assert get(served, path, **{TOKEN_HEADER: wrong}).status_code == 403


def test_any_query_and_offset_have_results_or_an_error_of_one_line(
    served: RunningDashboard,
) -> None:
    for query in ("", "?!", "\0", "-x", "after:never", "\u200f", "a" * 20_000):
        answer = found(served, query)
        assert ("error" in answer) != ("results" in answer), query
        assert "\n" not in answer.get("error", "")
    before = get(served, "api/search?q=harbour&offset=-3")
    assert before.json()["results"][0]["rank"] == 1
    beyond = get(served, f"api/search?q=harbour&offset={'9' * 5_000}")
    assert beyond.json()["results"] == []
    assert before.status_code == beyond.status_code == 200


def test_pages_indexed_while_the_server_runs_are_found(
    served: RunningDashboard, store: Path
) -> None:
    assert found(served, "submarine")["results"] == []
    read_into(store, {"http://a.example/new": b"<title>A submarine</title>"})
    bring_up_to_date(store)
    assert [one["title"] for one in found(served, "submarine")["results"]] == ["A submarine"]


@pytest.mark.parametrize(("given", "named"), [(["--serve", "words"], "WORDS"), ([], "--serve")])
def test_the_command_takes_either_words_or_serve(
    store: Path, capsys: pytest.CaptureFixture[str], given: list[str], named: str
) -> None:
    assert main(["search", *given, "--store", str(store)]) == 2
    assert named in capsys.readouterr().err


@pytest.fixture
def page(browser: "Browser", served: RunningDashboard) -> Iterator["Page"]:
    with closing(browser.new_page()) as opened:
        seen = Watched(opened, served)
        yield seen.page
        assert seen.wrong == []


@pytest.mark.slow
@needs_chromium
def test_results_come_while_the_user_types_and_their_text_is_no_markup(page: "Page") -> None:
    page.fill("#q", "crabs")
    page.wait_for_selector("#results li")
    assert page.locator("#results li").count() == 1
    assert page.locator("#results h2").inner_text() == "<img src=x onerror=alert(1)> harbour"
    assert page.locator("#results img, #results script").count() == 0
    assert page.locator("mark").all_inner_texts() == ["crabs"]
    assert "\\u202e" in page.locator("#results").inner_text()


@pytest.mark.slow
@needs_chromium
def test_words_typed_before_the_server_answers_are_kept(
    page: "Page", served: RunningDashboard
) -> None:
    waiting: list[Any] = []
    page.route("**/api/about*", lambda route: waiting.append(route))  # noqa: PLW0108 wants a name
    page.goto(served.address)
    while not waiting:
        page.wait_for_timeout(10)
    page.fill("#q", "crabs")
    waiting[0].continue_()
    playwright.expect(page.locator("#store")).to_contain_text("crawl.db")
    assert page.input_value("#q") == "crabs"
    page.wait_for_selector("#results li")


@pytest.mark.slow
@needs_chromium
def test_filters_a_button_for_more_results_and_the_parts_of_a_score(page: "Page") -> None:
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


@pytest.mark.slow
@needs_chromium
def test_the_search_page_works_by_keyboard_shows_errors_and_labels_its_controls(
    page: "Page",
) -> None:
    page.focus("#q")
    page.fill("#q", "?!")
    page.keyboard.press("Enter")
    page.wait_for_selector("#wrong:not([hidden])")
    assert "?!" in page.get_by_role("alert").inner_text()
    page.fill("#q", "quay 3")
    page.keyboard.press("Enter")
    page.wait_for_selector("#wrong", state="hidden")
    page.wait_for_selector("#results li")
    assert page.get_by_role("status").inner_text()
    fields = "e => e.filter(one => !one.labels?.length && !one.textContent).length"
    assert page.locator("input, button").evaluate_all(fields) == 0


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize(
    "screen", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}]
)
def test_the_search_view_finds_pages_as_text_and_leads_to_their_explanation(
    watch_store: Callable[..., Watched], store: Path, screen: dict[str, Any]
) -> None:
    bring_up_to_date(store)
    seen = watch_store(store, **screen)
    seen.tab("Search")
    page = seen.page
    page.fill("#q", "crabs")
    playwright.expect(page.locator("#results li")).to_have_count(1)
    assert page.locator("#results h2").inner_text() == "<img src=x onerror=alert(1)> harbour"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name=f"details of {EVIL}").click()
    playwright.expect(page.get_by_role("tab", name="Pages")).to_have_attribute(
        "aria-selected", "true"
    )
    playwright.expect(page.get_by_role("region", name="One page")).to_contain_text(EVIL)


@pytest.mark.slow
@needs_chromium
def test_the_search_view_without_an_index_names_the_command_and_then_finds(
    watch_store: Callable[..., Watched], path: Path
) -> None:
    read_into(path, PAGES)
    seen = watch_store(path)
    seen.tab("Search")
    wrong = seen.page.locator("#wrong")
    playwright.expect(wrong).to_contain_text("minicrawl index")
    assert not search_folder(path).exists()
    bring_up_to_date(path)
    seen.page.fill("#q", "crabs")
    playwright.expect(seen.page.locator("#results li")).to_have_count(1)
    playwright.expect(wrong).to_be_hidden()
