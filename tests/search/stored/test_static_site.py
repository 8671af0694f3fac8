"""The static search site of `search --static`, in a browser."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("tantivy")

from minicrawl.errors import UsageError
from minicrawl.search.entries import PageEntry
from minicrawl.search.indexing.index_folder import Completeness
from minicrawl.search.static_site import write_static
from tests.dashboard.servers import ARGUMENTS, CHROMIUM, PATIENCE_MS, needs_chromium
from tests.search.stored.stores import index_of

COUNT = 1_200
OTHERS = [  # text, language, site
    ("das Leuchtfeuer am alten Hafen", "de", "b.example"),
    ("the old Leuchtfeuer burns, am I right", "en", "b.example"),
    ("set CMAKE_BUILD_TYPE to Leuchtfeuer", "en", "c.example"),
    ("build the typ of cmake", "fr", "c.example"),
    ("lights on the quay, partitioned", "en", "c.example"),
    ("partitions of lights", "en", "c.example"),
]
TITLES = {7: "The harbour", 8: "<img src=x onerror=alert(1)>", 9: "中文搜索引擎"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    entries = []
    for page in range(COUNT):
        title = TITLES.get(page, f"Page {page}")
        body = f"A common text, number x{page}, of a harbour" + " and a Café" * (page == 300)
        entries.append(PageEntry(page, f"http://a.example/{page}", title, title, body=body))
    for page, (body, language, site) in enumerate(OTHERS, COUNT):
        url = f"http://{site}/{page}"
        entries.append(PageEntry(page, url, f"Other {page}", body=body, language=language))
    index = index_of(folder / "crawl.db-search", entries)
    look = {"title": "Search <it>", "text": "What there is"}
    pages, _, _ = write_static(index, folder / "site", look, Completeness(7, 9))
    assert pages == COUNT + len(OTHERS)
    return folder / "site"


def test_the_files_are_reproducible(site: Path) -> None:
    before = {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}
    look = {"title": "Search <it>", "text": "What there is"}
    write_static(site.parent / "crawl.db-search", site, look, Completeness(7, 9))
    assert before == {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}


def test_a_folder_with_other_files_is_left_alone(site: Path, tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        write_static(site.parent / "crawl.db-search", tmp_path, {})
    assert [file.name for file in tmp_path.iterdir()] == ["about.json"]


def test_words_are_sorted_into_files(site: Path) -> None:
    beginnings = json.loads((site / "about.json").read_text())["words"]
    last = ""
    for nth, beginning in enumerate(beginnings):
        words = list(json.loads((site / "words" / f"{nth}.json").read_text()))
        assert last < beginning <= words[0]
        assert words == sorted(words)
        last = words[-1]


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@needs_chromium
@pytest.mark.timeout(300)
def test_pages_are_found_in_a_browser(address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        page = opened.new_page(viewport={"width": 360, "height": 740})
        page.set_default_timeout(PATIENCE_MS)
        wrong = list[str]()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        for query, first, many in [
            ("common harbour", "The harbour", True),
            ("CAFE", "Page 300", False),
            ("number x12", "Page 12", True),  # and pages with x120 to x129
            ("搜索", "中文搜索引擎", False),
            ("onerror", "<img src=x onerror=alert(1)>", False),
            ("Leuchtfeuer lang:de", f"Other {COUNT}", False),
            ("-lang:de -lang:en leuchtfeuer build", f"Other {COUNT + 3}", False),
            ("leuchtfeuer site:c.example", f"Other {COUNT + 2}", False),
            ('"am alten hafen"', f"Other {COUNT}", False),
            ("leuchtfeuer -hafen -cmake", f"Other {COUNT + 1}", False),
            ("leuhctfeuer lang:de", f"Other {COUNT}", False),
            ("CMAKE_BUILD_TYP", f"Other {COUNT + 2}", False),
            ("partitions quay", f"Other {COUNT + 4}", False),
            ("title:harbour", "The harbour", False),
        ]:
            page.goto(f"{address}?q={query}")
            page.wait_for_selector("#results > li")
            assert page.locator("#results h2").first.inner_text() == first
            assert page.get_by_role("button", name="More results").is_visible() == many
        assert (page.title(), page.locator("h1").inner_text()) == ("Search <it>", "Search <it>")
        status = page.get_by_role("status")
        for query, said in [
            ("nothing-like-that", "Indexed 7 of 9 pages. No page has these words."),
            ('"alten am hafen"', "No page has these words."),
            ("harbour lang:fr", "No page has these words."),
            ("year:soon", "year:soon is not a year such as 2024"),
            ("common site:a.example", "the best 1,000 were looked at"),
        ]:
            page.get_by_label("Words to find").fill(query)
            playwright.expect(status).to_contain_text(said)
        page.goto(f"{address}?q=harbour")
        page.wait_for_selector("mark")
        assert [one["id"] for one in axe.run(page).response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.get_by_role("button", name="More results").click()
        page.wait_for_selector("#results > li:nth-child(20)")
        assert wrong == []
