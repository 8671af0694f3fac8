"""If the clock is turned by a year, no host is asked too soon, and no page waits for a year."""

from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl import Asked, Event
from minicrawl.config import Politeness
from minicrawl.states import State
from tests.crawl.fakes import FakeWeb, Scene, crawl, failed, html, in_turn, text, web_of
from tests.crawl.jumping_clock import NOON

A, B = "http://a.example", "http://b.example"
YEAR_S = 365 * 86_400.0
AHEAD, BEHIND = YEAR_S, -YEAR_S

either_way = pytest.mark.parametrize("turned_s", [AHEAD, BEHIND])


def a_web() -> FakeWeb:
    """Return a web of two hosts: one wants a delay, and the other one a long pause, once."""
    links = {f"{host}/{n}": [f"{A}/{n + 1}", f"{B}/{n + 1}"] for host in (A, B) for n in range(5)}
    answers = web_of(links)
    busy = failed(State.THROTTLED, retry_after="600")
    answers[f"{B}/2"] = in_turn(busy, answers[f"{B}/2"])
    answers[f"{A}/robots.txt"] = text("User-agent: *\nCrawl-delay: 7")
    return FakeWeb(answers, takes_s=0.5)


@either_way
def test_turning_the_clock_costs_one_more_request_for_robots_txt_and_no_time(
    path: Path, tmp_path: Path, turned_s: float
) -> None:
    def turn(scene: Scene, event: Event) -> None:
        if isinstance(event, Asked) and len(scene.web.visits) > 5:
            scene.clock.turned_s = turned_s

    plain, turned = a_web(), a_web()
    crawl(plain, path, f"{A}/0", f"{B}/0", delay=2)
    crawl(turned, tmp_path / "turned.db", f"{A}/0", f"{B}/0", delay=2, hear=turn)
    assert sorted(turned.asked) == sorted(plain.asked)
    for host, pause_s in ((A, 7), (B, 2)):
        visits, before = turned.visits_of(host), plain.visits_of(host)
        assert len(visits) == len(before) + 1
        assert visits[-1].ended <= before[-1].ended + pause_s + visits[-1].ended - visits[-1].began
        assert min(b.began - a.ended for a, b in pairwise(visits)) >= pause_s


@either_way
def test_a_host_that_wants_a_pause_does_not_wait_for_a_year(path: Path, turned_s: float) -> None:
    web = FakeWeb(web_of({f"{A}/0": []}))
    web.answers[f"{A}/0"] = in_turn(failed(State.THROTTLED, retry_after="3600"), html())
    crawl(web, path, f"{A}/0", for_="5s")
    run = crawl(web, path, later_s=turned_s)
    assert run.states == {f"{A}/0": State.FETCHED}
    assert web.visits[-1].began <= 1000 + Politeness().max_pause_s


def test_a_retry_after_in_the_past_allows_no_request_at_once(path: Path) -> None:
    """The server's clock may be right, and ours ahead."""
    busy = failed(State.THROTTLED, retry_after=format_datetime(datetime.fromtimestamp(NOON, UTC)))
    web = FakeWeb({f"{A}/0": busy})
    crawl(web, path, f"{A}/0", later_s=AHEAD, robots=False)
    moments = [visit.began for visit in web.visits]
    assert [after - before for before, after in pairwise(moments)] == [1, 2, 4, 8]


@either_way
def test_pages_are_read_again_at_the_pace_of_their_host(path: Path, turned_s: float) -> None:
    links = {f"{A}/{number}": [f"{A}/{number + 1}"] for number in range(5)}
    crawl(FakeWeb(web_of(links)), path, f"{A}/0")
    web = FakeWeb(web_of(links), takes_s=0.5)
    crawl(web, path, refresh=0.5, delay=3, later_s=turned_s)
    moments = sorted(visit.began for visit in web.visits_of(A))
    assert len(moments) >= 5
    assert min(after - before for before, after in pairwise(moments)) >= 3
