"""What a terminal does while a crawl runs: it shows progress, and hears signals.

Law: the first signal lets the requests in flight end, the second one aborts them, and the third one
kills the process.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from minicrawl.app import Crawl
from minicrawl.cli.crawl.live import Display
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import Progress

LOGGED_EVERY_S = 60.0
SAMPLED_EVERY_S = 2.0
"""About as often as samples are taken."""
_COST_SHARE = 0.02
"""The share of the time that displays may take; counting millions of pages takes a while."""
_STOPPING = {
    False: "stopping after the requests in flight; interrupt again to stop now",
    True: "leaving the ranks as they are",
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_LOOKS_EVERY_S = 0.1
Report = Callable[[Progress], None]
Hear = Callable[[str], None]
Handler = Callable[[int, FrameType | None], None] | signal.Handlers


async def watched(
    crawl: Crawl, shown: Display, log: Report, hear: Hear | None = None, *, is_sampled: bool = False
) -> Reason:
    """Crawl, show and log the progress from time to time, and hear keys.

    If the crawl is sampled, its progress is also read for each sample, which has the importance
    that was gathered by then.
    """
    terminal = Terminal()
    reports = [(shown.every_s, shown.show), (LOGGED_EVERY_S, log)]
    if is_sampled:
        reports.append((SAMPLED_EVERY_S, lambda _progress: None))
    watching = [asyncio.create_task(_report(crawl, every_s, tell)) for every_s, tell in reports]
    if hear is not None:
        watching.append(asyncio.create_task(terminal.hear_keys(crawl, hear)))
    try:
        with _stoppable(crawl, shown.say, terminal):
            return await crawl.run_async()
    finally:
        for task in watching:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class Terminal:
    """What is to be restored before a signal kills the process."""

    def __init__(self) -> None:
        self.restore: Callable[[], None] = lambda: None

    async def hear_keys(self, crawl: Crawl, hear: Hear) -> None:
        """Seeds that are typed come first: they are read line by line."""
        from minicrawl.cli.crawl.keys import keys_heard

        while not crawl.has_begun:
            await asyncio.sleep(_LOOKS_EVERY_S)
        with keys_heard(hear) as self.restore:
            await asyncio.Event().wait()


async def _report(crawl: Crawl, every_s: float, report: Report) -> None:
    pause_s = every_s
    while True:
        await asyncio.sleep(pause_s)
        began = time.perf_counter()
        progress = crawl.progress()
        if progress is not None:
            report(progress)
        pause_s = max(every_s, (time.perf_counter() - began) / _COST_SHARE)


@contextmanager
def _stoppable(crawl: Crawl, say: Callable[[str], None], terminal: Terminal) -> Iterator[None]:
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
        terminal.restore()
        if not crawl.has_begun:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)

    former = [signal.getsignal(number) for number in _SIGNALS]
    _handle(gracefully)
    try:
        yield
    finally:
        for number, handler in zip(_SIGNALS, former, strict=True):
            signal.signal(number, handler)


def _handle(handler: Handler) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)
