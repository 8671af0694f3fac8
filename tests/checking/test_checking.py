"""Links that are not crawled are asked for once, politely, and shown where they are broken."""

from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl import Crawl, Settings
from minicrawl.cli import main
from minicrawl.model import State
from minicrawl.report.links import problems
from minicrawl.report.links.written import with_texts
from minicrawl.report.snapshot import snapshot
from minicrawl.store.beside.checks import CheckRow, all_checks

HOST, OTHER = "http://a.example", "http://b.example"
HOME = (
    '<a href="http://b.example/there">there</a> <a href="http://b.example/gone">gone</a>'
    '<a href="http://b.example/moved">moved</a> <a href="http://b.example/secret">secret</a>'
    '<a href="http://b.example/no-head">no head</a> <a href="/file.pdf">a file</a>'
    '<a href="http://10.0.0.1/">inside</a> <a href="/page#here">h</a> <a href="/page#gone">g</a>'
    '<a href="#top">t</a> <a href="/page#:~:text=x">x</a>'
    '<img src="/logo.png"><img src="/lost.png"><link rel=stylesheet href="http://b.example/s.css">'
)


class Web:
    """Two hosts; counts what was asked for."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.there = {"/there", "/there-too", "/logo.png", "/s.css", "/page"}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url, path = str(request.url), request.url.path
        self.asked[request.method, url] += 1
        if path == "/robots.txt" and request.url.host == "b.example":
            return httpx.Response(200, text="User-agent: *\nDisallow: /secret")
        if path == "/moved":
            return httpx.Response(302, headers={"location": "/there-too"})
        if path == "/no-head":
            return httpx.Response(405 if request.method == "HEAD" else 200, html="here")
        if url == f"{HOST}/":
            return httpx.Response(200, html=HOME)
        if path == "/page":
            return httpx.Response(200, html='<h2 id="here">Here</h2>')
        return httpx.Response(200 if path in self.there else 404)


def crawled(path: Path, web: Web, **chosen: Any) -> Path:
    settings = Settings.of(
        delay=0, address_delay=0, converge=False, scope="host", keep="pages", store=path, **chosen
    )
    Crawl([HOST], settings, transport=httpx.MockTransport(web)).run()
    return path


def checks(path: Path) -> dict[str, CheckRow]:
    with snapshot(path) as seen:
        return {row.url: row for row in all_checks(path, seen.connection)}


def broken(path: Path) -> set[tuple[str, str, str]]:
    with snapshot(path) as seen:
        found = with_texts(seen, problems.broken_links(seen))
    return {(link.target, link.state, link.text) for link in found}


def test_nothing_is_asked_for_unless_it_is_wanted(tmp_path: Path) -> None:
    web = Web()
    path = crawled(tmp_path / "crawl.db", web)
    assert {url for _, url in web.asked} == {f"{HOST}/", f"{HOST}/robots.txt", f"{HOST}/page"}
    assert checks(path) == {}
    assert broken(path) == set()


class TestExternal:
    def test_each_link_is_asked_for_once_and_its_host_first(self, tmp_path: Path) -> None:
        web = Web()
        found = checks(crawled(tmp_path / "crawl.db", web, check_external=True))
        states = {url: State(row.state) for url, row in found.items()}
        assert states == {
            f"{OTHER}/there": State.FETCHED,
            f"{OTHER}/gone": State.NOT_FOUND,
            f"{OTHER}/moved": State.FETCHED,
            f"{OTHER}/secret": State.ROBOTS,
            f"{OTHER}/no-head": State.FETCHED,
            f"{HOST}/file.pdf": State.NOT_FOUND,
            "http://10.0.0.1/": State.ADDRESS,
        }
        asked = [key for key in web.asked if "b.example" in key[1]]
        assert asked[0] == ("GET", f"{OTHER}/robots.txt")
        assert set(web.asked.values()) <= {1, 2}
        assert web.asked["HEAD", f"{OTHER}/there"] == 1
        assert ("GET", f"{OTHER}/there") not in web.asked
        assert web.asked["GET", f"{OTHER}/no-head"] == 1
        assert not any("secret" in url or "10.0.0.1" in url for _, url in web.asked)

    def test_broken_shows_those_that_are_not_there(self, tmp_path: Path) -> None:
        path = crawled(tmp_path / "crawl.db", Web(), check_external=True)
        assert broken(path) == {
            (f"{OTHER}/gone", "not-found", "gone"),
            (f"{HOST}/file.pdf", "not-found", "a file"),
            ("http://10.0.0.1/", "address", "inside"),
        }

    def test_they_are_not_crawled_and_not_asked_for_again_the_same_day(
        self, tmp_path: Path
    ) -> None:
        path = crawled(tmp_path / "crawl.db", Web(), check_external=True)
        again = Web()
        crawled(path, again, check_external=True)
        assert not again.asked
        with snapshot(path) as seen:
            assert State(seen.states[0]) is State.FETCHED
            assert State.SCOPE in set(seen.states.tolist())


class TestAssets:
    def test_assets_and_anchors_that_are_not_there_are_broken(self, tmp_path: Path) -> None:
        web = Web()
        path = crawled(tmp_path / "crawl.db", web, check_assets=True)
        assert set(checks(path)) == {f"{HOST}/logo.png", f"{HOST}/lost.png", f"{OTHER}/s.css"}
        assert broken(path) == {
            (f"{HOST}/lost.png", "not-found", "(image)"),
            (f"{HOST}/page#gone", "no-anchor", "g"),
        }

    def test_the_report_and_the_command_show_them(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = crawled(tmp_path / "crawl.db", Web(), check_assets=True, check_external=True)
        assert main(["broken", "--csv", "--store", str(path)]) == 0
        printed = capsys.readouterr().out
        assert "lost.png" in printed
        assert "#gone" in printed
        assert main(["report", str(tmp_path / "site.html"), "--store", str(path)]) == 0
        page = (tmp_path / "site.html").read_text(encoding="utf-8")
        assert "lost.png" in page
        assert "http://b.example/gone" in page
