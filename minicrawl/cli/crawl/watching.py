"""Runs a crawl and watches it: progress now and then, signals, and keys (see `keyboard`).

Law of signals: the first waits for the requests in flight, the second aborts them, the third kills
the process.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from minicrawl.app import Crawl
from minicrawl.cli import handling
from minicrawl.cli.crawl.display import Lines
from minicrawl.cli.crawl.keyboard import Hear, Keyboard
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import Progress

LOGGED_EVERY_S = 60.0
SAMPLED_EVERY_S = 2.0
"""Approximate interval of samples, in seconds."""
_COST_SHARE = 0.02
"""Maximum share of time for displays; counting millions of pages takes a while."""
_STOPPING = {
    False: "stopping after the requests in flight; interrupt again to stop now",
    True: "leaving the ranks as they are",
}
"""Messages of the first interrupt: while pages are fetched, and while the ranks converge."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_LOOKS_EVERY_S = 0.1
Report = Callable[[Progress], None]
Handler = Callable[[int, FrameType | None], None] | signal.Handlers


async def watched(
    crawl: Crawl, shown: Lines, log: Report, hear: Hear | None = None, *, is_sampled: bool = False
) -> Reason:
    """Crawl, show and log progress periodically, and handle keys.

    If the crawl is sampled, progress is also read for each sample, which stores the importance
    gathered so far.
    """
    keyboard = None if hear is None else Keyboard(hear, sys.stdin.fileno())
    reports = [(shown.every_s, shown.show), (LOGGED_EVERY_S, log)]
    if is_sampled:
        reports.append((SAMPLED_EVERY_S, lambda _progress: None))
    watching = [asyncio.create_task(_report(crawl, every_s, emit)) for every_s, emit in reports]
    if keyboard is not None:
        watching.append(asyncio.create_task(_hear_keys(crawl, keyboard)))
    try:
        with _stoppable(crawl, shown.say, keyboard):
            return await crawl.run_async()
    finally:
        for task in watching:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _hear_keys(crawl: Crawl, keyboard: Keyboard) -> None:
    """Hear keys as soon as seeds, which may be typed line by line, have been read."""
    while not crawl.has_begun:
        await asyncio.sleep(_LOOKS_EVERY_S)
    loop = asyncio.get_running_loop()
    keyboard.resume()
    loop.add_signal_handler(signal.SIGCONT, keyboard.open)
    try:
        await asyncio.Event().wait()
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        loop.remove_signal_handler(signal.SIGTSTP)
        keyboard.close()


async def _report(crawl: Crawl, every_s: float, report: Report) -> None:
    pause_s = every_s
    while True:
        await asyncio.sleep(pause_s)
        began = time.perf_counter()
        progress = crawl.progress()
        if progress is not None and not crawl.is_over:
            report(progress)
        # Counting the pages of a large crawl takes long, so reports become rarer instead of
        # slowing the crawl.
        pause_s = max(every_s, (time.perf_counter() - began) / _COST_SHARE)


@contextmanager
def _stoppable(
    crawl: Crawl, say: Callable[[str], None], keyboard: Keyboard | None
) -> Iterator[None]:
    """The first signal stops the crawl, the second aborts it, the third kills the process."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        crawl.stop()
        say(_STOPPING[crawl.is_over])

    def gracefully(_number: int, _frame: FrameType | None) -> None:
        if not crawl.has_begun and not crawl.settings.storing.store.exists():
            raise KeyboardInterrupt  # the loop may be blocked on stdin
        _handle(at_once)
        if crawl.has_begun:
            loop.call_soon_threadsafe(stop)
        else:
            crawl.stop()  # at the next seed

    def at_once(_number: int, _frame: FrameType | None) -> None:
        _handle(signal.SIG_DFL)
        if keyboard is not None:
            keyboard.restore()
        if not crawl.has_begun:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)

    with handling(gracefully, *_SIGNALS):
        yield


def _handle(handler: Handler) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)
