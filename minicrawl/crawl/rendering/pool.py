"""The browsers of a crawl, each in a render worker, shared among the pages that wait for one.

Laws: a browser has one page at a time. Of the hosts whose pages wait for a browser, the one that
has cost least is next. A worker that ends is replaced, and so is one after `MOST_PAGES` pages, as
a browser accumulates memory. After `close` no process is left.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from minicrawl.config import Settings
from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.rendering.render_messages import (
    NotRendered,
    PageToRender,
    RenderCommand,
    RenderConfig,
    Rendered,
    RenderMessage,
    Resource,
    ResourceRequest,
)
from minicrawl.crawl.workers.pool import Activity
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.crawl.workers.visitor import WorkerConfig
from minicrawl.errors import UsageError
from minicrawl.fetch.access.headers import RequestHeaders
from minicrawl.model import Request

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
_CODE = "from minicrawl.crawl.rendering.worker import main; main()"
_FOLDER = "minicrawl-render-"
_NEW_S = 60.0
"""Age of a folder that its crawl may not have locked yet."""

Answer = Callable[[ResourceRequest], Awaitable[Resource]]


def find_browser(named: Path | None) -> str:
    """Return the path of the browser; raises `UsageError` without a browser or playwright."""
    if find_spec("playwright") is None:
        raise UsageError(NO_PLAYWRIGHT)
    if named is not None:
        if not os.access(named, os.X_OK) or named.is_dir():
            raise UsageError(f"--browser {named}: not an executable file")
        return str(named.absolute())
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        raise UsageError(NO_BROWSER)
    return browser


class RenderSlot:
    """Holds one render worker at a time."""

    def __init__(self, config: RenderConfig) -> None:
        self._config = config
        self._child: ChildProcess | None = None
        self._pages = 0
        self.activity = Activity()

    @property
    def pid(self) -> int | None:
        return None if self._child is None or self._child.is_over else self._child.pid

    async def start(self) -> str:
        """Start a worker unless one has pages left; return why it did not start, or nothing."""
        if self._child is None or self._child.is_over or self._pages >= MOST_PAGES:
            await self.close()
            job = ChildJob(code=_CODE, config=self._config, silence_s=SILENCE_S, end_s=_END_S)
            self._child, self._pages = ChildProcess(job), 0
        if self._pages:
            return ""
        try:
            return str(await self._child.call(RenderCommand.START, None))
        except ChildLost:
            return "its process ended"

    async def render(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
        """Run the page's scripts, and return the page. Cancellation ends the browser."""
        if trouble := await self.start():
            await self.close()
            return NotRendered(trouble, may_pass=True)
        self._pages += 1
        number, is_done = self.activity.begin(page.request.url), False
        try:
            limit_s = _TIMES_ITS_LIMIT * self._config.patience * self._config.max_s + _SPARE_S
            async with asyncio.timeout(limit_s):
                result = await self._talk(page, answer)
            is_done = isinstance(result, Rendered)
            return result
        except (ChildLost, TimeoutError):
            return NotRendered("its browser ended", may_pass=True)
        finally:
            self.activity.end(number)
            if not is_done:
                await self.close()

    async def _talk(self, page: PageToRender, answer: Answer) -> Rendered | NotRendered:
        child = self._child
        assert child is not None
        tasks = set[asyncio.Task[None]]()

        async def reply(request: ResourceRequest) -> None:
            await child.feed(RenderCommand.ANSWER, await answer(request))

        try:
            message: RenderMessage = await child.call(RenderCommand.RENDER, page)
            while isinstance(message, ResourceRequest):
                task = asyncio.create_task(reply(message))
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


class RenderPool:
    """Render workers of a crawl."""

    def __init__(self, config: RenderConfig, workers: int) -> None:
        self.slots = [RenderSlot(config) for _ in range(workers)]
        self._free = asyncio.Queue[RenderSlot]()
        for slot in self.slots:
            self._free.put_nowait(slot)
        self._next = FairLock()
        self.charge = self._next.charge

    @asynccontextmanager
    async def free_for(self, host: str) -> AsyncIterator[RenderSlot]:
        """Wait for a free worker, in the order of the hosts' costs."""
        async with self._next.held_for(host):
            slot = await self._free.get()
        try:
            yield slot
        finally:
            self._free.put_nowait(slot)

    async def close(self) -> None:
        await asyncio.gather(*(slot.close() for slot in self.slots))


@asynccontextmanager
async def open_render_pool(settings: Settings, archive: Path | None) -> AsyncIterator[RenderPool]:
    """Open the browsers that the settings ask for, and start one; raises `UsageError`."""
    rendering, storing = settings.rendering, settings.storing
    identity = dict(RequestHeaders(settings.politeness, settings.access).of(Request(url="")))
    browser = find_browser(rendering.browser)
    await asyncio.to_thread(_remove_left_folders)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
    config = RenderConfig(
        browser=browser,
        folder=folder,
        user_agent=identity[b"User-Agent"].decode(),
        languages=settings.access.languages,
        max_s=rendering.max_s,
        max_requests=rendering.max_requests,
        max_memory=rendering.max_memory,
        max_body_bytes=settings.network.max_body_bytes,
        parse_options=WorkerConfig.of(settings).parse_options,
        replays=storing.is_for_replay,
        draws=rendering.screenshots,
        archive=archive,
        only_text=storing.keep == "text",
    )
    pool = RenderPool(config, rendering.workers)
    with _locked(folder):
        try:
            if trouble := await pool.slots[0].start():
                raise UsageError(f"the browser for --render does not start: {trouble}")
            yield pool
        finally:
            await pool.close()
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _remove_left_folders() -> None:
    """Remove the files of browsers whose crawls were killed: nobody holds the locks of these."""
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError), _locked(left):
            if time.time() - left.stat().st_mtime > _NEW_S:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder until the context exits; raises OSError if another process has locked it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
