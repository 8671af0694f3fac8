"""A settler ends turns one by one, without a crawl."""

from collections.abc import Callable
from pathlib import Path

import pytest

from minicrawl.config import Scope
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.outcome import GivenUp, NotModified, Outcome, RedirectChain, Redirects
from minicrawl.crawl.settle.settler import MOST_REDIRECTS, plan_of_reading, why_endless
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.crawl.jumping_clock import in_time
from tests.crawl.settle.desk import A, B, Desk

PAGE, ORIGINAL, CANONICAL = 1, 2, 3


@pytest.mark.parametrize(
    ("original", "is_better", "canonical", "leads_back", "plan"),
    [
        (None, False, None, False, (State.FETCHED, PAGE)),
        (None, False, CANONICAL, False, (State.CANONICAL, CANONICAL)),
        (None, False, CANONICAL, True, (State.FETCHED, PAGE)),
        (ORIGINAL, False, None, False, (State.ALIAS, ORIGINAL)),
        (ORIGINAL, False, CANONICAL, False, (State.ALIAS, ORIGINAL)),
        (ORIGINAL, True, None, False, (State.FETCHED, PAGE)),
        (ORIGINAL, True, CANONICAL, False, (State.CANONICAL, CANONICAL)),
        (ORIGINAL, True, CANONICAL, True, (State.FETCHED, PAGE)),
    ],
)
def test_a_copy_stands_for_its_original_and_others_for_their_canonical_page_unless_in_a_cycle(
    original: int | None,
    is_better: bool,
    canonical: int | None,
    leads_back: bool,
    plan: tuple[State, int],
) -> None:
    planned = plan_of_reading(PAGE, original, canonical, is_better=is_better, leads_back=leads_back)
    assert planned == plan


@pytest.mark.parametrize("was_tried", [False, True])
@pytest.mark.parametrize("sets_cookies", [False, True])
@pytest.mark.parametrize("target", [State.MOVED, State.FETCHED, State.CANONICAL])
def test_redirects_in_a_circle_go_on_once_and_only_with_a_new_cookie(
    target: State, sets_cookies: bool, was_tried: bool
) -> None:
    why = why_endless(sets_cookies=sets_cookies, was_tried=was_tried, target=target)
    assert (why is None) == (sets_cookies and not was_tried and target is State.MOVED)
    assert why is None or ("cookie" in why) == sets_cookies


@pytest.mark.parametrize(("cut", "etag"), [(State.TOO_LARGE, "e"), (State.TIMEOUT, None)])
def test_the_validator_of_a_page_cut_by_the_deadline_is_not_stored(
    cut: State, etag: str | None, desk: Desk
) -> None:
    assert desk.read("/", cut=cut) is State.FETCHED
    assert desk.document("/").etag == etag


def test_redirects_in_a_circle_end_with_the_last(desk: Desk) -> None:
    for number in range(3):
        desk.settle(f"/{number}", Redirects(f"{A}/{(number + 1) % 3}"))
    assert desk.states() == "moved moved bad-redirect"
    assert "leads back" in desk.said


def test_a_chain_of_redirects_begins_anew_after_a_page(desk: Desk) -> None:
    for number in range(MOST_REDIRECTS):
        desk.settle(f"/{number}", Redirects(f"{A}/{number + 1}"))
    desk.read(f"/{MOST_REDIRECTS}", "/next")
    assert desk.settle("/next", Redirects(f"{A}/1")) is State.MOVED


@pytest.mark.parametrize("last", ["moved", "canonical", "alias"])
def test_a_page_standing_for_itself_by_way_of_another_is_a_circle(desk: Desk, last: str) -> None:
    """A stood for B, and C stands for A. If A now leads to C, that is a circle."""
    desk.read("/a", canonical="/b")
    desk.read("/c", canonical="/a", words="c")
    match last:
        case "moved":
            assert desk.settle("/a", Redirects(f"{A}/c")) is State.BAD_REDIRECT
        case "canonical":
            assert desk.read("/a", canonical="/c") is State.FETCHED
        case _:
            assert desk.read("/a", words="c") is State.FETCHED
    assert desk.frontier.books.stands_for(desk.page("/c")) == desk.page("/a")


def test_a_page_pays_its_canonical_form_and_its_links_become_known(desk: Desk) -> None:
    assert desk.read("/a", "/1", canonical="/b") is State.CANONICAL
    assert desk.links("/a") == [desk.page("/b")]
    assert desk.states() == "canonical unread unread"
    # A canonical form that names the page in turn is read.
    assert desk.read("/b", "/2", canonical="/a") is State.FETCHED
    assert desk.links("/b") == [desk.page("/2")]


def test_a_canonical_form_out_of_scope_is_ignored(recorder: Recorder) -> None:
    desk = Desk(recorder, Scope(deny=("/page",)))
    assert desk.read("/print", "/1", canonical="/page") is State.FETCHED
    assert desk.frontier.urls.find(f"{A}/page") is None


def test_a_page_is_no_alias_of_the_former_content_of_another(desk: Desk) -> None:
    desk.read("/1", words="same")
    desk.read("/1", words="other")
    assert desk.read("/2", words="same") is State.FETCHED


@pytest.mark.parametrize("ending", [GivenUp(State.NOT_FOUND), Redirects(f"{B}/")])
def test_a_page_is_no_alias_of_one_that_is_gone(desk: Desk, ending: Outcome) -> None:
    desk.read("/1", words="same")
    desk.settle("/1", ending)
    assert desk.read("/2", words="same") is State.FETCHED


def test_only_the_last_content_of_a_changing_page_is_remembered(desk: Desk) -> None:
    for words in "abcdefgh":
        desk.read("/", words=words)
    assert len(desk.settler.contents) == 1


def test_a_chain_of_redirects_is_remembered_while_its_target_is_unread(desk: Desk) -> None:
    desk.settle("/old", Redirects(f"{A}/new"))
    assert desk.chains == {desk.page("/new"): RedirectChain(1, False, (desk.page("/old"),))}
    desk.read("/new")
    desk.settle("/older", Redirects(f"{A}/new"))
    assert desk.chains == {}


def test_a_cookie_from_any_redirect_on_the_way_is_enough(desk: Desk) -> None:
    desk.settle("/a", Redirects(f"{A}/try", (), sets_cookies=True))
    desk.settle("/try", Redirects(f"{A}/has-it"))
    assert desk.settle("/has-it", Redirects(f"{A}/a")) is State.MOVED
    assert desk.states() == "unread moved moved"


def test_all_pages_redirected_to_the_login_are_reopened_and_no_others(desk: Desk) -> None:
    desk.settle("/old", Redirects(f"{A}/a"))
    for name in ("/a", "/b"):
        desk.settle(name, Redirects(f"{A}/login"))
    desk.read("/c")
    desk.settle("/login", Redirects(f"{A}/a", (), sets_cookies=True))
    states = [State(desk.frontier.state[desk.page(name)]) for name in ("/old", "/a", "/b", "/c")]
    assert states == [State.MOVED, State.UNREAD, State.UNREAD, State.FETCHED]


def test_a_page_redirected_despite_the_cookie_stands_for_its_target(desk: Desk) -> None:
    for name in ("/a", "/b"):
        desk.settle(name, Redirects(f"{A}/login"))
    desk.settle("/login", Redirects(f"{A}/a", (), sets_cookies=True))
    assert desk.settle("/b", Redirects(f"{A}/login")) is State.MOVED
    assert desk.frontier.books.stands_for(desk.page("/b")) == desk.page("/a")


def test_an_endless_chain_of_new_logins_is_given_up(desk: Desk) -> None:
    ends = list[State | None]()
    for number in range(MOST_REDIRECTS + 1):
        here, there = ("/a", f"/{number}") if number % 2 == 0 else (f"/{number - 1}", "/a")
        ends.append(desk.settle(here, Redirects(f"{A}{there}", (), sets_cookies=True)))
    assert ends == [State.MOVED] * MOST_REDIRECTS + [State.BAD_REDIRECT]
    assert desk.said == "more than 10 redirects in a row"


def test_a_canonical_form_that_redirects_back_is_a_circle(desk: Desk) -> None:
    desk.read("/a", canonical="/b")
    assert desk.settle("/b", Redirects(f"{A}/a", (), sets_cookies=True)) is State.BAD_REDIRECT
    assert desk.states() == "canonical bad-redirect"


def test_an_alias_that_changes_is_no_alias_any_more(desk: Desk) -> None:
    for name in ("/1", "/2"):
        desk.read(name, words="same")
    assert desk.read("/2", words="other") is State.FETCHED
    assert desk.frontier.books.stands_for(desk.page("/2")) == desk.page("/2")


def in_a_later_run(desk: Desk) -> Desk:
    in_time(desk.recorder.committer.commit())
    later = Desk(desk.recorder)
    for pages, contents in desk.recorder.pages.contents():
        later.settler.load_contents(pages, contents)
    return later


def test_contents_of_earlier_runs_make_aliases(desk: Desk) -> None:
    desk.read("/1", words="same")
    desk.read("/2", words="same")
    later = in_a_later_run(desk)
    assert later.read("/1", words="same") is State.FETCHED
    assert later.read("/3", words="same") is State.ALIAS
    assert desk.frontier.books.stands_for(desk.page("/3")) == desk.page("/1")


@pytest.mark.parametrize("goes_on", [lambda desk: desk, in_a_later_run])
def test_the_content_of_a_reopened_page_is_remembered(
    desk: Desk, goes_on: Callable[[Desk], Desk]
) -> None:
    desk.read("/", words="first")
    desk.settle("/", GivenUp(State.TIMEOUT))
    desk.poster.reopen([desk.page("/")])
    desk = goes_on(desk)
    assert desk.read("/", words="second") is State.FETCHED
    assert (desk.document("/").checks, desk.document("/").changes) == (1, 1)


def test_pages_may_be_reopened_in_any_order(desk: Desk) -> None:
    desk.read("/", "/1")
    desk.read("/1")
    pages = [1, 0]
    desk.poster.reopen(pages)
    in_time(desk.recorder.committer.commit())
    assert desk.frontier.states()[pages].tolist() == [State.UNREAD] * 2


def test_copies_on_a_mirror_are_counted_once(desk: Desk, path: Path) -> None:
    for url in ("/1", "/2", *[f"{B}/1"] * 3):
        desk.read(url, words="same")
    in_time(desk.recorder.committer.commit())
    with reading(path) as connection:
        assert tables.mirrors(connection) == [(1, 0, 1)]


def test_an_unmodified_page_stands_for_the_same_page_as_before(desk: Desk) -> None:
    desk.read("/a", canonical="/b")
    assert desk.settle("/a", NotModified()) is State.CANONICAL
    desk.read("/1", words="same")
    desk.read("/2", words="same")
    assert desk.settle("/2", NotModified()) is State.ALIAS
