"""Robots.txt, scope and depth apply to sitemaps, which may list pages of some hosts only."""

import asyncio
import gzip
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Noted
from minicrawl.crawl.hosts.sitemap_queue import MANY, REQUESTS_A_READING
from minicrawl.model import FetchResult, Request, Response, Unchanged
from minicrawl.states import State, policy_of
from tests.crawl.fakes import Answer, FakeWeb, Run, crawl, failed, html, moved, text, web_of

A, B, C = "http://a.example", "http://b.example", "http://c.example"
FORBIDDING = text("User-agent: *\nDisallow: /")


def naming(*urls: str) -> Answer:
    return text("\n".join(f"Sitemap: {url}" for url in urls))


def listing(*urls: str) -> Answer:
    return text("<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>")


def run_of(
    answers: dict[str, Answer], path: Path, seeds: Iterable[str] = (f"{A}/",), **settings: Any
) -> tuple[FakeWeb, Run]:
    web = FakeWeb(
        web_of({f"{A}/": []}) | answers, elsewhere=lambda request: html(title=request.url)
    )
    for origin in (A, B, C):
        web.answers.setdefault(f"{origin}/robots.txt", text(""))
    return web, crawl(web, path, *seeds, sitemaps=True, **settings)


def asked(web: FakeWeb) -> set[str]:
    return {visit.url for visit in web.visits}


def notes_on(run: Run, *names: str) -> list[Noted]:
    """Return the notes in which all these names occur."""
    notes = [event for event in run.events if isinstance(event, Noted)]
    return [note for note in notes if all(name in note.text for name in names)]


@pytest.mark.parametrize("robots_txt", [FORBIDDING, failed(State.SERVER_ERROR)])
def test_the_robots_txt_of_its_own_host_decides_whether_a_sitemap_is_read(
    robots_txt: Answer, path: Path
) -> None:
    answers = {f"{A}/robots.txt": naming(f"{B}/s.xml"), f"{B}/robots.txt": robots_txt}
    web, run = run_of(answers, path)
    assert f"{B}/robots.txt" in asked(web)
    assert f"{B}/s.xml" not in asked(web)
    assert notes_on(run, f"{B}/s.xml", "robots")


def test_redirects_of_sitemaps_are_followed_and_failing_sitemaps_are_skipped(path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": naming("/gone.xml", "/old.xml", "mailto:a@b"),
        f"{A}/gone.xml": failed(State.NOT_FOUND),
        f"{A}/old.xml": moved("/new.xml"),
        f"{A}/new.xml": listing(f"{A}/1"),
    }
    _, run = run_of(answers, path)
    assert run.states == dict.fromkeys((f"{A}/", f"{A}/1"), State.FETCHED)


def test_a_host_whose_sitemaps_fail_is_struck(path: Path) -> None:
    throttled = failed(State.THROTTLED, retry_after="60")
    web, _ = run_of({f"{A}/robots.txt": naming("/s.xml"), f"{A}/s.xml": throttled}, path)
    assert [visit.began for visit in web.visits] == [1000, 1000, 1060]


def test_the_failure_of_a_sitemap_on_another_host_is_no_strike_against_this_one(path: Path) -> None:
    fails = failed(State.SERVER_ERROR)
    web, _ = run_of({f"{A}/robots.txt": naming(f"{B}/s.xml"), f"{B}/s.xml": fails}, path)
    files = [f"{A}/robots.txt", f"{B}/robots.txt", f"{B}/s.xml"]
    assert [visit.url for visit in web.visits] == [*files, f"{A}/"]
    assert {visit.began for visit in web.visits} == {1000}


def test_a_sitemap_beyond_a_limit_is_noted(path: Path) -> None:
    bomb = text("")._replace(body=gzip.compress(f"{A}/1\n".encode() + bytes(20_000_000)))
    _, run = run_of({f"{A}/robots.txt": naming("/s.xml"), f"{A}/s.xml": bomb}, path)
    assert notes_on(run, f"{A}/s.xml", f"{100 * len(bomb.body):,} bytes")
    assert f"{A}/1" in run.states


def test_a_sitemap_on_another_host_keeps_the_delay_of_that_host(path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": naming(*(f"{B}/{number}.xml" for number in range(4))),
        f"{B}/": html("/1", "/2"),
    }
    web, _ = run_of(answers, path, seeds=(f"{A}/", f"{B}/"), delay=1)
    began = sorted(visit.began for visit in web.visits_of(B))
    assert len(began) == 8
    assert all(after - before >= 1 for before, after in pairwise(began))


def test_sitemaps_left_unread_by_a_run_are_read_by_the_next(path: Path) -> None:
    robots_txt = text("User-agent: *\nCrawl-delay: 10\nSitemap: /s.xml")
    answers: dict[str, Answer] = {f"{A}/robots.txt": robots_txt, f"{A}/s.xml": listing(f"{A}/1")}
    web, _ = run_of(answers, path, for_=5)
    assert web.asked == []
    _, run = run_of(answers, path)
    assert run.states == dict.fromkeys((f"{A}/", f"{A}/1"), State.FETCHED)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kind", [State.SERVER_ERROR, State.RESET])
def test_a_sitemap_waits_for_its_robots_txt(kind: State, times: int, path: Path) -> None:
    left = iter([failed(kind)] * times)
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": naming(f"{B}/s.xml"),
        f"{B}/robots.txt": lambda _: next(left, None) or text(""),
        f"{B}/s.xml": listing(f"{A}/1"),
    }
    _, run = run_of(answers, path)
    assert run.states[f"{A}/1"] is State.FETCHED


def test_of_a_host_that_is_down_it_is_noted_that_its_robots_txt_is_missing(path: Path) -> None:
    down = failed(State.RESET)
    answers = {f"{A}/robots.txt": naming(*(f"{B}/{n}.xml" for n in range(3)))}
    web, run = run_of(answers | {f"{B}/robots.txt": down}, path)
    assert sum(isinstance(event, Noted) for event in run.events) == 3
    for n in range(3):
        assert notes_on(run, f"{B}/{n}.xml", "robots.txt of its host")
    requests = [visit.url for visit in web.visits if visit.url.startswith(B)]
    assert requests == [f"{B}/robots.txt"] * policy_of(State.RESET).tries
    assert run.states[f"{A}/"] is State.FETCHED


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"scope": "host"}, "scope"),
        ({"deny": ("b.example",)}, "scope"),
        ({"allow": ("a.example",)}, "scope"),
        ({"max_depth": 0}, "depth"),
    ],
)
def test_scope_and_depth_apply_to_sitemaps(settings: dict[str, Any], told: str, path: Path) -> None:
    web, run = run_of({f"{A}/robots.txt": naming(f"{B}/s.xml")}, path, **settings)
    assert not any(url.startswith(B) for url in asked(web))
    assert notes_on(run, f"{B}/s.xml", told)


def test_the_ending_of_the_name_of_a_sitemap_does_not_matter(path: Path) -> None:
    answers = {f"{A}/robots.txt": naming("/s.xml.gz"), f"{A}/s.xml.gz": listing(f"{A}/1")}
    _, run = run_of(answers, path, scope="host")
    assert run.states[f"{A}/1"] is State.FETCHED


def test_without_robots_neither_robots_txt_nor_sitemaps_are_requested(path: Path) -> None:
    web, _ = run_of({f"{A}/robots.txt": naming(f"{B}/s.xml")}, path, robots=False)
    assert asked(web) == {f"{A}/"}


def test_listed_pages_at_another_port_of_the_host_become_known(path: Path) -> None:
    other = "https://a.example:8443/1"
    answers = {f"{A}/robots.txt": naming("/s.xml"), f"{A}/s.xml": listing(other)}
    _, run = run_of(answers, path)
    assert other in run.states


def test_a_host_may_have_its_pages_listed_elsewhere_if_its_robots_txt_says_so(path: Path) -> None:
    shared = f"{C}/shared.xml"
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": naming(shared),
        f"{B}/robots.txt": naming(shared),
        f"{A}/": html(f"{B}/"),
        shared: listing(f"{A}/1", f"{B}/1", f"{C}/1", "http://d.example/1"),
    }
    _, run = run_of(answers, path)
    assert set(run.states) == {f"{A}/", f"{B}/", f"{A}/1", f"{B}/1", f"{C}/1"}


def test_a_sitemap_in_an_index_may_list_pages_of_the_host_that_names_the_index(path: Path) -> None:
    parts = (f"{C}/part.xml", "/index.xml")
    names = "".join(f"<sitemap><loc>{part}</loc></sitemap>" for part in parts)
    index = text(f"<sitemapindex>{names}</sitemapindex>")
    answers = {
        f"{A}/robots.txt": naming("/index.xml"),
        f"{A}/index.xml": index,
        f"{C}/part.xml": listing(f"{A}/1", f"{B}/1"),
    }
    web, run = run_of(answers, path)
    assert set(run.states) == {f"{A}/", f"{A}/1"}
    assert [visit.url for visit in web.visits].count(f"{A}/index.xml") == 1


def test_a_listed_page_is_one_link_deeper_than_the_shallowest_of_its_host(path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{A}/": html(f"{B}/deep"),
        f"{B}/robots.txt": naming("/s.xml"),
        f"{B}/s.xml": listing(f"{B}/1"),
    }
    _, run = run_of(answers, path)
    depths = dict(zip(run.states, run.recorder.frontier.urls.depth, strict=True))
    assert (depths[f"{B}/deep"], depths[f"{B}/1"]) == (1, 2)


def test_no_chain_of_sitemaps_leads_beyond_the_depth(path: Path) -> None:
    hosts = [f"http://h{n}.example" for n in range(6)]
    answers: dict[str, Answer] = {}
    for host, following in pairwise(hosts):
        answers[f"{host}/robots.txt"] = naming("/s.xml", f"{following}/t.xml")
        answers[f"{host}/s.xml"] = listing(f"{following}/found")
        answers[f"{host}/t.xml"] = listing(f"{host}/found")
    web, run = run_of(answers, path, seeds=[f"{hosts[0]}/"], max_depth=1)
    pages = {url for url in asked(web) if not url.endswith((".txt", ".xml"))}
    assert pages == {f"{hosts[0]}/", f"{hosts[1]}/found"}
    assert run.states[f"{hosts[1]}/found"] is State.FETCHED


def test_a_cut_sitemap_is_noted(path: Path) -> None:
    cut = listing(f"{A}/1")
    assert isinstance(cut, Response)
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": naming("/s.xml"),
        f"{A}/s.xml": cut._replace(cut=State.TOO_LARGE),
    }
    _, run = run_of(answers, path)
    assert notes_on(run, "sitemap")


def test_the_number_of_sitemaps_is_limited_and_the_limit_is_noted(path: Path) -> None:
    answers = {f"{A}/robots.txt": naming(*(f"/{n}.xml" for n in range(5)))}
    web, run = run_of(answers, path, max_sitemaps=3)
    assert len([url for url in asked(web) if url.endswith(".xml")]) == 3
    assert notes_on(run, "3 sitemaps")


def in_order(web: FakeWeb) -> str:
    """Return the requests to host A in their order: s for a sitemap, p for a page."""
    visits = sorted(web.visits_of(A), key=lambda visit: visit.began)
    files = [visit.url for visit in visits if not visit.url.endswith("/robots.txt")]
    return "".join("s" if url.endswith(".xml") else "p" for url in files)


@pytest.mark.parametrize(
    ("listed", "order"), [(MANY, "spspsppp"), (MANY - 1, "sssppppp")], ids=["large", "small"]
)
def test_large_sitemaps_take_turns_with_pages(listed: int, order: str, path: Path) -> None:
    names = [f"{A}/{n}.xml" for n in range(3)]
    answers = {
        name: listing(*(f"{A}/{name[-5]}-{page}" for page in range(listed))) for name in names
    }
    web, _ = run_of({f"{A}/robots.txt": naming(*names)} | answers, path, delay=1, pages=5)
    assert in_order(web) == order


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"delay": 1}, {"deterministic": True}])
def test_all_sitemaps_are_read_though_no_page_may_be_requested_any_more(
    settings: dict[str, Any], path: Path
) -> None:
    names = [f"{A}/{n}.xml" for n in range(4)]
    answers = {
        name: listing(*(f"{A}/no/{name[-5]}-{page}" for page in range(MANY))) for name in names
    }
    web, _ = run_of({f"{A}/robots.txt": naming(*names)} | answers, path, deny=["/no/"], **settings)
    assert asked(web) == {f"{A}/", f"{A}/robots.txt", *names}


@pytest.mark.parametrize("pages", [[], [f"{A}/{n}" for n in range(30)]])
def test_pages_go_on_while_a_sitemap_takes_long(pages: list[str], path: Path) -> None:
    """The sitemaps behind it are read as well, if it took the last page with it or not."""

    async def slow(_: Request) -> FetchResult:
        await asyncio.sleep(20)
        return text("<urlset/>")

    names = [f"{B}/{n}.xml" for n in range(3)]
    answers = {f"{A}/": html(*pages), f"{A}/robots.txt": naming(*names), names[0]: slow}
    web, _ = run_of(answers | dict.fromkeys(names[1:], listing()), path, delay=1)
    sitemaps = [visit for visit in web.visits if visit.url in names]
    assert [visit.url for visit in sitemaps] == names
    first = next(visit for visit in web.visits if visit.url == f"{A}/")
    assert first.began < sitemaps[0].began + 2
    assert {f"{A}/", *pages} <= asked(web)


def growing_site(*, every: int) -> dict[str, Answer]:
    """Make a site whose sitemap lists one more page after each `every` requests for pages."""
    state = {"pages": 0}

    def page(request: Request) -> Response:
        state["pages"] += 1
        return html(title=request.url)

    def sitemap(request: Request) -> Response | Unchanged:
        count = state["pages"] // every
        if request.etag == f'"{count}"':
            return Unchanged()
        listed = listing(*(f"{A}/{number}" for number in range(count + 1)))
        assert isinstance(listed, Response)
        return listed._replace(headers={"etag": f'"{count}"'})

    first = {f"{A}/": page} | {f"{A}/{number}": page for number in range(99)}
    return first | {f"{A}/robots.txt": naming("/s.xml"), f"{A}/s.xml": sitemap}


@pytest.mark.slow
def test_a_continuous_crawl_finds_pages_that_a_sitemap_lists_later(path: Path) -> None:
    web, run = run_of(growing_site(every=30), path, continuous=True, pages=250, delay=1)
    urls = [visit.url for visit in web.visits_of(A)]
    sitemaps = urls.count(f"{A}/s.xml")
    assert sum(f"{A}/{number}" in run.states for number in range(9)) >= 6
    assert 4 < sitemaps <= len(urls) / REQUESTS_A_READING + 1
    began = sorted(visit.began for visit in web.visits_of(A))
    assert all(after - before >= 1 for before, after in pairwise(began))


@pytest.mark.slow
def test_a_sitemap_is_requested_again_with_its_validators(path: Path) -> None:
    requests: list[Request] = []
    site = growing_site(every=10**9)

    def sitemap(request: Request) -> FetchResult:
        requests.append(request)
        listed = listing(f"{A}/0")
        assert isinstance(listed, Response)
        return Unchanged() if request.etag else listed._replace(headers={"etag": '"0"'})

    _, run = run_of(site | {f"{A}/s.xml": sitemap}, path, continuous=True, pages=200, delay=1)
    assert [request.etag for request in requests] == [None, *['"0"'] * (len(requests) - 1)]
    assert 2 <= len(requests) <= 6
    assert f"{A}/0" in run.states


def test_a_run_that_ends_reads_a_sitemap_once(path: Path) -> None:
    site = growing_site(every=1)
    many = listing(*(f"{A}/{number}" for number in range(100)))
    web, _ = run_of(site | {f"{A}/s.xml": many}, path)
    assert [visit.url for visit in web.visits].count(f"{A}/s.xml") == 1
