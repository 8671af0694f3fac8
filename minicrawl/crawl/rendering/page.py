"""One page in the browser, from its first byte to its last script.

Laws: the page has a context of its own, which ends with it. Its document is the fetched response:
the server is not contacted again. It gets no pictures, media and fonts; its style sheets are empty.
It only reads (GET). A page that navigates elsewhere is a redirect, which is not followed. Its clock
is virtual: it skips idle time, so that timers of seconds cost none, and stands still while a
request is pending. The page is drawn before it is read. A page that takes too long is stopped, or
else its browser is.

pending   requests of the page without a response yet
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.async_api import Error as BrowserError

from minicrawl.crawl.rendering.browser import BEFORE_SCRIPTS, NEXT_FRAMES, READ_DOM, use
from minicrawl.crawl.rendering.messages import (
    PageToRender,
    RenderConfig,
    Resource,
    WantedResource,
)
from minicrawl.model import Response
from minicrawl.web.urls import canonical, origin

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page, Request, Route

DOCUMENTS = frozenset(("document", "xhr", "fetch"))
"""Kinds of requests that robots.txt applies to."""
_WANTED = DOCUMENTS | {"script"}
_BUDGETS_MS = (5000, 1000, 1000, 1000, 1000)
"""Virtual time of each round. The page has two rounds, as drawing it may start more scripts, and
then one more after each round with new requests.
"""
_STARVATION = 1000
_LOOK_EVERY_S = 0.2
_READ_S, _READ_LATE_S, _CLOSE_S = 5.0, 1.0, 3.0
_A_MOMENT_S, _DRAW_S = 0.05, 0.5
_WAITING = 3
"""Time that a page may wait for responses, as a multiple of its time limit."""
_TIMES_A_BODY = 2
_RELOADS = 1
_SENT = ("accept", "origin", "referer")
_SHOWN = ("content-type", "content-security-policy")
_LONGEST_WHY = 200
_VIEW = {"width": 1280, "height": 1600}


_CRASHED, _GONE = "it ended its process of the browser", "the browser ended"


class PageEnded(Exception):
    """The page cannot be read; `may_pass` if another try may succeed."""

    def __init__(self, why: str, *, may_pass: bool = False) -> None:
        super().__init__(why)
        self.why, self.may_pass = why, may_pass


class RenderedDom(NamedTuple):
    """DOM as HTML, and the URL of the page by then, or of the page it was about to load."""

    html: str
    location: str
    cut: str = ""  # why it may be incomplete


class BrowserPage:
    """One page. `ask` sends its requests to the crawl; `take` gets the responses."""

    def __init__(
        self, browser: Browser, config: RenderConfig, ask: Callable[[WantedResource], None]
    ) -> None:
        self._browser, self._config, self._ask = browser, config, ask
        self._asked = 0
        self._pending: dict[int, asyncio.Future[Resource]] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._left: asyncio.Future[RenderedDom | PageEnded] = (
            asyncio.get_running_loop().create_future()
        )
        self._documents = 0
        self._bytes = 0

    def take(self, resource: Resource) -> None:
        """Pass a response to the page."""
        pending = self._pending.get(resource.number)
        if pending is not None and not pending.done():
            pending.set_result(resource)

    async def read(self, page: PageToRender) -> RenderedDom:
        """Return the page when all requests and timers are done; raises `PageEnded`."""
        self._browser.on("disconnected", self._lose)
        context = await self._browser.new_context(
            service_workers="block",
            accept_downloads=False,
            user_agent=self._config.user_agent,
            viewport=_VIEW,  # type: ignore[arg-type]  # a TypedDict of the same keys
            **_locale(self._config.languages),
        )
        try:
            shown = await self._open(context, page)
            return await self._read(shown, page)
        finally:
            with suppress(BrowserError):
                async with asyncio.timeout(_CLOSE_S):
                    await context.close()
            self._browser.remove_listener("disconnected", self._lose)

    def _lose(self, _: object) -> None:
        self._leave(PageEnded(_GONE, may_pass=True))

    async def _open(self, context: BrowserContext, page: PageToRender) -> Page:
        shown = await context.new_page()
        self._main, self._page = shown.main_frame, page
        await context.add_init_script(BEFORE_SCRIPTS)
        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", lambda one: one.close())
        shown.on("dialog", lambda one: asyncio.ensure_future(_dismiss(one)))
        shown.on("popup", lambda one: asyncio.ensure_future(_close(one)))
        shown.on("crash", lambda _: self._leave(PageEnded(_CRASHED, may_pass=True)))
        shown.on("close", self._lose)
        return shown

    # ------------------------------------------------------------ reading the page

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
            return await self._dom(shown, watching.result() if watching.done() else "")
        finally:
            settling.cancel()
            watching.cancel()
            await asyncio.gather(settling, watching, return_exceptions=True)

    async def _settle(self, shown: Page, page: PageToRender) -> None:
        """Load the page, and run its clock until nothing more happens."""
        session = await shown.context.new_cdp_session(shown)
        expired = asyncio.Event()
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: expired.set())
        url = page.request.spelled or page.request.url
        await shown.goto(url, wait_until="commit", timeout=0)
        for turn, budget in enumerate(_BUDGETS_MS):
            before = self._asked
            expired.clear()
            policy = {"policy": "pauseIfNetworkFetchesPending", "budget": budget}
            starvation = {"maxVirtualTimeTaskStarvationCount": _STARVATION}
            await session.send("Emulation.setVirtualTimePolicy", policy | starvation)
            await expired.wait()
            await self._is_idle.wait()
            if shown.workers:
                await asyncio.sleep(_A_MOMENT_S)  # workers have clocks of their own
            await _draw(shown)
            if turn and self._asked == before:
                return

    async def _watch(self) -> str:
        """Return why the page is read now, when it has taken too long; raises `PageEnded`."""
        limit_s = self._config.max_s
        busy_s = waited_s = 0.0
        last = monotonic()
        while busy_s < limit_s and waited_s < _WAITING * limit_s:
            await asyncio.sleep(_LOOK_EVERY_S)
            now = monotonic()
            if self._pending:
                waited_s += now - last
            else:
                busy_s += now - last
            last = now
            memory = use(os.getpid()).memory
            if not memory:
                raise PageEnded(_GONE, may_pass=True)
            if memory > self._config.max_memory:
                most = self._config.max_memory
                raise PageEnded(f"it took more than {most:,} bytes")
        return f"it was not over in {limit_s:g} s"

    async def _dom(self, shown: Page, cut: str) -> RenderedDom:
        try:
            async with asyncio.timeout(_READ_LATE_S if cut else _READ_S):
                html: str = await shown.evaluate(READ_DOM, self._config.max_body_bytes)
        except (TimeoutError, BrowserError) as error:
            raise PageEnded(cut or _line(error)) from error
        return RenderedDom(html, shown.url, cut)

    def _leave(self, how: RenderedDom | PageEnded) -> None:
        if not self._left.done():
            self._left.set_result(how)

    # ------------------------------------------------------------ requests

    async def _route(self, route: Route, request: Request) -> None:
        with suppress(BrowserError):  # the page was closed meanwhile
            await self._answer(route, request)

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            await self._navigate(route, request)
        elif request.resource_type == "stylesheet":
            await route.fulfill(status=200, content_type="text/css", body="")
        elif self._is_wanted(request):
            await self._fulfil(route, await self._fetched(request))
        else:
            await route.abort()

    async def _navigate(self, route: Route, request: Request) -> None:
        """Serve the document itself, and once more on a reload; another URL is a redirect."""
        url = self._page.request.spelled or self._page.request.url
        is_itself = request.url.partition("#")[0] == url
        if request.frame is not self._main or (is_itself and self._documents > _RELOADS):
            await route.abort()
        elif is_itself:
            self._documents += 1
            await self._show(route, self._page.response)
        else:
            self._leave(RenderedDom("", request.url))
            await route.abort()

    async def _show(self, route: Route, response: Response) -> None:
        found = {name: response.headers.get(name, "") for name in _SHOWN}
        headers = {name: value for name, value in found.items() if value}
        headers.setdefault("content-type", "text/html")
        await route.fulfill(status=200, headers=headers, body=response.body)

    def _is_wanted(self, request: Request) -> bool:
        return (
            request.method == "GET"
            and request.resource_type in _WANTED
            and request.url.startswith(("http://", "https://"))
            and self._bytes < _TIMES_A_BODY * self._config.max_body_bytes
        )

    async def _fetched(self, request: Request) -> Resource:
        self._asked = number = self._asked + 1
        if number > self._config.max_requests:
            return Resource(number)
        kind = request.resource_type
        self._pending[number] = asyncio.get_running_loop().create_future()
        self._is_idle.clear()
        try:
            is_document = kind in DOCUMENTS
            headers = _sent(request.headers)
            asker = _asker(request)
            self._ask(WantedResource(number, request.url, kind, is_document, asker, headers))
            return await self._pending[number]
        finally:
            del self._pending[number]
            if not self._pending:
                self._is_idle.set()

    async def _fulfil(self, route: Route, found: Resource) -> None:
        if not found.status:
            await route.abort()
            return
        self._bytes += len(found.body)
        kind = found.content_type or "application/octet-stream"
        await route.fulfill(status=found.status, content_type=kind, body=found.body)


async def _draw(shown: Page) -> None:
    """Let the page draw: some scripts run only then."""
    with suppress(TimeoutError, BrowserError):  # never drawn, or reloaded
        async with asyncio.timeout(_DRAW_S):
            await shown.evaluate(NEXT_FRAMES)


def _asker(request: Request) -> str:
    """Return the origin that sends a request. The browser names it if it is not the page's own."""
    said = request.headers.get("origin")
    if said is not None:
        return said
    frame = request.frame.parent_frame if request.is_navigation_request() else request.frame
    while frame is not None and frame.url.startswith("about:"):  # belongs to the page around it
        frame = frame.parent_frame
    url = canonical(frame.url) if frame is not None else None
    return origin(url) if url is not None else ""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_WHY]


def _sent(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a page's request that the crawl sends on."""
    return tuple(
        (name, value)
        for name, value in headers.items()
        if (name in _SENT or name.startswith("x-")) and value.isascii() and value.isprintable()
    )


def _locale(languages: str | None) -> dict[str, Any]:
    first = (languages or "").partition(",")[0].partition(";")[0]
    return {"locale": first} if first and first != "*" else {}


async def _dismiss(dialog: Any) -> None:
    with suppress(BrowserError):
        await dialog.dismiss()


async def _close(popup: Any) -> None:
    with suppress(BrowserError):
        await popup.close()
