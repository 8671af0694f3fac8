"""Word forms and synonyms are found after exact words; pinned pages come first."""

from pathlib import Path

import pytest

pytest.importorskip("tantivy")

from minicrawl.errors import UsageError
from minicrawl.search.entries import PageEntry
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.search.words.word_forms import language_of
from tests.search.stored.stores import index_of

TEXTS = {
    "exact": ("en", "We tell how a partitioned table is read. " + "Much else is said. " * 20),
    "other": ("en", "Table partitioning. The partitions of tables."),
    "german": ("de", "Die Häuser am Hafen"),
    "french": ("fr", "partitioning"),
    "screen": ("", "A television set"),
    "builds": ("en", "continuous integration of changes"),
    "joined": ("en", "A HashMap"),
    "apart": ("en", "integration was continuous"),
}
CURATED = """
synonyms = [["TV", "television", "电视"], ["ci", "continuous integration"]]
[pins]
"lost Harbour" = ["http://a.example/screen", "http://a.example/gone"]
"New York, New York" = ["http://a.example/screen"]
"搜索引擎" = ["http://a.example/screen"]
"televisian" = ["http://a.example/joined"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return index_of(
        tmp_path / "crawl.db-search",
        (
            PageEntry(page, f"http://a.example/{name}", body=body, language=language)
            for page, (name, (language, body)) in enumerate(TEXTS.items())
        ),
    )


def found(folder: Path, text: str) -> list[str]:
    results = Finder(folder).find(parse(text), SearchRequest())
    return [one.entry.url.rpartition("/")[2] for one in results]


def test_other_forms_follow_the_exact_one_by_the_language_of_their_page(folder: Path) -> None:
    assert found(folder, "partitioned") == ["exact", "other"]
    assert found(folder, "partitioned table")[:2] == ["exact", "other"]
    assert found(folder, '"partitioned table"') == ["exact"]
    assert "french" not in found(folder, "partitions")
    assert found(folder, "hash map") == ["joined"]  # two words of a compound
    (german,) = Finder(folder).find(parse("Haus"), SearchRequest())
    ((begin, end),) = german.snippet.marks
    assert german.snippet.text[begin:end] == "Häuser"


def test_synonyms_are_found(folder: Path) -> None:
    assert found(folder, "tv") == []
    folder.with_name(f"{folder.name}.toml").write_text(CURATED)
    assert found(folder, "tv") == found(folder, "电视") == ["screen"]
    assert found(folder, "ci") == ["builds"]
    assert found(folder, "tv set") == ["screen"]


def test_a_pinned_page_comes_first_for_its_query_only(folder: Path) -> None:
    finder = Finder(folder)
    folder.with_name(f"{folder.name}.toml").write_text(CURATED)
    assert finder.is_old(folder)
    for query in ("LOST harbour", "new york new york", "搜索引擎"):
        first, *_ = Finder(folder).find(parse(query), SearchRequest())
        assert (first.entry.url, first.is_pinned) == ("http://a.example/screen", True)
    assert found(folder, "lost harbour lang:de") == []
    assert Finder(folder).find(parse("lost harbour"), SearchRequest(offset=1)) == []


def test_a_pinned_query_is_answered_as_typed_even_if_no_page_has_its_words(folder: Path) -> None:
    assert Finder(folder).answer("televisian", SearchRequest()).instead == "television"
    folder.with_name(f"{folder.name}.toml").write_text(CURATED)
    answered = Finder(folder).answer("televisian", SearchRequest())
    assert answered.instead == answered.suggestion == ""
    assert [one.entry.url for one in answered.results] == ["http://a.example/joined"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("synonyms = 3", "synonyms"),
        ('synonyms = ["tv"]', "synonyms"),
        ('[pins]\na = "http://a.example/"', "pins"),
        ("others = []", "others"),
        ("= 3", "line 1"),
    ],
)
def test_an_invalid_configuration_file_is_refused(folder: Path, content: str, named: str) -> None:
    folder.with_name(f"{folder.name}.toml").write_text(content)
    with pytest.raises(UsageError, match=named):
        Finder(folder)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the sea is near to the town and it is as calm as a lake in the summer of the year", "en"),
        ("das meer ist nahe an der stadt und es ist so ruhig wie ein see in dem sommer", "de"),
        ("la mer est pres de la ville et elle est calme comme un lac dans les etes de la", "fr"),
        ("море рядом с городом и оно тихое как озеро в это лето но не для нас и не для вас", "ru"),  # noqa: RUF001
        ("int main char argv return void static const struct long double sizeof " * 3, ""),
        ("the sea is near", ""),
    ],
)
def test_the_language_of_prose_follows_from_its_stop_words(text: str, language: str) -> None:
    assert language_of(text) == language
