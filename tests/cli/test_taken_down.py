"""After a take-down, nothing shows the URL or its texts, and no file has them."""

import gzip
import inspect
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import click
import pyarrow.parquet as pq
import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.cli import main, root
from minicrawl.crawl.record.archiving import forget
from minicrawl.errors import MinicrawlError
from minicrawl.report.integrity.audit import audit
from minicrawl.store import questions
from minicrawl.store.reader import archive_folder, reading
from tests.cli.calls import Captured
from tests.cli.test_every_command import HOME, LICENCE, REPORTS, WRITERS
from tests.dashboard.asking import ACCESS, asked
from tests.taken_down import HOST, PAGE, TEXT, crawled, places_of

URL = "a.example/zebra"
SHOWN = re.compile(rf"{URL}|{TEXT}".encode())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a store, its index and ranks, from which the URLs were taken down."""
    folder = tmp_path_factory.mktemp("taken-down")
    path = folder / "crawl.db"
    crawled(path, check="all")
    for line in ("index", "rank pagerank", f"backlinks {PAGE}", "audit", "top", "refine"):
        assert main([*shlex.split(line), "--store", str(path)]) in (0, 1), line
    assert found_in(path)
    assert forget(path, f"{HOST}/zebra*", 1.0).is_complete
    return folder


def found_in(path: Path) -> list[str]:
    return places_of(path, TEXT, URL, "/zebra")


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "copy") / "crawl.db"


@pytest.mark.slow
def test_no_file_has_the_url_or_its_texts(path: Path) -> None:
    assert found_in(path) == []
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
    assert not {url for url in crawled(path, check="all", refresh=0.5) if "zebra" in url}
    with reading(path) as connection:
        assert questions.pages_known(connection) == before
    assert found_in(path) == []
    assert list(audit(path).wrong) == []
