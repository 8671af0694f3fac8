"""`minicrawl page` and `minicrawl archive`: what was fetched, as it was fetched."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

from minicrawl.archive.record import PLAIN, RecordKind, pack
from minicrawl.archive.segments import Segments
from minicrawl.archive.writer import ArchiveWriter, PruneRules
from minicrawl.cli import main
from minicrawl.cli import store_commands as commands
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.settle.keeping import ArchiveSinks, StoreWithArchive, open_archive, prune_store
from minicrawl.model import KeptAnswer
from minicrawl.report.audit import audit
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import answered, failed, kept
from tests.stores import HandCrawl

Captured = pytest.CaptureFixture[str]
URL = "http://a.example/"
DAY = 86_400.0
FIRST = b"<title>One</title><p>Old\tnews</p><p>\x1b[31mred</p>"
SECOND = b"<title>Two</title><p>New news</p>"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A page that was read three times; the third time it was as before."""
    path = tmp_path / "crawl.db"
    crawl = HandCrawl(path)
    crawl.seeds([URL, "http://a.example/unread"])
    crawl.read(URL)
    crawl.commit()
    crawl.store.close()
    answers = [kept(URL, FIRST, DAY), kept(URL, SECOND, 2 * DAY), KeptAnswer(b"", 3 * DAY, URL)]
    with closing(StoreWriter.open(path)) as opened:
        archive = open_archive(opened, Storing(keep="pages"), nobody_listens)
        assert isinstance(archive, ArchiveWriter)
        with closing(archive):
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(Batch(answers=answers))
    return path


def shown(store: Path, capsys: Captured, *arguments: str) -> str:
    assert main([*arguments, "--store", str(store)]) == 0, capsys.readouterr()
    return capsys.readouterr().out


def refused(store: Path, capsys: Captured, *arguments: str) -> str:
    assert main([*arguments, "--store", str(store)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_the_last_version_is_shown(store: Path, capsys: Captured) -> None:
    assert shown(store, capsys, "page", URL) == f"{SECOND.decode()}\n"
    assert shown(store, capsys, "page", URL, "--text") == "New news\n"


def test_an_older_version_is_shown_by_its_number_or_its_time(store: Path, capsys: Captured) -> None:
    for chosen in (("--version", "1"), ("--at", "1970-01-02T12:00"), ("--at", "1970-01-02")):
        assert shown(store, capsys, "page", URL, "--text", *chosen) == "Old news\n\\x1b[31mred\n"


def test_a_page_that_failed_later_is_shown_as_it_was(store: Path, capsys: Captured) -> None:
    """What came in its place has a number, and is shown where there is no page."""
    gone = "http://a.example/unread"
    answers = [failed(URL, b"away", 4 * DAY, 503), failed(gone, b"no such page", 4 * DAY)]
    with closing(StoreWriter.open(store)) as opened:
        archive = open_archive(opened, Storing(keep="pages"), nobody_listens)
        assert isinstance(archive, ArchiveWriter)
        with closing(archive):
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(Batch(answers=answers))
    assert shown(store, capsys, "page", URL) == f"{SECOND.decode()}\n"
    assert shown(store, capsys, "page", URL, "--version", "4") == "away\n"
    assert shown(store, capsys, "page", URL, "--headers").splitlines()[1].endswith("3 of 4")
    assert shown(store, capsys, "page", gone, "--headers").startswith(f"404 {gone}\n")
    assert shown(store, capsys, "page", gone) == "no such page\n"


def test_raw_are_the_bytes_that_were_kept(
    store: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["page", URL, "--raw", "--version", "1", "--store", str(store)]) == 0
    assert capfdbinary.readouterr().out == FIRST


def test_headers_tell_the_version(store: Path, capsys: Captured) -> None:
    lines = shown(store, capsys, "page", URL, "--headers", "--version", "2").splitlines()
    assert lines[:2] == [f"200 {URL}", "fetched 1970-01-03T00:00:00Z, version 2 of 3"]
    assert "server: tests" in lines
    found = json.loads(shown(store, capsys, "page", URL, "--json"))
    assert (found["status"], found["version"], found["body"]) == (304, 3, SECOND.decode())
    assert found["headers"]["server"] == "tests"  # of the answer that it confirms


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--version", "4"), "has 3 versions: there is no version 4"),
        (("--at", "1969-01-01"), "was first read at 1970-01-02"),
        (("--at", "noon"), "is not a time such as"),
    ],
)
def test_a_version_that_is_not_there_is_refused(
    store: Path, capsys: Captured, arguments: tuple[str, ...], said: str
) -> None:
    assert said in refused(store, capsys, "page", URL, *arguments)


def test_a_page_that_was_not_read_says_so(store: Path, capsys: Captured) -> None:
    assert "/unread is kept" in refused(store, capsys, "page", "http://a.example/unread")


COMMANDS_ON_PAGES = {
    "page": ("page", URL),
    "archive": ("archive",),
    "prune": ("forget", "--keep-versions", "1"),
    "warc": ("export", "new.warc.gz"),
    "wacz": ("export", "new.wacz"),
    "text": ("export", "new.jsonl", "--with", "text"),
}


@pytest.mark.parametrize("name", COMMANDS_ON_PAGES)
def test_an_archive_that_was_deleted_is_one_line_and_makes_no_file(
    store: Path, capsys: Captured, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    folder = archive_folder(store)
    shutil.rmtree(folder)
    line = refused(store, capsys, *COMMANDS_ON_PAGES[name])
    assert folder.name in line
    assert not folder.exists()
    assert list(store.parent.glob("new.*")) == []


def test_check_names_an_archive_that_was_deleted(store: Path, capsys: Captured) -> None:
    shutil.rmtree(archive_folder(store))
    assert main(["check", "--store", str(store)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if "is gone" in line] == [
        f"pages: {archive_folder(store)} is gone, with all pages that were kept"
    ]


def test_pages_that_were_lost_are_told_after_a_crawl_went_on_as_well(
    store: Path, capsys: Captured
) -> None:
    """Each time, and by all that read the archive."""
    folder = archive_folder(store)
    shutil.rmtree(folder)
    assert "is gone" in refused(store, capsys, "archive")
    with closing(StoreWriter.open(store)) as opened:
        archive = open_archive(opened, Storing(keep="pages"), nobody_listens)
        assert isinstance(archive, ArchiveWriter)
        with closing(archive):
            other = failed("http://a.example/unread", b"away", 4 * DAY, 503)
            counters = tables.counters(opened.connection)
            batch = Batch(answers=[other], counters=counters)
            StoreWithArchive(opened, ArchiveSinks(archive)).commit(batch)
    for command in (("check",), ("check",), ("archive", "--verify")):
        assert main([*command, "--store", str(store)]) == 1
        told = capsys.readouterr().out.splitlines()
        assert len([line for line in told if f"{folder}: " in line]) == 1
    assert main(["archive", "--store", str(store)]) == 0
    assert f"{folder}: " in capsys.readouterr().err
    assert f"{folder}: " in refused(store, capsys, "page", URL)


def test_a_store_without_pages_says_so(tmp_path: Path, capsys: Captured) -> None:
    crawl = HandCrawl(tmp_path / "other.db")
    crawl.seeds([URL])
    crawl.commit()
    crawl.store.close()
    line = refused(crawl.path, capsys, "page", URL)
    assert "--keep pages" in line
    assert "no pages are kept" in refused(crawl.path, capsys, "archive")


def test_an_archive_tells_how_much_it_has(store: Path, capsys: Captured) -> None:
    found = json.loads(shown(store, capsys, "archive", "--json"))
    assert (found["page records"], found["revisit records"], found["segments"]) == (2, 1, 1)
    assert "page records" in shown(store, capsys, "archive")


def test_a_damaged_record_is_named_with_and_without_the_store(
    store: Path, capsys: Captured
) -> None:
    folder = archive_folder(store)
    assert shown(store, capsys, "archive", "--verify") == "ok: 3 records\n"
    segment = Segments(folder).path(1)
    content = bytearray(segment.read_bytes())
    content[60] ^= 1
    segment.write_bytes(content)
    (wrong,) = audit(store).wrong
    assert wrong.startswith("pages: segment-000001.pages at byte 0: ")
    assert wrong.endswith(f" damaged: {URL}")
    assert main(["page", URL, "--version", "1", "--store", str(store)]) == 1
    assert f"version 1 of {URL} is damaged" in capsys.readouterr().err
    assert shown(store, capsys, "page", URL, "--version", "2") == f"{SECOND.decode()}\n"
    store.unlink()
    assert main(["archive", "--verify", str(folder)]) == 1
    assert "segment-000001.pages at byte 0: " in capsys.readouterr().out
    assert main(["archive", "--verify", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


@pytest.mark.parametrize("options", [[], ["--verify"]])
def test_an_archive_that_is_pruned_while_it_is_opened_is_as_it_was(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    end_of = commands._end

    def end(path: Path, folder: Path | None) -> int | None:
        found = end_of(path, folder)
        prune_store(path, PruneRules(versions=1))
        return found

    before = shown(store, capsys, "archive", *options, "--json")
    monkeypatch.setattr(commands, "_end", end)
    found = json.loads(shown(store, capsys, "archive", *options, "--json"))
    assert found == json.loads(before) | ({} if options else {"segments": 2})


def test_a_web_archive_has_all_versions_of_the_selected_pages(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    warc, wacz = tmp_path / "site.warc.gz", tmp_path / "site.wacz"
    shown(store, capsys, "export", str(warc))
    with warc.open("rb") as file:
        kinds = [record.rec_type for record in archiveiterator.ArchiveIterator(file)]
    answers = ("response", "response", "revisit")
    assert kinds[1:] == [kind for one in answers for kind in (one, "request", "metadata")]
    shown(store, capsys, "export", str(wacz), "--host", "a.example", "--n", "1")
    with ZipFile(wacz) as package:
        assert len(package.read("indexes/index.cdx").splitlines()) == 3
        (_, page) = package.read("pages/pages.jsonl").splitlines()
    assert json.loads(page)["url"] == URL


def test_what_is_damaged_is_left_out_of_a_web_archive(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    segment = Segments(archive_folder(store)).path(1)
    content = bytearray(segment.read_bytes())
    content[60] ^= 1
    segment.write_bytes(content)
    assert main(["export", str(tmp_path / "site.wacz"), "--store", str(store)]) == 1
    told = capsys.readouterr().err
    assert f"left out: {URL}: segment-000001.pages at byte 0: " in told
    assert "site.wacz, 2 rows" in told


def test_links_and_scores_are_not_for_web_archives(store: Path, capsys: Captured) -> None:
    for flags in (("--edges",), ("--ranks", "pagerank"), ("--level", "host")):
        line = refused(store, capsys, "export", "site.wacz", *flags)
        assert "leave out --ranks, --edges and --level" in line


CONTENTS = "text,html,headings,lang_declared,links"


def test_a_data_set_has_what_was_fetched_last(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    lines = shown(store, capsys, "export", "-", "--format", "jsonl", "--with", CONTENTS)
    read, unread = map(json.loads, lines.splitlines())
    assert (read["text"], read["html"]) == ("New news", SECOND.decode())
    assert (read["headings"], read["lang_declared"], read["links"]) == ([], "", [])
    assert {unread[name] for name in CONTENTS.split(",")} == {None}
    duckdb = pytest.importorskip("duckdb")
    place = tmp_path / "pages.parquet"
    shown(store, capsys, "export", str(place), "--with", "text,lang_declared")
    found = duckdb.sql(f"SELECT text, lang_declared FROM '{place}' ORDER BY rank").fetchall()
    assert found == [("New news", ""), (None, None)]


def test_of_text_that_was_kept_no_markup_is_made_up(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "text.db"
    crawl = HandCrawl(path)
    crawl.seeds([URL])
    crawl.read(URL)
    crawl.commit()
    crawl.store.close()
    with closing(StoreWriter.open(path)) as opened:
        archive = open_archive(opened, Storing(keep="text"), nobody_listens)
        assert archive is not None
        with closing(archive):
            text = pack(RecordKind.TEXT, URL, answered(b"Old news"), PLAIN, number=0)
            both = StoreWithArchive(opened, ArchiveSinks(archive))
            both.commit(Batch(answers=[KeptAnswer(text, DAY)]))
    line = shown(path, capsys, "export", "-", "--format", "jsonl", "--with", CONTENTS)
    found = json.loads(line)
    assert [found[name] for name in CONTENTS.split(",")] == ["Old news", None, None, None, None]


def test_a_data_set_may_be_of_some_pages_and_names_columns_that_are_there_anyway(
    store: Path, capsys: Captured
) -> None:
    chosen = ("--with", "title,text", "--fetched", "--host", "a.example", "--n", "1")
    lines = shown(store, capsys, "export", "-", "--format", "jsonl", *chosen)
    (read,) = map(json.loads, lines.splitlines())
    assert (read["url"], read["text"]) == (URL, "New news")
    assert list(read).count("title") == 1


@pytest.mark.parametrize(
    "arguments",
    [("pages.csv", "--with", "text"), ("a.jsonl", "--with", "smell"), ("a.wacz", "--with", "text")],
)
def test_contents_are_for_exact_formats(
    store: Path, capsys: Captured, arguments: tuple[str, ...]
) -> None:
    assert "--with" in refused(store, capsys, "export", *arguments)


# ---------------------------------------------------------------- pruning


def pruned(store: Path, capsys: Captured, *arguments: str) -> tuple[int, int]:
    """How many answers there were, and how many went."""
    found = json.loads(shown(store, capsys, "forget", *arguments, "--json"))
    return found["answers"], found["removed answers"]


def test_pruning_keeps_the_last_answers_of_each_page(store: Path, capsys: Captured) -> None:
    assert pruned(store, capsys, "--keep-versions", "1", "--dry-run") == (3, 2)
    assert pruned(store, capsys, "--before", "1970-01-03", "--dry-run") == (3, 1)
    assert pruned(store, capsys, "--best", "2", "--dry-run") == (3, 0)
    assert pruned(store, capsys, "--keep-versions", "1") == (3, 2)
    assert pruned(store, capsys, "--keep-versions", "1") == (1, 0)
    assert shown(store, capsys, "page", URL, "--version", "1") == f"{SECOND.decode()}\n"
    assert audit(store).is_intact
    assert shown(store, capsys, "forget", "--best", "9").startswith("answers")


def test_pruning_needs_a_rule(store: Path, capsys: Captured) -> None:
    assert "must say what to remove" in refused(store, capsys, "forget")


def test_pruning_names_what_is_damaged_and_cannot_be_copied(store: Path, capsys: Captured) -> None:
    segment = Segments(archive_folder(store)).path(1)
    content = bytearray(segment.read_bytes())
    content[60] ^= 1
    segment.write_bytes(content)
    arguments = ("forget", "--keep-versions", "2", "--store", str(store))
    for more in (("--dry-run",), ()):
        assert main([*arguments, *more]) == 1
        told = capsys.readouterr().err
        assert "minicrawl: damaged, so removed as well: segment-000001.pages" in told
    assert main(list(arguments)) == 0


def test_pruning_all_is_refused_before_anything_goes(store: Path, capsys: Captured) -> None:
    for more in (("--dry-run",), ()):
        line = refused(store, capsys, "forget", "--before", "2100-01-01", *more)
        assert f"would remove all 3 answers: delete {archive_folder(store)}" in line
    assert pruned(store, capsys, "--keep-versions", "9") == (3, 0)


@pytest.mark.parametrize("options", [[], ["--verify"]])
def test_a_folder_that_is_no_archive_is_refused(
    store: Path, capsys: Captured, options: list[str]
) -> None:
    assert main(["archive", *options, str(archive_folder(store))]) == 0
    capsys.readouterr()
    Segments(archive_folder(store)).path(1).unlink()
    for folder in (store.parent, archive_folder(store)):
        assert main(["archive", *options, str(folder)]) == 2
        assert "is not an archive" in capsys.readouterr().err


def test_the_versions_of_a_page_are_listed(store: Path, capsys: Captured) -> None:
    rows = json.loads(shown(store, capsys, "page", URL, "--versions", "--json"))
    assert [(row["version"], row["same_as"]) for row in rows] == [(1, 0), (2, 0), (3, 2)]
    assert [row["bytes"] for row in rows] == [len(FIRST), len(SECOND), len(SECOND)]
    assert rows[0]["fetched"] == "1970-01-02T00:00:00Z"
    heading, *lines = shown(store, capsys, "page", URL, "--versions").splitlines()
    assert heading.split() == ["version", "fetched", "status", "bytes", "same_as"]
    assert lines[2].split()[-1] == "2"


def test_a_damaged_version_is_listed_with_its_time(store: Path, capsys: Captured) -> None:
    segment = Segments(archive_folder(store)).path(1)
    content = bytearray(segment.read_bytes())
    content[60] ^= 1
    segment.write_bytes(content)
    first, *_ = json.loads(shown(store, capsys, "page", URL, "--versions", "--json"))
    assert (first["status"], first["bytes"]) == (None, None)


def test_a_list_of_versions_takes_no_other_option(store: Path, capsys: Captured) -> None:
    assert "leave out" in refused(store, capsys, "page", URL, "--versions", "--text")
    assert "choose one" in refused(store, capsys, "page", URL, "--raw", "--text")
    assert "unread is kept" in refused(store, capsys, "page", f"{URL}unread", "--versions")
