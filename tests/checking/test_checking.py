"""Link checks request each uncrawled link once, politely, and show broken ones."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from minicrawl import Crawl, Event, Noted, Settings, State, Store
from minicrawl.cli import main
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.errors import UsageError
from minicrawl.ports import Timed
from minicrawl.report.links.problems import BrokenLink, linked_verdicts
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived.checks import CheckRow, all_checks
from minicrawl.web.responses.soft_404 import missing_siblings
from tests.crawl.fakes import (
    Answer,
    FakeWeb,
    Scene,
    crawl,
    failed,
    html as page,
    intervals,
    moved,
    text,
)
from tests.crawl.jumping_clock import NOON
from tests.webs import Web as PageWeb, crawl_web

HOST, OTHER = "http://a.example", "http://b.example"
HOME = (
    '<a href="http://b.example/there">there</a> <a href="http://b.example/gone">gone</a>'
    '<a href="http://b.example/moved">moved</a> <a href="http://b.example/secret">secret</a>'
    '<a href="http://b.example/no-head">no head</a> <a href="/file.pdf">a file</a>'
    '<a href="http://10.0.0.1/">inside</a> <a href="/page#here">h</a> <a href="/page#gone">g</a>'
    '<a href="/page#%C3%A9">e</a>'
    '<a href="#top">t</a> <a href="/page#:~:text=x">x</a>'
    '<img src="/logo.png"><img src="/lost.png"><link rel=stylesheet href="http://b.example/s.css">'
)


class Web:
    """Two hosts that count their requests."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.there = {"/there", "/there-too", "/logo.png", "/s.css", "/page"}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url, path = str(request.url), request.url.path
        self.asked[request.method, url] += 1
        if path == "/robots.txt" and request.url.host == "b.example":
            return httpx.Response(200, text="User-agent: *\nDisallow: /secret")
        if path.startswith("/moved"):  # ten redirects
            target = "/there-too" if path.endswith(9 * "x") else f"{path}x"
            return httpx.Response(302, headers={"location": target})
        if path == "/no-head":
            return httpx.Response(405 if request.method == "HEAD" else 200, html="here")
        if url == f"{HOST}/":
            return httpx.Response(200, html=HOME)
        if path == "/page":
            return httpx.Response(200, html='<h2 id="here">Here</h2><i id="%C3%A9"></i>')
        return httpx.Response(200 if path in self.there else 404)


def crawled(path: Path, web: PageWeb, **chosen: Any) -> Path:
    return crawl_web(path, web, [HOST], scope="host", keep="pages", **chosen)


def checks(path: Path) -> dict[str, CheckRow]:
    with snapshot(path) as seen:
        return {row.url: row for row in all_checks(path, seen.connection)}


def broken_links(path: Path) -> list[BrokenLink]:
    with Store.open(path) as store:
        return store.broken_links()


def verdicts(path: Path) -> Mapping[str, int]:
    with snapshot(path) as seen:
        return linked_verdicts(seen)


def broken(path: Path) -> set[tuple[str, str, str]]:
    found = broken_links(path)
    usual = BrokenLink._field_defaults["kind"]
    return {
        (link.target, link.state, link.text if link.kind == usual else link.kind) for link in found
    }


def test_without_checks_no_other_link_is_requested(tmp_path: Path) -> None:
    web = Web()
    path = crawled(tmp_path / "crawl.db", web)
    assert {url for _, url in web.asked} == {f"{HOST}/", f"{HOST}/robots.txt", f"{HOST}/page"}
    assert checks(path) == {}
    assert broken(path) == set()


@pytest.mark.parametrize("keep", ["text", "links", "none"])
@pytest.mark.parametrize("what", ["assets", "all"])
def test_assets_are_not_checked_without_pages(tmp_path: Path, keep: str, what: str) -> None:
    path, web = tmp_path / "crawl.db", Web()
    with pytest.raises(UsageError, match="--check assets needs --keep pages"):
        crawl_web(path, web, [HOST], scope="host", keep=keep, check=what)
    crawl_web(path, web, [HOST], scope="host", keep=keep)
    with pytest.raises(UsageError, match="--check assets needs --keep pages"):
        crawl_web(path, web, [], check=what)


def test_links_that_leave_the_scope_by_a_redirect_are_checked(tmp_path: Path) -> None:
    def web(request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        if url == f"{HOST}/":
            return httpx.Response(200, html='<a href="/go">away</a> <a href="/to">there</a>')
        if url in (f"{HOST}/go", f"{HOST}/to"):
            end = "gone" if url.endswith("go") else "there"
            return httpx.Response(302, headers={"location": f"{OTHER}/{end}"})
        return httpx.Response(200 if url == f"{OTHER}/there" else 404)

    path = crawled(tmp_path / "crawl.db", web, check="external")
    (link,) = broken_links(path)
    assert (link.target, link.through, link.text) == (f"{OTHER}/gone", f"{HOST}/go", "away")
    found = verdicts(path)
    assert (found["alive"], found["dead"], found["unchecked"]) == (1, 1, 0)


def test_each_external_link_is_requested_once_a_day_after_robots_txt(tmp_path: Path) -> None:
    web, again = Web(), Web()
    path = crawled(tmp_path / "crawl.db", web, check="external")
    assert {url: State(row.state) for url, row in checks(path).items()} == {
        f"{OTHER}/there": State.FETCHED,
        f"{OTHER}/gone": State.NOT_FOUND,
        f"{OTHER}/moved": State.FETCHED,
        f"{OTHER}/secret": State.ROBOTS,
        f"{OTHER}/no-head": State.FETCHED,
        f"{HOST}/file.pdf": State.NOT_FOUND,
        "http://10.0.0.1/": State.ADDRESS,
    }
    assert broken(path) == {
        (f"{OTHER}/gone", "not-found", "gone"),
        (f"{HOST}/file.pdf", "not-found", "a file"),
        ("http://10.0.0.1/", "address", "inside"),
    }
    asked = [key for key in web.asked if "b.example" in key[1]]
    assert asked[0] == ("GET", f"{OTHER}/robots.txt")
    assert set(web.asked.values()) <= {1, 2}
    assert web.asked["HEAD", f"{OTHER}/there"] == 1
    assert ("GET", f"{OTHER}/there") not in web.asked
    assert web.asked["GET", f"{OTHER}/no-head"] == 1
    assert not any("secret" in url or "10.0.0.1" in url for _, url in web.asked)
    crawled(path, again, check="external")
    assert not again.asked
    with snapshot(path) as seen:
        assert State.SCOPE in set(seen.states.tolist())


def test_a_page_that_only_head_cannot_reach_is_there(tmp_path: Path) -> None:
    def web(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/")
        if str(request.url) == f"{HOST}/":
            hrefs = [f"{OTHER}/{name}" for name in ("400", "410", "500", "reset", "429")]
            return httpx.Response(200, html="".join(f'<a href="{href}">x</a>' for href in hrefs))
        if request.method == "HEAD" and path == "reset":
            raise httpx.ReadError(path)
        return httpx.Response(int(path) if request.method == "HEAD" else 200)

    path = crawled(tmp_path / "crawl.db", web, check="external")
    alive = {url for url, row in checks(path).items() if row.state == State.FETCHED}
    assert checks(path).keys() - alive == {f"{OTHER}/429"}


def test_a_redirect_to_a_longer_url_than_is_kept_says_nothing_of_a_link(tmp_path: Path) -> None:
    def web(request: httpx.Request) -> httpx.Response:
        if str(request.url) == f"{HOST}/":
            return httpx.Response(200, html=f'<a href="{OTHER}/">x</a>')
        target = f"{OTHER}/login?request={'x' * 3000}"
        return httpx.Response(302, headers={"location": target})

    found = verdicts(crawled(tmp_path / "crawl.db", web, check="external"))
    assert (found["dead"], found["unchecked"]) == (0, 1)


def test_a_length_of_nothing_that_head_states_is_not_believed(tmp_path: Path) -> None:
    def web(request: httpx.Request) -> httpx.Response:
        if str(request.url) == f"{HOST}/":
            return httpx.Response(200, html=f'<a href="{OTHER}/">x</a>')
        return httpx.Response(200, text="" if request.method == "HEAD" else "here")

    (row,) = checks(crawled(tmp_path / "crawl.db", web, check="external")).values()
    assert row.bytes == len("here")


def test_missing_assets_and_anchors_are_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = crawled(tmp_path / "crawl.db", Web(), check="assets")
    files = {f"{HOST}/logo.png", f"{HOST}/lost.png", f"{OTHER}/s.css"}
    assert set(checks(path)) == {*files, *missing_siblings(f"{HOST}/")}
    assert broken(path) == {
        (f"{HOST}/lost.png", "not-found", "image"),
        (f"{HOST}/page#gone", "no-anchor", "anchor"),
    }
    assert main(["broken", "--csv", "--store", str(path)]) == 0
    assert main(["report", str(tmp_path / "site.html"), "--store", str(path)]) == 0
    for shown in (capsys.readouterr().out, (tmp_path / "site.html").read_text(encoding="utf-8")):
        assert "lost.png" in shown
        assert "#gone" in shown


KINDS = {
    f"{HOST}/": '<link rel=canonical href="http://b.example/original">'
    '<link rel=alternate hreflang=de href="/de"><link rel=stylesheet href="/s.css">'
    '<a rel=nofollow href="http://b.example/ad">ad</a><img srcset="/1.png 1x, /2.png 2x">'
    '<a href="/page">page</a><a href="/page#gone">there</a>',
    f"{HOST}/page": '<link rel=canonical href="/gone"><p style="background:url(/3.png)">',
}
STYLES = {
    f"{HOST}/s.css": "@import 'more.css'; p { background: url(4.png) }",
    f"{HOST}/more.css": "@font-face { src: url(there.woff), url(lost.woff) }",
}


CSS = {"content-type": "text/css"}


def web_of_kinds(request: httpx.Request) -> httpx.Response:
    """Answer with references of all kinds."""
    url = str(request.url)
    if url in KINDS:
        return httpx.Response(200, html=KINDS[url])
    if url in STYLES:
        return httpx.Response(200, text=STYLES[url], headers=CSS)
    if url.endswith("/ad"):
        return httpx.Response(403, headers={"cf-mitigated": "challenge"})
    return httpx.Response(200 if "there" in url else 404)


def test_broken_references_have_their_kinds_after_one_run_and_after_two(tmp_path: Path) -> None:
    """A dead canonical URL is not a broken link."""
    for _ in range(2):
        path = crawled(tmp_path / "crawl.db", web_of_kinds, check="all")
        found, counts = broken_links(path), verdicts(path)
        assert {(link.kind, link.target, link.verdict) for link in found} == {
            ("alternate", f"{HOST}/de", "dead"),
            ("nofollow", f"{OTHER}/ad", "blocked"),
            ("anchor", f"{HOST}/page#gone", "dead"),
            ("image", f"{HOST}/1.png", "dead"),
            ("image", f"{HOST}/2.png", "dead"),
            ("media", f"{HOST}/3.png", "dead"),
            ("media", f"{HOST}/4.png", "dead"),
            ("media", f"{HOST}/lost.woff", "dead"),
        }
        assert (counts["blocked"], counts["forbidden"], counts["unchecked"]) == (1, 0, 0)
    assert found[-1].source == f"{HOST}/"


def template_web(request: httpx.Request) -> httpx.Response:
    """Answer with 25 pages of one template, whose image, font and advertisement are missing."""
    path = request.url.path
    if path in ("/1.css", "/2.css"):
        return httpx.Response(200, text="a{src:url(lost.woff)}", headers=CSS)
    if not path[1:].isdigit() and path != "/":
        return httpx.Response(404)
    links = "".join(f"<a href=/{number}>to</a>" for number in range(1, 25))
    link = f"<a rel=nofollow href=http://b.example/ad>seen on {path}</a>"
    styles = "<link rel=stylesheet href=/1.css><link rel=stylesheet href=/2.css>"
    return httpx.Response(200, html=f"{styles}<img src=/lost.png alt=''>{link}{links}")


def test_a_missing_file_of_a_template_is_reported_for_each_page(path: Path) -> None:
    for _ in range(2):
        found = broken_links(crawled(path, template_web, check="all"))
    for target in (f"{HOST}/lost.png", f"{HOST}/lost.woff", f"{OTHER}/ad"):
        links = [link for link in found if link.target == target]
        assert len({link.source for link in links}) == len(links) == links[0].links == 25
    texts = {link.text for link in found if link.target == f"{OTHER}/ad"}
    assert len(texts - {""}) == 20  # memory for texts is bounded


LONG_STYLE = STYLES[f"{HOST}/s.css"] + f"/* {'long ' * 7000} */"


@pytest.mark.parametrize(
    ("style", "is_lost"),
    [(STYLES[f"{HOST}/s.css"], False), (LONG_STYLE, False), (LONG_STYLE, True)],
    ids=["short", "long", "lost"],
)
def test_only_long_styles_are_parsed_in_a_process_that_can_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, is_lost: bool
) -> None:
    """10 MB of `url(a)` take many seconds, in which checks of other hosts must go on."""
    bodies, events, run = list[bytes](), list[Event](), ParserProcess.run

    def answer(request: httpx.Request) -> httpx.Response:
        is_style = request.url.path == "/s.css"
        return httpx.Response(200, text=style, headers=CSS) if is_style else web_of_kinds(request)

    async def running(
        self: ParserProcess, task: Callable[[bytes], Any], body: IO[bytes], host: str
    ) -> Timed[Any]:
        bodies.append(body.read())
        if is_lost:
            raise ParserLost("not parsed within 30 s")
        body.seek(0)
        return await run(self, task, body, host)

    monkeypatch.setattr(ParserProcess, "run", running)
    settings = Settings.of(
        delay=0, address_delay=0, scope="host", keep="pages", check="assets", store=tmp_path / "c"
    )
    checked = Crawl([HOST], settings, transport=httpx.MockTransport(answer))
    checked.subscribe(events.append)
    checked.run()
    css = f"{HOST}/s.css"
    assert (style.encode() in bodies) is (style == LONG_STYLE)
    assert checks(tmp_path / "c")[css].state == State.FETCHED
    assert (f"{HOST}/4.png" in checks(tmp_path / "c")) is not is_lost
    assert any(isinstance(one, Noted) and css in one.text for one in events) is is_lost


THINGS = ("lamp", "chair", "rug")
GONE = ("/shop/mug", "/shop/old/vase")


class SoftWeb(Web):
    """Shop that answers every URL with status 200."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked[request.method, str(request.url)] += 1
        if path == "/robots.txt":
            return httpx.Response(404)
        name = path.rpartition("/")[2]
        said = f"<h1>Nothing here</h1><p>There is no {path}, sorry."
        if name in THINGS:
            said = f"<h1>A {name}</h1><p>{name} of oak, well made and light " * 9
        if path in ("/", "/shop/"):
            links = (*(f"/shop/{name}" for name in THINGS), *GONE, "/shop/", "/to-vase")
            said = f"Welcome to {path}" + "".join(f'<a href="{link}">see</a>' for link in links)
        if path == "/to-vase":
            return httpx.Response(302, headers={"location": GONE[1]})
        return httpx.Response(200, html=f"<ul><li>Shop<li>Contact</ul>{said}")


def test_links_to_soft_404s_are_broken_after_one_run_and_after_two(tmp_path: Path) -> None:
    """One of them is alone in its folder, and one is the target of a redirect."""
    for _ in range(2):
        web = SoftWeb()
        path = crawled(tmp_path / "crawl.db", web, check="assets")
        found, counts = broken_links(path), verdicts(path)
        sources = (f"{HOST}/", f"{HOST}/shop/")
        pairs = {(link.target, link.source) for link in found}
        assert pairs == {(HOST + gone, source) for gone in GONE for source in sources}
        kinds = {(link.state, link.kind, link.verdict) for link in found}
        assert kinds == {("soft-404", "link", "dead")}
        assert f"{HOST}/to-vase" in {link.through for link in found}
        assert counts["dead"] == len(GONE)
    assert not web.asked


LOGIN = "<form><p>Please log in to go on</p><input name=word TYPE = 'password'></form>"


@pytest.mark.parametrize("is_on_all_pages", [False, True])
def test_a_login_in_place_of_missing_pages_proves_nothing_unless_all_pages_have_one(
    path: Path, is_on_all_pages: bool
) -> None:
    class Members(SoftWeb):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            answer = super().__call__(request)
            if is_on_all_pages and answer.is_success:
                return httpx.Response(200, html=answer.text + LOGIN)
            return httpx.Response(200, html=LOGIN) if "Nothing here" in answer.text else answer

    found = broken_links(crawled(path, Members(), check="assets"))
    assert {link.target for link in found} == (
        {HOST + gone for gone in GONE} if is_on_all_pages else set()
    )


PAGE = f"{HOST}/"
CHECKS: dict[str, Any] = {"check": "external", "scope": "host"}


def web_with(*links: str, **answers: Answer) -> FakeWeb:
    """Return a web of a page with links, all of which exist."""
    return FakeWeb({PAGE: page(*links)} | {link: page() for link in links} | answers)


def found_in(path: Path) -> dict[str, State]:
    return {url: State(row.state) for url, row in checks(path).items()}


class TestPoliteness:
    def test_a_robots_txt_that_redirects_to_https_is_obeyed(self, path: Path) -> None:
        web = web_with(f"{OTHER}/page", f"{OTHER}/secret/page")
        web.answers[f"{OTHER}/robots.txt"] = moved("https://b.example/robots.txt")
        web.answers["https://b.example/robots.txt"] = text("User-agent: *\nDisallow: /secret")
        run = crawl(web, path, PAGE, **CHECKS)
        assert found_in(run.path) == {
            f"{OTHER}/page": State.FETCHED,
            f"{OTHER}/secret/page": State.ROBOTS,
        }
        assert web.asked == [PAGE, f"{OTHER}/page"]

    def test_requests_of_all_kinds_keep_the_delay_of_the_host(self, path: Path) -> None:
        web = web_with(*(f"{HOST}/{number}.pdf" for number in range(4)))
        web.answers[f"{HOST}/1.pdf"] = moved("/2.pdf")
        web.answers[f"{HOST}/3.pdf"] = failed(State.NOT_FOUND)
        web.answers[f"{HOST}/robots.txt"] = text("User-agent: *\nCrawl-delay: 7")
        crawl(web, path, PAGE, delay=2, **CHECKS)
        assert len(web.visits) == 7  # with robots.txt once
        assert intervals(web.visits) == [7.0] * 6
        with Store.open(path) as store:
            assert (store.status().running_s or 0) >= 42

    def test_hosts_at_one_address_share_its_delay_and_all_a_rate(self, path: Path) -> None:
        hosts = [f"http://{number}.example" for number in range(5)]
        web = web_with(*(f"{host}/page" for host in hosts))
        web.places = dict.fromkeys(hosts, "192.0.2.1")
        pace: dict[str, Any] = {"delay": 1, "address_delay": 3, "max_rate": "2/s"}
        crawl(web, path, PAGE, **pace, **CHECKS)
        at_address = [visit for visit in web.visits if visit.url.startswith(tuple(hosts))]
        assert len(at_address) == 10
        assert min(intervals(at_address)) >= 3
        assert min(intervals(web.visits)) >= 0.5

    def test_a_slow_host_holds_up_the_checks_of_no_other(self, path: Path) -> None:
        slow, others = "http://slow.example", [f"http://{number}.example" for number in range(4)]
        web = web_with(*(f"{host}/{number}" for host in (slow, *others) for number in range(5)))
        web.answers[f"{slow}/robots.txt"] = text("User-agent: *\nCrawl-delay: 30")
        crawl(web, path, PAGE, delay=1, **CHECKS)
        ends = {host: max(visit.ended for visit in web.visits_of(host)) for host in others}
        assert len(found_in(path)) == 25
        assert max(ends.values()) - START < 20
        assert web.visits[-1].ended - START >= 120

    @pytest.mark.slow
    def test_checks_keep_the_hours(self, path: Path) -> None:
        closes, opens = (_local(NOON + START + 60 * minutes) for minutes in (2, 62))
        web = web_with(*(f"{OTHER}/{number}" for number in range(8)))
        chosen = {"delay": 50, "hours": f"{opens}-{closes}", **CHECKS}
        crawl(web, path, PAGE, **chosen)
        moments = [visit.began - START for visit in web.visits]
        assert len(moments) == 11
        assert not any(120 <= moment < 3719 for moment in moments)
        assert sum(moment >= 3719 for moment in moments) > 5

    def test_denied_urls_and_redirects_to_them_are_not_requested(self, path: Path) -> None:
        web = web_with(f"{OTHER}/secret", f"{OTHER}/page", f"{OTHER}/moved")
        web.answers[f"{OTHER}/moved"] = moved("/secret/too")
        run = crawl(web, path, PAGE, deny=("secret",), **CHECKS)
        assert not any("secret" in visit.url for visit in web.visits)
        assert found_in(run.path) == {f"{OTHER}/page": State.FETCHED, f"{OTHER}/moved": State.SCOPE}

    @pytest.mark.parametrize("limit", [{"for_": 10}, {"bytes": 5000}])
    def test_checks_end_with_the_limits_of_time_and_bytes(
        self, path: Path, limit: dict[str, Any]
    ) -> None:
        links = [f"{OTHER}/{number}" for number in range(20)]
        web = web_with(*links)
        web.answers |= dict.fromkeys(links, page(body="x" * 1000))
        crawl(web, path, PAGE, delay=1, **limit, **CHECKS)
        began = [visit.began for visit in web.visits]
        assert 5 < len(began) < 20
        assert max(began) - min(began) < 10

    def test_a_stop_does_not_wait_for_further_checks(self, path: Path) -> None:
        web = web_with(*(f"{OTHER}/{number}" for number in range(20)))
        stopped = list[float]()

        async def stop(scene: Scene) -> None:
            while len(web.visits_of(OTHER)) < 4:
                await asyncio.sleep(0.1)
            scene.crawler.stop()
            stopped.append(scene.clock.now())

        def hear(scene: Scene, event: Event) -> None:
            if isinstance(event, Noted):
                stopped.append(scene.clock.now())

        run = crawl(web, path, PAGE, during=stop, hear=hear, delay=60, **CHECKS)
        assert len(web.visits_of(OTHER)) == 4  # including robots.txt
        assert len(found_in(run.path)) == 3
        began, noted = stopped
        assert noted - began < 1

    def test_a_failing_host_is_retried_with_pauses_and_then_given_up(self, path: Path) -> None:
        links = [f"{OTHER}/{number}" for number in range(20)]
        web = web_with(*links)
        web.answers |= dict.fromkeys([*links, f"{OTHER}/robots.txt"], failed(State.TIMEOUT))
        run = crawl(web, path, PAGE, **CHECKS)
        assert set(found_in(run.path).values()) == {State.TIMEOUT}
        assert len(web.visits_of(OTHER)) < 5
        assert intervals(web.visits_of(OTHER)) == [1.0]


START = 1000
"""Time of the fake clock at its start, in seconds."""


def _local(today: float) -> str:
    return time.strftime("%H:%M", time.localtime(today))


class LoggedWeb:
    """Two hosts on loopback that log the time of each request."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str, float]] = []

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        self.log.append((host, target, time.monotonic()))
        if target == "/robots.txt":
            return DemoResponse(200, {}, b"User-agent: *\nDisallow: /no/\nCrawl-delay: 0.2")
        kind = "text/css" if target.endswith(".css") else "text/html"
        body = HOME.encode() if (host, target) == ("a.example", "/") else b"body {}"
        return DemoResponse(200, {"Content-Type": kind}, body)


@pytest.mark.slow
def test_pages_checks_and_requisites_share_the_delay_on_a_real_server(path: Path) -> None:
    """The crawl delays after each response, so the server never sees a shorter interval."""
    web = LoggedWeb()
    checks = {"check": "all", "requisites": True, "keep": "pages"}
    pace = {"delay": 0.2, "address_delay": 0, "workers": 0}
    chosen: dict[str, Any] = {"scope": "host", "deny": ("secret",), **checks, **pace}
    with DemoServer(web) as server:
        where = f"*={server.address}"
        settings = Settings.of(resolve=where, store=path, **chosen)
        Crawl([HOST], settings).run()
    assert {"/file.pdf", "/logo.png", "/s.css", "/there"} <= {target for _, target, _ in web.log}
    assert not any("secret" in target for _, target, _ in web.log)
    for host in ("a.example", "b.example"):
        asked = [(target, at) for name, target, at in web.log if name == host]
        assert len(asked) > 4
        assert [target for target, _ in asked].count("/robots.txt") == 1
        assert min(later - at for (_, at), (_, later) in pairwise(asked)) >= 0.2


@pytest.mark.slow
def test_checks_continue_after_a_stop_without_repetition(tmp_path: Path) -> None:
    """The checks use up to 4 connections at once, by --per-host."""
    path, web = tmp_path / "crawl.db", web_with(*(f"{HOST}/{number}.pdf" for number in range(200)))

    async def cut(scene: Scene) -> None:
        while len(web.asked) < 120:
            await asyncio.sleep(0.1)
        scene.crawler.stop()

    chosen = {"delay": 1, "address_delay": 0, "per_host": 4, **CHECKS}
    crawl(web, path, PAGE, during=cut, **chosen)
    first = len(found_in(path))
    assert 100 <= first < 200
    crawl(web, path, PAGE, **chosen)
    assert len(found_in(path)) == 200
    asked = Counter(web.asked)
    assert max(asked[f"{HOST}/{number}.pdf"] for number in range(200)) == 1


def test_files_that_a_style_needs_are_checked_after_a_stop_behind_the_style(
    path: Path,
) -> None:
    settings = Settings.of(delay=0, address_delay=0, scope="host", check="assets", store=path)

    def stopping(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/more.css":
            first.stop()
        return web_of_kinds(request)

    first = Crawl([HOST], settings, transport=httpx.MockTransport(stopping))
    first.run()
    lost = f"{HOST}/lost.woff"
    assert lost not in checks(path)
    Crawl([HOST], settings, transport=httpx.MockTransport(web_of_kinds)).run()
    assert checks(path)[lost].state == State.NOT_FOUND
    assert any(target == lost for target, _, _ in broken(path))
