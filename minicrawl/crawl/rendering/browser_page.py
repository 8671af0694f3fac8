"""One page in the browser, from its first byte to its last script.

Laws: the page has a browser context of its own, which ends with it. Its document is the fetched
response: the server is not contacted again. It gets no media, and only if pictures of it are kept
(`draws`) images, fonts and styles; else its style sheets are empty. It only reads (GET); if the
archive is to replay it (`replays`), it may POST as well, its details are opened, and it is scrolled
to its end as long as that brings requests. A page that navigates elsewhere is a redirect, which is
not followed. Its clock is virtual: it skips idle time, so that timers of seconds cost none, and
stands still while a request is pending. The page is drawn before it is read. A page that takes too
long is read as it is then; if that fails, its browser is ended. Limits count what the browser
works, not how long a busy machine lets it wait.

pending   requests of the page without a response yet
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic, process_time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from playwright.async_api import Browser, Error as BrowserError, FloatRect

from minicrawl.archive.record import WantedFiles
from minicrawl.crawl.rendering import page_scripts
from minicrawl.crawl.rendering.render_messages import (
    PageToRender,
    RenderConfig,
    Resource,
    ResourceRequest,
)
from minicrawl.memory.measures import are_asleep, resource_usage
from minicrawl.store.records import NOT_DRAWN
from minicrawl.web.urls import canonical, origin

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Request, Route

DOCUMENTS = frozenset(("document", "xhr", "fetch"))
"""Kinds of requests that robots.txt applies to."""
_WANTED = DOCUMENTS | {"script"}
_DRAWN = frozenset(("stylesheet", "image", "font"))
"""Kinds of requests for what a page is drawn with, if pictures of it are kept."""
_BUDGETS_MS = (5000, 1000, 1000, 1000, 1000)
"""Virtual time of each round. A page has two rounds, as drawing it may start more scripts, and one
more after each later round with new requests.
"""
_WORKER_ROUNDS = 4
"""Rounds in which nothing happens, before a page with workers is done: their timers take rounds."""
_SCROLLED_BUDGETS_MS = (*_BUDGETS_MS, *_BUDGETS_MS[1:] * 5)
"""Virtual time of each round of a page that is scrolled, as long lists load their rest that way."""
_STARVATION = 1000  # tasks in a row after which virtual time moves on all the same
_LOOK_EVERY_S = 0.2
_CLOSE_S = 3.0
_READ_CPU_S, _READ_LATE_CPU_S, _TURN_CPU_S, _DRAW_CPU_S = 5.0, 1.0, 1.0, 0.5
_PICTURE_CPU_S = 10.0
"""Processor time of the browser for an answer of the page; a busy machine does not count."""
_IDLE_CPU_S, _IDLE_LOOKS = 0.02, 5
"""A browser that sleeps, and used less, at each of so many looks is idle: nothing more happens."""
_WAITING = 3
"""Time that a page may wait for responses or for a processor, as a multiple of its time limit."""
_TIMES_A_BODY = 2
"""Limit of the bytes of a page's resources, as a multiple of `--max-body`."""
_RELOADS = 1
_MOST_POSTED = 1 << 16
"""Limit of the body of a POST."""
_MOST_LEFT_OUT = 1000
_SENT = ("accept", "origin", "referer")
_SHOWN = ("content-type", "content-security-policy")
_LONGEST_WHY = 200
_WIDTH, _HEIGHT = 1280, 1600
_VIEW: FloatRect = {"x": 0, "y": 0, "width": _WIDTH, "height": _HEIGHT}
_WHOLE: FloatRect = {**_VIEW, "height": 16_384}
"""Largest picture of a whole page: longer ones are not drawn, but repeat their beginning."""


_CRASHED, _GONE = "the page crashed its browser process", "the browser ended"


class PageEnded(Exception):
    """The page cannot be read. `may_pass` is true if another try may succeed."""

    def __init__(self, why: str, *, may_pass: bool = False) -> None:
        super().__init__(why)
        self.why, self.may_pass = why, may_pass


class RenderedDom(NamedTuple):
    """DOM as HTML, and the URL of the page, or of another page that it was about to load."""

    html: str
    location: str
    cut: str = ""  # why it, or its pictures, may be incomplete
    pictures: tuple[bytes, ...] = ()  # of its top, and of the whole


class BrowserPage:
    """One page. `ask` sends its requests to the crawl; `take` gets the responses."""

    def __init__(
        self, browser: Browser, config: RenderConfig, ask: Callable[[ResourceRequest], None]
    ) -> None:
        self._browser, self._config, self._ask = browser, config, ask
        self._asked = 0
        self._pending: dict[int, asyncio.Future[Resource]] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        loop = asyncio.get_running_loop()
        self._left: asyncio.Future[RenderedDom | PageEnded] = loop.create_future()
        self._documents = self._bytes = 0
        self.fetches = False
        """True if scripts have requested what the markup does not name."""
        self._fetched = dict[str, None]()
        self._left_out = dict[str, None]()

    @property
    def asked(self) -> WantedFiles:
        return WantedFiles(tuple(self._fetched), tuple(self._left_out))

    def take(self, resource: Resource) -> None:
        pending = self._pending.get(resource.number)
        if pending is not None and not pending.done():
            pending.set_result(resource)

    async def read(self, page: PageToRender) -> RenderedDom:
        """Return the DOM once all requests and timers are done; raises `PageEnded`."""
        self._browser.on("disconnected", self._lose)
        language = (self._config.languages or "").partition(",")[0].partition(";")[0]
        context = await self._browser.new_context(
            service_workers="block",
            accept_downloads=False,
            user_agent=self._config.user_agent,
            viewport={"width": _WIDTH, "height": _HEIGHT},
            locale=language if language not in ("", "*") else None,
        )
        try:
            dom = await self._read(await self._open(context, page), page)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S) as limit:
                    await _tried(context.close())  # unless its browser has ended
            self._browser.remove_listener("disconnected", self._lose)
        if limit.expired():
            raise PageEnded(f"the page did not close within {_CLOSE_S:g} s", may_pass=True)
        return dom

    def _lose(self, _: object) -> None:
        self._leave(PageEnded(_GONE, may_pass=True))

    async def _open(self, context: BrowserContext, page: PageToRender) -> Page:
        shown = await context.new_page()
        self._main, self._page = shown.main_frame, page
        await context.add_init_script(page_scripts.BEFORE_SCRIPTS)
        if self._config.replays:
            await context.add_init_script(page_scripts.UNFOLD)
        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        # `BEFORE_SCRIPTS` removes the functions that open dialogs. The dialog that asks whether to
        # leave a page has no function, and would stop the page until someone answers.
        shown.on("dialog", lambda dialog: asyncio.ensure_future(_tried(dialog.dismiss())))
        shown.on("popup", lambda popup: asyncio.ensure_future(_tried(popup.close())))
        shown.on("crash", lambda _: self._leave(PageEnded(_CRASHED, may_pass=True)))
        shown.on("close", self._lose)
        return shown

    async def _read(self, shown: Page, page: PageToRender) -> RenderedDom:
        settling = asyncio.ensure_future(self._settle(shown, page))
        watching = asyncio.ensure_future(self._watch())
        try:
            await asyncio.wait(
                (settling, watching, self._left), return_when=asyncio.FIRST_COMPLETED
            )
            if settling.done() and settling.exception() is not None:
                await asyncio.wait((self._left,), timeout=_LOOK_EVERY_S)  # the reason follows
            if self._left.done():
                left = self._left.result()
                if isinstance(left, PageEnded):
                    raise left
                return left
            cut = watching.result() if watching.done() else ""
            reading = shown.evaluate(page_scripts.READ_DOM, self._config.max_body_bytes)
            try:
                html: str = await _while_working(reading, _READ_LATE_CPU_S if cut else _READ_CPU_S)
            except (TimeoutError, BrowserError) as error:
                raise PageEnded(cut or error_line(error)) from error
            pictures, undrawn = await self._pictures(shown) if self._config.draws else ((), "")
            return RenderedDom(html, shown.url, "; ".join(filter(None, (cut, undrawn))), pictures)
        finally:
            settling.cancel()
            watching.cancel()
            await asyncio.gather(settling, watching, return_exceptions=True)

    async def _pictures(self, shown: Page) -> tuple[tuple[bytes, ...], str]:
        """Draw its top and the whole, as PNG, or as JPEG if too large; return why not, too."""
        pictures = list[bytes]()
        try:
            await _while_working(shown.evaluate(page_scripts.TO_TOP), _DRAW_CPU_S)
            for clip in (_VIEW, _WHOLE):
                draw = partial(shown.screenshot, full_page=clip is _WHOLE, clip=clip)
                picture = await _while_working(draw(), _PICTURE_CPU_S)
                if len(picture) > self._config.max_body_bytes:
                    picture = await _while_working(draw(type="jpeg"), _PICTURE_CPU_S)
                pictures.append(picture)
        except (TimeoutError, BrowserError) as error:
            return tuple(pictures), f"{NOT_DRAWN}{error_line(error)}"
        return tuple(pictures), ""

    async def _settle(self, shown: Page, page: PageToRender) -> None:
        """Load the page, and run its clock until nothing more happens."""
        session = await shown.context.new_cdp_session(shown)
        expired = asyncio.Event()
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: expired.set())
        url = page.request.request_url or page.request.url
        await shown.goto(url, wait_until="commit", timeout=0)
        workers = _Workers(shown)
        quiet = 0
        for turn, budget in enumerate(_SCROLLED_BUDGETS_MS):
            before = self._asked, workers.activity
            expired.clear()
            # Virtual time, instead of waiting for a quiet network: idle time is skipped, so a timer
            # of five seconds costs nothing, and a slow server does not use up the time of the page.
            policy = {"policy": "pauseIfNetworkFetchesPending", "budget": budget}
            starvation = {"maxVirtualTimeTaskStarvationCount": _STARVATION}
            await session.send("Emulation.setVirtualTimePolicy", policy | starvation)
            await expired.wait()
            await self._is_idle.wait()
            await workers.do_their_turn()
            with suppress(TimeoutError, BrowserError):  # never drawn, or reloaded
                await _while_working(shown.evaluate(page_scripts.NEXT_FRAMES), _DRAW_CPU_S)
            is_quiet = turn > 0 and before == (self._asked, workers.activity)
            quiet = quiet + 1 if is_quiet else 0
            if quiet >= (_WORKER_ROUNDS if shown.workers else 1):
                return
            has_more = self._config.replays or shown.workers
            if turn + 1 >= len(_BUDGETS_MS) and not has_more:
                return

    async def _watch(self) -> str:
        """Wait until the page has taken too long, and return why; raises `PageEnded`."""
        limit_s = self._config.max_s
        most_waited_s = _WAITING * self._config.patience * limit_s
        busy_s = waited_s = 0.0
        last, last_cpu_s = monotonic(), _browser_cpu_s()
        while busy_s < limit_s and waited_s < most_waited_s:
            await asyncio.sleep(_LOOK_EVERY_S)
            now, cpu_s = monotonic(), _browser_cpu_s()
            # Waiting for servers and for a processor has a limit of its own: the delays of polite
            # requests and the load of the machine are not the page's fault.
            worked_s = 0.0 if self._pending else min(now - last, cpu_s - last_cpu_s)
            busy_s += worked_s
            waited_s += now - last - worked_s
            last, last_cpu_s = now, cpu_s
            memory = resource_usage(os.getpid()).memory
            if not memory:
                raise PageEnded(_GONE, may_pass=True)
            if memory > self._config.max_memory:
                most = self._config.max_memory
                raise PageEnded(f"the browser used more than {most:,} bytes of memory")
        return f"not finished after {limit_s:g} s"

    def _leave(self, how: RenderedDom | PageEnded) -> None:
        if not self._left.done():
            self._left.set_result(how)

    async def _route(self, route: Route, request: Request) -> None:
        with suppress(BrowserError):  # the page was closed meanwhile
            if request.is_navigation_request() and request.frame.parent_frame is None:
                await self._navigate(route, request)
            elif self._is_wanted(request):
                resource = await self._ask_crawl(request)
                self._bytes += len(resource.body)
                kind = resource.content_type or "application/octet-stream"
                if resource.status:
                    body = resource.body
                    await route.fulfill(status=resource.status, content_type=kind, body=body)
                else:
                    await route.abort()
            else:
                is_file = request.method == "GET" and request.resource_type not in DOCUMENTS
                if is_file and _is_of_web(request) and len(self._left_out) < _MOST_LEFT_OUT:
                    self._look_for(request)
                    self._left_out[request.url.partition("#")[0]] = None
                if request.resource_type == "stylesheet":
                    await route.fulfill(status=200, content_type="text/css", body="")
                else:
                    await route.abort()

    async def _navigate(self, route: Route, request: Request) -> None:
        """Serve the document, and once more on a reload. Any other URL counts as a redirect."""
        url = self._page.request.request_url or self._page.request.url
        # The document is the response that the crawl has, so that the server is asked once. Some
        # pages set a cookie and reload: they get it once more. After that they would reload
        # forever.
        is_itself = request.url.partition("#")[0] == url
        if request.frame is not self._main or (is_itself and self._documents > _RELOADS):
            await route.abort()
        elif is_itself:
            self._documents += 1
            headers = {name: self._page.response.headers.get(name, "") for name in _SHOWN}
            headers = {name: value for name, value in headers.items() if value}
            headers.setdefault("content-type", "text/html")
            await route.fulfill(status=200, headers=headers, body=self._page.response.body)
        else:
            self._leave(RenderedDom("", request.url))
            await route.abort()

    def _is_wanted(self, request: Request) -> bool:
        is_post = (
            request.method == "POST"
            and request.resource_type in ("fetch", "xhr")
            and self._config.replays
            and len(request.post_data_buffer or b"") <= _MOST_POSTED
        )
        has_room = self._bytes < _TIMES_A_BODY * self._config.max_body_bytes
        types = _WANTED | _DRAWN if self._config.draws else _WANTED
        is_read = (is_post or request.method == "GET") and request.resource_type in types
        return is_read and has_room and _is_of_web(request)

    def _look_for(self, request: Request) -> None:
        """Look for the name of a file in the markup: without it, a script asks for the file."""
        name = request.url.partition("?")[0].rpartition("/")[2].encode()
        is_named = request.resource_type not in DOCUMENTS and name in self._page.response.body
        self.fetches = self.fetches or not is_named

    async def _ask_crawl(self, request: Request) -> Resource:
        self._look_for(request)
        self._asked = number = self._asked + 1
        if number > self._config.max_requests * self._config.patience:
            return Resource(number)
        kind = request.resource_type
        self._pending[number] = asyncio.get_running_loop().create_future()
        self._is_idle.clear()
        try:
            is_document = kind in DOCUMENTS
            body = (request.post_data_buffer or b"") if request.method == "POST" else None
            names = (*_SENT, "content-type") if body is not None else _SENT
            headers = tuple(
                (name, value)
                for name, value in request.headers.items()
                if (name in names or name.startswith("x-"))
                and value.isascii()
                and value.isprintable()
            )
            of_request = request.url, kind, is_document, _asker(request), headers, body
            resource = ResourceRequest(number, *of_request)
            self._fetched[resource.name] = None
            self._ask(resource)
            return await self._pending[number]
        finally:
            del self._pending[number]
            if not self._pending:
                self._is_idle.set()


class _Workers:
    """Workers of a page. They share its clock, but run beside it, in threads that start late."""

    def __init__(self, shown: Page) -> None:
        self._shown = shown
        self._changed = asyncio.Event()
        self._attached = self._messages = 0
        self._missing = 0  # begun, but never there
        shown.on("worker", lambda _: self._attach())

    def _attach(self) -> None:
        self._attached += 1
        self._changed.set()

    @property
    def activity(self) -> tuple[int, int]:
        """Numbers that change whenever a worker begins, or the page and a worker talk."""
        return self._attached, self._messages

    async def do_their_turn(self) -> None:
        """Let the workers do what the page has sent them, while its clock stands still.

        What they send back shows in the next round.
        """
        with suppress(TimeoutError, BrowserError):  # busy, or reloaded
            counts = _while_working(self._shown.evaluate(page_scripts.COUNT_WORKERS), _TURN_CPU_S)
            begun, self._messages = await counts
            while self._attached + self._missing < begun:
                self._changed.clear()
                try:
                    await _while_working(self._changed.wait(), _TURN_CPU_S)
                except TimeoutError:  # its script failed
                    self._missing = begun - self._attached
        for worker in self._shown.workers:
            with suppress(TimeoutError, BrowserError):  # ended, or never answers
                await _while_working(worker.evaluate(page_scripts.TURN), _TURN_CPU_S)


_Answer = TypeVar("_Answer")


async def _while_working(work: Awaitable[_Answer], most_cpu_s: float) -> _Answer:
    """Wait as long as the browser works; raises TimeoutError if it is idle, or works too long."""
    answer = asyncio.ensure_future(work)
    first = last = _browser_cpu_s()
    idle_looks = 0
    try:
        while not (await asyncio.wait((answer,), timeout=_LOOK_EVERY_S))[0]:
            now = _browser_cpu_s()
            is_idle = now - last < _IDLE_CPU_S and are_asleep(os.getpid())
            idle_looks = idle_looks + 1 if is_idle else 0
            last = now
            if now - first > most_cpu_s:
                raise TimeoutError(f"no answer of the page in {most_cpu_s:g} s of processor time")
            if idle_looks == _IDLE_LOOKS:
                raise TimeoutError("no answer of the page, though its browser was idle")
        return answer.result()
    finally:
        answer.cancel()


def _browser_cpu_s() -> float:
    """Return the processor time of the browser so far, without this process."""
    return resource_usage(os.getpid()).cpu_s - process_time()


def _asker(request: Request) -> str:
    """Return the origin that sends a request: the Origin header's, or else the frame's."""
    said = request.headers.get("origin")
    if said is not None:
        return said
    frame = request.frame.parent_frame if request.is_navigation_request() else request.frame
    while frame is not None and frame.url.startswith("about:"):  # belongs to the page around it
        frame = frame.parent_frame
    url = canonical(frame.url) if frame is not None else None
    return origin(url) if url is not None else ""


def error_line(error: Exception) -> str:
    """Return the text of an error as one line; its name if it has no text."""
    return " ".join(str(error).split())[:_LONGEST_WHY] or type(error).__name__


def _is_of_web(request: Request) -> bool:
    return request.url.startswith(("http://", "https://"))


async def _tried(work: Awaitable[object]) -> None:
    with suppress(BrowserError):
        await work
