"""Links, sitemaps and redirects make pages known, by which URL and in which scope."""

import asyncio
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import pytest

from minicrawl import Event, Settled
from minicrawl.crawl.dispatch.dispatcher import CLOSED_AT_ONCE
from minicrawl.crawl.settle.posting import LINKS_AT_ONCE
from minicrawl.errors import UsageError
from minicrawl.model import FetchResult, Request
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State
from minicrawl.store import questions, step_log, tables
from minicrawl.store.reader import reading
from tests.crawl.fakes import (
    Answer,
    FakeWeb,
    Scene,
    canonical,
    crawl,
    failed,
    html,
    links_of,
    moved,
    text,
    web_of,
)
from tests.crawl.jumping_clock import Loop
from tests.crawl.loop.webs import A, B, C

MOST_LINKS = 10_000


def test_a_cut_body_and_a_cut_list_of_links_are_recorded(path: Path) -> None:
    links = [f"/{n}" for n in range(MOST_LINKS + 1)]
    run = crawl({f"{A}/": html(*links)._replace(cut=State.RESET)}, path, f"{A}/", pages=1)
    with reading(path) as connection:
        (first,) = tables.last_fetches(connection, 0, 1)
    assert "reset" in first.detail
    assert f"{MOST_LINKS:,} links" in first.detail
    assert len(run.states) == 1 + MOST_LINKS


def test_very_many_links_become_known_at_a_measured_pace(path: Path) -> None:
    """After each block, the page pauses three times as long as the block took."""
    links = [f"{A}/{n}" for n in range(2 * LINKS_AT_ONCE + 3)]
    web = FakeWeb({f"{A}/": html(*links, "/0#top")}, elsewhere=html())
    began = perf_counter()
    crawl(web, path, f"{A}/", pages=2)
    assert links_of(path, f"{A}/") == links
    page, other, *_ = (visit for visit in web.visits if visit.url in web.asked)
    assert 0 < other.began - page.ended < 3 * (perf_counter() - began)


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
            for row in step_log.steps_after(connection, 0)
            if row.step.kind is StepKind.BORN
        ]
    assert born == [1, LINKS_AT_ONCE, LINKS_AT_ONCE, more]


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


def test_links_of_a_nofollow_page_do_not_become_known(path: Path) -> None:
    run = crawl({f"{A}/": html("/1", x_robots_tag="nofollow")}, path, f"{A}/")
    assert list(run.states) == [f"{A}/"]


def test_an_endless_chain_of_redirects_is_given_up(path: Path) -> None:
    def on_and_on(request: Request) -> FetchResult:
        return moved(f"/{int(request.url.rpartition('/')[2]) + 1}")

    web = FakeWeb({f"{A}/robots.txt": failed(State.NOT_FOUND)}, elsewhere=on_and_on)
    run = crawl(web, path, f"{A}/0")
    assert [state.name for state in run.states.values()] == ["MOVED"] * 10 + ["BAD_REDIRECT"]
    last = [event for event in run.events if isinstance(event, Settled)][-1]
    assert last.detail.startswith("/11;")
    assert "10 redirects" in last.detail


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
