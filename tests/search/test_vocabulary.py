"""Corrections of misspelt words by the vocabulary of an index."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from minicrawl.search.words.query import MOST_RESPELT, respelt
from minicrawl.search.words.vocabulary import more_usual, nearest
from tests.search.stored.stores import index_of


class Counts:
    """Vocabulary with the number of pages per word."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def pages_with(self, word: str) -> int:
        return self._counts.get(word, 0)

    def words_from(self, beginning: str, most: int) -> list[tuple[str, int]]:
        found = [one for one in self._counts.items() if one[0].startswith(beginning)]
        return sorted(found, key=lambda one: -one[1])[:most]


KNOWN = Counts(
    {"models": 40, "modes": 60, "management": 9, "command": 500, "comand": 2, "процесс": 3}
    | {"processing": 70, "procession": 1, "cat": 9, "subprocess": 5}
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mdoels", "models"),
        ("managment", "management"),
        ("subprosess", "subprocess"),
        ("commmand", "command"),
        ("omdels", "models"),
        ("proccesing", "processing"),
        ("процес", "процесс"),
        ("xyzzyxyz", None),
        ("cta", None),
        ("mod3ls", None),
        ("proxxssing", "processing"),
        ("procxxxxng", None),
    ],
)
def test_an_unknown_word_is_replaced_by_the_nearest_known_one(
    typed: str, meant: str | None
) -> None:
    assert nearest(typed, KNOWN) == meant


def test_only_a_far_more_frequent_word_is_suggested() -> None:
    assert more_usual("comand", KNOWN) == "command"
    assert more_usual("models", KNOWN) is None


def test_quoted_words_and_sites_are_not_corrected() -> None:
    text = 'Foo.bar "foo" -foo site:foo.example title:foo lang:foo "foo bar'
    changed = respelt(text, lambda word: "new" if word == "foo" else word)
    assert changed == 'new.bar "foo" -new site:foo.example title:new lang:foo "foo bar'


def test_the_work_of_correcting_does_not_grow_with_the_query() -> None:
    lookups = Counter[str]()

    class Counted:
        def pages_with(self, word: str) -> int:
            lookups["pages_with"] += 1
            return 0

        def words_from(self, beginning: str, most: int) -> Sequence[tuple[str, int]]:
            lookups["words_from"] += 1
            return []

    for text in ("mispelt " * 60, "x" * 500, ".".join(["mispelt"] * 60), f"{'m' * 31} " * 16):
        lookups.clear()
        respelt(text, lambda word: nearest(word, Counted()) or word)
        assert lookups["words_from"] <= MOST_RESPELT, text
        assert lookups["pages_with"] <= MOST_RESPELT * 32 * 60, text


def test_a_misspelt_query_has_results_for_the_correction(tmp_path: Path) -> None:
    pytest.importorskip("tantivy")
    from minicrawl.search.entries import Entry
    from minicrawl.search.searching import Finder, SearchRequest

    texts = ["Models of data", "A management command", "A comand"] + ["command"] * 60
    pages = (Entry(page, f"http://a.example/{page}", body=body) for page, body in enumerate(texts))
    finder = Finder(index_of(tmp_path, pages))
    for typed, instead, suggestion, page in [
        ("mdoels", "models", "", 0),
        ("managment comand", "management comand", "management command", 1),
        ("models", "", "", 0),
    ]:
        answered = finder.answer(typed, SearchRequest())
        assert (answered.instead, answered.suggestion) == (instead, suggestion)
        assert page in [one.entry.page for one in answered.results]
    assert not finder.answer('"mdoels"', SearchRequest()).results
