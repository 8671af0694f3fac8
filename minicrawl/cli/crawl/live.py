"""The display of a running crawl, on stderr: a panel on a terminal, elsewhere a line at times.

Laws: an event updates a few counters and renders nothing. When the crawl will end is estimated only
where a budget is sure to end it. Text of a page or a server is always escaped.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

import click
from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Delayed, Event, Settled, Steered
from minicrawl.crawl.progress import Progress, most_pages
from minicrawl.export.cells import visible
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.store.beside.samples import Sample

PANEL_EVERY_S = 0.25
LINE_EVERY_S = 30.0
SPEED_OVER_S = 10.0
RICHEST = 5
_LABEL, _LEFT, _CASH = 12, 34, 12
_ERASE_BELOW = "\x1b[J"


class RunCounter:
    """Counts what this run does, and keeps the requests in flight with the cash of their pages."""

    def __init__(self) -> None:
        self.in_flight: dict[str, float] = {}
        self.read = 0
        self.answered = 0
        self.failed = 0

    def hear(self, event: Event) -> None:
        match event:
            case Asked(url=url, cash=cash):
                self.in_flight[url] = cash
            case Settled(url=url, state=state):
                if self.in_flight.pop(url, None) is not None:
                    self.answered += 1
                    self.read += state.was_read
                    self.failed += state.is_failure
            case Delayed(url=url):
                self.in_flight.pop(url, None)
            case _:
                pass

    def richest(self) -> list[tuple[str, float]]:
        """The pages in flight with the most cash."""
        return nlargest(RICHEST, self.in_flight.items(), key=lambda page: page[1])


class Speed:
    """Pages a second: recently, and on average since the start."""

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
    """What a display shows of this run, beside the progress of the crawl."""

    def __init__(self, counter: RunCounter, speed: Speed, budget: Budget) -> None:
        self.counter = counter
        self.speed = speed
        self.budget = budget
        self.is_paused = False
        self.latest_sample: Callable[[], Sample | None] = lambda: None

    def graph(self) -> list[tuple[str, str, str]]:
        """Rows about the graph, if samples of it are taken."""
        if (sample := self.latest_sample()) is None:
            return []
        from minicrawl.cli.common.figures import sample_rows

        return list(sample_rows(sample, time.time()))

    def hear(self, event: Event) -> None:
        """Hear what the user changes while the crawl runs, and what it does."""
        match event:
            case Steered(is_paused=is_paused, pages=pages):
                self.is_paused = is_paused
                self.budget = replace(self.budget, pages=pages)
            case _:
                self.counter.hear(event)

    def fetched(self, progress: Progress) -> str:
        most = self._most_pages(progress)
        if most is None:
            return counted(progress.fetched, "page")
        return f"{progress.fetched:,} of {counted(most, 'page')}"

    def elapsed(self, progress: Progress) -> str:
        """The time of this run, and what is left of it where the budget and the frontier say."""
        left, elapsed_s = self._left_s(progress), self.speed.elapsed_s
        shown = as_duration(elapsed_s)
        return shown if left is None else f"{shown}, about {as_duration(left)} left"

    def _left_s(self, progress: Progress) -> float | None:
        times = []
        if self.budget.seconds is not None:
            times.append(max(self.budget.seconds - self.speed.elapsed_s, 0.0))
        most, pace = self._most_pages(progress), self.speed.mean
        if most is not None and pace and most - progress.fetched <= progress.unread:
            times.append((most - progress.fetched) / pace)
        return min(times, default=None)

    def _most_pages(self, progress: Progress) -> int | None:
        return most_pages(self.budget, progress.fetched - self.counter.read)

    def rates(self) -> str:
        if self.is_paused:
            return "paused: `minicrawl control resume` goes on"
        return f"{self.speed.recent:,.0f}/s now, {self.speed.mean:,.0f}/s on average"


# ---------------------------------------------------------------- displays


class Display(Protocol):
    """Shows the crawl every `every_s` seconds, and messages in between."""

    every_s: float

    def show(self, progress: Progress) -> None:
        """Show the progress."""

    def say(self, line: str) -> None:
        """Show a message."""

    def warn(self, line: str) -> None:
        """Show a message even with --quiet."""

    def close(self) -> None:
        """Show nothing from now on."""


class Silence:
    """The display of --quiet: warnings only."""

    every_s = LINE_EVERY_S

    def show(self, progress: Progress) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def warn(self, line: str) -> None:
        _print(line)

    def close(self) -> None:
        pass


class Lines:
    """The display for a file, a pipe or a system log: one line at a time."""

    def __init__(self, state: DisplayState, every_s: float = LINE_EVERY_S) -> None:
        self.every_s = every_s
        self._state = state

    def show(self, progress: Progress) -> None:
        self._state.speed.record(self._state.counter.read)
        self.say(as_line(self._state, progress))

    def say(self, line: str) -> None:
        _print(line)

    def warn(self, line: str) -> None:
        self.say(line)

    def close(self) -> None:
        pass


class Panel:
    """The display for a terminal: a panel that is redrawn, with messages above it."""

    def __init__(
        self, state: DisplayState, console: Console, every_s: float = PANEL_EVERY_S
    ) -> None:
        self.every_s = every_s
        self._state = state
        self._console = console
        self._above: list[str] = []
        self._width = console.width
        self._drawn: list[int] = []
        self._live = Live(
            console=console,
            auto_refresh=False,  # a refreshing thread would read what the loop is changing
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def show(self, progress: Progress) -> None:
        self._state.speed.record(self._state.counter.read)
        panel = as_panel(self._state, progress)
        self._clear_what_wrapped()
        self._print_lines()
        self._live.start()
        self._live.update(panel, refresh=True)
        self._drawn = [min(cell_len(line), self._width) for line in panel.plain.splitlines()]

    def _clear_what_wrapped(self) -> None:
        """A terminal that became narrower wraps what was drawn: clear all lines that this made."""
        before, self._width = self._width, self._console.width
        more = sum(max(width - 1, 0) // self._width for width in self._drawn)
        if self._width < before and more:
            self._live.stop()
            self._console.control(Control.move(0, -more))
            self._console.file.write(_ERASE_BELOW)

    def say(self, line: str) -> None:
        """Keep the line until the next refresh: one costs as much to print as a hundred."""
        self._above.append(visible(line))

    def warn(self, line: str) -> None:
        self.say(line)

    def close(self) -> None:
        self._print_lines()
        self._live.stop()

    def _print_lines(self) -> None:
        if self._above:
            self._console.print(Text("\n".join(self._above)), soft_wrap=True)
            self._above.clear()


def _print(line: str) -> None:
    with suppress(BrokenPipeError):  # the reader of stderr has gone away, and the crawl continues
        click.echo(visible(line), err=True)


def display(state: DisplayState, console: Console, *, quiet: bool) -> Display:
    """The display that suits stderr."""
    if quiet:
        return Silence()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Panel(state, console)
    return Lines(state)


# ---------------------------------------------------------------- text


def as_line(state: DisplayState, progress: Progress) -> str:
    """The progress as one line."""
    return (
        f"{state.fetched(progress)}, {state.rates()}; "
        f"importance {progress.importance_gathered:.1%}; "
        f"{progress.known:,} known on {counted(progress.hosts, 'host')}, "
        f"{progress.unread:,} unread, {progress.failed:,} failed; "
        f"{_requests(progress)}; {state.elapsed(progress)}"
        + "".join(f"; {label} {left}, {right}".rstrip(", ") for label, left, right in state.graph())
    )


def as_panel(state: DisplayState, progress: Progress) -> Text:
    """The progress as a panel, its lines cut to the width of the terminal.

    The last line is blank, so that the echo of a Ctrl-C breaks no line.
    """
    in_flight = state.counter.in_flight
    rows = [
        ("fetched", state.fetched(progress), state.rates()),
        ("importance", f"{progress.importance_gathered:.1%} gathered", _turns(progress)),
        (
            "known",
            f"{progress.known:,} on {counted(progress.hosts, 'host')}",
            f"{progress.unread:,} unread, {progress.failed:,} failed",
        ),
        ("requests", _requests(progress), state.elapsed(progress)),
        *state.graph(),
        ("in flight", f"{len(in_flight):,}{', most cash:' if in_flight else ''}", ""),
        *(_wait(progress)),
    ]
    panel = Text(no_wrap=True, overflow="ellipsis")
    for label, left, right in rows:
        panel.append(f"{label:<{_LABEL}}", style="bold cyan")
        between = "" if len(left) < _LEFT else "  "
        panel.append(f"{left:<{_LEFT}}{between}{right}".rstrip() + "\n")
    for url, cash in state.counter.richest():
        panel.append(f"{cash:>{_CASH},.2f}", style="green")
        panel.append(f"  {visible(url)}\n")
    return panel


def _wait(progress: Progress) -> Iterator[tuple[str, str, str]]:
    if progress.waits_for:
        yield "waits for", f"{visible(progress.waits_for)}, {progress.wait_s:.1f} s", ""


def as_duration(seconds: float) -> str:
    """A duration as h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))


def _requests(progress: Progress) -> str:
    return f"{counted(progress.requests, 'request')}, {decimal(progress.wire_bytes)}"


def _turns(progress: Progress) -> str:
    return f"all cash moved {progress.turns_of_cash:.2f} times"
