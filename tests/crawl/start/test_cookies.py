"""Cookies of a crawl: all processes share its sessions, and the next run continues them."""

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from minicrawl import Crawl, Settings
from minicrawl.config import load
from minicrawl.crawl.start.cookies import WithCookies, with_cookies
from minicrawl.crawl.workers.visitor import Visitor, WorkerConfig
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.errors import UsageError
from minicrawl.model import Request
from minicrawl.report.progress.crawl_status import status
from minicrawl.web.cookies.files import HEADER
from minicrawl.web.cookies.jar import CookieJar
from tests.crawl.fakes import FakeWeb, html
from tests.crawl.jumping_clock import FakeClock, in_time

PAGES = 5
HTML = {"Content-Type": "text/html"}


class SessionWeb:
    """Sites that redirect a request without a cookie to the same URL and set one."""

    def __init__(self) -> None:
        self.sessions = 0
        self.cookies: list[str] = []

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return DemoResponse(404, {})
        self.cookies.append(headers.get("cookie", ""))
        if "session=" not in headers.get("cookie", ""):
            self.sessions += 1
            cookie = f"session=n{self.sessions}; Path=/; HttpOnly"
            return DemoResponse(302, {"Location": target, "Set-Cookie": cookie})
        links = "".join(f'<a href="/{n}">{host}{target}</a>' for n in range(PAGES))
        again = {"Set-Cookie": "seen=1; Path=/"} | HTML
        return DemoResponse(200, again, f"<title>{host}{target}</title>{links}".encode())


@pytest.fixture
def web() -> SessionWeb:
    return SessionWeb()


@pytest.fixture
def server(web: SessionWeb) -> Iterator[DemoServer]:
    with DemoServer(web) as served:
        yield served


def run(server: DemoServer, store: Path, *seeds: str, **more: object) -> Crawl:
    said = {"delay": 0, "allow_private": True, "resolve": f"*={server.address}", "workers": 0}
    crawl = Crawl(seeds, load({**said, "store": store, **more}, {}, None))
    crawl.run()
    return crawl


def crawled(server: DemoServer, store: Path, **more: object) -> int:
    run(server, store, "http://a.example/", "http://b.example/", keep="pages", **more)
    return status(store).pages_fetched or 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_site_that_redirects_to_itself_with_a_cookie_is_read(
    web: SessionWeb, server: DemoServer, tmp_path: Path, workers: int
) -> None:
    store = tmp_path / "crawl.db"
    assert crawled(server, store, workers=workers, cookies="on") == 2 * PAGES + 2
    assert web.sessions == 2  # one for each site, shared by all processes
    jar = tmp_path / "crawl.db-cookies"
    assert stat.S_IMODE(jar.stat().st_mode) == 0o600
    assert "session\tn1" in jar.read_text()
    files = [one for one in tmp_path.rglob("*") if one.is_file() and one != jar]
    assert not [one for one in files if b"session=n" in one.read_bytes()]


class LoginWeb:
    """A page without a session leads to a login that sets one, and back."""

    def __init__(self, *, believes: bool = True) -> None:
        self.asked: list[str] = []
        self.believes = believes

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return DemoResponse(404, {})
        self.asked.append(target)
        path, _, back = target.partition("?back=")
        if path == "/login":
            return DemoResponse(302, {"Location": back, "Set-Cookie": "session=1; Path=/"})
        if path == "/old":
            return DemoResponse(301, {"Location": "/1"})
        if not (self.believes and "session=1" in headers.get("cookie", "")):
            return DemoResponse(302, {"Location": f"/login?back={target}"})
        links = "".join(f'<a href="/{n}">{host}{target}</a>' for n in range(PAGES))
        return DemoResponse(200, HTML, f"<title>{host}{target}</title>{links}".encode())


def logged_in(store: Path, web: LoginWeb, **more: object) -> dict[str, str]:
    """Crawl, and return the state of each page by path."""
    with DemoServer(web) as server:
        crawl = run(server, store, "http://a.example/", "http://a.example/old", **more)
        return {row.url.removeprefix("http://a.example"): row.state for row in crawl.pages()}


def test_a_page_that_leads_to_a_login_and_back_is_read(tmp_path: Path) -> None:
    web = LoginWeb()
    found = logged_in(tmp_path / "crawl.db", web, cookies="on")
    assert {path: state for path, state in found.items() if "back" not in path} == {
        "/old": "moved",
        **{f"/{number}": "fetched" for number in ["", *range(PAGES)]},
    }
    logins = [path for path in web.asked if path.startswith("/login")]
    assert len(web.asked) == PAGES + 2 + 2 * len(logins)  # each login, and its page again
    assert len(logins) <= 2


@pytest.mark.parametrize(
    ("believes", "settings", "end", "times"),
    [
        pytest.param(False, {"cookies": "on"}, "/", 2, id="the site believes no cookie"),
        pytest.param(True, {}, "/login?back=/", 1, id="there is no jar"),
    ],
)
def test_a_login_without_a_session_is_a_circle(
    path: Path, believes: bool, settings: dict[str, str], end: str, times: int
) -> None:
    web = LoginWeb(believes=believes)
    found = logged_in(path, web, **settings)
    assert found[end] == "bad-redirect"
    assert web.asked.count("/") == times


def test_without_jar_no_cookie_is_sent(web: SessionWeb, server: DemoServer, tmp_path: Path) -> None:
    assert crawled(server, tmp_path / "crawl.db") == 0
    assert set(web.cookies) == {""}
    assert not (tmp_path / "crawl.db-cookies").exists()


def test_the_next_run_keeps_the_session(web: SessionWeb, server: DemoServer, path: Path) -> None:
    crawled(server, path, cookies="on", new_pages=3)
    crawled(server, path, new_pages=3)  # the store keeps the setting of the first run
    assert web.sessions == 2


def test_a_file_fills_an_older_jar(web: SessionWeb, server: DemoServer, tmp_path: Path) -> None:
    file, store = tmp_path / "cookies.txt", tmp_path / "crawl.db"
    line = ".{}.example\tTRUE\t/\tFALSE\t0\tsession\t{}\n"
    file.write_text(HEADER + line.format("a", "mine") + line.format("b", "mine"))
    crawled(server, store, cookies=file, new_pages=2)
    assert web.sessions == 0
    file.write_text(HEADER + line.format("a", "newer"))
    jar = tmp_path / "crawl.db-cookies"
    os.utime(jar, (1, 1))
    web.cookies.clear()
    crawled(server, store, cookies=file)
    assert any("session=newer" in one for one in web.cookies)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"# a\nbad s3cret", r"cookies\.txt:2: must have 7 fields"),
        (b"\xff\xff", "not UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_bad_file_is_refused_at_once(tmp_path: Path, content: bytes | None, why: str) -> None:
    file, store = tmp_path / "cookies.txt", tmp_path / "crawl.db"
    if content is not None:
        file.write_bytes(content)
    settings = Settings.of(store=store, cookies=file)
    with pytest.raises(UsageError, match=why) as refused:
        Crawl(["http://a.example/"], settings).run()
    assert "s3cret" not in str(refused.value)
    assert not store.exists()


def setting_cookies(*cookies: str) -> tuple[FakeWeb, Visitor]:
    """Return a web whose responses all set these cookies, and access to it."""
    web = FakeWeb({}, elsewhere=html()._replace(cookies=cookies))
    return web, Visitor(web, WorkerConfig.of(Settings()))


def test_the_jar_is_saved_during_the_crawl(tmp_path: Path) -> None:
    settings = Settings.of(cookies="on", store=tmp_path / "crawl.db")
    jar = tmp_path / "crawl.db-cookies"

    async def go_on() -> None:
        access = with_cookies(setting_cookies("a=b")[1], settings, FakeClock())
        async with access as web:
            await web.fetch(Request(url="http://a.example/"))
            while not jar.exists():
                await asyncio.sleep(1)

    in_time(go_on(), for_ever_s=60)
    assert "a.example\tFALSE\t/\tFALSE\t0\ta\tb" in jar.read_text()


def test_an_anonymous_request_has_no_cookies_and_sets_none() -> None:
    url, jar, (sent, access) = "https://a.example/", CookieJar(), setting_cookies("session=new")
    jar.take(url, ("session=old",), 0.0)
    web = WithCookies(access, jar, FakeClock())
    found = in_time(web.fetch(Request(url=url, is_anonymous=True)))
    assert found.cookies == ()
    assert jar.header(url, 0.0) == "session=old"
    in_time(web.fetch(Request(url=url)))
    assert jar.header(url, 0.0) == "session=new"
    assert [visit.request.cookies for visit in sent.visits] == ["", "session=old"]
