"""Corrections of misspelt words by the vocabulary of an index."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from minicrawl.search.words.query import MOST_RESPELT, respelt
from minicrawl.search.words.vocabulary import more_usual, nearest, nearest_phrase
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

    def pages_with_phrase(self, phrase: Sequence[str]) -> int:
        return self._counts.get(" ".join(phrase), 0)


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


NAMES = Counts(
    {"cmake": 90, "build": 80, "type": 70, "typ": 2, "tip": 9, "array": 8, "to": 99, "json": 7}
    | {"cmake build type": 5, "array to json": 3, "e mail": 4, "mail": 9, "e": 30}
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("cmake build type", "cmake build type"),
        ("cmake build typ", "cmake build type"),  # although pages have each word
        ("cmake biuld type", "cmake build type"),
        ("cmake buildtype", "cmake build type"),
        ("cmakebuildtype", "cmake build type"),
        ("cmak ebuild type", "cmake build type"),
        ("arrayt o json", "array to json"),
        ("type json", "type json"),
        ("e mail", "e mail"),
        ("xyz build type", "xyz build type"),
    ],
)
def test_words_written_as_one_are_corrected_so_that_pages_have_them_together(
    typed: str, meant: str
) -> None:
    assert " ".join(nearest_phrase(typed.split(), NAMES)) == meant


def test_only_a_far_more_frequent_word_is_suggested() -> None:
    assert more_usual("comand", KNOWN) == "command"
    assert more_usual("models", KNOWN) is None
    assert more_usual("comand", Counts({"comand": 2, "command": 60})) is None
    assert more_usual("comand", Counts({"comand": 2, "command": 61})) == "command"


def test_quoted_words_and_sites_are_not_corrected() -> None:
    text = 'Foo.bar "foo" -foo site:foo.example title:foo lang:foo "foo bar'
    changed = respelt(text, lambda words: ["new" if word == "foo" else word for word in words])
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

        def pages_with_phrase(self, phrase: Sequence[str]) -> int:
            lookups["pages_with_phrase"] += 1
            return 0

    for text in ("mispelt " * 60, "x" * 500, ".".join(["mispelt"] * 60), f"{'m' * 31} " * 16):
        lookups.clear()
        respelt(text, lambda words: nearest_phrase(words, Counted()))
        respelt(text, lambda words: [nearest(word, Counted()) or word for word in words])
        assert lookups["pages_with_phrase"] <= MOST_RESPELT * MOST_RESPELT, text
        assert lookups["words_from"] <= MOST_RESPELT, text
        assert lookups["pages_with"] <= MOST_RESPELT * 32 * 60, text


def test_a_misspelt_query_has_results_for_the_correction(tmp_path: Path) -> None:
    pytest.importorskip("tantivy")
    from minicrawl.search.entries import PageEntry
    from minicrawl.search.searching import Finder, SearchRequest

    texts = ["Models of data", "A management command", "A comand"] + ["command"] * 60
    pages = (
        PageEntry(page, f"http://a.example/{page}", body=body) for page, body in enumerate(texts)
    )
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


def test_a_name_is_found_by_its_file_without_its_signs_and_with_a_mistake(tmp_path: Path) -> None:
    pytest.importorskip("tantivy")
    from minicrawl.search.entries import PageEntry
    from minicrawl.search.searching import Finder, SearchRequest

    pages = [
        PageEntry(0, "http://a.example/fs/mount.html", body="mount an overlayfs, an overlayfs"),
        PageEntry(
            1, "http://a.example/fs/overlayfs.html", body="a file system, the overlayfs or so"
        ),
        PageEntry(2, "http://a.example/2", body="set CMAKE_BUILD_TYPE to Debug"),
        PageEntry(3, "http://a.example/3", body="le typ de cmake, et build"),
        PageEntry(4, "http://a.example/4", body="call getElementById or send an e-mail"),
    ]
    finder = Finder(index_of(tmp_path, pages))
    for typed, instead, page in [
        ("overlayfs", "", 1),
        ("CMAKE_BUILD_TYP", "CMAKE_BUILD_TYPE", 2),
        ("cmake-build-type", "", 2),
        ("cmakeBuildType", "cmake build type", 2),
        ("get element by id", "", 4),
        ("email", "e mail", 4),
    ]:
        answered = finder.answer(typed, SearchRequest())
        assert (answered.instead, answered.results[0].entry.page) == (instead, page)
