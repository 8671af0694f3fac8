"""Checks URLs that are not crawled, and keeps files that pages need.

asking      requests URLs through the gate of a crawl
targets     finds URLs to request, and broken references of pages
requisites  keeps images, styles and other files of kept pages in the archive
cloaking    detects servers that send browsers another version of a page
"""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from io import BytesIO
from itertools import chain, groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote

import numpy as np

from minicrawl.archive.packing import pack_any
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind, pack_spooled
from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import gate_for
from minicrawl.crawl.events import Checking, Listener, Noted, nobody_listens
from minicrawl.crawl.hosts.side_requests import MOST_REDIRECTS
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.schedule.dead_targets import is_due
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.settings import store_terms
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.crawl.workers.pool import open_web_access
from minicrawl.crawl.workers.worker_config import MOST_READING_S, WorkerConfig
from minicrawl.errors import Damaged, MinicrawlError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.resolver.resolver import trusted_among
from minicrawl.model import (
    READ_STATES,
    Failed,
    FetchResult,
    KeptAnswer,
    Moved,
    ParsedPage,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.own_files import scratch
from minicrawl.ports import Clock, PageFetcher
from minicrawl.report.archived.page_versions import kept_pages, markup_of
from minicrawl.report.archived.requisites import may_lead_on, needed_by_file
from minicrawl.report.graph.flows import redirect_ends
from minicrawl.report.links.problems import link_counts
from minicrawl.report.links.verdicts import SHOWN, LinkVerdict, verdicts_of
from minicrawl.report.links.written_links import PageReferences
from minicrawl.report.snapshot import Snapshot, places_of_largest, snapshot, urls
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    LARGE_IMAGE,
    CheckRow,
    FindingRow,
    all_checks,
    all_findings,
    keep_checks,
    keep_findings,
)
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.writer import StoreWriter
from minicrawl.web.html_page import parse_page
from minicrawl.web.markup import decode
from minicrawl.web.references import LEADS_ON, Reference, plain_text, style_targets
from minicrawl.web.responses import (
    COOKIE_WALL,
    SOFT_404,
    MissingPage,
    asks_for_password,
    is_missing_sibling,
    missing_siblings,
    parse_content_type,
)
from minicrawl.web.urls import ResolvedUrl, canonical, host, origin, site, split
from minicrawl.web.words import ALIKE, shingles, words_of
from minicrawl.wording import counted

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


# ================================================================ asking
#
# Requests URLs to check whether they exist, or to keep the responses.
#
# Laws: each URL is requested once, through the gate of the crawl (`HostOnboarding.ask`), as its
# pages are: `--deny`, robots.txt, delays, addresses, pace, hours and budget apply. A check uses
# HEAD, and GET if HEAD is refused. Redirects pass the same gate.
#
# hops   a URL and its result, then each URL that a redirect led to and its result; a result that is
#        a state tells why no request was sent

IS_IT_THERE = (Want.HEAD, Want.STATUS)
_HEAD_IS_REFUSED = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""Statuses after which GET is tried: some servers send them to HEAD for pages that exist."""

_LONGEST_LENGTH = 18  # digits of a Content-Length that SQLite can store

Found = FetchResult | State
Hops = list[tuple[str, Found]]
Keep = Callable[[Hops], Awaitable[None]]
Send = Callable[[str], Awaitable[Found]]


class LinkAsker:
    """Requests URLs on behalf of a crawl. `keep` gets the hops of each URL that is not denied."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._onboarding = crawler, crawler.parts.onboarding
        self._settings, self._clock = crawler.context.settings, crawler.context.clock

    async def ask(
        self,
        urls: Iterable[str],
        keep: Keep,
        wants: Sequence[Want] = IS_IT_THERE,
        *,
        in_scope: bool = False,
    ) -> bool:
        """Request all URLs, many hosts at a time, by the first of `wants` that is not refused.

        With `in_scope`, URLs out of the scope are left out. Return False if the crawl was stopped
        before all were requested.
        """
        per_host = self._settings.politeness.per_host
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        send = partial(self._send, wants=wants, in_scope=in_scope)
        tasks = list[asyncio.Task[bool]]()
        async with asyncio.TaskGroup() as group:
            # One task for each connection that a host may have: in it, URLs wait for the host's
            # delay one after another. In one queue for all hosts, URLs would wait for the slowest.
            for _, of_host in groupby(sorted(urls, key=origin), key=origin):
                some = list(of_host)
                waiting = iter(some)
                for _ in range(min(per_host, len(some))):
                    tasks.append(group.create_task(self._ask_each(waiting, keep, send, free)))
        return _came_to_their_end(tasks)

    async def _ask_each(
        self, waiting: Iterator[str], keep: Keep, send: Send, free: asyncio.Semaphore
    ) -> bool:
        for url in waiting:
            async with free:
                if not await self._crawler.may_ask():
                    return False
                hops = await self._follow(url, send)
                if hops[0][1] is not State.SCOPE:
                    await keep(hops)
        return True

    def row_of(self, hops: Hops) -> CheckRow:
        """Return the row of the first URL, with the result of the last hop."""
        at = self._clock.today()
        (url, _), (_, found) = hops[0], hops[-1]
        match found:
            case State():
                return CheckRow(url, found, None, "", at)
            case Response(status=status):
                return CheckRow(url, State.FETCHED, status, "", at, _wire_bytes(found))
            case Moved(status=status):
                detail = f"more than {MOST_REDIRECTS} redirects, or one to no URL"
                if found.cookies and len(dict(hops)) < len(hops):
                    detail = COOKIE_WALL
                return CheckRow(url, State.BAD_REDIRECT, status, detail, at)
            case Refused(reason=reason, detail=detail, status=status):
                return CheckRow(url, State.of(reason), status, detail, at)
            case Failed(kind=kind, detail=detail, status=status):
                return CheckRow(url, State.of(kind), status, detail, at)
            case Unchanged():
                return CheckRow(url, State.FETCHED, HTTPStatus.NOT_MODIFIED, "", at)

    async def _follow(self, url: str, send: Send) -> Hops:
        """Return all hops to the end of the URL's redirects."""
        hops = [(url, await send(url))]
        for _ in range(MOST_REDIRECTS):
            url, found = hops[-1]
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            hops.append((target, await send(target)))
        return hops

    async def _send(self, url: str, wants: Sequence[Want], *, in_scope: bool) -> Found:
        settings = self._settings
        for want in wants:
            is_file = want is Want.FILE
            most = settings.longest_file_bytes if is_file else settings.network.max_body_bytes
            # The body of a failure may show that it is a challenge, or is archived.
            reads_failures = is_file or want is Want.STATUS
            request = Request(url=url, want=want, max_bytes=most, keeps_failures=reads_failures)
            tell = self._crawler.context.tell
            found = await self._onboarding.ask_in_time(request, tell, in_scope=in_scope)
            if not (isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED):
                break
        return found


def _came_to_their_end(tasks: Iterable[asyncio.Task[bool]]) -> bool:
    """Return whether all was requested. A stop cancels the tasks that wait."""
    return all(not task.cancelled() and task.result() for task in tasks)


def _wire_bytes(found: Response) -> int | None:
    told = found.headers.get("content-length", "")
    is_number = told.isascii() and told.isdigit() and len(told) <= _LONGEST_LENGTH
    return int(told) if is_number else found.wire_bytes or None


# ================================================================ cloaking
#
# Detects servers that send different versions of a page to the crawler and to a browser.
#
# Laws: requests differ only in the User-Agent and in the crawler's signature, if it signs: nothing
# else can make a difference. They are sent one after the other, after the delays of the hosts, and
# only where robots.txt allows the crawler. Content that changes anyway does not count: a part
# counts only if both responses to one name have it, and neither response to the other. Only names
# are tried: a server that knows crawlers by addresses, or cloaks by a script, is not detected.
#
# name       User-Agent of a request: the crawler's or a browser's
# parts      compared parts of a response: the shingles of its text, and its links
# likeness   share of the stable content that both names get

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_LEAST_STEADINESS = 0.5
"""Least likeness of two texts for one name; below it, texts are not compared."""
_FEWEST_LINKS = 5
_LINES_SHOWN = 3

Parts = Collection[object]


class PageAnswer(NamedTuple):
    """One response, at the end of its redirects."""

    status: int | None
    url: str
    why: str = ""
    """Reason why there is no page; empty if there is one."""
    page: ParsedPage = ParsedPage()
    text: str = ""
    varies: bool = False
    """True if the server's Vary header names the User-Agent."""

    @property
    def links(self) -> Parts:
        """URLs that the page links to."""
        return frozenset(self.page.links)

    @property
    def shingles(self) -> Parts:
        """Shingles of the text, or its words if it is too short to have any."""
        return frozenset(shingles(self.text).tolist()) or frozenset(words_of(self.text))


class Difference(NamedTuple):
    """Difference between the responses to the two names."""

    what: str
    crawler: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloaking:
    """Responses to both names, and their differences."""

    url: str
    crawler: Sequence[PageAnswer]
    browser: Sequence[PageAnswer]
    differences: Sequence[Difference]
    likeness: float
    """Likeness of the text."""
    steadiness: float
    """Least likeness of two responses to one name."""
    links: float
    """Likeness of the links."""

    @property
    def is_cloaked(self) -> bool:
        """True if the page is served differently."""
        return bool(self.differences)

    @property
    def is_unsteady(self) -> bool:
        """True if the text changes too much by itself to be judged."""
        return self.steadiness < _LEAST_STEADINESS

    def only_for(self, *, crawler: bool) -> list[str]:
        """Return some lines of the text that only the crawler gets, or only the browser."""
        ours, others = self.crawler, self.browser
        if not crawler:
            ours, others = others, ours
        known = {line for answer in others for line in answer.text.split("\n")}
        lines = [line for line in ours[0].text.split("\n") if line not in known]
        # Both responses to this name must have a line: a line that only one of them has, such as an
        # advertisement, says nothing about the other name.
        always = set(ours[-1].text.split("\n"))
        return [line for line in lines if line in always][:_LINES_SHOWN]

    def as_json(self) -> dict[str, object]:
        """Return the findings as a JSON document."""
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


# ---------------------------------------------------------------- requests


async def check_cloaking(
    url: str,
    settings: Settings,
    clock: Clock,
    transport: httpx.AsyncBaseTransport | None = None,
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
    store.agree(store_terms(settings))
    return settings


async def _ask_all(
    crawler: Crawler, url: str, fetchers: Iterable[PageFetcher], answers: list[PageAnswer]
) -> None:
    answers.extend([await _ask(crawler, url, through) for through in fetchers])


async def _ask(crawler: Crawler, url: str, through: PageFetcher) -> PageAnswer:
    """Follow redirects through the crawl's gate, and return the last response."""
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
            return PageAnswer(status, url, "too many redirects, or one to no URL")
        case _:
            raise AssertionError("no request had a validator")


# ---------------------------------------------------------------- judgement


def judged(url: str, crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]) -> Cloaking:
    """Compare the responses to both names."""
    texts = _Sides([one.shingles for one in crawler], [one.shingles for one in browser])
    links = _Sides([one.links for one in crawler], [one.links for one in browser])
    found = list(_value_differences(crawler, browser))
    if not any(one.why for one in (*crawler, *browser)):
        if texts.likeness < ALIKE and texts.steadiness >= _LEAST_STEADINESS:
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


def _value_differences(
    crawler: Sequence[PageAnswer], browser: Sequence[PageAnswer]
) -> Iterator[Difference]:
    """Yield values that are the same in all responses to a name, and differ between the names."""
    for what in ("answer", "final URL", "title", "canonical", "robots"):
        ours, theirs = ({_value(what, one) for one in some} for some in (crawler, browser))
        # A value that differs between two responses to one name does not depend on the name.
        if len(ours) == len(theirs) == 1 and ours != theirs:
            yield Difference(what, ours.pop(), theirs.pop())
            if what == "answer":
                return  # no page to compare


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
    """Parts of each response to the crawler and to the browser."""

    crawler: Sequence[Parts]
    browser: Sequence[Parts]

    @property
    def own(self) -> tuple[set[object], set[object]]:
        """Parts in both responses to one name and in no response to the other."""
        ours, theirs = self
        return _always(ours) - _ever(theirs), _always(theirs) - _ever(ours)

    @property
    def likeness(self) -> float:
        """Share of stable content served to both User-Agents."""
        every = len(_always(self.crawler) | _always(self.browser))
        return 1 - sum(map(len, self.own)) / every if every else 1.0

    @property
    def steadiness(self) -> float:
        """Least likeness of the responses to one name."""
        shares = (len(_always(some)) / max(len(_ever(some)), 1) for some in self if _ever(some))
        return min(shares, default=1.0)

    def is_apart(self, url: str) -> bool:
        """Return whether links differ: most of them, or several that lead the crawler off-site."""
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


# ================================================================ requisites
#
# Keeps the files that a browser needs to show a page: images, styles, scripts, fonts, media; and
# linked files of any kind, if they are within the scope.
#
# Laws: files in the archive are not requested again, and a URL that failed is requested again after
# a day at the earliest, through the gate of the crawl. A response is in the archive, and in the
# WARC files if these are written, before the store says so.
#
# requisite  URL of a file that a browser needs to show a page, or that a style needs
# round      requests for the requisites of pages; then for those of their styles, and so on

MOST_ROUNDS = 100
"""Limit of rounds, for an endless series of styles that import one another."""


async def keep_requisites(
    context: CrawlContext, asker: LinkAsker, needed: Mapping[str, bool], failed: Set[str]
) -> tuple[int, list[CheckRow]]:
    """Keep the requisites of pages that are not kept yet.

    The values of `needed` tell whether a file may need more files. URLs in `failed` failed lately
    and are not requested. Return the number of new responses, and the result of each request.
    """
    with _requisites(context, failed) as requisites:
        await requisites.run(asker, needed)
        return requisites.kept, requisites.rows


async def keep_files(
    context: CrawlContext, asker: LinkAsker, linked: Iterable[str], failed: Set[str]
) -> tuple[int, list[CheckRow]]:
    """Keep linked files that are not kept yet, as `keep_requisites` does."""
    with _requisites(context, failed) as files:
        await files.ask(asker, linked, in_scope=True)
        return files.kept, files.rows


@contextmanager
def _requisites(context: CrawlContext, failed: Set[str]) -> Iterator[_Requisites]:
    folder = archive_folder(context.settings.storing.store)
    with closing(ArchiveReader(folder, _end(context))) as archive:
        yield _Requisites(context, archive, failed)


def _end(context: CrawlContext) -> int:
    """Return the end of the archive, as of the last commit."""
    with reading(context.settings.storing.store) as connection:
        end = tables.archive_end(connection)
    assert end is not None  # without an archive, requisites are not kept
    return end


class _Requisites:
    """Requests requisites, and keeps the responses."""

    def __init__(self, context: CrawlContext, archive: ArchiveReader, failed: Set[str]) -> None:
        self.kept, self.rows = 0, list[CheckRow]()
        self._context, self._archive, self._failed = context, archive, failed

    async def run(self, asker: LinkAsker, needed: Mapping[str, bool]) -> None:
        """Run all rounds."""
        seen: set[str] = set()
        for _ in range(MOST_ROUNDS):
            new = {url: leads_on for url, leads_on in needed.items() if url not in seen}
            if not new:
                return
            seen |= new.keys()
            await self.ask(asker, new)
            self._archive.go_on_to(_end(self._context))
            # The archive has been committed, and is read with the new files: what they need is the
            # next round.
            needed = {
                file: leads_further
                for url, leads_on in new.items()
                if leads_on or may_lead_on(url)
                for answer in self._answers(url)
                for file, leads_further in needed_by_file(answer)
            }

    async def ask(self, asker: LinkAsker, urls: Iterable[str], *, in_scope: bool = False) -> None:
        """Request the URLs that are not kept, and keep the responses."""

        async def keep(hops: Hops) -> None:
            self.rows.append(asker.row_of(hops))
            await self._keep(hops)

        # A failure of a day ago or longer is as good as nothing.
        since = self._context.clock.today() - VALID_S
        missing = [
            url
            for url in set(urls) - self._failed
            if all(
                row.kind == RecordKind.FAILURE and row.at <= since
                for row in self._archive.versions(url)
            )
        ]
        await asker.ask(missing, keep, (Want.FILE,), in_scope=in_scope)
        await self._context.recorder.committer.written()

    async def _keep(self, hops: Hops) -> None:
        recorder, today = self._context.recorder, self._context.clock.today()
        for url, found in hops:
            if isinstance(found, Response) and found.spooled is not None:
                payload: IO[bytes] = TemporaryFile()  # noqa: SIM115  # the archive closes it
                with found.spooled as body:
                    record = await asyncio.to_thread(pack_spooled, url, found, body, payload)
                recorder.keep(None, KeptAnswer(record, today, url, payload=payload))
                await recorder.committer.written()
            elif (packed := pack_any(url, found)) is not None:
                recorder.keep(None, KeptAnswer(packed, today, url))
            self.kept += isinstance(found, Response | Moved)

    def _answers(self, url: str) -> Iterable[Answer]:
        """Return the last kept response, if it can be read and is not longer than --max-body."""
        rows = [row for row in self._archive.versions(url) if row.kind != RecordKind.FAILURE]
        most = self._context.settings.network.max_body_bytes
        try:
            last = [row.place for row in rows[-1:]]
            short = [at for at in last if self._archive.segments.header(at).body_bytes <= most]
            return [self._archive.answer(at) for at in short]
        except Damaged:  # `minicrawl check` reports it
            return []


# ================================================================ targets
#
# Finds URLs to request, and broken references of pages.
#
# Law: a URL is requested at most once per day. Styles and missing pages are requested again if the
# checks did not come to their end, because what was read in them is not kept.

VALID_S = 86_400.0
_KEPT_EVERY_S = 1.0
"""Time between two writes of results, each of which waits for the disk. A kill loses the results
since the last one; their requests are repeated."""
NO_ANCHOR = "anchor"
_SHORT_BYTES = 32_768
"""Size of a body up to which reading it, in linear time, takes milliseconds."""
_LARGE_BYTES = 500_000
"""Size of an image that the audit reports."""
_MOST_FOLDERS, _USUAL_PAGES = 100, 9
"""Most folders to request missing pages in, and most pages to learn a folder's usual lines from."""
_DEEPEST = 8
"""Folders of a page that count, from the root: a hostile URL has thousands."""
_MOST_ANCHORS = 4_000_000
"""Most anchors in memory, 8 bytes each."""
_NOT_FOLLOWED = ("nofollow", "canonical")
_IN_STYLE = "in "
_TOP = ("", "top")
_DIRECTIVE = ":~:"
"""Start of a fragment that names a text instead of an anchor."""

Sources: TypeAlias = "dict[str, dict[tuple[str, str], array[int]]]"
"""Pages that refer to each URL, by kind and text of the reference: 4 bytes for each page."""
_MOST_TEXTS = 20
"""Most texts of links to one URL; the links of further pages are noted without theirs."""


async def check_links(crawler: Crawler) -> None:
    """Keep requisites and linked files, and check links outside the crawl, as settings say."""
    context = crawler.context
    storing, tell = context.settings.storing, context.tell
    asker = LinkAsker(crawler)
    if storing.requisites:
        kept = await _keep_requisites(context, asker)
        tell(Noted(text=f"kept {counted(kept, 'page requisite')}"))
    if context.settings.keeps_files:
        kept = await _keep_linked_files(context, asker)
        tell(Noted(text=f"kept {counted(kept, 'linked file')}"))
    if storing.check:
        external, assets = "external" in storing.check, "assets" in storing.check
        clock = context.clock
        asked = await check(storing.store, asker, clock, tell, external=external, assets=assets)
        tell(Noted(text=f"checked {counted(asked, 'link')} outside the crawl"))
    await _check_again(context, asker)


def due_checks(context: CrawlContext) -> list[str]:
    """Return the dead targets of earlier checks that a run that reads again requests once more."""
    store, today = context.settings.storing.store, context.clock.today()
    began = context.recorder.counters.number(tables.BEGAN)
    with reading(store) as connection:
        dead = [row for row in all_checks(store, connection) if State(row.state).is_dead_end]
    return [
        row.url
        for row in dead
        if row.at < began and not is_missing_sibling(row.url)
        if context.settings.order.refresh and is_due(row.since or row.at, row.at, today)
    ]


async def _check_again(context: CrawlContext, asker: LinkAsker) -> None:
    rows = list[CheckRow]()

    async def keep(hops: Hops) -> None:
        rows.append(asker.row_of(hops))

    try:
        await asker.ask(due_checks(context), keep)
    finally:
        _keep(context.settings.storing.store, rows)


async def _keep_requisites(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep the requisites of pages; those that fail are recorded as broken."""

    store = context.settings.storing.store
    with snapshot(store) as seen:
        needed = (await targets_of(seen, context.tell)).assets
    leading_on = {url: any(kind in LEADS_ON for kind, _ in of) for url, of in needed.items()}
    kept, rows = await keep_requisites(context, asker, leading_on, _failed_lately(context))
    _keep(store, rows)
    _keep_findings(store, needed, [])
    return kept


async def _keep_linked_files(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep the linked files within the scope; check rows record why others are not kept."""
    store, max_depth = context.settings.storing.store, context.settings.scope.max_depth
    depths = context.recorder.frontier.urls.depth
    with snapshot(store) as seen:
        found = np.flatnonzero(seen.states == State.TYPE)
        if max_depth is not None:
            found = found[[depths[page] <= max_depth for page in found.tolist()]]
        linked = list(urls(seen, found))
    kept, rows = await keep_files(context, asker, linked, _failed_lately(context))
    _keep(store, rows)
    return kept


def _failed_lately(context: CrawlContext) -> set[str]:
    """Return the URLs whose last request, at most a day ago, failed."""
    lately = _checked_lately(context.settings.storing.store, context.clock.today())
    return {row.url for row in lately if row.state != State.FETCHED}


async def check(
    store: Path, asker: LinkAsker, clock: Clock, tell: Listener, *, external: bool, assets: bool
) -> int:
    """Request URLs that are not crawled. Return their number."""
    with snapshot(store) as seen:
        wanted = set(_external(seen)) if external else set[str]()
        found = await targets_of(seen, tell)
        needed = found.assets if assets else {}
        links = found.links if external else {}
        waiting = wanted | _unjudged(seen, needed | links)
    fresh = {row.url for row in _checked_lately(store, clock.today())}
    waiting -= fresh
    rows, rows_at_the_end = list[CheckRow](), list[CheckRow]()
    reader = _BodyReader(tell)
    styles = _Styles(needed, reader)
    asked, kept_at, is_whole = 0, clock.now(), True

    async def keep(hops: Hops, rows_of_kind: list[CheckRow] = rows) -> None:
        nonlocal asked, kept_at
        asked += 1
        rows_of_kind.append(asker.row_of(hops))
        tell(Checking(done=asked, all=len(waiting)))
        if clock.now() >= kept_at + _KEPT_EVERY_S:
            _keep(store, rows)
            kept_at = clock.now()

    folders = _Folders(store, fresh, reader)

    async def keep_style(hops: Hops) -> None:
        await styles.read(hops)
        await keep(hops, rows_at_the_end if isinstance(hops[-1][1], Response) else rows)

    try:
        siblings, todo = folders.siblings() if assets else [], set(waiting)
        while siblings or todo:
            async with asyncio.TaskGroup() as group:
                asking = (
                    group.create_task(asker.ask(siblings, folders.keep, (Want.RESOURCE,))),
                    group.create_task(asker.ask(todo & styles.urls, keep_style, (Want.RESOURCE,))),
                    group.create_task(asker.ask(todo - styles.urls, keep)),
                )
            is_whole &= _came_to_their_end(asking)
            siblings, todo = [], styles.found.keys() - waiting - fresh
            waiting |= todo
    finally:
        _keep(store, rows)
        await reader.close()
    if assets or links:
        more = [*found.anchors, *await folders.soft_404s(), *_within(store, fresh)]
        rows_at_the_end += map(asker.row_of, folders.hops)
        _keep_findings(
            store,
            _joined(needed, links, styles.found),
            more if assets else [],
            rows_at_the_end if is_whole else [],
        )
    return asked


class _BodyReader:
    """Reads long bodies in a child process, so that requests to other hosts go on meanwhile."""

    def __init__(self, tell: Listener) -> None:
        self._process, self._tell = ParserProcess(MOST_READING_S), tell

    async def read(self, read: Callable[[bytes], T], found: Response, url: str) -> T | None:
        """Return what `read` finds in the body; None if it was killed for taking too long."""
        if len(found.body) <= _SHORT_BYTES:  # most: starting a process takes longer
            return read(found.body)
        try:
            return (await self._process.run(read, BytesIO(found.body), host(url))).value
        except ParserLost as lost:
            self._tell(Noted(text=f"{url} is not read: {lost}"))
            return None

    async def close(self) -> None:
        await self._process.close()


class _Folders:
    """Finds soft 404s: pages that look like a page that is missing in their folder."""

    def __init__(self, store: Path, fresh: Set[str], reader: _BodyReader) -> None:
        self._store, self._fresh, self._reader = store, fresh, reader
        self.hops: list[Hops] = []
        self._missing: dict[str, dict[str, str]] = defaultdict(dict)  # folder -> URL -> text
        self._with_login = set[str]()  # folders whose missing pages ask for a password
        self._was_asked = False

    def siblings(self) -> list[str]:
        """Return URLs that should not exist in the largest folders, or none if asked lately."""
        with snapshot(self._store) as seen:
            counts = Counter(folder for _, url in _read_pages(seen) for folder in _folders(url))
        largest = [folder for folder, count in counts.most_common(_MOST_FOLDERS) if count > 1]
        wanted = [url for folder in largest for url in missing_siblings(folder)]
        self._was_asked = not self._fresh.isdisjoint(wanted)
        return [] if self._was_asked else wanted

    async def keep(self, hops: Hops) -> None:
        """Keep the text of a page that should not exist, unless it redirects to another page."""
        self.hops.append(hops)
        (url, found), *others = hops
        if isinstance(found, Response) and found.body and not others:
            folder = _folders(url)[-1]
            read = partial(_text_and_login, content_type=found.headers.get("content-type"))
            if (said := await self._reader.read(read, found, url)) is not None:
                self._missing[folder][url], has_login = said
                if has_login:
                    self._with_login.add(folder)

    async def soft_404s(self) -> list[FindingRow]:
        """Return pages that look like missing ones; those of the last check if it was lately."""
        with snapshot(self._store) as seen:
            if self._was_asked:
                return list(all_findings(self._store, seen.connection, SOFT_404))
            return [row async for row in self._like_missing(seen)] if self._missing else []

    async def _like_missing(self, seen: Snapshot) -> AsyncIterator[FindingRow]:
        pages = _read_pages(seen)
        usual: dict[str, list[str]] = {
            name: [] for folder in self._missing for name in (_folders(folder)[0], folder)
        }
        for place in places_of_largest(seen.importance[[page for page, _ in pages]], 0).tolist():
            for folder in _folders(url := pages[place][1]):
                if folder in usual and len(usual[folder]) < _USUAL_PAGES:
                    usual[folder].append(url)
        with kept_pages(seen) as archive:

            def markup(url: str) -> str:
                return markup_of(archive, url) or ""

            def missing_page(folder: str) -> MissingPage | None:
                root = _folders(folder)[0]
                groups = [{url: markup(url) for url in usual[name]} for name in (root, folder)]
                if folder in self._with_login:
                    has_login = [asks_for_password(one) for some in groups for one in some.values()]
                    if 2 * sum(has_login) <= len(has_login):  # not that of the site's header
                        return None
                others = [{url: plain_text(one) for url, one in group.items()} for group in groups]
                return MissingPage(self._missing[folder], plain_text(markup(root)), others)

            missing, rounds = {}, LoopRounds()
            for folder in self._missing:
                await rounds.turn()
                if (found := missing_page(folder)) is not None:
                    missing[folder] = found
            for page, url in pages:
                await rounds.turn()
                # Pages of a folder that is gone as a whole look like missing pages of one above it.
                above = [missing[folder] for folder in _folders(url) if folder in missing]
                said = plain_text(markup(url)) if above else ""
                if said and any(one.is_like(url, said) for one in above):
                    yield FindingRow(page, url, SOFT_404, "")


def _text_and_login(body: bytes, content_type: str | None) -> tuple[str, bool]:
    markup, _ = decode(body, parse_content_type(content_type)[1])
    return plain_text(markup), asks_for_password(markup)


def _folders(url: str) -> list[str]:
    """Return the folders that a page is in, the root of its host first, down to a limit."""
    path, start = url.partition("?")[0], len(origin(url))
    ends = (at + 1 for at in range(start, len(path)) if path[at] == "/")
    return [path[:end] for end in islice(ends, _DEEPEST)]


def _checked_lately(store: Path, today: float) -> list[CheckRow]:
    with reading(store) as connection:
        return [row for row in all_checks(store, connection) if abs(today - row.at) < VALID_S]


def _keep(store: Path, rows: list[CheckRow]) -> None:
    """Write the rows, and empty their list."""
    if rows:
        with reading(store) as connection:
            keep_checks(store, connection, rows)
        rows.clear()


class _Styles:
    """Reads style sheets for the files that they refer to."""

    def __init__(self, needed: Sources, reader: _BodyReader) -> None:
        self._reader = reader
        self.urls = {url for url, of in needed.items() if any(kind == "style" for kind, _ in of)}
        self.found: Sources = defaultdict(dict)
        self._needed = needed

    async def read(self, hops: Hops) -> None:
        """Note the files that a style refers to: pages that need the style need them, too."""
        (url, _), (base, found) = hops[0], hops[-1]
        if not isinstance(found, Response):
            return
        first, *others = (self._needed.get(url) or self.found[url]).values()
        pages = sum(others, first)
        read = partial(style_targets, url=base, content_type=found.headers.get("content-type"))
        for target, kind in await self._reader.read(read, found, base) or ():
            if kind == "style":
                self.urls.add(target)
            self.found[target].setdefault((kind, f"{_IN_STYLE}{url}"), pages)


def _within(store: Path, fresh: Set[str]) -> list[FindingRow]:
    """Return the stored findings from styles that were read lately."""
    wanted = {f"{_IN_STYLE}{url}" for url in fresh}
    with reading(store) as connection:
        return [row for row in all_findings(store, connection) if row.text in wanted]


def _unjudged(seen: Snapshot, found: Collection[str]) -> set[str]:
    """Return the URLs that the crawl does not know, or skips for their scope or type."""
    pages = questions.find_all(seen.connection, list(map(split, found)))
    aside = (State.SCOPE, State.TYPE)
    return {
        url
        for url, page in zip(found, pages, strict=True)
        if page is None or seen.states[page] in aside
    }


def _keep_findings(
    store: Path, needed: Sources, others: Sequence[FindingRow], checks: Sequence[CheckRow] = ()
) -> None:
    with snapshot(store) as seen:
        judged = verdicts_of(seen, needed)
        requested = {row.url: row for row in all_checks(store, seen.connection)}
        sizes = {url: row.bytes or 0 for url, row in requested.items()}
        large = (
            FindingRow(page, url, LARGE_IMAGE, str(sizes[url]))
            for url in needed
            if sizes.get(url, 0) > _LARGE_BYTES
            for page, kind, _ in _references_to(url, needed)
            if kind == "image"
        )
        broken = (
            FindingRow(page, url, kind, text)
            for url, verdict in judged.items()
            # A file whose state is unknown is counted, so `broken --verdict` has to list it.
            if verdict in SHOWN or (verdict is not LinkVerdict.ALIVE and url in requested)
            for page, kind, text in _references_to(url, needed)
            # No reader follows a canonical URL as a link; `audit` reports dead ones.
            if kind != "canonical"
        )
        keep_findings(store, seen.connection, chain(broken, large, others), checks)


def _references_to(url: str, sources: Sources) -> Iterator[tuple[int, str, str]]:
    """Yield the pages that refer to a URL, each once, with kind and text of the reference."""
    seen = set[int]()
    for (kind, text), pages in sources[url].items():
        for page in pages:
            if page not in seen:
                seen.add(page)
                yield page, kind, text


def _external(seen: Snapshot) -> Iterator[str]:
    """Yield the targets of links, behind redirects, that are not read for their scope or type."""
    inlinks, _ = link_counts(seen)
    ends = np.unique(redirect_ends(seen)[inlinks > 0])
    yield from urls(seen, ends[np.isin(seen.states[ends], (State.SCOPE, State.TYPE))])


def _read_pages(seen: Snapshot) -> list[tuple[int, str]]:
    pages = np.flatnonzero(np.isin(seen.states, READ_STATES))
    return list(zip(pages.tolist(), urls(seen, pages), strict=True))


class Targets(NamedTuple):
    """URLs that pages refer to and that no crawl reads, and missing anchors."""

    assets: Sources
    links: Sources
    """Targets of links with rel=nofollow or rel=canonical."""
    anchors: list[FindingRow]


async def targets_of(seen: Snapshot, tell: Listener) -> Targets:
    """Return the URLs that kept pages refer to; each page is parsed once."""
    pages = {url: page for page, url in _read_pages(seen)}
    rounds = LoopRounds()  # or thousands of pages would stop the display, and keep Ctrl-C waiting
    assets: Sources = defaultdict(dict)
    links: Sources = defaultdict(dict)
    anchors = _Anchors(pages)
    with PageReferences(seen) as references:
        for done, (url, page) in enumerate(pages.items()):
            await rounds.turn()
            tell(Checking(done=done, all=len(pages), noun="page"))
            of_page, resolve = references.of(url), partial(references.resolve, url)
            for asset in of_page.assets:
                _add(assets, resolve(asset.written), page, asset.kind, "")
            for link in of_page.links:
                kind = link.role
                if kind not in _NOT_FOLLOWED and "#" not in link.written:
                    continue
                target = resolve(link.written)
                if kind in _NOT_FOLLOWED:
                    _add(links, target, page, kind, link.text)
                anchors.wanted(target, link, page)
            if references.has(url):
                anchors.found(url, of_page.anchors)
        return Targets(assets, links, list(anchors.missing(references)))


def _joined(*parts: Sources) -> Sources:
    found: Sources = defaultdict(dict)
    for part in parts:
        for url, of in part.items():
            found[url] = of | found[url]
    return found


def _add(found: Sources, target: str | None, page: int, kind: str, text: str) -> None:
    """Note the first reference of a page to a URL. All references of a page are added at once."""
    if target is None or any(pages[-1] == page for pages in found[target].values()):
        return
    of_target = found[target]
    is_noted = (kind, text) in of_target or len(of_target) < _MOST_TEXTS
    of_target.setdefault((kind, text if is_noted else ""), array("i")).append(page)


class _Anchors:
    """Anchors of pages, as hashes, and the fragments of links to them.

    Most pages of a manual are linked with fragments: parsing each of them again for its anchors
    took as long as the crawl. Pages beyond `_MOST_ANCHORS` are parsed again all the same.
    """

    def __init__(self, pages: Mapping[str, int]) -> None:
        self._pages = pages
        self._wanted: dict[str, dict[tuple[int, str, str], None]] = defaultdict(dict)
        self._found: dict[str, array[int]] = {}
        self._left = _MOST_ANCHORS

    def wanted(self, target: str | None, link: Reference, page: int) -> None:
        """Note the fragment of a link to a page that was read."""
        name = unquote(link.written.partition("#")[2])
        if name.lower() in _TOP or _DIRECTIVE in name or name.startswith("!"):
            return
        if target is not None and target in self._pages:
            self._wanted[target][page, name, link.text] = None

    def found(self, url: str, names: Collection[str]) -> None:
        """Note the anchors of a page."""
        if len(names) <= self._left:
            self._left -= len(names)
            self._found[url] = array("q", map(hash, names))

    def missing(self, references: PageReferences) -> Iterator[FindingRow]:
        """Yield the links whose fragment names no anchor of the target page."""
        for target, links in self._wanted.items():
            anchors = self._of(target, references)
            if anchors is None:
                continue
            for page, name, text in links:
                if hash(name) not in anchors:
                    yield FindingRow(page, f"{target}#{name}", NO_ANCHOR, text)

    def _of(self, target: str, references: PageReferences) -> Set[int] | None:
        if target in self._found:
            return set(self._found[target])
        return set(map(hash, references.of(target).anchors)) if references.has(target) else None
