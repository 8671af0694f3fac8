"""The display of a running crawl, on stderr: a panel on a terminal, elsewhere a line at times.

Laws: an event updates a few counters and renders nothing. When the crawl will end is estimated only
where a budget is sure to end it. Text of a page or a server is always escaped.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

import click
from rich.filesize import decimal

from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Delayed, Event, Settled, Steered
from minicrawl.crawl.progress import Progress, RenderingProgress, most_pages
from minicrawl.export.cells import visible
from minicrawl.wording import as_duration, counted, rate

if TYPE_CHECKING:
    from rich.console import Console

    from minicrawl.store.beside.samples import Sample

LINE_EVERY_S = 30.0
SPEED_OVER_S = 10.0
RICHEST = 5


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
        self.latest_sample: Callable[[], Sample | None] | None = None
        self.hint = ""  # which key there is

    def graph(self) -> list[tuple[str, str, str]]:
        """Rows about the graph, if samples of it are taken."""
        if self.latest_sample is None:
            return []
        from minicrawl.cli.common.figures import sample_rows

        return list(sample_rows(self.latest_sample(), time.time()))

    def hear(self, event: Event) -> None:
        """Hear what the user changes while the crawl runs."""
        match event:
            case Steered(is_paused=is_paused, pages=pages):
                self.is_paused = is_paused
                self.budget = replace(self.budget, pages=pages)
            case _:
                pass

    def fetched(self, progress: Progress) -> str:
        most = self._most_pages(progress)
        if most is None:
            return counted(progress.fetched, "page")
        return f"{progress.fetched:,} of {counted(most, 'page')}"

    def elapsed(self, progress: Progress) -> str:
        """The time of this run, and what is left of it where the budget and the frontier say."""
        left, shown = self._left_s(progress), as_duration(self.speed.elapsed_s)
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
        return f"{rate(self.speed.recent)} now, {rate(self.speed.mean)} on average"


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
        self._state.speed.record(self._state.counter.read)
        self.say(as_line(self._state, progress))

    def say(self, line: str) -> None:
        _print(line)

    def warn(self, line: str) -> None:
        _print_red(line, self._console())

    def close(self) -> None:
        pass


def _print(line: str) -> None:
    with suppress(BrokenPipeError):  # the reader of stderr has gone away, and the crawl continues
        click.echo(visible(line), err=True)


def _print_red(line: str, console: Console) -> None:
    """In red, if stderr has colours."""
    from rich.text import Text

    with console.capture() as drawn:
        console.print(Text(visible(line), style="red"), soft_wrap=True)
    with suppress(BrokenPipeError):
        click.echo(drawn.get(), err=True, nl=False, color=True)


def display(state: DisplayState, console: Callable[[], Console], *, quiet: bool) -> Display:
    """The display that suits stderr. A panel and warnings need a console of rich."""
    if quiet:
        return Silence(console)
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from minicrawl.cli.crawl.panel import Panel

        return Panel(state, console())
    return Lines(state, console)


# ---------------------------------------------------------------- text


def as_line(state: DisplayState, progress: Progress) -> str:
    """The progress as one line."""
    return (
        f"{state.fetched(progress)}, {state.rates()}; "
        f"importance {progress.importance_gathered:.1%}; "
        f"{progress.known:,} known on {counted(progress.hosts, 'host')}, "
        f"{progress.unread:,} unread, {progress.failed:,} failed; "
        f"{as_traffic(progress)}; {state.elapsed(progress)}{progress.long_wait}"
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
    """What was asked for, and what came."""
    return f"{counted(progress.requests, 'request')}, {decimal(progress.wire_bytes)}"
