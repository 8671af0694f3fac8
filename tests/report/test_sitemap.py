"""`export sitemap.xml` lists what search engines should know, and when it changed."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl.cli import main
from minicrawl.report.files.sitemap import SITEMAP
from minicrawl.report.snapshot import snapshot
from minicrawl.web.sitemaps.sitemap import stated_entries
from tests.webs import crawl_web

HOST = "https://shop.example"
HEADS = {
    "/hidden": "<meta name=robots content=noindex>",
    "/copy": "<link rel=canonical href=/fresh>",
}
PATHS = (
    "/fresh",
    "/hidden",
    "/copy",
    "/gone",
    "/old",
    "/a.html?b=1&c=2",
    *map("/{}".format, range(40)),
)


def shop(request: httpx.Request) -> httpx.Response:
    path = request.url.raw_path.decode()
    if path == "/old":
        return httpx.Response(301, headers={"location": "/fresh"})
    if path in ("/robots.txt", "/gone"):
        return httpx.Response(404)
    links = "".join(f'<a href="{one.replace("&", "&amp;")}">x</a>' for one in PATHS)
    return httpx.Response(200, html=f"{HEADS.get(path, '')}<p>Page {path}{links}")


def crawled(path: Path, **chosen: Any) -> Path:
    return crawl_web(path, shop, [f"{HOST}/"], workers=0, **chosen)


@pytest.fixture
def store(path: Path) -> Path:
    return crawled(path)


def paths(file: Path) -> set[str]:
    entries = list(stated_entries(file.read_bytes(), f"{HOST}/"))
    assert all(changed for _, changed in entries)
    return {url.removeprefix(HOST) for url, _ in entries}


def test_a_sitemap_lists_canonical_pages_that_may_be_indexed(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "sitemap.xml"
    assert main(["export", str(file), "--store", str(store)]) == 0
    assert paths(file) == {"/", *PATHS} - {"/hidden", "/copy", "/gone", "/old"}


def test_a_long_sitemap_is_an_index_of_files_beside_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, index = tmp_path / "whole.xml", tmp_path / "index.xml"
    assert main(["export", str(whole), "--store", str(store)]) == 0
    monkeypatch.setattr("minicrawl.report.files.sitemap.MOST", 30)
    assert main(["export", str(index), "--store", str(store)]) == 0
    names = re.findall(f"<sitemap><loc>{HOST}/([^<]+)</loc></sitemap>", index.read_text())
    assert names == ["sitemap-1.xml", "sitemap-2.xml"]
    parts = [paths(tmp_path / name) for name in names]
    assert parts[0] | parts[1] == paths(whole)
    assert len(parts[0]) == 30


def test_a_store_without_pages_has_an_empty_sitemap(path: Path) -> None:
    left_out = list[str]()
    with snapshot(crawled(path, deny=["."])) as seen:
        (line,) = SITEMAP.lines(seen, left_out.append)
    assert line.endswith(b"</urlset>\n")
    assert left_out
