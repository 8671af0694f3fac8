"""Crawls that meet traps: what is put aside, what it is called, and that nothing else is lost."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl.crawl.events import Event, Reason, Settled
from minicrawl.crawl.trap_detector import SHORT_CHAIN
from minicrawl.model import FetchResult, Request, Response, State
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import NOT_ASKED
from minicrawl.web.urls import split
from tests.crawl.fakes import Answer, FakeWeb, Run, Scene, crawl, html, links_of, moved, web_of

A, B, C = "http://www.a.example", "http://www.b.example", "http://www.c.example"


def why(path: Path, url: str) -> str:
    """What is recorded of a page that was not asked for."""
    with reading(path) as connection:
        page = questions.find(connection, *split(url))
        assert page is not None
        (row,) = tables.last_fetches(connection, page, 9)
    assert row.outcome == NOT_ASKED
    return row.detail


def in_state(run: Run, state: State) -> set[str]:
    return {url for url, its in run.states.items() if its is state}


def says(*links: str, title: str = "Nothing", words: str = "Nothing is on.") -> Response:
    """A page of which others may be copies, but for its links."""
    return html(*links, title=title, body=f"<p>{words}</p>")


# ---------------------------------------------------------------- by the URL alone


@pytest.mark.parametrize(
    ("limit", "target", "reason"),
    [
        ({"max_segments": 3}, "/a/b/c/d", "its path has 4 segments: more than 3"),
        ({"max_repeats": 2}, "/xx/xx/xx", "a segment of its path occurs 3 times: more than 2"),
    ],
)
def test_a_path_without_end_is_put_aside_and_the_limit_is_named(
    path: Path, limit: dict[str, Any], target: str, reason: str
) -> None:
    web = web_of({f"{A}/": [target, "/xx/xx"], f"{A}/xx/xx": [], f"{A}{target}": []})
    run = crawl(web, path, f"{A}/", **limit)
    assert in_state(run, State.TRAP) == {f"{A}{target}"}
    assert why(path, f"{A}{target}") == reason
    assert Settled(url=f"{A}{target}", state=State.TRAP, detail=reason) in run.events
    assert run.asked == [f"{A}/", f"{A}/xx/xx"]


def test_a_page_that_the_user_named_is_never_put_aside(path: Path) -> None:
    deep = f"{A}" + "/xx" * 40
    assert crawl(web_of({deep: []}), path, deep).states == {deep: State.FETCHED}


# ---------------------------------------------------------------- repetition


class Calendar(FakeWeb):
    """Months for ever, on a site that has something to say as well."""

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
    assert why(path, end) == "only pages that say nothing new link to it: --barren-pages 5"
    assert 5 < len([url for url in run.asked if "/news/" not in url]) < 12
    assert {f"{A}/news/fair", f"{A}/news/race"} < in_state(run, State.FETCHED)


def test_a_run_with_another_limit_goes_on_where_the_last_one_gave_up(path: Path) -> None:
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


def test_chains_of_redirects_without_end_are_given_up(path: Path) -> None:
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


# ---------------------------------------------------------------- twins


def mirrored(pages: int) -> dict[str, Answer]:
    """B is a copy of A; both are known from the beginning, page by page."""
    names = [f"/{page}" for page in range(pages)]
    front = html(*[origin + name for name in names for origin in (A, B)], title="All")
    leaves: dict[str, Answer] = {
        A + name: html(title=f"Page {name}", body=f"{name} {'it says more than a little ' * 8}")
        for name in names
    }
    return {f"{C}/": front} | leaves | {url.replace(A, B): leaf for url, leaf in leaves.items()}


def test_a_mirror_is_asked_for_until_it_is_known_as_one_and_then_no_more(path: Path) -> None:
    run = crawl(mirrored(40), path, f"{C}/", strategy="greedy")
    twins = in_state(run, State.TWIN)
    assert 20 <= len(twins) <= 30
    (host,) = {url.rpartition("/")[0] for url in twins}
    other = B if host == A else A
    for url in twins:
        assert links_of(path, url) == [url.replace(host, other)]
        assert why(path, url) == f"its host repeats {other}: seen on 10 pages"
    assert {f"{other}/{page}" for page in range(40)} <= in_state(run, State.FETCHED) | in_state(
        run, State.ALIAS
    )


def late(target: str, **more: Answer) -> dict[str, Answer]:
    """The same; when B is known as a mirror there is a link to one more page of it."""
    web = mirrored(20)
    web[f"{C}/"] = html(*web, f"{A}/lost", f"{C}/then")
    return web | {f"{C}/then": html(B + target, title="Then")} | more


def test_a_page_that_a_mirror_alone_has_is_not_lost(path: Path) -> None:
    web = late("/lost", **{f"{B}/lost": html(title="Lost")})
    run = crawl(web, path, f"{C}/", strategy="breadth-first", concurrency=1)
    assert run.states[f"{A}/lost"] is State.NOT_FOUND
    assert run.states[f"{B}/lost"] is State.FETCHED
    assert in_state(run, State.TWIN)


def test_a_page_that_only_the_mirror_was_known_to_have_is_read_where_it_belongs(path: Path) -> None:
    web = late("/new", **{f"{A}/new": html(title="New"), f"{B}/new": html(title="New")})
    run = crawl(web, path, f"{C}/", strategy="breadth-first", concurrency=1)
    assert run.states[f"{A}/new"] is State.FETCHED
    assert run.states[f"{B}/new"] is State.TWIN


def test_what_is_out_of_scope_stands_for_nobody(path: Path) -> None:
    run = crawl(mirrored(40), path, f"{C}/", allow=["www.[bc]|/[0-9]$|/1[0-9]$"])
    assert f"{A}/39" not in run.asked
    assert run.states[f"{B}/39"] is State.FETCHED


# ---------------------------------------------------------------- allowances


def test_a_site_that_the_user_vouches_for_is_read_to_its_end(path: Path) -> None:
    names = [f"/{'x' * page}" for page in range(1, 60)]
    web = web_of({f"{A}/": names} | {A + name: [] for name in names})
    run = crawl(web, path, f"{A}/", site_pages=5)
    assert in_state(run, State.FETCHED) == set(web)


def test_so_is_one_that_a_seed_leads_to(path: Path) -> None:
    names = [f"/{'x' * page}" for page in range(1, 60)]
    web = web_of({f"{A}/": names} | {A + name: [] for name in names})
    run = crawl(
        web | {"http://short.test/": moved(f"{A}/")}, path, "http://short.test/", site_pages=5
    )
    assert set(web) <= in_state(run, State.FETCHED)


def test_a_run_that_goes_on_knows_where_seeds_have_led(path: Path) -> None:
    names = [f"/{'x' * page}" for page in range(1, 30)]
    web = web_of({f"{A}/": names} | {A + name: [] for name in names})
    short = "http://short.test/"
    web |= {short: moved(f"{A}/")}
    crawl(web, path, short, site_pages=5, pages=3)
    assert in_state(crawl(web, path, site_pages=5), State.FETCHED) == web.keys() - {short}


def farm(hosts: int) -> dict[str, Answer]:
    """Hosts of one domain that link to each other; one link leads there."""
    names = [f"http://h{host}.farm.test/" for host in range(hosts)]
    links = {name: names[host + 1 : host + 20] for host, name in enumerate(names)}
    return web_of({f"{A}/": [names[0]], **links})


def test_a_farm_gets_what_its_site_is_allowed_however_many_hosts_it_has(path: Path) -> None:
    run = crawl(farm(300), path, f"{A}/", site_pages=60, endowment=0)
    asked = [url for url in run.asked if "farm" in url]
    assert 5 <= len(asked) <= 8
    (aside, *_) = in_state(run, State.ALLOWANCE)
    assert why(path, aside).startswith("farm.test has had ")
    assert why(path, aside).endswith("--site-pages 60")


def test_sites_at_one_address_have_no_more_pages_than_one(path: Path) -> None:
    """Each of them is known by a link of the seed, and leads to a page more."""
    names = [f"http://site-{'x' * number}.example/" for number in range(1, 30)]
    web = web_of({f"{A}/": names} | {name: [f"{name}more"] for name in names})

    def locate(scene: Scene, _: Event) -> None:
        for host, origin in enumerate(scene.recorder.frontier.urls.origins):
            if origin != A:
                scene.crawler.parts.traps.located(host, "198.41.0.4")

    run = crawl(web, path, f"{A}/", site_pages=12, hear=locate, concurrency=1, endowment=0)
    aside = in_state(run, State.ALLOWANCE)
    assert len(aside) > 15
    assert why(path, aside.pop()).startswith("what is at 198.41.0.4 has had ")


def test_pages_wait_again_when_their_site_has_earned_more(path: Path) -> None:
    """Its last pages are put aside before the links that earn them are found."""
    names = [f"/{'x' * page}" for page in range(1, 30)]
    site = {f"{B}/": names} | {B + name: [] for name in names}
    friends = [f"/{'y' * page}" for page in range(1, 30)]
    home = {f"{A}/": [f"{B}/", f"{A}/hub"], f"{A}/hub": friends}
    home |= {A + name: [f"{B}/"] for name in friends}
    limits: dict[str, Any] = {"site_pages": 3, "endowment": 0}
    run = crawl(
        web_of(home | site), path, f"{A}/", strategy="breadth-first", concurrency=1, **limits
    )
    assert any(
        isinstance(event, Settled) and event.state is State.ALLOWANCE for event in run.events
    )
    assert len([url for url in run.asked if url.startswith(B)]) > 20


def test_a_crawl_that_goes_on_takes_up_what_its_sites_have_had(path: Path) -> None:
    web = farm(300)
    first = crawl(web, path, f"{A}/", site_pages=60, endowment=0)
    assert crawl(web, path, site_pages=60, endowment=0).asked == []
    more = crawl(web, path, site_pages=120, endowment=0).asked
    assert 0 < len(more) <= len(first.asked) + 2
