"""Other programs verify and replay the web archives of a real crawl."""

import os
import shutil
import subprocess
from contextlib import chdir, closing
from http import HTTPStatus
from pathlib import Path

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.cli import main
from tests.archive.replaying import body, replayed

STORE = "data/demo.db"
PAGES = "80"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crawl of the demo and its archives in all formats."""
    folder = tmp_path_factory.mktemp("crawled")
    with chdir(folder):
        crawl = ["crawl", "--demo", "--pages", PAGES, "--keep", "pages", "--warc", "warcs"]
        assert main([*crawl, "--workers", "0", "--quiet"]) == 0
        for name in ("site.warc.gz", "site.wacz"):
            assert main(["export", name, "--store", STORE]) == 0
    (file,) = (folder / "warcs").glob("*.warc.gz")
    file.rename(folder / "live.warc.gz")
    return folder


@pytest.fixture(scope="module")
def kept(crawled: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with closing(ArchiveReader(crawled / f"{STORE}-pages")) as archive:
        for row in archive.index.rows(archive.end):
            if row.kind != RecordKind.DICTIONARY:
                answer = archive.answer(row.place)
                if answer.status == HTTPStatus.OK:
                    found[answer.request_url or answer.url] = answer.body
    assert len(found) >= int(PAGES) // 2
    return found


@pytest.mark.slow
def test_py_wacz_validates_the_file(crawled: Path) -> None:
    """py-wacz needs an environment of its own, because its requirements conflict with ours."""
    program = shutil.which("wacz", path=os.environ.get("WACZ_PROGRAMS"))
    if program is None:
        pytest.skip("no wacz: install it, and set WACZ_PROGRAMS to its folder of programs")
    command = [program, "validate", "-f", str(crawled / "site.wacz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "succeeded" in done.stdout


@pytest.mark.parametrize("name", ["live.warc.gz", "site.warc.gz"])
def test_fastwarc_finds_every_page_with_its_digests(
    crawled: Path, name: str, kept: dict[str, bytes]
) -> None:
    warc = pytest.importorskip("fastwarc.warc")
    bodies: dict[str, bytes] = {}
    digests: dict[str, bytes] = {}
    with (crawled / name).open("rb") as stream:
        for record in warc.ArchiveIterator(stream, parse_http=False):
            assert record.verify_block_digest(), record.headers
    with (crawled / name).open("rb") as stream:
        for record in warc.ArchiveIterator(stream):
            kind = record.record_type
            if kind not in (warc.response, warc.revisit):
                continue
            url, digest = record.headers["WARC-Target-URI"], record.headers["WARC-Payload-Digest"]
            if kind == warc.response:
                digests[digest] = record.reader.read()
            if record.http_headers.status_code == HTTPStatus.OK:
                bodies[url] = digests[digest]
    assert bodies == kept


@pytest.mark.parametrize("name", ["live.warc.gz", "site.warc.gz", "site.wacz"])
def test_a_replay_has_the_same_pages(
    crawled: Path, name: str, kept: dict[str, bytes], tmp_path: Path
) -> None:
    with replayed(tmp_path, crawled / name) as origin:
        assert {url: body(origin, url) for url in kept} == kept
