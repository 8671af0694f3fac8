"""A crawl refers to the bodies of an earlier archive, in its WARC files and in exported ones."""

import io
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

from minicrawl import Crawl, Noted, Settings
from minicrawl.archive.warc.capture import payload_digest
from minicrawl.cli import main
from minicrawl.crawl.record.archiving import forget
from minicrawl.crawl.record.store_with_archive import StoreWithArchive, open_keeping
from minicrawl.errors import StoreError, UsageError
from minicrawl.store.reader import EARLIER, file_beside
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import NOON, body, confirmed, kept, url
from tests.cli.calls import Captured, as_json

archiveiterator = pytest.importorskip("warcio.archiveiterator")

HOST = "http://a.example"
EARLY, EARLY_DATE = "20200101000000", "2020-01-01T00:00:00Z"
FILE = bytes(range(256)) * 9000
PAGES = {
    "/": "".join(f"<a href={name}>x</a>" for name in ("same", "new", "copy", "old.zip", "gone")),
    "/same": "<p>as ever",
    "/copy": "<p>as ever",
    "/new": "<p>before",
}


def web(changed: dict[str, str]) -> httpx.MockTransport:
    pages = PAGES | changed

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/old.zip":
            return httpx.Response(200, content=FILE, headers={"content-type": "application/zip"})
        if path in pages:
            return httpx.Response(200, html=pages[path])
        return httpx.Response(404, html=f"<p>no {path}")

    return httpx.MockTransport(answer)


def crawled(path: Path, changed: dict[str, str], **chosen: Any) -> list[str]:
    usual: dict[str, Any] = {"types": "html,files", "scope": "host", "delay": 0, "address_delay": 0}
    usual["warc"] = path.with_suffix("")
    settings = Settings.of(**{**usual, **chosen, "store": path})
    crawl, told = Crawl([HOST], settings, transport=web(changed)), list[str]()
    crawl.subscribe(lambda event: told.append(event.text) if isinstance(event, Noted) else None)
    crawl.run()
    return told


def records(content: bytes) -> dict[str, tuple[str, str | None, str | None, bytes]]:
    """Return kind, original URL and date, and body of each response, by path."""
    found = {}
    for record in archiveiterator.ArchiveIterator(io.BytesIO(content), check_digests="raise"):
        content = record.content_stream().read()
        head = record.rec_headers
        if record.rec_type in ("response", "revisit"):
            names = ("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date")
            path = head.get_header("WARC-Target-URI").removeprefix(HOST)
            found[path] = (record.rec_type, *map(head.get_header, names), content)
            if record.rec_type == "revisit":
                profile = head.get_header("WARC-Profile")
                assert profile.endswith("/revisit/identical-payload-digest")
                assert record.http_headers.get_statuscode() in ("200", "404")
    return found


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index of a crawl, with dates of some years ago."""
    path = tmp_path_factory.mktemp("earlier") / "first.db"
    crawled(path, {})
    (index,) = path.with_suffix("").glob("*.cdxj")
    index.write_text(re.sub(r"(?m)^(\S+) \d{14}", rf"\1 {EARLY}", index.read_text()))
    return index


@pytest.fixture(scope="module")
def second(earlier: Path) -> Path:
    path = earlier.parents[1] / "second.db"
    (told, *_) = crawled(path, {"/new": "<p>after"}, dedupe_with=earlier)
    assert str(earlier) in told
    return path


def test_only_bodies_of_the_earlier_archive_are_revisits(second: Path, tmp_path: Path) -> None:
    (live,) = second.with_suffix("").glob("*.warc.gz")
    exported = tmp_path / "site.warc.gz"
    packed = tmp_path / "site.wacz"
    for file in (exported, packed):
        assert main(["export", str(file), "--store", str(second)]) == 0
    with ZipFile(packed) as package:
        inner = package.read("archive/data.warc.gz")
        lines = package.read("indexes/index.cdx").decode().splitlines()
    contents = {live.name: live.read_bytes(), exported.name: exported.read_bytes(), "wacz": inner}
    for name, content in contents.items():
        found = records(content)
        for path in ("/", "/same", "/old.zip", "/gone"):
            assert found[path] == ("revisit", f"{HOST}{path}", EARLY_DATE, b""), (name, path)
        assert found["/new"] == ("response", None, None, b"<p>after")
        # Of these two equal pages, the earlier crawl wrote one as a revisit of the other.
        assert found["/copy"][0] == "revisit"
        assert found["/copy"][1] in (f"{HOST}/copy", f"{HOST}/same")
    told = [json.loads(line.split(" ", 2)[2]) for line in lines]
    mimes = {line["url"]: line["mime"] for line in told}
    assert mimes[f"{HOST}/same"] == "warc/revisit"
    assert mimes[f"{HOST}/new"] == "text/html"


def test_fastwarc_reads_the_revisits(second: Path) -> None:
    warc = pytest.importorskip("fastwarc.warc")
    (live,) = second.with_suffix("").glob("*.warc.gz")
    kinds = []
    with live.open("rb") as stream:
        for record in warc.ArchiveIterator(stream, parse_http=False):
            assert record.verify_block_digest(), record.headers
            if record.record_type == warc.revisit:
                assert record.headers["WARC-Refers-To-Date"] == EARLY_DATE
            kinds.append(record.record_type)
    assert kinds.count(warc.revisit) >= 5


def test_the_store_itself_keeps_all_bodies(second: Path, capsysbinary: Any) -> None:
    assert main(["page", f"{HOST}/same", "--raw", "--store", str(second)]) == 0
    assert capsysbinary.readouterr().out == PAGES["/same"].encode()


def test_without_the_file_of_earlier_bodies_exported_archives_are_whole(
    second: Path, tmp_path: Path
) -> None:
    beside, away = file_beside(second, EARLIER), tmp_path / "away"
    beside.rename(away)
    try:
        assert main(["export", str(tmp_path / "a.warc.gz"), "--store", str(second)]) == 0
        found = records((tmp_path / "a.warc.gz").read_bytes())
        assert found["/old.zip"] == ("response", None, None, FILE)
        beside.write_bytes(b"no database" * 999)
        assert main(["export", str(tmp_path / "b.warc.gz"), "--store", str(second)]) == 1
    finally:
        away.rename(beside)


def test_later_runs_refer_to_the_earlier_archive_as_well(earlier: Path, tmp_path: Path) -> None:
    path = tmp_path / "third.db"
    crawled(path, {}, dedupe_with=earlier, new_pages=1)
    told = crawled(path, {})
    assert not any(str(earlier) in text for text in told)
    found: dict[str, Any] = {}
    for file in sorted(path.with_suffix("").glob("*.warc.gz")):
        found |= records(file.read_bytes())
    assert found["/same"][0] == found["/old.zip"][0] == "revisit"


def test_no_archive_refers_to_a_page_that_was_taken_down(earlier: Path, tmp_path: Path) -> None:
    path, again, exported = tmp_path / "a.db", tmp_path / "b.cdxj", tmp_path / "a.warc.gz"
    again.write_bytes(earlier.read_bytes())
    crawled(path, {}, dedupe_with=earlier)
    forget(path, f"{HOST}/same", 1.0)
    assert b"/same" not in file_beside(path, EARLIER).read_bytes()
    crawled(path, {}, dedupe_with=again, refresh=1.0)
    assert b"/same" not in file_beside(path, EARLIER).read_bytes()
    assert main(["export", str(exported), "--store", str(path)]) == 0
    found = records(exported.read_bytes())
    assert found["/old.zip"][0] == "revisit"
    assert f"{HOST}/same" not in {original for _, original, _, _ in found.values()}


def test_crawls_of_a_collection_refer_to_each_other_once_asked(
    tmp_path: Path, capsys: Captured
) -> None:
    folder, second = tmp_path / "collection", tmp_path / "b.db"
    crawled(tmp_path / "a.db", {}, warc=folder, dedupe_with=folder)
    (index,) = folder.glob("*.cdxj")
    index.write_text(re.sub(r"(?m)^(\S+) \d{14}", rf"\1 {EARLY}", index.read_text()))
    said = crawled(second, {"/new": "<p>after"}, warc=folder)
    (written,) = folder.glob("b-*.warc.gz")
    found = records(written.read_bytes())
    assert found["/same"] == ("revisit", f"{HOST}/same", EARLY_DATE, b"")
    assert found["/new"][0] == "response"
    bodies = sum(kind == "revisit" for kind, *_ in found.values())
    assert bodies >= 5
    assert f"WARC: {bodies} bodies are in earlier responses" in said[-1]
    parts = as_json(capsys, "status", "--stored", "--store", str(second))["stored"]
    (saved,) = [part for part in parts if part["part"] == "saved in WARC files"]
    assert saved["number"] == bodies
    assert saved["bytes"] > len(FILE)


def test_an_unmodified_page_refers_to_the_earlier_archive(path: Path, tmp_path: Path) -> None:
    index = tmp_path / "a.cdxj"
    told = {"url": url(1), "digest": payload_digest(body(1)), "mime": "text/html"}
    index.write_text(f"a {EARLY} {json.dumps(told)}\n")
    storing = Settings.of(keep="none", warc=tmp_path / "warcs", dedupe_with=index).storing
    with (
        closing(StoreWriter.open(path)) as store,
        closing(open_keeping(store, storing, lambda _: None)) as keeping,
    ):
        answers = [kept(url(1), body(1)), confirmed(url(1), NOON + 9)]
        StoreWithArchive(store, keeping).commit(Batch(answers=answers))
    profiles = []
    (file,) = (tmp_path / "warcs").glob("*.warc.gz")
    with file.open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream):
            if record.rec_type in ("response", "revisit"):
                head = record.rec_headers
                assert head.get_header("WARC-Refers-To-Date") == EARLY_DATE
                profiles.append(head.get_header("WARC-Profile").rpartition("/")[2])
    assert profiles == ["identical-payload-digest", "server-not-modified"]


@pytest.mark.parametrize("name", ["dedupe-with", "warc"])
def test_archives_need_whole_pages(path: Path, tmp_path: Path, name: str) -> None:
    storing = Settings.of(keep="text").with_values({name: tmp_path / "a.cdxj"}).storing
    with closing(StoreWriter.open(path)) as store, pytest.raises(UsageError, match=f"--{name}"):
        open_keeping(store, storing, lambda _: None)


def test_a_damaged_file_of_earlier_bodies_is_an_error(path: Path) -> None:
    file_beside(path, EARLIER).write_bytes(b"no database" * 999)
    with pytest.raises(StoreError, match="-earlier"):
        crawled(path, {})
