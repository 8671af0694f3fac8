"""Pages whose use is denied by robots.txt, tdmrep.json or RSL are not fetched."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from minicrawl.model import FetchResult, Request
from minicrawl.states import State
from minicrawl.store.reader import reading
from tests.crawl.fakes import Answer, FakeWeb, Run, crawl, failed, html, moved, text, web_of
from tests.crawl.hosts.test_onboarding import ROBOTS, A, B, C, are_apart, starts

TDMREP = f"{A}/.well-known/tdmrep.json"
PAGES = ("", "art/1", "open", "shop")
DENIES = text('[{"location": "/art/", "tdm-reservation": 1}]')
RSL = text(
    '<rsl><content url="/shop"><license><prohibits type="usage">ai-train</prohibits></license>'
    "</content></rsl>"
)


def web_of_preferences(robots: str, others: Mapping[str, Answer] | None = None) -> FakeWeb:
    answers = {f"{A}/{page}": html(*(f"/{one}" for one in PAGES)) for page in PAGES}
    files = {ROBOTS: text(robots), TDMREP: DENIES, f"{A}/license.xml": RSL}
    return FakeWeb(answers | files | {f"{A}/{name}": one for name, one in (others or {}).items()})


def refused(run: Run) -> set[str]:
    return {url.removeprefix(f"{A}/") for url, state in run.states.items() if state is State.ROBOTS}


ALL_THREE = "License: /license.xml\nUser-agent: *\nContent-Usage: /open ai-train=n"


def test_pages_that_deny_a_use_are_not_fetched(path: Path) -> None:
    web = web_of_preferences(ALL_THREE)
    run = crawl(web, path, f"{A}/", obey_usage="ai-train", delay=2)
    assert refused(run) == {"art/1", "open", "shop"}
    files = [ROBOTS, TDMREP, f"{A}/license.xml"]
    assert [visit.url for visit in web.visits] == [*files, f"{A}/"]
    assert are_apart(starts(web, A), 2)
    with reading(path) as connection:
        details = dict(connection.execute("SELECT url, detail FROM requests"))
    assert details[f"{A}/art/1"] == "tdmrep.json denies ai-train"
    assert details[f"{A}/shop"] == "rsl denies ai-train"


@pytest.mark.parametrize("settings", [{"obey_usage": "search"}, {}])
def test_pages_whose_denied_use_does_not_matter_are_fetched(
    settings: dict[str, Any], path: Path
) -> None:
    web = web_of_preferences(ALL_THREE)
    assert not refused(crawl(web, path, f"{A}/", **settings))
    assert ({TDMREP, f"{A}/license.xml"} <= {visit.url for visit in web.visits}) == bool(settings)


@pytest.mark.parametrize(
    ("robots", "denied"),
    [
        ("User-agent: *\nDisallow: /.well-known/", set()),  # robots.txt applies to it
        ("", {"art/1"}),
        ("License: /moved.xml", {"art/1", "shop"}),
        ("License: /endless.xml", {"art/1"}),
        ("License: /down.xml", {"art/1"}),
        ("License: mailto:a@a.example", {"art/1"}),
        (f"License: {B}/license.xml", {"art/1"}),  # robots.txt of b.example forbids it
        (f"License: {C}/license.xml", {"art/1", "shop"}),
    ],
)
def test_preferences_are_requested_like_sitemaps(robots: str, denied: set[str], path: Path) -> None:
    web = web_of_preferences(
        robots,
        {
            "moved.xml": moved("/license.xml"),
            "endless.xml": moved("/endless.xml"),
            "down.xml": failed(State.NOT_FOUND),
        },
    )
    elsewhere = '<rsl><content url="{}/shop"><license><prohibits type="usage">all</prohibits>'
    for origin, rules in ((B, "User-agent: *\nDisallow: /"), (C, "")):
        web.answers |= {
            f"{origin}/robots.txt": text(rules),
            f"{origin}/license.xml": text(elsewhere.format(A)),
        }
    run = crawl(web, path, f"{A}/", obey_usage="ai-train")
    assert refused(run) == denied
    assert len(web.visits) < 20


def test_a_slow_file_of_preferences_that_loses_its_slot_is_requested_again(path: Path) -> None:
    async def slow(_: Request) -> FetchResult:
        await asyncio.sleep(8)
        return text('[{"location": "/", "tdm-reservation": 1}]')

    answers: dict[str, Answer] = web_of({f"{C}/": [f"{C}/{n}" for n in range(100)]})
    for origin in (A, B):
        answers |= {f"{origin}/.well-known/tdmrep.json": slow, f"{origin}/": html(title=origin)}
    web = FakeWeb(answers, elsewhere=html(title="other"), takes_s=0.1)
    robots = {f"{origin}/robots.txt": text("") for origin in (A, B, C)}
    web.answers |= robots | {f"{C}/.well-known/tdmrep.json": failed(State.NOT_FOUND)}
    seeds = (f"{A}/", f"{B}/", f"{C}/")
    run = crawl(web, path, *seeds, obey_usage="ai-train", concurrency=2, delay=0.2)
    assert [run.states[f"{origin}/"] for origin in (A, B)] == [State.ROBOTS] * 2
    assert len(web.visits_of(A)) > 2
