"""A data set is a reproducible folder of files that common tools can read."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from minicrawl import ext
from minicrawl.cli import main
from minicrawl.report.files.columnar_index import INDEX
from minicrawl.report.files.data_set import read_until
from tests.cli.calls import Captured, printed, refusal
from tests.webs import crawl_web

duckdb = pytest.importorskip("duckdb")

HOME = "https://www.a.example.co.uk"
PAGES = 40


class Web:
    """Home page and the pages that it links to; one of them changes on the second day."""

    day = 1

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        links = "".join(f"<a href=/{number}>Page {number}</a>" for number in range(PAGES))
        match path:
            case "/":
                return httpx.Response(200, html=f"<title>Home</title><h1>All</h1>{links}")
            case "/robots.txt":
                return httpx.Response(200, text="User-agent: *\nContent-Usage: /1 train-ai=n")
            case "/0" if self.day > 1:
                return httpx.Response(200, html="<title>Zero</title><p>Other words than before.")
            case "/39":
                return httpx.Response(301, headers={"location": "/1"})
            case _ if path[1:].isdigit():
                # Random words, so that a page does not compress well.
                words = " ".join(sha256(f"{path}{n}".encode()).hexdigest() for n in range(60))
                return httpx.Response(200, html=f"<title>Page {path}</title><p>{words}")
        return httpx.Response(404)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, web = tmp_path_factory.mktemp("sets") / "crawl.db", Web()
    crawl_web(path, web, [HOME], refresh=0.5)
    first = path.with_name("first")
    assert main(["export", str(first), "--shard", "1GB", "--store", str(path)]) == 0
    web.day = 2
    return crawl_web(path, web, [], refresh=0.5)


def exported(store: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    assert main(["export", str(folder), *arguments, "--store", str(store)]) == 0
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


COLUMNS = ("--with", "html,text,links,headings,usage")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parquet", "jsonl", "csv", "warc.gz"])
def test_files_have_the_requested_size_and_are_in_the_manifest(
    name: str, store: Path, tmp_path: Path
) -> None:
    columns = COLUMNS if name in ("parquet", "jsonl") else ()
    folder = tmp_path / "set"
    found = exported(store, folder, "--format", name, "--shard", "30kB", *columns)
    files = found["files"]
    assert {one["name"] for one in files} | {"README.md", "manifest.json"} == {
        place.name for place in folder.iterdir()
    }
    for one in files:
        content = (folder / one["name"]).read_bytes()
        assert (one["bytes"], one["sha256"]) == (len(content), sha256(content).hexdigest())
    rows = [one for one in files if one["name"].startswith("pages")]
    assert sum(one["rows"] for one in rows) == found["rows"]
    if name == "warc.gz":
        assert len(rows) > 3
        assert max(one["bytes"] for one in rows) < 45_000
    assert found["usage"]["ai-train"]["deny"] == 11  # /1 and /10 to /19
    assert found["usage"]["ai-train"]["unset"] == PAGES + 1 - 11
    assert found["settings"]["delay"] == 0


@pytest.mark.slow
def test_exports_of_a_store_are_identical(store: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("parquet", "jsonl", "warc.gz")):
        sets = []
        for copy in ("a", "b"):
            folder = tmp_path / f"{copy}{number}"
            columns = () if name == "warc.gz" else COLUMNS
            exported(store, folder, "--format", name, "--shard", "30kB", *columns)
            sets.append({place.name: place.read_bytes() for place in folder.iterdir()})
        assert sets[0] == sets[1]
    makes_texts = "main" in ext.entry_points(ext.PARSERS)
    for name in ("pages.wacz", *(("pages.wet.gz",) if makes_texts else ())):
        places = [tmp_path / copy / name for copy in ("c", "d")]
        for place in places:
            place.parent.mkdir(exist_ok=True)
            assert main(["export", str(place), "--store", str(store)]) == 0
        assert places[0].read_bytes() == places[1].read_bytes()


@pytest.mark.slow
def test_a_set_can_be_limited_to_changes_since_an_earlier_set_or_run(
    store: Path, tmp_path: Path
) -> None:
    first = store.with_name("first")
    for number, since in enumerate((str(first), str(first / "manifest.json"), "last")):
        found = exported(store, tmp_path / f"{number}", "--shard", "1GB", "--since", since)
        assert found["rows"] == 1
        (place,) = (tmp_path / f"{number}").glob("*.parquet")
        assert duckdb.sql(f"SELECT url FROM '{place}'").fetchall() == [(f"{HOME}/0",)]
    assert found["since"] is not None
    nothing = exported(store, tmp_path / "none", "--shard", "1GB", "--since", "2100-01-01")
    assert (nothing["rows"], len(nothing["files"])) == (0, 1)


def test_pages_that_deny_a_use_are_omitted_and_counted(store: Path, tmp_path: Path) -> None:
    found = exported(store, tmp_path / "set", "--shard", "1GB", "--for", "ai-train")
    assert (found["denied"], found["rows"]) == (11, PAGES + 1 - 11)
    assert found["usage"]["ai-train"] == {"allow": 0, "deny": 0, "unset": PAGES + 1 - 11}
    card = (tmp_path / "set" / "README.md").read_text()
    assert "11 pages" in card


@pytest.mark.slow
def test_only_force_replaces_a_set_and_other_files_stay(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "set"
    exported(store, folder, "--format", "warc.gz", "--shard", "10kB")
    (folder / "notes.txt").write_text("mine")
    options = ("--shard", "1GB", "--store", store)
    assert "--force" in refusal(capsys, "export", folder, *options)
    printed(capsys, "export", folder, *options, "--force")
    names = {"README.md", "manifest.json", "notes.txt", "pages-00000.parquet"}
    assert {place.name for place in folder.iterdir()} == names
    assert "notes.txt" in refusal(capsys, "export", folder / "notes.txt", *options)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"read_until": "x"}'])
def test_since_refuses_a_folder_that_is_no_data_set(
    text: str, store: Path, tmp_path: Path, capsys: Captured
) -> None:
    if text:
        (tmp_path / "manifest.json").write_text(text)
    export = ("export", tmp_path / "a.csv", "--since", tmp_path, "--store", store)
    assert "manifest.json" in refusal(capsys, *export)


@pytest.fixture(scope="module")
def rows(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows") / "set"
    exported(store, folder, "--shard", "30kB", *COLUMNS)
    return folder


def test_duckdb_reads_it(rows: Path) -> None:
    query = "SELECT usage['ai-train'].answer, links[1].url, headings[1].level FROM '{}/*.parquet'"
    assert ("unset", f"{HOME}/0", 1) in duckdb.sql(query.format(rows)).fetchall()


def test_polars_reads_it(rows: Path) -> None:
    polars = pytest.importorskip("polars")
    table = polars.read_parquet(rows / "pages-*.parquet")
    assert table["links"].list.len().max() == PAGES
    answers = table["usage"].struct.field("ai-train").struct.field("answer")
    assert answers.to_list().count("deny") == 11


@pytest.mark.slow
def test_datasets_of_hugging_face_reads_it(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # read on import
    datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed")
    table = datasets.load_dataset(str(rows), split="train", cache_dir=str(tmp_path))
    assert len(table) == PAGES + 1
    assert table.features["links"]


@pytest.fixture(scope="module")
def archives(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives") / "set"
    exported(store, folder, "--format", "warc.gz", "--shard", "30kB")
    return folder


_FROM = 'FROM "ccindex"."ccindex" WHERE crawl = \'crawl\' AND subset = '
_RECORD = "url, warc_filename, warc_record_offset, warc_record_length"
QUERIES = {
    "records of a domain": f"SELECT {_RECORD} {_FROM} 'warc' "
    "AND url_host_registered_domain = 'example.co.uk' LIMIT 1000",
    "robots.txt": f"SELECT {_RECORD}, fetch_time {_FROM} 'robotstxt' AND url_path = '/robots.txt' "
    "AND url_query IS NULL",
    "redirects": f"SELECT fetch_status, fetch_redirect {_FROM} 'crawldiagnostics' "
    "AND fetch_redirect IS NOT NULL",
}
"""Queries like those that Common Crawl publishes, with the names of its table and columns."""


@pytest.fixture
def ccindex(archives: Path) -> Any:
    with duckdb.connect() as database:
        database.execute("CREATE SCHEMA ccindex")
        source = f"read_parquet('{archives}/index-*.parquet')"
        database.execute(f"CREATE VIEW ccindex.ccindex AS FROM {source}")
        yield database


@pytest.mark.parametrize("name", QUERIES)
def test_queries_for_the_index_of_common_crawl_have_results(name: str, ccindex: Any) -> None:
    assert ccindex.execute(QUERIES[name]).fetchall()


def test_the_index_has_the_columns_and_types_of_common_crawl(ccindex: Any) -> None:
    found = ccindex.execute("DESCRIBE ccindex.ccindex").fetchall()
    assert {row[0]: row[1] for row in found} == dict(INDEX)
    row = ccindex.execute(
        "SELECT url_surtkey, url_host_tld, url_host_2nd_last_part, url_host_registry_suffix, "
        "url_host_registered_domain, url_host_name_reversed, url_protocol, url_port, fetch_status, "
        "content_mime_detected, content_charset, subset FROM ccindex.ccindex WHERE url_path = '/2'"
    ).fetchone()
    assert row == (
        *("uk,co,example,a)/2", "uk", "co", "co.uk", "example.co.uk", "uk.co.example.a.www"),
        *("https", None, 200, "text/html", "UTF-8", "warc"),
    )
    moved = "SELECT fetch_redirect, subset FROM ccindex.ccindex WHERE fetch_status = 301"
    assert set(ccindex.execute(moved).fetchall()) <= {(f"{HOME}/1", "crawldiagnostics")}


def test_offsets_lead_to_the_records(archives: Path, ccindex: Any) -> None:
    warcio = pytest.importorskip("warcio.archiveiterator")
    query = QUERIES["records of a domain"].replace("SELECT", "SELECT warc_record_id,", 1)
    for identity, url, name, offset, length in ccindex.execute(query).fetchall():
        with (archives / name).open("rb") as file:
            file.seek(offset)
            record = next(iter(warcio.ArchiveIterator(file)))
            assert record.rec_headers["WARC-Target-URI"] == url
            assert record.rec_headers["WARC-Record-ID"] == f"<urn:uuid:{UUID(bytes=identity)}>"
            record.content_stream().read()
        assert 0 < length <= (archives / name).stat().st_size - offset


def test_a_set_records_the_time_of_the_last_fetch(store: Path, rows: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        (last,) = connection.execute("SELECT max(at) FROM fetches").fetchone()
    assert read_until(store.with_name("first")) < read_until(rows) == last
