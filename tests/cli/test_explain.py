"""`minicrawl backlinks` and `minicrawl links`: what they print."""

import json
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cli import main
from tests.stores import DEEP, MOVED, A, B, filled_store

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MINICRAWL_CONFIG", raising=False)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    return filled_store(tmp_path / "crawl.db")


def printed(capsys: Captured, *arguments: str) -> str:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def document(capsys: Captured, *arguments: str) -> Any:
    return json.loads(printed(capsys, *arguments, "--json"))


def test_people_see_how_many_there_are_and_the_best(capsys: Captured) -> None:
    lines = printed(capsys, "backlinks", MOVED, "--n", "1").splitlines()
    assert lines[:3] == [f"url         {MOVED}", f"stands for  {A}", "pages       2"]
    assert lines[4].split() == ["importance", "state", "url"]
    assert lines[5].split()[2:] == ["fetched", B]
    assert len(lines) == 6


def test_without_any_there_is_no_list(capsys: Captured) -> None:
    assert printed(capsys, "links", DEEP) == f"url    {DEEP}\npages  0\n"


def test_programs_get_all_of_it(capsys: Captured) -> None:
    found = document(capsys, "links", A)
    pages = found.pop("pages")
    assert found == {"url": A, "stands_for": None, "count": 2}
    assert {page["url"] for page in pages} == {B, DEEP}
    assert set(pages[0]) == {"url", "importance", "state"}


def test_raw_backlinks_name_the_redirect_to_which_they_link(capsys: Captured) -> None:
    columns, *rows = printed(capsys, "backlinks", A, "--raw", "-n", "0").splitlines()
    assert columns.split() == ["state", "source", "target"]
    assert [A, MOVED] in [row.split()[1:] for row in rows]


@pytest.mark.parametrize("command", ["backlinks", "links"])
def test_an_unknown_url_is_one_line_and_exit_2(capsys: Captured, command: str) -> None:
    assert main([command, "http://a.example/none"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("minicrawl: http://a.example/none is not in the store; similar pages: ")
    assert err.count("\n") == 1
