"""The search index finds each page once, in every script."""

import os
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tantivy")

from minicrawl.errors import StoreError
from minicrawl.search.entries import PageEntry
from minicrawl.search.index import SearchIndex
from minicrawl.search.index_queries import FieldWeights
from minicrawl.search.words.query import parse
from minicrawl.search.words.word_places import places


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    index = SearchIndex(tmp_path / "index")
    index.write()
    return index


def page(number: int, body: str = "", **fields: Any) -> PageEntry:
    given: dict[str, Any] = {"body": body, "at": 1e9} | fields
    return PageEntry(number, f"http://www.a.example:81/p{number}", **given)


def filled(index: SearchIndex, *entries: PageEntry) -> SearchIndex:
    for entry in entries:
        index.replace(entry)
    index.commit()
    return index


def found(index: SearchIndex, text: str) -> list[int]:
    return [hit.page for hit in chain(*index.best(parse(text), FieldWeights()))]


def test_adding_a_page_again_replaces_its_entry(index: SearchIndex) -> None:
    filled(index, page(2**40, "old"))
    filled(index, page(2**40, "new"), page(2**40, f"newer {'x' * 100}"))
    assert (len(index), found(index, "old"), found(index, "newer")) == (1, [], [2**40])
    assert found(index, "x" * 100) == [2**40]
    index.remove(2**40)
    index.commit()
    assert len(index) == 0


def test_pages_with_all_words_come_before_pages_with_some(index: SearchIndex) -> None:
    filled(index, page(1, "sea " * 50), page(2, f"sea {'word ' * 200} side"))
    assert found(index, "sea side") == [2, 1]


def test_phrases_exclusions_and_filters_limit_the_results(index: SearchIndex) -> None:
    filled(
        index,
        page(1, "free to copy", language="en-gb", title="Sea | The Town", own_title="Sea"),
        page(2, "free copy to museum", language="de"),
        PageEntry(3, "http://b.example/sea-side", anchors=("free harbour",)),
    )
    assert found(index, '"free to copy"') == [1]
    assert set(found(index, "free -museum")) == {1, 3}
    assert found(index, "harbour") == [3]
    assert found(index, "site:a.example free lang:de") == [2]
    assert found(index, "site:www.a.example:81 lang:en") == [1]
    assert found(index, "title:sea") == found(index, 'title:"the town"') == [1]
    assert found(index, 'url:"sea side"') == [3]
    assert set(found(index, "free after:2001-09-09")) == {1, 2}
    assert found(index, "free after:2001-09-10") == []
    assert found(index, "free -site:a.example") == [3]
    assert set(found(index, "free -lang:de")) == {1, 3}
    assert set(found(index, "free -title:sea")) == {2, 3}
    assert set(found(index, 'free -url:"sea side"')) == {1, 2}


def test_a_stored_entry_is_read_back(index: SearchIndex) -> None:
    entry = page(7, "a\nb", headings=("h",), anchors=("x",), repeated="r \ud800")
    found = filled(index, entry).entry(7)
    assert found is not None
    assert found == entry._replace(repeated=found.repeated)
    assert index.entry(8) is None


def test_a_second_writer_is_refused_and_uncommitted_entries_are_not_found(
    index: SearchIndex, tmp_path: Path
) -> None:
    filled(index, page(1, "sea"))
    with pytest.raises(StoreError, match="another process"):
        SearchIndex(tmp_path / "index").write()
    index.replace(page(2, "sea"))
    index.close()
    assert found(SearchIndex(tmp_path / "index"), "sea") == [1]


def test_a_damaged_index_is_refused_in_one_line(index: SearchIndex, tmp_path: Path) -> None:
    (hit,) = filled(index, page(1, "sea")).matches(parse("sea"), 1)
    index.close()
    for store in (tmp_path / "index").glob("*.store"):
        store.write_bytes(bytes(100) + store.read_bytes()[100:])
    with pytest.raises(StoreError, match="is damaged"):
        SearchIndex(tmp_path / "index").stored(hit.address)
    (tmp_path / "index" / "meta.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged") as refused:
        SearchIndex(tmp_path / "index")
    assert len(str(refused.value).splitlines()) == 1


def test_a_lock_created_during_the_removal_of_the_copy_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy watches the folder in a thread, which may create a lock file at any moment."""
    SearchIndex(tmp_path / "index")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    removed: list[str] = []
    rmdir = os.rmdir

    def rmdir_after_a_lock(path: str, **more: Any) -> None:
        if not removed:
            Path(path, ".tantivy-meta.lock").touch()
        removed.append(path)
        rmdir(path, **more)

    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "rmdir", rmdir_after_a_lock)
    assert len(SearchIndex(tmp_path / "index")) == 0
    assert len(removed) == 2
    assert list(temporary.iterdir()) == []


def test_letters_within_words_do_not_count_as_a_word_of_one_letter() -> None:
    text = b"a banana, " * 300
    assert places(text, ["a", "banana", "nan"]).counts == (300, 300, 0)
    assert places("東京 東".encode() * 300, ["東"]).counts == (600,)
