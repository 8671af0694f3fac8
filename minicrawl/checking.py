"""What is checked on the web, or kept of it, and not crawled.

asking      asks for URLs by the gate of a crawl
targets     which URLs are asked for, and what pages refer to that is not there
requisites  what pages need to be shown, for the archive
cloaking    whether a page is another one for a browser
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
from minicrawl.crawl.start.opening import opened_crawl
from minicrawl.crawl.start.resume import terms_of
from minicrawl.crawl.workers.pool import open_web_access
from minicrawl.crawl.workers.worker import WorkerConfig
from minicrawl.errors import Damaged, MinicrawlError
from minicrawl.export.drafts import scratch
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
from minicrawl.ports import Clock, PageFetcher
from minicrawl.report.archived import is_style, needed_by_style
from minicrawl.report.link_graphs import urls
from minicrawl.report.links import PageReferences
from minicrawl.report.problems import link_counts
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store import tables
from minicrawl.store.files import CheckRow, FindingRow, all_checks, keep_checks, keep_findings
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.writer import StoreWriter
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.page import parse_page, plain_text
from minicrawl.web.shingles import ALIKE, shingles
from minicrawl.web.urls import ResolvedUrl, canonical, host, origin, site
from minicrawl.web.words import words_of
from minicrawl.wording import counted

if TYPE_CHECKING:
    import httpx


# ================================================================ asking
#
# Asks for URLs to know whether they are there, or to keep what comes.
#
# Laws: each URL is asked for once, by the gate of the crawl (`HostOnboarding.ask`), so as its pages
# are: `--deny`, robots.txt, delays, addresses, pace, hours and budget hold. To know whether it is
# there, that is by HEAD, and by GET if HEAD is refused. Redirects pass the same gate.
#
# hops   a URL with what came of it, and each URL that a redirect led to with what came of that; a
#        state says why nobody was asked

IS_IT_THERE = (Want.HEAD, Want.STATUS)
_HEAD_IS_REFUSED = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""Some servers answer HEAD with 403 or 404 where GET finds the page."""

Found = FetchResult | State
Hops = list[tuple[str, Found]]
Keep = Callable[[Hops], None]


class LinkAsker:
    """Asks for URLs on behalf of a crawl; `keep` gets the hops of each that is not denied."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._onboarding = crawler, crawler.parts.onboarding
        self._settings, self._clock = crawler.context.settings, crawler.context.clock

    async def ask(
        self, urls: Iterable[str], keep: Keep, wants: Sequence[Want] = IS_IT_THERE
    ) -> None:
        """Ask for all of them, many hosts at a time; for the first want, or else for the next."""
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
        """What came of the first URL, in the end."""
        at = self._clock.today()
        (url, _), (_, found) = hops[0], hops[-1]
        match found:
            case State():
                return CheckRow(url, found, None, "", at)
            case Response(status=status):
                return CheckRow(url, State.FETCHED, status, "", at)
            case Moved(status=status):
                detail = f"more than {MOST_REDIRECTS} redirects, or one to nowhere"
                return CheckRow(url, State.BAD_REDIRECT, status, detail, at)
            case Refused(reason=reason, detail=detail, status=status):
                return CheckRow(url, State.of(reason), status, detail, at)
            case Failed(kind=kind, detail=detail, status=status):
                return CheckRow(url, State.of(kind), status, detail, at)
            case Unchanged():
                return CheckRow(url, State.FETCHED, HTTPStatus.NOT_MODIFIED, "", at)

    async def _follow(self, url: str, wants: Sequence[Want]) -> Hops:
        """All hops to the end of its redirects."""
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
# Whether a page is served differently to the crawler's name and to a browser's.
#
# Laws: all requests are alike but for the name, so that nothing else can make a difference. They go
# one after the other to the hosts, after their delays, and only where robots.txt allows the
# crawler. What changes anyway is no difference: it counts only if both answers to one name have it,
# and neither answer to the other name. Names alone are tried: who knows crawlers by their
# addresses, or serves another page by a script, is not found.
#
# parts      what is compared of an answer: the shingles of its text, and its links
# likeness   of what stays the same for one name, the share that the other name gets as well

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


# ================================================================ requisites
#
# What pages need to be shown is kept with them: images, styles, scripts, fonts, media.
#
# Laws: what is in the archive is not asked for, and each other URL once a day, by the gate of the
# crawl. An answer is in the archive, and in WARC files that are written, before the store
# says so.
#
# requisite  a URL that a page needs to be shown, or that a style needs
# round      the requisites of pages; then what their styles need, what those need, and so on

MOST_ROUNDS = 5
"""Styles that import one another are followed so far."""


async def keep_requisites(
    context: CrawlContext, asker: LinkAsker, needed: Mapping[str, bool], vain: Set[str]
) -> tuple[int, list[CheckRow]]:
    """Keep what pages need, as far as it is not kept; of each URL whether it must be a style.

    What is in `vain` was asked for lately and was not there. Gives how many answers are new, and
    what came of each request.
    """
    store = context.settings.storing.store
    with closing(ArchiveReader(archive_folder(store), _end(context))) as archive:
        requisites = _Requisites(context, archive, vain)
        await requisites.run(asker, needed)
        return requisites.kept, requisites.rows


def _end(context: CrawlContext) -> int:
    """The end of the archive, as of the last commit."""
    with reading(context.settings.storing.store) as connection:
        end = tables.archive_end(connection)
    assert end is not None  # or there is nothing to keep them with
    return end


class _Requisites:
    """The requisites on their way to the archive."""

    def __init__(self, context: CrawlContext, archive: ArchiveReader, vain: Set[str]) -> None:
        self.kept, self.rows = 0, list[CheckRow]()
        self._context, self._archive, self._vain = context, archive, vain

    async def run(self, asker: LinkAsker, needed: Mapping[str, bool]) -> None:
        """All rounds."""
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
        """The last answer that is kept, if it is a style or leads to one."""
        rows = self._archive.versions(url)
        try:
            answer = self._archive.answer(rows[-1].place) if rows else None
        except Damaged:  # `minicrawl check` names it
            return []
        return [answer] if answer is not None and is_style(answer) else []


# ================================================================ targets
#
# Which URLs are asked for, and what pages refer to that is not there.
#
# Law: a URL is asked for again after a day, and not before.

VALID_S = 86_400.0
_KEPT_AT_ONCE = 100
NO_ANCHOR = "anchor"
_TOP = ("", "top")
_DIRECTIVE = ":~:"
"""A fragment with it names a text and no anchor."""

Sources = dict[str, dict[int, tuple[str, str]]]
"""For each URL the pages that refer to it, each with the kind of the reference and its text."""
_MOST_SOURCES = 20


async def check_links(crawler: Crawler) -> None:
    """Ask for what the crawl does not crawl, by its gate."""
    context = crawler.context
    storing, tell = context.settings.storing, context.tell
    asker = LinkAsker(crawler)
    if storing.requisites:
        kept = await _keep_requisites(context, asker)
        tell(Noted(text=f"{counted(kept, 'file')} kept that pages need to be shown"))
    if storing.check_external or storing.check_assets:
        external, assets = storing.check_external, storing.check_assets
        asked = await check(
            storing.store, asker, context.clock.today(), external=external, assets=assets
        )
        tell(Noted(text=f"{counted(asked, 'link')} asked for that are not crawled"))


async def _keep_requisites(context: CrawlContext, asker: LinkAsker) -> int:
    """Keep what pages need; what is not there is broken."""

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
    """Ask for what is not crawled; answers with the number of URLs that were asked for."""
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
    """Pages that are linked, and that the scope or their names keep from being read."""
    inlinks, _ = link_counts(seen)
    is_aside = np.isin(seen.states, (State.SCOPE, State.TYPE)) & (inlinks > 0)
    yield from urls(seen, np.flatnonzero(is_aside))


def _read_pages(seen: Snapshot) -> list[tuple[int, str]]:
    pages = np.flatnonzero(np.isin(seen.states, READ_STATES))
    return list(zip(pages.tolist(), urls(seen, pages), strict=True))


def assets_of(seen: Snapshot) -> Sources:
    """All assets of pages that are kept."""
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
    """Links with a fragment that no anchor of their page has."""
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
