"""A render worker: a process that drives one browser and reads pages in it.

The guard: a page may run any script, and a browser sends requests of its own, so nothing that
either does may reach a network except through the crawl. Three walls stand behind each other:

    requests of a page   playwright hands each to `BrowserPage._route`, which asks the crawl, or
                         refuses: images, fonts (unless --screenshots), media, WebSockets, service
                         workers, all methods but GET (and POST by scripts, with --requisites).
                         WebRTC, WebTransport and pop-ups are removed before scripts run
    names                no name resolves inside the browser (--host-resolver-rules)
    connections          the browser's proxy is a port that this process holds and nobody listens
                         on; UDP, which would bypass the proxy, is disabled

Example: the script of https://a.example/ calls fetch("https://b.example/news.json") with a header
of its own, and the page has an image.

    worker  routes the fetch: ResourceRequest(1, ".../news.json", "fetch", asker="https://a.example")
            aborts the image. The clock of the page stands still
    crawl   passes the request through the gate of `page_resources`: --deny, robots.txt and the
            delay of b.example; a preflight, as the script set a header; no cookies, no logins
    crawl   answers Resource(1, 200, "application/json", ...), or status 0 if anything refused it
    worker  fulfils the route, and the script continues. Its clock runs again

A request that gets past playwright fails at the second wall, and one to an IP address at the third.
The test `test_a_browser_sends_no_requests_of_its_own` has a listener in the place of the proxy.

Laws: a worker has one page at a time. It ends after a page that could not be rendered, and when its
channel is closed. However it ends, its browser ends with it. The browser sends no requests of its
own: no updates, no accounts, no form hints.
"""

import asyncio
import ctypes
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from time import process_time
from typing import Any, assert_never

from playwright.async_api import Browser, Error as BrowserError, Playwright, async_playwright

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.packing import AnswerPacker
from minicrawl.archive.record import RecordKind, pack
from minicrawl.archive.replay import PNG
from minicrawl.crawl.rendering.browser_page import BrowserPage, PageEnded, RenderedDom, error_line
from minicrawl.crawl.rendering.render_messages import (
    NotRendered,
    PageToRender,
    RenderCommand,
    RenderConfig,
    Rendered,
    RenderMessage,
)
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message
from minicrawl.memory.measures import kill_descendants, resource_usage
from minicrawl.model import ParsedPage, Request, Response
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.urls import PICTURES, resolve

_BOM = b"\xef\xbb\xbf"
"""Byte order mark: the DOM is UTF-8, in whichever encoding the server sent the page."""
_LONGEST_REPORT = 300
_SAID = re.compile(r"\[err\] *(\S.*)")
_ENDED = re.compile(r"exitCode=(\w+), signal=(\w+)")
"""Patterns in playwright's report of a browser that does not start."""
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
_DROP_CAPABILITY, _SET_PRIORITY = 24, 23  # PR_CAPBSET_DROP, CAP_SYS_NICE


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
                self._reply(number, self._browser if isinstance(self._browser, str) else "")
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
            dom, (request, response) = await shown.read(page), page
            body = _BOM + dom.html.encode("utf-8", "replace") if dom.html else b""
            parsed = parsed_dom(body, page, dom, self._config.parse_options)
            record = b""
            if self._packer is not None and body:
                response = response._replace(body=body)
                record = self._packer.pack_rendered(request, response, shown.asked)
            pictures = tuple(picture_records(request, dom))
            result = Rendered(parsed, body, 0.0, record, shown.fetches, pictures)
        except PageEnded as ended:
            result = NotRendered(ended.why, may_pass=ended.may_pass)
        except (BrowserError, TimeoutError) as error:
            result = NotRendered(error_line(error), may_pass=True)
        self._page = None
        self._messages.put_nowait(result._replace(cost_s=resource_usage(os.getpid()).cpu_s - began))


def picture_records(request: Request, dom: RenderedDom) -> Iterator[tuple[str, bytes]]:
    """Yield names and records of the pictures of a page."""
    for beginning, picture in zip(PICTURES, dom.pictures, strict=False):
        kind = "image/png" if picture.startswith(PNG) else "image/jpeg"
        response = Response(HTTPStatus.OK, {"content-type": kind}, picture)
        name, written = beginning + request.url, beginning + (request.request_url or request.url)
        yield name, pack(RecordKind.PAGE, name, response, PLAIN, number=0, request_url=written)


def parsed_dom(
    body: bytes, page: PageToRender, read: RenderedDom, options: ParseOptions
) -> ParsedPage:
    """Parse the DOM; the page is a redirect if it has navigated elsewhere."""
    request, response = page
    own = request.url
    # The browser has followed a refresh in the headers.
    headers = {name: value for name, value in response.headers.items() if name != "refresh"}
    parsed = parse_page(body, own, headers, options, suspicious=request.suspicious)
    parsed = parsed._replace(cut="; ".join(filter(None, (parsed.cut, read.cut))))
    there = resolve(read.location, own, strip_marks=options.strip_marks)
    if there is None or there.url == own:
        return parsed
    originals = ((there.url, there.original),) if there.original else ()
    return parsed._replace(refresh=there.url, originals=originals)


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


async def serve(config: RenderConfig) -> None:
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
    errors = [line for line in lines if "rror" in line]
    return (errors or lines or ["no reason"])[0][:_LONGEST_REPORT]


def main() -> None:
    with connection_at_stdin() as connection:
        config = receive_message(connection)
    if config is not None:
        # Child processes must not raise their priority, as a browser of root does.
        with suppress(OSError, AttributeError):  # not on Linux
            ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _SET_PRIORITY, 0, 0, 0)
        asyncio.run(serve(config))
