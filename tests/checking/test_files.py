"""Linked files of any type are streamed to the archive, within limits."""

import asyncio
import re
import zipfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl.archive.packing import PAYLOAD
from minicrawl.archive.pruning import PruneRules
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.cli import main
from minicrawl.crawl.record.archiving import prune_store
from minicrawl.errors import UsageError
from minicrawl.store.reader import archive_folder
from tests.checking.test_requisites import kept
from tests.memory import limited_growth
from tests.webs import crawl_web

warcio = pytest.importorskip("warcio.archiveiterator")

HOST = "http://a.example"
LINKS = ("a.zip", "film.mp4", "same.mp4", "data.csv", "endless.mkv", "secret/b.zip", "gone.docx")
WITHOUT_SUFFIX = ("report", "get?film", "get?plain", "get?endless", "get?blob", "get?odd")
"""Files whose URLs have no suffix of a file."""
HOME = "".join(f"<a href=/{name}>x</a>" for name in (*LINKS, *WITHOUT_SUFFIX)) + (
    "<a href=http://b.example/c.zip>out of scope</a>"
)
MEGABYTE = 1_000_000
MOST = 20 * MEGABYTE
FILM = bytes(range(256)) * 40_000  # 10 MB


class Endless(httpx.AsyncByteStream):
    """Endless body that counts the bytes sent."""

    def __init__(self) -> None:
        self.sent = 0

    async def __aiter__(self) -> Any:
        while True:
            self.sent += MEGABYTE
            yield bytes(MEGABYTE)


class Web:
    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.endless = Endless()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked[str(request.url)] += 1
        query = request.url.query.decode()
        return self.by_query(query) if query else self.by_path(request.url.path)

    def by_path(self, path: str) -> httpx.Response:
        kind = {"content-type": "application/octet-stream"}
        if path == "/":
            return httpx.Response(200, html=HOME)
        if path == "/robots.txt":
            return httpx.Response(200, text="User-agent: *\nDisallow: /secret")
        if path == "/endless.mkv":
            return httpx.Response(200, stream=self.endless, headers=kind)
        if path == "/gone.docx":
            return httpx.Response(404)
        if path.endswith(".mp4"):
            return httpx.Response(200, content=FILM, headers=kind)
        kind = {"content-type": "application/x-report"}
        return httpx.Response(200, content=path.encode(), headers=kind)

    def by_query(self, name: str) -> httpx.Response:
        if name == "blob":  # recognised by its first bytes alone
            return httpx.Response(200, content=b"\0\1" + FILM)
        kind = {"content-type": "video/mp4"}
        if name == "endless":
            return httpx.Response(200, stream=self.endless, headers=kind)
        if name == "odd":
            kind |= {"content-encoding": "gzip, gzip, gzip, gzip, x-odd"}
            return httpx.Response(200, stream=httpx.ByteStream(b"odd"), headers=kind)
        body = FILM[1:] if name == "film" else b"short"
        return httpx.Response(200, content=body, headers=kind)


def crawled(path: Path, web: Web, **chosen: Any) -> Path:
    usual: dict[str, Any] = {"types": "html,files", "scope": "host", "max_file": MOST}
    return crawl_web(path, web, [HOST], **(usual | chosen))


@pytest.fixture(scope="module")
def web() -> Web:
    return Web()


@pytest.fixture(scope="module")
def path(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("files") / "crawl.db", web)


def test_linked_files_in_scope_are_kept(path: Path, web: Web) -> None:
    answers = kept(path)
    names = {url.removeprefix(f"{HOST}/") for url in answers}
    files = {"a.zip", "film.mp4", "same.mp4", "data.csv", "endless.mkv", *WITHOUT_SUFFIX[:-1]}
    failed = {"gone.docx", "get?odd"}
    assert names == {"", "robots.txt"} | files | failed
    assert {answers[f"{HOST}/{name}"].kind for name in failed} == {RecordKind.FAILURE}
    assert answers[f"{HOST}/film.mp4"].body == answers[f"{HOST}/same.mp4"].body == FILM
    assert not any("secret" in url or "b.example" in url for url in web.asked)


def test_a_file_is_requested_once_even_without_a_suffix(path: Path, web: Web) -> None:
    asked = {url.removeprefix(f"{HOST}/"): count for url, count in web.asked.items()}
    assert asked.pop("get?odd") == 2  # undecodable, so it is requested again as a file
    assert set(asked.values()) == {1}
    answers = kept(path)
    assert answers[f"{HOST}/get?film"].body == FILM[1:]
    assert answers[f"{HOST}/get?blob"].body == b"\0\1" + FILM
    assert answers[f"{HOST}/get?plain"].body == b"short"
    for name in ("get?endless", "endless.mkv"):
        cut = answers[f"{HOST}/{name}"]
        assert len(cut.body) == MOST
        assert "--max-file" in cut.cut
    assert web.endless.sent < 3 * MOST
    assert not list(archive_folder(path).glob(f"{PAYLOAD}*"))


@pytest.mark.slow
def test_equal_files_are_kept_and_requested_once_in_an_intact_archive(path: Path) -> None:
    assert main(["archive", "--verify", "--store", str(path)]) == 0
    assert main(["check", "--store", str(path)]) == 0
    with closing(ArchiveReader(archive_folder(path))) as archive:
        kinds = {head.url.removeprefix(f"{HOST}/"): row.kind for row, head in archive.heads()}
        keys = {row.key for row in archive.index.rows(archive.end) if row.key}
    pairs = (("film.mp4", "same.mp4"), ("endless.mkv", "get?endless"))
    assert all(RecordKind.REVISIT in (kinds[one], kinds[other]) for one, other in pairs)
    before, again = kept(path), Web()
    crawled(path, again)
    assert not again.asked
    prune_store(path, PruneRules(keys=keys))  # copies large records
    assert kept(path) == before
    assert main(["archive", "--verify", "--store", str(path)]) == 0


class SlowFilm(httpx.AsyncByteStream):
    """Film that never ends; notes when nobody watches any more."""

    def __init__(self, events: list[str]) -> None:
        self._events = events

    async def __aiter__(self) -> Any:
        while True:
            yield b"picture"
            await asyncio.sleep(0.01)

    async def aclose(self) -> None:
        self._events.append("cut")


@pytest.mark.slow
def test_films_that_never_end_keep_no_other_file_waiting(tmp_path: Path) -> None:
    films = [f"http://film-{number}.example/film.mp4" for number in range(12)]
    files = [f"{HOST}/{number}.zip" for number in range(12)]
    events: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        if url == f"{HOST}/":
            links = "".join(f"<a href={link}>x</a>" for link in (*films, *files))
            return httpx.Response(200, html=links)
        events.append(url)
        return httpx.Response(200, stream=SlowFilm(events) if url in films else None)

    chosen: dict[str, Any] = {"types": "html,files", "robots": False}
    limits: dict[str, Any] = {"timeout": 2, "max_body": 10_000, "max_file": 50_000}
    path = crawl_web(tmp_path / "crawl.db", answer, [HOST], **chosen, **limits)
    assert {*films, *files} == set(events[: events.index("cut")])
    answers = kept(path)
    assert {*films, *files} < answers.keys()
    assert {answers[film].cut for film in films} == {"timeout"}


class WebWithFilm(Web):
    """Site whose page shows a film that never ends."""

    def by_path(self, path: str) -> httpx.Response:
        if path == "/":
            return httpx.Response(200, html="<video src=/endless.mkv></video>")
        return super().by_path(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("web", "chosen"), [(Web, {}), (WebWithFilm, {"types": "html", "requisites": True})]
)
def test_large_files_need_little_memory(
    tmp_path: Path, web: type[Web], chosen: dict[str, Any]
) -> None:
    with limited_growth(30 * MEGABYTE):
        path = crawled(tmp_path / "crawl.db", web(), max_file=60 * MEGABYTE, **chosen)
    assert len(kept(path)[f"{HOST}/endless.mkv"].body) == 60 * MEGABYTE


@pytest.mark.parametrize("kind", ["application/pdf", "text/plain", "text/html"])
def test_a_document_that_is_too_long_to_be_read_is_kept_as_a_file(
    kind: str, tmp_path: Path
) -> None:
    begin = b"%PDF-1.7" if kind == "application/pdf" else b"<p>words"
    document, asked = begin + FILM.replace(b"\0", b"\n"), Counter[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked[request.url.path] += 1
        if request.url.path == "/":
            return httpx.Response(200, html="<a href=/long>long</a>")
        return httpx.Response(200, content=document, headers={"content-type": kind})

    path, types = tmp_path / "crawl.db", "html,pdf,text,files"
    limits: dict[str, Any] = {"max_body": MEGABYTE, "max_file": MOST}
    crawl_web(path, answer, [HOST], types=types, robots=False, **limits)
    found = kept(path)[f"{HOST}/long"]
    is_page = kind == "text/html"
    assert found.body == (document[:MEGABYTE] if is_page else document)
    assert bool(found.cut) is is_page
    assert asked["/long"] == 1


@pytest.mark.slow
def test_wacz_files_have_each_file_once(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.wacz"
    assert main(["export", str(file), "--store", str(path)]) == 0
    with zipfile.ZipFile(file) as package:
        lines = package.read("indexes/index.cdx").decode()
    assert all(lines.count(f'"{HOST}/{one}"') == 1 for one in ("film.mp4", "report", "endless.mkv"))


@pytest.mark.slow
def test_warc_files_of_a_crawl_have_all_files(tmp_path: Path) -> None:
    web, folder = Web(), tmp_path / "warcs"
    path = crawled(tmp_path / "crawl.db", web, warc=folder, max_file=9 * MEGABYTE)
    (file,) = (tmp_path / "warcs").glob("*.warc.gz")
    with file.open("rb") as stream:
        facts = {
            record.rec_headers.get_header("WARC-Target-URI"): record.content_stream().read()
            for record in warcio.ArchiveIterator(stream)
            if record.rec_type == "metadata"
        }
    # However long a body is: that of the blob is appended from its file.
    for name in ("blob", "plain"):
        assert re.match(rb"importance: 0\.\d+\r\nhops: 1\r\n", facts[f"{HOST}/get?{name}"])
    copy = tmp_path / "copy.db"
    options = ["--types", "html,files"]
    assert main(["import", str(file), "--store", str(copy), *options]) == 0
    before, after = kept(path), kept(copy)
    assert {url: answer.body for url, answer in after.items()} == {
        url: answer.body for url, answer in before.items()
    }
    with pytest.raises(UsageError, match="--types files"):
        crawled(tmp_path / "other.db", Web(), types="files")
