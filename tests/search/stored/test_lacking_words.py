"""Pages of results are parts of one list, in which pages that lack words stand near the top."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("tantivy")

from minicrawl.search.entries import PageEntry
from minicrawl.search.index import CANDIDATES, ENOUGH, LACKING
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.web.words import indexed
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
                PageEntry(page, f"http://a.example/{page}", title, title, body=body, language="en")
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


def test_pages_with_half_of_the_words_follow_all_pages_with_all(finder: Finder) -> None:
    found = finder.find(parse("keeper lighthouse"), SearchRequest(count=2 * MANY))
    has_all = [one.score.share == pytest.approx(1) for one in found]
    assert has_all == [True] * sum(has_all) + [False] * LACKING


WORDS = {
    "en": ("bill", "clinton", "arkansas"),
    "de": ("häuser", "hafen", "leuchtturm"),
    "": ("клинтон", "билл", "克林顿"),
}
FORMS = {"bill": "bills", "häuser": "haus"}


def random_page(random: Random, page: int, language: str, *, is_full: bool) -> PageEntry:
    """Return a page whose title, heading, text and anchors have the words, or some of them."""
    words = list(WORDS[language])
    if not is_full:
        del words[random.randrange(len(words)) :]
        words *= random.randrange(1, 5)
    parts: dict[str, list[str]] = {name: [] for name in ("title", "heading", "body", "anchor")}
    for word in words:
        has_form = random.random() < 0.2
        for name in random.sample(list(parts), 1 if is_full else 3):
            form = FORMS.get(word, word) if has_form and name != "anchor" else word
            parts[name].append(form)
    filler = [f"word{number}" for number in range(random.randrange(5, 400))]
    for word in parts["body"]:
        filler.insert(random.randrange(len(filler)), word)
    title, *others = (" ".join(parts[name]) for name in ("title", "heading", "anchor"))
    return PageEntry(
        page, f"http://site{page}.example/", title, title, (others[0],), " ".join(filler),
        anchors=(indexed(others[1]),) * 9, anchor_sites=tuple(range(9)), language=language,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("full", [ENOUGH // 2, CANDIDATES, MANY])
def test_no_page_that_lacks_a_word_precedes_one_with_all_words(
    language: str, count: int, full: int, tmp_path: Path
) -> None:
    random = Random(f"{language} {count} {full}")
    pages = range(full + 2 * LACKING)
    is_full = [random.random() < full / len(pages) for _ in pages]
    entries = [random_page(random, one, language, is_full=is_full[one]) for one in pages]
    finder = Finder(index_of(tmp_path, entries))
    query = " ".join(WORDS[language][:count])
    has_all = [
        words_on(entries[one.entry.page]) >= set(parse(query).words)
        for one in finder.find(parse(query), SearchRequest(count=len(pages), folds=False))
    ]
    assert has_all == sorted(has_all, reverse=True)
    assert sum(has_all) >= sum(is_full)
    assert not all(has_all)


def words_on(page: PageEntry) -> set[str]:
    """Return the words of a page, each form of a word as the word."""
    words = indexed("\n".join((page.title, *page.headings, page.body, *page.anchors))).split()
    base = {indexed(form): indexed(word) for word, form in FORMS.items()}
    return {base.get(word, word) for word in words}


@pytest.mark.parametrize(
    ("query", "title", "body", "is_before"),
    [
        ("why is the sea salt", "Sea", "Salt is in it.", True),  # lacks only stop words
        ("the who", "The", "who else", True),  # has nothing but stop words
        ("postgres locks", "Locks", "of PostgreSQL", False),  # no more usual than the word
        ("bill locks", "Locks", "a billion", False),
        ("haus boot", "Hausboot", "", True),  # two words of a compound
        ("managment locks", "Locks", "of management", True),  # misspelt
        ("sea salt lamps", "Sea " + "far " * 2000 + " lamps", "", True),  # in the title
        ("sea salt lamps", "", "sea " + "salt " + "far " * 600 + " lamps", True),
        ("sea salt lamps", "", "sea " + "salt " + "far " * 1200 + " lamps", False),
        ("sea lamps", "", "sea " + "far " * 1200 + " lamps", True),
        ("sea salt lamps at old piers", "", "sea salt lamps old " + "far " * 300 + "piers", False),
    ],
)
def test_a_complete_page_has_all_words_that_count(
    query: str, title: str, body: str, is_before: bool, tmp_path: Path
) -> None:
    first, *others = query.split()
    lacking = [(first, f"{first} {number}") for number in range(4)]
    if title.startswith("Sea far"):
        body = "salt"
    finder = finder_of(tmp_path, [*lacking, (title, body)])
    found = finder.answer(query, SearchRequest(count=9, folds=False)).results
    by_page = {one.entry.page: one.score.complete for one in found}
    assert by_page[len(lacking)] == float(is_before), others
    assert (found[0].entry.page == len(lacking)) >= is_before


def test_a_more_usual_word_stands_for_its_beginning(tmp_path: Path) -> None:
    pages = [("Locks", "of PostgreSQL"), ("Postgres", "doors and keys")]
    finder = finder_of(tmp_path, [*pages, *(("", f"postgresql {page}") for page in range(MANY))])
    assert titles(finder, "postgres locks")[0] == "Locks"
    assert titles(finder, "postgres")[0] == "Postgres"


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


def test_other_forms_follow_and_are_counted(tmp_path: Path) -> None:
    names = [f"The {'harbour' if page % 2 else 'harbours'} of town" for page in range(2 * ENOUGH)]
    finder = finder_of(tmp_path, [("", f"{name} {page}") for page, name in enumerate(names)])
    found = finder.answer("harbour", SearchRequest(count=100, counts=True, folds=False))
    assert [one.entry.page % 2 for one in found.results] == [1] * ENOUGH + [0] * ENOUGH
    assert found.counts is not None
    assert found.counts.pages == len(found.results)
