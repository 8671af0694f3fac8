"""Prepares a crawl: logins, cookies, browsers, and checks before the first request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.config import Access, Network, Rendering, Scope, Settings
from minicrawl.config.parts import FILES
from minicrawl.config.table import BY_NAME
from minicrawl.config.values.access import host_and_file
from minicrawl.config.values.kinds import AUTO, OFF, ON, key_file
from minicrawl.config.values.networks import hidden_login
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import hosts_of, resolve_targets
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.schedule.orders import queue_of
from minicrawl.crawl.scope_and_traps import ScopeGate
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.opening import refuse_contradictions
from minicrawl.errors import UsageError
from minicrawl.fetch.reach import check_network
from minicrawl.model import (
    Failed,
    FetchResult,
    PageId,
    Refused,
    Request,
    Response,
    State,
)
from minicrawl.opic.ledger.money import UNIT
from minicrawl.own_files import exposure
from minicrawl.ports import Clock, Timed, Visit, WebAccess
from minicrawl.store.reader import archive_folder, file_beside
from minicrawl.web.cookie_jar import BadLine, CookieJar, read_cookies, write_cookies
from minicrawl.web.robots import Rules
from minicrawl.web.urls import ResolvedUrl, host, resolve_seed

if TYPE_CHECKING:
    from minicrawl.fetch.access.logins import AccessByOrigin, Login
    from minicrawl.fetch.http.messages import Origin
    from minicrawl.web.sitemaps import Sitemap


# ================================================================ logins
#
# Logins, headers and cookies at the start of a crawl, from its settings and its seeds.
#
# Law: a login in the URL of a seed is removed before anything else sees the URL; so neither the
# store nor a log has it. The next run needs it again.

MOST_IN_SEEDS = 10_000


class SeedLogins:
    """Collects the logins in URLs of seeds."""

    def __init__(self) -> None:
        self._found: dict[Origin, Login] = {}

    def resolved(self, seed: str, settings: Settings) -> ResolvedUrl:
        """Return the URL of a seed without its login, which is kept here."""
        found = resolve_seed(seed, strip_marks=settings.storing.strip_marks)
        if "@" in seed:
            self._take(seed, found)
        if found is None:
            raise UsageError(f"{hidden_login(seed)!r} is not a URL that can be crawled")
        return found

    def check(self, access: Access, today: float) -> None:
        """Refuse invalid logins, headers, cookies and keys, before anything is written."""
        self.by_origin(access, ())
        if access.cookies != OFF:
            given_cookies(access, today)
        if access.sign_requests:
            from minicrawl.fetch.access.signing import SigningKey

            SigningKey.read(key_file(access.sign_requests)[0])

    def by_origin(self, access: Access, seeds: Iterable[str]) -> AccessByOrigin | None:
        """Return the logins and headers by origin, or None if there are none."""
        if not (access.has_secrets or self._found):
            return None
        from minicrawl.fetch.access.origins import access_by_origin

        return access_by_origin(access, seeds, self._found)

    def _take(self, seed: str, found: ResolvedUrl | None) -> None:
        from minicrawl.fetch.access.origins import login_in

        login = login_in(seed.strip()) if found else None
        if login is not None:
            if len(self._found) >= MOST_IN_SEEDS and login[0] not in self._found:
                raise UsageError(f"more than {MOST_IN_SEEDS:,} seeds with logins: use --netrc")
            self._found[login[0]] = login[1]


# ================================================================ cookies
#
# Cookies of a crawl: one jar for all workers, in a file beside the store.
#
# Laws: the jar is in the crawl process. It adds cookies to each request and takes those of each
# response, whichever process sends the request, so that all share one session of a site. Only
# its owner can read the file, which is replaced as a whole. If the crawl is killed, the file lacks
# the cookies of the last `SAVE_EVERY_S`; a site sets them again.


SAVE_EVERY_S = 2.0
COOKIES_SUFFIX = "-cookies"


class WithCookies:
    """Web access whose requests have cookies."""

    def __init__(self, web_access: WebAccess, jar: CookieJar, clock: Clock) -> None:
        self._web_access, self._jar, self._clock = web_access, jar, clock

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""
        sent = self._with_cookies(request)
        return self._take_cookies(sent, await self._web_access.fetch(sent))

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap."""
        sent = self._with_cookies(request)
        visit = await self._web_access.visit(sent)
        fetched = self._take_cookies(sent, visit.fetched)
        return visit if fetched is visit.fetched else visit._replace(fetched=fetched)

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address that a fetch of this URL would connect to."""
        return await self._web_access.locate(url)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """Parse the robots.txt at this URL for our agent."""
        return await self._web_access.parse_rules(response, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Parse the rules of a robots.txt as a store keeps them."""
        return await self._web_access.parse_stored_rules(text, url)

    def _with_cookies(self, request: Request) -> Request:
        if request.is_anonymous:
            return request
        cookies = self._jar.header(request.url, self._clock.today())
        return request._replace(cookies=cookies) if cookies else request

    def _take_cookies(self, sent: Request, fetched: FetchResult) -> FetchResult:
        """Store the cookies of a response in the jar.

        The returned result has cookies only if they change those of the next request.
        """
        if not fetched.cookies:
            return fetched
        if sent.is_anonymous:
            return fetched._replace(cookies=())
        jar, today = self._jar, self._clock.today()
        before = jar.changes
        jar.take(sent.url, fetched.cookies, today)
        is_new = jar.changes > before or jar.header(sent.url, today) != sent.cookies
        return fetched if is_new else fetched._replace(cookies=())


def given_cookies(access: Access, now: float) -> CookieJar:
    """Return a jar with the cookies of the user's file; raises `UsageError` for an invalid line."""
    jar = CookieJar()
    if access.cookies not in (ON, OFF):
        _read_into(jar, Path(access.cookies), now)
    return jar


@asynccontextmanager
async def with_cookies(
    web_access: WebAccess, settings: Settings, clock: Clock
) -> AsyncIterator[WebAccess]:
    """Yield web access with the cookies of the settings and of earlier runs, if enabled."""
    access = settings.access
    if access.cookies == OFF:
        yield web_access
        return
    file, today = file_beside(settings.storing.store, COOKIES_SUFFIX), clock.today()
    jar = given_cookies(access, today)
    given = access.cookies
    # Cookies of earlier runs count, unless the user has written the given file since.
    if file.exists() and (given == ON or file.stat().st_mtime >= Path(given).stat().st_mtime):
        _read_into(jar, file, today)
    saving = asyncio.create_task(_save_often(jar, file))
    try:
        yield WithCookies(web_access, jar, clock)
    finally:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        with suppress(OSError):  # as in `_save_often`
            _write(file, write_cookies(jar))


def _read_into(jar: CookieJar, file: Path, now: float) -> None:
    try:
        with file.open(encoding="utf-8") as lines:
            for cookie in read_cookies(lines):
                jar.add(cookie, now)
    except BadLine as bad:
        raise UsageError(f"--cookies {file}:{bad.number}: {bad.why}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--cookies {file}: not UTF-8") from None
    except OSError as error:
        raise UsageError(f"--cookies {file}: {error.strerror}") from None


async def _save_often(jar: CookieJar, file: Path) -> None:
    saved = 0
    while True:
        await asyncio.sleep(SAVE_EVERY_S)
        if jar.changes != saved:
            saved = jar.changes
            with suppress(OSError):  # the store reports a full disk; the next save may succeed
                await asyncio.to_thread(_write, file, write_cookies(jar))


def _write(file: Path, text: str) -> None:
    """Replace the file, which nobody else can read at any moment."""
    draft = file.with_name(f"{file.name}.part")
    with suppress(FileNotFoundError):
        draft.unlink()
    # O_EXCL refuses a link that somebody else put there in the meantime.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(text)
    draft.replace(file)


# ================================================================ browsers
#
# Opens browsers that render the pages of a crawl, if the user asks for it.
#
# Laws: a browser that is missing, or does not start, is reported before the first request. A crawl
# that renders nothing imports nothing of `crawl.rendering`.

Attach = Callable[[Crawler], None]


def check_browser(rendering: Rendering) -> None:
    """Check that the browser exists, before anything is written; raises `UsageError`."""
    if rendering.is_on:
        from minicrawl.crawl.rendering.renderer import find_browser

        find_browser(rendering.browser)


@asynccontextmanager
async def browsers_for(settings: Settings, recorder: Recorder) -> AsyncIterator[Attach]:
    """Open the browsers, and yield a function that attaches them; raises `UsageError`."""
    if not settings.rendering.is_on:
        yield lambda _crawler: None
        return
    from minicrawl.crawl.rendering.renderer import PageRenderer, open_render_pool

    is_kept = recorder.keeping.archive is not None
    archive = archive_folder(settings.storing.store) if is_kept else None
    async with open_render_pool(settings, archive) as pool:

        def attach(crawler: Crawler) -> None:
            crawler.context.renderer = PageRenderer(crawler.context, crawler.parts, pool)

        yield attach


# ================================================================ reach
#
# Before the first request: reports how servers are reached and which limits hold, and refuses
# settings that cannot work, such as a broken proxy or a document type without a reader.

_FOLDERS_SHOWN = 5


def check_types(scope: Scope) -> None:
    """Refuse types without a document to find links in, and PDF without its package."""
    if scope.types == (FILES,):
        raise UsageError("--types files leaves nothing to find files in: name a document type, too")
    if "pdf" not in scope.types:
        return
    from minicrawl.web.documents import PDF_MISSING, can_read_pdf

    if not can_read_pdf():
        raise UsageError(PDF_MISSING)


_VARY = ("for", "until", "hours", "refresh", "continuous", "cluster")
"""Settings whose effects depend on a clock or on other machines."""


def refuse_what_varies(settings: Settings) -> None:
    """Refuse --deterministic with settings whose effects differ from run to run."""
    if not settings.order.deterministic:
        return
    rows = (BY_NAME[name] for name in _VARY)
    found = [row.flag for row in rows if settings.value(row) != row.default]
    if settings.politeness.delay_s == AUTO:
        found.append("--delay auto")
    if settings.rendering.is_on:
        found.append("--render")
    if found:
        raise UsageError(f"--deterministic and {found[0]} cannot be combined: it varies with time")


def exposed_keys(settings: Settings) -> Iterator[str]:
    """Yield a warning for each private key that other users can read or replace."""
    files = [file for _, file in map(host_and_file, settings.network.client_cert)]
    if settings.access.sign_requests:
        files.append(key_file(settings.access.sign_requests)[0])
    yield from filter(None, map(exposure, files))


async def check_reach(network: Network, tell: Listener, *, is_given: bool) -> None:
    """Check how servers are reached; raises `UsageError`.

    Nothing is checked if a Python program gave a transport (`is_given`).
    """
    if is_given:
        return
    reach = await check_network(network)
    for text in reach.notes:
        tell(Noted(text=text))
    for text in reach.warnings:
        tell(Warned(text=text))


def limits(settings: Settings, gate: ScopeGate, seeds: Iterable[str]) -> Iterator[str]:
    """Yield notes on the limits of the scope and the pace that the user chose."""
    if found := gate.folders:
        more = f" and {len(found) - _FOLDERS_SHOWN:,} more" if len(found) > _FOLDERS_SHOWN else ""
        yield f"--scope prefix: only pages below {', '.join(found[:_FOLDERS_SHOWN])}{more}"
    if FILES in settings.scope.types and settings.storing.keep != "pages":
        yield "--types files keeps linked files only with --keep pages"
    polite = settings.politeness
    delay_s, apart_s = polite.delay_s, polite.address_delay_s
    if isinstance(delay_s, str) or delay_s >= apart_s:
        return
    if delay_s or not (resolve_targets(settings) or all(map(_is_of_this_machine, seeds))):
        yield (
            f"--delay {delay_s:g} s is less than --address-delay {apart_s:g} s, which holds: "
            "requests to one address are that far apart"
        )


def _is_of_this_machine(url: str) -> bool:
    name = host(url).strip("[]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


# ================================================================ beginning
#
# Seeds and options of a crawl, and checks before anything is written.


class StartOptions(NamedTuple):
    """Seeds and options of a crawl, and the command that resumes it."""

    seeds: Iterable[str]
    fresh: bool
    command: str | None
    logins: SeedLogins

    def is_new(self, store: Path) -> bool:
        """Return whether there is no store to resume."""
        return self.fresh or not store.exists()

    def check(self, settings: Settings, today: float) -> None:
        """Refuse settings that cannot work."""
        refuse_what_varies(settings)
        check_types(settings.scope)
        check_browser(settings.rendering)
        self.logins.check(settings.access, today)
        if self.is_new(settings.storing.store):
            refuse_contradictions(settings)


# ================================================================ preview
#
# Preview of a crawl: its first pages, and the delays and rules of their hosts.
#
# Law: only robots.txt files are requested, no page. The preview writes to the caller's store.


_LOOKS_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class FirstPage:
    """One of the first pages. With a `refusal` it is not requested."""

    url: str
    cash: float  # in units
    refusal: State | None


@dataclass(frozen=True, slots=True)
class FirstHost:
    """Host of one of the first pages, and its robots.txt."""

    origin: str
    delay_s: float
    rules: Rules | None  # None without a response
    trouble: State | None


@dataclass(frozen=True, slots=True)
class Preview:
    """First pages of a crawl, their hosts, and notes for the user."""

    seeds: int
    known: int
    hosts: list[FirstHost]
    pages: list[FirstPage]
    limits: list[str]


class DryRun:
    """Goes through the first pages of a crawl without requesting them."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
    ) -> None:
        self._frontier, self._recorder, self._gate = recorder.frontier, recorder, gate
        self._queue = queue_of(recorder.frontier, settings.order.strategy)
        self._hosts = hosts_of(settings, recorder.frontier.urls.origins, lambda _host: None, clock)
        self._clock, self._settings = clock, settings
        for pages, _ in recorder.pages.contents():
            for number, count in recorder.hosts.of_pages(pages):
                self._hosts[number].pages += count
        only_robots = replace(
            settings,
            scope=replace(settings.scope, sitemaps=False),
            politeness=replace(settings.politeness, obey_usage=None),
        )
        side_requests = SideRequests(self._hosts, self._clock)
        self._onboarding = HostOnboarding(only_robots, recorder, web_access, gate, side_requests)
        self._room = asyncio.Semaphore(settings.politeness.per_address)

    async def preview(self, count: int) -> Preview:
        """Return the preview of the first `count` pages."""
        pages = list(islice(self._pages(), count))
        asked = [page for page in pages if self._gate_refuses(page) is None]
        hosts = list(dict.fromkeys(self._frontier.urls.host_of[page] for page in asked))
        waking = asyncio.create_task(self._wake())
        await asyncio.gather(*map(self._learn, hosts))
        waking.cancel()
        return Preview(
            len(self._recorder.seeds.ids()),
            len(self._frontier),
            list(map(self._first_host, hosts)),
            list(map(self._first_page, pages)),
            list(limits(self._settings, self._gate, self._recorder.seeds.urls())),
        )

    def _pages(self) -> Iterator[int]:
        """Yield pages in rounds: the first page of each host, then the second ones, and so on.

        A crawl in which all delays are equal has this order.
        """
        frontier, queue = self._frontier, self._queue
        queue.load()
        paused: list[int] = []
        while (page := queue.take()) is not None or paused:
            if page is None:
                while paused:
                    queue.resume(paused.pop())
            else:
                paused.append(frontier.urls.host_of[page])
                yield page

    async def _learn(self, host: int) -> None:
        async with self._room:
            if await self._onboarding.locate(host):
                await self._onboarding.learn(host, lambda _event: None, _no_sitemaps)

    async def _wake(self) -> None:
        """Resume hosts whose delays are over."""
        while True:
            self._hosts.wake(self._clock.now())
            await asyncio.sleep(_LOOKS_EVERY_S)

    def _gate_refuses(self, page: PageId) -> State | None:
        pages = self._hosts[self._frontier.urls.host_of[page]].pages
        url, depth = self._recorder.pages.url_of(page), self._frontier.urls.depth[page]
        return self._gate.refusal(url, depth, pages, is_seed=not depth)

    def _first_host(self, host: int) -> FirstHost:
        state = self._hosts[host]
        return FirstHost(
            self._frontier.urls.origins[host],
            state.delay_s(self._hosts.politeness),
            state.rules,
            state.trouble_at(self._clock.now()),
        )

    def _first_page(self, page: PageId) -> FirstPage:
        url, host = self._recorder.pages.url_of(page), self._frontier.urls.host_of[page]
        state = self._hosts[host]
        refusal = self._gate_refuses(page) or state.trouble_at(self._clock.now())
        rules = state.rules
        if refusal is None and rules is not None:
            purpose = self._settings.politeness.obey_usage
            if not rules.allows(url) or (purpose and rules.denial(url, purpose)):
                refusal = State.ROBOTS
        return FirstPage(url, self._frontier.ledger.cash(page) / UNIT, refusal)


async def _no_sitemaps(_pages: tuple[str, ...], _depth: int, _listed: Sitemap) -> float:
    """Do nothing: no sitemap is read."""
    return 0.0
