"""The counts of stored data in `status --stored`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.report.crawl_status import stored_parts
from minicrawl.search.indexing import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import PAGES, read_into

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.db"
    read_into(path, PAGES)
    return path


def numbers(store: Path) -> dict[str, int]:
    return {part.part: part.number for part in stored_parts(store)}


def test_each_existing_part_is_counted(store: Path) -> None:
    before = numbers(store)
    assert (before["repository"], before["documents"]) == (len(PAGES), len(PAGES))
    assert before["links"] == 5
    assert "index" not in before
    done = bring_up_to_date(store)
    after = numbers(store)
    assert after["index"] == done.of_all
    assert after["anchors"] == 5


def test_the_counts_are_printed_as_a_table_and_as_json(store: Path, capsys: Captured) -> None:
    bring_up_to_date(store)
    assert main(["status", "--stored", "--store", str(store)]) == 0
    assert "repository" in capsys.readouterr().out
    assert main(["status", "--stored", "--json", "--store", str(store)]) == 0
    stored = json.loads(capsys.readouterr().out)["stored"]
    assert {"fetched", "repository", "index", "anchors", "links", "documents"} <= {
        part["part"] for part in stored
    }
    assert main(["status", "--json", "--store", str(store)]) == 0
    assert "stored" not in json.loads(capsys.readouterr().out)


def test_a_damaged_index_counts_as_empty(store: Path, capsys: Captured) -> None:
    bring_up_to_date(store)
    (search_folder(store) / "index" / "meta.json").write_bytes(b"?")
    assert numbers(store)["index"] == 0
    (search_folder(store) / "notes.db").write_bytes(b"?" * 5000)
    assert main(["status", "--stored", "--store", str(store)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
