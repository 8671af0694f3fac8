"""The browser opens no connection of its own, and says why it could not render a page."""

import asyncio
import socket
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from minicrawl.crawl.rendering import browser_page
from minicrawl.crawl.rendering.browser_page import BrowserPage
from minicrawl.crawl.rendering.pool import find_browser
from minicrawl.crawl.rendering.worker import launch, refusing_port
from tests.crawl.rendering.sites import crawled, needs_browser, page, served

FORM = "<form action=/in><input name=email><input type=password name=p></form><p>Bonjour."
MARKER = "http://marker.example/"


def test_the_refusing_port_refuses_connections_and_cannot_be_taken() -> None:
    with refusing_port() as held:
        place = held.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind(place)


@pytest.mark.slow
@needs_browser
@pytest.mark.timeout(120)
def test_a_browser_sends_no_requests_of_its_own() -> None:
    """The test listens as its proxy and answers the pages. Only a marker goes to the proxy."""
    from playwright.async_api import Error, Route, async_playwright

    asked = list[str]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            if line := await reader.readline():
                asked.append(line.decode("latin-1").strip())
        writer.close()

    async def answer(route: Route) -> None:
        if route.request.url == MARKER:
            await route.continue_()
        else:
            await route.fulfill(status=200, content_type="text/html", body=FORM)

    async def play() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server, async_playwright() as playwright:
            listening = server.sockets[0]
            launched = await launch(playwright, find_browser(None), listening)
            for number in range(5):
                context = await launched.new_context()
                page = await context.new_page()
                await context.route("**/*", answer)
                await page.goto(f"http://{number}.example/")
                await page.fill("input[name=email]", "me@example.org")
                with suppress(Error):
                    await page.evaluate(f"fetch('{MARKER}', {{mode: 'no-cors'}})")
                await context.close()
            await launched.close()

    asyncio.run(play())
    assert set(asked) == {f"GET {MARKER} HTTP/1.1"}


@pytest.mark.slow
def test_a_page_that_is_not_rendered_has_a_reason() -> None:
    async def reason(most_cpu_s: float) -> str:
        with pytest.raises(TimeoutError) as caught:
            # No page could be made to take exactly so much time.
            await browser_page._while_working(asyncio.Event().wait(), most_cpu_s)
        return str(caught.value)

    assert "idle" in asyncio.run(reason(60))
    assert "processor time" in asyncio.run(reason(-1))
    for error in (TimeoutError(), TimeoutError(" \n"), ValueError("a\nb")):
        assert browser_page.error_line(error) in ("TimeoutError", "a b")


class _UndrawnPage:
    """A page that scrolls, but is never drawn."""

    async def evaluate(self, _: str) -> None:
        return

    async def screenshot(self, **_: object) -> bytes:
        raise TimeoutError("no answer\nof the page")


def test_a_page_that_is_not_drawn_has_a_reason() -> None:
    async def drawn() -> object:
        shown: Any = BrowserPage.__new__(BrowserPage)
        # No page could be made that the browser reads but never draws.
        return await shown._pictures(_UndrawnPage())

    assert asyncio.run(drawn()) == ((), "not drawn: no answer of the page")


@needs_browser
@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("code", ["history.pushState(0, '', '/h' + i)", "location.hash = i"])
def test_a_page_that_floods_its_history_is_kept_with_a_reason(tmp_path: Path, code: str) -> None:
    script = f"for (let i = 0; i < 1e5; i++) {code}"
    with served({"/": page(f"<p>x<script>{script}</script>")}) as (_, base):
        crawled(f"{base}/", tmp_path / "c.db", render="always")
    with closing(sqlite3.connect(tmp_path / "c.db")) as store:
        details = [detail for (detail,) in store.execute("SELECT detail FROM fetches")]
    assert details
    for detail in filter(None, details):
        assert len(detail.removeprefix("not rendered: ").split()) > 2, detail
