"""What pages may be used for is a column of an export, and decides which pages it has."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.web.usage import PURPOSES
from tests.text.stores import URLS, store_of

Captured = pytest.CaptureFixture[str]
PAGE = b"<meta name=robots content=noarchive><p>x"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A host whose robots.txt allows search; its page forbids training and copies."""
    path = store_of(tmp_path, PAGE, {"content-usage": "train-ai=n", "content-type": "text/html"})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE hosts SET robots = 'User-agent: *\nContent-Usage: search=y'")
    return path


def exported(store: Path, capsys: Captured, *arguments: str) -> tuple[list[dict[str, object]], str]:
    assert main(["export", "-", "--format", "jsonl", *arguments, "--store", str(store)]) == 0
    told = capsys.readouterr()
    return list(map(json.loads, told.out.splitlines())), told.err


def test_the_column_says_what_is_allowed_and_where_that_was_said(
    store: Path, capsys: Captured
) -> None:
    read, unread = exported(store, capsys, "--with", "usage,html")[0]
    search, unset = {"answer": "allow", "where": "robots.txt"}, {"answer": "unset", "where": ""}
    assert read["usage"] == {
        "search": search,
        "ai-input": unset,
        "ai-train": {"answer": "deny", "where": "content-usage"},
        "archive": {"answer": "deny", "where": "meta robots"},
    }
    assert unread["usage"] == {"search": search} | dict.fromkeys(PURPOSES[1:], unset)
    assert unread["html"] is None


@pytest.mark.parametrize(
    ("purpose", "urls"),
    [("search", URLS), ("ai-train", URLS[1:]), ("archive", URLS[1:]), ("ai-input", URLS)],
)
def test_pages_that_deny_a_use_are_left_out(
    purpose: str, urls: tuple[str, ...], store: Path, capsys: Captured
) -> None:
    rows, _ = exported(store, capsys, "--for", purpose)
    assert [row["url"] for row in rows] == list(urls)


def test_pages_that_are_left_out_are_counted(store: Path, tmp_path: Path, capsys: Captured) -> None:
    for name, rows in (("pages.csv", 1), ("pages.warc.gz", 0)):
        command = ["export", str(tmp_path / name), "--for", "ai-train", "--store", str(store)]
        assert main(command) == 0
        assert f"{rows} row" in (told := capsys.readouterr().err)
        assert "1 page denied" in told
        assert main([*command, "--force", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["denied"] == 1


def test_it_is_for_pages(store: Path, tmp_path: Path, capsys: Captured) -> None:
    for arguments in (["links.csv", "--edges"], ["graph.dot"]):
        command = ["export", str(tmp_path / arguments[0]), *arguments[1:], "--for", "search"]
        assert main([*command, "--store", str(store)]) == 2
        assert "--for" in capsys.readouterr().err
