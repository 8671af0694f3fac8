"""Checks of URLs that are not crawled, and files that are kept for pages.

asking      requests URLs through the gate of a crawl
targets     URLs to request, and broken references of pages
requisites  images, styles and other files of kept pages, for the archive
cloaking    detects pages that differ for a browser
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, pack_file
from minicrawl.config import Settings
from minicrawl.crawl.events import Noted, nobody_listens
from minicrawl.crawl.hosts.side_requests import MOST_REDIRECTS
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.parts import CrawlContext
from minicrawl.crawl.schedule.scope_gate import gate_for
from minicrawl.crawl.start.opening import opened_crawl, store_terms
from minicrawl.crawl.workers.pool import open_web_access
from minicrawl.crawl.workers.worker import WorkerConfig
from minicrawl.errors import Damaged, MinicrawlError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.resolver import trusted_among
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
from minicrawl.report.archived_pages import is_style, needed_by_style
from minicrawl.report.page_links import PageReferences, link_counts
from minicrawl.report.snapshot import Snapshot, snapshot, urls
from minicrawl.store import tables
from minicrawl.store.derived import CheckRow, FindingRow, all_checks, keep_checks, keep_findings
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.writer import StoreWriter
from minicrawl.web.encoding import decode
from minicrawl.web.html_page import parse_page
from minicrawl.web.references import plain_text
from minicrawl.web.responses import parse_content_type
from minicrawl.web.urls import ResolvedUrl, canonical, host, origin, site
from minicrawl.web.words import ALIKE, shingles, words_of
from minicrawl.wording import counted

if TYPE_CHECKING:
    import httpx


# ================================================================ asking
#
# Requests URLs to check whether they exist, or to keep the responses.
#
# Laws: each URL is requested once, through the gate of the crawl (`HostOnboarding.ask`), as its
# pages are: `--deny`, robots.txt, delays, addresses, pace, hours and budget apply. A check uses
# HEAD, and GET if HEAD is refused. Redirects pass the same gate.
#
# hops   a URL with its result, and each URL that a redirect led to with its result; a state is the
#        reason why no request was sent

IS_IT_THERE = (Want.HEAD, Want.STATUS)
_HEAD_IS_REFUSED = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""Statuses of HEAD after which GET is tried: some servers send them for pages that exist."""

Found = FetchResult | State
Hops = list[tuple[str, Found]]
Keep = Callable[[Hops], None]


class LinkAsker:
    """Requests URLs on behalf of a crawl. `keep` gets the hops of each URL that is not denied."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._onboarding = crawler, crawler.parts.onboarding
        self._settings, self._clock = crawler.context.settings, crawler.context.clock

    async def ask(
        self, urls: Iterable[str], keep: Keep, wants: Sequence[Want] = IS_IT_THERE
    ) -> None:
        """Request all URLs, many hosts at a time, by the first of `wants` that is not refused."""
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        async with asyncio.TaskGroup() as group:
            for _, some in groupby(sorted(urls, key=origin), key=origin):
                group.create_task(self._ask_host(list(some), keep, wants, free))

    async def _ask_host(
        self, urls: Sequence[str], keep: Keep, wants: Sequence[Want], free: asyncio.Semaphore
    ) -> None:
        for url in urls:
            async with free:
                if not await self._crawler.may_ask():
                    return
                hops = await self._follow(url, wants)
            if hops[0][1] is not State.SCOPE:
                keep(hops)

    def row_of(self, hops: Hops) -> CheckRow:
        """Return the final result for the first URL."""
        at = self._clock.today()
        (url, _), (_, found) = hops[0], hops[-1]
        match found:
            case State():
                return CheckRow(url, found, None, "", at)
            case Response(status=status):
                return CheckRow(url, State.FETCHED, status, "", at)
            case Moved(status=status):
                detail = f"more than {MOST_REDIRECTS} redirects, or one to no URL"
                return CheckRow(url, State.BAD_REDIRECT, status, detail, at)
            case Refused(reason=reason, detail=detail, status=status):
                return CheckRow(url, State.of(reason), status, detail, at)
            case Failed(kind=kind, detail=detail, status=status):
                return CheckRow(url, State.of(kind), status, detail, at)
            case Unchanged():
                return CheckRow(url, State.FETCHED, HTTPStatus.NOT_MODIFIED, "", at)

    async def _follow(self, url: str, wants: Sequence[Want]) -> Hops:
        """Return all hops to the end of the URL's redirects."""
        hops = [(url, await self._send(url, wants))]
        for _ in range(MOST_REDIRECTS):
            url, found = hops[-1]
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            hops.append((target, await self._send(target, wants)))
        return hops

    async def _send(self, url: str, wants: Sequence[Want]) -> Found:
        for want in wants:
            most = self._settings.network.max_body_bytes
            request = Request(url=url, want=want, max_bytes=most)
            found = await self._onboarding.ask_in_time(request, self._crawler.context.tell)
            if not (isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED):
                break
        return found


# ================================================================ cloaking
#
# Detects pages that a server gives the crawler's User-Agent and a browser's in different versions.
#
# Laws: requests differ only in the User-Agent, so that nothing else can make a difference.
# They are sent one after the other, after the delays of the hosts, and only where robots.txt allows
# the crawler. Content that changes anyway is no difference: a part counts only if both responses to
# one name have it, and neither response to the other. Only names are tried: a server that knows
# crawlers by their addresses, or cloaks by a script, is not detected.
#
# parts      compared parts of a response: the shingles of its text, and its links
# likeness   share of the stable content of either name that both names get

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_MOST_CHANGING = 0.5
"""Least stable share of the text for one name; below it, the text is not judged."""
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
        """Pages that it links to."""
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
        return self.steadiness < _MOST_CHANGING

    def only_for(self, *, crawler: bool) -> list[str]:
        """Return some lines of the text that only this name gets."""
        ours, others = self.crawler, self.browser
        if not crawler:
            ours, others = others, ours
        known = {line for answer in others for line in answer.text.split("\n")}
        lines = [line for line in ours[0].text.split("\n") if line not in known]
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
    store.agree(store_terms(settings))
    return settings


async def _ask_all(
    crawler: Crawler, url: str, fetchers: Iterable[PageFetcher], answers: list[PageAnswer]
) -> None:
    answers.extend([await _ask(crawler, url, through) for through in fetchers])


async def _ask(crawler: Crawler, url: str, through: PageFetcher) -> PageAnswer:
    """Return the response at the end of the redirects, each of which passes the same gate."""
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
    """Yield values that are the same in all responses to a name, and differ between the names."""
    for what in ("answer", "final URL", "title", "canonical", "robots"):
        ours, theirs = ({_value(what, one) for one in some} for some in (crawler, browser))
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
    """Parts of the responses to the crawler and to the browser."""

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
        """Return whether links differ: many, or some to other sites that only the crawler gets."""
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
# Keeps the files that a browser needs to show a page: images, styles, scripts, fonts, media.
#
# Laws: files in the archive are not requested, and any other URL once a day, through the gate of
# the crawl. A response is in the archive, and in the WARC files if these are written, before the
# store says so.
#
# requisite  URL that a page needs to be shown, or that a style needs
# round      requisites of pages; then those of their styles, and so on

MOST_ROUNDS = 5
"""Limit of rounds, for styles that import one another."""


async def keep_requisites(
    context: CrawlContext, asker: LinkAsker, needed: Mapping[str, bool], vain: Set[str]
) -> tuple[int, list[CheckRow]]:
    """Keep the requisites of pages that are not kept yet; the value of each tells if it is a style.

    URLs in `vain` failed lately and are not requested. Return the number of new responses, and the
    result of each request.
    """
    store = context.settings.storing.store
    with closing(ArchiveReader(archive_folder(store), _end(context))) as archive:
        requisites = _Requisites(context, archive, vain)
        await requisites.run(asker, needed)
        return requisites.kept, requisites.rows


def _end(context: CrawlContext) -> int:
    """Return the end of the archive, as of the last commit."""
    with reading(context.settings.storing.store) as connection:
        end = tables.archive_end(connection)
    assert end is not None  # otherwise requisites are not kept
    return end


class _Requisites:
    """Requisites on their way to the archive."""

    def __init__(self, context: CrawlContext, archive: ArchiveReader, vain: Set[str]) -> None:
        self.kept, self.rows = 0, list[CheckRow]()
        self._context, self._archive, self._vain = context, archive, vain

    async def run(self, asker: LinkAsker, needed: Mapping[str, bool]) -> None:
        """Run all rounds."""
        seen: set[str] = set()

        def keep(hops: Hops) -> None:
            self.rows.append(asker.row_of(hops))
            self._keep(hops)

        for _ in range(MOST_ROUNDS):
            new = {url: must_be for url, must_be in needed.items() if url not in seen}
            if not new:
                return
            seen |= new.keys()
            wanted = new.keys() - self._vain
            missing = [url for url in wanted if not self._archive.versions(url)]
            await asker.ask(missing, keep, (Want.RESOURCE,))
            await self._context.recorder.committer.written()
            self._archive.go_on_to(_end(self._context))
            needed = dict(self._needed_by_styles(new))

    def _keep(self, hops: Hops) -> None:
        for url, found in hops:
            if (record := pack_file(url, found)) is not None:
                answer = KeptAnswer(record, self._context.clock.today(), url)
                self._context.recorder.keep(None, answer)
                self.kept += 1

    def _needed_by_styles(self, urls: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
        for url, must_be_a_style in urls.items():
            if must_be_a_style or urlsplit(url).path.endswith(".css"):
                for answer in self._answers(url):
                    yield from needed_by_style(answer)

    def _answers(self, url: str) -> Iterable[Answer]:
        """Return the last kept response, if it is a style or leads to one."""
        rows = self._archive.versions(url)
        try:
            answer = self._archive.answer(rows[-1].place) if rows else None
        except Damaged:  # `minicrawl check` reports it
            return []
        return [answer] if answer is not None and is_style(answer) else []


# ================================================================ targets
#
# URLs to request, and broken references of pages.
#
# Law: a URL is requested at most once per day.

VALID_S = 86_400.0
_KEPT_AT_ONCE = 100
NO_ANCHOR = "anchor"
_TOP = ("", "top")
_DIRECTIVE = ":~:"
"""Start of a fragment that names a text instead of an anchor."""

Sources = dict[str, dict[int, tuple[str, str]]]
"""Pages that refer to each URL, each with the kind of the reference and its text."""
_MOST_SOURCES = 20


async def check_links(crawler: Crawler) -> None:
    """Request the URLs that the crawl does not crawl, through its gate."""
    context = crawler.context
    storing, tell = context.settings.storing, context.tell
    asker = LinkAsker(crawler)
    if storing.requisites:
        kept = await _keep_requisites(context, asker)
        tell(Noted(text=f"kept {counted(kept, 'page requisite')}"))
    if storing.check_external or storing.check_assets:
        external, assets = storing.check_external, storing.check_assets
        asked = await check(
            storing.store, asker, context.clock.today(), external=external, assets=assets
        )
        tell(Noted(text=f"checked {counted(asked, 'link')} outside the crawl"))


async def _keep_requisites(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep the requisites of pages; those that fail are recorded as broken."""

    store = context.settings.storing.store
    with snapshot(store) as seen:
        needed = assets_of(seen)
    styles = {url: any(kind == "style" for kind, _ in of.values()) for url, of in needed.items()}
    lately = _checked_lately(store, context.clock.today())
    vain = {row.url for row in lately if row.state != State.FETCHED}
    kept, rows = await keep_requisites(context, asker, styles, vain)
    _keep(store, rows)
    _keep_findings(store, needed, [])
    return kept


async def check(
    store: Path, asker: LinkAsker, today: float, *, external: bool, assets: bool
) -> int:
    """Request URLs that are not crawled. Return their number."""
    with snapshot(store) as seen:
        wanted = set(_external(seen)) if external else set[str]()
        needed = assets_of(seen) if assets else {}
        anchors = list(missing_anchors(seen)) if assets else []
    fresh = {row.url for row in _checked_lately(store, today)}
    rows: list[CheckRow] = []
    asked = 0

    def keep(hops: Hops) -> None:
        nonlocal asked
        asked += 1
        rows.append(asker.row_of(hops))
        if len(rows) >= _KEPT_AT_ONCE:
            _keep(store, rows)

    try:
        await asker.ask((wanted | needed.keys()) - fresh, keep)
    finally:
        _keep(store, rows)
    if assets:
        _keep_findings(store, needed, anchors)
    return asked


def _checked_lately(store: Path, today: float) -> list[CheckRow]:
    with snapshot(store) as seen:
        return [row for row in all_checks(store, seen.connection) if abs(today - row.at) < VALID_S]


def _keep(store: Path, rows: list[CheckRow]) -> None:
    with snapshot(store) as seen:
        keep_checks(store, seen.connection, rows)
    rows.clear()


def _keep_findings(store: Path, needed: Sources, anchors: list[FindingRow]) -> None:
    with snapshot(store) as seen:
        failed = {
            row.url for row in all_checks(store, seen.connection) if State(row.state).is_dead_end
        }
        broken = (
            FindingRow(page, url, kind, text)
            for url in failed & needed.keys()
            for page, (kind, text) in needed[url].items()
        )
        keep_findings(store, seen.connection, [*broken, *anchors])


def _external(seen: Snapshot) -> Iterator[str]:
    """Yield linked pages that are not read because of the scope or their names."""
    inlinks, _ = link_counts(seen)
    is_aside = np.isin(seen.states, (State.SCOPE, State.TYPE)) & (inlinks > 0)
    yield from urls(seen, np.flatnonzero(is_aside))


def _read_pages(seen: Snapshot) -> list[tuple[int, str]]:
    pages = np.flatnonzero(np.isin(seen.states, READ_STATES))
    return list(zip(pages.tolist(), urls(seen, pages), strict=True))


def assets_of(seen: Snapshot) -> Sources:
    """Return all assets of kept pages."""
    found: Sources = defaultdict(dict)
    with PageReferences(seen) as references:
        for page, url in _read_pages(seen):
            resolve = partial(references.resolve, url)
            for asset in references.of(url).assets:
                target = resolve(asset.written)
                if target is not None and len(found[target]) < _MOST_SOURCES:
                    found[target].setdefault(page, (asset.kind, ""))
    return found


def missing_anchors(seen: Snapshot) -> Iterator[FindingRow]:
    """Yield links whose fragment names no anchor of the target page."""
    pages = {url: page for page, url in _read_pages(seen)}
    wanted: dict[str, list[tuple[str, FindingRow]]] = defaultdict(list)
    with PageReferences(seen) as references:
        for source, page in pages.items():
            for link in references.of(source).links:
                name = unquote(link.written.partition("#")[2])
                target = references.resolve(source, link.written)
                if name.lower() in _TOP or _DIRECTIVE in name or name.startswith("!"):
                    continue
                if target in pages:
                    row = FindingRow(page, f"{target}#{name}", NO_ANCHOR, link.text)
                    wanted[target].append((name, row))
        for target, rows in wanted.items():
            if not references.has(target):
                continue
            anchors = references.of(target).anchors
            yield from dict.fromkeys(row for name, row in rows if name not in anchors)
