"""Raw links: as written, with their texts if pages or links are kept, and with redirects."""

import json
from pathlib import Path

import httpx
import pytest

from minicrawl.cli import main
from minicrawl.report import page_links
from minicrawl.report.audit import audit
from minicrawl.report.page_links import all_links, links_of, links_to, with_texts
from minicrawl.report.selected_pages import PageSelection
from minicrawl.report.snapshot import snapshot
from tests.webs import crawl_web

HOST = "http://a.example"
HOME, B, OLD, GONE = (f"{HOST}{path}" for path in ("/", "/b", "/old", "/gone"))
PAGES = {
    "/": '<a href="old">Moved <i>page</i></a> <a href="/b#top">B</a> <a href="b">B again</a>'
    '<a href="/gone">Lost</a>',
    "/b": '<base href="/deep/"><a rel="ugc" href="../">up</a> <a href="../old2">'
    "to what is gone</a>",
}
MOVED = {"/old": "/b", "/old2": "/gone"}

Captured = pytest.CaptureFixture[str]


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path in MOVED:
        return httpx.Response(301, headers={"location": MOVED[path]})
    return httpx.Response(200, html=PAGES[path]) if path in PAGES else httpx.Response(404)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawl_web(tmp_path_factory.mktemp("kept") / "crawl.db", answer, [HOST], keep="pages")


@pytest.fixture(scope="module")
def with_links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawl_web(tmp_path_factory.mktemp("links") / "crawl.db", answer, [HOST], keep="links")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawl_web(tmp_path_factory.mktemp("bare") / "crawl.db", answer, [HOST], keep="none")


def test_every_link_of_a_page_has_its_text_and_target(kept: Path) -> None:
    with snapshot(kept) as seen:
        found = links_of(seen, HOME)
    assert {(link.written, link.text, link.target, link.end, link.state) for link in found} == {
        ("old", "Moved page", OLD, B, "fetched"),
        ("/b#top", "B", B, "", "fetched"),
        ("b", "B again", B, "", "fetched"),
        ("/gone", "Lost", GONE, "", "not-found"),
    }


def test_base_and_rel_are_respected(kept: Path) -> None:
    with snapshot(kept) as seen:
        found = {link.written: link for link in links_of(seen, B)}
    assert (found["../"].target, found["../"].rel) == (HOME, "ugc")
    assert found["../old2"].end == GONE


def test_links_to_a_page_are_distinguished_from_links_to_its_redirects(kept: Path) -> None:
    with snapshot(kept) as seen:
        found = links_to(seen, B)
    assert {(link.target, link.end, link.text) for link in found} == {
        (OLD, B, "Moved page"),
        (B, "", "B"),
        (B, "", "B again"),
    }


def test_without_kept_pages_links_have_no_texts(bare: Path) -> None:
    with snapshot(bare) as seen:
        found = links_to(seen, B)
        assert with_texts(seen, page_links.broken_links(seen))[0].text == ""
    assert {(link.target, link.end) for link in found} == {(OLD, B), (B, "")}
    assert {(link.text, link.rel, link.written) for link in found} == {("", "", "")}


def test_link_texts_can_be_kept_without_pages(with_links: Path, capsys: Captured) -> None:
    with snapshot(with_links) as seen:
        home = {(link.written, link.text, link.target, link.end) for link in links_of(seen, HOME)}
        above, *_ = (link for link in links_of(seen, B) if link.target == HOME)
        broken = with_texts(seen, page_links.broken_links(seen))
        (block,) = all_links(seen, PageSelection())
    assert home == {
        ("old", "Moved page", OLD, B),
        ("/b#top", "B", B, ""),
        ("/gone", "Lost", GONE, ""),
    }
    assert (above.written, above.rel, above.text) == ("../", "ugc", "up")
    assert {(link.source, link.text) for link in broken} == {(HOME, "Lost"), (B, "to what is gone")}
    assert sorted(block["text"]) == ["B", "Lost", "Moved page", "to what is gone", "up"]
    assert not with_links.with_name("crawl.db-pages").exists()
    assert main(["status", "--stored", "--store", str(with_links)]) == 0
    assert "link texts" in capsys.readouterr().out
    assert audit(with_links).is_intact


def test_texts_of_an_earlier_visit_are_not_shown_for_changed_links(tmp_path: Path) -> None:
    """On the second visit, the page has the same number of links, with other texts and targets."""
    path = tmp_path / "crawl.db"
    pages = {"/": '<a href="/x">X</a><a href="/y">Y</a>'}

    def web(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, html=pages.get(request.url.path, request.url.path))

    crawl_web(path, web, [HOST], refresh=1, new_pages=3, keep="links")
    with snapshot(path) as seen:
        assert {link.text for link in links_of(seen, HOME)} == {"X", "Y"}
    pages["/"] = '<a href="/z">Z</a><a href="/y">New</a>'
    crawl_web(path, web, [HOST], refresh=1, new_pages=3, keep="none")
    with snapshot(path) as seen:
        found = links_of(seen, HOME)
    assert {(link.target, link.text) for link in found} == {(f"{HOST}/z", ""), (f"{HOST}/y", "")}


class TestCommands:
    def run(self, capsys: pytest.CaptureFixture[str], store: Path, *arguments: str) -> str:
        assert main([*arguments, "--store", str(store)]) == 0
        return capsys.readouterr().out

    def test_raw_links_and_backlinks_have_texts(
        self, kept: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "Moved page" in self.run(capsys, kept, "links", "--raw", HOME)
        assert "Moved page" in self.run(capsys, kept, "backlinks", "--raw", B)
        (row, *_) = json.loads(self.run(capsys, kept, "links", "--raw", "--json", B))
        assert set(row) == {"source", "target", "end", "state", "text", "rel", "written"}

    def test_broken_has_a_column_of_texts_only_if_they_are_kept(
        self, kept: Path, bare: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "to what is gone" in self.run(capsys, kept, "broken")
        assert "text" not in self.run(capsys, bare, "broken").splitlines()[0]

    @pytest.mark.parametrize("name", ["links.csv", "links.jsonl", "links.parquet"])
    def test_exported_raw_links_have_their_texts(
        self, kept: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        duckdb = pytest.importorskip("duckdb")
        self.run(capsys, kept, "export", "--edges", "--raw", str(tmp_path / name))
        found = duckdb.sql(f"SELECT text FROM '{tmp_path / name}' ORDER BY text").fetchall()
        texts = ["B", "B again", "Lost", "Moved page", "to what is gone", "up"]
        assert found == [(text,) for text in texts]
