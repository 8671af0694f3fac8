"""Pages written for search engines instead of people rank low."""

from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.indexing.page_text import page_text
from minicrawl.search.searching import Finder, Result, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import indexed, prose


def found(tmp_path: Path, pages: dict[str, str], words: str) -> list[Result]:
    store = indexed(tmp_path / "crawl.db", {f"http://{host}/": pages[host] for host in pages})
    return Finder(search_folder(store)).find(parse(words), SearchRequest())


def hosts(results: list[Result]) -> list[str]:
    return [one.entry.url.split("/")[2] for one in results]


@pytest.mark.slow
def test_keyword_stuffing_ranks_below_an_honest_page(tmp_path: Path) -> None:
    pages = {
        "stuffed.example": f"<title>Page</title><p>{'lighthouse ' * 300}{prose(1)}",
        "titled.example": f"<title>{'lighthouse ' * 9}</title><p>{prose(2)}",
        "honest.example": f"<title>Page</title><p>A lighthouse guides ships. {prose(3)}"
        " The lighthouse stands on a rock.",
    }
    results = found(tmp_path, pages, "lighthouse")
    assert hosts(results)[0] == "honest.example"
    by_host = dict(zip(hosts(results), results, strict=True))
    assert by_host["honest.example"].score.natural == 1
    assert by_host["stuffed.example"].score.natural < 0.2
    assert by_host["titled.example"].score.natural < 0.1


def test_a_page_about_a_word_may_say_it_often(tmp_path: Path) -> None:
    text = " ".join(
        f"lighthouse {word} {word}s the and" for word in map("word{}".format, range(60))
    )
    (only,) = found(
        tmp_path, {"about.example": f"<title>Lighthouse</title><p>{text}"}, "lighthouse"
    )
    assert only.score.natural > 0.5


@pytest.mark.parametrize(
    "attributes",
    [
        "hidden",
        "aria-hidden=true",
        'style="display: none"',
        'style="DISPLAY:NONE !important"',
        'style="color:red; visibility:hidden"',
        'style="font-size:0"',
        'style="font-size: 0px; color: red"',
        'style="opacity:0;"',
        'style="opacity:0.9;opacity:0"',
        'style="margin-left:-999px;left:-999px"',
        'style="position:absolute; left:-9999px"',
        'style="text-indent:-9999px"',
    ],
)
def test_hidden_text_is_omitted(attributes: str) -> None:
    read = page_text(
        f"<p>seen <span {attributes}>unseen <b>deep</b></span> too", "http://a.example/"
    )
    assert " ".join(read.lines) == "seen too"


@pytest.mark.parametrize(
    "style", ["opacity:0.9", "font-size:0.8em", "margin-left:-999px", "font-size:12px", "left:-9px"]
)
def test_visible_text_is_kept(style: str) -> None:
    read = page_text(f'<p>seen <span style="{style}">as well</span>', "http://a.example/")
    assert " ".join(read.lines) == "seen as well"
