"""Detects servers that send different versions of a page to the crawler and to a browser.

Laws: requests differ only in the User-Agent and in the crawler's signature, if it signs: nothing
else can make a difference. They are sent one after the other, after the delays of the hosts, and
only where robots.txt allows the crawler. Content that changes anyway does not count: a part
counts only if both responses to one name have it, and neither response to the other. Only names
are tried: a server that knows crawlers by addresses, or cloaks by a script, is not detected.

name       User-Agent of a request: the crawler's or a browser's
parts      compared parts of a response: the shingles of its text, and its links
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from minicrawl.checking.cloaking_judgement import Cloaking, PageAnswer, judged
from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import gate_for
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.hosts.side_requests import follow
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.settings import agreed
from minicrawl.crawl.workers.pool import open_web_access
from minicrawl.crawl.workers.visitor import WorkerConfig
from minicrawl.errors import MinicrawlError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.resolver.resolver import trusted_among
from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response
from minicrawl.own_files import scratch
from minicrawl.ports import Clock, PageFetcher
from minicrawl.states import State
from minicrawl.web.encoding.detection import decode
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.page_text import plain_text
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.urls import ResolvedUrl

if TYPE_CHECKING:
    import httpx

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


async def check_cloaking(
    url: str, settings: Settings, clock: Clock, transport: "httpx.AsyncBaseTransport | None" = None
) -> Cloaking:
    """Request a page under both names, twice each, in turn."""
    trusted = trusted_among([url])
    fetcher = HttpFetcher(
        settings.network,
        settings.politeness,
        trusted_hosts=trusted,
        transport=transport,
        access=replace(settings.access, user_agent=BROWSER, sign_requests=None),
    )
    answers: list[PageAnswer] = []
    with scratch("cloaking") as folder:
        agree = partial(agreed, settings)
        async with (
            opened_crawl(agree, folder / "crawl.db", [ResolvedUrl(url)]) as recorder,
            open_web_access(WorkerConfig.of(settings, trusted), 0, transport) as own,
            fetcher as browser,
        ):
            gate = gate_for(recorder, settings.scope)
            crawler = Crawler(settings, recorder, own, gate, clock, nobody_listens)

            async def ask_in_turn() -> None:
                fetchers = (own, browser, own, browser)
                answers.extend([await _ask(crawler, url, through) for through in fetchers])

            await crawler.attend(ask_in_turn())
    if not any(answer.status for answer in answers):
        raise MinicrawlError(f"{url}: {answers[0].why}")
    return judged(url, answers[::2], answers[1::2])


async def _ask(crawler: Crawler, url: str, through: PageFetcher) -> PageAnswer:
    """Follow redirects through the crawl's gate, and return the last response."""
    most_bytes = crawler.context.settings.network.max_body_bytes

    async def send(url: str) -> FetchResult | State:
        request = Request(url=url, max_bytes=most_bytes)
        return await crawler.parts.onboarding.ask_in_time(request, through)

    hops = await follow(url, send)
    return _answer(*hops[-1])


def _answer(url: str, result: FetchResult | State) -> PageAnswer:
    match result:
        case State.ROBOTS:
            return PageAnswer(None, url, "robots.txt forbids it")
        case State():
            return PageAnswer(None, url, f"{result.label}: {result.row.means}")
        case Response(status=status, headers=headers, body=body):
            _, charset = parse_content_type(headers.get("content-type"))
            markup, _ = decode(body, charset)
            return PageAnswer(
                status=status,
                url=url,
                page=parse_page(body, url, headers),
                text=plain_text(markup),
                varies="user-agent" in headers.get("vary", "").lower(),
            )
        case Refused(state, detail, status) | Failed(state, detail, status):
            return PageAnswer(status, url, f"{state.label}: {detail or state.row.means}")
        case Moved(status=status):
            return PageAnswer(status, url, "too many redirects, or one to no URL")
        case _:
            raise AssertionError("no request had a validator")
