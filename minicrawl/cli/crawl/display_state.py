"""Figures of a running crawl for a display, gathered from its events, and their text."""

import time
from collections.abc import Callable
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING

from rich.filesize import decimal

from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Checking, Delayed, Event, Settled, Steered
from minicrawl.crawl.progress import (
    DiscoveryRate,
    Progress,
    RecentRate,
    RenderingProgress,
    most_pages,
)
from minicrawl.states import State
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import as_duration, counted, percentage, rate, visible

if TYPE_CHECKING:
    from rich.text import Text

    from minicrawl.report.progress.samples import Sample

SPEED_OVER_S = 10.0
RICHEST = 5
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

    def richest(self) -> list[tuple[str, float]]:
        """Return the pages in flight with the most cash."""
        return nlargest(RICHEST, self.in_flight.items(), key=lambda page: page[1])


class Speed:
    """Pages per second: recent, and average since the start."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._began = now, now()
        self._rate = RecentRate(SPEED_OVER_S)
        self.record(0)

    def record(self, pages: int) -> None:
        """Record the number of pages since the start."""
        moment = self._now()
        self.recent = self._rate.record(pages, moment)
        seconds = moment - self._began
        self.mean = pages / seconds if seconds > 0 else 0.0

    @property
    def elapsed_s(self) -> float:
        return self._now() - self._began


class DisplayState:
    """State of this run that a display shows, besides the progress of the crawl."""

    def __init__(self, counter: RunCounter, speed: Speed, budget: Budget) -> None:
        self.counter = counter
        self.speed = speed
        self.budget = budget
        self.is_paused = False
        self.checks = ""  # progress of the checks of links, once the pages are read
        self.latest_sample: Callable[[], Sample | None] | None = None
        self.key_hint = ""  # which key shows the graph
        self._discovery: DiscoveryRate | None = None

    def record(self, progress: Progress) -> None:
        """Record how far the crawl is."""
        self.speed.record(self.counter.read)
        # Pages out of scope are known, too, but nobody will read them.
        all_known = progress.fetched + progress.unread
        if self._discovery is None:
            self._discovery = DiscoveryRate(progress.fetched, all_known)
        self._discovery.record(progress.fetched, all_known)

    def graph(self) -> list[tuple[str, str, str]]:
        """Return rows about the graph, if it is sampled."""
        if self.latest_sample is None:
            return []
        from minicrawl.cli.state.graph import sample_rows

        return list(sample_rows(self.latest_sample(), time.time()))

    def hear(self, event: Event) -> None:
        """Record settings changed while the crawl runs, and the progress of link checks."""
        match event:
            case Steered(is_paused=is_paused, pages=pages):
                self.is_paused = is_paused
                self.budget = replace(self.budget, pages=pages)
            case Checking(done=done, all=all_, noun=noun):
                self.checks = f"{done:,} of {counted(all_, noun)} checked"

    def fetched(self, progress: Progress) -> str:
        most = self._most_pages(progress)
        if most is None:
            return counted(progress.fetched, "page")
        return f"{progress.fetched:,} of {counted(most, 'page')}"

    def elapsed(self, progress: Progress) -> str:
        """Format the elapsed time, and the remaining time if it is known or can be estimated."""
        times, elapsed_s = [], self.speed.elapsed_s
        if self.budget.seconds is not None:
            times.append(max(self.budget.seconds - elapsed_s, 0.0))
        most, pace, shown = self._most_pages(progress), self.speed.mean, as_duration(elapsed_s)
        # With fewer pages waiting, the crawl may run out of pages long before the budget ends it.
        if most is not None and pace and most - progress.fetched <= progress.unread:
            times.append((most - progress.fetched) / pace)
        if times:
            return f"{shown}, about {as_duration(min(times))} left"
        if self._discovery is None or self.counter.read < _FEWEST_READ or not progress.unread:
            return shown
        new_per_page = max(self._discovery.rate, 0.0)
        if new_per_page >= _MOST_NEW or not pace:
            return shown
        # Each of the pages left may reveal as many new ones as the latest pages did.
        pages = round(progress.unread / (1 - new_per_page))
        return f"{shown}, estimate: {counted(pages, 'page')}, {as_duration(pages / pace)} left"

    def _most_pages(self, progress: Progress) -> int | None:
        return most_pages(self.budget, progress.fetched - self.counter.read)

    def rates(self) -> str:
        if self.is_paused:
            return "paused: `minicrawl control resume` continues"
        return f"{rate(self.speed.recent)} now, {rate(self.speed.mean)} on average"


_LABEL, _LEFT, _CASH = 12, 34, 12


def as_line(state: DisplayState, progress: Progress) -> str:
    rendering = ", ".join(_rendering(progress.rendering))
    return (
        f"{state.fetched(progress)}, {state.rates()}; "
        f"importance {percentage(progress.importance_gathered)} (estimate); "
        f"{progress.known:,} known on {counted(progress.hosts, 'host')}, "
        f"{progress.unread:,} unread, {progress.failed:,} failed; "
        f"{as_traffic(progress)}; {state.elapsed(progress)}{progress.long_wait}"
        f"{state.checks and f'; {state.checks}'}"
        f"{rendering and f'; {rendering}'}"
        + "".join(f"; {label} {left}, {right}".rstrip(", ") for label, left, right in state.graph())
    )


def _rendering(progress: RenderingProgress | None) -> tuple[str, ...]:
    """Return how busy the browsers are, and how many pages they have rendered, if there are any."""
    if progress is None:
        return ()
    return (
        f"{len(progress.pages)} of {counted(progress.browsers, 'browser')} busy",
        f"{progress.rendered:,} rendered, {progress.waiting:,} waiting",
    )


def as_traffic(progress: Progress) -> str:
    """Format the number of requests and of bytes on the wire."""
    return f"{counted(progress.requests, 'request')}, {decimal(progress.wire_bytes)}"


def as_panel(state: DisplayState, progress: Progress) -> "Text":
    """Return the progress as a panel of the terminal's width; Ctrl-C is echoed in its last line."""
    from rich.text import Text

    in_flight, rendering, below = state.counter.in_flight, progress.rendering, []
    if shown := _rendering(rendering):
        below.append(("rendering", *shown))
    below.append(
        ("in flight", f"{len(in_flight):,}{', most cash:' if in_flight else ''}", state.key_hint)
    )
    if progress.waits_for:
        host = visible(readable(progress.waits_for))
        below.append(("waits for", f"{host}, {progress.wait_s:.1f} s", ""))
    rows = [
        ("fetched", state.fetched(progress), state.rates()),
        (
            "importance",
            f"{percentage(progress.importance_gathered)} gathered (estimate)",
            f"all cash moved {progress.turns_of_cash:.2f} times",
        ),
        (
            "known",
            f"{progress.known:,} on {counted(progress.hosts, 'host')}",
            f"{progress.unread:,} unread, {progress.failed:,} failed",
        ),
        ("requests", as_traffic(progress), state.elapsed(progress)),
        *([("checks", state.checks, "")] if state.checks else []),
        *state.graph(),
        *below,
    ]
    panel = Text(no_wrap=True, overflow="ellipsis")
    for label, left, right in rows:
        panel.append(f"{label:<{_LABEL}}", style="bold cyan")
        between = "" if len(left) < _LEFT else "  "
        panel.append(f"{left:<{_LEFT}}{between}{right}".rstrip() + "\n")
    for url, cash in state.counter.richest():
        panel.append(f"{cash:>{_CASH},.2f}", style="green")
        panel.append(f"  {visible(readable(url))}\n")
    pages = rendering.pages if rendering else ()
    for url, seconds in nlargest(RICHEST, pages, key=lambda page: page[1]):
        panel.append(f"{seconds:>{_CASH - 2},.1f} s", style="magenta")
        panel.append(f"  {visible(readable(url))}\n")
    return panel
