"""Commands on kept pages: `page`, `archive`, `forget`, and exports with contents."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.pruning import PruneRules
from minicrawl.archive.record import RecordKind, pack
from minicrawl.archive.segments import Segments
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.cli import main
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.record.archiving import ArchiveSinks, open_archive, prune_store
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
from minicrawl.model import KeptAnswer
from minicrawl.report.archived.page_versions import lost_pages
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import Batch, FetchRow
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import answered, confirmed, failed, kept
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.stores import HandCrawl

URL, UNREAD = "http://a.example/", "http://a.example/unread"
DAY = 86_400.0
FIRST = b"<title>One</title><p>Old\tnews</p><p>\x1b[31mred</p>"
SECOND = b"<title>Two</title><p>New news</p>"


@pytest.fixture(autouse=True)
def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store with three versions of a page, of which the last is unchanged, and an unread page."""
    monkeypatch.setenv("MINICRAWL_STORE", str(path))
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([URL, UNREAD])
        crawl.read(URL)
    archived(path, kept(URL, FIRST, DAY), kept(URL, SECOND, 2 * DAY), confirmed(URL, 3 * DAY))
    return path


def archived(store: Path, *answers: KeptAnswer, keep: str = "pages") -> None:
    """Commit answers to the archive of a store."""
    with closing(StoreWriter.open(store)) as opened:
        archive = open_archive(opened, Storing(keep=keep), nobody_listens)
        assert isinstance(archive, ArchiveWriter)
        batch = Batch(answers=[*answers], counters=tables.counters(opened.connection))
        with closing(archive):
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(batch)


def damage_first_record(store: Path) -> None:
    segment = Segments(archive_folder(store)).path(1)
    content = bytearray(segment.read_bytes())
    content[60] ^= 1
    segment.write_bytes(content)


def test_the_last_version_is_shown(capsys: Captured) -> None:
    assert printed(capsys, "page", URL) == f"{SECOND.decode()}\n"
    assert printed(capsys, "page", URL, "--text") == "New news\n"


def test_a_version_without_a_picture_has_a_reason(store: Path, capsys: Captured) -> None:
    def reason(url: str, *chosen: str) -> str:
        return refusal(capsys, "page", url, "--screenshot", "picture.png", *chosen)

    lacking = f"no picture of {URL} is kept: "
    assert f"{lacking}crawl with --screenshots" in reason(URL)
    style = "http://a.example/style.css"
    archived(store, kept(style, b"p {}", DAY))
    with closing(StoreWriter.open(store)) as opened:
        counters = tables.counters(opened.connection) | {tables.SETTINGS: {"screenshots": True}}
        details = (
            "cut: too large; not rendered: too slow; changed",
            "not drawn: too long",
            "changed",
        )
        rows = [
            FetchRow(0, day * DAY, "page", 200, 1, 0.1, detail)
            for day, detail in enumerate(details, 1)
        ]
        opened.commit(Batch(counters=counters, fetches=rows))
    whys = "not rendered: too slow", "not drawn: too long", "it was not rendered"
    for number, why in enumerate(whys, 1):
        assert f"{lacking}{why}\n" in reason(URL, "--version", str(number))
    assert f"no picture of {style} is kept: it is no page" in reason(style)


def test_an_older_version_is_shown_by_its_number_or_its_time(capsys: Captured) -> None:
    for chosen in (("--version", "1"), ("--at", "1970-01-02T12:00"), ("--at", "1970-01-02")):
        assert printed(capsys, "page", URL, "--text", *chosen) == "Old news\n\\x1b[31mred\n"


def test_a_failure_is_shown_if_chosen_or_if_alone(store: Path, capsys: Captured) -> None:
    """A failure has a version number, and is shown of a page without a good version."""
    archived(store, failed(URL, b"away", 4 * DAY, 503), failed(UNREAD, b"no such page", 4 * DAY))
    assert printed(capsys, "page", URL) == f"{SECOND.decode()}\n"
    assert printed(capsys, "page", URL, "--version", "4") == "away\n"
    assert printed(capsys, "page", URL, "--headers").splitlines()[1].endswith("3 of 4")
    assert printed(capsys, "page", UNREAD, "--headers").startswith(f"404 {UNREAD}\n")
    assert printed(capsys, "page", UNREAD) == "no such page\n"


def test_raw_prints_the_kept_bytes(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["page", URL, "--raw", "--version", "1"]) == 0
    assert capfdbinary.readouterr().out == FIRST


def test_headers_name_the_version(capsys: Captured) -> None:
    lines = printed(capsys, "page", URL, "--headers", "--version", "2").splitlines()
    assert lines[:2] == [f"200 {URL}", "fetched 1970-01-03T00:00:00Z, version 2 of 3"]
    assert "server: tests" in lines
    found = as_json(capsys, "page", URL)
    assert (found["status"], found["version"], found["body"]) == (304, 3, SECOND.decode())
    assert found["headers"]["server"] == "tests"  # from the version that the 304 confirms


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--version", "4"), "has 3 versions: there is no version 4"),
        (("--at", "1969-01-01"), "was first read at 1970-01-02"),
        (("--at", "noon"), "is not a time such as"),
    ],
)
def test_a_missing_version_is_refused(
    capsys: Captured, arguments: tuple[str, ...], said: str
) -> None:
    assert said in refusal(capsys, "page", URL, *arguments)


COMMANDS_ON_PAGES = {
    "page": ("page", URL),
    "archive": ("archive",),
    "prune": ("forget", "--keep-versions", "1"),
    "warc": ("export", "new.warc.gz"),
    "wacz": ("export", "new.wacz"),
    "text": ("export", "new.jsonl", "--with", "text"),
}


@pytest.mark.parametrize("name", COMMANDS_ON_PAGES)
def test_a_deleted_archive_makes_no_file(store: Path, capsys: Captured, name: str) -> None:
    folder = archive_folder(store)
    shutil.rmtree(folder)
    line = refusal(capsys, *COMMANDS_ON_PAGES[name])
    assert folder.name in line
    assert not folder.exists()
    assert list(store.parent.glob("new.*")) == []


def test_lost_pages_are_reported_after_a_crawl_was_resumed(store: Path, capsys: Captured) -> None:
    """Every command that reads the archive reports the loss, each time."""
    folder = archive_folder(store)
    shutil.rmtree(folder)
    assert "is gone" in refusal(capsys, "archive")
    assert f"pages: {folder} is gone, " in printed(capsys, "check", code=1)
    archived(store, failed(UNREAD, b"away", 4 * DAY, 503))
    for command in (("check",), ("check",), ("archive", "--verify")):
        assert printed(capsys, *command, code=1).count(f"{folder}: ") == 1
    assert main(["archive"]) == 0
    assert f"{folder}: " in capsys.readouterr().err
    assert f"{folder}: " in refusal(capsys, "page", URL)


def test_a_damaged_record_is_named_with_and_without_a_store(store: Path, capsys: Captured) -> None:
    folder = archive_folder(store)
    assert printed(capsys, "archive", "--verify") == "ok: 3 records\n"
    found = as_json(capsys, "archive")
    assert (found["page records"], found["revisit records"], found["segments"]) == (2, 1, 1)
    damage_first_record(store)
    (wrong,) = as_json(capsys, "check", code=1)["wrong"]
    assert wrong.startswith("pages: segment-000001.pages at byte 0: ")
    assert wrong.endswith(f" damaged: {URL}")
    assert f"version 1 of {URL} " in refusal(capsys, "page", URL, "--version", "1", code=1)
    assert printed(capsys, "page", URL, "--version", "2") == f"{SECOND.decode()}\n"
    store.unlink()
    verify = ("archive", "--verify", folder)
    assert "segment-000001.pages at byte 0: " in printed(capsys, *verify, code=1)
    assert as_json(capsys, *verify, code=1)["ok"] is False


@pytest.mark.parametrize("options", [[], ["--verify"]])
def test_an_archive_that_is_pruned_while_it_is_opened_is_read_as_before(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    def pruned_meanwhile(connection: tables.Connection, folder: Path) -> Iterator[str]:
        prune_store(folder.parent / "crawl.db", PruneRules(versions=1))
        return lost_pages(connection, folder)

    before = as_json(capsys, "archive", *options)
    monkeypatch.setattr("minicrawl.report.archived.page_versions.lost_pages", pruned_meanwhile)
    assert as_json(capsys, "archive", *options) == before | ({} if options else {"segments": 2})


def test_a_web_archive_has_all_versions_of_the_selected_pages(
    tmp_path: Path, capsys: Captured
) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    warc, wacz = tmp_path / "site.warc.gz", tmp_path / "site.wacz"
    printed(capsys, "export", warc)
    with warc.open("rb") as file:
        kinds = [record.rec_type for record in archiveiterator.ArchiveIterator(file)]
    answers = ("response", "response", "revisit")
    assert kinds[1:] == [kind for one in answers for kind in (one, "request", "metadata")]
    printed(capsys, "export", wacz, "--host", "a.example", "--n", "1")
    with ZipFile(wacz) as package:
        assert len(package.read("indexes/index.cdx").splitlines()) == 2  # without the 304
        (_, page) = package.read("pages/pages.jsonl").splitlines()
    assert json.loads(page)["url"] == URL


def test_damaged_records_are_omitted_from_a_web_archive(store: Path, capsys: Captured) -> None:
    damage_first_record(store)
    assert main(["export", "site.wacz"]) == 1
    told = capsys.readouterr().err
    assert f"left out: {URL}: segment-000001.pages at byte 0: " in told
    assert "site.wacz, 2 rows" in told


CONTENTS = "text,html,headings,lang_declared,links"


def test_a_data_set_has_the_last_versions(capsys: Captured) -> None:
    lines = printed(capsys, "export", "-", "--format", "jsonl", "--with", CONTENTS)
    read, unread = map(json.loads, lines.splitlines())
    assert (read["text"], read["html"]) == ("New news", SECOND.decode())
    assert (read["headings"], read["lang_declared"], read["links"]) == ([], "", [])
    assert {unread[name] for name in CONTENTS.split(",")} == {None}
    duckdb = pytest.importorskip("duckdb")
    printed(capsys, "export", "pages.parquet", "--with", "text,lang_declared")
    found = duckdb.sql("SELECT text, lang_declared FROM 'pages.parquet' ORDER BY rank")
    assert found.fetchall() == [("New news", ""), (None, None)]


def test_the_first_heading_is_a_column_of_lists_and_of_exports(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "headed.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([URL, UNREAD])
        crawl.read(URL)
    archived(path, kept(URL, b"<h2>A</h2><h1> B <i>c</i></h1><h1>D</h1>", DAY))
    columns = ("--columns", "url,h1,bytes", "--store", path)
    rows = [{"url": URL, "h1": "B c", "bytes": 40}, {"url": UNREAD, "h1": None, "bytes": None}]
    assert as_json(capsys, "pages", *columns) == rows
    assert printed(capsys, "pages", *columns).splitlines()[1].split() == ["40", URL, "B", "c"]
    lines = printed(capsys, "export", "-", "--format", "jsonl", "--with", "h1", "--store", path)
    assert [json.loads(line)["h1"] for line in lines.splitlines()] == ["B c", None]
    table = ("export", "-", "--format", "csv", "--store", path, "--with")
    read, unread = csv.DictReader(io.StringIO(printed(capsys, *table, "h1,bytes")))
    assert (read["h1"], read["bytes"], unread["h1"]) == ("B c", "40", "")
    assert ".jsonl" in refusal(capsys, *table, "h1,text")


def test_a_store_of_text_alone_has_no_markup(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "text.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([URL])
        crawl.read(URL)
    text = pack(RecordKind.TEXT, URL, answered(b"Old news"), PLAIN, number=0)
    archived(path, KeptAnswer(text, DAY), keep="text")
    export = ("export", "-", "--format", "jsonl", "--with", CONTENTS, "--store", path)
    found = json.loads(printed(capsys, *export))
    assert [found[name] for name in CONTENTS.split(",")] == ["Old news", None, None, None, None]


def pruned(capsys: Captured, *arguments: str) -> tuple[int, int]:
    """Prune, and return the numbers of answers before and of removed ones."""
    found = as_json(capsys, "forget", *arguments)
    return found["answers"], found["removed answers"]


def test_pruning_keeps_the_last_versions_of_each_page(capsys: Captured) -> None:
    assert pruned(capsys, "--keep-versions", "1", "--dry-run") == (3, 2)
    assert pruned(capsys, "--before", "1970-01-03", "--dry-run") == (3, 1)
    assert pruned(capsys, "--best", "2", "--dry-run") == (3, 0)
    assert pruned(capsys, "--keep-versions", "1") == (3, 2)
    assert pruned(capsys, "--keep-versions", "1") == (1, 0)
    assert printed(capsys, "page", URL, "--version", "1") == f"{SECOND.decode()}\n"
    assert printed(capsys, "check").startswith("ok: ")
    assert printed(capsys, "forget", "--best", "9").startswith("answers")


def test_pruning_names_and_removes_damaged_records(store: Path, capsys: Captured) -> None:
    damage_first_record(store)
    forget = ["forget", "--keep-versions", "2"]
    for more in (["--dry-run"], []):
        assert main([*forget, *more]) == 1
        assert "removed as well: segment-000001.pages" in capsys.readouterr().err
    assert main(forget) == 0


def test_pruning_every_answer_is_refused(store: Path, capsys: Captured) -> None:
    for more in (("--dry-run",), ()):
        line = refusal(capsys, "forget", "--before", "2100-01-01", *more)
        assert f"would remove all 3 answers: delete {archive_folder(store)}" in line
    assert pruned(capsys, "--keep-versions", "9") == (3, 0)


@pytest.mark.parametrize("options", [[], ["--verify"]])
def test_a_folder_without_records_is_refused(
    store: Path, capsys: Captured, options: list[str]
) -> None:
    printed(capsys, "archive", *options, archive_folder(store))
    Segments(archive_folder(store)).path(1).unlink()
    for folder in (store.parent, archive_folder(store)):
        assert f"{folder} is not an archive" in refusal(capsys, "archive", *options, folder)


def test_versions_have_times_and_sizes_unless_they_are_damaged(
    store: Path, capsys: Captured
) -> None:
    rows = as_json(capsys, "page", URL, "--versions")
    assert [(row["version"], row["same_as"]) for row in rows] == [(1, 0), (2, 0), (3, 2)]
    assert [row["bytes"] for row in rows] == [len(FIRST), len(SECOND), len(SECOND)]
    assert rows[0]["fetched"] == "1970-01-02T00:00:00Z"
    heading, *lines = printed(capsys, "page", URL, "--versions").splitlines()
    assert heading.split() == ["version", "fetched", "status", "bytes", "same_as"]
    assert lines[2].split()[-1] == "2"
    damage_first_record(store)
    first, *_ = as_json(capsys, "page", URL, "--versions")
    assert (first["status"], first["bytes"]) == (None, None)
