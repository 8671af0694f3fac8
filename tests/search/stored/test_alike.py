"""Near-duplicates are found with the index, folded in results, and never dropped."""

import json
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.processes import run_python

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.report.near_duplicates import NEAR_DUPLICATES_FILE
from minicrawl.report.progress.mirrors import mirrors
from minicrawl.report.snapshot import snapshot
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.search.stored.stores import indexed, read_into

ARTICLE = " ".join(Random(1).choices([f"word{n}" for n in range(900)], k=200))
FIRST, PRINTED, OTHER, TWIN = (
    f"http://{name}"
    for name in ("a.example/article", "a.example/print", "a.example/other", "b.example/article")
)
PAGES = {
    FIRST: f"<title>A lighthouse</title><p>{ARTICLE}",
    OTHER: f"<title>A harbour</title><p>lighthouse {' '.join(reversed(ARTICLE.split()))}",
    PRINTED: f"<title>Printed</title><p>{ARTICLE} lighthouse",
    TWIN: f"<title>The lighthouse</title><p>Seen elsewhere. {ARTICLE}",
}


@pytest.fixture
def store(path: Path) -> Path:
    return indexed(path, PAGES)


def likes(store: Path) -> dict[str, str]:
    with snapshot(store) as seen:
        found = seen.near_duplicates
        pairs = zip(found.pages.tolist(), found.originals.tolist(), strict=True)
        return {seen.url(page): seen.url(original) for page, original in pairs}


def test_search_folds_near_duplicates_and_can_show_all(store: Path, capsys: Captured) -> None:
    command = ("search", "lighthouse", "--store", store)
    assert sorted(one["folded"] for one in as_json(capsys, *command)) == [0, 2]
    assert "2 pages like it" in printed(capsys, *command)
    assert {one["url"] for one in as_json(capsys, *command, "--all")} == set(PAGES)
    assert len(as_json(capsys, *command, "--by", "opic")) == 2


def test_many_near_duplicates_do_not_hide_other_results(tmp_path: Path, capsys: Captured) -> None:
    pages = {
        f"http://c.example/{n}": f"<title>T</title><p>{ARTICLE} harbour harbour {n}"
        for n in range(70)
    }
    pages[FIRST] = f"<title>One</title><p>A harbour of its own. {'Else. ' * 90}"
    path = indexed(tmp_path / "many.db", pages)
    found = as_json(capsys, "search", "harbour", "--store", path)
    assert FIRST in {one["url"] for one in found}


def test_top_can_fold_near_duplicates(store: Path, capsys: Captured) -> None:
    top = ("top", "--store", store)
    assert len(as_json(capsys, *top)) == len(PAGES)
    folded = as_json(capsys, *top, "--fold")
    assert sorted(page["near_duplicates"] for page in folded) == [0, 2]
    assert len(as_json(capsys, *top, "--fold", "--host", "a.example")) == 2
    assert "alike" in printed(capsys, *top, "--fold").splitlines()[0]
    shutil.rmtree(search_folder(store))
    assert "minicrawl index" in refusal(capsys, *top, "--fold")


def test_export_and_explain_name_the_original(store: Path, capsys: Captured) -> None:
    lines = printed(capsys, "export", "-", "--format", "jsonl", "--store", store).splitlines()
    rows = {row["url"]: row["like"] for row in map(json.loads, lines)}
    assert rows == {FIRST: "", OTHER: "", PRINTED: FIRST, TWIN: FIRST}
    assert FIRST in printed(capsys, "explain", PRINTED, "--store", store)
    explained = as_json(capsys, "explain", FIRST, "--store", store)
    assert explained["near_duplicates"] == [PRINTED, TWIN]


def test_hosts_with_near_duplicate_pages_are_mirrors(tmp_path: Path) -> None:
    path = tmp_path / "mirror.db"
    articles = [" ".join(Random(n).choices(ARTICLE.split(), k=90)) for n in range(6)]
    pages = {
        f"http://{host}/{n}": f"<p>On {host} since today. {text}".encode()
        for host in ("one.example", "two.example")
        for n, text in enumerate(articles)
    }
    read_into(path, pages)
    assert mirrors(path) == []
    bring_up_to_date(path)
    (found,) = mirrors(path)
    assert {found.host, found.of_host} == {"http://one.example", "http://two.example"}
    assert found.pages == 6


def test_a_group_loses_a_page_that_changes_and_a_missing_table_is_rebuilt(store: Path) -> None:
    before = likes(store)
    assert before == {FIRST: FIRST, PRINTED: FIRST, TWIN: FIRST}
    (search_folder(store) / NEAR_DUPLICATES_FILE).unlink()
    assert likes(store) == {}
    bring_up_to_date(store)
    assert likes(store) == before
    read_into(store, {PRINTED: b"<title>Gone</title><p>Nothing is printed any more, at all."})
    bring_up_to_date(store)
    assert likes(store) == {FIRST: FIRST, TWIN: FIRST}


def test_only_changed_pairs_are_compared_again(store: Path) -> None:
    """A wrong judgement in the notes stays, because nobody compares the pair again."""
    with closing(sqlite3.connect(search_folder(store) / "notes.db")) as notes, notes:
        assert notes.execute("UPDATE judged SET alike = 0").rowcount == 2
    read_into(store, {"http://a.example/new": PAGES[FIRST].encode() + b" anew"})
    bring_up_to_date(store)
    found = likes(store)
    assert found["http://a.example/new"] == FIRST
    assert FIRST not in (found[PRINTED], found[TWIN])


_KILLED = """
import os, signal, sys
from pathlib import Path
from minicrawl.search import near_duplicates
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.near_duplicates import ReadText, are_alike
from minicrawl.search.notes import TextNotes
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before the table":
    near_duplicates.keep_near_duplicates = die
else:
    TextNotes.keep_judged = die
bring_up_to_date(Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before the table", "before the notes"])
def test_near_duplicates_are_found_after_a_kill(store: Path, moment: str) -> None:
    before = likes(store)
    read_into(store, {"http://a.example/new": PAGES[FIRST].encode() + b" anew"})
    assert run_python("-c", _KILLED, store, moment).returncode == -signal.SIGKILL
    bring_up_to_date(store)
    assert likes(store) == before | {"http://a.example/new": FIRST}
