"""Pages that lack words of a query stand among the first results, and change no later ones."""

from pathlib import Path

import pytest

pytest.importorskip("tantivy")

from minicrawl.search.index import CANDIDATES, ENOUGH, FOLDER, LACKING, SearchIndex
from minicrawl.search.notes import Entry
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest
from tests.search.stored.test_result_pages import MANY, QUERY, spread

LACKS = "Lighthouse keeper"
"""Title of the page that lacks the most common word of the query."""


@pytest.fixture(params=[ENOUGH + 1, MANY], ids=["few", "many"])
def finder(request: pytest.FixtureRequest, tmp_path: Path) -> Finder:
    """Finder of pages with all words, of one titled `LACKS`, and of pages with one word."""
    index = SearchIndex(tmp_path / FOLDER)
    index.write()
    texts = [("", spread(page)) for page in range(request.param)]
    texts += [(LACKS, "He lights the lamp."), ("Of", "of " * 4)]
    texts += [("", f"a lighthouse {page}") for page in range(LACKING)]
    texts += [("", f"pages of this site {page}") for page in range(MANY)]
    for page, (title, body) in enumerate(texts):
        url = f"http://a.example/{page}"
        index.replace(Entry(page, url, title, title, body=body, language="en", at=1e9))
    index.commit()
    index.close()
    return Finder(tmp_path)


def titles(finder: Finder, query: str) -> list[str]:
    return [one.entry.title for one in finder.find(parse(query), SearchRequest(count=MANY))]


def test_a_page_that_lacks_a_common_word_may_be_the_best(finder: Finder) -> None:
    found = titles(finder, QUERY)
    assert found[0] == LACKS
    assert "Of" not in found


def test_pages_with_half_of_the_words_follow_the_first_pages_with_all(finder: Finder) -> None:
    found = finder.find(parse("keeper lighthouse"), SearchRequest(count=MANY + LACKING))
    has_all = [one.score.share == pytest.approx(1) for one in found]
    first = min(sum(has_all), CANDIDATES - LACKING)
    assert has_all == [True] * first + [False] * LACKING + [True] * (sum(has_all) - first)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('"the lamp"', {LACKS}),
        ("title:keeper", {LACKS}),
        ("-lamp", {""}),
        ("lang:de", set()),
        ("-site:a.example", set()),
    ],
)
def test_filters_phrases_and_exclusions_hold(finder: Finder, more: str, expected: set[str]) -> None:
    assert set(titles(finder, f"{QUERY} {more}")) == expected


def test_pages_of_results_are_parts_of_one_list(finder: Finder) -> None:
    asked = SearchRequest(count=MANY + LACKING)
    whole = [one.entry.url for one in finder.find(parse(QUERY), asked)]
    each = 7
    parts = [
        one.entry.url
        for offset in range(0, len(whole), each)
        for one in finder.find(parse(QUERY), SearchRequest(count=each, offset=offset))
    ]
    assert parts == whole
    assert len(set(whole)) == len(whole)


@pytest.mark.parametrize("query", [QUERY, "lighthouses", "word49 lighthouse keeper", "site"])
def test_the_pages_that_are_counted_are_the_results(finder: Finder, query: str) -> None:
    found = finder.answer(query, SearchRequest(count=1000, counts=True, folds=False))
    assert found.counts is not None
    assert found.counts.pages == len(found.results)
    assert sum(pages for _, pages in found.counts.facets["host"]) == len(found.results)


def test_other_forms_that_are_no_results_are_not_counted(tmp_path: Path) -> None:
    index = SearchIndex(tmp_path / FOLDER)
    index.write()
    for page in range(2 * ENOUGH):
        body = f"The {'harbour' if page % 2 else 'harbours'} of town {page}"
        index.replace(Entry(page, f"http://a.example/{page}", body=body, language="en", at=1e9))
    index.commit()
    index.close()
    found = Finder(tmp_path).answer("harbour", SearchRequest(count=100, counts=True, folds=False))
    assert found.counts is not None
    assert found.counts.pages == len(found.results) == ENOUGH
