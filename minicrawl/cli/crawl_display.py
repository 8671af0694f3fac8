"""Display of a running crawl, on stderr: a panel on a terminal, elsewhere occasional lines.

Laws: an event updates a few counters and renders nothing. The remaining time is shown if a budget
is sure to end the crawl. Otherwise an estimate is shown, and called one, while a page that is read
reveals less than half a new page on average: by then a sitemap, or most of a site, is known. Text
of a page or a server is always escaped.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from heapq import nlargest
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

import click
from rich.filesize import decimal

from minicrawl.app import Crawl
from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Checking, Delayed, Event, Reason, Settled, Steered
from minicrawl.crawl.progress import DiscoveryRate, Progress, RenderingProgress, most_pages
from minicrawl.model import State
from minicrawl.web.urls import readable
from minicrawl.wording import as_duration, counted, percentage, rate, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from minicrawl.cli.crawl_session import RunOptions
    from minicrawl.report.crawl_status import Sample, SamplingProcess

LINE_EVERY_S = 30.0
PANEL_EVERY_S = 0.25
SPEED_OVER_S = 10.0
RICHEST = 5
_LABEL, _LEFT, _CASH = 12, 34, 12
_ERASE_BELOW = "\x1b[J"
_FEWEST_READ = 50
"""Minimum number of pages read in this run for an estimate of the pages that are left."""
_MOST_NEW = 0.5
"""Maximum of new pages per page read for an estimate; beyond it the crawl may never end."""


class RunCounter:
    """Counters of this run, and its requests in flight with the cash of their pages."""

    def __init__(self) -> None:
        self.in_flight: dict[str, float] = {}
        self.read = 0
        self.answered = 0
        self.failed = 0
        self.absent = 0
        """Failed pages that a server said it does not have."""
        self.not_requested = 0
        """Pages that were not requested, because their host is down."""

    def hear(self, event: Event) -> None:
        match event:
            case Asked(url=url, cash=cash):
                self.in_flight[url] = cash
            case Settled(url=url, state=state):
                if self.in_flight.pop(url, None) is None:
                    self.not_requested += state.is_failure
                    return
                self.answered += 1
                self.read += state.was_read
                self.failed += state.is_failure
                self.absent += state is State.NOT_FOUND
            case Delayed(url=url):
                self.in_flight.pop(url, None)
            case _:
                pass

    def richest(self) -> list[tuple[str, float]]:
        """Return the pages in flight with the most cash."""
        return nlargest(RICHEST, self.in_flight.items(), key=lambda page: page[1])


class Speed:
    """Pages per second: recent, and average since the start."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._seen = deque([(self._began, 0)])

    def record(self, pages: int) -> None:
        """Record the number of pages since the start."""
        moment = self._now()
        self._seen.append((moment, pages))
        while self._seen[1][0] <= moment - SPEED_OVER_S:
            self._seen.popleft()

    @property
    def elapsed_s(self) -> float:
        return self._now() - self._began

    @property
    def recent(self) -> float:
        return _rate(self._seen[0], self._seen[-1])

    @property
    def mean(self) -> float:
        return _rate((self._began, 0), self._seen[-1])


def _rate(first: tuple[float, int], last: tuple[float, int]) -> float:
    seconds = last[0] - first[0]
    return (last[1] - first[1]) / seconds if seconds > 0 else 0.0


class DisplayState:
    """State of this run that a display shows, besides the progress of the crawl."""

    def __init__(self, counter: RunCounter, speed: Speed, budget: Budget) -> None:
        self.counter = counter
        self.speed = speed
        self.budget = budget
        self.is_paused = False
        self.checks = ""  # progress of the checks of links, once the pages are read
        self.latest_sample: Callable[[], Sample | None] | None = None
        self.hint = ""  # hint about the key
        self._discovery: DiscoveryRate | None = None

    def record(self, progress: Progress) -> None:
        """Record how far the crawl is."""
        self.speed.record(self.counter.read)
        # Pages out of scope are known, too, but nobody will read them.
        found = progress.fetched + progress.unread
        if self._discovery is None:
            self._discovery = DiscoveryRate(progress.fetched, found)
        self._discovery.record(progress.fetched, found)

    def graph(self) -> list[tuple[str, str, str]]:
        """Return rows about the graph, if it is sampled."""
        if self.latest_sample is None:
            return []
        from minicrawl.cli.output import sample_rows

        return list(sample_rows(self.latest_sample(), time.time()))

    def hear(self, event: Event) -> None:
        """Record settings changed while the crawl runs, and the progress of link checks."""
        match event:
            case Steered(is_paused=is_paused, pages=pages):
                self.is_paused = is_paused
                self.budget = replace(self.budget, pages=pages)
            case Checking(done=done, all=all_, noun=noun):
                self.checks = f"{done:,} of {counted(all_, noun)} checked"
            case _:
                pass

    def fetched(self, progress: Progress) -> str:
        most = self._most_pages(progress)
        if most is None:
            return counted(progress.fetched, "page")
        return f"{progress.fetched:,} of {counted(most, 'page')}"

    def elapsed(self, progress: Progress) -> str:
        """Format the elapsed time, and the remaining time if it is known or can be estimated."""
        left, shown = self._left_s(progress), as_duration(self.speed.elapsed_s)
        if left is not None:
            return f"{shown}, about {as_duration(left)} left"
        pages, pace = self._pages_left(progress), self.speed.mean
        if pages is None or not pace:
            return shown
        return f"{shown}, estimate: {counted(pages, 'page')}, {as_duration(pages / pace)} left"

    def _pages_left(self, progress: Progress) -> int | None:
        """Estimate the number of pages left, if each reveals as many new ones as recent ones."""
        if self._discovery is None or self.counter.read < _FEWEST_READ or not progress.unread:
            return None
        rate = max(self._discovery.rate, 0.0)
        return round(progress.unread / (1 - rate)) if rate < _MOST_NEW else None

    def _left_s(self, progress: Progress) -> float | None:
        times = []
        if self.budget.seconds is not None:
            times.append(max(self.budget.seconds - self.speed.elapsed_s, 0.0))
        most, pace = self._most_pages(progress), self.speed.mean
        # With fewer pages waiting, the crawl may run out of pages long before the budget ends it.
        if most is not None and pace and most - progress.fetched <= progress.unread:
            times.append((most - progress.fetched) / pace)
        return min(times, default=None)

    def _most_pages(self, progress: Progress) -> int | None:
        return most_pages(self.budget, progress.fetched - self.counter.read)

    def rates(self) -> str:
        if self.is_paused:
            return "paused: `minicrawl control resume` continues"
        return f"{rate(self.speed.recent)} now, {rate(self.speed.mean)} on average"


# ---------------------------------------------------------------- displays


class Display(Protocol):
    """Display that refreshes every `every_s` seconds, and shows messages in between."""

    every_s: float

    def show(self, progress: Progress) -> None:
        """Show the progress."""

    def say(self, line: str) -> None:
        """Show a message."""

    def warn(self, line: str) -> None:
        """Show a message even with --quiet."""

    def close(self) -> None:
        """Clear the panel, and print queued messages."""


class Silence:
    """The display of --quiet: warnings only."""

    every_s = LINE_EVERY_S

    def __init__(self, console: Callable[[], Console]) -> None:
        self._console = console

    def show(self, progress: Progress) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def warn(self, line: str) -> None:
        _print_red(line, self._console())

    def close(self) -> None:
        pass


class Lines:
    """The display for a file, a pipe or a system log: one line at a time."""

    def __init__(
        self,
        state: DisplayState,
        console: Callable[[], Console],
        every_s: float = LINE_EVERY_S,
    ) -> None:
        self.every_s = every_s
        self._state, self._console = state, console

    def show(self, progress: Progress) -> None:
        self._state.record(progress)
        self.say(as_line(self._state, progress))

    def say(self, line: str) -> None:
        _print(line)

    def warn(self, line: str) -> None:
        _print_red(line, self._console())

    def close(self) -> None:
        pass


class Panel:
    """Display for a terminal: a redrawn panel, with messages above it.

    rich is imported when it draws, because that takes longer than starting a short crawl.
    """

    def __init__(
        self, state: DisplayState, console: Console, every_s: float = PANEL_EVERY_S
    ) -> None:
        from rich.live import Live

        self.every_s = every_s
        self._state = state
        self._console = console
        self._above: list[tuple[str, str]] = []
        self._width = console.width
        self._drawn: list[int] = []
        self._live = Live(
            console=console,
            auto_refresh=False,  # its thread would race with the event loop
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def show(self, progress: Progress) -> None:
        from rich.cells import cell_len

        self._state.record(progress)
        panel = as_panel(self._state, progress)
        self._clear_what_wrapped()
        self._print_lines()
        self._live.start()
        self._live.update(panel, refresh=True)
        self._drawn = [min(cell_len(line), self._width) for line in panel.plain.splitlines()]

    def _clear_what_wrapped(self) -> None:
        """Clear lines that wrapped because the terminal became narrower."""
        from rich.control import Control

        before, self._width = self._width, self._console.width
        more = sum(max(width - 1, 0) // self._width for width in self._drawn)
        if self._width < before and more:
            self._live.stop()
            self._console.control(Control.move(0, -more))
            self._console.file.write(_ERASE_BELOW)

    def say(self, line: str) -> None:
        """Queue a line until the next refresh; printing one costs as much as a hundred."""
        self._above.append((visible(line), ""))

    def warn(self, line: str) -> None:
        self._above.append((visible(line), "red"))

    def close(self) -> None:
        self._print_lines()
        self._live.stop()

    def _print_lines(self) -> None:
        from rich.text import Text

        if self._above:
            lines = [Text(line, style) for line, style in self._above]
            self._console.print(Text("\n").join(lines), soft_wrap=True)
            self._above.clear()


def _print(line: str) -> None:
    with suppress(BrokenPipeError):  # the reader of stderr has gone away, and the crawl continues
        click.echo(visible(line), err=True)


def _print_red(line: str, console: Console) -> None:
    """Print a line in red, if stderr has colours."""
    from rich.text import Text

    with console.capture() as drawn:
        console.print(Text(visible(line), style="red"), soft_wrap=True)
    with suppress(BrokenPipeError):
        click.echo(drawn.get(), err=True, nl=False, color=True)


def display(state: DisplayState, console: Callable[[], Console], *, quiet: bool) -> Display:
    """Return the display for stderr. A panel and warnings need a rich console."""
    if quiet:
        return Silence(console)
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Panel(state, console())
    return Lines(state, console)


# ---------------------------------------------------------------- text


def as_line(state: DisplayState, progress: Progress) -> str:
    """Format the progress as one line."""
    return (
        f"{state.fetched(progress)}, {state.rates()}; "
        f"importance {percentage(progress.importance_gathered)} (estimate); "
        f"{progress.known:,} known on {counted(progress.hosts, 'host')}, "
        f"{progress.unread:,} unread, {progress.failed:,} failed; "
        f"{as_traffic(progress)}; {state.elapsed(progress)}{progress.long_wait}"
        f"{state.checks and f'; {state.checks}'}"
        f"{_rendering(progress.rendering)}"
        + "".join(f"; {label} {left}, {right}".rstrip(", ") for label, left, right in state.graph())
    )


def _rendering(found: RenderingProgress | None) -> str:
    if found is None:
        return ""
    return (
        f"; {len(found.pages)} of {counted(found.browsers, 'browser')} busy, "
        f"{found.rendered:,} rendered, {found.waiting:,} waiting"
    )


def as_traffic(progress: Progress) -> str:
    """Format the number of requests and of bytes on the wire."""
    return f"{counted(progress.requests, 'request')}, {decimal(progress.wire_bytes)}"


def as_panel(state: DisplayState, progress: Progress) -> Text:
    """Return the progress as a panel, cut to the width of the terminal.

    The last line is blank, for the echo of Ctrl-C.
    """
    from rich.text import Text

    in_flight = state.counter.in_flight
    rows = [
        ("fetched", state.fetched(progress), state.rates()),
        (
            "importance",
            f"{percentage(progress.importance_gathered)} gathered (estimate)",
            _turns(progress),
        ),
        (
            "known",
            f"{progress.known:,} on {counted(progress.hosts, 'host')}",
            f"{progress.unread:,} unread, {progress.failed:,} failed",
        ),
        ("requests", as_traffic(progress), state.elapsed(progress)),
        *([("checks", state.checks, "")] if state.checks else []),
        *state.graph(),
        *_browsers(progress),
        ("in flight", f"{len(in_flight):,}{', most cash:' if in_flight else ''}", state.hint),
        *(_wait(progress)),
    ]
    panel = Text(no_wrap=True, overflow="ellipsis")
    for label, left, right in rows:
        panel.append(f"{label:<{_LABEL}}", style="bold cyan")
        between = "" if len(left) < _LEFT else "  "
        panel.append(f"{left:<{_LEFT}}{between}{right}".rstrip() + "\n")
    for url, cash in state.counter.richest():
        panel.append(f"{cash:>{_CASH},.2f}", style="green")
        panel.append(f"  {visible(readable(url))}\n")
    rendering = progress.rendering.pages if progress.rendering else ()
    for url, seconds in nlargest(RICHEST, rendering, key=lambda page: page[1]):
        panel.append(f"{seconds:>{_CASH - 2},.1f} s", style="magenta")
        panel.append(f"  {visible(readable(url))}\n")
    return panel


def _browsers(progress: Progress) -> Iterator[tuple[str, str, str]]:
    found = progress.rendering
    if found is not None:
        busy = f"{len(found.pages)} of {counted(found.browsers, 'browser')} busy"
        yield "rendering", busy, f"{found.rendered:,} rendered, {found.waiting:,} waiting"


def _wait(progress: Progress) -> Iterator[tuple[str, str, str]]:
    if progress.waits_for:
        yield "waits for", f"{visible(readable(progress.waits_for))}, {progress.wait_s:.1f} s", ""


def _turns(progress: Progress) -> str:
    return f"all cash moved {progress.turns_of_cash:.2f} times"


# ================================================================ watching
#
# Progress and signals while a crawl runs.
#
# Law: the first signal waits for the requests in flight, the second aborts them, the third kills
# the process.

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
Hear = Callable[[str], None]
Handler = Callable[[int, FrameType | None], None] | signal.Handlers


async def watched(
    crawl: Crawl, shown: Display, log: Report, hear: Hear | None = None, *, is_sampled: bool = False
) -> Reason:
    """Crawl, show and log progress periodically, and handle keys.

    If the crawl is sampled, progress is also read for each sample, which stores the importance
    gathered so far.
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
    """Terminal with its `restore` function, to be called before a signal kills the process."""

    def __init__(self) -> None:
        self.restore: Callable[[], None] = lambda: None

    async def hear_keys(self, crawl: Crawl, hear: Hear) -> None:
        """Hear keys as soon as seeds, which may be typed line by line, have been read."""
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
        if progress is not None and not crawl.is_over:
            report(progress)
        # Counting the pages of a large crawl takes long, so reports become rarer instead of
        # slowing the crawl.
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


# ================================================================ keys
#
# Keys that the user presses while a crawl runs.
#
# Laws: the terminal is restored after any end, and while the crawl is suspended. Only echo and line
# buffering are turned off, so Ctrl-C and Ctrl-Z work as usual. A crawl in the background, or whose
# stdin is not a terminal, reads no keys and does not touch the terminal.

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


@contextmanager
def keys_heard(hear: Hear) -> Iterator[Callable[[], None]]:
    """Read keys in this context. Yield a function that restores the terminal before a kill."""
    if not may_hear_keys():
        yield lambda: None
        return
    keyboard = Keyboard(hear, sys.stdin.fileno())
    loop = asyncio.get_running_loop()
    keyboard.resume()
    loop.add_signal_handler(signal.SIGCONT, keyboard.open)
    try:
        yield keyboard.restore
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        loop.remove_signal_handler(signal.SIGTSTP)
        keyboard.close()


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


# ---------------------------------------------------------------- actions of keys


class GraphKey:
    """Handler of the key `g`, which shows or hides figures of the graph that a process samples."""

    def __init__(self, state: DisplayState, options: RunOptions, store: Path) -> None:
        self._state, self._store = state, store
        self._graph_of, self._stays = options.graph_of, options.graph_stats
        self._process = ExitStack()
        self._sampling: SamplingProcess | None = None

    def hear(self, key: str) -> None:
        """Handle a key."""
        if key not in "gG":
            return
        if self._state.latest_sample is None:
            self.show()
        else:
            self.hide()
        self.hint()

    def hint(self) -> None:
        """Show a hint about the key."""
        shows = self._state.latest_sample is not None
        self._state.hint = f"g {'hides' if shows else 'shows'} the graph"

    def show(self) -> None:
        """Show the figures, and start sampling."""
        if self._sampling is None:
            from minicrawl.report.crawl_status import sampling_beside

            beside = sampling_beside(self._store, self._graph_of)
            self._sampling = self._process.enter_context(beside)
        self._state.latest_sample = self._sampling.read

    def hide(self) -> None:
        """Hide the figures; with --graph-stats, sampling continues."""
        self._state.latest_sample = None
        if not self._stays:
            self.close()

    def finish(self, tell: Callable[[], None]) -> None:
        """Take a final sample for --graph-stats.

        `tell` is called if that takes a while; an interrupt skips it.
        """
        if self._stays and self._sampling is not None:
            with suppress(KeyboardInterrupt):
                self._sampling.finish(tell)

    def close(self) -> None:
        """Stop sampling."""
        self._process.close()
        self._sampling = None
