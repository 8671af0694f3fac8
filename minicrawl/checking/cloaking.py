"""Whether a page is served differently to the crawler's name and to a browser's.

Laws: all requests are alike but for the name, so that nothing else can make a difference. They go
one after the other to the hosts, after their delays, and only where robots.txt allows the crawler.
What changes anyway is no difference: it counts only if both answers to one name have it, and
neither answer to the other name. Names alone are tried: who knows crawlers by their addresses, or
serves another page by a script, is not found.

parts      what is compared of an answer: the shingles of its text, and its links
likeness   of what stays the same for one name, the share that the other name gets as well
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Settings
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.hosts.side_requests import MOST_REDIRECTS
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.schedule.scope_gate import gate_for
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.resume import terms_of
from minicrawl.crawl.workers.pool import open_web_access
from minicrawl.crawl.workers.worker_config import WorkerConfig
from minicrawl.errors import MinicrawlError
from minicrawl.export.drafts import scratch
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.where.resolver import trusted_among
from minicrawl.model import (
    Failed,
    FetchResult,
    Moved,
    ParsedPage,
    Refused,
    Request,
    Response,
    State,
)
from minicrawl.ports import Clock, PageFetcher
from minicrawl.search.minhash import shingles
from minicrawl.search.near_duplicates import ALIKE
from minicrawl.search.words import words_of
from minicrawl.store.writer import StoreWriter
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.text import plain_text
from minicrawl.web.sites import site
from minicrawl.web.urls import ResolvedUrl, canonical, host
from minicrawl.wording import counted

if TYPE_CHECKING:
    import httpx

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_MOST_CHANGING = 0.5
"""If less of its text stays the same for one name, nothing can be said of it."""
_FEWEST_LINKS = 5
_LINES_SHOWN = 3

Parts = Collection[object]


class PageAnswer(NamedTuple):
    """One answer, at the end of its redirects."""

    status: int | None
    url: str
    why: str = ""
    """Why there is no page; empty if there is one."""
    page: ParsedPage = ParsedPage()
    text: str = ""
    varies: bool = False
    """Whether the server says that it looks at the name."""

    @property
    def links(self) -> Parts:
        """The pages that it leads to."""
        return frozenset(self.page.links)

    @property
    def shingles(self) -> Parts:
        """The shingles of the text, or its words if it is too short to have any."""
        return frozenset(shingles(self.text).tolist()) or frozenset(words_of(self.text))


class Difference(NamedTuple):
    """Something that one name gets and the other does not."""

    what: str
    crawler: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloaking:
    """What both names got."""

    url: str
    crawler: Sequence[PageAnswer]
    browser: Sequence[PageAnswer]
    differences: Sequence[Difference]
    likeness: float
    """Of the text."""
    steadiness: float
    """How alike two answers to one name are, at worst."""
    links: float
    """The likeness of the links."""

    @property
    def is_cloaked(self) -> bool:
        """Whether the page is served differently."""
        return bool(self.differences)

    @property
    def is_unsteady(self) -> bool:
        """Whether the text changes so much by itself that nothing can be said of it."""
        return self.steadiness < _MOST_CHANGING

    def only_for(self, *, crawler: bool) -> list[str]:
        """Some lines of the text that only this name gets."""
        ours, others = self.crawler, self.browser
        if not crawler:
            ours, others = others, ours
        known = {line for answer in others for line in answer.text.split("\n")}
        lines = [line for line in ours[0].text.split("\n") if line not in known]
        always = set(ours[-1].text.split("\n"))
        return [line for line in lines if line in always][:_LINES_SHOWN]

    def as_json(self) -> dict[str, object]:
        """What was found as a JSON document."""
        return {
            "url": self.url,
            "cloaked": self.is_cloaked,
            "differences": [one._asdict() for one in self.differences],
            "likeness": self.likeness,
            "steadiness": self.steadiness,
            "links_likeness": self.links,
            "crawler": _document(self.crawler[0]),
            "browser": _document(self.browser[0]),
            "only_for_crawler": self.only_for(crawler=True),
            "only_for_browser": self.only_for(crawler=False),
        }


def _document(answer: PageAnswer) -> dict[str, object]:
    return {
        "status": answer.status,
        "url": answer.url,
        "why": answer.why,
        "title": answer.page.title,
        "links": len(answer.page.links),
        "vary": answer.varies,
    }


# ---------------------------------------------------------------- to ask


async def check_cloaking(
    url: str,
    settings: Settings,
    clock: Clock,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Cloaking:
    """Ask for a page under both names, twice each, in turn."""
    trusted = trusted_among([url])
    fetcher = HttpFetcher(
        settings.network,
        settings.politeness,
        trusted_hosts=trusted,
        transport=transport,
        access=replace(settings.access, user_agent=BROWSER),
    )
    answers: list[PageAnswer] = []
    with scratch("cloaking") as folder:
        agree = partial(_agree, settings)
        async with (
            opened_crawl(agree, folder / "crawl.db", [ResolvedUrl(url)]) as recorder,
            open_web_access(WorkerConfig.of(settings, trusted), 0, transport) as own,
            fetcher as browser,
        ):
            gate = gate_for(recorder, settings.scope)
            crawler = Crawler(settings, recorder, own, gate, clock, nobody_listens)
            asking = _ask_all(crawler, url, (own, browser, own, browser), answers)
            await crawler.attend(asking)
    if not any(one.status for one in answers):
        raise MinicrawlError(f"{url}: {answers[0].why}")
    return judged(url, answers[::2], answers[1::2])


def _agree(settings: Settings, store: StoreWriter) -> Settings:
    store.agree(terms_of(settings))
    return settings


async def _ask_all(
    crawler: Crawler, url: str, fetchers: Iterable[PageFetcher], answers: list[PageAnswer]
) -> None:
    answers.extend([await _ask(crawler, url, through) for through in fetchers])


async def _ask(crawler: Crawler, url: str, through: PageFetcher) -> PageAnswer:
    """The answer at the end of the redirects, each of which passes the same gate."""
    context, onboarding = crawler.context, crawler.parts.onboarding
    for _ in range(MOST_REDIRECTS + 1):
        request = Request(url=url, max_bytes=context.settings.network.max_body_bytes)
        found = await onboarding.ask_in_time(request, context.tell, through)
        target = canonical(found.target, url) if isinstance(found, Moved) else None
        if target is None:
            break
        url = target
    return _answer(url, found)


def _answer(url: str, found: FetchResult | State) -> PageAnswer:
    match found:
        case State.ROBOTS:
            return PageAnswer(None, url, "robots.txt forbids it")
        case State():
            return PageAnswer(None, url, found.label)
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
        case Refused(reason=reason, detail=detail, status=status):
            return PageAnswer(status, url, f"{reason}: {detail}" if detail else str(reason))
        case Failed(kind=kind, detail=detail, status=status):
            return PageAnswer(status, url, f"{kind}: {detail}" if detail else str(kind))
        case Moved(status=status):
            return PageAnswer(status, url, "it is redirected again and again, or to nowhere")
        case _:
            raise AssertionError("no request had a validator")


# ---------------------------------------------------------------- to judge


def judged(url: str, crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]) -> Cloaking:
    """What differs between the answers to both names."""
    texts = _Sides([one.shingles for one in crawler], [one.shingles for one in browser])
    links = _Sides([one.links for one in crawler], [one.links for one in browser])
    found = list(_of_values(crawler, browser))
    if not any(one.why for one in (*crawler, *browser)):
        if texts.likeness < ALIKE and texts.steadiness >= _MOST_CHANGING:
            found.append(_difference("text", texts, "shingle"))
        if links.is_apart(url):
            found.append(_difference("links", links, "link"))
    return Cloaking(
        url=url,
        crawler=crawler,
        browser=browser,
        differences=found,
        likeness=texts.likeness,
        steadiness=texts.steadiness,
        links=links.likeness,
    )


def _of_values(
    crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]
) -> Iterator[Difference]:
    """Values that are the same in all answers to a name, and others for the other name."""
    for what in ("answer", "final URL", "title", "canonical", "robots"):
        ours, theirs = ({_value(what, one) for one in some} for some in (crawler, browser))
        if len(ours) == len(theirs) == 1 and ours != theirs:
            yield Difference(what, ours.pop(), theirs.pop())
            if what == "answer":
                return  # there is no page to compare


def _value(what: str, answer: PageAnswer) -> str:
    match what:
        case "answer":
            return answer.why or f"{answer.status}, a page"
        case "final URL":
            return answer.url
        case "title":
            return answer.page.title
        case "canonical":
            return answer.page.canonical or "none"
        case _:
            return "noindex" if answer.page.noindex else "may be indexed"


def _difference(what: str, sides: _Sides, noun: str) -> Difference:
    ours, theirs = (f"{counted(len(some), noun)} of its own" for some in sides.own)
    return Difference(what, ours, theirs)


class _Sides(NamedTuple):
    """Parts of the answers to the crawler and to the browser."""

    crawler: Sequence[Parts]
    browser: Sequence[Parts]

    @property
    def own(self) -> tuple[set[object], set[object]]:
        """What both answers to one name have, and neither answer to the other."""
        ours, theirs = self
        return _always(ours) - _ever(theirs), _always(theirs) - _ever(ours)

    @property
    def likeness(self) -> float:
        """Of all that stays the same for one name, the share that is no name's own."""
        every = len(_always(self.crawler) | _always(self.browser))
        return 1 - sum(map(len, self.own)) / every if every else 1.0

    @property
    def steadiness(self) -> float:
        """How alike the answers to one name are, at worst."""
        shares = (len(_always(some)) / max(len(_ever(some)), 1) for some in self if _ever(some))
        return min(shares, default=1.0)

    def is_apart(self, url: str) -> bool:
        """Whether the links differ: many of them, or some to other sites for the crawler alone."""
        ours, theirs = self.own
        if max(len(ours), len(theirs)) < _FEWEST_LINKS:
            return False
        own_site = site(host(url))
        others = sum(site(host(str(one))) != own_site for one in ours)
        return self.likeness < ALIKE or others >= _FEWEST_LINKS


def _always(parts: Sequence[Parts]) -> set[object]:
    return set.intersection(*map(set, parts))


def _ever(parts: Sequence[Parts]) -> set[object]:
    return set().union(*parts)
