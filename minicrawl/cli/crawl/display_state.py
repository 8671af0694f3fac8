"""What a display shows of a running crawl, gathered from its events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING

from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Checking, Delayed, Event, Settled, Steered
from minicrawl.crawl.progress import DiscoveryRate, Progress, most_pages
from minicrawl.states import State
from minicrawl.wording import as_duration, counted, rate

if TYPE_CHECKING:
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
        all_known = progress.fetched + progress.unread
        if self._discovery is None:
            self._discovery = DiscoveryRate(progress.fetched, all_known)
        self._discovery.record(progress.fetched, all_known)

    def graph(self) -> list[tuple[str, str, str]]:
        """Return rows about the graph, if it is sampled."""
        if self.latest_sample is None:
            return []
        from minicrawl.cli.state.graph_facts import sample_rows

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
