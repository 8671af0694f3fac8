"""Crawls of a web in a dict into a real store, from the first page to the last."""

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl import Asked, Delayed, Ended, Event, Noted, Reason, Settled
from minicrawl.config.table import BY_NAME
from minicrawl.crawl.dispatch.dispatcher import CLOSED_AT_ONCE
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.loop import GRACE_S
from minicrawl.crawl.settle.posting import LINKS_AT_ONCE
from minicrawl.errors import StoreError, UsageError
from minicrawl.model import Failed, FetchResult, Refused, Request, Unchanged, Want
from minicrawl.opic.ledger.books import StepKind, terms
from minicrawl.opic.ledger.money import PARTS, UNIT
from minicrawl.report.integrity.audit import audit
from minicrawl.states import READ_STATES, State
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch
from tests.crawl.fakes import (
    NOON,
    Answer,
    Disk,
    FakeWeb,
    Loop,
    Scene,
    Visit,
    books_balance,
    canonical,
    crawl,
    crawling,
    failed,
    frontier_of,
    html,
    in_time,
    in_turn,
    links_of,
    moved,
    states_of,
    text,
    web_of,
)

A, B, C = "http://a.example", "http://b.example", "http://c.example"
MOST_LINKS = 10_000
FORBIDDING = text("User-agent: *\nDisallow: /")


def star(origin: str, leaves: int) -> dict[str, Answer]:
    """Return a page and `leaves` more pages of its host, to which it links."""
    names = [f"{origin}/{leaf}" for leaf in range(leaves)]
    return web_of({f"{origin}/": names} | {name: [] for name in names})


def stars(hosts: int, leaves: int) -> dict[str, Answer]:
    """Return the stars of several hosts, h0 and so on."""
    return {
        url: page
        for host in range(hosts)
        for url, page in star(f"http://h{host}.example", leaves).items()
    }


def tangle(pages: int, hosts: int, links: int, seed: int = 1) -> dict[str, list[str]]:
    """Return random links between pages; the first pages get more of them."""
    rng = Random(seed)
    names = [f"http://h{page % hosts}.example/{page}" for page in range(pages)]
    return {
        name: [names[int(pages * rng.random() ** 2)] for _ in range(rng.randrange(links))]
        for name in names
    }


def gaps(visits: Iterable[Visit]) -> list[float]:
    """Return the times from the end of each request to the start of the next."""
    in_order = sorted(visits, key=lambda visit: visit.began)
    return [after.began - before.ended for before, after in pairwise(in_order)]


# ---------------------------------------------------------------- the way of a page


def test_silent_hosts_do_not_keep_new_ones_from_their_first_request(path: Path) -> None:
    """Ten silent hosts share one slot, and none keeps it for longer than a second."""

    async def silence(_: Request) -> FetchResult:
        await asyncio.sleep(30)
        return failed(State.TIMEOUT)

    silent = [f"http://s{number}.example" for number in range(10)]
    web = FakeWeb(web_of({f"{A}/": []}) | {f"{one}/robots.txt": silence for one in silent})
    seeds = [f"{one}/{page}" for one in silent for page in range(9)]
    crawl(web, path, *seeds, f"{A}/", concurrency=2)
    first = {visit.url: visit.began for visit in reversed(web.visits)}
    assert first[f"{A}/"] <= first[f"{silent[0]}/robots.txt"] + len(silent)


def test_listeners_hear_of_each_turn_and_of_the_end(path: Path) -> None:
    run = crawl(web_of({f"{A}/": ["/gone"]}), path, f"{A}/", endowment=4)
    assert [type(event) for event in run.events] == [Asked, Settled, Asked, Settled, Ended]
    assert run.events[0] == Asked(url=f"{A}/", cash=5)
    assert run.settled == {f"{A}/": State.FETCHED, f"{A}/gone": State.NOT_FOUND}
    assert run.events[-1] == Ended(reason=Reason.EMPTY)


def test_every_request_for_a_page_is_recorded(path: Path) -> None:
    crawl({f"{A}/": in_turn(failed(State.RESET), html())}, path, f"{A}/")
    with reading(path) as connection:
        second, first = tables.last_fetches(connection, 0, 9)
    assert (second.outcome, second.status, second.wire_bytes > 0) == ("page", 200, True)
    assert (first.outcome, first.status, first.wire_bytes) == ("failed:reset", None, 0)
    assert NOON < first.at < second.at


WINDOWS, STRATEGIES = (BY_NAME[name].kind.names for name in ("window", "strategy"))


@pytest.mark.parametrize(
    ("strategy", "window"),
    [*((one, WINDOWS[0]) for one in STRATEGIES), *((STRATEGIES[0], one) for one in WINDOWS[1:])],
)
def test_all_orders_and_windows_read_the_same_pages(strategy: str, window: str, path: Path) -> None:
    links = tangle(20, hosts=3, links=4)
    run = crawl(web_of(links), path, next(iter(links)), strategy=strategy, window=window)
    assert {url for url, state in run.states.items() if state is State.FETCHED} == reach(links)


def reach(links: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [next(iter(links))]
    while waiting:
        url = waiting.pop()
        if url not in found:
            found.add(url)
            waiting += links[url]
    return found


# ---------------------------------------------------------------- order


@pytest.mark.usefixtures("cheap_hosts")
@pytest.mark.parametrize("strategy", ["siblings", "greedy"])
@pytest.mark.parametrize(("concurrency", "delay"), [(1, 0), (3, 2)])
def test_the_next_page_is_the_best_of_all_whose_host_may_be_asked(
    concurrency: int, delay: int, strategy: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare each choice with a search over the whole ledger at that moment."""
    links = tangle(30, hosts=5, links=6)
    chosen: dict[int, int] = {}
    asked: list[int] = []

    async def search(scene: Scene) -> None:
        frontier, parts = scene.recorder.frontier, scene.crawler.parts
        hosts, queue = parts.hosts, parts.leases.queue
        begin = hosts.begin

        def compare(host: Host, now: float) -> None:
            ready = [
                page
                for page, other in enumerate(frontier.urls.host_of)
                if frontier.state[page] == State.UNREAD
                and page not in asked  # its host may be free before the page is settled
                and hosts[other].rules
                and hosts.may_be_asked(hosts[other], now)
                and (
                    other == host.id or queue.is_ready(other)
                )  # turns of others may just be ending
            ]
            if host.rules:
                worth = queue.key if strategy == "siblings" else frontier.ledger.cash
                chosen[host.id] = max(ready, key=worth)
                assert frontier.urls.host_of[chosen[host.id]] == host.id
            begin(host, now)

        monkeypatch.setattr(hosts, "begin", compare)

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Asked):
            page = scene.recorder.frontier.urls.find(event.url)
            assert page is not None
            assert chosen.pop(scene.recorder.frontier.urls.host_of[page]) == page
            asked.append(page)

    web = FakeWeb(web_of(links), takes_s=0.3)
    order: dict[str, Any] = {"delay": delay, "concurrency": concurrency, "strategy": strategy}
    crawl(web, path, next(iter(links)), during=search, hear=hear, **order)
    assert len(asked) == len(reach(links))
    assert asked != sorted(asked)


def test_breadth_first_reads_pages_in_the_order_in_which_they_were_found(path: Path) -> None:
    links = tangle(30, hosts=1, links=4)
    web = FakeWeb(web_of(links))
    crawl(web, path, next(iter(links)), strategy="breadth-first")
    found: dict[str, None] = {next(iter(links)): None}
    for url in web.asked:
        found |= dict.fromkeys(links[url])
    assert web.asked == list(found)


def test_the_random_order_is_the_same_in_every_run(tmp_path: Path) -> None:
    orders = []
    for name, strategy in (("1", "random"), ("2", "random"), ("3", "breadth-first")):
        web = FakeWeb(star(A, 30))
        crawl(web, tmp_path / name, f"{A}/", strategy=strategy)
        orders.append(web.asked)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


# ---------------------------------------------------------------- politeness


def test_a_host_has_one_request_at_a_time_and_waits_exactly_the_delay(path: Path) -> None:
    web = FakeWeb(star(A, 8) | star(B, 8), takes_s=0.7)
    crawl(web, path, f"{A}/", f"{B}/", delay=2)
    for origin in (A, B):
        robots_txt, *pages = visits = web.visits_of(origin)
        assert (robots_txt.url, robots_txt.request.want) == (f"{origin}/robots.txt", Want.TEXT)
        assert all(visit.request.want is Want.PAGE for visit in pages)
        assert gaps(visits) == pytest.approx([2] * 9)
    assert web.most_at_once == 2


def test_concurrency_limits_the_requests_at_once(path: Path) -> None:
    web = FakeWeb(web_of({f"http://h{n}.example/": [] for n in range(12)}), takes_s=1)
    crawl(web, path, *web.answers, concurrency=5, silent_share=1)
    assert web.most_at_once == 5


@pytest.mark.parametrize(("budget", "end"), [({"for_": 5}, 1005), ({"pages": 2}, 1002)])
def test_the_end_does_not_wait_for_name_lookups(
    budget: dict[str, Any], end: float, path: Path
) -> None:
    class Hanging(FakeWeb):
        async def locate(self, url: str) -> str | Refused | Failed:
            if url.startswith(B):
                await asyncio.sleep(1000)
            return await super().locate(url)

    run = crawl(Hanging(star(A, 20)), path, f"{A}/", f"{B}/", delay=1, **budget)
    assert (run.reason, run.ended_at) == (Reason.BUDGET, end)


def test_slow_hosts_that_hold_too_many_slots_give_way_and_lose_no_page(path: Path) -> None:
    """Slow hosts serve robots.txt at once, and take 20 seconds for each page."""
    slow = [f"http://h{n}.example/" for n in range(4)]
    most = [0]

    async def dawdle(request: Request) -> FetchResult:
        most[0] = max(most[0], sum(url in slow for url in web.under_way))
        await asyncio.sleep(20)
        return html(title=request.url)

    web = FakeWeb(star(A, 30) | dict.fromkeys(slow, dawdle))
    run = crawl(web, path, *slow, f"{A}/", concurrency=4, delay=1)
    assert set(run.states.values()) == {State.FETCHED}
    first = sorted(visit.began for visit in web.visits_of(A))
    assert max(later - sooner for sooner, later in pairwise(first)) <= 3
    assert most == [4]


def test_per_host_allows_several_requests_to_a_host(path: Path) -> None:
    web = FakeWeb(star(A, 12), takes_s=1)
    crawl(web, path, f"{A}/", per_host=3)
    assert web.most_at_once == 3


def test_hosts_at_one_address_share_its_limit_and_all_get_their_turn(path: Path) -> None:
    origins = [f"http://h{n}.example" for n in range(9)]
    answers = stars(9, 2)
    for origin in origins[::2]:
        answers[f"{origin}/robots.txt"] = FORBIDDING
    web = FakeWeb(answers, takes_s=1, places=dict.fromkeys(origins, "192.0.2.1"))
    run = crawl(web, path, *(f"{origin}/" for origin in origins), per_address=2)
    assert State.UNREAD not in run.states.values()
    asked = len(web.asked)
    crawl(web, path, refresh=1, per_address=2)
    assert len(web.asked) > asked
    assert web.most_at_once == 2


def test_retry_after_is_kept(path: Path) -> None:
    throttled = failed(State.THROTTLED, retry_after="90")
    web = FakeWeb(star(A, 3) | {f"{A}/": in_turn(throttled, html("/0", "/1"))})
    run = crawl(web, path, f"{A}/", delay=1)
    assert gaps(web.visits_of(A)) == [1, 90, 1, 1]
    assert any(isinstance(event, Delayed) and event.url == f"{A}/" for event in run.events)
    assert set(run.states.values()) == {State.FETCHED}


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


def test_pauses_after_failures_double(path: Path) -> None:
    web = FakeWeb({f"{A}/": failed(State.THROTTLED)})
    crawl(web, path, f"{A}/")
    assert gaps(web.visits_of(A))[1:] == [1, 2, 4, 8]


def test_pages_of_a_host_that_is_down_are_settled_without_a_request(path: Path) -> None:
    seeds = [f"{A}/{n}" for n in range(20)]
    web = FakeWeb(dict.fromkeys(seeds, failed(State.CONNECT)))
    run = crawl(web, path, *seeds)
    assert 0 < len(web.asked) < 10
    assert set(run.states.values()) == {State.CONNECT}


# ---------------------------------------------------------------- robots.txt


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


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize("pages", [1, 7])
def test_a_crawl_reads_exactly_its_budget_of_pages(pages: int, path: Path) -> None:
    web = FakeWeb(stars(5, 9), takes_s=0.5)
    seeds = [f"http://h{n}.example/" for n in range(5)]
    run = crawl(web, path, f"{A}/gone", *seeds, pages=pages)
    assert run.reason is Reason.BUDGET
    assert list(run.states.values()).count(State.FETCHED) == pages


@pytest.mark.parametrize(
    "runs",
    [
        [(4, {"pages": 4}), (4, {"pages": 4}), (6, {"pages": 6})],
        [(3, {"new_pages": 3}), (6, {"new_pages": 3}), (7, {"new_pages": 3, "pages": 7})],
        [(3, {"per_host_pages": 4, "pages": 3}), (4, {"per_host_pages": 4})],
    ],
)
def test_budgets_count_all_runs_and_that_of_new_pages_each_run_alone(
    runs: list[tuple[int, dict[str, Any]]], path: Path
) -> None:
    web = FakeWeb(star(A, 9))
    for asked, budget in runs:
        crawl(web, path, f"{A}/", **budget)
        assert len(web.asked) == asked


RING = {f"{A}/{n}": [f"{A}/{(n + by) % 100}" for by in (1, 2, 3)] for n in range(100)}


@pytest.mark.parametrize(
    ("web", "seed", "least"), [(star(A, 250), f"{A}/", 0.9), (web_of(RING), f"{A}/0", 0.94)]
)
def test_a_crawl_ends_when_enough_of_the_importance_is_gathered(
    web: dict[str, Answer], seed: str, least: float, path: Path
) -> None:
    """All of a star is known after its first page, so no importance of unknown pages is added.

    Each page of the ring reveals one more, whose importance is added before it is known.
    """
    run = crawl(FakeWeb(web, takes_s=50 / len(web)), path, seed, until="90%", concurrency=1)
    assert run.reason is Reason.GATHERED
    frontier = run.recorder.frontier
    flowed = frontier.importance_of(None, 0, len(frontier))
    read = np.isin(frontier.states(), READ_STATES)
    assert least <= float(flowed[read].sum() / flowed.sum()) < least + 0.04


def test_a_crawl_that_has_gathered_enough_requests_nothing_when_resumed(path: Path) -> None:
    web = FakeWeb(star(A, 150), takes_s=0.2)
    crawl(web, path, f"{A}/", until=0.9, concurrency=1)
    asked = len(web.asked)
    assert crawl(web, path, f"{A}/", until=0.9).reason is Reason.GATHERED
    assert len(web.asked) == asked
    assert crawl(web, path, f"{A}/", until=0.95, concurrency=1).reason is Reason.GATHERED
    assert asked < len(web.asked) < 151


def test_a_time_limit_ends_a_crawl_and_lets_requests_under_way_finish(path: Path) -> None:
    web = FakeWeb(star(A, 20), takes_s=3)
    run = crawl(web, path, f"{A}/", for_=31, delay=1)
    assert run.reason is Reason.BUDGET
    start = web.visits[0].began
    assert max(visit.began for visit in web.visits) - start < 31
    assert max(visit.ended for visit in web.visits) - start < 34 + 1
    assert list(run.states.values()).count(State.FETCHED) == len(web.asked)


def test_a_limit_of_bytes_ends_a_crawl(path: Path) -> None:
    page = html(body="x" * 950)
    web = FakeWeb({f"{A}/{n}": page for n in range(9)})
    run = crawl(web, path, *web.answers, bytes=2500)
    assert run.reason is Reason.BUDGET
    assert len(web.asked) == 3


@pytest.mark.parametrize("per_host", [1, 3])
def test_no_more_pages_of_a_host_are_read_than_its_budget(per_host: int, path: Path) -> None:
    answers = star(A, 9) | {f"{A}/": html("/0", "/gone", *(f"/{n}" for n in range(9)), f"{B}/")}
    web = FakeWeb(answers | star(B, 2), takes_s=1)
    run = crawl(web, path, f"{A}/", per_host_pages=4, per_host=per_host)
    read = [url for url, state in run.states.items() if state is State.FETCHED]
    assert sum(url.startswith(A) for url in read) == 4
    assert sum(url.startswith(B) for url in read) == 3
    assert State.HOST_BUDGET in run.states.values()


# ---------------------------------------------------------------- depth


def test_a_page_found_by_a_long_path_first_is_read_if_there_is_a_short_one(path: Path) -> None:
    """Pages on the long path 0 - 1 - 2 - target have more cash than those on 0 - poor - target."""
    web = web_of(
        {
            f"{A}/0": ["/gives", "/1", "/poor"],
            f"{A}/gives": ["/1"],
            f"{A}/1": ["/2"],
            f"{A}/2": ["/target"],
            f"{A}/poor": ["/target"],
            f"{A}/target": ["/beyond"],
        }
    )
    run = crawl(web, path, f"{A}/0", max_depth=2, strategy="greedy")
    assert run.asked.index(f"{A}/2") < run.asked.index(f"{A}/poor")
    assert run.states[f"{A}/target"] is State.FETCHED
    assert run.states[f"{A}/beyond"] is State.DEPTH


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), limit=st.integers(0, 4))
def test_the_depth_of_a_page_is_that_of_its_shortest_path(
    tmp_path_factory: pytest.TempPathFactory, seed: int, limit: int
) -> None:
    links = tangle(16, hosts=2, links=4, seed=seed)
    depths: dict[str, int] = {}
    layer = [next(iter(links))]
    for depth in range(limit + 1):
        depths |= dict.fromkeys(layer, depth)
        layer = [end for url in layer for end in links[url] if end not in depths]
    path = tmp_path_factory.mktemp("depth") / "crawl.db"
    run = crawl(web_of(links), path, next(iter(links)), max_depth=limit)
    assert set(run.asked) == set(depths)


# ---------------------------------------------------------------- cash, scope, redirects, originals


def test_no_cash_is_lost_however_pages_end(path: Path) -> None:
    """`crawl` checks the books; this web has a page for each of ten ways to end."""
    ends = ["/cat.jpg", f"{B}/", "/secret", "/gone", "/old", "/loop", "/copy", "/twin", "/image"]
    web = FakeWeb(
        web_of({f"{A}/": [*ends, "/out"], f"{A}/new": ["/"]})
        | {
            f"{A}/robots.txt": text("User-agent: *\nDisallow: /secret"),
            f"{A}/old": moved("/new"),
            f"{A}/out": moved(f"{C}/"),
            f"{A}/loop": moved("/loop"),
            f"{A}/copy": html(title="copy", head=canonical("/new")),
            f"{A}/twin": html(*ends, "/out", title=f"{A}/"),
            f"{A}/image": Refused(reason=State.TYPE, detail="image/png", status=200),
        }
    )
    run = crawl(web, path, f"{A}/", scope="host")
    names = {url.removeprefix(A): state.name for url, state in run.states.items()}
    assert names == {
        "/": "FETCHED",
        "/cat.jpg": "TYPE",
        f"{B}/": "SCOPE",
        "/secret": "ROBOTS",
        "/gone": "NOT_FOUND",
        "/old": "MOVED",
        "/out": "MOVED",
        f"{C}/": "SCOPE",
        "/loop": "BAD_REDIRECT",
        "/copy": "CANONICAL",
        "/twin": "ALIAS",
        "/image": "TYPE",
        "/new": "FETCHED",
    }
    assert all(visit.url.startswith(A) for visit in web.visits)
    assert f"{A}/secret" not in web.asked


def test_an_endless_chain_of_redirects_is_given_up(path: Path) -> None:
    def on_and_on(request: Request) -> FetchResult:
        return moved(f"/{int(request.url.rpartition('/')[2]) + 1}")

    web = FakeWeb({f"{A}/robots.txt": failed(State.NOT_FOUND)}, elsewhere=on_and_on)
    run = crawl(web, path, f"{A}/0")
    assert [state.name for state in run.states.values()] == ["MOVED"] * 10 + ["BAD_REDIRECT"]
    last = [event for event in run.events if isinstance(event, Settled)][-1]
    assert last.detail.startswith("/11;")
    assert "10 redirects" in last.detail


def originals_in(path: Path) -> list[str]:
    with reading(path) as connection:
        pages = range(questions.pages_known(connection))
        return [url for page in pages if (url := tables.original(connection, page))]


def test_the_original_url_of_a_page_is_kept_however_it_became_known(path: Path) -> None:
    web: dict[str, Answer] = {
        f"{A}/robots.txt": text("Sitemap: /map.xml"),
        f"{A}/map.xml": text(f"{A}/m?gclid=0"),
        f"{A}/": html("/1?gclid=1", "/2", "/c", "/r", title="all"),
        f"{A}/2": moved("/3?gclid=3"),
        f"{A}/c": html(head=canonical("/d?gclid=4"), title="c"),
        f"{A}/r": html(head="<meta http-equiv=refresh content='0;/s?gclid=5'>", title="r"),
    }
    crawl(web, path, f"{A}/", sitemaps=True)
    rest = ("m?gclid=0", "1?gclid=1", "3?gclid=3", "d?gclid=4", "s?gclid=5")
    assert sorted(originals_in(path)) == sorted(f"{A}/{one}" for one in rest)


def test_the_choice_to_keep_marks_holds_for_the_life_of_a_store(path: Path) -> None:
    web: dict[str, Answer] = {f"{A}/": html("/1?gclid=1"), f"{A}/1?gclid=1": moved("/2?gclid=1")}
    run = crawl(web, path, f"{A}/", strip_marks=False)
    assert set(run.states) == {f"{A}/", f"{A}/1?gclid=1", f"{A}/2?gclid=1"}
    assert originals_in(path) == []
    with pytest.raises(UsageError, match=r"--keep-marks.*--strip-marks"):
        crawl(web, path, f"{A}/")


def wants_session_id(request: Request) -> FetchResult:
    """Redirect a request without a session ID to a URL with one."""
    page = html("/2;jsessionid=8", "/1;jsessionid=9", title="A")
    return page if request.request_url else moved(f"{request.url};jsessionid=7")


def test_a_server_that_insists_on_a_session_id_gets_it(path: Path) -> None:
    web = FakeWeb({f"{A}/1": wants_session_id, f"{A}/2": html(title="B")})
    run = crawl(web, path, f"{A}/1", delay=1)
    assert set(run.states.values()) == {State.FETCHED}
    assert set(run.states) == {f"{A}/1", f"{A}/2"}
    first, second = (visit for visit in web.visits if visit.url == f"{A}/1")
    assert second.request.request_url == f"{A}/1;jsessionid=7"
    assert second.began - first.ended >= 1


def test_robots_txt_also_applies_to_the_url_with_a_session_id(path: Path) -> None:
    web = FakeWeb(
        {f"{A}/1": wants_session_id, f"{A}/robots.txt": text("User-agent: *\nDisallow: /*;")}
    )
    run = crawl(web, path, f"{A}/1")
    assert run.states == {f"{A}/1": State.ROBOTS}
    assert web.asked == [f"{A}/1"]


def test_a_cut_body_and_a_cut_list_of_links_are_recorded(path: Path) -> None:
    links = [f"/{n}" for n in range(MOST_LINKS + 1)]
    run = crawl({f"{A}/": html(*links)._replace(cut=State.RESET)}, path, f"{A}/", pages=1)
    with reading(path) as connection:
        (first,) = tables.last_fetches(connection, 0, 1)
    assert "reset" in first.detail
    assert f"{MOST_LINKS:,} links" in first.detail
    assert len(run.states) == 1 + MOST_LINKS


@pytest.mark.parametrize(("discovery", "share"), [(1, -1), (0, -1), (0.25, 1 << 14)])
def test_the_virtual_page_shares_its_gifts_as_the_fetches_are_shared(
    path: Path, discovery: float, share: int
) -> None:
    crawl(star(A, 3), path, f"{A}/", refresh=0.5)
    crawl(star(A, 3), path, refresh=1 - discovery)
    assert frontier_of(path).ledger.totals.discovery == share


@pytest.mark.usefixtures("cheap_hosts")
@pytest.mark.parametrize(
    ("order_by", "strategy", "sites"),
    [
        ("page", "greedy", "aaaabcccc"),
        ("site", "greedy", "aaaaccccb"),
        ("site", "siblings", "aaaaccccb"),
    ],
)
def test_the_site_given_most_is_first(order_by: str, strategy: str, sites: str, path: Path) -> None:
    """Site b has the richest page, c got more as a whole, and a got cash from the user alone."""
    pages_of_c = [f"{C}/{name}" for name in ("", "1", "2", "3")]
    links = {f"{A}/": ["/1", "/2", "/3"], f"{A}/1": pages_of_c, f"{A}/2": pages_of_c}
    links |= {f"{A}/3": [f"{B}/"], f"{B}/": []} | {page: [] for page in pages_of_c}
    order: dict[str, Any] = {"order_by": order_by, "strategy": strategy, "endowment": 90}
    run = crawl(web_of(links), path, f"{A}/", concurrency=1, **order)
    assert "".join(url.removeprefix("http://")[0] for url in run.asked) == sites


def test_links_do_not_get_the_small_edge_and_the_store_keeps_its_size(path: Path) -> None:
    crawl({f"{A}/": html("/1", "/2")}, path, f"{A}/", pages=1, small_edge=0.5, endowment=7)
    frontier = frontier_of(path)
    assert frontier.terms.small_edge == 0.5
    assert [key / UNIT for key in frontier.ledger.key[1:]] == [1 + 8 * 0.5 / 2] * 2


@pytest.mark.parametrize(("concurrency", "is_said"), [(2, True), (1, False)])
def test_an_order_without_effect_is_noted(concurrency: int, is_said: bool, path: Path) -> None:
    """With two slots, each of the two known hosts has one of its own."""
    web = star(A, 3) | star(B, 3)
    seeds = f"{A}/", f"{B}/"
    run = crawl(web, path, *seeds, order_by="site", concurrency=concurrency)
    notes = [event.text for event in run.events if isinstance(event, Noted)]
    assert any("--order-by site" in note and "2 hosts" in note for note in notes) == is_said


def test_a_resumed_crawl_may_have_another_small_edge(path: Path) -> None:
    """The log records from which step on the new edge counts, so that an audit can follow."""
    web = web_of({f"{A}/": ["/1", "/2"], f"{A}/1": ["/3", "/4"], f"{A}/2": ["/5"]})
    for pages, edge in ((1, 0.5), (2, 0.25), (3, 0.25), (4, 0.5)):
        crawl(web, path, *[f"{A}/"] * (pages == 1), pages=pages, small_edge=edge, endowment=0)
        frontier = frontier_of(path)
        assert frontier.small_edge == edge
        assert frontier.ledger.small_edge(100, 7) == 100 * (1 - edge)
    assert frontier.terms.small_edge == 0.5
    with reading(path) as connection:
        steps = [row.step for row in tables.steps_after(connection, 0)]
    changes = [step.amount for step in steps if step.kind is StepKind.TERMS]
    assert changes == [terms(-1, 0, PARTS // 4).amount, terms(-1, 0, PARTS // 2).amount]
    assert audit(path).is_intact


def test_a_redirect_of_a_seed_widens_the_scope_to_where_it_leads(path: Path) -> None:
    """What the user denies stays out of it, and so do other hosts."""
    ends = [f"{C}/2", f"{C}/private", "http://d.example/"]
    web = FakeWeb(
        web_of({f"{C}/": [f"{C}/1"], f"{C}/1": ends, f"{C}/2": []})
        | {f"{A}/": moved(f"{B}/"), f"{B}/": moved(f"{C}/")}
    )
    scope: dict[str, Any] = {"scope": "host", "deny": ["private"]}
    crawl(web, path, f"{A}/", pages=2, **scope)
    run = crawl(web, path, **scope)
    read = [url for url, state in run.states.items() if state is State.FETCHED]
    assert sorted(read) == [f"{C}/", f"{C}/1", f"{C}/2"]
    assert [run.states[url] for url in ends[1:]] == [State.SCOPE] * 2


def test_links_of_a_nofollow_page_do_not_become_known(path: Path) -> None:
    run = crawl({f"{A}/": html("/1", x_robots_tag="nofollow")}, path, f"{A}/")
    assert list(run.states) == [f"{A}/"]


# ---------------------------------------------------------------- sitemaps


def test_pages_of_a_long_sitemap_become_known_in_blocks(path: Path) -> None:
    more = 5
    listed = "".join(f"<url><loc>/{n}</loc></url>" for n in range(2 * LINKS_AT_ONCE + more))
    web = FakeWeb(
        {
            f"{A}/robots.txt": text("Sitemap: /pages.xml\nUser-agent: *\nAllow: /p\nDisallow: /"),
            f"{A}/pages.xml": text(f"<urlset>{listed}</urlset>"),
        },
    )
    crawl(web, path, f"{A}/", sitemaps=True)
    with reading(path) as connection:
        born = [
            row.step.born
            for row in tables.steps_after(connection, 0)
            if row.step.kind is StepKind.BORN
        ]
    assert born == [1, LINKS_AT_ONCE, LINKS_AT_ONCE, more]


def test_very_many_links_become_known_at_a_measured_pace(path: Path) -> None:
    """After each block, the page pauses three times as long as the block took."""
    links = [f"{A}/{n}" for n in range(2 * LINKS_AT_ONCE + 3)]
    web = FakeWeb({f"{A}/": html(*links, "/0#top")}, elsewhere=html())
    began = perf_counter()
    crawl(web, path, f"{A}/", pages=2)
    assert links_of(path, f"{A}/") == links
    page, other, *_ = (visit for visit in web.visits if visit.url in web.asked)
    assert 0 < other.began - page.ended < 3 * (perf_counter() - began)


# ---------------------------------------------------------------- refresh


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


# ---------------------------------------------------------------- replays


@pytest.mark.parametrize("replay", [0, 1, 3])
def test_no_more_pages_are_replayed_than_each_fetch_allows(replay: int, path: Path) -> None:
    links = tangle(30, hosts=3, links=6)
    crawl(web_of(links), path, next(iter(links)), replay=replay, delay=1)
    with reading(path) as connection:
        steps = list(tables.steps_after(connection, 0))
    replayed = fetched = 0
    for row in steps:
        if row.step.kind is StepKind.REPLAY:
            replayed += len(row.step.spending.links)
        elif row.step.kind is StepKind.VISIT:
            fetched += 1
        assert replayed <= replay * fetched
    assert (replayed > 0) == (replay > 0)


# ---------------------------------------------------------------- resuming


@pytest.mark.parametrize("cut", [2, 11])
def test_a_resumed_crawl_ends_like_an_uninterrupted_one(cut: int, tmp_path: Path) -> None:
    links = tangle(24, hosts=4, links=5)
    web = web_of(links) | {next(reversed(links)): moved("/moved")}
    seed = next(iter(links))
    whole = crawl(web, tmp_path / "whole.db", seed, delay=1)
    for pages in range(cut, len(links), cut):
        crawl(web, tmp_path / "cut.db", seed, pages=pages, delay=1)
    run = crawl(web, tmp_path / "cut.db", seed, delay=1)
    assert run.states == whole.states


def test_a_finished_crawl_requests_nothing_when_resumed(path: Path) -> None:
    web = FakeWeb(star(A, 3))
    crawl(web, path, f"{A}/")
    before = len(web.visits)
    assert crawl(web, path, f"{A}/").reason is Reason.EMPTY
    assert len(web.visits) == before


# ---------------------------------------------------------------- the end


def test_stop_lets_requests_under_way_finish_and_begins_no_others(path: Path) -> None:
    web = FakeWeb(stars(3, 9), takes_s=2)
    seeds = [f"http://h{n}.example/" for n in range(3)]

    async def stop(scene: Scene) -> None:
        while len(web.visits) < 10 or not web.under_way:
            await asyncio.sleep(0.3)
        began = len(web.visits) + len(web.under_way)
        scene.crawler.stop()
        await asyncio.sleep(1)
        assert len(web.visits) + len(web.under_way) == began

    run = crawl(web, path, *seeds, during=stop)
    assert run.reason is Reason.STOPPED
    assert list(run.states.values()).count(State.FETCHED) == len(web.asked)


def test_a_request_that_outlasts_the_grace_period_is_repeated_by_the_next_run(path: Path) -> None:
    async def never(_: Request) -> FetchResult:
        await asyncio.Event().wait()
        raise AssertionError

    web = FakeWeb(star(A, 2) | {f"{A}/1": never})

    async def stop(scene: Scene) -> None:
        while f"{A}/1" not in web.under_way:
            await asyncio.sleep(0.5)
        stopped = scene.clock.now()
        scene.crawler.stop()
        while web.under_way:
            await asyncio.sleep(0.5)
        assert scene.clock.now() - stopped == pytest.approx(GRACE_S, abs=0.5)

    run = crawl(web, path, f"{A}/", during=stop)
    assert run.reason is Reason.STOPPED
    assert run.states[f"{A}/1"] is State.UNREAD
    web.answers[f"{A}/1"] = html()
    assert crawl(web, path, f"{A}/").states[f"{A}/1"] is State.FETCHED


def test_closing_pages_does_not_block_the_loop(path: Path) -> None:
    too_long = "/".join(map(str, range(100)))
    others = [f"{A}/{n}/{too_long}" for n in range(3 * CLOSED_AT_ONCE)]
    turns = [0]
    seen: set[int] = set()

    async def count(_: Scene) -> None:
        while True:
            turns[0] += 1
            cast("Loop", asyncio.get_running_loop()).go_by(0.01)
            await asyncio.sleep(0)

    def hear(_: Scene, event: Event) -> None:
        if isinstance(event, Settled) and event.state is State.TRAP:
            seen.add(turns[0])

    run = crawl({f"{A}/": html(*others)}, path, f"{A}/", during=count, hear=hear)
    assert list(run.states.values()).count(State.TRAP) == len(others)
    assert len(seen) >= 3


def test_a_crawl_ends_without_the_delay_of_hosts_that_have_no_more_pages(path: Path) -> None:
    web = FakeWeb(star(A, 1) | {f"{A}/robots.txt": text("User-agent: *\nCrawl-delay: 50")})
    assert crawl(web, path, f"{A}/").ended_at == web.visits[-1].ended


# ---------------------------------------------------------------- errors


def loadable(path: Path) -> bool:
    frontier = frontier_of(path)
    with reading(path) as connection:
        return books_balance(frontier) and tables.last_step(connection) == frontier.last_seq


@pytest.mark.parametrize("bad_commit", [3, 5])
def test_an_error_of_the_store_ends_the_crawl(bad_commit: int, path: Path, disk: Disk) -> None:
    commits: list[Batch] = []

    def fail(batch: Batch) -> None:
        commits.append(batch)
        if len(commits) >= bad_commit:
            raise StoreError("the disk is full")

    disk.before_commit = fail
    web = FakeWeb(star(A, 20), takes_s=0.2)
    with pytest.raises(StoreError, match="the disk is full"):
        crawl(web, path, f"{A}/", delay=1)
    assert len(commits) == bad_commit
    assert not web.under_way
    assert loadable(path)


def test_a_crawl_whose_last_checkpoint_fails_reports_no_end(path: Path, disk: Disk) -> None:
    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    disk.before_checkpoint = fail
    events: list[Event] = []
    with pytest.raises(StoreError):
        crawl(star(A, 2), path, f"{A}/", hear=lambda _, event: events.append(event))
    assert not any(isinstance(event, Ended) for event in events)
    assert loadable(path)


def test_a_bug_ends_the_crawl_and_leaves_a_whole_store(path: Path) -> None:
    def mistake(_: Request) -> FetchResult:
        raise ZeroDivisionError("a mistake")

    web = FakeWeb(star(A, 30) | {f"{A}/20": mistake})
    with pytest.raises(ZeroDivisionError, match="a mistake"):
        crawl(web, path, f"{A}/", delay=1, strategy="breadth-first")
    assert loadable(path)
    web.answers[f"{A}/20"] = html(title="20")
    run = crawl(web, path, f"{A}/", strategy="breadth-first")
    assert set(run.states.values()) == {State.FETCHED}


@pytest.mark.parametrize("after_s", [0, 0.3, 4.2])
def test_a_crawl_that_is_cancelled_leaves_a_whole_store(after_s: float, path: Path) -> None:
    web = FakeWeb(star(A, 12), takes_s=0.2)

    async def cancelled() -> None:
        running = asyncio.create_task(crawling(web, path, [f"{A}/"], delay=1))
        await asyncio.sleep(after_s)
        running.cancel()
        await asyncio.wait((running,))
        assert running.cancelled()

    in_time(cancelled())
    assert not web.under_way
    assert not after_s or loadable(path)
    assert crawl(web, path, f"{A}/").reason is Reason.EMPTY
    assert set(states_of(path).values()) == {State.FETCHED}


def test_http_and_https_of_a_name_share_one_delay(path: Path) -> None:
    secure = A.replace("http:", "https:")
    web = FakeWeb(star(A, 5) | star(secure, 5))
    crawl(web, path, f"{A}/", f"{secure}/", delay=1)
    starts = sorted(visit.began for visit in web.visits)
    assert len(starts) == 14
    assert all(later - sooner >= 1 for sooner, later in pairwise(starts))


# ---------------------------------------------------------------- delays between runs


def test_later_runs_keep_the_long_pause_that_a_host_asked_for(path: Path) -> None:
    web = FakeWeb({f"{A}/": in_turn(failed(State.THROTTLED, "600"), html())})
    assert crawl(web, path, f"{A}/", for_="5s").reason is Reason.BUDGET
    assert crawl(web, path, for_="5s", later_s=5).asked == []
    run = crawl(web, path, later_s=300)
    assert run.settled == {f"{A}/": State.FETCHED}
    (began,) = (visit.began for visit in web.visits[-1:])
    assert 1280 < began < 1310  # the first run began at 1000


def test_refreshing_goes_on_at_other_hosts_while_one_is_slow(path: Path) -> None:
    slow = star(A, 9) | {f"{A}/robots.txt": text("User-agent: *\nCrawl-delay: 50")}
    web = FakeWeb(slow | star(B, 5))
    crawl(web, path, f"{A}/0", f"{B}/0")
    run = crawl(web, path, refresh=1, continuous=True, for_="40s", delay=1)
    assert sum(url.startswith(B) for url in run.asked) > 32
    assert sum(url.startswith(A) for url in run.asked) <= 1
