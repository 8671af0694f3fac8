"""How turns end: the retry policy, strikes, and the words for outcomes."""

from datetime import UTC, datetime

import pytest

from minicrawl.config import Network
from minicrawl.crawl.settle.descriptions import describe_failure, describe_outcome
from minicrawl.crawl.settle.outcome import (
    GivenUp,
    NotModified,
    Redirects,
    Retry,
    TurnEnd,
    WasRead,
    decide_outcome,
    fault_of,
    tries_of,
)
from minicrawl.model import Failed, FetchResult, Moved, ParsedPage, Refused, Response, Unchanged
from minicrawl.states import FAILURES, REFUSALS, State, policy_of

URL = "http://a.example/page"
PAGE = Response(status=200, headers={}, body=b"words")


def outcome(
    fetched: FetchResult, reading: ParsedPage | None = None, tries: int = 1, max_tries: int = 5
) -> object:
    return decide_outcome(URL, fetched, reading, tries, max_tries=max_tries)


@pytest.mark.parametrize(
    "reading", [ParsedPage(title="A"), ParsedPage(canonical="http://a.example/other")]
)
def test_a_page_is_read_even_if_it_may_stand_for_another(reading: ParsedPage) -> None:
    assert outcome(PAGE, reading) == WasRead(PAGE, reading)


def test_a_page_with_a_refresh_is_a_redirect() -> None:
    originals = (("http://b.example/", "http://b.example/?gclid=1"),)
    refresh, canonical = "http://b.example/", "http://a.example/other"
    reading = ParsedPage(refresh=refresh, canonical=canonical, originals=originals)
    assert outcome(PAGE, reading) == Redirects("http://b.example/", originals)


def test_a_page_that_was_not_parsed_is_a_bug() -> None:
    with pytest.raises(ValueError, match=r"a\.example/page"):
        outcome(PAGE)


def test_a_redirect_keeps_the_original_of_a_target_with_marks() -> None:
    moved = Moved(status=302, target="/other?gclid=1")
    url = "http://a.example/other"
    assert outcome(Moved(status=302, target="/other#part")) == Redirects(url)
    assert outcome(moved) == Redirects(url, ((url, f"{url}?gclid=1"),))
    assert decide_outcome(URL, moved, None, 1, strip_marks=False) == Redirects(f"{url}?gclid=1")


@pytest.mark.parametrize("written", ["mailto:a@b.example", "http://", "ftp://a/", URL, "#top"])
def test_a_redirect_to_itself_or_something_other_than_a_page_is_given_up(written: str) -> None:
    found = outcome(Moved(status=302, target=written))
    assert isinstance(found, GivenUp)
    assert found.state is State.BAD_REDIRECT


@pytest.mark.parametrize(
    ("moved", "retry"),
    [
        (Moved(302, "/page;jsessionid=1"), Retry(f"{URL};jsessionid=1")),
        (Moved(302, "/page", cookies=("a=b",)), Retry()),
    ],
)
def test_a_redirect_to_itself_with_a_session_or_a_cookie_is_followed_twice(
    moved: Moved, retry: Retry
) -> None:
    assert outcome(moved, tries=1) == outcome(moved, tries=2) == retry
    last = outcome(moved, tries=3)
    assert isinstance(last, GivenUp)
    assert last.state is State.BAD_REDIRECT


def test_an_unchanged_page_is_not_modified() -> None:
    assert outcome(Unchanged()) == NotModified()


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_refusal_is_final(reason: State) -> None:
    assert outcome(Refused(reason=reason)) == GivenUp(reason)


@pytest.mark.parametrize("kind", sorted({*FAILURES} - {State.INTERRUPTED}))
def test_a_failure_is_final_when_its_tries_are_used_up(kind: State) -> None:
    tries = policy_of(kind).tries
    *before, last = [outcome(Failed(kind=kind), tries=done) for done in range(1, tries + 1)]
    assert before == [Retry()] * (tries - 1)
    assert isinstance(last, GivenUp)
    assert last.state is kind
    assert (str(tries) in last.reason) == (tries > 1)


@pytest.mark.parametrize("tries", [0, 1, 5])
def test_a_page_that_gave_up_its_slot_is_tried_again_however_often_it_failed(tries: int) -> None:
    assert outcome(Failed(kind=State.INTERRUPTED), tries=tries, max_tries=1) == Retry()


def test_max_tries_limits_the_tries() -> None:
    failed = Failed(kind=State.CONNECT)
    assert outcome(failed, tries=1, max_tries=2) == Retry()
    end = outcome(failed, tries=2, max_tries=2)
    assert isinstance(end, GivenUp)
    assert end.state is State.CONNECT
    assert "--max-tries" in end.reason
    assert outcome(Failed(kind=State.TLS), max_tries=1) == GivenUp(State.TLS)
    assert all(tries_of(kind, None) == policy_of(kind).tries for kind in FAILURES)


TODAY = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "fetched",
    [
        PAGE,
        Moved(status=301, target="/"),
        Unchanged(),
        Refused(reason=State.TYPE),
        Failed(kind=State.NOT_FOUND),
    ],
)
def test_a_host_that_answers_is_not_struck(fetched: FetchResult) -> None:
    assert fault_of(fetched, TODAY) is None


def test_a_host_whose_page_the_deadline_cut_is_struck_though_the_page_is_read() -> None:
    late = PAGE._replace(cut=State.TIMEOUT)
    assert fault_of(late, TODAY) == (State.TIMEOUT, None)
    assert fault_of(PAGE._replace(cut=State.RESET), TODAY) is None


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        (None, None),
        ("120", 120),
        ("Wed, 01 May 2024 12:05:00 GMT", 300),
        ("Wed, 01 May 2024 11:00:00 GMT", 0),
        ("soon", None),
    ],
)
def test_a_strike_has_the_wait_of_its_host(header: str | None, wait_s: float | None) -> None:
    for kind in (State.THROTTLED, State.SERVER_ERROR):
        assert fault_of(Failed(kind=kind, retry_after=header), TODAY) == (kind, wait_s)


MOVED, RESET = Moved(status=301, target="/there"), Failed(kind=State.RESET)
CUT_LINKS, TOO_FAR = ParsedPage(cut="cut at links"), TurnEnd(State.BAD_REDIRECT, "too far")


def cut(kind: State) -> Response:
    return PAGE._replace(cut=kind)


@pytest.mark.parametrize(
    ("fetched", "reading", "end", "outcome", "named"),
    [
        (PAGE, None, None, ("page", 200), ()),
        (PAGE, CUT_LINKS, None, ("page", 200), ("cut at links",)),
        (cut(State.RESET), ParsedPage(), None, ("page", 200), ("reset",)),
        (cut(State.RESET), CUT_LINKS, None, ("page", 200), ("reset", "cut at links")),
        (cut(State.TOO_LARGE), None, None, ("page", 200), ("10,000,000", "--max-body")),
        (cut(State.CROWDED), None, None, ("page", 200), ("15,000,000",)),
        (cut(State.TIMEOUT), None, None, ("page", 200), ("30 s", "--timeout")),
        (MOVED, None, TurnEnd(State.MOVED), ("moved", 301), ("/there",)),
        (MOVED, None, TOO_FAR, ("failed:bad-redirect", 301), ("/there", "too far")),
        (Unchanged(), None, None, ("unchanged", 304), ()),
        (
            Refused(State.TYPE, "image/png", 200),
            None,
            None,
            ("refused:type", 200),
            ("image/png",),
        ),
        (RESET, None, TurnEnd(State.RESET, "3 times"), ("failed:reset", None), ("3 times",)),
    ],
)
def test_an_outcome_has_a_name_a_status_and_details(
    fetched: FetchResult,
    reading: ParsedPage | None,
    end: TurnEnd | None,
    outcome: tuple[str, int | None],
    named: tuple[str, ...],
) -> None:
    *found, details = describe_outcome(fetched, Network(), reading, end)
    assert tuple(found) == outcome
    assert all(one in details for one in named)
    assert bool(details) == bool(named)


@pytest.mark.parametrize(
    ("fetched", "description"),
    [
        (Refused(reason=State.ADDRESS, detail="10.0.0.1"), "address: 10.0.0.1"),
        (Failed(kind=State.SERVER_ERROR, status=503), "server-error: 503"),
        (Failed(kind=State.LOST), "lost"),
    ],
)
def test_a_failure_is_described_in_one_line(fetched: Refused | Failed, description: str) -> None:
    assert describe_failure(fetched) == description
