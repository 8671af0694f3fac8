"""Draws pages of an archive in the browser: each request is answered by what the archive has.

Nothing that a page asks for reaches a network: the browser has no way to it (see `browser`), and
what the archive lacks fails. A page is drawn twice:

    as recorded    the DOM after its scripts, if the crawl rendered it, or else its markup, while
                   no script runs; the picture that the crawl drew, if it did (--screenshots)
    as replayed    its response, with its scripts: what somebody sees who opens it in a replay

A page that the archive has whole looks and reads alike both times.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from struct import Struct
from typing import Any, TypeVar

from playwright.async_api import (
    Browser,
    Error as BrowserError,
    Page,
    Request,
    Route,
    TimeoutError as BrowserTimeout,
    async_playwright,
)

from minicrawl.archive.replay import DrawnPage, PageToReplay, Replayed, ReplayedArchive, ShownFile
from minicrawl.crawl.rendering.worker import launch, refusing_port

_VIEW, _LARGEST = (1280, 800), 4096
_SIZE, _SIZE_OFFSET = Struct(">II"), 16
"""Width and height in a PNG."""
_LOAD_MS, _QUIET_MS = 20_000, 5_000
"""Time for a page to load, and to fall silent after that."""
_JUDGE_S = 60.0
_LEVELS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_RULES = {"runOnly": list(_LEVELS), "resultTypes": ["violations"]}
"""Options of axe-core."""
_MOST_FAILED = 1000
_DIFFERENCE = """async ([one, other]) => {
    const pixels = async (data) => {
        const image = new Image();
        image.src = "data:image/png;base64," + data;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height).data;
    };
    const [a, b] = [await pixels(one), await pixels(other)];
    let differing = 0;
    for (let at = 0; at < a.length; at += 4) {
        const distance = Math.abs(a[at] - b[at]) + Math.abs(a[at + 1] - b[at + 1])
            + Math.abs(a[at + 2] - b[at + 2]);
        differing += distance > 48;
    }
    return 4 * differing / a.length;
}"""
"""Share of the pixels in which two pictures of one size differ by more than a shade."""


def replays(
    program: str, pages: Iterable[PageToReplay], archive: ReplayedArchive
) -> Iterator[Replayed]:
    """Yield the replay of each page; pages that the browser cannot open are left out."""
    return _each(program, pages, lambda browser, page: _replay(browser, page, archive))


Judgement = tuple[str, Mapping[str, str], Mapping[str, Any]]
"""URL, the kinds of requests without a response, and what axe-core says of the page."""


def judgements(
    program: str, pages: Iterable[PageToReplay], archive: ReplayedArchive
) -> Iterator[Judgement]:
    """Yield what axe-core says of pages by the rules of WCAG 2.2, levels A and AA."""
    from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]

    axe = Axe()

    async def judge(browser: Browser, page: PageToReplay) -> Judgement:
        async with _opened(browser, page, page.sent, archive, runs_scripts=True) as (shown, lost):
            async with asyncio.timeout(_JUDGE_S):
                return page.url, lost, (await axe.run(shown, options=_RULES)).response

    return _each(program, pages, judge)


_Made = TypeVar("_Made")


def _each(
    program: str,
    pages: Iterable[PageToReplay],
    make: Callable[[Browser, PageToReplay], Coroutine[Any, Any, _Made]],
) -> Iterator[_Made]:
    with asyncio.Runner() as runner, refusing_port() as proxy:
        playwright = runner.run(async_playwright().start())
        try:
            browser = runner.run(launch(playwright, program, proxy))
            for page in pages:
                with suppress(BrowserError, TimeoutError):
                    yield runner.run(make(browser, page))
            runner.run(browser.close())
        finally:
            runner.run(playwright.stop())


async def _replay(browser: Browser, page: PageToReplay, archive: ReplayedArchive) -> Replayed:
    recorded = await _drawn(browser, page, page.recorded, archive, runs_scripts=False)
    recorded = recorded._replace(picture=page.picture or recorded.picture)
    replayed = await _drawn(browser, page, page.sent, archive, runs_scripts=True)
    async with await browser.new_context() as context:
        pictures = [b64encode(drawing.picture).decode() for drawing in (recorded, replayed)]
        difference = await (await context.new_page()).evaluate(_DIFFERENCE, pictures)
    return Replayed(page.url, recorded, replayed, float(difference))


async def _drawn(
    browser: Browser,
    page: PageToReplay,
    content: ShownFile,
    archive: ReplayedArchive,
    *,
    runs_scripts: bool,
) -> DrawnPage:
    opened = _opened(browser, page, content, archive, runs_scripts=runs_scripts)
    async with opened as (shown, lost):
        text = await shown.inner_text("body", timeout=_LOAD_MS)
        return DrawnPage(text, await shown.screenshot(timeout=_LOAD_MS), tuple(lost))


@asynccontextmanager
async def _opened(
    browser: Browser,
    page: PageToReplay,
    content: ShownFile,
    archive: ReplayedArchive,
    *,
    runs_scripts: bool,
) -> AsyncIterator[tuple[Page, Mapping[str, str]]]:
    """Open a page with this content; yield it, and its requests without a response, with kinds."""
    failed = dict[str, str]()
    width, height = _SIZE.unpack_from(page.picture, _SIZE_OFFSET) if page.picture else _VIEW

    async def route(route: Route, request: Request) -> None:
        url = request.url.partition("#")[0]
        body = request.post_data_buffer or b"" if request.method == "POST" else None
        is_page = url == page.url and request.is_navigation_request()
        file = content if is_page else archive.file(url, body)
        with suppress(BrowserError):  # the page was closed meanwhile
            if file is None:
                if len(failed) < _MOST_FAILED:
                    failed.setdefault(url, request.resource_type)
                await route.abort()
            else:
                headers = dict(file.headers) | {"access-control-allow-origin": "*"}
                await route.fulfill(status=file.status, headers=headers, body=file.body)

    async with await browser.new_context(
        java_script_enabled=runs_scripts,
        service_workers="block",
        accept_downloads=False,
        viewport={"width": min(width, _LARGEST), "height": min(height, _LARGEST)},
    ) as context:
        shown = await context.new_page()
        await context.route("**/*", route)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        with suppress(BrowserTimeout):  # drawn as it is then
            await shown.goto(page.url, wait_until="load", timeout=_LOAD_MS)
            await shown.wait_for_load_state("networkidle", timeout=_QUIET_MS)
        yield shown, failed
