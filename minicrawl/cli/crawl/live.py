"""What is seen of a crawl while it runs, on stderr: a panel on a terminal, elsewhere a line now
and then.

Laws: an event costs a few entries of a table and no rendering; nothing is said about when the crawl
will end; nothing that a page or a server wrote reaches the terminal as it is.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from heapq import nlargest
from typing import Protocol

import click
from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

from minicrawl.crawl.events import Asked, Delayed, Event, Settled
from minicrawl.crawl.progress import Progress
from minicrawl.export.cells import visible

PANEL_EVERY_S = 0.25
LINE_EVERY_S = 30.0
SPEED_OVER_S = 10.0
RICHEST = 5
_LABEL, _LEFT, _CASH = 12, 34, 12


class Watch:
    """Adds up what this run does; knows which requests are under way and how rich their pages."""

    def __init__(self) -> None:
        self.under_way: dict[str, float] = {}
        self.read = 0
        self.answered = 0
        self.failed = 0

    def hear(self, event: Event) -> None:
        match event:
            case Asked(url=url, cash=cash):
                self.under_way[url] = cash
            case Settled(url=url, state=state):
                if self.under_way.pop(url, None) is not None:
                    self.answered += 1
                    self.read += state.was_read
                    self.failed += state.is_failure
            case Delayed(url=url):
                self.under_way.pop(url, None)
            case _:
                pass

    def richest(self) -> list[tuple[str, float]]:
        """The pages under way that hold most, with their cash."""
        return nlargest(RICHEST, self.under_way.items(), key=lambda page: page[1])


class Speed:
    """Pages a second: of late, and on average since it was made."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._seen = deque([(self._began, 0)])

    def saw(self, pages: int) -> None:
        """So many pages since the beginning."""
        moment = self._now()
        self._seen.append((moment, pages))
        while self._seen[1][0] <= moment - SPEED_OVER_S:
            self._seen.popleft()

    @property
    def elapsed_s(self) -> float:
        return self._now() - self._began

    @property
    def of_late(self) -> float:
        return _rate(self._seen[0], self._seen[-1])

    @property
    def mean(self) -> float:
        return _rate((self._began, 0), self._seen[-1])


def _rate(first: tuple[float, int], last: tuple[float, int]) -> float:
    seconds = last[0] - first[0]
    return (last[1] - first[1]) / seconds if seconds > 0 else 0.0


class Scene:
    """All that a display shows: the crawl as a whole, and this run of it."""

    def __init__(self, watch: Watch, speed: Speed, budget: int | None) -> None:
        self.watch = watch
        self.speed = speed
        self.budget = budget

    def pages(self, progress: Progress) -> str:
        of_budget = f" of {self.budget:,}" if self.budget else ""
        return f"{progress.fetched:,}{of_budget}"

    def rates(self) -> str:
        return f"{self.speed.of_late:,.0f}/s now, {self.speed.mean:,.0f}/s on average"


# ---------------------------------------------------------------- displays


class Display(Protocol):
    """Shows the crawl every so many seconds, and lines in between."""

    every_s: float

    def show(self, progress: Progress) -> None:
        """This is how far it has come."""

    def say(self, line: str) -> None:
        """The line stays to be read."""

    def warn(self, line: str) -> None:
        """The line stays to be read, also by those who want to hear of errors only."""

    def close(self) -> None:
        """Nothing more will be shown."""


class Silence:
    """For those who want to hear of errors only."""

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
    """For a file, a pipe or a log of the system."""

    def __init__(self, scene: Scene, every_s: float = LINE_EVERY_S) -> None:
        self.every_s = every_s
        self._scene = scene

    def show(self, progress: Progress) -> None:
        self._scene.speed.saw(self._scene.watch.read)
        self.say(as_line(self._scene, progress))

    def say(self, line: str) -> None:
        _print(line)

    def warn(self, line: str) -> None:
        self.say(line)

    def close(self) -> None:
        pass


class Panel:
    """For a terminal: it is drawn over and over again, lines go above it."""

    def __init__(self, scene: Scene, console: Console, every_s: float = PANEL_EVERY_S) -> None:
        self.every_s = every_s
        self._scene = scene
        self._console = console
        self._above: list[str] = []
        self._live = Live(
            console=console,
            auto_refresh=False,  # from a thread of its own it would look at what the loop changes
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def show(self, progress: Progress) -> None:
        self._scene.speed.saw(self._scene.watch.read)
        self._print_lines()
        self._live.start()
        self._live.update(as_panel(self._scene, progress), refresh=True)

    def say(self, line: str) -> None:
        """Lines wait for the next drawing: to print one costs as much as a hundred."""
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
    with suppress(BrokenPipeError):  # whoever read this has gone; that is no end of a crawl
        click.echo(visible(line), err=True)


def display(scene: Scene, console: Console, *, quiet: bool) -> Display:
    """The one that fits to where stderr goes."""
    if quiet:
        return Silence()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Panel(scene, console)
    return Lines(scene)


# ---------------------------------------------------------------- words


def as_line(scene: Scene, progress: Progress) -> str:
    """The crawl in one line."""
    return (
        f"{scene.pages(progress)} pages, {scene.rates()}; "
        f"importance {progress.importance_gathered:.1%}; "
        f"{progress.known:,} known on {progress.hosts:,} hosts, {progress.unread:,} unread, "
        f"{progress.failed:,} failed; {_requests(progress)}; {lasted(scene.speed.elapsed_s)}"
    )


def as_panel(scene: Scene, progress: Progress) -> Text:
    """The crawl in some lines that are cut where the terminal ends.

    The last one is blank: there the terminal echoes a Ctrl-C without breaking a line in two.
    """
    under_way = scene.watch.under_way
    rows = [
        ("pages", scene.pages(progress), scene.rates()),
        ("importance", f"{progress.importance_gathered:.1%} gathered", _turns(progress)),
        (
            "known",
            f"{progress.known:,} on {progress.hosts:,} hosts",
            f"{progress.unread:,} unread, {progress.failed:,} failed",
        ),
        ("asked", _requests(progress), lasted(scene.speed.elapsed_s)),
        ("under way", f"{len(under_way):,}{', the richest:' if under_way else ''}", ""),
    ]
    panel = Text(no_wrap=True, overflow="ellipsis")
    for label, left, right in rows:
        panel.append(f"{label:<{_LABEL}}", style="bold cyan")
        panel.append(f"{left:<{_LEFT}}{right}".rstrip() + "\n")
    for url, cash in scene.watch.richest():
        panel.append(f"{cash:>{_CASH},.2f}", style="green")
        panel.append(f"  {visible(url)}\n")
    return panel


def lasted(seconds: float) -> str:
    """A time as people read it."""
    return str(timedelta(seconds=round(seconds)))


def _requests(progress: Progress) -> str:
    return f"{progress.requests:,} requests, {decimal(progress.wire_bytes)}"


def _turns(progress: Progress) -> str:
    return f"the cash went round {progress.turns_of_cash:.2f} times"
