"""The counts of stored data in `status --stored`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.search.indexing import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import PAGES, read_into

Captured = pytest.CaptureFixture[str]


def test_each_existing_part_is_counted_and_a_damaged_index_is_empty(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "crawl.db"
    read_into(path, PAGES)
    status = ["status", "--store", str(path)]

    def counted() -> dict[str, int]:
        assert main([*status, "--stored", "--json"]) == 0
        stored = json.loads(capsys.readouterr().out)["stored"]
        return {part["part"]: part["number"] for part in stored}

    before = counted()
    assert (before["repository"], before["documents"], before["links"]) == (4, 4, 5)
    assert "index" not in before
    done = bring_up_to_date(path)
    assert counted() == before | {"index": done.of_all, "anchors": 5}
    assert main([*status, "--stored"]) == 0
    assert "repository" in capsys.readouterr().out
    assert main([*status, "--json"]) == 0
    assert "stored" not in json.loads(capsys.readouterr().out)
    (search_folder(path) / "index" / "meta.json").write_bytes(b"?")
    assert counted()["index"] == 0
    (search_folder(path) / "notes.db").write_bytes(b"?" * 5000)
    assert main([*status, "--stored"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
