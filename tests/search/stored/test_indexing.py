"""The index of a store has each page once, even after kills."""

import shutil
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl import State
from minicrawl.archive.segments import scan
from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.report.archived.killable_process import KillableProcess
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import snapshot
from minicrawl.search.importance_file import keep_importance
from minicrawl.search.index import SearchIndex
from minicrawl.search.indexing import page_reader, rounds
from minicrawl.search.indexing.index_folder import lack_of
from minicrawl.search.indexing.page_reader import PageReader
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import archive_folder, search_folder
from tests.processes import PATIENCE_S, busy_loops
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
def store(path: Path) -> Path:
    read_into(path, PAGES, noindex=[HIDDEN])
    return path


def urls(store: Path, text: str) -> list[str]:
    finder = Finder(search_folder(store))
    return [one.entry.url for one in finder.find(parse(text), SearchRequest())]


def test_pages_are_found_by_their_text_and_by_link_texts_unless_noindex(store: Path) -> None:
    first = bring_up_to_date(store)
    assert urls(store, "salt") == [SEA]
    assert set(urls(store, "wooden")) == {SEA, PIER}
    assert urls(store, "title:pier") == [PIER]
    assert UNREAD in urls(store, "secret lighthouse")
    assert urls(store, "quicksilver") == []
    assert HIDDEN not in urls(store, "hidden")
    again = bring_up_to_date(store)
    assert (again.pages, again.by_links, again.of_all) == (0, 0, first.of_all)


def test_an_index_may_be_created_before_the_first_page_is_read(tmp_path: Path) -> None:
    """`crawl --index` may do so, because it indexes in a process of its own."""
    path, messages = tmp_path / "crawl.db", list[str]()
    with going_on(path):
        pass
    keep(path, {})
    bring_up_to_date(path, say=messages.append)  # the store has no pages
    with going_on(path) as crawl:
        crawl.seeds([HOME])
    bring_up_to_date(path, say=messages.append)  # nothing was requested
    read_into(path, PAGES)
    assert bring_up_to_date(path, say=messages.append).pages == len(PAGES)
    assert bring_up_to_date(path, say=messages.append).pages == 0
    assert messages == []
    assert urls(path, "salt") == [SEA]


def test_new_pages_are_added_and_changed_ones_replaced(store: Path) -> None:
    bring_up_to_date(store)
    read_into(store, {SEA: b"<title>The sea</title>Herring <a href=pier>The jetty</a>"})
    assert bring_up_to_date(store).pages == 1
    assert urls(store, "salt") == []
    assert urls(store, "herring") == [SEA]
    assert PIER in urls(store, "jetty")


@pytest.mark.parametrize("is_indexed_before", [False, True])
def test_texts_of_links_to_a_redirect_count_for_its_target(
    store: Path, is_indexed_before: bool
) -> None:
    if is_indexed_before:
        bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.moved(OLD, SEA)
    bring_up_to_date(store)
    assert set(urls(store, "old")) == {HOME, SEA}


def test_a_page_that_robots_txt_forbids_is_found_by_link_texts_alone(store: Path) -> None:
    bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.ended(UNREAD, State.ROBOTS)
        crawl.ended(PIER, State.ROBOTS)
    assert bring_up_to_date(store).removed == 0
    assert UNREAD in urls(store, "secret lighthouse")
    assert PIER in urls(store, "wooden")
    assert PIER not in urls(store, "planks")


def test_a_missing_page_is_removed(store: Path) -> None:
    bring_up_to_date(store)
    with going_on(store) as crawl:
        crawl.ended(PIER, State.NOT_FOUND)
    assert bring_up_to_date(store).removed == 1
    assert PIER not in urls(store, "planks")


@pytest.mark.slow
def test_a_damaged_index_and_one_of_pruned_pages_are_rebuilt_with_a_message(store: Path) -> None:
    whole, messages = bring_up_to_date(store).of_all, list[str]()
    for spoil in ("meta.json", "notes.db"):
        next(search_folder(store).rglob(spoil)).write_bytes(b"\0" * 4096)
        assert bring_up_to_date(store, say=messages.append).of_all == whole
    assert main(["forget", "--best", "1", "--store", str(store)]) == 0
    bring_up_to_date(store, say=messages.append)
    assert ["rebuilt" in message for message in messages[:2]] == [True, True]
    assert ["were removed" in message for message in messages[2:]] == [True]


def test_indexed_pages_are_found_even_after_their_archive_was_replaced(store: Path) -> None:
    bring_up_to_date(store)
    shutil.rmtree(archive_folder(store))
    read_into(store, {"http://a.example/new": b"<title>A submarine</title>"})
    assert bring_up_to_date(store).pages == 1
    assert urls(store, "submarine") == ["http://a.example/new"]
    assert urls(store, "salt") == [SEA]
    assert bring_up_to_date(store).pages == 0
    shutil.rmtree(archive_folder(store))
    with pytest.raises(UsageError, match="is gone"):
        bring_up_to_date(store)
    assert urls(store, "salt") == [SEA]


def entries(store: Path) -> list[object]:
    index = SearchIndex(search_folder(store) / "index")
    with snapshot(store) as seen:
        return [len(index), *(index.entry(page) for page in range(len(seen)))]


@pytest.mark.slow
def test_a_slow_page_is_read_as_plain_text_and_harms_no_other(path: Path) -> None:
    """Deep nesting takes lexbor quadratic time."""
    deep = b"<div>" * 200_000
    read_into(path, PAGES | {HOME: deep + b"Welcome <a href=/x>with a link</a>"})
    with snapshot(path) as seen, kept_pages(seen) as archive:
        places = [found.place for found in scan(archive.segments, end=archive.end)]
        with closing(PageReader(archive.segments.folder, archive.end, 3.0)) as reader:
            found = list(reader.read(places))
    assert [one and one.url for one in found] == list(PAGES)
    assert found[0] is not None
    assert found[1] is not None
    assert not found[0].text.anchors
    assert "Welcome" in " ".join(found[0].text.lines)
    assert found[1].text.anchors
    assert found[0].cut == "read as plain text: not parsed within 3 s of processor time"
    assert not found[1].cut


@pytest.mark.slow
@pytest.mark.parametrize("follows", [False, True])
def test_texts_that_a_limit_has_cut_are_named_by_every_run(
    follows: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    deadline = partial(PageReader, deadline_s=1e-9)
    read_into(path, {HOME: b"<p>Welcome <a href=/sea>with a link</a>", SEA: b"salt"})
    index = ["index", "--store", str(path)]
    monkeypatch.setattr(rounds, "PageReader", deadline)
    if follows:  # as beside a crawl
        bring_up_to_date(path, completes=False)
    for _ in range(2):
        assert main(index) == 1
        said = capsys.readouterr().err
        assert f"{HOME}: read as plain text: not parsed within 1e-09 s of processor time" in said
        assert urls(path, "welcome") == [HOME]
    monkeypatch.undo()
    assert main([*index, "--fresh"]) == 0
    assert HOME not in capsys.readouterr().err


def test_a_pdf_without_text_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read_into(store, {SEA: b"%PDF-1.4 damaged"})
    assert main(["index", "--store", str(store)]) == 1
    assert f"{SEA}: its text was not made: the PDF cannot be read" in capsys.readouterr().err
    read_into(store, {SEA: b"salt"})
    assert main(["index", "--store", str(store)]) == 0


@pytest.mark.slow
@pytest.mark.large
def test_the_same_store_gives_the_same_index_on_a_busy_machine(path: Path) -> None:
    """A page takes about a second, a fifth of its deadline, and far longer beside loops."""
    slow = b"<div>" * 20_000
    read_into(path, {url: slow + body for url, body in PAGES.items()})
    bring_up_to_date(path)
    alone = entries(path)
    with busy_loops(4):
        assert not bring_up_to_date(path, fresh=True).cut
    assert entries(path) == alone


_DYING = (
    "import minicrawl.search.indexing.page_reader as r, os; r.page_text = lambda *_: os._exit(1); "
    "{}; r.answer_requests()"
)
"""Parser process that exits on a page; handled like a slow page, but without the wait."""


@pytest.mark.slow
def test_a_page_that_cannot_be_read_at_all_is_named_and_stays_in_the_index(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_reader, "_CODE", _DYING.format("r.simple_text = r.page_text"))
    assert main(["index", "--store", str(store)]) == 1
    said = capsys.readouterr().err
    assert "index: 3 pages" in said
    for url in (HOME, SEA, PIER):
        assert f"{url}: its text was not made: the parser process ended" in said


@pytest.mark.proof
@pytest.mark.parametrize(
    ("pages", "limit", "limits"),
    [(50, "", [6.0, 6.0]), (5, "r._MOST_OF_A_SITE_S = 9e9", [6.0, 6.0, 1.0, 1.0, 1.0])],
    ids=["site", "all"],
)
def test_many_slow_pages_take_limited_time(
    store: Path, monkeypatch: pytest.MonkeyPatch, pages: int, limit: str, limits: list[float]
) -> None:
    """After two slow pages of a site, its others are plain text; after many, deadlines shorten."""
    late: list[float] = []

    class Process(KillableProcess):
        def answer(self, patience_s: float | None) -> bytes | None:
            answer = super().answer(patience_s)
            if answer is None:
                late.append(reader._deadline_s)  # told by nothing but the time that a page gets
            return answer

    monkeypatch.setattr(page_reader, "KillableProcess", Process)
    monkeypatch.setattr(page_reader, "_CODE", _DYING.format(limit or "pass"))
    with snapshot(store) as seen, kept_pages(seen) as archive:
        places = [found.place for found in scan(archive.segments, end=archive.end)]
        with closing(PageReader(archive.segments.folder, archive.end, 6.0, many_slow=2)) as reader:
            found = list(reader.read(places[:1] * pages))
    assert [one and one.url for one in found] == list(PAGES)[:1] * pages
    assert late == limits


@pytest.mark.proof
@pytest.mark.parametrize("tags", ["ul><li", "div", "i><div"])
def test_twenty_thousand_nested_elements_are_indexed_within_the_deadline(
    tmp_path: Path, tags: str
) -> None:
    path, deep = tmp_path / "crawl.db", f"<{tags}>".encode() * 20_000
    read_into(path, {HOME: deep + b"a lantern", SEA: b"<title>Sea</title>salt"})
    began = time.monotonic()
    bring_up_to_date(path)
    assert time.monotonic() - began < PATIENCE_S
    assert (urls(path, "lantern"), urls(path, "salt")) == ([HOME], [SEA])


@pytest.mark.parametrize("part", ["index", "notes.db"])
def test_an_index_that_lost_a_part_is_built_anew(store: Path, part: str) -> None:
    bring_up_to_date(store)
    found = entries(store)
    for file in search_folder(store).glob(f"{part}*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    bring_up_to_date(store)
    assert entries(store) == found


@pytest.mark.slow
def test_the_next_run_indexes_what_a_time_limit_has_left(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_up_to_date(store)
    found = entries(store)
    monkeypatch.setattr(rounds, "_LIMITED_ROUND", 1)
    bring_up_to_date(store, fresh=True, is_over=lambda: True)
    pages = [0]
    while lack_of(store):
        # There is time to begin one round of one page.
        pages.append(
            bring_up_to_date(store, is_over=partial(next, iter((False, True)), True)).of_all
        )
    assert pages == sorted(pages)
    assert len(pages) >= len(PAGES)
    bring_up_to_date(store)
    assert entries(store) == found


@pytest.mark.slow
def test_new_importance_does_not_rewrite_the_index(store: Path) -> None:
    bring_up_to_date(store)
    before = next(search_folder(store).rglob("meta.json")).stat().st_mtime_ns
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
        known = seen.importance
    (found, *_) = Finder(search_folder(store)).find(parse("welcome"), SearchRequest())
    assert found.entry.url == HOME
    assert found.importance == pytest.approx(known[found.entry.page], rel=1e-3)
    assert next(search_folder(store).rglob("meta.json")).stat().st_mtime_ns == before
