"""Crawls of traps skip their pages for a reason that they record, and lose no other pages."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Reason, Settled
from minicrawl.crawl.admission.traps import SHORT_CHAIN
from minicrawl.model import FetchResult, Request, Response
from minicrawl.states import State
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import NOT_ASKED
from minicrawl.web.urls import split
from tests.crawl.fakes import Answer, FakeWeb, Run, crawl, html, links_of, moved, web_of

A, B, C = "http://www.a.example", "http://www.b.example", "http://www.c.example"


def why(path: Path, url: str) -> str:
    with reading(path) as connection:
        page = questions.find(connection, *split(url))
        assert page is not None
        (row,) = tables.last_fetches(connection, page, 9)
    assert row.outcome == NOT_ASKED
    return row.detail


def in_state(run: Run, state: State) -> set[str]:
    return {url for url, its in run.states.items() if its is state}


def says(*links: str, title: str = "Nothing", words: str = "Nothing is on.") -> Response:
    """Return a page that says nothing of its own; only its links may differ."""
    return html(*links, title=title, body=f"<p>{words}</p>")


@pytest.mark.parametrize(
    ("limit", "target", "reason"),
    [
        ({"max_segments": 3}, "/a/b/c/d", "4 segments: more than 3"),
        ({"max_repeats": 2}, "/xx/xx/xx", "3 times: more than 2"),
    ],
)
def test_a_path_beyond_a_limit_is_skipped_and_the_reason_names_the_limit(
    path: Path, limit: dict[str, Any], target: str, reason: str
) -> None:
    web = web_of({f"{A}/": [target, "/xx/xx"], f"{A}/xx/xx": [], f"{A}{target}": []})
    run = crawl(web, path, f"{A}/", **limit)
    assert in_state(run, State.TRAP) == {f"{A}{target}"}
    detail = why(path, f"{A}{target}")
    assert reason in detail
    assert Settled(url=f"{A}{target}", state=State.TRAP, detail=detail) in run.events
    assert run.asked == [f"{A}/", f"{A}/xx/xx"]


def test_a_seed_is_never_taken_for_a_trap(path: Path) -> None:
    deep = f"{A}" + "/xx" * 40
    assert crawl(web_of({deep: []}), path, deep).states == {deep: State.FETCHED}


class Calendar(FakeWeb):
    """A site with an endless calendar, and with news."""

    def __init__(self) -> None:
        news = {
            f"{A}/news/{name}": html(title=name, body=name) for name in ("fair", "race", "vote")
        }
        super().__init__({f"{A}/": html("/2003", *news, title="Town"), **news})

    async def fetch(self, request: Request) -> FetchResult:
        target = request.url.removeprefix(A)
        if target[1:].isdecimal():
            self.answers[request.url] = says(f"/{int(target[1:]) + 1}", title=f"Year {target[1:]}")
        return await super().fetch(request)


def test_a_calendar_ends_and_its_site_is_read(path: Path) -> None:
    run = crawl(Calendar(), path, f"{A}/", barren_pages=5)
    assert run.reason is Reason.EMPTY
    (end,) = in_state(run, State.TRAP)
    assert why(path, end).endswith("--barren-pages 5")
    assert 5 < len([url for url in run.asked if "/news/" not in url]) < 12
    assert {f"{A}/news/fair", f"{A}/news/race"} < in_state(run, State.FETCHED)


def test_a_run_with_a_higher_limit_goes_on_where_the_last_one_gave_up(path: Path) -> None:
    web = Calendar()
    (end,) = in_state(crawl(web, path, f"{A}/", barren_pages=5), State.TRAP)
    assert crawl(web, path, barren_pages=5).asked == []
    assert end in crawl(web, path, barren_pages=6).asked


def test_pages_that_are_read_again_do_not_count_as_copies_of_themselves(path: Path) -> None:
    leaves = [f"/{leaf}" for leaf in "abcdefgh"]
    answers: dict[str, Answer] = {f"{A}/": html(*leaves, title="All")}
    answers |= {A + leaf: html(title="Same", body=f"<p>{leaf}</p>") for leaf in leaves}
    web = FakeWeb(answers)
    crawl(web, path, f"{A}/", barren_pages=2)
    again = crawl(web, path, refresh=1, barren_pages=2)
    assert len(again.asked) == 9
    answers[f"{A}/"] = html(*leaves, "/new", title="All")
    answers[f"{A}/new"] = html(title="New")
    assert crawl(web, path, refresh=1, barren_pages=2).states[f"{A}/new"] is State.FETCHED


def test_long_chains_of_redirects_are_given_up(path: Path) -> None:
    doors = [f"/{door}/0" for door in range(40)]
    web = FakeWeb({f"{A}/": html(*doors, title="Doors")})
    for door in range(40):
        web.answers |= {f"{A}/{door}/{hop}": moved(f"{A}/{door}/{hop + 1}") for hop in range(20)}
    run = crawl(web, path, f"{A}/", barren_pages=5)
    assert len(run.asked) < 1 + 40 * (SHORT_CHAIN + 1)
    assert len(in_state(run, State.TRAP)) >= 30


def test_short_chains_are_followed_however_many_there_are(path: Path) -> None:
    doors = [f"/{door}" for door in range(40)]
    answers: dict[str, Answer] = {f"{A}/": html(*doors, title="Doors")}
    for door in range(40):
        steps = [A, *(f"{A}/{step}" for step in "xyz")][: SHORT_CHAIN + 1]
        names = [f"{step}/{door}" for step in steps]
        answers |= {here: moved(there) for here, there in pairwise(names)}
        answers[names[-1]] = html(title=f"Room {'i' * door}", body=f"<p>{'i' * door}</p>")
    run = crawl(answers, path, f"{A}/", barren_pages=5)
    assert in_state(run, State.TRAP) == set()


def mirrored(pages: int) -> dict[str, Answer]:
    """Return hosts A and B with the same pages, all of which host C links to."""
    names = [f"/{page}" for page in range(pages)]
    front = html(*[origin + name for name in names for origin in (A, B)], title="All")
    leaves: dict[str, Answer] = {
        A + name: html(title=f"Page {name}", body=f"{name} {'it says more than a little ' * 8}")
        for name in names
    }
    return {f"{C}/": front} | leaves | {url.replace(A, B): leaf for url, leaf in leaves.items()}


def test_a_mirror_is_requested_no_more_once_it_is_known(path: Path) -> None:
    run = crawl(mirrored(40), path, f"{C}/", strategy="greedy")
    twins = in_state(run, State.TWIN)
    assert 20 <= len(twins) <= 30
    (host,) = {url.rpartition("/")[0] for url in twins}
    other = B if host == A else A
    for url in twins:
        assert links_of(path, url) == [url.replace(host, other)]
        assert other in why(path, url)
        assert "10 pages" in why(path, url)
    assert {f"{other}/{page}" for page in range(40)} <= in_state(run, State.FETCHED) | in_state(
        run, State.ALIAS
    )


def late(target: str, **more: Answer) -> dict[str, Answer]:
    """Return a mirrored web with a late link to one more page of B, when B is known as a mirror."""
    web = mirrored(20)
    web[f"{C}/"] = html(*web, f"{A}/lost", f"{C}/then")
    return web | {f"{C}/then": html(B + target, title="Then")} | more


def test_a_page_that_only_the_mirror_has_is_read_there(path: Path) -> None:
    web = late("/lost", **{f"{B}/lost": html(title="Lost")})
    run = crawl(web, path, f"{C}/", strategy="breadth-first", concurrency=1)
    assert run.states[f"{A}/lost"] is State.NOT_FOUND
    assert run.states[f"{B}/lost"] is State.FETCHED
    assert in_state(run, State.TWIN)


def test_a_page_found_on_the_mirror_is_read_on_the_original_host(path: Path) -> None:
    web = late("/new", **{f"{A}/new": html(title="New"), f"{B}/new": html(title="New")})
    run = crawl(web, path, f"{C}/", strategy="breadth-first", concurrency=1)
    assert run.states[f"{A}/new"] is State.FETCHED
    assert run.states[f"{B}/new"] is State.TWIN


def test_a_mirror_of_pages_out_of_scope_is_read(path: Path) -> None:
    run = crawl(mirrored(40), path, f"{C}/", allow=["www.[bc]|/[0-9]$|/1[0-9]$"])
    assert f"{A}/39" not in run.asked
    assert run.states[f"{B}/39"] is State.FETCHED


def site(origin: str, pages: int) -> dict[str, Answer]:
    names = [f"/{'x' * page}" for page in range(1, pages)]
    return web_of({f"{origin}/": names} | {origin + name: [] for name in names})


SHORT = "http://short.test/"


@pytest.mark.parametrize("pages", [None, 3])
@pytest.mark.parametrize("seed", [f"{A}/", SHORT])
def test_a_site_that_the_user_vouches_for_is_read_to_its_end(
    seed: str, pages: int | None, path: Path
) -> None:
    """The user also vouches for a site that a seed redirects to, which a later run remembers."""
    web = site(A, 30) | {SHORT: moved(f"{A}/")}
    run = crawl(web, path, seed, site_pages=5, pages=pages)
    if pages is not None:
        run = crawl(web, path, site_pages=5)
    assert in_state(run, State.FETCHED) == web.keys() - {SHORT}


def farm(hosts: int) -> dict[str, Answer]:
    """Return hosts of one domain that link to each other, and one link to them."""
    names = [f"http://h{host}.farm.test/" for host in range(hosts)]
    links = {name: names[host + 1 : host + 20] for host, name in enumerate(names)}
    return web_of({f"{A}/": [names[0]], **links})


def test_a_farm_gets_the_quota_of_one_site_however_many_hosts_it_has(path: Path) -> None:
    run = crawl(farm(300), path, f"{A}/", site_pages=60, endowment=0)
    asked = [url for url in run.asked if "farm" in url]
    assert 5 <= len(asked) <= 8
    (skipped, *_) = in_state(run, State.ALLOWANCE)
    assert why(path, skipped).startswith("farm.test has had ")
    assert why(path, skipped).endswith("--site-pages 60")


def test_pages_are_reopened_when_their_site_has_earned_more(path: Path) -> None:
    """Most pages of B are skipped before the links that earn them are found."""
    friends = [f"/{'y' * page}" for page in range(1, 30)]
    home = {f"{A}/": [f"{B}/", f"{A}/hub"], f"{A}/hub": friends}
    home |= {A + name: [f"{B}/"] for name in friends}
    limits: dict[str, Any] = {"site_pages": 3, "endowment": 0}
    web = web_of(home) | site(B, 30)
    run = crawl(web, path, f"{A}/", strategy="breadth-first", concurrency=1, **limits)
    states = [event.state for event in run.events if isinstance(event, Settled)]
    assert State.ALLOWANCE in states
    assert len([url for url in run.asked if url.startswith(B)]) > 20


def test_a_resumed_crawl_remembers_the_used_quotas(path: Path) -> None:
    web = farm(300)
    first = crawl(web, path, f"{A}/", site_pages=60, endowment=0)
    assert crawl(web, path, site_pages=60, endowment=0).asked == []
    more = crawl(web, path, site_pages=120, endowment=0).asked
    assert 0 < len(more) <= len(first.asked) + 2
