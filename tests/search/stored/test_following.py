"""The index follows a running crawl, and a kill neither loses nor duplicates a page."""

import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from tests.processes import run_python

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.indexing.following import COMMAND, EVERY_S, SELDOM_S, IndexFollower
from minicrawl.search.indexing.index_folder import lack_of, locked_folder
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.proofs import IS_LONG
from tests.search.stored.stores import PAGES, PIER, SEA, UNREAD, read_into
from tests.search.stored.test_indexing import entries, urls


def begun_store(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.db"
    read_into(path, dict(islice(PAGES.items(), 2)))
    return path


def test_new_pages_are_indexed(tmp_path: Path) -> None:
    pauses = IndexFollower(tmp_path / "crawl.db").pauses()
    assert next(pauses) >= EVERY_S  # the store does not exist yet
    path = begun_store(tmp_path)
    next(pauses)
    assert urls(path, "salt") == [SEA]
    read_into(path, {PIER: PAGES[PIER]})
    next(pauses)
    assert urls(path, "planks") == [PIER]


def test_nothing_is_done_without_new_pages_and_pauses_are_longer_than_the_work(
    tmp_path: Path,
) -> None:
    path = begun_store(tmp_path)
    pauses = IndexFollower(path).pauses()
    next(pauses)
    (search_folder(path) / "notes.db").unlink()  # any work would make it again
    next(pauses)
    assert not (search_folder(path) / "notes.db").exists()
    times = iter((0.0, 0.0, 100.0))
    assert next(IndexFollower(tmp_path / "none.db", lambda: next(times)).pauses()) == 300.0


def test_pages_known_by_links_alone_are_indexed_seldom(tmp_path: Path) -> None:
    moments = [0.0]
    path = begun_store(tmp_path)
    pauses = IndexFollower(path, lambda: moments[0]).pauses()
    next(pauses)
    assert urls(path, "lighthouse") == []
    moments[0] = SELDOM_S
    next(pauses)  # without new pages
    assert urls(path, "lighthouse") == [UNREAD]
    read_into(path, {PIER: PAGES[PIER]})
    next(pauses)
    followed = entries(path)
    bring_up_to_date(path)
    assert entries(path) == followed  # apart from links of the last page


@pytest.mark.slow
def test_the_follower_waits_for_another_writer(tmp_path: Path) -> None:
    path = begun_store(tmp_path)
    pauses = IndexFollower(path).pauses()
    with locked_folder(search_folder(path)):
        next(pauses)
    assert not (search_folder(path) / "index").exists()
    next(pauses)
    assert urls(path, "salt") == [SEA]


@pytest.mark.slow
def test_the_process_ends_with_its_standard_input(tmp_path: Path) -> None:
    path = begun_store(tmp_path)
    # As the nicest process, it would wait for minutes on a busy machine.
    at_once = COMMAND.replace("os.nice(19); ", "")
    command = [sys.executable, "-c", at_once, str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=120, check=True)
    assert done.returncode == 0
    assert urls(path, "salt") == [SEA]


_RUN = """
import os, signal, sys
from pathlib import Path
from minicrawl.search import near_duplicates
from minicrawl.search.indexing import rounds
from minicrawl.search.indexing.following import IndexFollower
from minicrawl.search.index import SearchIndex
from minicrawl.search.notes import Notes, TextNotes
rounds.ROUND = 1
left = int(sys.argv[2])
def counting(method):
    def counted(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments)
    return counted
for owner, name in ((SearchIndex, "replace"), (SearchIndex, "commit"), (Notes, "begin"),
                    (Notes, "commit"), (Notes, "mark_fresh"), (TextNotes, "sign"),
                    (TextNotes, "keep_judged"), (near_duplicates, "keep_near_duplicates")):
    setattr(owner, name, counting(getattr(owner, name)))
next(IndexFollower(Path(sys.argv[1])).pauses())
"""


@pytest.mark.proof
@pytest.mark.parametrize("step", [1, 2, 3, 5] if IS_LONG else [1, 5])
def test_kills_while_pages_arrive_neither_lose_nor_duplicate_any(tmp_path: Path, step: int) -> None:
    path, killed = tmp_path / "crawl.db", 0
    for number, (url, page) in enumerate(PAGES.items()):
        read_into(path, {url: page})
        for moment in (step + number, 2 * step + 3 * number):
            done = run_python("-c", _RUN, path, str(moment))
            assert done.returncode in (0, -signal.SIGKILL)
            killed += done.returncode == -signal.SIGKILL
    assert killed >= 4
    bring_up_to_date(path)
    followed = entries(path)
    bring_up_to_date(path, fresh=True)
    assert entries(path) == followed


@pytest.mark.slow
def test_the_index_says_how_much_it_lacks_until_it_is_complete(tmp_path: Path) -> None:
    store, pages = tmp_path / "crawl.db", list(PAGES.items())
    assert lack_of(store) is None
    read_into(store, dict(pages[:1]))
    bring_up_to_date(store)
    assert lack_of(store) is None
    for count in range(2, len(pages) + 1):
        read_into(store, dict(pages[count - 1 : count]))
        assert (lack := lack_of(store)) is not None
        assert lack.pages < count <= lack.of
        bring_up_to_date(store, completes=False)
    bring_up_to_date(store)
    assert lack_of(store) is None
    read_into(store, dict(pages[:2]))  # the same pages again
    assert (lack := lack_of(store)) is not None
    assert 0 < lack.pages < lack.of
    store.rename(tmp_path / "elsewhere.db")
    assert lack_of(store) is None
