"""Pages are read again, and requests ask whether they have changed."""

from pathlib import Path

import pytest

from minicrawl import Delayed, Event, Reason
from minicrawl.model import FetchResult, Request, Unchanged
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.crawl.fakes import (
    Answer,
    FakeWeb,
    Scene,
    crawl,
    failed,
    frontier_of,
    html,
    in_turn,
    links_of,
    states_of,
    web_of,
)
from tests.crawl.loop.webs import A, star


def versions() -> dict[str, Answer]:
    """Return a page that never changes and says so, one that changes, two without validators."""

    def same(request: Request) -> FetchResult:
        return Unchanged() if request.etag == '"1"' else html("/new", title="same", etag='"1"')

    count = iter(range(1000))
    return web_of({f"{A}/": ["/same", "/new", "/plain"], f"{A}/plain": ["/"]}) | {
        f"{A}/same": same,
        f"{A}/new": lambda _: html(title=f"{next(count)}", last_modified="yesterday"),
    }


def test_refresh_asks_each_page_once_a_run_whether_it_has_changed(path: Path) -> None:
    web = FakeWeb(versions())
    crawl(web, path, f"{A}/")
    web.visits.clear()
    crawl(web, path, f"{A}/", refresh=1)
    assert sorted(web.asked) == sorted(f"{A}{name}" for name in ("/", "/same", "/new", "/plain"))
    asked = {visit.url: visit.request for visit in web.visits}
    assert (asked[f"{A}/same"].etag, asked[f"{A}/same"].last_modified) == ('"1"', None)
    assert (asked[f"{A}/new"].etag, asked[f"{A}/new"].last_modified) == (None, "yesterday")
    with reading(path) as connection:
        documents = {tables.url_of(connection, d.page): d for d in tables.all_documents(connection)}
    assert {url.removeprefix(A): (d.checks, d.changes) for url, d in documents.items()} == {
        "/": (1, 0),
        "/same": (1, 0),
        "/new": (1, 1),
        "/plain": (1, 0),
    }


@pytest.mark.parametrize(("later_s", "pages"), [(3600.0, 0), (-3600.0, 0), (-3e6, 1)])
def test_a_watched_page_is_due_after_its_time_or_if_the_clock_was_far_ahead(
    path: Path, later_s: float, pages: int
) -> None:
    web, began_s = FakeWeb({f"{A}/": html()}), 1e8
    crawl(web, path, f"{A}/", later_s=began_s)
    watch = ((f"{A}/", 86_400.0),)
    run = crawl(web, path, f"{A}/", refresh=1, watch=watch, later_s=began_s + later_s)
    assert run.asked == [f"{A}/"] * pages


def test_a_page_that_is_unchanged_keeps_its_links_and_spends_again(path: Path) -> None:
    web = FakeWeb(versions())
    crawl(web, path, f"{A}/")
    assert links_of(path, f"{A}/same") == [f"{A}/new"]
    before = frontier_of(path).ledger.recorded
    assert crawl(web, path, f"{A}/", refresh=1).settled[f"{A}/same"] is State.FETCHED
    assert links_of(path, f"{A}/same") == [f"{A}/new"]
    assert frontier_of(path).ledger.recorded > before


def test_a_page_that_may_not_be_read_again_is_left_as_it_is(path: Path) -> None:
    web = FakeWeb(star(A, 3))
    crawl(web, path, f"{A}/")
    web.visits.clear()
    crawl(web, path, f"{A}/", refresh=1, deny="/1")
    assert sorted(web.asked) == [f"{A}/", f"{A}/0", f"{A}/2"]
    assert states_of(path)[f"{A}/1"] is State.FETCHED


def test_a_page_that_fails_when_it_is_read_again_is_tried_again(path: Path) -> None:
    web = FakeWeb(star(A, 1))
    crawl(web, path, f"{A}/", f"{A}/gone")
    web.answers[f"{A}/"] = in_turn(failed(State.RESET), html(title="new"))
    run = crawl(web, path, f"{A}/", f"{A}/late", refresh=1)
    assert any(isinstance(event, Delayed) for event in run.events)
    assert run.settled[f"{A}/"] is State.FETCHED
    assert run.states[f"{A}/late"] is State.NOT_FOUND


def test_pages_of_a_host_that_is_down_are_not_read_again(path: Path) -> None:
    web = FakeWeb(star(A, 20))
    crawl(web, path, f"{A}/")
    web.visits.clear()
    web.answers |= dict.fromkeys(web.answers, failed(State.CONNECT))
    run = crawl(web, path, f"{A}/", refresh=1)
    assert run.reason is Reason.EMPTY
    assert len(web.asked) < 10
    assert list(run.states.values()).count(State.FETCHED) > 10


def test_without_links_in_the_store_no_request_is_conditional(path: Path) -> None:
    web = FakeWeb(versions())
    for refresh in (0, 1):
        crawl(web, path, f"{A}/", links=False, refresh=refresh)
    assert all(visit.request.etag is None for visit in web.visits)
    assert set(states_of(path).values()) == {State.FETCHED}


def test_the_request_for_a_page_that_disappeared_is_not_conditional(path: Path) -> None:
    """The store lost its links with the page, so an answer "not modified" would not do."""
    web = FakeWeb(versions())
    crawl(web, path, f"{A}/")
    here = web.answers[f"{A}/same"]
    web.answers[f"{A}/same"] = failed(State.NOT_FOUND)
    assert crawl(web, path, f"{A}/", refresh=1).states[f"{A}/same"] is State.NOT_FOUND
    web.answers[f"{A}/same"] = here
    assert crawl(web, path, f"{A}/", refresh=1).states[f"{A}/same"] is State.FETCHED
    assert links_of(path, f"{A}/same") == [f"{A}/new"]


def test_a_continuous_crawl_rests_while_its_only_host_is_down(path: Path) -> None:
    web = FakeWeb(star(A, 2))

    def hear(_: Scene, __: Event) -> None:
        if len(web.asked) == 3:
            web.answers |= dict.fromkeys(web.answers, failed(State.CONNECT))

    run = crawl(web, path, f"{A}/", continuous=True, for_=1000, hear=hear)
    assert run.reason is Reason.BUDGET
    assert len(web.asked) < 20
