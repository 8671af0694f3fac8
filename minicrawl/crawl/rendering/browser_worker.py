"""A render worker: a process that drives one browser and reads pages in it.

The guard: a page may run any script, and a browser sends requests of its own, so nothing that
either does may reach a network except through the crawl. Three walls stand behind each other:

    requests of a page   playwright hands each to `BrowserPage._route`, which asks the crawl, or
                         refuses: images, media, fonts, WebSockets, service workers, all methods
                         but GET (and POST by scripts, with --requisites). WebRTC, WebTransport and
                         pop-ups are removed before scripts run
    names                no name resolves inside the browser (--host-resolver-rules)
    connections          the browser's proxy is a port that this process holds and nobody listens
                         on; UDP, which would bypass the proxy, is disabled

Example: the script of https://a.example/ calls fetch("https://b.example/news.json") with a header
of its own, and the page has an image.

    worker  routes the fetch: WantedResource(1, ".../news.json", "fetch", asker="https://a.example")
            aborts the image. The clock of the page stands still
    crawl   passes the request through the gate of `renderer`: --deny, robots.txt and the delay of
            b.example; a preflight, as the script set a header; no cookies, no logins
    crawl   answers Resource(1, 200, "application/json", ...), or status 0 if anything refused it
    worker  fulfils the route, and the script continues. Its clock runs again

A request that gets past playwright fails at the second wall, and one to an IP address at the third.
The test `test_a_browser_asks_for_nothing_by_itself` has a listener in the place of the proxy.

Laws: a worker has one page at a time. It ends after a page that could not be rendered, and when its
channel is closed. However it ends, its browser ends with it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, assert_never

from playwright.async_api import Browser, Error as BrowserError, async_playwright

from minicrawl.archive.record import AnswerPacker, WantedFiles
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
from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message
from minicrawl.crawl.workers.supervisor import PickleChannel
from minicrawl.memory import kill_descendants, resource_usage
from minicrawl.model import ParsedPage, Response
from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.urls import canonical, origin, resolve

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Playwright, Request, Route


# ================================================================ browser
#
# Starts the browser without a way to the network: no names, no UDP, and a proxy that refuses all
# connections. It sends no requests of its own either: no updates, no accounts, no form hints.


_NOWHERE = "http://127.0.0.1:9/"
"""URL on a port that browsers block: no connection is opened."""
_ARGUMENTS = (
    *(f"--component-updater=url-source={_NOWHERE}", f"--gaia-url={_NOWHERE}"),
    f"--autofill-server-url={_NOWHERE}",
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--dns-prefetch-disable", "--mute-audio"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def refusing_port() -> socket.socket:
    """Return a socket whose port is ours and refuses every connection, until it is closed."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))  # nobody else can listen there, and we do not
    return held


async def launch(playwright: Playwright, program: str, proxy: socket.socket) -> Browser:
    """Start the browser, with a proxy that leads nowhere.

    As root, chromium refuses to use its sandbox.
    """
    host, port = proxy.getsockname()
    return await playwright.chromium.launch(
        executable_path=program,
        args=list(_ARGUMENTS),
        chromium_sandbox=os.geteuid() != 0,
        proxy={"server": f"http://{host}:{port}"},
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=20_000,
    )


_DROP_CAPABILITY, _SET_PRIORITY = 24, 23  # PR_CAPBSET_DROP, CAP_SYS_NICE


def keep_priority_low() -> None:
    """Keep future child processes from raising their priority, as a browser of root does."""
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _SET_PRIORITY, 0, 0, 0)


# ================================================================ in page
#
# JavaScript that runs inside pages.
#
# Laws: no page opens a window, a dialog or a way to other machines; shadow roots are always open to
# us. A page is read as the HTML of its DOM, with each shadow tree where it is shown.

BEFORE_SCRIPTS = """(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    return attach.call(this, { ...init, mode: "open" });
  };
  const nothing = () => null;
  for (const name of ["open", "print", "alert", "confirm", "prompt"]) window[name] = nothing;
  const gone = ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"];
  for (const name of gone) delete window[name];
})();"""
"""Script that runs before any script of the page, in each of its frames."""

NEXT_FRAMES = "() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))"
"""Promise that ends at the second frame: by then all observers of the first one have run."""

TURN = "() => undefined"
"""Function that a worker runs when it has done what was sent to it before."""

READ_DOM = r"""([most, hidden]) => {
  const root = document.documentElement;
  if (!root) return "";
  const hide = (selectors) => {
    for (const one of root.querySelectorAll(selectors))
      if (!one.matches("html, head, body") && !one.querySelector("main")) one.remove();
  };
  for (let i = 0; i < hidden.length; i += 500) {
    const some = hidden.slice(i, i + 500);
    try { hide(some.join(",")); }
    catch { for (const one of some) try { hide(one); } catch { /* not a selector of CSS */ } }
  }
  const EMPTY = new Set(["area", "base", "br", "col", "embed", "frame", "hr", "img", "input",
    "link", "meta", "param", "source", "track", "wbr"]);
  const RAW = new Set(["script", "style", "noscript", "iframe", "xmp", "noembed", "noframes",
    "plaintext"]);
  let hasShadow = false;
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot) { hasShadow = true; break; }
  const head = "<!DOCTYPE html>";
  if (!hasShadow) return (head + root.outerHTML).slice(0, most);
  const parts = [];
  let length = 0;
  const add = (text) => { parts.push(text); length += text.length; };
  const inText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const inValue = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  const closing = (text) => ({ text });
  // Not by recursion: scripts can nest deeper than the stack.
  const waiting = [root];
  const later = (nodes) => { for (let i = nodes.length - 1; i >= 0; i--) waiting.push(nodes[i]); };
  while (waiting.length && length < most) {
    const node = waiting.pop();
    if (node.text !== undefined && node.nodeType === undefined) { add(node.text); continue; }
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentNode;
      const isRaw = parent && parent.localName && RAW.has(parent.localName);
      add(isRaw ? node.data : inText(node.data));
      continue;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const name = node.localName;
    let tag = "<" + name;
    for (const one of node.attributes) tag += " " + one.name + '="' + inValue(one.value) + '"';
    add(tag + ">");
    if (EMPTY.has(name)) continue;
    waiting.push(closing("</" + name + ">"));
    if (node.shadowRoot) {
      later([...node.childNodes].filter((one) => !one.assignedSlot));
      later([...node.shadowRoot.childNodes]);
    } else if (name === "slot" && node.assignedNodes().length) {
      later(node.assignedNodes());
    } else if (name === "template") {
      later([...node.content.childNodes]);
    } else {
      later([...node.childNodes]);
    }
  }
  return (head + parts.join("")).slice(0, most);
}"""
"""Function that returns the DOM as HTML, with at most `most` characters.

Elements that a selector of `hidden` matches are left out, unless they contain a <main> element.
"""

SCROLL = """if (window === top) setInterval(
  () => window.scrollTo(0, document.documentElement.scrollHeight), 500);"""
"""Script that scrolls the page to its end every 500 ms of its virtual time."""


# ================================================================ page
#
# One page in the browser, from its first byte to its last script.
#
# Laws: the page has a browser context of its own, which ends with it. Its document is the fetched
# response: the server is not contacted again. It gets no images, media or fonts; its style sheets
# are empty. It only reads (GET); if the archive is to replay it (`replays`), it may POST as well,
# and is scrolled to its end as long as that brings requests. A page that navigates elsewhere is a
# redirect, which is not followed. Its clock is virtual: it skips idle time, so that timers of
# seconds cost none, and stands still while a request is pending. The page is drawn before it is
# read. A page that takes too long is read as it is then; if that fails, its browser is ended.
# Limits count what the browser works, not how long a busy machine lets it wait.
#
# pending   requests of the page without a response yet


DOCUMENTS = frozenset(("document", "xhr", "fetch"))
"""Kinds of requests that robots.txt applies to."""
_WANTED = DOCUMENTS | {"script"}
_BUDGETS_MS = (5000, 1000, 1000, 1000, 1000)
"""Virtual time of each round. A page has two rounds, as drawing it may start more scripts, and one
more after each later round with new requests.
"""
_SCROLLED_BUDGETS_MS = (*_BUDGETS_MS, *_BUDGETS_MS[1:] * 5)
"""Virtual time of each round of a page that is scrolled, as long lists load their rest that way."""
_STARVATION = 1000  # tasks in a row after which virtual time moves on all the same
_LOOK_EVERY_S = 0.2
_CLOSE_S = 3.0
_READ_CPU_S, _READ_LATE_CPU_S, _TURN_CPU_S, _DRAW_CPU_S = 5.0, 1.0, 1.0, 0.5
"""Processor time of the browser for an answer of the page; a busy machine does not count."""
_IDLE_CPU_S, _IDLE_LOOKS = 0.02, 5
"""A browser that used less in each of so many looks is idle: what it was to do does not happen."""
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
_VIEW = {"width": 1280, "height": 1600}


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
        self._fetched = dict[str, None]()
        self._left_out = dict[str, None]()

    @property
    def asked(self) -> WantedFiles:
        """Files that the page has asked for."""
        return WantedFiles(tuple(self._fetched), tuple(self._left_out))

    def take(self, resource: Resource) -> None:
        """Pass a response to the page."""
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
            viewport=_VIEW,  # type: ignore[arg-type]  # a TypedDict of the same keys
            locale=language if language not in ("", "*") else None,
        )
        try:
            shown = await self._open(context, page)
            dom = await self._read(shown, page)
        finally:
            is_closed = await _is_closed_in_time(context)
            self._browser.remove_listener("disconnected", self._lose)
        if not is_closed:
            raise PageEnded(f"the page did not close within {_CLOSE_S:g} s", may_pass=True)
        return dom

    def _lose(self, _: object) -> None:
        self._leave(PageEnded(_GONE, may_pass=True))

    async def _open(self, context: BrowserContext, page: PageToRender) -> Page:
        shown = await context.new_page()
        self._main, self._page = shown.main_frame, page
        await context.add_init_script(BEFORE_SCRIPTS)
        if self._config.replays:
            await context.add_init_script(SCROLL)
        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", lambda one: one.close())
        # `BEFORE_SCRIPTS` removes the functions that open dialogs. The dialog that asks whether to
        # leave a page has no function, and would stop the page until someone answers.
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
        url = page.request.request_url or page.request.url
        await shown.goto(url, wait_until="commit", timeout=0)
        budgets = _SCROLLED_BUDGETS_MS if self._config.replays else _BUDGETS_MS
        for turn, budget in enumerate(budgets):
            before = self._asked
            expired.clear()
            # Virtual time, instead of waiting for a quiet network: idle time is skipped, so a timer
            # of five seconds costs nothing, and a slow server does not use up the time of the page.
            policy = {"policy": "pauseIfNetworkFetchesPending", "budget": budget}
            starvation = {"maxVirtualTimeTaskStarvationCount": _STARVATION}
            await session.send("Emulation.setVirtualTimePolicy", policy | starvation)
            await expired.wait()
            await self._is_idle.wait()
            # Workers share the clock of the page, which stands still here, but run beside it. What
            # they do of what the page has sent them shows in the next round, and so does their
            # answer to that: a page with workers has all rounds, which are short without work.
            workers = shown.workers
            for worker in workers:
                with suppress(TimeoutError, BrowserError):  # ended, or never answers
                    await _while_working(worker.evaluate(TURN), _TURN_CPU_S)
            with suppress(TimeoutError, BrowserError):  # never drawn, or reloaded
                await _while_working(shown.evaluate(NEXT_FRAMES), _DRAW_CPU_S)
            if turn and self._asked == before and not workers:
                return

    async def _watch(self) -> str:
        """Wait until the page has taken too long, and return why; raises `PageEnded`."""
        limit_s = self._config.max_s
        busy_s = waited_s = 0.0
        last, last_cpu_s = monotonic(), _browser_cpu_s()
        while busy_s < limit_s and waited_s < _WAITING * limit_s:
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

    async def _dom(self, shown: Page, cut: str) -> RenderedDom:
        try:
            most, banners = self._config.max_body_bytes, self._config.banners
            hidden = [] if banners is None else banners.selectors(self._page.request.url)
            reading = shown.evaluate(READ_DOM, [most, hidden])
            html: str = await _while_working(reading, _READ_LATE_CPU_S if cut else _READ_CPU_S)
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
        elif self._is_wanted(request):
            await self._fulfil(route, await self._ask_crawl(request))
        else:
            is_file = request.method == "GET" and request.resource_type not in DOCUMENTS
            if is_file and _is_of_web(request) and len(self._left_out) < _MOST_LEFT_OUT:
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
        is_read = request.method == "GET" or (
            request.method == "POST"
            and request.resource_type in ("fetch", "xhr")
            and self._config.replays
            and len(_posted(request)) <= _MOST_POSTED
        )
        return (
            is_read
            and request.resource_type in _WANTED
            and _is_of_web(request)
            and self._bytes < _TIMES_A_BODY * self._config.max_body_bytes
        )

    async def _ask_crawl(self, request: Request) -> Resource:
        self._asked = number = self._asked + 1
        if number > self._config.max_requests:
            return Resource(number)
        kind = request.resource_type
        self._pending[number] = asyncio.get_running_loop().create_future()
        self._is_idle.clear()
        try:
            is_document = kind in DOCUMENTS
            body = _posted(request) if request.method == "POST" else None
            headers = _sent(request.headers, is_post=body is not None)
            of_request = request.url, kind, is_document, _asker(request), headers, body
            wanted = WantedResource(number, *of_request)
            self._fetched[wanted.name] = None
            self._ask(wanted)
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


_Answer = TypeVar("_Answer")


async def _while_working(work: Awaitable[_Answer], most_cpu_s: float) -> _Answer:
    """Wait as long as the browser works; raises TimeoutError if it is idle, or works too long."""
    answer = asyncio.ensure_future(work)
    first = last = _browser_cpu_s()
    idle_looks = 0
    try:
        while not (await asyncio.wait((answer,), timeout=_LOOK_EVERY_S))[0]:
            now = _browser_cpu_s()
            idle_looks = idle_looks + 1 if now - last < _IDLE_CPU_S else 0
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


def _line(error: Exception) -> str:
    """Return the text of an error as one line; its name if it has no text."""
    return " ".join(str(error).split())[:_LONGEST_WHY] or type(error).__name__


def _is_of_web(request: Request) -> bool:
    return request.url.startswith(("http://", "https://"))


def _posted(request: Request) -> bytes:
    return request.post_data_buffer or b""


def _sent(headers: Mapping[str, str], *, is_post: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers of a page's request that the crawl sends on."""
    names = (*_SENT, "content-type") if is_post else _SENT
    return tuple(
        (name, value)
        for name, value in headers.items()
        if (name in names or name.startswith("x-")) and value.isascii() and value.isprintable()
    )


async def _is_closed_in_time(context: BrowserContext) -> bool:
    try:
        async with asyncio.timeout(_CLOSE_S):
            await context.close()
    except BrowserError:  # its browser has ended
        return True
    except TimeoutError:
        return False
    return True


async def _dismiss(dialog: Any) -> None:
    with suppress(BrowserError):
        await dialog.dismiss()


async def _close(popup: Any) -> None:
    with suppress(BrowserError):
        await popup.close()


# ================================================================ worker

_BOM = b"\xef\xbb\xbf"
"""Byte order mark: the DOM is UTF-8, in whichever encoding the server sent the page."""
_LONGEST_REPORT = 300
_SAID = re.compile(r"\[err\] *(\S.*)")
_ENDED = re.compile(r"exitCode=(\w+), signal=(\w+)")
"""Patterns in playwright's report of a browser that does not start."""


class RenderWorker:
    """Runs the commands of the crawl."""

    def __init__(self, config: RenderConfig, browser: Browser | str) -> None:
        """Set up with the browser, or with the reason why it did not start."""
        self.channel = PickleChannel(self._begin)
        self._config, self._browser = config, browser
        self._messages = asyncio.Queue[RenderMessage]()
        self._page: BrowserPage | None = None
        self._tasks = set[asyncio.Task[None]]()
        self._packer = (
            AnswerPacker(config.archive, only_text=config.only_text) if config.archive else None
        )

    def _begin(self, call: tuple[int, RenderCommand | None, Any]) -> None:
        number, command, argument = call
        match command:
            case None:  # nobody waits for the page; the crawl closes the channel
                return
            case RenderCommand.PING:
                self._reply(number, None)
            case RenderCommand.START:
                self._reply(number, _state(self._browser))
            case RenderCommand.ANSWER:
                if self._page is not None:
                    self._page.take(argument)
            case RenderCommand.RENDER:
                self._run(self._render(argument))
                self._run(self._next(number))
            case RenderCommand.NEXT:
                self._run(self._next(number))
            case _:
                assert_never(command)

    def _run(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reply(self, number: int, result: object) -> None:
        self.channel.send((number, result, process_time()))

    async def _next(self, number: int) -> None:
        message = await self._messages.get()
        self._reply(number, message)
        if isinstance(message, NotRendered):
            await self.channel.drain()
            self.channel.close()
            self.channel.ended.set()

    async def _render(self, page: PageToRender) -> None:
        assert not isinstance(self._browser, str)
        began = resource_usage(os.getpid()).cpu_s
        shown = self._page = BrowserPage(self._browser, self._config, self._messages.put_nowait)
        result: Rendered | NotRendered
        try:
            result = self._result(page, await shown.read(page), shown.asked)
        except PageEnded as ended:
            result = NotRendered(ended.why, may_pass=ended.may_pass)
        except (BrowserError, TimeoutError) as error:
            result = NotRendered(_line(error), may_pass=True)
        self._page = None
        self._messages.put_nowait(result._replace(cost_s=resource_usage(os.getpid()).cpu_s - began))

    def _result(self, page: PageToRender, read: RenderedDom, asked: WantedFiles) -> Rendered:
        request, response = page
        body = _BOM + read.html.encode("utf-8", "replace") if read.html else b""
        parsed = parsed_dom(body, page, read, self._config.parse_options)
        record = b""
        if self._packer is not None and body:
            record = self._packer.pack_rendered(request, response._replace(body=body), asked)
        return Rendered(parsed, body, 0.0, record)


def _state(browser: Browser | str) -> Started | NotStarted:
    return NotStarted(browser) if isinstance(browser, str) else Started(browser.version)


def parsed_dom(
    body: bytes, page: PageToRender, read: RenderedDom, options: ParseOptions
) -> ParsedPage:
    """Parse the DOM; the page is a redirect if it has navigated elsewhere."""
    request, response = page
    own = request.url
    parsed = parse_page(body, own, _html(response), options, suspicious=request.suspicious)
    if read.cut:
        parsed = parsed._replace(cut=read.cut)
    there = resolve(read.location, own, strip_marks=options.strip_marks)
    if there is None or there.url == own:
        return parsed
    originals = ((there.url, there.original),) if there.original else ()
    return parsed._replace(refresh=there.url, originals=originals)


def _html(response: Response) -> dict[str, str]:
    """Return the headers without a refresh, which the browser has followed."""
    return {name: value for name, value in response.headers.items() if name != "refresh"}


async def serve(config: RenderConfig) -> None:
    """Serve calls until the channel is closed, or a page could not be rendered."""
    config.folder.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = own = tempfile.mkdtemp(dir=config.folder)
    with connection_at_stdin() as connection, refusing_port() as proxy:
        async with async_playwright() as playwright:
            browser: Browser | str
            try:
                browser = await launch(playwright, config.browser, proxy)
            except BrowserError as error:
                browser = _why(error)
            worker = RenderWorker(config, browser)
            await worker.channel.connect(connection)
            await worker.channel.ended.wait()
            kill_descendants(os.getpid())
            shutil.rmtree(own, ignore_errors=True)
            with suppress(OSError):  # not empty: other workers still run
                config.folder.rmdir()
            os._exit(0)  # even if the browser's driver hangs


def _why(error: BrowserError) -> str:
    """Return why the browser did not start: its message or exit code, without its command line."""
    if (said := _SAID.search(str(error))) is not None:
        return said[1][:_LONGEST_REPORT]
    if (ended := _ENDED.search(str(error))) is not None:
        code, by_signal = ended.groups()
        how = f"with exit code {code}" if code != "null" else f"by {by_signal}"
        return f"it ended at once, {how}, without a message"
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip(" -═╔╗║╚╝")]
    told = [line for line in lines if "rror" in line]
    return (told or lines or ["no reason"])[0][:_LONGEST_REPORT]


def main() -> None:
    """Run the worker; stdin is the socket of the channel."""
    with connection_at_stdin() as connection:
        config = receive_message(connection)
    if config is not None:
        keep_priority_low()
        asyncio.run(serve(config))
