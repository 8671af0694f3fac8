"""Progress, signals and keys while a crawl runs.

Law of signals: the first waits for the requests in flight, the second aborts them, the third kills
the process.

Laws of keys: the terminal is restored after any end, and while the crawl is suspended. Only echo
and line buffering are turned off, so Ctrl-C and Ctrl-Z work as usual. A crawl in the background, or
whose stdin is not a terminal, reads no keys and does not touch the terminal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from minicrawl.app import Crawl
from minicrawl.cli import handling
from minicrawl.cli.crawl.display import Lines
from minicrawl.cli.crawl.display_state import DisplayState
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import Progress

if TYPE_CHECKING:
    from minicrawl.cli.crawl.session import RunOptions
    from minicrawl.report.progress.samples import SamplingProcess

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


Hear = Callable[[str], None]
_AT_ONCE = 64


class Keyboard:
    """Keys of a terminal that is shared with other processes."""

    def __init__(self, hear: Hear, fd: int) -> None:
        self._hear, self._fd = hear, fd
        self._former: list[int | list[bytes | int]] | None = None

    def open(self) -> None:
        """Read keys as they are pressed, if the crawl is in the foreground."""
        if self._former is not None or not _is_in_the_foreground(self._fd):
            return
        with suppress(termios.error):
            former = termios.tcgetattr(self._fd)
            changed = [*former]
            changed[3] = former[3] & ~(termios.ECHO | termios.ICANON)
            changed[6] = [*former[6]]
            changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSADRAIN, changed)
            self._former = former
            asyncio.get_running_loop().add_reader(self._fd, self._read)

    def restore(self) -> None:
        """Restore the terminal. Signal handlers may call it."""
        former, self._former = self._former, None
        if former is not None and _is_in_the_foreground(self._fd):
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, former)

    def close(self) -> None:
        """Stop reading keys."""
        asyncio.get_running_loop().remove_reader(self._fd)
        self.restore()

    def suspend(self) -> None:
        """Handle Ctrl-Z: restore the terminal, stop, and read keys again on resume."""
        self.close()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        asyncio.get_running_loop().call_soon(self.resume)

    def resume(self) -> None:
        """Read keys again after a suspension, if in the foreground."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self.suspend)
        self.open()

    def _read(self) -> None:
        try:
            pressed = os.read(self._fd, _AT_ONCE)
        except OSError:
            pressed = b""
        if not pressed:  # the terminal was closed
            self.close()
        for key in pressed.decode("ascii", "ignore"):
            self._hear(key)


def may_hear_keys() -> bool:
    """Return whether stdin and stderr are terminals."""
    with suppress(AttributeError, ValueError, OSError):  # stdin may be closed, or none
        return sys.stdin.isatty() and sys.stderr.isatty()
    return False


def _is_in_the_foreground(fd: int) -> bool:
    """Return whether the crawl is in the foreground; else changing the terminal would stop it."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


class GraphKey:
    """Handler of the key `g`, which shows or hides figures of the graph that a process samples."""

    def __init__(self, state: DisplayState, options: RunOptions, store: Path) -> None:
        self._state, self._store = state, store
        self._graph_of, self._stays = options.graph_of, options.graph_stats
        self._process = ExitStack()
        self._sampling: SamplingProcess | None = None

    def hear(self, key: str) -> None:
        if key not in "gG":
            return
        if self._state.latest_sample is None:
            self.show()
        else:
            self._state.latest_sample = None
            if not self._stays:  # with --graph-stats, sampling continues
                self.close()
        self.hint()

    def hint(self) -> None:
        shows = self._state.latest_sample is not None
        self._state.key_hint = f"g {'hides' if shows else 'shows'} the graph"

    def show(self) -> None:
        """Show the figures, and start sampling."""
        if self._sampling is None:
            from minicrawl.report.progress.samples import sampling_beside

            beside = sampling_beside(self._store, self._graph_of)
            self._sampling = self._process.enter_context(beside)
        self._state.latest_sample = self._sampling.read

    def finish(self, warn: Callable[[], None]) -> None:
        """Take a final sample for --graph-stats, with a warning if that takes a while."""
        if self._stays and self._sampling is not None:
            with suppress(KeyboardInterrupt):
                self._sampling.finish(warn)

    def close(self) -> None:
        self._process.close()
        self._sampling = None
