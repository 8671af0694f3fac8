"""Hosts are asked for robots.txt before their first page, and looked up in every run."""

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Noted, Reason
from minicrawl.model import Failed, FetchResult, Refused, Request
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import HostRow
from tests.crawl.fakes import (
    Answer,
    FakeWeb,
    Run,
    crawl,
    failed,
    html,
    in_turn,
    moved,
    text,
    web_of,
)

A, B, C = "http://a.example", "http://b.example", "http://c.example"
ROBOTS = f"{A}/robots.txt"
FORBIDDING = text("User-agent: *\nDisallow: /")


def crawl_with(robots_txt: Answer, path: Path, **settings: Any) -> tuple[FakeWeb, Run]:
    web = FakeWeb(web_of({f"{A}/": ["/1"], f"{A}/1": []}) | {ROBOTS: robots_txt})
    return web, crawl(web, path, f"{A}/", **settings)


def row_of(path: Path) -> HostRow:
    with reading(path) as connection:
        row = tables.host(connection, 0)
    assert row is not None
    return row


@pytest.mark.parametrize("kind", [State.SERVER_ERROR, State.THROTTLED])
def test_a_robots_txt_that_fails_several_times_forbids_all(kind: State, path: Path) -> None:
    web, run = crawl_with(failed(kind), path)
    assert run.states == {f"{A}/": State.ROBOTS}
    assert 3 <= len(web.visits) <= 5
    assert row_of(path).trouble == f"robots.txt: {kind.label}"


@pytest.mark.parametrize(
    "kind",
    [
        State.CONNECT,
        State.PROXY,
        State.TLS,
        State.TIMEOUT,
        State.RESET,
        State.PROTOCOL,
    ],
)
def test_a_host_that_cannot_be_reached_is_down(kind: State, path: Path) -> None:
    web, run = crawl_with(failed(kind), path)
    assert run.states == {f"{A}/": kind}
    assert 1 <= len(web.visits) <= 3
    assert web.asked == []
    assert row_of(path).trouble == kind.label


def test_failures_of_a_proxy_leave_no_trouble_with_the_host(path: Path) -> None:
    fails = failed(State.PROXY)
    _, run = crawl_with(in_turn(fails, fails, text("")), path)
    assert set(run.states.values()) == {State.FETCHED}
    assert row_of(path).trouble is None


@pytest.mark.parametrize("kind", [State.SERVER_ERROR, State.RESET, State.TIMEOUT])
def test_a_robots_txt_that_comes_after_a_failure_counts(kind: State, path: Path) -> None:
    _, run = crawl_with(in_turn(failed(kind), SAYING), path)
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/1": State.ROBOTS}


def test_the_next_request_for_robots_txt_waits_as_long_as_the_host_asks(path: Path) -> None:
    throttled = failed(State.THROTTLED, retry_after="120")
    web, run = crawl_with(in_turn(throttled, text("")), path)
    first, second = (visit for visit in web.visits if visit.url == ROBOTS)
    assert second.began - first.ended == 120
    assert set(run.states.values()) == {State.FETCHED}


def test_the_group_of_our_own_name_takes_precedence(path: Path) -> None:
    answer = text("User-agent: *\nDisallow: /\n\nUser-agent: archivist\nDisallow: /1")
    _, run = crawl_with(answer, path, agent="archivist")
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/1": State.ROBOTS}


def _hops(count: int, end: Answer) -> dict[str, Answer]:
    names = [f"{A}/hop{number}.txt" for number in range(count)]
    return (
        {ROBOTS: moved(names[0])}
        | {name: moved(after) for name, after in pairwise(names)}
        | {names[-1]: end}
    )


RULES, ALL, NOTHING = {"/"}, {"/", "/1"}, set[str]()
SAYING = text("User-agent: *\nDisallow: /1")
LAST_LINE = b"User-agent: *\n" + b"#" * (499 * 1024) + b"\nDisallow: /1\n"
EXPECTED_PAGES: dict[str, tuple[Answer | dict[str, Answer], set[str]]] = {
    "200 text/plain 'Disallow: /x'": (SAYING, RULES),
    "200 empty": (text(""), ALL),
    "200 text/html soft-404": (html(title="Not found", body="Disallow: /"), ALL),
    "204": (text("")._replace(status=204), ALL),
    "301 x1..x5 -> 200": (_hops(5, SAYING), RULES),
    "301 x6": (_hops(6, SAYING), ALL),
    "redirect loop": (moved("/robots.txt"), ALL),
    "redirect to private IP": (
        {ROBOTS: moved(f"{B}/"), f"{B}/": Refused(reason=State.ADDRESS)},
        NOTHING,
    ),
    **{
        str(status): (Failed(kind=State.CLIENT_ERROR, status=status), ALL)
        for status in (400, 401, 403, 451)
    },
    "404": (failed(State.NOT_FOUND), ALL),
    "410": (failed(State.NOT_FOUND), ALL),
    "500": (failed(State.SERVER_ERROR), NOTHING),
    "503": (failed(State.SERVER_ERROR), NOTHING),
    "DNS failure": (failed(State.DNS), NOTHING),
    "connection refused": (failed(State.CONNECT), NOTHING),
    "TLS error": (failed(State.TLS), NOTHING),
    "gzip bomb": (text(LAST_LINE.decode())._replace(cut=State.TOO_LARGE), RULES),
    "501 KiB, rule after 500 KiB": (text(LAST_LINE.decode().replace("#", "##", 2048)), RULES),
    "499 KiB, rule at the end": (text(LAST_LINE.decode()), RULES),
    "UTF-16 BOM": (SAYING._replace(body=SAYING.body.decode().encode("utf-16")), RULES),
    # Beside the standard's cases:
    "redirect to another scheme": (moved("ftp://a.example/robots.txt"), ALL),
    **{
        f"broken off: {kind}": (SAYING._replace(cut=kind), NOTHING)
        for kind in (State.RESET, State.TIMEOUT, State.ENCODING)
    },
}
ELSEWHERE = {"503 + cached copy"}  # test_earlier_rules_stay_valid_while_robots_txt_fails


@pytest.mark.parametrize("case", EXPECTED_PAGES)
def test_robots_txt_has_the_effect_that_the_standard_demands(case: str, path: Path) -> None:
    given, expected = EXPECTED_PAGES[case]
    answers = given if isinstance(given, dict) else {ROBOTS: given}
    web = FakeWeb(web_of({f"{A}/": ["/1"], f"{A}/1": []}) | answers)
    crawl(web, path, f"{A}/")
    assert set(web.asked) & {f"{A}/", f"{A}/1"} == {A + page for page in expected}
    assert len(web.visits) < 10


def test_every_case_of_the_shared_vectors_has_a_test(shared_vector: Callable[[str], Path]) -> None:
    cases = json.loads(shared_vector("robots_fetch_semantics.json").read_text("utf-8"))
    assert {case["case"] for case in cases} <= EXPECTED_PAGES.keys() | ELSEWHERE


def starts(web: FakeWeb, origin: str) -> list[float]:
    return sorted(visit.began for visit in web.visits_of(origin))


def are_apart(times: list[float], delay_s: float) -> bool:
    return all(later - earlier >= delay_s for earlier, later in pairwise(times))


def test_each_redirect_of_a_robots_txt_keeps_the_delay_of_its_target_host(path: Path) -> None:
    web = FakeWeb(web_of({f"{A}/": [f"{B}/"], f"{B}/": ["/1", "/2"], f"{B}/1": [], f"{B}/2": []}))
    web.answers |= {
        ROBOTS: moved("/moved.txt"),
        f"{A}/moved.txt": moved(f"{B}/robots.txt"),
        f"{B}/robots.txt": moved("/moved.txt"),
        f"{B}/moved.txt": text(""),
    }
    run = crawl(web, path, f"{A}/", f"{B}/", delay=1)
    assert set(run.states.values()) == {State.FETCHED}
    assert len(starts(web, A)) == 3
    assert len(starts(web, B)) == 7
    assert are_apart(starts(web, A), 1)
    assert are_apart(starts(web, B), 1)


def test_many_robots_txt_that_redirect_to_one_host_delay_no_other_host(path: Path) -> None:
    hosts = [f"http://h{number}.example" for number in range(20)]
    web = FakeWeb({f"{B}/robots.txt": text(""), f"{A}/": html("/1", "/2"), f"{B}/": html()})
    web.answers |= {f"{host}/robots.txt": moved(f"{B}/robots.txt") for host in hosts}
    seeds = [f"{host}/" for host in hosts]
    crawl(web, path, *seeds, f"{A}/", delay=10, concurrency=2)
    assert are_apart(starts(web, B), 10)
    assert starts(web, A)[-1] <= 1000 + 3 * 10
    assert all(len(starts(web, host)) == 2 for host in hosts)


def test_a_spent_budget_ends_a_crawl_while_a_redirected_robots_txt_waits(path: Path) -> None:
    web = FakeWeb({f"{A}/": html(), f"{B}/robots.txt": text("User-agent: *\nCrawl-delay: 50")})
    web.answers["http://c.example/robots.txt"] = moved(f"{B}/robots.txt")
    seeds = (f"{A}/", f"{B}/", "http://c.example/")
    run = crawl(web, path, *seeds, delay=0, pages=1)
    assert run.reason is Reason.BUDGET
    assert max(visit.ended for visit in web.visits) < 1050


def test_a_name_without_an_address_is_looked_up_twice(path: Path) -> None:
    class Counting(FakeWeb):
        looked_up = 0

        async def locate(self, url: str) -> str | Refused | Failed:
            self.looked_up += 1
            return await super().locate(url)

    web = Counting({}, places={A: Failed(kind=State.DNS)})
    run = crawl(web, path, f"{A}/", f"{A}/1")
    assert run.states == {f"{A}/": State.DNS, f"{A}/1": State.DNS}
    assert web.looked_up == 2
    assert web.visits == []


@pytest.mark.parametrize(("rules", "delay_s"), [("", 5), ("User-agent: *\nCrawl-delay: 30", 30)])
def test_a_resumed_crawl_keeps_the_delay_of_hosts_requested_a_moment_ago(
    rules: str, delay_s: float, path: Path
) -> None:
    crawl_with(text(rules), path, delay=5, pages=1)
    again, _ = crawl_with(text(rules), path, delay=5)
    assert [visit.began for visit in again.visits] == [1000 + delay_s]


def test_a_resumed_crawl_keeps_the_delay_of_hosts_without_stored_robots_txt(path: Path) -> None:
    crawl_with(failed(State.SERVER_ERROR), path, delay=5, for_=0.5)
    again, _ = crawl_with(text(""), path, delay=5)
    assert [visit.began for visit in again.visits] == [1005, 1010, 1015]


def test_every_run_looks_up_the_address_though_the_rules_are_still_valid(path: Path) -> None:
    """The address is needed for its limit of requests at once."""
    web = FakeWeb(web_of({f"{A}/{n}": [] for n in range(3)}), places={A: "192.0.2.1"})
    crawl(web, path, *web.answers, pages=1)
    web.places[A] = Refused(reason=State.ADDRESS)
    run = crawl(web, path, *web.answers)
    assert list(run.states.values()).count(State.ADDRESS) == 2


def test_a_host_is_given_up_whatever_failure_its_lookup_has(path: Path) -> None:
    web = FakeWeb({}, places={A: Failed(kind=State.CLIENT_ERROR)})
    assert crawl(web, path, f"{A}/").states == {f"{A}/": State.CLIENT_ERROR}


def test_a_crawl_delay_beyond_the_cap_is_capped_and_noted(path: Path) -> None:
    web, run = crawl_with(text("User-agent: *\nCrawl-delay: 3600"), path, max_delay_s=20)
    assert [visit.began for visit in web.visits] == [1000, 1020, 1040]
    (noted,) = (event for event in run.events if isinstance(event, Noted))
    assert noted.text.startswith(A)
    assert "3600 s" in noted.text
    assert "20 s" in noted.text


def test_a_robots_txt_that_was_cut_is_noted(path: Path) -> None:
    cut = text("User-agent: *\nDisallow: /1\nDisallow: /")._replace(cut=State.TOO_LARGE)
    _, run = crawl_with(cut, path)
    size = "524,288 bytes"
    assert any(isinstance(e, Noted) and ROBOTS in e.text and size in e.text for e in run.events)
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/1": State.ROBOTS}


def test_the_trouble_of_a_host_names_its_strikes_and_its_pause(path: Path) -> None:
    web = FakeWeb(web_of({f"{A}/": ["/1", "/2"]}))
    web.answers[f"{A}/1"] = web.answers[f"{A}/2"] = failed(State.SERVER_ERROR)
    run = crawl(web, path, f"{A}/", max_strikes=2, max_pause_s=20, max_tries=1)
    assert sorted(run.states.values()) == [State.FETCHED, *[State.SERVER_ERROR] * 2]
    trouble = row_of(path).trouble or ""
    assert trouble.startswith("server-error; 2 strikes")
    assert "20 s" in trouble


def test_requests_for_robots_txt_and_their_bytes_are_counted(path: Path) -> None:
    _, run = crawl_with(FORBIDDING, path)
    assert run.recorder.counters.number("requests") == 1
    assert run.recorder.counters.number("wire_bytes") == FORBIDDING.wire_bytes


def test_a_host_that_is_down_is_tried_again_after_the_longest_pause(path: Path) -> None:
    """Another host reveals pages of it, 400 and 800 s after it was down."""
    web = FakeWeb({ROBOTS: failed(State.RESET), f"{A}/2": html()})

    async def reveal_later(request: Request) -> FetchResult:
        await asyncio.sleep(400)
        web.answers[ROBOTS] = text("")
        return html(*([f"{A}/1", f"{B}/2"] if request.url == f"{B}/" else [f"{A}/2"]))

    web.answers |= {f"{B}/": reveal_later, f"{B}/2": reveal_later}
    run = crawl(web, path, f"{A}/", f"{B}/", max_pause_s=600)
    assert [run.states[f"{A}/{page}"] for page in ("", 1)] == [State.RESET] * 2
    assert run.states[f"{A}/2"] is State.FETCHED
