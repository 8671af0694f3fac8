"""Display of a running crawl, on stderr: a panel on a terminal, elsewhere occasional lines.

Laws: an event updates a few counters and renders nothing. The remaining time is shown if a budget
is sure to end the crawl. Otherwise an estimate is shown, and called one, while a page that is read
reveals less than half a new page on average: by then a sitemap, or most of a site, is known. Text
of a page or a server is always escaped.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

import click
from rich.filesize import decimal

from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Checking, Delayed, Event, Settled, Steered
from minicrawl.crawl.progress import DiscoveryRate, Progress, RenderingProgress, most_pages
from minicrawl.model import State
from minicrawl.web.urls import readable
from minicrawl.wording import as_duration, counted, percentage, rate, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from minicrawl.report.progress.samples import Sample

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
        from minicrawl.cli.graph_facts import sample_rows

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
