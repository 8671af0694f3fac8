"""The crawl's side of rendering, with a browser that the tests play."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from minicrawl.crawl.progress import RenderingProgress
from minicrawl.crawl.rendering.pool import Answer
from minicrawl.crawl.rendering.render_messages import (
    NotRendered,
    PageToRender,
    Rendered,
    Resource,
    ResourceRequest,
)
from minicrawl.crawl.rendering.renderer import PageRenderer
from minicrawl.crawl.workers.pool import Activity
from minicrawl.model import ParsedPage, Request, Response, Want
from minicrawl.states import State
from minicrawl.web.urls import posted
from tests.crawl import fakes
from tests.crawl.fakes import FakeWeb, Scene, crawl, failed, html, moved, text

A, B = "http://a.example", "http://b.example"
SCRIPT, DATA, THERE = f"{A}/app.js", f"{A}/data", f"{B}/data"
NOT_FOUND = failed(State.NOT_FOUND)
SHELL = html(body='<div id="root"></div><script src="/app.js"></script>')


def wants(
    number: int, url: str, kind: str = "script", asker: str = A, **headers: str
) -> ResourceRequest:
    """Return a request of a page. Names of headers are written with underscores."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ResourceRequest(number, url, kind, kind != "script", asker, named)


class PlayedBrowser:
    """A browser that sends the same requests for each page, which then links to the next path."""

    def __init__(self, *wanted: ResourceRequest, ends: Sequence[NotRendered] = ()) -> None:
        self._wanted, self._ends = wanted, list(ends)
        self.renderer: PageRenderer
        self.got: list[Resource] = []
        self.pages: list[str] = []

    @asynccontextmanager
    async def free_for(self, host: str) -> AsyncIterator["PlayedBrowser"]:
        yield self

    def charge(self, host: str, cost_s: float) -> None: ...

    async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
        self.pages.append(page.request.url)
        for wanted in self._wanted:
            self.got.append(await answer(wanted))
        if self._ends:
            return self._ends.pop(0)
        parsed = ParsedPage(links=(f"{page.request.url}x",), content=len(self.pages))
        return Rendered(parsed, b"<p>rendered", 0.5)


def rendered_crawl(
    web: FakeWeb, path: Path, browser: PlayedBrowser, *seeds: str, **settings: Any
) -> Any:
    async def attach(scene: Scene) -> None:
        context, parts = scene.crawler.context, scene.crawler.parts
        context.renderer = browser.renderer = PageRenderer(
            context, parts.onboarding, parts.slots, parts.traps.novelty, cast(Any, browser)
        )

    chosen = {"render": "auto", "scope": "host", "pages": 3, **settings}
    return crawl(web, path, *(seeds or (f"{A}/",)), during=attach, **chosen)


def loaded(
    path: Path,
    answers: Mapping[str, fakes.Answer],
    *wanted: ResourceRequest,
    elsewhere: fakes.Answer = NOT_FOUND,
    **settings: Any,
) -> tuple[FakeWeb, list[int]]:
    """Crawl one page with these requests. Return the web, and the statuses that the page got."""
    web, browser = FakeWeb({f"{A}/": SHELL, **answers}, elsewhere), PlayedBrowser(*wanted)
    rendered_crawl(web, path, browser, **{"pages": 1, **settings})
    return web, [found.status for found in browser.got]


def test_requests_of_a_page_keep_the_delay_of_its_host(path: Path) -> None:
    web = FakeWeb({f"{A}/": SHELL, SCRIPT: text("1"), DATA: text("[]")}, SHELL, takes_s=0.1)
    web.answers[f"{A}/robots.txt"] = NOT_FOUND
    browser = PlayedBrowser(wants(1, SCRIPT), wants(2, DATA, "fetch"))
    rendered_crawl(web, path, browser, delay=5)
    visits = sorted(web.visits_of(A), key=lambda visit: visit.began)
    assert len(visits) == 1 + 3 + 1 + 3  # robots.txt, pages, the script once, their data
    pauses = [after.began - before.ended for before, after in pairwise(visits)]
    assert min(pauses) == pytest.approx(5)
    assert web.most_at_once == 1


def test_requests_of_many_pages_of_a_host_do_not_block_each_other(path: Path) -> None:
    web = FakeWeb({SCRIPT: text("1"), DATA: text("[]")}, SHELL)
    web.answers[f"{A}/robots.txt"] = NOT_FOUND
    browser = PlayedBrowser(wants(1, DATA, "fetch"))
    run = rendered_crawl(web, path, browser, pages=20)
    assert len(browser.pages) == 20
    assert set(run.settled.values()) == {State.FETCHED}


def test_progress_shows_the_pages_in_browsers(path: Path) -> None:
    told = list[RenderingProgress]()

    class Watched(PlayedBrowser):
        def __init__(self) -> None:
            super().__init__()
            self.activity = Activity()
            self.slots = [self]

        async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
            number = self.activity.begin(page.request.url)
            told.append(self.renderer.progress())
            self.activity.end(number)
            told.append(self.renderer.progress())
            return await super().render(page, answer)

    rendered_crawl(FakeWeb({}, SHELL), path, Watched(), pages=2)
    busy, idle, later, _ = told
    assert [url for url, _ in busy.pages] == [f"{A}/"]
    assert (busy.browsers, busy.rendered, busy.waiting, idle.pages) == (1, 0, 0, ())
    assert later.rendered == 1


@pytest.mark.parametrize(("fetches", "rendered"), [(True, 3), (False, 1)])
def test_for_an_archive_a_page_is_rendered_whatever_its_scripts_seem_to_do(
    path: Path, fetches: bool, rendered: int
) -> None:
    class Fetching(PlayedBrowser):
        async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
            await super().render(page, answer)
            return Rendered(ParsedPage(content=len(self.pages)), b"", 0.5, fetches=fetches)

    body = f'{"words " * 100}<script src="/theme.js"></script>'
    links = "".join(f'<a href="/{n}">x</a>' for n in range(9))
    web, browser = FakeWeb({}, html(body=body + links)), Fetching()
    rendered_crawl(web, path, browser, warc=path.parent / "warcs")
    assert len(browser.pages) == rendered


FORBIDDING = text("User-agent: *\nDisallow: /")


def test_robots_txt_applies_to_data_on_any_host_but_not_to_scripts(path: Path) -> None:
    answers = {f"{A}/robots.txt": text(""), f"{B}/robots.txt": FORBIDDING}
    wanted = (wants(1, f"{B}/data", "fetch"), wants(2, f"{B}/app.js"))
    web, statuses = loaded(path, answers, *wanted, elsewhere=text("1"))
    assert statuses == [0, 200]
    assert [visit.url for visit in web.visits_of(B)] == [f"{B}/robots.txt", f"{B}/app.js"]


def test_robots_txt_applies_to_targets_of_redirects(path: Path) -> None:
    answers: dict[str, fakes.Answer] = {DATA: moved(f"{B}/secret"), SCRIPT: moved("/real.js")}
    answers |= {f"{A}/real.js": text("1"), f"{B}/robots.txt": FORBIDDING}
    web, statuses = loaded(path, answers, wants(1, SCRIPT), wants(2, DATA, "fetch"))
    assert statuses == [200, 0]
    assert f"{B}/secret" not in [visit.url for visit in web.visits]


def anonymous(web: FakeWeb, url: str) -> list[bool]:
    return [visit.request.is_anonymous for visit in web.visits if visit.url == url]


def open_to(whom: str) -> Response:
    return text("[]")._replace(headers={"access-control-allow-origin": whom})


@pytest.mark.parametrize(
    ("asker", "allowed", "is_read"),
    [(B, "", True), (A, "", False), (A, B, False), (A, A, True), (A, "*", True), ("", "", False)],
)
def test_data_of_another_origin_is_requested_without_logins_and_only_read_if_allowed(
    asker: str, allowed: str, is_read: bool, path: Path
) -> None:
    web, statuses = loaded(path, {THERE: open_to(allowed)}, wants(1, THERE, "fetch", asker))
    assert statuses == [200 if is_read else 0]
    assert anonymous(web, THERE) == [asker != B]


def test_a_redirect_gives_no_access_to_another_origin(path: Path) -> None:
    kinds = enumerate(("fetch", "xhr", "document", "script"))
    answers: dict[str, fakes.Answer] = {DATA: moved(THERE), THERE: text("[]")}
    web, statuses = loaded(path, answers, *(wants(n, DATA, kind) for n, kind in kinds))
    assert statuses == [0, 0, 0, 200]
    assert anonymous(web, THERE) == [True] * 3
    assert set(anonymous(web, DATA)) == {False}


def test_cached_data_of_one_origin_is_not_given_to_another(path: Path) -> None:
    kept = text("[]")._replace(headers={"cache-control": "max-age=999"})
    asked = [(DATA, "fetch", asker) for asker in (A, A, B, B)]
    asked += [(SCRIPT, "script", asker) for asker in (A, A, B, B)]
    wanted = (wants(number, *one) for number, one in enumerate(asked))
    web, statuses = loaded(path, {DATA: kept, SCRIPT: kept}, *wanted)
    assert statuses == [200, 200, 0, 0] + [200] * 4
    assert anonymous(web, DATA) == [False, True, True]
    assert anonymous(web, SCRIPT) == [False, True]


def test_a_page_that_gives_up_takes_no_script_from_others_that_wait_for_it(path: Path) -> None:
    class Impatient(PlayedBrowser):
        async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
            if page.request.url == f"{B}/":
                await asyncio.sleep(1)
                return await super().render(page, answer)
            asking = asyncio.ensure_future(answer(self._wanted[0]))
            await asyncio.sleep(2)
            asking.cancel()
            return NotRendered("given up")

    async def slow(_: Request) -> Response:
        await asyncio.sleep(5)
        return text("1")

    web, browser = (
        FakeWeb({f"{A}/": SHELL, f"{B}/": SHELL, SCRIPT: slow}),
        Impatient(wants(1, SCRIPT)),
    )
    rendered_crawl(web, path, browser, f"{A}/", f"{B}/")
    assert [(found.status, found.body) for found in browser.got] == [(200, b"1")]
    assert [visit.url for visit in web.visits].count(SCRIPT) == 2


def asked(web: FakeWeb, url: str) -> list[tuple[Want, set[str]]]:
    """Return kind and script headers of each request for a URL, without the header Origin."""
    visits = [visit.request for visit in web.visits if visit.url == url]
    return [(one.want, {name for name, _ in one.headers if name != "origin"}) for one in visits]


PREFLIGHT = (Want.PREFLIGHT, {"access-control-request-method"})
PREFLIGHT_WITH_NAMES = (PREFLIGHT[0], PREFLIGHT[1] | {"access-control-request-headers"})


@pytest.mark.parametrize(
    ("said", "is_sent"),
    [
        ({}, False),
        ({"access-control-allow-origin": A}, False),
        ({"access-control-allow-headers": "x-key, x-other"}, False),
        ({"access-control-allow-origin": B, "access-control-allow-headers": "x-key"}, False),
        ({"access-control-allow-origin": A, "access-control-allow-headers": "x-other"}, False),
        ({"access-control-allow-origin": A, "access-control-allow-headers": "A, X-Key"}, True),
        ({"access-control-allow-origin": "*", "access-control-allow-headers": "*"}, True),
    ],
)
def test_another_origin_gets_headers_of_a_script_only_if_its_preflight_allows_them(
    said: dict[str, str], is_sent: bool, path: Path
) -> None:
    def answer(request: Request) -> Response:
        told = said if request.want is Want.PREFLIGHT else {"access-control-allow-origin": "*"}
        return text("[]")._replace(headers=told)

    web, statuses = loaded(path, {THERE: answer}, wants(1, THERE, "fetch", x_key="1"))
    assert statuses == [200 if is_sent else 0]
    sent = [(Want.RESOURCE, {"x-key"})] if is_sent else []
    shares_at_all = said.get("access-control-allow-origin") in ("*", A) and not is_sent
    more = [PREFLIGHT_WITH_NAMES] if shares_at_all else []
    assert asked(web, THERE) == [PREFLIGHT, *more, *sent]
    assert set(anonymous(web, THERE)) == {True}
    assert {dict(visit.request.headers)["origin"] for visit in web.visits_of(B)[1:]} == {A}


def test_a_preflight_with_names_is_sent_to_an_origin_that_repeats_them(path: Path) -> None:
    def answer(request: Request) -> Response:
        names.append(dict(request.headers).get("access-control-request-headers", ""))
        said = {"access-control-allow-origin": A, "access-control-allow-headers": names[-1]}
        return text("[]")._replace(headers=said)

    names: list[str] = []
    web, _ = loaded(path, {THERE: answer}, wants(1, THERE, "fetch", x_key="1"))
    assert asked(web, THERE) == [PREFLIGHT, PREFLIGHT_WITH_NAMES, (Want.RESOURCE, {"x-key"})]
    assert names == ["", "x-key", ""]


def test_same_origin_and_safelisted_headers_need_no_preflight(path: Path) -> None:
    wanted = (
        wants(1, DATA, "fetch", x_key="1"),
        wants(2, f"{B}/safe", "fetch", accept="text/html", referer=A),
        wants(3, f"{B}/long", "fetch", accept="x" * 129),
        wants(4, f"{B}/strange", "fetch", accept='"'),
        wants(5, f"{B}/app.js", x_key="1"),
        wants(6, f"{B}/form", "fetch", content_type="text/plain; charset=utf-8")._replace(
            body=b"x"
        ),
    )
    web, _ = loaded(path, {}, *wanted, elsewhere=open_to("*"))
    assert asked(web, DATA) == [(Want.RESOURCE, {"x-key"})]
    assert asked(web, f"{B}/safe") == [(Want.RESOURCE, {"accept", "referer"})]
    for url in (f"{B}/long", f"{B}/strange"):
        assert asked(web, url) == [PREFLIGHT, PREFLIGHT_WITH_NAMES]
    assert asked(web, f"{B}/app.js") == [(Want.RESOURCE, set())]
    assert asked(web, f"{B}/form") == []
    assert asked(web, posted(f"{B}/form", b"x")) == [(Want.RESOURCE, {"content-type"})]


def test_a_post_has_no_logins_and_reaches_other_origins_after_a_preflight(path: Path) -> None:
    body = b'{"n": 1}'
    allows = {"access-control-allow-origin": A, "access-control-allow-headers": "content-type"}
    answer = text("[]")._replace(headers=allows)
    answers: dict[str, fakes.Answer] = {posted(f"{A}/moves", body): moved(DATA), THERE: answer}
    answers |= {posted(DATA, body): answer, posted(THERE, body): answer}
    wanted = (
        wants(number, url, "fetch", content_type="application/json")._replace(body=body)
        for number, url in enumerate((DATA, f"{A}/moves", THERE))
    )
    web, statuses = loaded(path, answers, *wanted)
    assert statuses == [200, 0, 200]
    assert anonymous(web, posted(DATA, body)) == [True]
    assert DATA not in [visit.url for visit in web.visits]
    (preflight,) = (visit.request for visit in web.visits if visit.url == THERE)
    assert dict(preflight.headers)["access-control-request-method"] == "POST"
    (post,) = (visit.request for visit in web.visits if visit.url == posted(THERE, body))
    assert (post.method, post.body) == ("POST", body)


@pytest.mark.parametrize("answer", [moved(f"{B}/elsewhere"), failed(State.TIMEOUT)])
def test_a_preflight_that_is_redirected_or_fails_allows_nothing(
    answer: fakes.Answer, path: Path
) -> None:
    web, statuses = loaded(path, {THERE: answer}, wants(1, THERE, "fetch", x_key="1"))
    assert statuses == [0]
    assert asked(web, THERE) == [PREFLIGHT]


def test_a_redirect_to_another_origin_needs_a_preflight_there(path: Path) -> None:
    answers: dict[str, fakes.Answer] = {DATA: moved(THERE), THERE: open_to("*")}
    web, _ = loaded(path, answers, wants(1, DATA, "fetch", x_key="1"))
    assert asked(web, DATA) == [(Want.RESOURCE, {"x-key"})]
    assert asked(web, THERE) == [PREFLIGHT, PREFLIGHT_WITH_NAMES]


@pytest.mark.parametrize(("max_age", "preflights"), [("", 2), ("0", 3), ("600", 1)])
def test_a_preflight_holds_for_its_max_age(max_age: str, preflights: int, path: Path) -> None:
    said = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
    said |= {"access-control-max-age": max_age} if max_age else {}
    answers: dict[str, fakes.Answer] = {THERE: text("[]")._replace(headers=said)}
    wanted = wants(1, THERE, "fetch", x_key="1")
    web, statuses = loaded(path, answers, wanted, elsewhere=SHELL, pages=3, delay=3)
    assert len(statuses) == 3
    assert asked(web, THERE).count(PREFLIGHT) == preflights


def test_denied_urls_are_not_requested_in_any_way(path: Path) -> None:
    kinds = enumerate(("fetch", "xhr", "document", "script"))
    wanted = [wants(number, f"{B}/secret/{kind}", kind) for number, kind in kinds]
    answers: dict[str, fakes.Answer] = {DATA: moved(f"{B}/secret/moved")}
    wanted.append(wants(9, DATA, "fetch"))
    denied: dict[str, Any] = {"scope": "any", "deny": ("secret",)}
    web, statuses = loaded(path, answers, *wanted, elsewhere=open_to("*"), **denied)
    assert statuses == [0] * 5
    assert not any("secret" in visit.url for visit in web.visits)


def test_frames_out_of_scope_are_not_requested(path: Path) -> None:
    wanted = (wants(1, f"{B}/", "document"), wants(2, f"{A}/frame", "document"))
    others = (wants(3, f"{B}/app.js"), wants(4, THERE, "fetch"))
    web, statuses = loaded(path, {}, *wanted, *others, elsewhere=open_to("*"))
    assert statuses == [0, 200, 200, 200]
    assert f"{B}/" not in [visit.url for visit in web.visits]


def test_pages_and_their_requests_share_the_rate_of_the_crawl(path: Path) -> None:
    web = FakeWeb({f"{A}/": SHELL, SCRIPT: text("1")}, SHELL)
    browser = PlayedBrowser(wants(1, SCRIPT), wants(2, f"{B}/data", "fetch"))
    rendered_crawl(web, path, browser, max_rate="1/s")
    began = sorted(visit.began for visit in web.visits)
    assert len(began) == 1 + 3 + 1 + 1 + 3  # two of them robots.txt
    assert min(later - before for before, later in pairwise(began)) >= 1


def test_responses_to_pages_count_for_the_budget_of_bytes(path: Path) -> None:
    wanted = (wants(number, f"{A}/{number}.js") for number in range(20))
    answers: dict[str, fakes.Answer] = {f"{A}/robots.txt": NOT_FOUND}
    kilobyte = text("x" * 1000)
    _, statuses = loaded(path, answers, *wanted, elsewhere=kilobyte, pages=3, bytes=5000)
    assert statuses == [200] * 5 + [0] * 15


def test_pages_get_the_status_of_a_failed_request_and_0_for_a_timeout(path: Path) -> None:
    missing = NOT_FOUND._replace(status=404)
    answers: dict[str, fakes.Answer] = {SCRIPT: failed(State.TIMEOUT), DATA: missing}
    _, statuses = loaded(path, answers, wants(1, DATA, "fetch"), wants(2, SCRIPT))
    assert statuses == [404, 0]


def test_a_page_whose_browser_crashes_twice_is_read_without_rendering(path: Path) -> None:
    crash = NotRendered("the browser ended", may_pass=True)
    web = FakeWeb({f"{A}/": html("/plain", body="<div id=a></div><script src=/a.js></script>")})
    browser = PlayedBrowser(ends=[crash, crash])
    run = rendered_crawl(web, path, browser, render="always")
    assert browser.pages == [f"{A}/"] * 2
    assert run.states[f"{A}/"] is State.FETCHED
    assert f"{A}/plain" in run.states


def test_a_page_that_takes_too_long_is_not_rendered_again(path: Path) -> None:
    web = FakeWeb({f"{A}/": SHELL})
    browser = PlayedBrowser(ends=[NotRendered("it was not over")])
    run = rendered_crawl(web, path, browser)
    assert (len(browser.pages), run.states) == (1, {f"{A}/": State.FETCHED})


def test_links_that_scripts_remove_are_kept(path: Path) -> None:
    class Emptying(PlayedBrowser):
        async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
            return Rendered(ParsedPage(), b"<p>error", 0.1)

    web = FakeWeb({f"{A}/": html("/kept", body="<script src=/a.js></script>")})
    run = rendered_crawl(web, path, Emptying(), render="always")
    assert f"{A}/kept" in run.states


def test_a_page_without_scripts_is_not_rendered(path: Path) -> None:
    web = FakeWeb({f"{A}/": html("/one"), f"{A}/one": html("/", body="words " * 100)})
    browser = PlayedBrowser()
    rendered_crawl(web, path, browser)
    assert browser.pages == []
