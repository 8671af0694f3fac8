"""Usage preferences of pages are a column of an export and can filter its rows."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from tests.archive.archives import answered
from tests.text.stores import URLS, keep_more, store_of

Captured = pytest.CaptureFixture[str]
PAGE = b"<meta name=robots content=noarchive><p>x"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store whose robots.txt allows search; its page forbids training and archiving."""
    path = store_of(tmp_path, PAGE, {"content-usage": "train-ai=n", "content-type": "text/html"})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE hosts SET robots = 'User-agent: *\nContent-Usage: search=y'")
    return path


def exported(store: Path, capsys: Captured, *arguments: str) -> list[dict[str, object]]:
    command = ("export", "-", "--format", "jsonl", *arguments, "--store", str(store))
    assert main(command) == 0
    return list(map(json.loads, capsys.readouterr().out.splitlines()))


def test_the_column_has_each_answer_and_its_source(store: Path, capsys: Captured) -> None:
    read, unread = exported(store, capsys, "--with", "usage,html")
    search, unset = {"answer": "allow", "where": "robots.txt"}, {"answer": "unset", "where": ""}
    assert read["usage"] == {
        "search": search,
        "ai-input": unset,
        "ai-train": {"answer": "deny", "where": "content-usage"},
        "archive": {"answer": "deny", "where": "meta robots"},
    }
    assert unread["usage"] == {**dict.fromkeys(read["usage"], unset), "search": search}
    assert unread["html"] is None


@pytest.mark.parametrize(
    ("purpose", "urls"),
    [("search", URLS), ("ai-train", URLS[1:]), ("archive", URLS[1:]), ("ai-input", URLS)],
)
def test_pages_that_deny_a_use_are_omitted(
    purpose: str, urls: tuple[str, ...], store: Path, capsys: Captured
) -> None:
    assert [row["url"] for row in exported(store, capsys, "--for", purpose)] == list(urls)


def test_omitted_pages_are_counted(store: Path, tmp_path: Path, capsys: Captured) -> None:
    for name, rows in (("pages.csv", 1), ("pages.warc.gz", 0)):
        command = ["export", str(tmp_path / name), "--for", "ai-train", "--store", str(store)]
        assert main(command) == 0
        summary = capsys.readouterr().err
        assert f"{rows} row" in summary
        assert "1 page denied" in summary
        assert main([*command, "--force", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["denied"] == 1


def test_a_version_that_denied_a_use_is_omitted_and_counted(
    tmp_path: Path, capsys: Captured
) -> None:
    path = store_of(tmp_path, b"<p>old", {"content-usage": "train-ai=n"})
    keep_more(path, {URLS[0]: answered(b"<p>new")})
    for purpose, bodies in (("ai-train", [b"<p>new"]), ("search", [b"<p>old", b"<p>new"])):
        file = tmp_path / f"{purpose}.warc.gz"
        assert main(["export", str(file), "--for", purpose, "--store", str(path)]) == 0
        said = capsys.readouterr().err
        assert ("0 pages denied, 1 earlier version denied" in said) == (purpose == "ai-train")
        content = gzip.decompress(file.read_bytes())
        assert [body for body in (b"<p>old", b"<p>new") if body in content] == bodies


def with_usage_files(store: Path) -> None:
    """Note that the crawl requested the files of usage preferences."""
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE meta SET value = json_set(value, '$.settings.obey-usage', 'search') "
            "WHERE name = 'counters'"
        )


@pytest.mark.parametrize("name", ["-", "pages.csv", "pages.warc.gz", "set"])
@pytest.mark.parametrize("are_requested", [False, True])
def test_no_file_is_named_as_a_source_that_was_not_requested(
    are_requested: bool, name: str, store: Path, tmp_path: Path, capsys: Captured
) -> None:
    if are_requested:
        with_usage_files(store)
    place = name if name == "-" else str(tmp_path / name)
    more = {"-": ["--format", "jsonl"], "set": ["--shard", "1GB"]}.get(name, [])
    assert main(["export", place, *more, "--for", "ai-train", "--store", str(store)]) == 0
    said = "tdmrep.json and RSL files were not requested"
    assert (said in " ".join(capsys.readouterr().err.split())) != are_requested
    if name == "set":
        card = " ".join((tmp_path / name / "README.md").read_text().split())
        assert (said in card) != are_requested
        assert ("in tdmrep.json, RSL and licences" in card) == are_requested
