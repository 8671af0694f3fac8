"""Dead targets are requested again: less and less often, and never less than once a week."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl import Event, Settled
from minicrawl.crawl.schedule.dead_targets import HOUR_S, is_due
from minicrawl.model import Refused
from minicrawl.states import FAILURES, State
from minicrawl.store import request_log
from minicrawl.store.reader import reading
from tests.crawl.fakes import Answer, FakeWeb, Scene, crawl, failed, html, in_turn, moved, web_of

A, B = "http://a.example", "http://b.example"
DAY_S = 86_400.0
KINDS = [kind for kind in FAILURES if kind is not State.INTERRUPTED]


def nights_of_requests(nights: int, jitter_s: float = 0.0) -> list[int]:
    """Return the nights in which a target that is dead from night 0 on is requested."""
    asked, since, last = [0], 0.0, 0.0
    for night in range(1, nights):
        today = night * DAY_S + (night % 3) * jitter_s
        if is_due(since, last, today):
            asked.append(night)
            last = today
    return asked


@pytest.mark.parametrize("jitter_s", [0.0, 1800.0, -1800.0])
def test_the_rate_falls_and_never_to_none(jitter_s: float) -> None:
    nights = nights_of_requests(365, jitter_s)
    gaps = [later - before for before, later in pairwise(nights)]
    assert gaps[:2] == [1, 1]
    assert gaps == sorted(gaps)
    assert set(gaps[-40:]) == {7}


@given(st.floats(0, 1e10), st.floats(0, 1e9), st.floats(0, 1e9))
def test_every_target_is_due_within_a_week_and_whenever_it_was_dead_for_less_than_an_hour(
    since: float, known_s: float, later_s: float
) -> None:
    last = since + known_s
    assert is_due(since, last, last + 7 * DAY_S)
    assert is_due(since, last, last - 7 * DAY_S), "the clock was turned back"
    assert is_due(since, since + min(known_s, HOUR_S / 2), last + later_s)
    if later_s < HOUR_S:
        assert not is_due(last, last, last + later_s, HOUR_S + 1)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["siblings", "greedy", "breadth-first", "random"])
@pytest.mark.parametrize(
    "answer",
    [
        *map(failed, KINDS),
        Refused(reason=State.ADDRESS),
        moved(f"{A}/gone"),
        moved(f"{A}/bad"),
        moved("mailto:x"),
    ],
)
def test_a_link_that_is_mended_is_read_by_the_next_run_that_reads_again(
    path: Path, answer: Answer, strategy: str
) -> None:
    web = FakeWeb({f"{A}/": html("/bad"), f"{A}/bad": answer})
    first = crawl(web, path, f"{A}/", strategy=strategy)
    assert first.states[f"{A}/bad"] in {
        *(state for state in State if state.is_dead_end),
        State.MOVED,
    }
    web.answers[f"{A}/bad"] = html("/new", title="mended")
    web.answers[f"{A}/new"] = html(title="new")
    web.visits.clear()
    run = crawl(web, path, refresh=1.0, strategy=strategy)
    assert {run.states[f"{A}/{name}"] for name in ("", "bad", "new")} == {State.FETCHED}
    assert sorted(web.asked) == sorted({*web.asked})
    web.visits.clear()
    crawl(web, path, refresh=1.0, strategy=strategy, later_s=DAY_S)
    assert {f"{A}/", f"{A}/bad", f"{A}/new"} <= {*web.asked}


def test_the_end_of_a_redirect_may_be_mended_instead(path: Path) -> None:
    web = FakeWeb({f"{A}/": html("/old"), f"{A}/old": moved("/gone")})
    crawl(web, path, f"{A}/")
    web.answers[f"{A}/gone"] = html(title="there")
    run = crawl(web, path, refresh=1.0)
    assert (run.states[f"{A}/old"], run.states[f"{A}/gone"]) == (State.MOVED, State.FETCHED)


@pytest.mark.slow
@pytest.mark.parametrize("was_read", [False, True])
def test_sixty_nights_of_a_dead_link(path: Path, was_read: bool) -> None:
    dead = failed(State.NOT_FOUND)
    web = FakeWeb({f"{A}/": html("/b"), f"{A}/b": in_turn(html(), dead) if was_read else dead})
    crawl(web, path, f"{A}/")
    web.visits.clear()
    nights = []
    for night in range(60):
        crawl(web, path, refresh=1.0, later_s=night * DAY_S)
        if f"{A}/b" in web.asked:
            nights.append(night)
        assert sorted(web.asked) == sorted({*web.asked}), "a page is requested once a night"
        web.visits.clear()
    gaps = [later - before for before, later in pairwise(nights)]
    assert 8 < len(nights) < 20
    assert max(gaps) == 7
    web.answers[f"{A}/b"] = html(title="there")
    for night in range(60, 67):
        run = crawl(web, path, refresh=1.0, later_s=night * DAY_S)
    assert run.states[f"{A}/b"] is State.FETCHED


def test_dead_targets_need_no_budget_of_pages(path: Path) -> None:
    names = [f"/{n}" for n in range(50)]
    web = FakeWeb(web_of({f"{A}/": ["/b0", "/b1", *names]} | {f"{A}{n}": [] for n in names}))
    crawl(web, path, f"{A}/", pages=8, strategy="breadth-first")
    web.visits.clear()
    run = crawl(web, path, refresh=1.0, new_pages=8, strategy="breadth-first")
    assert {f"{A}/b0", f"{A}/b1"} <= {*web.asked}
    assert sum(state is State.FETCHED for state in run.states.values()) == 8


@pytest.mark.slow
@pytest.mark.parametrize("refresh", [0.5, 1.0])
@pytest.mark.parametrize(
    "dead", [failed(State.NOT_FOUND), failed(State.SERVER_ERROR), moved("/gone")]
)
def test_a_continuous_crawl_asks_again_and_less_and_less_often(
    path: Path, refresh: float, dead: Answer
) -> None:
    web = FakeWeb({f"{A}/": html("/b", title="a"), f"{A}/b": dead}, takes_s=1)
    mended_after = 40 * 24

    def let_an_hour_pass(scene: Scene, event: Event) -> None:
        if isinstance(event, Settled) and event.url == f"{A}/":
            scene.clock.turned_s += HOUR_S
            if len(web.visits) > mended_after:
                web.answers[f"{A}/b"] = html(title="there")
        if isinstance(event, Settled) and event.url == f"{A}/b" and event.state is State.FETCHED:
            scene.crawler.stop()

    crawl(web, path, f"{A}/")
    run = crawl(web, path, hear=let_an_hour_pass, continuous=True, refresh=refresh)
    assert run.states[f"{A}/b"] is State.FETCHED
    with reading(path) as connection:
        times = [row.at for row in request_log.fetch_rows(connection) if row.page == 1]
    gaps = [later - before for before, later in pairwise(times) if later - before > HOUR_S / 2]
    assert gaps == sorted(gaps) or max(gaps) > 6 * DAY_S
    assert max(gaps) < 7.1 * DAY_S
    assert len(gaps) < 20
