"""The main text of a page has a field of its own in the index, for snippets and duplicates too."""

from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("minicrawl.text.main", reason="the room `text` is absent")

from minicrawl.report.snapshot import snapshot
from minicrawl.search.searching import Finder, Result, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import indexed, prose

ABOUT, COMMENTED, FIRST, TWIN, HIDING = (
    f"http://a.example/{name}" for name in ("about", "commented", "first", "twin", "hiding")
)


def page(title: str, article: str, comments: str) -> str:
    return (
        f"<title>{title}</title><div class=teasers><p>{comments}</div>"
        f"<article><p>{article}</article>"
    )


PAGES = {
    ABOUT: page("Coast", f"{prose(1)} lighthouse {prose(2)}", f"{prose(3)} harbour"),
    COMMENTED: page("Inland", prose(4), f"lighthouse {prose(5)} lighthouse lighthouse"),
    FIRST: page("Ships", prose(6), prose(7)),
    TWIN: page("Vessels", prose(6), prose(8)),
    HIDING: page("Trees", f"{prose(9)} <span style='opacity:0'>lighthouse</span>", prose(10)),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(tmp_path_factory.mktemp("main") / "crawl.db", PAGES)


def found(store: Path, words: str) -> list[Result]:
    return Finder(search_folder(store)).find(parse(words), SearchRequest())


def test_text_beside_the_main_text_counts_little_and_snippets_begin_in_it(store: Path) -> None:
    assert [one.entry.url for one in found(store, "lighthouse")] == [ABOUT, COMMENTED]
    (one,) = found(store, "coast")
    assert one.snippet.text[:40] in prose(1)


def test_pages_with_one_main_text_are_near_duplicates(store: Path) -> None:
    with snapshot(store) as seen:
        pairs = seen.near_duplicates
        urls = {seen.url(page) for page in pairs.pages.tolist()}
    assert urls == {FIRST, TWIN}
