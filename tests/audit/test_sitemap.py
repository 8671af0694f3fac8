"""`export sitemap.xml` lists what search engines should know, and when it changed."""

import re
from pathlib import Path

import pytest

from minicrawl.audit.sitemap import SITEMAP
from minicrawl.cli import main
from minicrawl.report.snapshot import snapshot
from minicrawl.web.sitemaps.sitemap import stated_entries
from tests.audit.held_out import HOST, HeldOutSite
from tests.audit.test_audit import crawled


@pytest.fixture
def store(tmp_path: Path) -> Path:
    site = HeldOutSite()
    site.item("/frisch.html")
    site.item("/versteckt.html", head="<meta name=robots content=noindex>")
    site.item("/kopie.html", head="<link rel=canonical href=/biere/>", canonical=False)
    site.item("/weg.html", status=404)
    site.item(links=[site.moved("/biere/")])
    site.item("/a.html?b=1&c=2", canonical=False)
    return crawled(tmp_path / "crawl.db", site, check="none")


def paths(file: Path) -> set[str]:
    entries = list(stated_entries(file.read_bytes(), f"{HOST}/"))
    assert all(changed for _, changed in entries)
    return {url.removeprefix(HOST) for url, _ in entries}


def test_a_sitemap_lists_canonical_pages_that_may_be_indexed(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "sitemap.xml"
    assert main(["export", str(file), "--store", str(store)]) == 0
    listed = paths(file)
    assert {"/", "/frisch.html", "/a.html?b=1&c=2"} <= listed
    assert not listed & {"/versteckt.html", "/kopie.html", "/weg.html"}
    assert not [path for path in listed if path.startswith("/alt/")]


def test_a_long_sitemap_is_an_index_of_files_beside_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, index = tmp_path / "whole.xml", tmp_path / "index.xml"
    assert main(["export", str(whole), "--store", str(store)]) == 0
    monkeypatch.setattr("minicrawl.audit.sitemap.MOST", 30)
    assert main(["export", str(index), "--store", str(store)]) == 0
    names = re.findall(f"<sitemap><loc>{HOST}/([^<]+)</loc></sitemap>", index.read_text())
    assert names == ["sitemap-1.xml", "sitemap-2.xml"]
    parts = [paths(tmp_path / name) for name in names]
    assert parts[0] | parts[1] == paths(whole)
    assert len(parts[0]) == 30


def test_a_store_without_pages_has_an_empty_sitemap(tmp_path: Path) -> None:
    store = crawled(tmp_path / "crawl.db", HeldOutSite(), check="none", deny=["."])
    left_out = list[str]()
    with snapshot(store) as seen:
        (line,) = SITEMAP.lines(seen, left_out.append)
    assert line.endswith(b"</urlset>\n")
    assert left_out
