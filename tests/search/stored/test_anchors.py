"""Pages without the words of a query are found by the texts of links to them."""

from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.notes import MOST_ANCHORS
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import indexed, prose

HOUSE = "http://house.example.org/"


def blog(number: int, link: str) -> str:
    before, after = prose(number, 120), prose(number + 99, 120)
    return f"<title>Diary {number}</title><p>{before} {link} {after}"


def web(texts: list[str], sites: int, links: int = 1) -> dict[str, str]:
    """Return a page without the words, and sites whose links to it have given texts in turn."""
    pages = {HOUSE: f"<title>The House</title><p>{prose(7_777, 200)}"}
    text = cycle(texts)
    for number in range(sites):
        anchors = " ".join(f'<a href="{HOUSE}">{next(text)}</a>' for _ in range(links))
        pages[f"http://blog{number}.test/"] = blog(number, anchors)
    for number in range(150):  # makes the words rare
        pages[f"http://filler.example.com/{number}"] = (
            f"<title>Filler</title><p>{prose(number, 30)}"
        )
    return pages


def search(store: Path, query: str) -> list[str]:
    results = Finder(search_folder(store)).find(parse(query), SearchRequest(count=200))
    return [one.entry.url for one in results]


def found(tmp_path: Path, pages: Mapping[str, str], query: str) -> list[str]:
    return search(indexed(tmp_path / "crawl.db", pages), query)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "queries"),
    [
        (["Bill Clinton"], ["bill clinton", "Bill Clinton", '"bill clinton"']),
        (["the home page of bill clinton"], ["bill clinton home page", '"page of bill clinton"']),
        ([f"bill clinton, number {number}" for number in range(25)], ["bill clinton"]),
        (["bill clinton", "president clinton", "clinton, bill"], ["bill clinton", "clinton"]),
        (
            ["Билл Клинтон; 比尔·克林顿; クリントン大統領"],
            ["билл клинтон", "克林顿", "クリントン大統領"],
        ),
        (["بيل كلينتون; Μπιλ Κλίντον; C++ guide"], ["بيل كلينتون", "ΜΠΙΛ ΚΛΙΝΤΟΝ", "c++ guide"]),
    ],
)
def test_link_texts_of_many_sites_put_a_page_first(
    path: Path, texts: list[str], queries: list[str]
) -> None:
    store = indexed(path, web(texts, 25))
    assert [search(store, query)[0] for query in queries] == [HOUSE] * len(queries)


@pytest.mark.slow
def test_the_page_is_first_even_if_more_pages_match_than_are_scored(tmp_path: Path) -> None:
    assert found(tmp_path, web(["bill clinton"], 120), "bill clinton")[0] == HOUSE


def title_page(pages: dict[str, str]) -> str:
    url = "http://honest.example.net/"
    text = f"{prose(5, 120)} bill clinton was born here {prose(6, 120)}"
    pages[url] = f"<title>Bill Clinton</title><p>{text}"
    return url


def one_site(pages: dict[str, str], texts: Callable[[int], str]) -> None:
    """Add many pages on several hosts of one site."""
    for number in range(40):
        link = f'<a href="{HOUSE}">{texts(number)}</a>'
        pages[f"http://h{number % 8}.farm.example.com/{number}"] = blog(number, link)


@pytest.mark.parametrize(
    "texts", [lambda _: "bill clinton", lambda number: f"a{number} bill clinton"]
)
def test_repeated_link_texts_of_one_site_have_little_weight(
    tmp_path: Path, texts: Callable[[int], str]
) -> None:
    pages = web([], 0)
    honest = title_page(pages)
    pages["http://text.example.net/"] = blog(500, "what bill clinton said")
    one_site(pages, texts)
    order = found(tmp_path, pages, "bill clinton")
    assert order[0] == honest
    assert order.index("http://text.example.net/") < order.index(HOUSE)


def test_one_site_cannot_displace_link_texts_of_others(tmp_path: Path) -> None:
    pages = web([f"bill clinton {number}" for number in range(20)], 20)
    one_site(pages, lambda number: f"aaa{number} cheap pills")
    assert found(tmp_path, pages, "bill clinton")[0] == HOUSE
    assert len(pages) > MOST_ANCHORS


@pytest.mark.slow
def test_phrases_do_not_span_two_links(tmp_path: Path) -> None:
    pages = web(["visit bill", "clinton today"], 2, links=2)
    assert HOUSE in found(tmp_path, pages, "visit bill clinton today")
    assert HOUSE not in found(tmp_path, pages, '"bill clinton"')
