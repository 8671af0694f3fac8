"""A crawl that fetches what is in focus, and what is at most some links away from it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from minicrawl.app import Crawl
from minicrawl.config import Focus, Settings
from minicrawl.crawl.events import Noted
from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.report.page_states import explain
from minicrawl.report.snapshot import snapshot
from tests.crawl.fakes import Answer, crawl, html, moved, web_of
from tests.crawl.test_loop import tangle

A = "http://a.example"
TOPIC = (Focus(pattern="/topic", strength=1.0),)
WEB = web_of(
    {
        f"{A}/": ["/topic/1", "/off/1"],
        f"{A}/topic/1": ["/off/a"],
        f"{A}/off/a": ["/off/b"],
        f"{A}/off/b": ["/topic/2", "/off/c"],
        f"{A}/off/c": ["/topic/3"],
        f"{A}/topic/2": [],
        f"{A}/topic/3": [],
        f"{A}/off/1": ["/off/2"],
        f"{A}/off/2": ["/off/3"],
        f"{A}/off/3": ["/topic/far"],
        f"{A}/topic/far": [],
    }
)


def fetched(states: dict[str, State]) -> set[str]:
    return {url.removeprefix(A) for url, state in states.items() if state is State.FETCHED}


def test_without_links_in_between_only_seeds_and_what_matches_is_fetched(tmp_path: Path) -> None:
    run = crawl(WEB, tmp_path / "crawl.db", f"{A}/", focus=TOPIC, focus_only=0)
    assert fetched(run.states) == {"/", "/topic/1"}
    assert run.states[f"{A}/off/1"] is State.FOCUS


def test_what_leads_there_within_some_links_is_fetched_as_well(tmp_path: Path) -> None:
    run = crawl(WEB, tmp_path / "crawl.db", f"{A}/", focus=TOPIC, focus_only=2)
    near = {"/", "/topic/1", "/off/a", "/off/b", "/topic/2", "/off/1", "/off/2"}
    assert fetched(run.states) == near
    assert run.states[f"{A}/off/3"] is State.FOCUS
    assert run.states[f"{A}/off/c"] is State.FOCUS
    assert f"{A}/topic/far" not in run.states


def test_explain_says_why_a_page_is_not_fetched(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawl(WEB, path, f"{A}/", focus=TOPIC, focus_only=0)
    with snapshot(path) as seen:
        (reason,) = explain(seen, f"{A}/off/1").reasons
    assert "--focus-only" in reason


def test_the_words_of_one_link_are_enough(tmp_path: Path) -> None:
    apart = f"<p>{'and so on ' * 20}</p>"
    web: dict[str, Answer] = {
        f"{A}/": html(body=f'<a href="/1">sea</a>{apart}<a href="/2">land</a>'),
        f"{A}/1": html(body=f'<a href="/2">land</a>{apart}the harbour <a href="/3">here</a>'),
        f"{A}/2": html(body="not read"),
        f"{A}/3": html(body=f'<a href="/2">the isle</a>{apart}<a href="/4">sea</a>'),
        f"{A}/4": html(body="read"),
    }
    words = (Focus(pattern="sea harbour", strength=1.0),)
    run = crawl(web, tmp_path / "crawl.db", f"{A}/", focus_words=words, focus_only=0)
    assert fetched(run.states) == {"/", "/1", "/3", "/4"}


def test_a_redirect_is_no_link(tmp_path: Path) -> None:
    web = web_of({f"{A}/": ["/topic/1"], f"{A}/new": ["/off"], f"{A}/off": []}) | {
        f"{A}/topic/1": moved("/new")
    }
    run = crawl(web, tmp_path / "crawl.db", f"{A}/", focus=TOPIC, focus_only=0)
    assert run.states[f"{A}/new"] is State.FETCHED
    assert run.states[f"{A}/off"] is State.FOCUS


def test_with_a_larger_limit_the_pages_wait_again_that_are_near_enough_now(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawl(WEB, path, f"{A}/", focus=TOPIC, focus_only=1)
    run = crawl(WEB, path, focus=TOPIC, focus_only=2)
    said = [event.text for event in run.events if isinstance(event, Noted)]
    assert said == ["focus-only 2 (was 1): 2 pages wait again"]
    assert run.states[f"{A}/off/b"] is State.FETCHED
    assert run.states[f"{A}/off/c"] is State.FOCUS


def test_another_focus_is_that_of_all_pages(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawl(WEB, path, f"{A}/", focus=TOPIC, focus_only=0)
    run = crawl(WEB, path, focus=(Focus(pattern="/off", strength=1.0),), focus_only=0)
    assert {f"/off/{name}" for name in "123abc"} <= fetched(run.states)
    assert run.states[f"{A}/topic/2"] is State.FOCUS


def test_a_limit_without_a_focus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--focus-only needs a focus"):
        Crawl([A], Settings.of(focus_only=1, store=tmp_path / "crawl.db")).run()


@hypothesis_settings(max_examples=20)
@given(seed=st.integers(0, 10_000), limit=st.integers(0, 2), stops=st.integers(0, 3))
def test_whatever_the_order_and_the_stops_the_same_pages_are_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, limit: int, stops: int
) -> None:
    links = tangle(25, hosts=2, links=3, seed=seed)
    first = next(iter(links))
    is_topic = {url: url[-1] in "37" for url in links}
    focus = (Focus(pattern="[37]$", strength=1.0),)
    away = {first: 0}
    changed = True
    while changed:
        changed = False
        for url in [url for url, far in away.items() if far <= limit]:
            for end in links[url]:
                far = 0 if is_topic[end] else away[url] + 1
                if far < away.get(end, 255):
                    away[end], changed = far, True
    path = tmp_path_factory.mktemp("focus") / "crawl.db"
    for pages in range(1, stops + 1):
        crawl(web_of(links), path, first, focus=focus, focus_only=limit, pages=pages)
    run = crawl(web_of(links), path, first, focus=focus, focus_only=limit)
    read = {url for url, state in run.states.items() if state is State.FETCHED}
    assert read == {url for url, far in away.items() if far <= limit}
