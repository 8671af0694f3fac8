"""Renders pages in the browsers of a crawl, each in a render worker.

Laws: a browser has one page at a time. Of the hosts whose pages wait for a browser, the one that
has cost least is next. A worker that ends is replaced, and so is one after `MOST_PAGES` pages, as
a browser accumulates memory. After `close` no process is left.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.record import AskedBy, pack_any
from minicrawl.config import Settings
from minicrawl.config.values.kinds import AUTO
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.pacing import FairLock
from minicrawl.crawl.page_turns import Turn
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import RenderingProgress, are_bytes_spent
from minicrawl.crawl.rendering.render_messages import (
    NotRendered,
    NotStarted,
    PageToRender,
    RenderCommand,
    RenderConfig,
    Rendered,
    RenderMessage,
    Resource,
    Started,
    WantedResource,
)
from minicrawl.crawl.workers.pool import Activity
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.crawl.workers.worker import WorkerConfig
from minicrawl.errors import UsageError
from minicrawl.fetch.access.headers import RequestHeaders
from minicrawl.model import (
    NO_SCRIPTS,
    Failed,
    FailureKind,
    FetchResult,
    KeptAnswer,
    Moved,
    ParsedPage,
    Request,
    Response,
    Scripting,
    ScriptKind,
    State,
    Want,
)
from minicrawl.web.cosmetic import USUAL, CosmeticFilters
from minicrawl.web.html_page import TRACKERS
from minicrawl.web.responses import max_age_s
from minicrawl.web.urls import LONGEST, canonical, origin

# ================================================================ resource cache
#
# Keeps responses to requests of pages, so that each URL is requested once.
#
# Laws: a response that must not be stored is not stored. Without caching headers, a script is kept
# until the crawl ends, and other responses are not kept. There are at most `MOST` responses, with
# `MOST_BYTES` together; the least recently used is dropped first.

MOST_BYTES = 32_000_000
MOST = 10_000
_NEVER = re.compile(r"no-store|no-cache|private", re.IGNORECASE)


class FoundResource(NamedTuple):
    """Response of a server; status 0 if there was none."""

    status: int = 0
    content_type: str = ""
    body: bytes = b""


class ResourceCache:
    """Cache of responses, by URL and by everything else that makes a difference."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._kept = OrderedDict[Hashable, tuple[FoundResource, float]]()

    def get(self, wanted: Hashable, now: float) -> FoundResource | None:
        """Return the cached response, if it is fresh."""
        found, until = self._kept.get(wanted, (None, 0.0))
        if found is None or until <= now:
            return None
        self._kept.move_to_end(wanted)
        return found

    def put(self, wanted: Hashable, found: FoundResource, until: float) -> None:
        """Keep a response until the time `until`, unless it is larger than the whole cache."""
        self._bytes -= len(self._kept.pop(wanted, (FoundResource(), 0.0))[0].body)
        if len(found.body) > self._most_bytes:
            return
        self._kept[wanted] = found, until
        self._bytes += len(found.body)
        while self._bytes > self._most_bytes or len(self._kept) > MOST:
            _, (gone, _) = self._kept.popitem(last=False)
            self._bytes -= len(gone.body)


def fresh_for_s(headers: Mapping[str, str], *, is_script: bool) -> float:
    """Return for how many seconds a response may be used again."""
    said = headers.get("cache-control", "")
    if _NEVER.search(said) or headers.get("vary", "").strip() == "*" or "set-cookie" in headers:
        return 0.0
    age_s = max_age_s(headers)
    if age_s is not None:
        return age_s
    return math.inf if is_script else 0.0


# ================================================================ cors
#
# Cross-origin resource sharing: decides what a script may read of another origin, and send there.
#
# Laws (https://fetch.spec.whatwg.org/#http-cors-protocol): a script reads only what another origin
# allows it to read. Its own headers reach another origin only after a preflight, an OPTIONS
# request, whose response names them. An origin is told which headers these are only if it shares
# with the asker at all, and did not allow them unasked. A redirected or failed preflight allows
# nothing. Requests carry no logins or cookies, so `*` in a response stands for all names.
#
# safe   header that any form or image could have sent as well

Headers = Sequence[tuple[str, str]]

_OF_BROWSERS = frozenset(("origin", "referer"))
"""Headers that no script can set."""
_TYPES_OF_FORMS = frozenset(
    ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
)
_LONGEST_SAFE = 128
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\"():<>?@\[\\\]{}]")
_USUAL_S, _LONGEST_S = 5.0, 7200.0
"""Validity of a preflight: the default of browsers, and the maximum."""
_AGE = re.compile(r"[0-9]{1,9}")


def may_be_read(answer: object, asker: str) -> bool:
    """Return whether scripts of the origin `asker` may read a response of another origin."""
    if not isinstance(answer, Response):
        return False
    allowed = answer.headers.get("access-control-allow-origin", "")
    return allowed in ("*", asker) and allowed != ""


def unsafe_names(headers: Headers) -> tuple[str, ...]:
    """Return the names of headers that need a preflight, sorted."""
    return tuple(sorted(name for name, value in headers if not _is_safe(name, value)))


def _is_safe(name: str, value: str) -> bool:
    if name in _OF_BROWSERS:
        return True
    if name == "content-type":
        return value.partition(";")[0].strip().lower() in _TYPES_OF_FORMS
    return name == "accept" and len(value) <= _LONGEST_SAFE and not _UNSAFE.search(value)


def preflight_of(url: str, asker: str, names: Iterable[str], method: str = "GET") -> Request:
    """Return a preflight: it asks for the headers that are allowed, or whether `names` are."""
    told = ",".join(names)
    headers = (
        ("origin", asker),
        ("access-control-request-method", method),
        *((("access-control-request-headers", told),) if told else ()),
    )
    return Request(url=url, want=Want.PREFLIGHT, headers=headers, is_anonymous=True)


def takes_headers(answer: object, asker: str, names: Iterable[str]) -> bool:
    """Return whether the response to a preflight allows all of these headers."""
    if not isinstance(answer, Response):
        return False
    said = answer.headers.get("access-control-allow-headers", "")
    allowed = {name.strip().lower() for name in said.split(",")}
    return may_be_read(answer, asker) and ("*" in allowed or allowed.issuperset(names))


def preflight_holds_s(answer: object) -> float:
    """Return for how many seconds the response to a preflight is valid."""
    said = answer.headers.get("access-control-max-age", "") if isinstance(answer, Response) else ""
    return min(float(said), _LONGEST_S) if _AGE.fullmatch(said.strip()) else _USUAL_S


def cross_origin(headers: Headers, asker: str) -> tuple[tuple[str, str], ...]:
    """Return a request's headers for another origin; if there are any, one names the asker."""
    is_told = not asker or any(name == "origin" for name, _ in headers)
    return tuple(headers) if is_told or not headers else (*headers, ("origin", asker))


# ================================================================ resources
#
# Sends the requests of pages that are rendered, through the crawl's gate.
#
# Laws: each request passes the gate of the crawl (`HostOnboarding.ask`): `--deny`, public
# addresses, delays, hosts that are down. Its bytes count towards the budget. robots.txt applies to
# frames and to data that scripts read; scripts themselves are parts of a page. A frame is a page:
# it must be within the scope. Trackers are not contacted. A script is requested once, however many
# pages use it. Another origin's response reaches the page as in a browser: without our logins and
# cookies, readable only if that origin allows it, and with headers of the script only if that
# origin accepts them, which a preflight finds out (CORS). So no page learns what is meant for us,
# or acts in our name. A POST carries no logins and cookies, even to the page's own origin.
#
# If whole pages are kept, each response is kept, too, with the URL of the page that asked for it.
#
# own         at the origin that requests it; after redirects, only if each of them was, too
# preflight   OPTIONS request that asks another origin whether it accepts these headers

MOST_REDIRECTS = 5
_READ, _FRAME = frozenset(("fetch", "xhr")), "document"
"""Kinds of requests: data that scripts read, and frames."""
_LARGE = 1 << 18
"""Size in bytes of a body above which another thread packs it for the archive."""
_NOTHING = FoundResource()
_SCRIPT_TYPE = "text/javascript"


class PageResources:
    """Serves the requests of all pages of a crawl."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._context = context
        self._onboarding: HostOnboarding = parts.onboarding
        self._keeps = bool(context.recorder.keeping) and context.settings.storing.keeps_failures
        self._cache = ResourceCache()
        self._under_way: dict[Hashable, asyncio.Task[FoundResource]] = {}

    async def answer(self, page: str, wanted: WantedResource) -> Resource:
        """Return the response to a page's request."""
        url = wanted.url.partition("#")[0]
        if len(url) > LONGEST or canonical(url) is None or TRACKERS.search(url):
            return Resource(wanted.number)
        return Resource(wanted.number, *await self._found(page, url, wanted))

    async def _found(self, page: str, url: str, wanted: WantedResource) -> FoundResource:
        is_own = _is_own(url, wanted)
        key = wanted.name, is_own, wanted.is_document
        if (kept := self._cache.get(key, self._context.clock.now())) is not None:
            return kept
        # Data may differ from request to request, so two that overlap are not joined; scripts are.
        if wanted.is_document:
            return await self._ask(page, url, wanted)
        while (same := self._under_way.get(key)) is not None:
            await asyncio.wait((same,))
            if not same.cancelled():  # else the page that asked first was given up
                return same.result()
        task = asyncio.create_task(self._ask(page, url, wanted))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return await task

    async def _ask(self, page: str, url: str, wanted: WantedResource) -> FoundResource:
        """Return the response at the end of the redirects."""
        there, is_own = url, _is_own(url, wanted)
        for _ in range(MOST_REDIRECTS + 1):
            if are_bytes_spent(self._context):
                return _NOTHING
            if not is_own and not await self._takes_headers(there, wanted):
                return _NOTHING
            fetched = await self._fetch(there, wanted, is_own=is_own)
            if self._keeps:
                await self._keep(page, there, fetched, wanted)
            target = canonical(fetched.target, there) if isinstance(fetched, Moved) else None
            if target is None:
                is_closed = wanted.kind in _READ and not is_own
                if is_closed and not may_be_read(fetched, wanted.asker):
                    return _NOTHING
                return self._cached(url, fetched, wanted)
            if wanted.kind == _FRAME and origin(target) != origin(url):
                break  # the browser would take the document for one of `url`
            if wanted.body is not None:
                break  # it would become a GET, or act at another place
            there, is_own = target, is_own and _is_own(target, wanted)
        return _NOTHING

    async def _takes_headers(self, url: str, wanted: WantedResource) -> bool:
        """Return whether another origin accepts the script's headers; true if none needs asking."""
        names = unsafe_names(wanted.headers) if wanted.kind in _READ else ()
        if not names:
            return True
        method = "GET" if wanted.body is None else "POST"
        key, now = ("preflight", url, wanted.asker, names, method), self._context.clock.now()
        if (kept := self._cache.get(key, now)) is not None:
            return kept.status != 0
        # The first preflight names no header: an origin that does not share with the asker is not
        # told what its scripts send.
        for told in ((), names):
            asks = preflight_of(url, wanted.asker, told, method)
            answer = await self._onboarding.ask(asks, self._context.tell)
            takes = takes_headers(answer, wanted.asker, names)
            if takes or not may_be_read(answer, wanted.asker):
                break
        until = self._context.clock.now() + preflight_holds_s(answer)
        self._cache.put(key, FoundResource(int(takes)), until)
        return takes

    async def _fetch(
        self, url: str, wanted: WantedResource, *, is_own: bool
    ) -> FetchResult | State | None:
        headers = wanted.headers if is_own or wanted.kind in _READ else ()
        is_post = wanted.body is not None
        request = Request(
            url=wanted.name if is_post else url,
            want=Want.RESOURCE,
            max_bytes=self._context.settings.network.max_body_bytes,
            headers=headers if is_own else cross_origin(headers, wanted.asker),
            is_anonymous=is_post or not is_own,
            keeps_failures=self._keeps,
            method="POST" if is_post else "",
            body=wanted.body or b"",
        )
        return await self._onboarding.ask(
            request,
            self._context.tell,
            is_document=wanted.is_document,
            in_scope=wanted.kind == _FRAME,
        )

    async def _keep(self, page: str, url: str, fetched: object, wanted: WantedResource) -> None:
        """Keep a response, before the step of the page that asked for it."""
        name = url if wanted.body is None else wanted.name
        pack = partial(pack_any, name, fetched, AskedBy(wanted.kind, page))
        is_large = isinstance(fetched, Response) and len(fetched.body) > _LARGE
        record = await asyncio.to_thread(pack) if is_large else pack()
        if record is not None:
            self._context.recorder.keep(None, KeptAnswer(record, self._context.clock.today(), name))

    def _cached(
        self, url: str, fetched: FetchResult | State | None, wanted: WantedResource
    ) -> FoundResource:
        if isinstance(fetched, Failed) and fetched.status:
            return FoundResource(fetched.status)
        if not isinstance(fetched, Response) or fetched.cut is not None:
            return _NOTHING
        is_script, is_own = not wanted.is_document, _is_own(url, wanted)
        kind = _type(fetched.headers, is_script=is_script)
        found = FoundResource(fetched.status, kind, fetched.body)
        fresh_s = fresh_for_s(fetched.headers, is_script=is_script)
        # Data of another origin is not kept: whether it may be read depends on the asker.
        if fresh_s > 0 and wanted.body is None and (is_script or is_own):
            until = math.inf if math.isinf(fresh_s) else self._context.clock.now() + fresh_s
            self._cache.put((url, is_own, wanted.is_document), found, until)
        return found


def _is_own(url: str, wanted: WantedResource) -> bool:
    return origin(url) == wanted.asker


def _type(headers: Mapping[str, str], *, is_script: bool) -> str:
    return headers.get("content-type", _SCRIPT_TYPE if is_script else "")


# ================================================================ pages

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge", "brave-browser"),
)
"""Programs to look for, in this order."""
NO_PLAYWRIGHT = "--render needs playwright: install minicrawl[render]"
NO_BROWSER = "--render found no chromium: install one, or name it with --browser"
MOST_PAGES = 200
SILENCE_S = 20.0
_END_S = 3.0
_TIMES_ITS_LIMIT, _SPARE_S = 5, 30.0
"""Time after which the crawl ends a worker that should have ended its page long before: multiple of
the page's time limit, and seconds on top.
"""
_CODE = "from minicrawl.crawl.rendering.browser_worker import main; main()"
_ENDED = NotRendered("its browser ended", may_pass=True)

Answer = Callable[[WantedResource], Awaitable[Resource]]


def find_browser(named: Path | None) -> str:
    """Return the path of the browser; raises `UsageError` without a browser or playwright."""
    if find_spec("playwright") is None:
        raise UsageError(NO_PLAYWRIGHT)
    if named is not None:
        if not os.access(named, os.X_OK) or named.is_dir():
            raise UsageError(f"--browser {named}: not an executable file")
        return str(named.absolute())
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise UsageError(NO_BROWSER)
    return found


class RenderSlot:
    """Holds one render worker at a time."""

    def __init__(self, config: RenderConfig) -> None:
        self._config = config
        self._child: ChildProcess | None = None
        self._pages = 0
        self.activity = Activity()

    @property
    def pid(self) -> int | None:
        """PID of the worker, or None."""
        return None if self._child is None or self._child.is_over else self._child.pid

    async def start(self) -> Started | NotStarted:
        """Start a worker with a browser, unless one runs that has pages left."""
        if self._child is None or self._child.is_over or self._pages >= MOST_PAGES:
            await self.close()
            job = ChildJob(code=_CODE, config=self._config, silence_s=SILENCE_S, end_s=_END_S)
            self._child, self._pages = ChildProcess(job), 0
        if self._pages:
            return Started("")
        try:
            started: Started | NotStarted = await self._child.call(RenderCommand.START, None)
        except ChildLost:
            return NotStarted("its process ended")
        return started

    async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
        """Run the page's scripts, and return the page. Cancellation ends the browser."""
        started = await self.start()
        if isinstance(started, NotStarted):
            await self.close()
            return NotRendered(started.why, may_pass=True)
        self._pages += 1
        number, is_done = self.activity.begin(page.request.url), False
        try:
            async with asyncio.timeout(_TIMES_ITS_LIMIT * self._config.max_s + _SPARE_S):
                found = await self._talk(page, answer)
            is_done = isinstance(found, Rendered)
            return found
        except (ChildLost, TimeoutError):
            return _ENDED
        finally:
            self.activity.end(number)
            if not is_done:
                await self.close()

    async def _talk(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
        child = self._child
        assert child is not None
        tasks = set[asyncio.Task[None]]()
        try:
            message: RenderMessage = await child.call(RenderCommand.RENDER, page)
            while isinstance(message, WantedResource):
                task = asyncio.create_task(_answer(child, message, answer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                message = await child.call(RenderCommand.NEXT, None)
            return message
        finally:
            left = tuple(tasks)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.close()


async def _answer(child: ChildProcess, wanted: WantedResource, answer: Answer) -> None:
    found = await answer(wanted)
    await child.feed(RenderCommand.ANSWER, found)


class RenderPool:
    """Render workers of a crawl."""

    def __init__(self, config: RenderConfig, workers: int) -> None:
        self.slots = [RenderSlot(config) for _ in range(workers)]
        self._free = asyncio.Queue[RenderSlot]()
        for slot in self.slots:
            self._free.put_nowait(slot)
        self._next = FairLock()

    @asynccontextmanager
    async def free_for(self, host: str) -> AsyncIterator[RenderSlot]:
        """Wait for a free worker, in the order of the hosts' costs."""
        async with self._next.held_for(host):
            slot = await self._free.get()
        try:
            yield slot
        finally:
            self._free.put_nowait(slot)

    def charge(self, host: str, cost_s: float) -> None:
        """Charge the processor time of a page to its host."""
        self._next.charge(host, cost_s)

    async def check(self) -> None:
        """Start the first browser; raises `UsageError` if it does not start."""
        started = await self.slots[0].start()
        if isinstance(started, NotStarted):
            raise UsageError(f"the browser for --render does not start: {started.why}")

    async def close(self) -> None:
        """End all workers."""
        await asyncio.gather(*(slot.close() for slot in self.slots))


@asynccontextmanager
async def open_render_pool(settings: Settings, archive: Path | None) -> AsyncIterator[RenderPool]:
    """Open the browsers that the settings ask for, and start one; raises `UsageError`.

    Files of the browsers are in a folder that is removed at the end.
    """
    browser = find_browser(settings.rendering.browser)
    folder = Path(tempfile.mkdtemp(prefix="minicrawl-render-"))
    pool = RenderPool(config_of(settings, browser, folder, archive), settings.rendering.workers)
    try:
        await pool.check()
        yield pool
    finally:
        await pool.close()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def config_of(settings: Settings, browser: str, folder: Path, archive: Path | None) -> RenderConfig:
    """Return the settings of a render worker."""
    rendering, storing = settings.rendering, settings.storing
    identity = dict(RequestHeaders(settings.politeness, settings.access).of(Request(url="")))
    return RenderConfig(
        browser=browser,
        folder=folder,
        user_agent=identity[b"User-Agent"].decode(),
        languages=settings.access.languages,
        max_s=rendering.max_s,
        max_requests=rendering.max_requests,
        max_memory=rendering.max_memory,
        max_body_bytes=settings.network.max_body_bytes,
        parse_options=WorkerConfig.of(settings).parse_options,
        replays=storing.requisites,
        banners=_banners(rendering.consent_list),
        archive=archive,
        only_text=storing.keep == "text",
    )


def _banners(file: Path | None) -> CosmeticFilters:
    """Return the filters of a file, or the usual ones."""
    if file is None:
        return CosmeticFilters(USUAL.splitlines())
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return CosmeticFilters(lines)
    except OSError as error:
        raise UsageError(f"--consent-list {file} cannot be read: {error.strerror}") from error


# ================================================================ policy
#
# Learns host by host, and template by template, whether pages gain links by rendering, for
# `--render auto`.
#
# Laws: a page without scripts is not rendered. A template without gain in a few tries is not
# rendered again, and neither is a host whose pages never gained anything. The table is bounded:
# what it drops is learned again.
#
# template   pages of a host with the same scripts
# gain       link that the page does not have without its scripts, or a redirect

TRIES = {ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Number of renderings of a template before it is judged."""
WORTH = 0.2
"""Least share of a template's pages that must gain."""
HOST_TRIES = 12
"""Number of renderings of a host without any gain before it is given up."""
_MOST_KNOWN = 20_000


@dataclass(slots=True)
class _Record:
    """Number of pages rendered, and of those that gained."""

    rendered: int = 0
    gained: int = 0


class RenderPolicy:
    """Decides which pages to render, by earlier gains of their hosts and templates."""

    def __init__(self) -> None:
        self._known = OrderedDict[tuple[str, int], _Record]()

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        """Return whether to render a page with these scripts."""
        if scripting.kind is ScriptKind.NONE:
            return False
        of_host = self._known.get((host, 0), _Record())
        if not of_host.gained and of_host.rendered >= HOST_TRIES:
            return False
        known = self._known.get((host, scripting.signature), _Record())
        is_tried = known.rendered >= TRIES[scripting.kind]
        return not is_tried or known.gained >= WORTH * known.rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        """Count the rendering of a page with these scripts."""
        for key in {(host, 0), (host, scripting.signature)}:
            known = self._known.pop(key, None) or _Record()
            known.rendered += 1
            known.gained += has_gained
            self._known[key] = known
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Return whether rendering brought a new link or redirect."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)


# ================================================================ renderer
#
# Renders pages between parse and settle, and replaces them by the results.
#
# Laws: a page that need not or cannot be rendered passes unchanged. A page whose browser ends fails
# once; the second time it is used as it was fetched. While a page waits for a browser, no page of
# its host is requested, and the bytes of waiting pages are bounded; requests of a page that is
# being rendered are not affected.

MOST_WAITING = 16_000_000
"""Bytes of pages that may wait for a browser without delaying others."""
RENDERED = "rendered"
"""Counter of pages that a browser has rendered."""
_MOST_SUSPECTS = 10_000

Read = tuple[FetchResult, ParsedPage | None]


class Unrendered(NamedTuple):
    """Page as it was fetched and parsed, without its scripts."""

    fetched: Response
    parsed: ParsedPage


class PageRenderer:
    """Renders the pages of one crawl."""

    def __init__(self, context: CrawlContext, parts: CrawlParts, pool: RenderPool) -> None:
        self._context, self._parts, self._hosts = context, parts, parts.hosts
        self._resources = PageResources(context, parts)
        self._pool, self._policy = pool, RenderPolicy()
        self._suspects = OrderedDict[str, None]()
        self._waiting = self._waiting_bytes = 0

    @property
    def pool(self) -> RenderPool:
        """The browsers."""
        return self._pool

    def progress(self) -> RenderingProgress:
        """Return the present state of the browsers."""
        slots, today = self._pool.slots, self._context.clock.today()
        busy = [slot.activity.last for slot in slots if slot.activity.under_way]
        return RenderingProgress(
            browsers=len(slots),
            rendered=int(self._context.recorder.counters.number(RENDERED)),
            waiting=self._waiting,
            pages=tuple((url, max(today - since, 0.0)) for url, since in busy),
        )

    async def rendered(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> Read:
        """Return the page after its scripts have run, or unchanged if it needs no rendering."""
        name = self._hosts[turn.host].shared.name
        if not isinstance(fetched, Response) or parsed is None:
            return fetched, parsed
        if not fetched.body or fetched.broke_off or not self._is_worth(name, parsed):
            return fetched, parsed
        async with AsyncExitStack() as held:
            with self._set_aside(turn.host, len(fetched.body)):
                browser = await held.enter_async_context(self._pool.free_for(name))
            # Asked again, since the wait may have been long and other pages of the host were
            # rendered meanwhile.
            if not self._is_worth(name, parsed):
                return fetched, parsed
            request = Request(
                url=turn.lease.url,
                request_url=turn.request_url,
                suspicious=self._parts.traps.novelty.suspicious(turn.host),
                dictionary=self._context.recorder.dictionary,
            )
            page = PageToRender(request, fetched._replace(record=b""))
            found = await browser.render(page, partial(self._resources.answer, turn.lease.url))
        self._pool.charge(name, found.cost_s)
        self._context.recorder.counters.add(RENDERED)
        if isinstance(found, NotRendered):
            return self._not_rendered(turn.lease.url, name, Unrendered(fetched, parsed), found)
        return self._taken(name, Unrendered(fetched, parsed), found)

    def _is_worth(self, host: str, parsed: ParsedPage) -> bool:
        if parsed.refresh is not None:
            return False
        if self._context.settings.rendering.render != AUTO:
            return True
        return self._policy.is_worth(host, parsed.scripting or NO_SCRIPTS)

    def _taken(self, host: str, page: Unrendered, found: Rendered) -> Read:
        before, after = page.parsed, found.parsed
        self._policy.learn(
            host, before.scripting or NO_SCRIPTS, has_gained=has_gained(before, after)
        )
        if before.links and not after.links and after.refresh is None:
            return page  # the scripts removed all links: probably one of their requests failed
        fetched = page.fetched._replace(body=found.body)
        if self._context.settings.storing.keep == "text":
            return fetched._replace(record=found.record or fetched.record), after
        return fetched._replace(rendered=found.record), after

    def _not_rendered(self, url: str, host: str, page: Unrendered, found: NotRendered) -> Read:
        """Fail the page, if another try may help; otherwise use it without its scripts."""
        # Only once: a page that crashes every browser would otherwise be tried until its retries
        # end, at the cost of a browser each time.
        if found.may_pass and url not in self._suspects:
            self._suspects[url] = None
            while len(self._suspects) > _MOST_SUSPECTS:
                self._suspects.popitem(last=False)
            detail = f"not rendered: {found.why}"
            return Failed(kind=FailureKind.LOST, detail=detail, status=page.fetched.status), None
        self._policy.learn(host, page.parsed.scripting or NO_SCRIPTS, has_gained=False)
        return page.fetched, page.parsed._replace(cut=f"not rendered: {found.why}")

    @contextmanager
    def _set_aside(self, host: int, size: int) -> Iterator[None]:
        """Pause the host. Other hosts go on while the waiting pages stay below `MOST_WAITING`."""
        shared = self._hosts[host].shared
        shared.to_render += 1
        self._waiting += 1
        self._waiting_bytes += size
        has_room = self._waiting_bytes <= MOST_WAITING
        try:
            with self._parts.side_requests.reading() if has_room else nullcontext():
                yield
        finally:
            self._waiting -= 1
            self._waiting_bytes -= size
            shared.to_render -= 1
            for one in shared.hosts:
                self._hosts.resume_when_ready(one, self._context.clock.now())
            self._parts.slots.resume_one()
