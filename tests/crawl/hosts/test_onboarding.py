import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.events import Noted, Reason, Settled
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.hosts.side_requests import MOST_REDIRECTS, SideRequests
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.workers.worker import Visitor, WorkerConfig
from minicrawl.model import Failed, FailureKind, Refusal, Refused, State, Unchanged
from minicrawl.ports import Timed
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.web import sitemaps as sitemap
from minicrawl.web.robots import FORBID_ALL, Rules
from tests.crawl.fakes import (
    Answer,
    FakeClock,
    FakeWeb,
    Run,
    Scene,
    crawl,
    failed,
    html,
    in_time,
    in_turn,
    keeping,
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


def trouble_of(path: Path) -> str | None:
    with reading(path) as connection:
        row = tables.host(connection, 0)
    assert row is not None
    return row.trouble


# ---------------------------------------------------------------- what an answer means


@pytest.mark.parametrize("kind", [FailureKind.SERVER_ERROR, FailureKind.THROTTLED])
def test_a_host_that_cannot_say_forbids_all_once_it_was_asked_often_enough(
    kind: FailureKind, path: Path
) -> None:
    web, run = crawl_with(failed(kind), path)
    assert run.states == {f"{A}/": State.ROBOTS}
    assert 3 <= len(web.visits) <= 5
    assert web.asked == []
    assert trouble_of(path) == f"robots.txt: {kind}"


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.CONNECT,
        FailureKind.PROXY,
        FailureKind.TLS,
        FailureKind.TIMEOUT,
        FailureKind.RESET,
        FailureKind.PROTOCOL,
    ],
)
def test_a_host_that_cannot_be_reached_is_down_whatever_robots_txt_might_say(
    kind: FailureKind, path: Path
) -> None:
    web, run = crawl_with(failed(kind), path)
    assert run.states == {f"{A}/": State[kind.name]}
    assert 1 <= len(web.visits) <= 3
    assert web.asked == []
    assert trouble_of(path) == kind


def test_a_proxy_that_fails_for_a_while_costs_a_host_nothing(path: Path) -> None:
    fails = failed(FailureKind.PROXY)
    _, run = crawl_with(in_turn(fails, fails, text("")), path)
    assert set(run.states.values()) == {State.FETCHED}
    assert trouble_of(path) is None


def test_an_answer_that_comes_after_trouble_counts(path: Path) -> None:
    for kind in (FailureKind.SERVER_ERROR, FailureKind.RESET, FailureKind.TIMEOUT):
        fresh = path.with_name(kind.value)
        _, run = crawl_with(in_turn(failed(kind), text("User-agent: *\nDisallow: /1")), fresh)
        assert run.states == {f"{A}/": State.FETCHED, f"{A}/1": State.ROBOTS}


def test_a_host_that_asks_to_wait_is_given_its_time(path: Path) -> None:
    throttled = failed(FailureKind.THROTTLED, retry_after="120")
    web, run = crawl_with(in_turn(throttled, text("")), path)
    first, second = (visit for visit in web.visits if visit.url == ROBOTS)
    assert second.began - first.ended == 120
    assert set(run.states.values()) == {State.FETCHED}


def test_our_own_group_speaks_for_us(path: Path) -> None:
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


RULES, ALL, NOTHING = {"/": True, "/1": False}, {"/": True, "/1": True}, {"/": False}
SAYING = text("User-agent: *\nDisallow: /1")
LAST_LINE = b"User-agent: *\n" + b"#" * (499 * 1024) + b"\nDisallow: /1\n"
WHAT_FOLLOWS: dict[str, tuple[Answer | dict[str, Answer], dict[str, bool]]] = {
    "200 text/plain 'Disallow: /x'": (SAYING, RULES),
    "200 empty": (text(""), ALL),
    "200 text/html soft-404": (html(title="Not found", body="Disallow: /"), ALL),
    "204": (text("")._replace(status=204), ALL),
    "301 x1..x5 -> 200": (_hops(5, SAYING), RULES),
    "301 x6": (_hops(6, SAYING), ALL),
    "redirect loop": (moved("/robots.txt"), ALL),
    "redirect to private IP": (
        {ROBOTS: moved(f"{B}/"), f"{B}/": Refused(reason=Refusal.ADDRESS)},
        NOTHING,
    ),
    **{
        str(status): (Failed(kind=FailureKind.CLIENT_ERROR, status=status), ALL)
        for status in (400, 401, 403, 451)
    },
    "404": (failed(FailureKind.NOT_FOUND), ALL),
    "410": (failed(FailureKind.NOT_FOUND), ALL),
    "500": (failed(FailureKind.SERVER_ERROR), NOTHING),
    "503": (failed(FailureKind.SERVER_ERROR), NOTHING),
    "DNS failure": (failed(FailureKind.DNS), NOTHING),
    "connection refused": (failed(FailureKind.CONNECT), NOTHING),
    "TLS error": (failed(FailureKind.TLS), NOTHING),
    "gzip bomb": (text(LAST_LINE.decode())._replace(cut=FailureKind.TOO_LARGE), RULES),
    "501 KiB, rule after 500 KiB": (text(LAST_LINE.decode().replace("#", "##", 2048)), RULES),
    "499 KiB, rule at the end": (text(LAST_LINE.decode()), RULES),
    "UTF-16 BOM": (SAYING._replace(body=SAYING.body.decode().encode("utf-16")), RULES),
}
ELSEWHERE = {"503 + cached copy"}  # test_rules_that_were_had_hold_on_while_the_host_cannot_say


@pytest.mark.parametrize("case", WHAT_FOLLOWS)
def test_what_follows_from_a_robots_txt_is_what_the_standard_says(case: str, path: Path) -> None:
    given, allowed = WHAT_FOLLOWS[case]
    answers = given if isinstance(given, dict) else {ROBOTS: given}
    web = FakeWeb(web_of({f"{A}/": ["/1"], f"{A}/1": []}) | answers)
    crawl(web, path, f"{A}/")
    assert set(web.asked) & {f"{A}/", f"{A}/1"} == {A + page for page in allowed if allowed[page]}


def test_every_case_of_the_vectors_has_its_law(shared_vector: Callable[[str], Path]) -> None:
    cases = json.loads(shared_vector("robots_fetch_semantics.json").read_text("utf-8"))
    assert {case["case"] for case in cases} == WHAT_FOLLOWS.keys() | ELSEWHERE


# ---------------------------------------------------------------- redirects


@pytest.mark.parametrize("target", ["/robots.txt", "ftp://a.example/robots.txt"])
def test_a_robots_txt_that_leads_nowhere_is_not_there(target: str, path: Path) -> None:
    web, run = crawl_with(moved(target), path)
    assert run.states[f"{A}/"] is State.FETCHED
    assert [visit.url for visit in web.visits].count(ROBOTS) <= MOST_REDIRECTS + 1


def starts(web: FakeWeb, origin: str) -> list[float]:
    return sorted(visit.began for visit in web.visits_of(origin))


def are_apart(times: list[float], delay_s: float) -> bool:
    return all(later - earlier >= delay_s for earlier, later in pairwise(times))


def test_each_hop_of_a_robots_txt_keeps_the_delay_of_the_host_it_goes_to(path: Path) -> None:
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


def test_many_hosts_whose_robots_txt_is_elsewhere_hold_up_nobody(path: Path) -> None:
    hosts = [f"http://h{number}.example" for number in range(20)]
    web = FakeWeb({f"{B}/robots.txt": text(""), f"{A}/": html("/1", "/2"), f"{B}/": html()})
    web.answers |= {f"{host}/robots.txt": moved(f"{B}/robots.txt") for host in hosts}
    seeds = [f"{host}/" for host in hosts]
    crawl(web, path, *seeds, f"{A}/", delay=10, concurrency=2)
    assert are_apart(starts(web, B), 10)
    assert starts(web, A)[-1] <= 1000 + 3 * 10
    assert all(len(starts(web, host)) == 2 for host in hosts)


def test_a_budget_that_is_spent_does_not_wait_for_a_robots_txt_elsewhere(path: Path) -> None:
    web = FakeWeb({f"{A}/": html(), f"{B}/robots.txt": text("User-agent: *\nCrawl-delay: 50")})
    web.answers["http://c.example/robots.txt"] = moved(f"{B}/robots.txt")
    seeds = (f"{A}/", f"{B}/", "http://c.example/")
    run = crawl(web, path, *seeds, delay=0, pages=1)
    assert run.reason is Reason.BUDGET
    assert max(visit.ended for visit in web.visits) < 1050


@pytest.mark.parametrize("kind", [FailureKind.RESET, FailureKind.TIMEOUT, FailureKind.ENCODING])
def test_a_robots_txt_that_broke_off_was_not_had(kind: FailureKind, path: Path) -> None:
    broken = text("User-agent: *\nDisallow: /2\n")._replace(cut=kind)
    web, run = crawl_with(broken, path)
    assert run.states[f"{A}/"] in (State.of(kind), State.ROBOTS)
    assert web.asked == []


# ---------------------------------------------------------------- addresses


def test_a_name_without_an_address_is_looked_up_twice(path: Path) -> None:
    class Counting(FakeWeb):
        looked_up = 0

        async def locate(self, url: str) -> str | Refused | Failed:
            self.looked_up += 1
            return await super().locate(url)

    web = Counting({}, places={A: Failed(kind=FailureKind.DNS)})
    run = crawl(web, path, f"{A}/", f"{A}/1")
    assert run.states == {f"{A}/": State.DNS, f"{A}/1": State.DNS}
    assert web.looked_up == 2
    assert web.visits == []


@pytest.mark.parametrize(("rules", "delay_s"), [("", 5), ("User-agent: *\nCrawl-delay: 30", 30)])
def test_a_run_that_goes_on_keeps_the_delay_of_hosts_that_were_asked_a_moment_ago(
    rules: str, delay_s: float, path: Path
) -> None:
    crawl_with(text(rules), path, delay=5, pages=1)
    again, _ = crawl_with(text(rules), path, delay=5)
    assert [visit.began for visit in again.visits] == [1000 + delay_s]


def test_a_run_that_goes_on_spares_hosts_of_whose_first_words_nothing_was_kept(path: Path) -> None:
    crawl_with(failed(FailureKind.SERVER_ERROR), path, delay=5, for_=0.5)
    again, _ = crawl_with(text(""), path, delay=5)
    assert [visit.began for visit in again.visits] == [1005, 1010, 1015]


def test_the_address_is_found_anew_by_every_run_though_rules_hold_on(path: Path) -> None:
    """The limit of an address needs it."""
    web = FakeWeb(web_of({f"{A}/{n}": [] for n in range(3)}), places={A: "192.0.2.1"})
    crawl(web, path, *web.answers, pages=1)
    web.places[A] = Refused(reason=Refusal.ADDRESS)
    run = crawl(web, path, *web.answers)
    assert list(run.states.values()).count(State.ADDRESS) == 2


def test_whatever_keeps_a_host_from_being_found_it_is_given_up(path: Path) -> None:
    web = FakeWeb({}, places={A: Failed(kind=FailureKind.CLIENT_ERROR)})
    assert crawl(web, path, f"{A}/").states == {f"{A}/": State.CLIENT_ERROR}


# ---------------------------------------------------------------- delays


def test_the_crawl_delay_of_a_host_is_kept_from_the_first_page_on(path: Path) -> None:
    web, _ = crawl_with(text("User-agent: *\nCrawl-delay: 7"), path, delay=1)
    assert [visit.began for visit in web.visits] == [1000, 1007, 1014]


def test_a_crawl_delay_beyond_the_cap_is_capped_and_that_is_said(path: Path) -> None:
    web, run = crawl_with(text("User-agent: *\nCrawl-delay: 3600"), path, max_delay_s=20)
    assert [visit.began for visit in web.visits] == [1000, 1020, 1040]
    (noted,) = (event for event in run.events if isinstance(event, Noted))
    assert noted.text.startswith(A)
    assert "3600 s" in noted.text
    assert "20 s" in noted.text


# ---------------------------------------------------------------- sitemaps


def test_a_sitemap_that_moved_is_followed_and_one_that_fails_left_out(path: Path) -> None:
    web = FakeWeb(
        {
            f"{A}/": html(),
            ROBOTS: text("Sitemap: /gone.xml\nSitemap: /old.xml\nSitemap: mailto:a@b"),
            f"{A}/old.xml": moved("/new.xml"),
            f"{A}/new.xml": text(f"{A}/listed"),
        }
    )
    run = crawl(web, path, f"{A}/", sitemaps=True)
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/listed": State.NOT_FOUND}


def test_a_host_whose_sitemaps_fail_is_struck(path: Path) -> None:
    throttled = failed(FailureKind.THROTTLED, retry_after="60")
    web = FakeWeb({f"{A}/": html(), ROBOTS: text("Sitemap: /a.xml"), f"{A}/a.xml": throttled})
    crawl(web, path, f"{A}/", sitemaps=True)
    assert [visit.began for visit in web.visits] == [1000, 1000, 1060]


def test_a_sitemap_that_another_host_does_not_give_is_not_the_fault_of_this_one(path: Path) -> None:
    web = FakeWeb(
        {
            f"{A}/": html(),
            ROBOTS: text(f"Sitemap: {B}/a.xml"),
            f"{B}/a.xml": failed(FailureKind.SERVER_ERROR),
        }
    )
    crawl(web, path, f"{A}/", sitemaps=True)
    assert [visit.url for visit in web.visits] == [ROBOTS, f"{B}/robots.txt", f"{B}/a.xml", f"{A}/"]
    assert {visit.began for visit in web.visits} == {1000}


def test_a_robots_txt_that_was_cut_is_noted(path: Path) -> None:
    cut = text("User-agent: *\nDisallow: /1\nDisallow: /")._replace(cut=FailureKind.TOO_LARGE)
    _, run = crawl_with(cut, path)
    told = "524,288 bytes"
    assert any(isinstance(e, Noted) and ROBOTS in e.text and told in e.text for e in run.events)
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/1": State.ROBOTS}


def test_a_sitemap_that_reached_a_limit_is_noted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemap, "MAX_URLS", 2)
    web: dict[str, Answer] = {
        f"{A}/": html(),
        ROBOTS: text("Sitemap: /map.xml"),
        f"{A}/map.xml": text("\n".join(f"{A}/{number}" for number in range(9))),
    }
    run = crawl(web, path, f"{A}/", sitemaps=True)
    note = f"{A}/map.xml: only 2 URLs of a sitemap are read"
    assert Noted(text=note) in run.events


def test_a_sitemap_elsewhere_takes_a_turn_of_its_own_host(path: Path) -> None:
    names = "\n".join(f"Sitemap: {B}/{number}.xml" for number in range(4))
    web = FakeWeb({f"{A}/": html(), ROBOTS: text(names), f"{B}/": html("/1", "/2")})
    crawl(web, path, f"{A}/", f"{B}/", sitemaps=True, delay=1)
    assert len(starts(web, B)) == 8
    assert are_apart(starts(web, B), 1)


def test_sitemaps_that_a_run_left_unread_are_read_by_the_next(path: Path) -> None:
    web = FakeWeb(
        {f"{A}/": html(), ROBOTS: text("User-agent: *\nCrawl-delay: 10\nSitemap: /a.xml")}
    )
    web.answers[f"{A}/a.xml"] = text(f"{A}/listed")
    crawl(web, path, f"{A}/", sitemaps=True, for_=5)
    assert web.asked == []
    run = crawl(web, path, f"{A}/", sitemaps=True)
    assert run.states == {f"{A}/": State.FETCHED, f"{A}/listed": State.NOT_FOUND}


# ---------------------------------------------------------------- files of usage preferences

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
    details = {event.url: event.detail for event in run.events if isinstance(event, Settled)}
    assert details[f"{A}/art/1"] == "tdmrep.json denies ai-train"
    assert details[f"{A}/shop"] == "rsl denies ai-train"


def test_another_use_is_not_denied_by_them(path: Path) -> None:
    run = crawl(web_of_preferences(ALL_THREE), path, f"{A}/", obey_usage="search")
    assert not refused(run)


def test_without_the_setting_no_such_file_is_asked_for(path: Path) -> None:
    web = web_of_preferences(ALL_THREE)
    run = crawl(web, path, f"{A}/")
    assert not {TDMREP, f"{A}/license.xml"} & {visit.url for visit in web.visits}
    assert not refused(run)


@pytest.mark.parametrize(
    ("robots", "denied"),
    [
        ("User-agent: *\nDisallow: /.well-known/", set()),  # its own rules hold for it
        ("", {"art/1"}),
        ("License: /moved.xml", {"art/1", "shop"}),
        ("License: /endless.xml", {"art/1"}),
        ("License: /down.xml", {"art/1"}),
        ("License: mailto:a@a.example", {"art/1"}),
        (f"License: {B}/license.xml", {"art/1"}),  # whose robots.txt forbids it
        (f"License: {C}/license.xml", {"art/1", "shop"}),
    ],
)
def test_the_files_pass_the_checks_of_a_sitemap(robots: str, denied: set[str], path: Path) -> None:
    web = web_of_preferences(
        robots,
        {
            "moved.xml": moved("/license.xml"),
            "endless.xml": moved("/endless.xml"),
            "down.xml": failed(FailureKind.NOT_FOUND),
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


# ---------------------------------------------------------------- rules past all reason


@pytest.mark.parametrize("field", ["Disallow: /{}/", "Disallow: /7/\nSitemap: /{}.xml"])
def test_long_rules_of_many_hosts_are_obeyed_but_not_all_of_them_are_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """Those that are not are read in the store: no host is asked twice, or too soon."""
    monkeypatch.setattr("minicrawl.crawl.hosts.onboarding.MOST_PATTERNS", 250)
    hosts = [f"http://{name}.example" for name in "abcdefgh"]
    patterns = "\n".join(field.format(number) for number in range(100))
    robots_txt = text(f"User-agent: *\nCrawl-delay: 5\n{patterns}")
    web = FakeWeb({f"{host}/robots.txt": robots_txt for host in hosts})
    web.elsewhere = lambda request: html("/x", "/7/", title=request.url)
    most_in_memory: list[int] = []

    def hear(scene: Scene, _: object) -> None:
        kept = [scene.crawler.parts.hosts[number].rules for number in range(len(hosts))]
        most_in_memory.append(sum(rules is not None for rules in kept))

    crawl(web, path, *(f"{host}/" for host in hosts), hear=hear, concurrency=1)
    assert max(most_in_memory) <= 3
    assert sorted(web.asked) == sorted(f"{host}/{page}" for host in hosts for page in ("", "x"))
    assert len(web.visits) == 3 * len(hosts)
    for host in hosts:
        for before, after in pairwise(web.visits_of(host)):
            assert after.began >= before.ended + 5


# ---------------------------------------------------------------- a day by the clock


def learning(
    path: Path,
    answer: Answer,
    task: Callable[[HostOnboarding, HostTable, FakeClock, FakeWeb], Awaitable[None]],
) -> None:
    """The onboarding of one host, without a crawl."""

    async def work() -> None:
        with keeping(path) as recorder:
            recorder.meet([f"{A}/"], 0)
            settings, clock, web = Settings.of(), FakeClock(), FakeWeb({ROBOTS: answer})
            hosts = HostTable(settings.politeness, lambda _: None)
            visitor = Visitor(web, WorkerConfig.of(settings).parser())
            gate, side_requests = ScopeGate(settings.scope, ()), SideRequests(hosts, clock)
            await task(
                HostOnboarding(settings, recorder, visitor, gate, side_requests), hosts, clock, web
            )

    in_time(work())


async def learn(onboarding: HostOnboarding) -> None:
    async def no_sitemap(*_: object) -> float:
        raise AssertionError

    await asyncio.sleep(60)  # whatever pause the host is given, it is over
    assert await onboarding.locate(0)
    await onboarding.learn(0, lambda _: None, no_sitemap)


def test_after_robots_txt_a_host_waits_as_long_as_is_wanted_by_now(path: Path) -> None:
    async def task(
        onboarding: HostOnboarding, hosts: HostTable, clock: FakeClock, _: FakeWeb
    ) -> None:
        hosts.politeness = replace(hosts.politeness, delay_s=0.25)
        await learn(onboarding)
        assert hosts[0].paused_until == clock.now() + 0.25

    learning(path, text(""), task)


def test_an_answer_holds_for_a_day_and_silence_for_an_hour(path: Path) -> None:
    async def task(
        onboarding: HostOnboarding, hosts: HostTable, clock: FakeClock, web: FakeWeb
    ) -> None:
        assert not onboarding.is_known(0)
        await learn(onboarding)
        assert onboarding.is_known(0)
        clock.turned_s = 86_399
        assert onboarding.is_known(0)
        clock.turned_s = 86_401
        assert not onboarding.is_known(0)
        web.answers[ROBOTS] = failed(FailureKind.SERVER_ERROR)
        for _ in range(3):
            assert not onboarding.is_known(0)
            await learn(onboarding)
        assert onboarding.is_known(0)
        assert hosts[0].rules == FORBID_ALL
        clock.turned_s += 3601
        assert not onboarding.is_known(0)

    learning(path, FORBIDDING, task)


def test_only_a_recall_loads_what_an_earlier_run_knew(path: Path) -> None:
    async def task(
        onboarding: HostOnboarding, hosts: HostTable, clock: FakeClock, web: FakeWeb
    ) -> None:
        assert await onboarding.locate(0)
        assert not onboarding.is_known(0)
        assert hosts[0].rules is None
        onboarding.recall(0)
        assert onboarding.is_known(0)
        assert hosts[0].rules == FORBID_ALL
        assert hosts[0].paused_until == clock.now() + Politeness().delay_s
        assert web.visits == []

    crawl_with(FORBIDDING, path)
    learning(path, FORBIDDING, task)


def test_rules_that_were_had_hold_on_while_the_host_cannot_say(path: Path) -> None:
    async def task(
        onboarding: HostOnboarding, hosts: HostTable, clock: FakeClock, web: FakeWeb
    ) -> None:
        await learn(onboarding)
        known = hosts[0].rules
        clock.turned_s = 90_000
        web.answers[ROBOTS] = failed(FailureKind.SERVER_ERROR)
        for _ in range(3):
            await learn(onboarding)
        assert hosts[0].rules == known

    learning(path, text("User-agent: *\nDisallow: /private"), task)


def test_a_host_that_is_down_is_tried_again_after_an_hour(path: Path) -> None:
    async def task(
        onboarding: HostOnboarding, hosts: HostTable, clock: FakeClock, __: FakeWeb
    ) -> None:
        for _ in range(3):
            assert hosts[0].trouble_at(clock.now()) is None
            await learn(onboarding)
        assert hosts[0].trouble_at(clock.now()) is State.RESET
        assert hosts[0].trouble_at(clock.now() + Politeness().max_pause_s) is None

    learning(path, failed(FailureKind.RESET), task)


def test_a_host_that_is_let_be_says_after_how_many_strikes(path: Path) -> None:
    web = FakeWeb(web_of({f"{A}/": ["/1", "/2"]}))
    web.answers[f"{A}/1"] = web.answers[f"{A}/2"] = failed(FailureKind.SERVER_ERROR)
    run = crawl(web, path, f"{A}/", max_strikes=2, max_pause_s=20, max_tries=1)
    assert sorted(run.states.values()) == [State.FETCHED, *[State.SERVER_ERROR] * 2]
    assert trouble_of(path) == "server-error; 2 strikes: no request for 20 s"


def test_an_answer_that_nobody_can_give_is_a_mistake_of_ours(path: Path) -> None:
    async def task(onboarding: HostOnboarding, *_: object) -> None:
        with pytest.raises(TypeError, match=r"robots\.txt: 304"):
            await learn(onboarding)

    learning(path, Unchanged(), task)


def test_what_is_asked_of_a_host_is_counted(path: Path) -> None:
    _, run = crawl_with(FORBIDDING, path)
    assert run.recorder.counters.number("requests") == 1
    assert run.recorder.counters.number("wire_bytes") == FORBIDDING.wire_bytes


# ---------------------------------------------------------------- long rules

LONG = "User-agent: *\n" + "".join(f"Disallow: /{n}/\n" for n in range(5000))


def test_long_rules_that_were_kept_are_read_apart_from_the_loop(path: Path) -> None:
    pages = web_of({f"{A}/": ["/1/x", "/a", "/b"], f"{A}/a": [], f"{A}/b": []})
    web = FakeWeb(pages | {ROBOTS: text(LONG)})
    crawl(web, path, f"{A}/", pages=1)
    recalled: list[str] = []

    again = FakeWeb(pages | {ROBOTS: text(LONG)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rules, "from_text", staticmethod(recalled.append))
        run = crawl(again, path, f"{A}/")
    assert recalled == []
    assert run.states[f"{A}/1/x"] is State.ROBOTS
    assert run.states[f"{A}/a"] is State.FETCHED
    assert ROBOTS not in [visit.url for visit in again.visits]


def test_long_rules_are_still_kept_after_a_host_was_struck(path: Path) -> None:
    pages: dict[str, Answer] = web_of({f"{A}/": ["/1/x", "/a"]})
    pages[f"{A}/a"] = in_turn(failed(FailureKind.THROTTLED, retry_after="60"), html())
    web = FakeWeb(pages | {ROBOTS: text(LONG)})
    crawl(web, path, f"{A}/")
    with reading(path) as connection:
        row = tables.host(connection, 0)
    assert row is not None
    assert row.robots == Rules.from_text(LONG).text()


def test_long_rules_that_are_too_much_are_asked_for_anew(path: Path) -> None:
    pages = web_of({f"{A}/": ["/a"], f"{A}/a": []})
    crawl(FakeWeb(pages | {ROBOTS: text(LONG)}), path, f"{A}/", pages=1)
    again = FakeWeb(pages | {ROBOTS: text("")})

    async def too_much(*_: object) -> Timed[Any]:
        return Timed(Failed(kind=FailureKind.TOO_LARGE))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Visitor, "parse_stored_rules", too_much)
        run = crawl(again, path, f"{A}/")
    assert run.states[f"{A}/a"] is State.FETCHED
    assert ROBOTS in [visit.url for visit in again.visits]
