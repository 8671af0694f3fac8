"""Pages served differently to browsers are found; pages that merely change are not."""

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl import MinicrawlError, Settings, __version__
from minicrawl.app import SystemClock
from minicrawl.checking.cloaking import BROWSER, check_cloaking
from minicrawl.checking.cloaking_judgement import Cloaking
from minicrawl.cli import main
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.pytest_plugin import DictWeb
from minicrawl.demo.server import DemoServer
from minicrawl.fetch.access.signing import SigningKey
from tests.crawl.jumping_clock import FakeClock, in_time

URL = "http://a.example/page"
STORY = " ".join(f"word{number} of the story goes on" for number in range(60))
OTHER = " ".join(f"cheap{number} pills are sold here" for number in range(60))
ROBOTS = "/robots.txt"

Captured = pytest.CaptureFixture[str]
Page = Callable[[bool], httpx.Response]
"""Function from whether a browser asks to the response."""


class TwoFaced:
    """Host that can serve browsers another page, and records its requests."""

    def __init__(self, page: Page, robots: str = "") -> None:
        self._page, self._robots = page, robots
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if request.url.path == ROBOTS:
            return httpx.Response(200, text=self._robots)
        return self._page(request.headers["user-agent"] == BROWSER)

    @property
    def pages(self) -> list[httpx.Request]:
        return [one for one in self.asked if one.url.path != ROBOTS]


def checked(web: TwoFaced, **values: Any) -> Cloaking:
    settings = Settings.of(**{"delay": 0, "address_delay": 0, **values})
    transport = httpx.MockTransport(web)
    return asyncio.run(check_cloaking(URL, settings, SystemClock(), transport))


def differences(page: Page) -> set[str]:
    return {one.what for one in checked(TwoFaced(page)).differences}


def html(text: str, title: str = "A story", head: str = "") -> httpx.Response:
    return httpx.Response(200, html=f"<title>{title}</title>{head}<p>{text}")


def links_to(count: int, host: str) -> str:
    return "".join(f'<a href="http://{host}/{number}">x</a> ' for number in range(count))


def test_an_equal_page_is_not_cloaked_and_requests_differ_only_in_user_agent(
    tmp_path: Path,
) -> None:
    web = TwoFaced(lambda _: html(STORY))
    found = checked(web, contact="https://bot.example/")
    assert not found.is_cloaked
    assert not found.is_unsteady
    assert (found.likeness, found.steadiness, found.links) == (1.0, 1.0, 1.0)
    own = f"minicrawl/{__version__} (+https://bot.example/)"
    assert [one.headers["user-agent"] for one in web.pages] == [own, BROWSER, own, BROWSER]
    others = [[one for one in web.headers.items() if one[0] != "user-agent"] for web in web.pages]
    assert others[0] == others[1]
    SigningKey.create(tmp_path / "bot.pem")
    web.asked.clear()
    checked(web, contact="https://bot.example/", sign_requests=tmp_path / "bot.pem")
    assert ["signature" in one.headers for one in web.pages] == [True, False, True, False]


def test_a_different_text_for_browsers_is_found_and_shown() -> None:
    found = checked(TwoFaced(lambda browser: html(STORY if browser else OTHER)))
    assert {one.what for one in found.differences} == {"text"}
    assert found.likeness < 0.1
    assert found.only_for(crawler=True) == [OTHER]
    assert found.only_for(crawler=False) == [STORY]


@pytest.mark.parametrize(("story", "is_unsteady"), [(STORY, False), ("", True)])
def test_content_that_changes_with_every_response_is_not_cloaking(
    story: str, is_unsteady: bool
) -> None:
    numbers = count()

    def page(_: bool) -> httpx.Response:
        number = next(numbers)
        ads = " ".join(f"advert{number} for thing{one}{number}" for one in range(20))
        links = links_to(10, f"ad{number}.example")
        return html(f"{story}<p>{ads}{links}", title=f"A story, read {number} times")

    found = checked(TwoFaced(page))
    assert not found.is_cloaked
    assert found.is_unsteady is is_unsteady


@pytest.mark.parametrize(
    ("what", "crawler", "browser"),
    [
        ("answer", httpx.Response(403), html(STORY)),
        ("answer", html(STORY), httpx.Response(404)),
        ("title", html(STORY, "Pills"), html(STORY)),
        ("robots", html(STORY), html(STORY, head="<meta name=robots content=noindex>")),
        ("canonical", html(STORY, head='<link rel=canonical href="/other">'), html(STORY)),
        ("links", html(f"{STORY}{links_to(5, 'spam.example')}"), html(STORY)),
    ],
)
def test_each_difference_is_named(
    what: str, crawler: httpx.Response, browser: httpx.Response
) -> None:
    assert differences(lambda is_browser: browser if is_browser else crawler) == {what}


def test_only_many_additional_internal_links_or_words_are_a_difference() -> None:
    more = links_to(40, "a.example")
    assert differences(lambda is_browser: html(STORY + more if is_browser else STORY)) == {"links"}
    many = links_to(100, "a.example")
    few = f"{links_to(90, 'a.example')}<p>Get our program"
    assert differences(lambda is_browser: html(STORY + (many if is_browser else few))) == set()


def test_redirects_to_private_addresses_are_not_followed() -> None:
    away = httpx.Response(302, headers={"location": "http://10.0.0.1/"})
    web = TwoFaced(lambda is_browser: html(STORY) if is_browser else away)
    found = checked(web)
    assert {one.what for one in found.differences} == {"answer"}
    assert found.crawler[0].why.startswith("address")
    assert not any(one.url.host == "10.0.0.1" for one in web.asked)


def test_a_page_that_robots_txt_forbids_is_never_requested() -> None:
    web = TwoFaced(lambda *_: html(STORY), robots="User-agent: minicrawl\nDisallow: /")
    with pytest.raises(MinicrawlError, match=r"robots\.txt forbids it"):
        checked(web)
    assert web.pages == []


def test_requests_keep_the_delay_of_the_host() -> None:
    clock, moments = FakeClock(), list[float]()
    web = TwoFaced(lambda *_: html(STORY), robots="User-agent: *\nCrawl-delay: 7")

    def answer(request: httpx.Request) -> httpx.Response:
        moments.append(clock.now())
        return web(request)

    settings = Settings.of(delay=2, address_delay=0)
    in_time(check_cloaking(URL, settings, clock, httpx.MockTransport(answer)))
    assert [later - before for before, later in pairwise(moments)] == [7, 7, 7, 7]


class TestCommand:
    def test_the_command_shows_differences_and_exits_with_1(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Site(DictWeb):
            for_browsers = False

            def answer(
                self, host: str, target: str, headers: Mapping[str, str], visits: int
            ) -> DemoResponse:
                is_browser = any("Firefox" in one for one in headers.values())
                if self.for_browsers and not is_browser and target != ROBOTS:
                    target = "/none"
                return super().answer(host, target, headers, visits)

        web = Site({URL: f"<title>\x1b[1mStory</title>{STORY}"})
        with DemoServer(web) as server:
            monkeypatch.setenv("MINICRAWL_DELAY", "0")
            monkeypatch.setenv("MINICRAWL_ADDRESS_DELAY", "0")
            monkeypatch.setenv("MINICRAWL_RESOLVE", f"*={server.address}")
            assert main(["check", "--cloaking", URL]) == 0
            same = capsys.readouterr().out
            web.for_browsers = True
            assert main(["check", "--cloaking", URL]) == 1
            out = capsys.readouterr().out
            assert main(["check", "--cloaking", URL, "--json"]) == 1
        assert "not-found" in out
        assert "not-found" not in same
        assert "\x1b" not in out + same
        assert json.loads(capsys.readouterr().out)["cloaked"] is True

    @pytest.mark.parametrize("url", ["", "ftp://a.example/", "?!", "\0"])
    def test_an_invalid_url_is_refused(self, url: str, capsys: Captured) -> None:
        assert main(["check", "--cloaking", url]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
