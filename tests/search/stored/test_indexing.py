"""The index of a store: all pages, each once, after any kill."""

import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.archive.index import scan
from minicrawl.cli import main
from minicrawl.errors import StoreError, UsageError
from minicrawl.model import State
from minicrawl.report.archived_pages import kept_pages
from minicrawl.report.page_texts import KillableProcess
from minicrawl.report.snapshot import snapshot
from minicrawl.search import page_text
from minicrawl.search.index import SearchIndex
from minicrawl.search.indexing import bring_up_to_date, locked_folder
from minicrawl.search.page_text import PageReader
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest, keep_importance
from minicrawl.store.reader import archive_folder, search_folder
from tests.search.stored.stores import (
    HIDDEN,
    HOME,
    OLD,
    PAGES,
    PIER,
    SEA,
    UNREAD,
    going_on,
    keep,
    read_into,
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.db"
    read_into(path, PAGES, noindex=[HIDDEN])
    return path


def urls(store: Path, text: str) -> list[str]:
    finder = Finder(search_folder(store))
    return [one.entry.url for one in finder.find(parse(text), SearchRequest())]


def test_pages_are_found_by_their_text_and_by_the_links_to_them(store: Path) -> None:
    bring_up_to_date(store)
    assert urls(store, "salt") == [SEA]
    assert set(urls(store, "wooden")) == {SEA, PIER}
    assert urls(store, "title:pier") == [PIER]


def test_an_index_that_was_begun_before_the_first_page_was_read_is_gone_on_with(
    tmp_path: Path,
) -> None:
    """As by `crawl --index`, whose process may be there first."""
    path, said = tmp_path / "crawl.db", list[str]()
    with going_on(path):
        pass
    keep(path, {})
    bring_up_to_date(path, say=said.append)  # no page is known
    with going_on(path) as crawl:
        crawl.seeds([HOME])
    bring_up_to_date(path, say=said.append)  # nothing was asked for
    read_into(path, PAGES)
    assert bring_up_to_date(path, say=said.append).pages == len(PAGES)
    assert bring_up_to_date(path, say=said.append).pages == 0
    assert said == []
    assert urls(path, "salt") == [SEA]


def test_a_page_that_was_never_read_is_found_by_the_words_of_links(store: Path) -> None:
    bring_up_to_date(store)
    assert UNREAD in urls(store, "secret lighthouse")


def test_a_page_that_asks_not_to_be_indexed_is_not_found(store: Path) -> None:
    bring_up_to_date(store)
    assert urls(store, "quicksilver") == []
    assert HIDDEN not in urls(store, "hidden")


def test_a_second_run_has_nothing_to_do_and_changes_nothing(store: Path) -> None:
    first = bring_up_to_date(store)
    again = bring_up_to_date(store)
    assert (again.pages, again.by_links, again.of_all) == (0, 0, first.of_all)


def test_pages_that_are_read_later_are_added_and_those_that_changed_replaced(store: Path) -> None:
    bring_up_to_date(store)
    read_into(store, {SEA: b"<title>The sea</title>Herring <a href=pier>The jetty</a>"})
    assert bring_up_to_date(store).pages == 1
    assert urls(store, "salt") == []
    assert urls(store, "herring") == [SEA]
    assert PIER in urls(store, "jetty")


def test_a_page_that_stands_for_another_gives_it_the_words_of_links(store: Path) -> None:
    with going_on(store) as crawl:
        crawl.moved(OLD, SEA)
    bring_up_to_date(store)
    assert set(urls(store, "old")) == {HOME, SEA}


def test_words_of_links_go_to_the_page_that_stands_there_later(store: Path) -> None:
    bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.moved(OLD, SEA)
    bring_up_to_date(store)
    assert set(urls(store, "old")) == {HOME, SEA}


def test_a_page_that_may_not_be_read_is_found_by_links_before_and_after(store: Path) -> None:
    bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.ended(UNREAD, State.ROBOTS)
        crawl.ended(PIER, State.ROBOTS)
    assert bring_up_to_date(store).removed == 0
    assert UNREAD in urls(store, "secret lighthouse")
    assert PIER in urls(store, "wooden")
    assert PIER not in urls(store, "planks")


def test_a_page_that_is_gone_is_not_found(store: Path) -> None:
    bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.ended(PIER, State.NOT_FOUND)
    assert bring_up_to_date(store).removed == 1
    assert PIER not in urls(store, "planks")


def test_an_index_that_cannot_be_used_is_made_again_and_says_why(store: Path) -> None:
    whole = bring_up_to_date(store).of_all
    folder = search_folder(store)
    for spoil in ("meta.json", "notes.db"):
        file = next(folder.rglob(spoil))
        file.write_bytes(b"\0" * 4096)
        said: list[str] = []
        assert bring_up_to_date(store, say=said.append).of_all == whole
        assert len(said) == 1, said
        assert "rebuilt" in said[0]


def test_when_answers_were_pruned_the_index_is_made_of_what_is_left(store: Path) -> None:
    bring_up_to_date(store)
    heard: list[str] = []
    assert main(["forget", "--best", "1", "--store", str(store)]) == 0
    bring_up_to_date(store, say=heard.append)
    assert len(heard) == 1
    assert "were removed" in heard[0]


def test_pages_that_are_kept_after_all_others_were_deleted_are_found_with_them(store: Path) -> None:
    bring_up_to_date(store)
    shutil.rmtree(archive_folder(store))
    read_into(store, {"http://a.example/new": b"<title>A submarine</title>"})
    assert bring_up_to_date(store).pages == 1
    assert urls(store, "submarine") == ["http://a.example/new"]
    assert urls(store, "salt") == [SEA]
    assert bring_up_to_date(store).pages == 0


def test_two_runs_at_once_are_refused_in_a_line(store: Path) -> None:
    folder = search_folder(store)
    with (
        locked_folder(folder),
        pytest.raises(StoreError, match="is being written by another process"),
    ):
        bring_up_to_date(store)


def test_without_the_pages_nothing_is_indexed_and_the_index_still_answers(store: Path) -> None:
    bring_up_to_date(store)
    shutil.rmtree(archive_folder(store))
    with pytest.raises(UsageError, match="is gone"):
        bring_up_to_date(store)
    assert urls(store, "salt") == [SEA]


# ---------------------------------------------------------------- kills

_RUN = """
import os, signal, sys
from pathlib import Path
from minicrawl.report.archived_pages import kept_pages
from minicrawl.search import indexing
from minicrawl.search.index import SearchIndex
from minicrawl.search.notes import Notes
indexing.ROUND = 2
left = int(sys.argv[2])
def counting(method):
    def counted(self, *arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments)
    return counted
for owner, name in ((SearchIndex, "replace"), (SearchIndex, "commit"), (Notes, "commit"),
                    (Notes, "mark_fresh")):
    setattr(owner, name, counting(getattr(owner, name)))
indexing.bring_up_to_date(Path(sys.argv[1]))
"""


def entries(store: Path) -> list[object]:
    index = SearchIndex(search_folder(store) / "index")
    with snapshot(store) as seen:
        return [len(index), *(index.entry(page) for page in range(len(seen)))]


@pytest.fixture
def whole(store: Path) -> list[object]:
    bring_up_to_date(store)
    return entries(store)


@pytest.mark.proof
def test_whenever_it_is_killed_nothing_is_lost_and_nothing_doubled(
    store: Path, whole: list[object]
) -> None:
    shutil.rmtree(search_folder(store))
    killed = 0
    for moment in (1, 4, 5, 8, 10, 13):
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(store), str(moment)], timeout=120, check=False
        )
        killed += done.returncode == -signal.SIGKILL
        bring_up_to_date(store)
        assert entries(store) == whole
        shutil.rmtree(search_folder(store))
    assert killed > 3


# ---------------------------------------------------------------- the process that reads


def test_a_page_that_takes_too_long_is_read_as_plain_text_and_costs_no_other(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = (
        "import minicrawl.search.page_text as r, threading; read = r.page_text; "
        "wait = threading.Event().wait; "
        "r.page_text = lambda text, url: wait() if 'Home' in text else read(text, url); r.main()"
    )
    monkeypatch.setattr(page_text, "_CODE", slow)
    with snapshot(store) as seen, kept_pages(seen) as archive:
        places = [found.place for found in scan(archive.segments, end=archive.end)]
        with closing(PageReader(archive.segments.folder, archive.end, 3.0)) as reader:
            found = list(reader.read(places))
    assert [one and one.url for one in found] == list(PAGES)
    assert found[0] is not None
    assert found[1] is not None
    assert not found[0].text.anchors
    assert "Welcome" in " ".join(found[0].text.lines)
    assert found[1].text.anchors


_DYING = (
    "import minicrawl.search.page_text as r, os; r.page_text = lambda *_: os._exit(1); {}; r.main()"
)
"""A process that dies of a page is handled as one that takes too long, but costs no time."""


@pytest.mark.proof
@pytest.mark.parametrize(
    ("pages", "limit", "waited"),
    [(50, "", [6.0, 6.0]), (5, "r._MOST_OF_A_SITE_S = 9e9", [6.0, 6.0, 5.0, 5.0, 5.0])],
    ids=["site", "all"],
)
def test_pages_that_take_too_long_do_not_take_hours_together(
    store: Path, monkeypatch: pytest.MonkeyPatch, pages: int, limit: str, waited: list[float]
) -> None:
    """A site whose pages did so has the others read as plain text; after many, deadlines are
    short."""
    late: list[float] = []

    class Process(KillableProcess):
        def answer(self, deadline_s: float) -> bytes | None:
            answer = super().answer(deadline_s)
            if answer is None:
                late.append(deadline_s)
            return answer

    monkeypatch.setattr(page_text, "KillableProcess", Process)
    monkeypatch.setattr(page_text, "_CODE", _DYING.format(limit or "pass"))
    monkeypatch.setattr(page_text, "_MANY_SLOW", 2)
    monkeypatch.setattr(page_text, "SHORT_DEADLINE_S", 5.0)
    with snapshot(store) as seen, kept_pages(seen) as archive:
        places = [found.place for found in scan(archive.segments, end=archive.end)]
        with closing(PageReader(archive.segments.folder, archive.end, 6.0)) as reader:
            found = list(reader.read(places[:1] * pages))
    assert [one and one.url for one in found] == list(PAGES)[:1] * pages
    assert late == waited


@pytest.mark.proof
@pytest.mark.parametrize("tags", ["ul><li", "div", "i><div"])
def test_nested_lists_of_twenty_thousand_are_indexed_within_the_deadline(
    tmp_path: Path, tags: str
) -> None:
    path, deep = tmp_path / "crawl.db", f"<{tags}>".encode() * 20_000
    read_into(path, {HOME: deep + b"a lantern", SEA: b"<title>Sea</title>salt"})
    began = time.monotonic()
    bring_up_to_date(path)
    assert time.monotonic() - began < 20
    assert (urls(path, "lantern"), urls(path, "salt")) == ([HOME], [SEA])


def test_importance_is_joined_without_indexing_again(store: Path) -> None:
    bring_up_to_date(store)
    before = next(search_folder(store).rglob("meta.json")).stat().st_mtime_ns
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
        known = seen.importance
    (found, *_) = Finder(search_folder(store)).find(parse("welcome"), SearchRequest())
    assert found.entry.url == HOME
    assert found.importance == pytest.approx(known[found.entry.page], rel=1e-3)
    assert next(search_folder(store).rglob("meta.json")).stat().st_mtime_ns == before
