"""Pages are found by what the links of others say, though they lack the words themselves."""

from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.indexing import bring_up_to_date
from minicrawl.search.notes import MOST_ANCHORS
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import read_into

OTHERS = [f"word{number}" for number in range(400)]
HOUSE = "http://house.example.org/"


def prose(seed: int, length: int = 120) -> str:
    return " ".join(Random(seed).choices(OTHERS, k=length))


def blog(number: int, link: str) -> str:
    return f"<title>Diary {number}</title><p>{prose(number)} {link} {prose(number + 99)}"


def web(texts: list[str], sites: int, links: int = 1) -> dict[str, str]:
    """A page that lacks the words, and sites whose links to it have these texts in turn."""
    pages = {HOUSE: f"<title>The House</title><p>{prose(7_777, 200)}"}
    text = cycle(texts)
    for number in range(sites):
        said = " ".join(f'<a href="{HOUSE}">{next(text)}</a>' for _ in range(links))
        pages[f"http://blog{number}.test/"] = blog(number, said)
    for number in range(150):  # so that the words are rare
        pages[f"http://filler.example.com/{number}"] = (
            f"<title>Filler</title><p>{prose(number, 30)}"
        )
    return pages


def indexed(store: Path, pages: Mapping[str, str]) -> Path:
    read_into(store, {url: page.encode() for url, page in pages.items()})
    bring_up_to_date(store)
    return store


def search(store: Path, query: str) -> list[str]:
    results = Finder(search_folder(store)).find(parse(query), SearchRequest(count=200))
    return [one.entry.url for one in results]


def found(tmp_path: Path, pages: Mapping[str, str], query: str) -> list[str]:
    return search(indexed(tmp_path / "crawl.db", pages), query)


@pytest.mark.parametrize(
    ("texts", "queries"),
    [
        (["Bill Clinton"], ["bill clinton", "Bill Clinton", '"bill clinton"']),
        (
            ["the home page of bill clinton"],
            ["bill clinton home page", '"home page of bill clinton"'],
        ),
        ([f"bill clinton, number {number}" for number in range(25)], ["bill clinton"]),
        (["bill clinton", "president clinton", "clinton, bill"], ["bill clinton", "clinton"]),
        (
            [
                "Билл Клинтон; 比尔·克林顿; ビル・クリントン大統領; "
                "بيل كلينتون; Μπιλ Κλίντον; C++ reference"
            ],
            [
                *("билл клинтон", "克林顿", "クリントン大統領"),
                *("بيل كلينتون", "ΜΠΙΛ ΚΛΙΝΤΟΝ", "c++ reference"),
            ],
        ),
    ],
)
def test_what_many_sites_say_in_links_to_a_page_brings_it_up_first(
    tmp_path: Path, texts: list[str], queries: list[str]
) -> None:
    store = indexed(tmp_path / "crawl.db", web(texts, 25))
    assert [search(store, query)[0] for query in queries] == [HOUSE] * len(queries)


def test_it_is_first_where_more_pages_have_the_words_than_are_judged(tmp_path: Path) -> None:
    assert found(tmp_path, web(["bill clinton"], 120), "bill clinton")[0] == HOUSE


def title_page(pages: dict[str, str]) -> str:
    url = "http://honest.example.net/"
    pages[url] = f"<title>Bill Clinton</title><p>{prose(5)} bill clinton was born here {prose(6)}"
    return url


def one_site(pages: dict[str, str], texts: Callable[[int], str]) -> None:
    """Many pages and hosts of one site."""
    for number in range(40):
        link = f'<a href="{HOUSE}">{texts(number)}</a>'
        pages[f"http://h{number % 8}.farm.example.com/{number}"] = blog(number, link)


@pytest.mark.parametrize(
    "texts", [lambda _: "bill clinton", lambda number: f"a{number} bill clinton"]
)
def test_one_site_that_says_so_again_and_again_decides_nothing(
    tmp_path: Path, texts: Callable[[int], str]
) -> None:
    pages = web([], 0)
    honest = title_page(pages)
    pages["http://text.example.net/"] = blog(500, "what bill clinton said")
    one_site(pages, texts)
    order = found(tmp_path, pages, "bill clinton")
    assert order[0] == honest
    assert order.index("http://text.example.net/") < order.index(HOUSE)


def test_one_site_does_not_push_the_words_of_others_out(tmp_path: Path) -> None:
    pages = web([f"bill clinton {number}" for number in range(20)], 20)
    one_site(pages, lambda number: f"aaa{number} cheap pills")
    assert found(tmp_path, pages, "bill clinton")[0] == HOUSE
    assert len(pages) > MOST_ANCHORS


def test_no_phrase_is_the_end_of_one_link_and_the_beginning_of_the_next(tmp_path: Path) -> None:
    pages = web(["visit bill", "clinton today"], 2, links=2)
    assert HOUSE in found(tmp_path, pages, "visit bill clinton today")
    assert HOUSE not in found(tmp_path, pages, '"bill clinton"')
