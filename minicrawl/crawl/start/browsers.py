"""Has the pages of a crawl rendered, if that is wanted.

Laws: a browser that is missing, or does not start, is said before the first request. A crawl that
renders nothing imports nothing of `crawl.rendering`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from minicrawl.config import Rendering, Settings
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.store.reader import archive_folder

Attach = Callable[[Crawler], None]


def check_browser(rendering: Rendering) -> None:
    """Refuse a browser that is not there, before anything is written; raises `UsageError`."""
    if rendering.is_on:
        from minicrawl.crawl.rendering.browser import find_browser

        find_browser(rendering.browser)


@asynccontextmanager
async def browsers_for(settings: Settings, recorder: Recorder) -> AsyncIterator[Attach]:
    """A function that has the pages of a crawler rendered; raises `UsageError`."""
    if not settings.rendering.is_on:
        yield _unrendered
        return
    from minicrawl.crawl.rendering.pool import open_render_pool
    from minicrawl.crawl.rendering.renderer import PageRenderer

    is_kept = recorder.keeping.archive is not None
    archive = archive_folder(settings.storing.store) if is_kept else None
    async with open_render_pool(settings, archive) as pool:

        def attach(crawler: Crawler) -> None:
            crawler.context.renderer = PageRenderer(crawler.context, crawler.parts, pool)

        yield attach


def _unrendered(crawler: Crawler) -> None:
    """Its pages are read as they come."""
