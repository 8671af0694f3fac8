"""Renders pages in the browsers of a crawl, each in a render worker.

Laws: a browser has one page at a time. Of the hosts whose pages wait for a browser, the one that
has cost least is next. A worker that ends is replaced, and so is one after `MOST_PAGES` pages, as
a browser accumulates memory. After `close` no process is left.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.config.values import AUTO
from minicrawl.crawl.hosts.pacing import FairLock
from minicrawl.crawl.page_turns import Turn
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import RenderingProgress
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
from minicrawl.crawl.rendering.resources import PageResources
from minicrawl.crawl.workers.pool import Activity
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.crawl.workers.worker import WorkerConfig
from minicrawl.errors import UsageError
from minicrawl.fetch.access import RequestHeaders
from minicrawl.model import (
    NO_SCRIPTS,
    Failed,
    FailureKind,
    FetchResult,
    ParsedPage,
    Request,
    Response,
    Scripting,
    ScriptKind,
)
from minicrawl.web.cosmetic import USUAL, CosmeticFilters

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
