"""A take-down removes all texts of a page, keeps the books, and can be resumed after a kill."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl.archive.packing import pack_any
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.cli import main
from minicrawl.crawl.record import archiving
from minicrawl.crawl.record.archiving import forget
from minicrawl.errors import UsageError
from minicrawl.model import KeptAnswer, Response
from minicrawl.report.integrity.audit import audit
from minicrawl.store.reader import archive_folder, search_folder
from minicrawl.web.takedowns import what_of
from minicrawl.web.urls import posted
from tests.checking.test_requisites import kept
from tests.cli.test_page import archived
from tests.taken_down import places_of, requested

HOST = "http://a.example"
SECRET = "xylophone"
MANY, FEW = 450, 20  # other pages; many are enough for a dictionary
GONE = [f"{HOST}/private/{number}" for number in range(30)]


def answer(request: httpx.Request, count: int) -> httpx.Response:
    path = request.url.path
    if path == "/":
        links = "".join(f"<a href=/{number}>{number}</a>" for number in range(count))
        hidden = "".join(f"<a href={url}>more</a>" for url in GONE)
        return httpx.Response(200, html=f"<title>Home</title>{links}{hidden}<a href=/same>s</a>")
    if path in ("/same", "/private/0"):
        return httpx.Response(200, html="<title>Equal</title>the same body of two pages")
    if path.startswith("/private/"):
        html = f"<title>{SECRET}</title><a href=/>{SECRET}</a>{SECRET} {path} " + SECRET * 50
        return httpx.Response(200, html=html, headers={"etag": SECRET})
    usual = "words that are on every page of this site " * 5
    return httpx.Response(200, html=f"<title>{path}</title>{usual} {path}")


def crawled(path: Path, *seeds: str, count: int = FEW, **more: Any) -> set[str]:
    return requested(path, lambda request: answer(request, count), seeds, **more)


def texts_in(path: Path) -> list[str]:
    return places_of(path, SECRET)


def new_store(folders: pytest.TempPathFactory, count: int) -> Path:
    folder = folders.mktemp("original")
    crawled(folder / "crawl.db", HOST, count=count, keep="pages")
    assert texts_in(folder / "crawl.db")
    return folder


@pytest.fixture(scope="module")
def large_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory, MANY)


@pytest.fixture(scope="module")
def small_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory, FEW)


@pytest.fixture
def large(large_original: Path, tmp_path: Path) -> Path:
    """Store of many pages, whose archive has a dictionary."""
    return shutil.copytree(large_original, tmp_path / "copy") / "crawl.db"


@pytest.fixture
def path(small_original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(small_original, tmp_path / "copy") / "crawl.db"


def is_sound(path: Path) -> bool:
    with closing(ArchiveReader(archive_folder(path))) as archive:
        return not list(verify(archive)) and not list(audit(path).wrong)


@pytest.mark.slow
def test_a_take_down_removes_all_texts_of_its_pages_and_nothing_else(large: Path) -> None:
    path, before = large, kept(large)
    search_folder(path).mkdir()
    (search_folder(path) / "segment").write_text(SECRET)
    done = forget(path, f"{HOST}/private/*", 1.0)
    assert (done.answers, done.pages, done.is_complete) == (30, 30, True)
    assert texts_in(path) == []
    assert is_sound(path)
    after = kept(path)
    assert after.keys() == before.keys() - set(GONE)
    assert {url: one.body for url, one in after.items()} == {url: before[url].body for url in after}
    assert after[f"{HOST}/same"].body == before[GONE[0]].body  # two pages had the same body
    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE name = 'counters'").fetchone()
    (note,) = json.loads(text)["forgotten"]
    what = what_of(f"{HOST}/private/*")
    assert note == {"what": what, "answers": 30, "at": 1.0, "complete": True}


def test_pages_that_were_taken_down_are_not_requested_again(path: Path) -> None:
    forget(path, f"{HOST}/private/*", 1.0)
    asked = crawled(path, refresh=0.5)
    assert asked
    assert not asked & set(GONE)
    assert texts_in(path) == []
    assert is_sound(path)


class KilledError(Exception):
    """Stands for a kill of the process."""


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (ArchiveWriter, "prune"),
        (ArchiveWriter, "confirm"),
        (ArchiveWriter, "remove_spares"),
        (archiving, "rmtree"),
    ],
)
def test_after_a_kill_nothing_or_everything_is_removed_and_the_next_call_completes_it(
    large: Path, where: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = large, getattr(where, name)

    def killed(*given: object, **named: object) -> None:
        done(*given, **named)
        raise KilledError

    search_folder(path).mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(where, name, killed)
        with pytest.raises(KilledError):
            forget(path, f"{HOST}/private/*", 1.0)
    assert main(["archive", "--verify", "--store", str(path)]) == 0
    assert len(kept(path).keys() & set(GONE)) in (0, len(GONE))
    assert forget(path, f"{HOST}/private/*", 2.0).is_complete
    assert texts_in(path) == []
    assert is_sound(path)


def test_the_command_forget_removes_a_page(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", GONE[1], "--store", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == 1
    assert kept(path).keys() & set(GONE) == set(GONE) - {GONE[1]}
    assert main(["forget", "no url", "--store", str(path)]) == 2
    with pytest.raises(UsageError, match="no url"):
        forget(path, "no url", 1.0)


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--keep-versions", "1"]])
def test_the_command_forget_creates_no_store(
    tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (empty := tmp_path / "empty.db").touch()
    for path in (empty, tmp_path / "missing.db"):
        assert main(["forget", GONE[1], *options, "--store", str(path)]) == 2
        assert f"no store at {path}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [empty]
    assert empty.stat().st_size == 0


def test_a_dry_run_of_a_take_down_changes_nothing(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kept(path)
    for what, count in ((f"{HOST}/private/*", len(GONE)), (f"{HOST}/*/1", 0)):
        assert main(["forget", what, "--dry-run", "--store", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["answers"], found["pages"], found["is_complete"]) == (count, count, False)
    assert kept(path) == before
    assert GONE[0] in crawled(path, refresh=1.0, pages=10_000)


def test_posts_to_a_url_are_taken_down_with_it(path: Path) -> None:
    record = pack_any(posted(GONE[1], b"name"), Response(200, {}, SECRET.encode()))
    assert record is not None
    archived(path, KeptAnswer(record, 1.0))
    assert forget(path, GONE[1], 2.0).answers == 2


def test_take_downs_are_listed_with_their_time(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(path)]
    for number in range(6):
        forget(path, GONE[number], float(number))
    assert main(["status", *store]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    told = [line[2:] for line in lines if line[:2] == ["taken", "down"]]
    assert [line[0] for line in told] == list(map(what_of, GONE[1:6]))
    assert told[-1][1:] == ["at", "1970-01-01T00:00:05Z,", "1", "answer"]
    assert ["and", "1", "earlier,", "which", "--json", "lists"] in lines
    assert main(["status", *store, "--json"]) == 0
    assert [one["what"] for one in json.loads(capsys.readouterr().out)["taken_down"]] == list(
        map(what_of, GONE[:6])
    )
    assert main(["page", GONE[0], *store]) == 2
    assert (
        "is kept: it was taken down: `minicrawl status` lists take-downs" in capsys.readouterr().err
    )


def test_the_command_forget_prunes_by_type(path: Path) -> None:
    prune = ["forget", "--store", str(path)]
    assert main([*prune, "--type", "image/*"]) == 0
    assert len(kept(path)) == FEW + 2 + len(GONE)
    assert main(prune) == 2
    assert main([*prune, "--type", "text/*"]) == 2  # would remove everything


def test_the_command_forget_prunes_by_url(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, prune = kept(path).keys(), ["forget", "--store", str(path)]
    assert main([*prune, f"{HOST}/private/2*", "--type", "image/*"]) == 0
    assert main([*prune, f"{HOST}/none", "--type", "text/*"]) == 0
    assert f"no response of {HOST}/none is kept" in capsys.readouterr().err
    assert kept(path).keys() == before
    assert main([*prune, f"{HOST}/private/2*", "--before", "2100-01-01"]) == 0
    gone = before - kept(path).keys()
    assert gone == {url for url in GONE if url.startswith(f"{HOST}/private/2")}
    assert is_sound(path)
    assert gone <= crawled(path, refresh=1.0, pages=10_000)  # no take-down


def test_a_whole_site_can_be_taken_down(path: Path) -> None:
    assert forget(path, f"{HOST}/*", 1.0).is_complete
    assert kept(path) == {}
    assert is_sound(path)
    assert crawled(path, "http://b.example", refresh=1.0, pages=10_000)
    assert kept(path)
    assert is_sound(path)


def test_urls_that_an_earlier_version_took_down_are_concealed_by_the_next_crawl(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE name = 'counters'").fetchone()
        note = {"what": f"{HOST}/private/*", "answers": 30, "at": 1.0, "complete": True}
        counters = json.dumps(json.loads(text) | {"forgotten": [note], "command": f"a {GONE[0]} b"})
        connection.execute("UPDATE meta SET value = ? WHERE name = 'counters'", (counters,))
    assert not crawled(path, refresh=0.5) & set(GONE)
    assert b"/private" not in path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM urls").fetchone()
        paths = [path for (path,) in connection.execute("SELECT path FROM urls")]
    assert (count, sum("#taken-down-" in path for path in paths)) == (FEW + 2 + len(GONE), 30)
    assert is_sound(path)
