"""Pages of results are parts of one list, in which pages that lack words stand near the top."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("tantivy")

from minicrawl.search.index import CANDIDATES, ENOUGH, LACKING
from minicrawl.search.notes import Entry
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest
from tests.search.stored.stores import index_of

QUERY = "keeper of lighthouse"
MANY = 3 * CANDIDATES
LACKS = "Lighthouse keeper"
"""Title of the page that lacks the most common word of the query."""

Texts = list[tuple[str, str]]
"""Titles and bodies of pages."""


def spread(count: int) -> Texts:
    """Return pages with the words of the query at random places."""
    pages = []
    for page in range(count):
        random = Random(page)
        words = [f"word{number}" for number in range(random.randrange(50, 500))]
        for word in QUERY.split():
            words.insert(random.randrange(len(words)), word)
        pages.append(("", " ".join(words)))
    return pages


def with_forms(count: int) -> Texts:
    """Return pages with all words, others with other forms of them, and others with one word."""
    texts = [
        *spread(count),
        ("", "keepers of lighthouses"),
        ("", "keepers of lighthouses and more"),
    ]
    return texts + [("", f"of town {page}") for page in range(MANY)]


def with_a_lack(count: int) -> Texts:
    """Return pages with all words, one titled `LACKS`, and others with one word."""
    texts = [*spread(count), (LACKS, "He lights the lamp."), ("Of", "of " * 4)]
    texts += [("", f"a lighthouse {page}") for page in range(LACKING)]
    return texts + [("", f"pages of this site {page}") for page in range(MANY)]


def finder_of(folder: Path, texts: Texts) -> Finder:
    return Finder(
        index_of(
            folder,
            (
                Entry(page, f"http://a.example/{page}", title, title, body=body, language="en")
                for page, (title, body) in enumerate(texts)
            ),
        )
    )


@pytest.fixture(params=[ENOUGH + 1, MANY], ids=["few", "many"])
def finder(request: pytest.FixtureRequest, tmp_path: Path) -> Finder:
    return finder_of(tmp_path, with_a_lack(request.param))


def titles(finder: Finder, query: str) -> list[str]:
    return [one.entry.title for one in finder.find(parse(query), SearchRequest(count=MANY))]


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        *((with_forms, count) for count in (ENOUGH - 1, ENOUGH + 1, MANY)),
        *((with_a_lack, count) for count in (ENOUGH + 1, MANY)),
    ],
)
def test_pages_of_results_are_parts_of_one_list(
    texts: Callable[[int], Texts], count: int, tmp_path: Path
) -> None:
    finder, each = finder_of(tmp_path, texts(count)), 7
    asked = SearchRequest(count=2 * MANY)
    whole = [one.entry.url for one in finder.find(parse(QUERY), asked)]
    parts = [
        one.entry.url
        for offset in range(0, len(whole), each)
        for one in finder.find(parse(QUERY), SearchRequest(count=each, offset=offset))
    ]
    assert parts == whole
    assert len(set(whole)) == len(whole) >= count


def test_a_page_that_lacks_a_common_word_may_be_the_best(finder: Finder) -> None:
    found = titles(finder, QUERY)
    assert found[0] == LACKS
    assert "Of" not in found


def test_pages_with_half_of_the_words_follow_the_first_pages_with_all(finder: Finder) -> None:
    found = finder.find(parse("keeper lighthouse"), SearchRequest(count=MANY + LACKING))
    has_all = [one.score.share == pytest.approx(1) for one in found]
    first = min(sum(has_all), CANDIDATES - LACKING)
    assert has_all == [True] * first + [False] * LACKING + [True] * (sum(has_all) - first)


def test_filters_phrases_and_exclusions_hold(finder: Finder) -> None:
    for more, expected in (
        ('"the lamp"', {LACKS}),
        ("title:keeper", {LACKS}),
        ("-lamp", {""}),
        ("lang:de", set()),
        ("-site:a.example", set()),
    ):
        assert set(titles(finder, f"{QUERY} {more}")) == expected, more


def test_the_pages_that_are_counted_are_the_results(finder: Finder) -> None:
    for query in (QUERY, "lighthouses", "word49 lighthouse keeper", "site"):
        found = finder.answer(query, SearchRequest(count=1000, counts=True, folds=False))
        assert found.counts is not None
        assert found.counts.pages == len(found.results), query
        assert sum(pages for _, pages in found.counts.facets["host"]) == len(found.results), query


def test_other_forms_that_are_no_results_are_not_counted(tmp_path: Path) -> None:
    names = [f"The {'harbour' if page % 2 else 'harbours'} of town" for page in range(2 * ENOUGH)]
    finder = finder_of(tmp_path, [("", f"{name} {page}") for page, name in enumerate(names)])
    found = finder.answer("harbour", SearchRequest(count=100, counts=True, folds=False))
    assert found.counts is not None
    assert found.counts.pages == len(found.results) == ENOUGH
