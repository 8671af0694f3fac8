"""After a take-down, nothing shows the URL or its texts, and no file has them.

Other pages' own words stay: their HTML, with relative links here, and their texts of links.
"""

import gzip
import inspect
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click
import httpx
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl import Crawl, Settings
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.cli import main, root
from minicrawl.crawl.record.archiving import forget
from minicrawl.errors import MinicrawlError
from minicrawl.report.integrity.audit import audit
from minicrawl.store import questions
from minicrawl.store.reader import archive_folder, reading
from tests.checking.test_requisites import kept
from tests.cli.calls import Captured
from tests.cli.test_every_command import HOME, LICENCE, REPORTS, WRITERS
from tests.dashboard.asking import ACCESS, asked

HOST = "http://a.example"
URL, TEXT = "a.example/zebra", "quokka"
"""Text of each URL that is taken down, and a word of all their texts."""
SHOWN = re.compile(rf"{URL}|{TEXT}".encode())
KINDS = ("page", "file.bin", "picture.png", "missing", "moved", "same", "denied", "hidden", "way")
PAGE = f"{HOST}/zebra-page"
MOVES = {"moved": "/zebra-page", "way": "/other"}


def answer(request: httpx.Request) -> httpx.Response:
    name = request.url.path.removeprefix("/zebra-")
    if name in ("/", "/other"):
        links = "".join(f"<a href=/zebra-{one}>anchor {one}</a>" for one in KINDS)
        image = "<img src=/zebra-picture.png><img src=/zebra-lost.png>"
        return httpx.Response(
            200,
            html=f"<title>Home</title>{links}{image}<a href=/other>o</a><a href=http://b.example/b>b</a>",
        )
    if name == "/b":
        return httpx.Response(200, html=f"<title>B</title><a href={HOST}/>to A</a>")
    if target := MOVES.get(name):
        return httpx.Response(302, headers={"location": target})
    if "." in name and name != "lost.png":
        media = "image/png" if name.endswith("png") else "application/octet-stream"
        return httpx.Response(200, content=TEXT.encode() * 9, headers={"content-type": media})
    if name not in KINDS or name == "missing":
        return httpx.Response(404)
    noindex = "<meta name=robots content=noindex>" if name == "hidden" else ""
    canonical = f"<link rel=canonical href={PAGE}>" if name == "same" else ""
    html = f"<title>{TEXT}</title>{noindex}{canonical}<a href=/>{TEXT}</a><p>{TEXT} of a page"
    return httpx.Response(200, html=html, headers={"etag": TEXT})


def crawled(path: Path, **more: Any) -> set[str]:
    """Crawl, and return the requested URLs."""
    requested = set[str]()

    def note(request: httpx.Request) -> httpx.Response:
        requested.add(str(request.url))
        return answer(request)

    settings = Settings.of(
        store=path, delay=0, address_delay=0, robots=False, types=("html", "files"), check="all",
        deny=("-denied$",), keep="pages", **more,
    )  # fmt: skip
    Crawl([HOST, PAGE, "http://b.example/b"], settings, transport=httpx.MockTransport(note)).run()
    return requested


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a store, its index and ranks, from which the URLs were taken down."""
    folder = tmp_path_factory.mktemp("taken-down")
    path = folder / "crawl.db"
    crawled(path)
    for line in ("index", "rank pagerank", f"backlinks {PAGE}", "audit", "top", "refine"):
        assert main([*shlex.split(line), "--store", str(path)]) in (0, 1), line
    assert found_in(folder)
    assert forget(path, f"{HOST}/zebra*", 1.0).is_complete
    return folder


def found_in(folder: Path) -> list[str]:
    """Return files and kept responses that have the URL or the text."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    pattern = re.compile(f"{URL}|/zebra|{TEXT}".encode())
    found = [str(file) for file in files if pattern.search(file.read_bytes())]
    text, responses = TEXT.encode(), kept(folder / "crawl.db")
    with closing(ArchiveReader(archive_folder(folder / "crawl.db"))) as archive:
        numbers = [number for number, _ in archive.index.dictionaries()]
        found += [str(number) for number in numbers if text in archive.dictionary(number)]
    return found + [url for url, one in responses.items() if text in one.body or URL in url]


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "copy") / "crawl.db"


@pytest.mark.slow
def test_no_file_has_the_url_or_its_texts(path: Path) -> None:
    assert found_in(path.parent) == []
    with closing(ArchiveReader(archive_folder(path))) as archive:
        assert list(verify(archive)) == []
    assert list(audit(path).wrong) == []


TEXTS = "text,html,headings,links,main,markdown,data,canonical"
LINES = [
    line.replace(HOME, f"{HOST}/").replace(LICENCE, PAGE)
    for line in (
        *REPORTS,
        *WRITERS,
        *(f"{name} {LICENCE}" for name in ("page", "links", "backlinks --raw")),
        *("top --all", "audit", "search anchor --all", "changes --since 1970-01-01"),
        *(
            f"export out.{one}"
            for one in ("tsv", "graphml", "gexf", "dot", "warc.gz", "wacz", "log")
        ),
        *(f"export out.{one} --with {TEXTS}" for one in ("jsonl", "parquet")),
        *("export out.csv --edges", "export graph/", "search --static out"),
    )
]


def contents(file: Path) -> Iterator[bytes]:
    """Yield the content of a file, and of the files in it, decompressed."""
    content = file.read_bytes()
    if content.startswith(b"PK"):
        with ZipFile(file) as package:
            for name in package.namelist():
                inner = package.read(name)
                yield gzip.decompress(inner) if name.endswith(".gz") else inner
    elif content.startswith(b"PAR1"):
        yield json.dumps(pq.read_table(file).to_pylist(), default=str).encode()
    else:
        yield gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def options_of(line: str) -> set[str]:
    command = root.get_command(click.Context(root), line.split(maxsplit=1)[0])
    assert command is not None
    return {name for one in command.params for name in one.opts}


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_no_command_shows_the_url_or_its_texts(
    line: str, path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    if "--fold" in line or line == "duplicates":
        assert main(["index"]) == 0
    if line.startswith("import"):
        assert main(["export", "pages.warc.gz"]) == 0
    (path.parent / "files").mkdir()
    before = set(path.parent.rglob("*"))
    for more in ([], ["--json"]) if "--json" in options_of(line) else ([],):
        capsys.readouterr()
        code = main([*shlex.split(line), *more])
        shown = "".join(capsys.readouterr())
        asks_for_it = PAGE in line and line.startswith("page")
        assert code == 2 if asks_for_it else code in (0, 1), shown
        assert not SHOWN.search(shown.encode()), shown
    for file in set(path.parent.rglob("*")) - before:
        if file.is_file():
            assert not any(map(SHOWN.search, contents(file))), file


@pytest.mark.slow
def test_no_tool_of_an_agent_shows_the_url_or_its_texts(path: Path) -> None:
    tools = pytest.importorskip("minicrawl.mcp.tools")
    given = {"url": PAGE, "query": "anchor", "topic": "-missing", "sql": "SELECT * FROM pages"}
    answers = []
    with closing(tools.StoreTools(path)) as of_store:
        for tool in of_store.all():
            for url in (PAGE, f"{HOST}/"):
                arguments = given | {"url": url}
                if tool.__name__ == "sql":
                    arguments["query"] = given["sql"]
                parameters = inspect.signature(tool).parameters.values()
                needed = [one.name for one in parameters if one.default is one.empty]
                try:
                    answers.append(str(tool(**{name: arguments[name] for name in needed})))
                except MinicrawlError as error:
                    answers.append(str(error))
    assert [answer for answer in answers if SHOWN.search(answer.encode())] == []
    assert any("#taken-down-" in answer for answer in answers)


VIEWS = ("errors", "graph", "form", f"page?url={PAGE}", f"page?url={HOST}/", "search?q=anchor")


def test_no_view_shows_the_url_or_its_texts(path: Path) -> None:
    assert main(["index", "--store", str(path)]) == 0
    views = pytest.importorskip("minicrawl.dashboard.views").Views(path)
    answers = [
        asked(views, "GET", place, headers={"x-minicrawl-token": ACCESS.token}).text
        for place in ("metrics", *(f"api/{name}" for name in VIEWS))
    ]
    assert [answer for answer in answers if SHOWN.search(answer.encode())] == []
    assert any("#taken-down-" in answer for answer in answers)


def test_links_lead_to_the_same_pages_as_before_and_the_ledger_is_exact(path: Path) -> None:
    with reading(path) as connection:
        before = questions.pages_known(connection)
    assert not {url for url in crawled(path, refresh=0.5) if "zebra" in url}
    with reading(path) as connection:
        assert questions.pages_known(connection) == before
    assert found_in(path.parent) == []
    assert list(audit(path).wrong) == []
