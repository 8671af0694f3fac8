"""Delays and pauses of hosts, and tries of pages that fail."""

from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl import Delayed, Event, Reason
from minicrawl.model import Failed, FetchResult, Want
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.crawl.fakes import FakeWeb, Scene, crawl, failed, html, in_turn, moved, text, waits
from tests.crawl.jumping_clock import NOON
from tests.crawl.loop.webs import FORBIDDING, A, B, star


def test_a_host_has_one_request_at_a_time_and_waits_exactly_the_delay(path: Path) -> None:
    web = FakeWeb(star(A, 8) | star(B, 8), takes_s=0.7)
    crawl(web, path, f"{A}/", f"{B}/", delay=2)
    for origin in (A, B):
        robots_txt, *pages = visits = web.visits_of(origin)
        assert (robots_txt.url, robots_txt.request.want) == (f"{origin}/robots.txt", Want.TEXT)
        assert all(visit.request.want is Want.PAGE for visit in pages)
        assert waits(visits) == pytest.approx([2] * 9)
    assert web.most_at_once == 2


def test_http_and_https_of_a_name_share_one_delay(path: Path) -> None:
    secure = A.replace("http:", "https:")
    web = FakeWeb(star(A, 5) | star(secure, 5))
    crawl(web, path, f"{A}/", f"{secure}/", delay=1)
    starts = sorted(visit.began for visit in web.visits)
    assert len(starts) == 14
    assert all(later - sooner >= 1 for sooner, later in pairwise(starts))


def test_a_crawl_ends_without_the_delay_of_hosts_that_have_no_more_pages(path: Path) -> None:
    web = FakeWeb(star(A, 1) | {f"{A}/robots.txt": text("User-agent: *\nCrawl-delay: 50")})
    assert crawl(web, path, f"{A}/").ended_at == web.visits[-1].ended


def test_refreshing_goes_on_at_other_hosts_while_one_is_slow(path: Path) -> None:
    slow = star(A, 9) | {f"{A}/robots.txt": text("User-agent: *\nCrawl-delay: 50")}
    web = FakeWeb(slow | star(B, 5))
    crawl(web, path, f"{A}/0", f"{B}/0")
    run = crawl(web, path, refresh=1, continuous=True, for_="40s", delay=1)
    assert sum(url.startswith(B) for url in run.asked) > 32
    assert sum(url.startswith(A) for url in run.asked) <= 1


def test_retry_after_is_kept(path: Path) -> None:
    throttled = failed(State.THROTTLED, retry_after="90")
    web = FakeWeb(star(A, 3) | {f"{A}/": in_turn(throttled, html("/0", "/1"))})
    run = crawl(web, path, f"{A}/", delay=1)
    assert waits(web.visits_of(A)) == [1, 90, 1, 1]
    assert any(isinstance(event, Delayed) and event.url == f"{A}/" for event in run.events)
    assert set(run.states.values()) == {State.FETCHED}


def test_later_runs_keep_the_long_pause_that_a_host_asked_for(path: Path) -> None:
    web = FakeWeb({f"{A}/": in_turn(failed(State.THROTTLED, "600"), html())})
    assert crawl(web, path, f"{A}/", for_="5s").reason is Reason.BUDGET
    assert crawl(web, path, for_="5s", later_s=5).asked == []
    run = crawl(web, path, later_s=300)
    assert run.settled == {f"{A}/": State.FETCHED}
    (began,) = (visit.began for visit in web.visits[-1:])
    assert 1280 < began < 1310  # the first run began at 1000


def test_pauses_after_failures_double(path: Path) -> None:
    web = FakeWeb({f"{A}/": failed(State.SERVER_ERROR)})
    crawl(web, path, f"{A}/")
    assert waits(web.visits_of(A))[1:] == [1, 2]


def test_pages_of_a_host_that_is_down_are_settled_without_a_request(path: Path) -> None:
    seeds = [f"{A}/{n}" for n in range(20)]
    web = FakeWeb(dict.fromkeys(seeds, failed(State.CONNECT)))
    run = crawl(web, path, *seeds)
    assert 0 < len(web.asked) < 10
    assert set(run.states.values()) == {State.CONNECT}


def test_every_request_for_a_page_is_recorded(path: Path) -> None:
    crawl({f"{A}/": in_turn(failed(State.RESET), html())}, path, f"{A}/")
    with reading(path) as connection:
        second, first = tables.last_fetches(connection, 0, 9)
    assert (second.outcome, second.status, second.wire_bytes > 0) == ("page", 200, True)
    assert (first.outcome, first.status, first.wire_bytes) == ("failed:reset", None, 0)
    assert NOON < first.at < second.at


@pytest.mark.parametrize("max_tries", [1, 2, 5])
@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (failed(State.SERVER_ERROR), 3),
        (failed(State.TIMEOUT), 2),
        (moved(f"{A}/bad?PHPSESSID={'0f' * 16}"), 3),  # a redirect to the page itself
    ],
)
def test_tries_survive_the_end_of_a_run(
    answer: FetchResult, most: int, max_tries: int, path: Path
) -> None:
    def stop(scene: Scene, event: Event) -> None:
        if isinstance(event, Delayed):
            scene.crawler.stop()

    web = FakeWeb({f"{A}/": html("/bad"), f"{A}/bad": answer})
    for _ in range(9):
        crawl(web, path, f"{A}/", hear=stop, max_tries=max_tries)
    tries = min(most, max_tries) if isinstance(answer, Failed) else most
    assert web.asked.count(f"{A}/bad") == tries


def test_a_page_that_was_given_up_has_all_its_tries_again(path: Path) -> None:
    web = FakeWeb({f"{A}/": html("/bad"), f"{A}/bad": failed(State.SERVER_ERROR)})
    crawl(web, path, f"{A}/")
    crawl(web, path, later_s=86_400.0)
    assert web.asked.count(f"{A}/bad") == 6


def test_robots_txt_is_requested_again_after_a_day_by_the_clock(path: Path) -> None:
    web = FakeWeb(star(A, 5))

    def turn_the_clock(scene: Scene, _: Event) -> None:
        if len(web.asked) == 3 and not scene.clock.turned_s:
            web.answers[f"{A}/robots.txt"] = FORBIDDING
            scene.clock.turned_s = 86_400

    run = crawl(web, path, f"{A}/", hear=turn_the_clock)
    urls = [visit.url for visit in web.visits]
    assert urls.count(f"{A}/robots.txt") == 2
    assert urls.index(f"{A}/robots.txt", 1) == len(urls) - 1
    assert list(run.states.values()).count(State.ROBOTS) == 3
