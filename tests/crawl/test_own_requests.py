"""Requests that a program enqueues with a method, headers or a body of its own."""

import asyncio
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from minicrawl import Crawl, PageRead, Reason, Settings, Store
from minicrawl.crawl.hooks import Hooks
from minicrawl.crawl.record.archiving import forget
from minicrawl.crawl.settle.posting import LINKS_AT_ONCE
from minicrawl.crawl.workers.scoring import MOST_BODY_BYTES, page_read
from minicrawl.errors import UsageError
from minicrawl.model import ParsedPage, Response
from minicrawl.opic.ledger.books import StepKind
from minicrawl.report.integrity.audit import audit
from minicrawl.store import step_log
from minicrawl.store.reader import reading
from minicrawl.web.urls import posted
from tests.processes import run_python

HOST = "http://a.example"
SEARCH = f"{HOST}/search"
FORM = b"q=harbour"
POSTED = posted(SEARCH, FORM)

OnPage = Callable[[PageRead], None]


class Web:
    """A host with a page, and a form that answers POST."""

    def __init__(self, home: str = "<p>home", robots: str = "") -> None:
        self.home, self.robots = home, robots
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/robots.txt":
            return httpx.Response(200, text=self.robots)
        self.asked.append(request)
        if path == "/":
            return httpx.Response(200, html=self.home)
        if request.method == "POST":
            word = parse_qs(request.content.decode())["q"][0]
            return httpx.Response(200, html=f'<title>{word}</title><a href="/{word}">found</a>')
        return httpx.Response(200, html=f"<title>{path}</title>page at {request.url}")

    def got(self) -> list[tuple[str, str, bytes]]:
        return [(one.method, str(one.url), one.content) for one in self.asked]


def crawl(
    folder: Path,
    web: Web,
    on_page: OnPage | None = None,
    *,
    seeds: Sequence[str] = (HOST,),
    **values: Any,
) -> Reason:
    settings = Settings.of(delay=0, store=folder / "crawl.db", **values)
    return Crawl(seeds, settings, transport=httpx.MockTransport(web), on_page=on_page).run()


def asking(*urls: str, **own: object) -> OnPage:
    """Return an `on_page` that enqueues these URLs on the first page."""

    def on_page(page: PageRead) -> None:
        if page.url == f"{HOST}/":
            for url in urls:
                assert page.enqueue(url, **own)  # type: ignore[arg-type]  # its arguments

    return on_page


def states(folder: Path) -> dict[str, str]:
    with Store.open(folder / "crawl.db") as store:
        return {page.url: page.state for page in store.pages()}


def test_a_form_is_posted_and_its_answer_is_a_page_of_its_own(tmp_path: Path) -> None:
    web, titles = Web('<a href="/search">form</a>'), dict[str, str]()

    def on_page(page: PageRead) -> None:
        titles[page.url] = page.title
        if page.url == f"{HOST}/":
            assert page.enqueue("/search", method="POST", body=FORM)
            assert page.enqueue("/search", method="POST", body=b"q=sea")

    assert crawl(tmp_path, web, on_page) is Reason.EMPTY
    posts = [(url, body) for method, url, body in web.got() if method == "POST"]
    assert sorted(posts) == [(SEARCH, FORM), (SEARCH, b"q=sea")]
    types = {one.headers["content-type"] for one in web.asked if one.method == "POST"}
    assert types == {"application/x-www-form-urlencoded"}
    assert titles[POSTED] == "harbour"
    assert titles[posted(SEARCH, b"q=sea")] == "sea"
    assert titles[SEARCH] == "/search"
    assert states(tmp_path)[f"{HOST}/harbour"] == "fetched"
    assert audit(tmp_path / "crawl.db").is_intact
    with Store.open(tmp_path / "crawl.db") as store:
        assert {page.url for page in store.links(f"{HOST}/")} >= {SEARCH, POSTED}
        assert b"harbour" in store.body(POSTED)


def test_headers_go_to_the_page_and_nowhere_else(tmp_path: Path) -> None:
    web = Web('<a href="/b">b</a><a href="/c">c</a>')
    crawl(tmp_path, web, asking("/b", headers={"X-Part": "2", "accept": "text/html"}))
    parts = {one.url.path: one.headers.get("x-part") for one in web.asked}
    assert parts == {"/": None, "/b": "2", "/c": None}
    (asked,) = (one for one in web.asked if one.url.path == "/b")
    assert asked.headers["accept"] == "text/html"


@pytest.mark.parametrize(
    ("robots", "values", "state"),
    [
        ("User-agent: *\nDisallow: /search$", {}, "robots"),
        ("", {"deny": ["/search"]}, "scope"),
        ("", {"max_depth": 0}, "depth"),
    ],
)
def test_robots_txt_scope_and_depth_apply_as_for_any_link(
    tmp_path: Path, robots: str, values: dict[str, Any], state: str
) -> None:
    web = Web(robots=robots)
    crawl(tmp_path, web, asking("/search", method="POST", body=FORM), **values)
    assert states(tmp_path)[POSTED] == state
    assert [method for method, _, _ in web.got()] == ["GET"]


def test_the_next_run_sends_what_this_one_did_not(tmp_path: Path) -> None:
    own = {"method": "POST", "body": FORM, "headers": {"X-Part": "2"}}
    first, second = Web(), Web()
    crawl(tmp_path, first, asking("/search", **own), pages=1)
    assert states(tmp_path)[POSTED] == "unread"
    crawl(tmp_path, second, seeds=(), pages=2)
    assert second.got() == [("POST", SEARCH, FORM)]
    assert second.asked[0].headers["x-part"] == "2"


def test_a_link_that_looks_like_a_post_is_requested_with_get(tmp_path: Path) -> None:
    web = Web(f'<a href="{POSTED}">x</a>')
    crawl(tmp_path, web)
    assert web.got()[1:] == [("GET", POSTED, b"")]


def test_a_post_waits_until_its_body_is_known_on_a_page_with_very_many_links(
    tmp_path: Path,
) -> None:
    """The other links become known in two blocks, and the POST with the step that has its body."""
    others = "".join(f'<a href="/n/{number}">x</a>' for number in range(LINKS_AT_ONCE + 1))
    web, hook = Web(others), asking("/search", method="POST", body=FORM)
    crawl(tmp_path, web, hook, deny=["/n/"])
    with reading(tmp_path / "crawl.db") as connection:
        steps = [row.step for row in step_log.steps_after(connection, 0) if row.step.born]
    _seed, *blocks, home, _found = ((step.kind, step.born) for step in steps)
    assert blocks == [(StepKind.BORN, LINKS_AT_ONCE), (StepKind.BORN, 1)]
    assert home == (StepKind.VISIT, 1)
    assert web.got()[1:] == [("POST", SEARCH, FORM), ("GET", f"{HOST}/harbour", b"")]
    assert audit(tmp_path / "crawl.db").is_intact


@pytest.mark.slow
def test_requests_of_a_program_are_never_taken_for_a_trap(tmp_path: Path) -> None:
    web = Web()

    def on_page(page: PageRead) -> None:
        if page.url == f"{HOST}/":
            for number in range(60):
                page.enqueue("/search", method="POST", body=f"q=same&n={number}".encode())

    crawl(tmp_path, web, on_page)
    assert sum(method == "POST" for method, _, _ in web.got()) == 60


def test_a_take_down_forgets_the_body(tmp_path: Path) -> None:
    crawl(tmp_path, Web(), asking("/search", method="POST", body=FORM))
    assert forget(tmp_path / "crawl.db", POSTED, 0.0).pages == 1
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        assert connection.execute("SELECT count(*) FROM own_requests").fetchone() == (0,)


EMPTY = Response(status=200, headers={}, body=b"")


def page() -> PageRead:
    return page_read(f"{HOST}/", EMPTY, ParsedPage())


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"method": "PUT"}, "PUT"),
        ({"body": b"x"}, "method='POST'"),
        ({"method": "POST", "body": bytes(MOST_BODY_BYTES + 1)}, "1,000,000 bytes"),
        ({"method": "POST", "body": "q=harbour"}, "must be bytes, not str"),
        ({"headers": {"X-Part": 2}}, "not printable ASCII"),
        ({"headers": {"Authorization": "Basic x"}}, "would be stored"),
        ({"headers": {"Cookie": "a=b"}}, "would be stored"),
        ({"headers": {"Host": "b.example"}}, "would break requests"),
        ({"headers": {"Content-Length": "3"}, "method": "POST"}, "would break requests"),
        ({"headers": {"Content-Type": "text/plain"}}, "would break requests"),
        ({"headers": {"User-Agent": "x"}}, "--user-agent"),
        ({"headers": {"a.example=X": "1"}}, "no valid name"),
        ({"headers": {"X-A": "1\r\nHost: b"}}, "not printable ASCII"),
    ],
)
def test_requests_not_to_be_sent_or_stored_are_refused(own: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        page().enqueue("/x", **own)  # type: ignore[arg-type]  # its arguments


def test_a_content_type_replaces_that_of_a_form() -> None:
    asked = page()
    assert asked.enqueue("/", method="POST", headers={"Content-Type": "text/csv"}, body=b"a,b")
    assert not asked.enqueue("/")
    assert not asked.enqueue("/" + "x" * 2000, method="POST")
    (link,) = asked.enqueued
    assert link[1]
    assert link[1].headers == (("content-type", "text/csv"),)


def test_in_shards_own_requests_are_refused() -> None:
    hooks = Hooks(on_page=asking("/x", headers={"X-A": "1"}))
    hooks.is_shard = True
    handed = asyncio.run(hooks.hand_over(f"{HOST}/", EMPTY, ParsedPage(), 0, strip_marks=True))
    assert isinstance(handed, UsageError)


KILLED = """
import os, signal, sys
import httpx
from minicrawl import Crawl, Settings

def answer(request):
    if request.url.path == "/robots.txt":
        return httpx.Response(404)
    if request.method == "POST":
        print(request.url, request.content.decode(), request.headers["x-part"], flush=True)
        if sys.argv[2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return httpx.Response(200, html=f"<title>{request.method}</title>{request.url}")

def on_page(page):
    if page.url == "http://a.example/":
        page.enqueue("/search", method="POST", body=b"q=1", headers={"X-Part": "2"})

settings = Settings.of(delay=0, store=sys.argv[1] + "/crawl.db")
Crawl(["http://a.example/"], settings, transport=httpx.MockTransport(answer), on_page=on_page).run()
"""


@pytest.mark.slow
def test_a_crawl_that_is_killed_at_a_post_sends_it_again(tmp_path: Path) -> None:
    def run(how: str) -> subprocess.CompletedProcess[str]:
        return run_python("-c", KILLED, tmp_path, how)

    killed, finished = run("kill"), run("finish")
    assert (killed.returncode, finished.returncode) == (-signal.SIGKILL, 0)
    assert killed.stdout == finished.stdout == f"{SEARCH} q=1 2\n"
    assert states(tmp_path)[posted(SEARCH, b"q=1")] == "fetched"
    assert audit(tmp_path / "crawl.db").is_intact
