"""The counts of stored data in `status --stored`."""

from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store.reader import search_folder
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.search.stored.stores import PAGES, read_into


@pytest.mark.slow
def test_each_existing_part_is_counted_and_a_damaged_index_is_empty(
    path: Path, capsys: Captured
) -> None:
    read_into(path, PAGES)
    status = ("status", "--store", path)

    def counted() -> dict[str, int]:
        stored = as_json(capsys, *status, "--stored")["stored"]
        return {part["part"]: part["number"] for part in stored}

    before = counted()
    assert (before["repository"], before["documents"], before["links"]) == (4, 4, 5)
    assert "index" not in before
    done = bring_up_to_date(path)
    assert counted() == before | {"index": done.of_all, "anchors": 5}
    assert "repository" in printed(capsys, *status, "--stored")
    assert "stored" not in as_json(capsys, *status)
    (search_folder(path) / "index" / "meta.json").write_bytes(b"?")
    assert counted()["index"] == 0
    (search_folder(path) / "notes.db").write_bytes(b"?" * 5000)
    assert search_folder(path).name in refusal(capsys, *status, "--stored", code=1)
