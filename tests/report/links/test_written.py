"""Raw links: as written, with their texts if pages or links are kept, and with redirects."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from minicrawl.report.integrity.audit import audit
from minicrawl.report.links.problems import broken_links
from minicrawl.report.links.written_links import all_links, links_of, links_to, with_link_texts
from minicrawl.report.selected_pages import PageSelection
from minicrawl.report.snapshot import Snapshot, snapshot
from tests.cli.calls import Captured, as_json, printed
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


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path in MOVED:
        return httpx.Response(301, headers={"location": MOVED[path]})
    return httpx.Response(200, html=PAGES[path]) if path in PAGES else httpx.Response(404)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a store of the web for each --keep."""
    folder = tmp_path_factory.mktemp("written")
    return {
        keep: crawl_web(folder / f"{keep}.db", answer, [HOST], keep=keep)
        for keep in ("pages", "links", "none")
    }


@pytest.fixture
def seen(stores: dict[str, Path]) -> Iterator[Snapshot]:
    with snapshot(stores["pages"]) as found:
        yield found


def test_every_link_of_a_page_has_its_text_and_target(seen: Snapshot) -> None:
    found = links_of(seen, HOME)
    assert {(link.written, link.text, link.target, link.end, link.state) for link in found} == {
        ("old", "Moved page", OLD, B, "fetched"),
        ("/b#top", "B", B, "", "fetched"),
        ("b", "B again", B, "", "fetched"),
        ("/gone", "Lost", GONE, "", "not-found"),
    }


def test_base_and_rel_are_respected(seen: Snapshot) -> None:
    found = {link.written: link for link in links_of(seen, B)}
    assert (found["../"].target, found["../"].rel) == (HOME, "ugc")
    assert found["../old2"].end == GONE


def test_links_to_a_page_are_distinguished_from_links_to_its_redirects(seen: Snapshot) -> None:
    assert {(link.target, link.end, link.text) for link in links_to(seen, B)} == {
        (OLD, B, "Moved page"),
        (B, "", "B"),
        (B, "", "B again"),
    }


def test_without_kept_pages_links_have_no_texts(stores: dict[str, Path]) -> None:
    with snapshot(stores["none"]) as seen:
        found = links_to(seen, B)
        assert with_link_texts(seen, broken_links(seen))[0].text == ""
    assert {(link.target, link.end) for link in found} == {(OLD, B), (B, "")}
    assert {(link.text, link.rel, link.written) for link in found} == {("", "", "")}


def test_the_texts_of_all_broken_links_take_one_search_of_the_store(
    stores: dict[str, Path],
) -> None:
    statements: list[str] = []
    with snapshot(stores["links"]) as seen:
        broken = broken_links(seen)
        seen.connection.set_trace_callback(statements.append)
        with_link_texts(seen, broken)
    assert len(broken) > 1
    assert sum("USING (host, path)" in statement for statement in statements) == 1


def test_link_texts_can_be_kept_without_pages(stores: dict[str, Path], capsys: Captured) -> None:
    path = stores["links"]
    with snapshot(path) as seen:
        home = {(link.written, link.text, link.target, link.end) for link in links_of(seen, HOME)}
        above, *_ = (link for link in links_of(seen, B) if link.target == HOME)
        broken = with_link_texts(seen, broken_links(seen))
        (block,) = all_links(seen, PageSelection())
    assert home == {
        ("old", "Moved page", OLD, B),
        ("/b#top", "B", B, ""),
        ("/gone", "Lost", GONE, ""),
    }
    assert (above.written, above.rel, above.text) == ("../", "ugc", "up")
    assert {(link.source, link.text) for link in broken} == {(HOME, "Lost"), (B, "to what is gone")}
    assert sorted(block["text"]) == ["B", "Lost", "Moved page", "to what is gone", "up"]
    assert not path.with_name(f"{path.name}-pages").exists()
    assert "link texts" in printed(capsys, "status", "--stored", "--store", path)
    assert audit(path).is_intact


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


def test_commands_show_texts_only_if_they_are_kept(
    stores: dict[str, Path], capsys: Captured
) -> None:
    kept = ("--store", stores["pages"])
    assert "Moved page" in printed(capsys, "links", "--raw", HOME, *kept)
    assert "Moved page" in printed(capsys, "backlinks", "--raw", B, *kept)
    (row, *_) = as_json(capsys, "links", "--raw", B, *kept)
    assert set(row) == {"source", "target", "end", "state", "text", "rel", "written"}
    assert "to what is gone" in printed(capsys, "broken", *kept)
    headings, *_ = printed(capsys, "broken", "--store", stores["none"]).splitlines()
    assert "text" not in headings


@pytest.mark.parametrize("name", ["links.csv", "links.jsonl", "links.parquet"])
def test_exported_raw_links_have_their_texts(
    stores: dict[str, Path], tmp_path: Path, name: str, capsys: Captured
) -> None:
    duckdb = pytest.importorskip("duckdb")
    printed(capsys, "export", "--edges", "--raw", tmp_path / name, "--store", stores["pages"])
    found = duckdb.sql(f"SELECT text FROM '{tmp_path / name}' ORDER BY text").fetchall()
    texts = ["B", "B again", "Lost", "Moved page", "to what is gone", "up"]
    assert found == [(text,) for text in texts]
