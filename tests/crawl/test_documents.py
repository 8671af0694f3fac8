"""Crawls of documents other than HTML from a real server."""

import gzip
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl
from minicrawl.cli import main
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.errors import UsageError
from minicrawl.store.reader import reading
from tests.crawl.fakes import links_of, states_of
from tests.limits import settings_of
from tests.web.office_files import docx
from tests.web.pdfs import BOMB, pdf, words

A, B = "http://a.example", "http://b.example"
PROSE = "Some words that make this document one that says something. " * 6
HOME = """<title>Home</title><link rel=alternate type=application/rss+xml href=/feed>
<link rel=sitemap href=/map.xml><a href=/paper.pdf>paper</a> <a href=/notes.txt>notes</a>
<a href=/readme.md>readme</a> <a href=/picture>picture</a> <a href=/get?id=1>get</a>"""
FEED = b"<rss><channel><title>\x1b[31mNews</title><item><link>/news/1</link></item></channel></rss>"
MAP = f"<urlset><url><loc>/mapped</loc></url><url><loc>{B}/stranger</loc></url></urlset>".encode()
INDEX = b"<sitemapindex><sitemap><loc>/map.xml.gz</loc></sitemap></sitemapindex>"
PAPER = pdf(
    words("A paper about zymurgy", "and its yeasts"), title="The paper", links=["/cited", "/feed"]
)
MINUTES = docx("Minutes about zythology", title="The minutes", links={"agreed": f"{A}/agreed"})
FILES: dict[str, tuple[str, bytes]] = {
    "/": ("text/html", HOME.encode()),
    "/feed": ("application/rss+xml", FEED),
    "/map.xml": ("application/xml", MAP),
    "/index.xml": ("text/xml", INDEX),
    "/map.xml.gz": ("application/gzip", gzip.compress(MAP)),
    "/paper.pdf": ("application/pdf", PAPER),
    "/get?id=1": ("application/octet-stream", PAPER.replace(b"zymurgy", b"brewing")),
    "/notes.txt": ("text/plain", f"Notes\n{PROSE}\nOn quinoa see {A}/noted.".encode()),
    "/readme.md": ("application/octet-stream", f"# Read me\n{PROSE}[more](/more)".encode()),
    "/picture": ("image/png", b"\x89PNG" + bytes(1000)),
    "/bomb.pdf": ("application/pdf", BOMB),
    "/minutes.docx": ("application/octet-stream", MINUTES),
}
ALL = "html,pdf,text,markdown,feed,sitemap"


class Documents:
    """A site that records the requested paths."""

    def __init__(self) -> None:
        self.robots = ""
        self.asked: list[str] = []

    def answer(self, host: str, target: str, _: Mapping[str, str], _visits: int) -> DemoResponse:
        if target == "/robots.txt":
            return DemoResponse(200, {}, self.robots.encode())
        self.asked.append(target)
        page = f"<title>{host}{target}</title><p>{target} {PROSE}".encode()
        kind, body = FILES.get(target, ("text/html", page))
        if target.startswith("/endless"):
            index = f"<sitemapindex><sitemap><loc>{target}1</loc></sitemap></sitemapindex>"
            kind, body = "text/xml", index.encode()
        return DemoResponse(200, {"Content-Type": kind}, body)


@pytest.fixture
def site() -> Documents:
    return Documents()


@pytest.fixture
def server(site: Documents) -> Iterator[DemoServer]:
    with DemoServer(site) as served:
        yield served


def crawled(server: DemoServer, store: Path, *seeds: str, **more: Any) -> dict[str, str]:
    """Crawl, and return the states of pages, by path on a.example or by URL."""
    said = {"delay": 0, "allow_private": True, "resolve": f"*={server.address}", "workers": 0}
    settings = settings_of(**{**said, "store": store, "converge": False, **more})
    crawl = Crawl(seeds, settings)
    crawl.run()
    found = {url: state.label for url, state in states_of(store).items()}
    return {url.removeprefix(A): state for url, state in found.items()}


def title_of(store: Path, url: str) -> str:
    with reading(store) as connection:
        query = "SELECT title FROM documents WHERE page = (SELECT id FROM urls WHERE path = ?)"
        (title,) = connection.execute(query, (url,)).fetchone()
        return str(title)


def test_by_default_only_html_is_read_and_names_of_other_types_are_not_requested(
    site: Documents, server: DemoServer, path: Path
) -> None:
    states = crawled(server, path, f"{A}/")
    assert states == {
        "/": "fetched",
        "/paper.pdf": "type",
        "/notes.txt": "type",
        "/readme.md": "type",
        "/picture": "type",
        "/get?id=1": "type",
    }
    assert sorted(site.asked) == ["/", "/get?id=1", "/notes.txt", "/picture", "/readme.md"]


@pytest.mark.proof
@pytest.mark.parametrize("workers", [0, 1])
def test_documents_of_all_types_are_read_for_their_links_and_a_bomb_fails_alone(
    server: DemoServer, path: Path, workers: int
) -> None:
    states = crawled(server, path, f"{A}/bomb.pdf", f"{A}/", types=ALL, workers=workers)
    assert (states.pop("/bomb.pdf"), states.pop("/picture")) == ("too-large", "type")
    assert set(states.values()) == {"fetched"}
    assert {"/cited", "/noted", "/more", "/news/1", "/mapped"} < states.keys()
    assert f"{B}/stranger" not in states
    assert title_of(path, "/paper.pdf") == "The paper"
    assert title_of(path, "/readme.md") == "Read me"
    assert title_of(path, "/notes.txt") == "Notes"
    assert title_of(path, "/feed").endswith("News")
    assert sorted(links_of(path, f"{A}/paper.pdf")) == [f"{A}/cited", f"{A}/feed"]


def test_pages_refused_for_their_type_are_read_when_that_type_is_added(
    site: Documents, server: DemoServer, path: Path
) -> None:
    crawled(server, path, f"{A}/")
    site.asked.clear()
    states = crawled(server, path, types="html,pdf")
    assert (states["/paper.pdf"], states["/get?id=1"]) == ("fetched", "fetched")
    assert {states[one] for one in ("/notes.txt", "/readme.md", "/feed")} == {"type"}
    asked = ["/cited", "/feed", "/get?id=1", "/paper.pdf", "/readme.md"]
    assert sorted(site.asked) == asked  # the server does not tell the type of the last one
    site.asked.clear()
    assert crawled(server, path, types="html,pdf,text")["/notes.txt"] == "fetched"
    assert sorted(site.asked) == ["/noted", "/notes.txt"]


@pytest.mark.parametrize("seed", ["/feed", "/map.xml", "/map.xml.gz"])
def test_a_seed_may_be_a_feed_or_a_sitemap(server: DemoServer, path: Path, seed: str) -> None:
    states = crawled(server, path, f"{A}{seed}")
    listed = "/news/1" if seed == "/feed" else "/mapped"
    assert states == {seed: "fetched", listed: "fetched"}
    assert links_of(path, f"{A}{seed}") == [f"{A}{listed}"]


def test_sitemaps_of_an_index_are_as_deep_as_the_index(server: DemoServer, path: Path) -> None:
    states = crawled(server, path, f"{A}/index.xml", max_depth=1)
    assert states == dict.fromkeys(("/index.xml", "/map.xml.gz", "/mapped"), "fetched")
    with reading(path) as connection:
        rows = connection.execute("SELECT path, depth FROM urls ORDER BY id").fetchall()
    assert rows == [("/index.xml", 0), ("/map.xml.gz", 0), ("/mapped", 1)]


def test_a_sitemap_may_list_pages_of_a_host_whose_robots_txt_names_it(
    site: Documents, server: DemoServer, path: Path
) -> None:
    site.robots = f"Sitemap: {A}/map.xml"
    states = crawled(server, path, f"{B}/", f"{A}/map.xml", concurrency=1)
    assert states[f"{B}/stranger"] == "fetched"


def test_robots_txt_and_scope_apply_to_a_sitemap_that_is_a_seed(
    site: Documents, server: DemoServer, path: Path
) -> None:
    site.robots = "User-agent: *\nDisallow: /map.xml"
    assert crawled(server, path, f"{A}/map.xml") == {"/map.xml": "robots"}
    site.robots = ""
    scope = {"scope": "prefix", "deny": "mapped"}
    other = path.with_name("other.db")
    assert crawled(server, other, f"{A}/map.xml", **scope)["/mapped"] == "scope"


def test_an_index_leads_to_no_more_sitemaps_than_are_allowed(
    site: Documents, server: DemoServer, path: Path
) -> None:
    """Each index names another one, without end."""
    crawled(server, path, f"{A}/endless", max_sitemaps=3)
    assert len(site.asked) == 4


def test_without_the_package_a_crawl_that_wants_pdf_does_not_begin(
    site: Documents, server: DemoServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(UsageError, match=r"install minicrawl\[pdf\]"):
        crawled(server, path, f"{A}/", types="pdf")
    assert site.asked == []
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["pages", "text"])
def test_texts_of_documents_are_kept_and_found(
    server: DemoServer, path: Path, keep: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crawled(server, path, f"{A}/", types=ALL, keep=keep)
    paper, notes = "A paper about zymurgy\nand its yeasts", "Notes\nSome words"
    for url, text, wanted in (
        ("/paper.pdf", paper, ("zymurgy", "yeasts")),
        ("/notes.txt", notes, ("quinoa",)),
    ):
        assert main(["page", A + url, "--text", "--store", str(path)]) == 0
        assert text in capsys.readouterr().out
        assert main(["search", "--store", str(path), *wanted]) == 0
        assert re.findall(rf"{A}/\S+", capsys.readouterr().out)[:1] == [A + url]


@pytest.mark.parametrize("keep", ["pages", "text"])
def test_office_documents_are_read_for_their_links_kept_and_found(
    site: Documents, server: DemoServer, path: Path, keep: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crawled(server, path, f"{A}/minutes.docx", f"{A}/", types="html,office", keep=keep)
    assert title_of(path, "/minutes.docx") == "The minutes"
    assert links_of(path, f"{A}/minutes.docx") == [f"{A}/agreed"]
    assert "/agreed" in site.asked
    assert main(["page", f"{A}/minutes.docx", "--text", "--store", str(path)]) == 0
    assert "Minutes about zythology\nagreed" in capsys.readouterr().out
    assert main(["search", "--store", str(path), "zythology"]) == 0
    assert f"{A}/minutes.docx" in capsys.readouterr().out
    command = ["export", "-", "--format", "jsonl", "--with", "main,links", "--store", str(path)]
    assert main(command) == 0
    assert ("zythology" in capsys.readouterr().out) == (keep == "pages")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sitemap_as_a_seed_may_be_longer_than_other_bodies(
    server: DemoServer, path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = "".join(f"<url><loc>/{number}</loc>{'<!---->' * 99}</url>" for number in range(500))
    monkeypatch.setitem(FILES, "/long.xml", ("text/xml", f"<urlset>{entries}</urlset>".encode()))
    found = crawled(server, path, f"{A}/long.xml", max_body="50kB", workers=workers, pages=3)
    assert len(FILES["/long.xml"][1]) > 300_000
    assert {f"/{number}" for number in range(500)} < set(found)
    assert found["/long.xml"] == "fetched"
