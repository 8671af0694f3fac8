"""The search in the dashboard, in a real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from minicrawl.search.indexing import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.dashboard.browsers import Watched, browser, playwright, watch
from tests.dashboard.servers import dashboard_of, needs_chromium
from tests.search.stored.stores import read_into

__all__ = ["browser", "watch"]
pytestmark = [needs_chromium, pytest.mark.timeout(600)]

EVIL = "http://a.example/evil"
PAGES = {
    EVIL: b"<title>&lt;img src=x onerror=alert(1)&gt; harbour</title>"
    b"<p>&lt;script&gt;alert(2)&lt;/script&gt; a harbour \xe2\x80\xae with crabs",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("searched") / "crawl.db"
    read_into(path, PAGES)
    bring_up_to_date(path)
    return path


@pytest.mark.parametrize(
    "screen", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}]
)
def test_the_dashboard_finds_pages_and_tells_all_about_them(
    watch: Callable[..., Watched], store: Path, screen: dict[str, Any]
) -> None:
    with dashboard_of(store) as served:
        seen = watch(served, **screen)
        seen.tab("Search")
        page = seen.page
        page.fill("#q", "crabs")
        playwright.expect(page.locator("#results li")).to_have_count(1)
        assert page.locator("#results h2").inner_text() == "<img src=x onerror=alert(1)> harbour"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("button", name=f"all about {EVIL}").click()
        playwright.expect(page.get_by_role("tab", name="Pages")).to_have_attribute(
            "aria-selected", "true"
        )
        playwright.expect(page.get_by_role("region", name="One page")).to_contain_text(EVIL)


def test_without_an_index_the_dashboard_says_how_to_make_one_and_then_finds(
    watch: Callable[..., Watched], tmp_path: Path
) -> None:
    store = tmp_path / "crawl.db"
    read_into(store, PAGES)
    with dashboard_of(store) as served:
        seen = watch(served)
        seen.tab("Search")
        wrong = seen.page.locator("#wrong")
        playwright.expect(wrong).to_contain_text("no search index yet: run `minicrawl index`")
        assert not search_folder(store).exists()
        bring_up_to_date(store)
        seen.page.fill("#q", "crabs")
        playwright.expect(seen.page.locator("#results li")).to_have_count(1)
        playwright.expect(wrong).to_be_hidden()
