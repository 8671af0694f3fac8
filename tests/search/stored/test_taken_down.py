"""No search shows a page that was taken down, whatever its type or state."""

import json
from pathlib import Path

import httpx
import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl import Crawl, Settings
from minicrawl.cli import main
from minicrawl.crawl.record.archiving import forget
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.files import set_aside
from minicrawl.store.reader import search_folder

HOST = "http://a.example"
NAMES = ("page", "file.bin", "picture.png", "missing", "moved", "same", "denied", "hidden")
"""Paths of pages, by what becomes of them."""


def answer(request: httpx.Request) -> httpx.Response:
    name = request.url.path[1:]
    if not name:
        links = "".join(f"<a href=/{one}>anchor{one.partition('.')[0]}</a>" for one in NAMES)
        return httpx.Response(200, html=f"<title>Home</title>{links}<p>words")
    if name == "moved":
        return httpx.Response(301, headers={"location": "/page"})
    if name == "missing":
        return httpx.Response(404)
    if "." in name:
        media = "image/png" if name.endswith("png") else "application/octet-stream"
        return httpx.Response(200, content=b"bytes" * 99, headers={"content-type": media})
    noindex = "<meta name=robots content=noindex>" if name == "hidden" else ""
    return httpx.Response(200, html=f"<title>T</title>{noindex}<p>the same text of two pages")


def crawled(path: Path) -> None:
    settings = Settings.of(
        store=path, delay=0, address_delay=0, robots=False, types=("html", "files"),
        deny=("/denied",), keep="pages",
    )  # fmt: skip
    Crawl([HOST], settings, transport=httpx.MockTransport(answer)).run()


def urls(path: Path, query: str) -> set[str]:
    found = Finder(search_folder(path)).find(parse(query), SearchRequest(count=99, folds=False))
    return {one.entry.url for one in found}


@pytest.mark.slow
@pytest.mark.parametrize("gone", [f"{HOST}/*", *(f"{HOST}/{name}" for name in NAMES)])
def test_no_search_shows_a_page_that_was_taken_down(gone: str, tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawled(path)
    bring_up_to_date(path)
    names = set(NAMES) if gone.endswith("*") else {gone.rpartition("/")[2]}
    assert urls(path, "anchorfile") >= {f"{HOST}/file.bin"}
    forget(path, gone, 1.0)
    for _ in range(2):
        bring_up_to_date(path)
        for name in NAMES:
            for query in (f"anchor{name.partition('.')[0]}", "same text", "site:a.example"):
                assert not urls(path, query) & {f"{HOST}/{one}" for one in names}, query
        crawled(path)  # the links become known again
    assert main(["search", "--static", str(tmp_path / "static"), "--store", str(path)]) == 0
    pages = (tmp_path / "static" / "pages").glob("*/*.json")
    shown = [json.loads(file.read_text())[0] for file in pages]
    assert shown or gone.endswith("*")
    assert not {f"{HOST}/{one}" for one in names} & set(shown)


def test_a_take_down_names_what_it_does_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crawl.db"
    crawled(path)
    aside = set_aside(path)
    crawled(path)
    (tmp_path / "crawl.db.other").touch()
    archive = tmp_path / "crawl.db-pages.1"
    archive.mkdir()
    assert main(["forget", f"{HOST}/page", "--json", "--store", str(path)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["aside"] == [str(aside), str(archive)]
    assert str(aside) in err
    assert str(archive) in err
    assert "pages that link there keep their own texts" in err
