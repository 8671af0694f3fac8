"""One run of a crawl at the terminal: its signals, what is said at its end, its exit code.

Laws: a signal lets end what is under way, a second one breaks it off; either way the command that
goes on is printed. What is said goes to stderr.
"""

import asyncio
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.text import Text

from minicrawl.app import Crawl
from minicrawl.cli import PROGRAM
from minicrawl.cli.crawl.live import Display, Scene, Speed, Watch, display, lasted
from minicrawl.cli.crawl.logs import Log, Writer, log_file
from minicrawl.config import Storing
from minicrawl.crawl.events import Event, Listener, Noted, Reason, Warned
from minicrawl.crawl.process_memory import keep_large_arrays_apart
from minicrawl.errors import Interrupted
from minicrawl.export.cells import visible
from minicrawl.report.status import Status, mirrors, status

FEWEST_ANSWERS = 20
"""Fewer prove nothing about the share of failures."""
_NAMELESS = "servers do not know who you are: tell them with --contact URL-or-mail"
_COST_SHARE = 0.02
"""Of the time that may be spent on showing; to count millions of pages takes a while."""
_LABEL = 12
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Handler = Callable[[int, FrameType | None], None] | signal.Handlers


class NotFetched(click.ClickException):
    """What was asked for did not come."""

    exit_code = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the user wants of this run; the settings are those of the crawl."""

    again: str  # the command that goes on
    is_demo: bool
    quiet: bool
    verbose: bool
    log_file: Path | None
    log_format: str
    color: str
    max_failures: float | None


class Session:
    """A run, then the words at its end."""

    def __init__(self, crawl: Crawl, wishes: RunOptions) -> None:
        self._crawl = crawl
        self._wishes = wishes
        self._store = crawl.settings.storing.store
        self._scene = Scene(Watch(), Speed(), crawl.settings.budget.pages)
        self._console = _console(wishes.color)
        self._reason: Reason | None = None

    def run(self) -> None:
        """Crawl, and say what came of it."""
        keep_large_arrays_apart()
        shown = display(self._scene, self._console, quiet=self._wishes.quiet)
        with ExitStack() as leaving:
            leaving.callback(shown.close)
            self._subscribe(shown, leaving)
            with suppress(asyncio.CancelledError), self._interrupted_among_seeds():
                self._reason = asyncio.run(_watched(self._crawl, shown))
        if self._reason is None:
            raise Interrupted(f"broken off; the crawl goes on with: {self._wishes.again}")
        self._say(f"{self._reason}", "bold")
        for name, value in self._facts():
            self._say(f"  {name:<{_LABEL}}{value}")
        if self._reason is Reason.STOPPED:
            raise Interrupted(f"the crawl goes on with: {self._wishes.again}")
        if self._wishes.is_demo:
            self._say("")  # a table follows

    @contextmanager
    def _interrupted_among_seeds(self) -> Iterator[None]:
        """Those that are in the store already are not lost."""
        try:
            yield
        except KeyboardInterrupt:
            if not self._store.exists():
                raise

    def say_what_is_next(self) -> None:
        """The commands to go on with."""
        name = shlex.quote(str(self._store))
        store = "" if self._store == Storing().store else f" --store {name}"
        refine = ("refine",) if self._crawl.settings.storing.links else ()
        self._say("")
        self._say("go on with", "bold")
        for command in ("top --n 20", "status", *refine):
            self._say(f"  {PROGRAM} {command}{store}")
        if self._reason is Reason.BUDGET:
            self._say(f"  {self._wishes.again}  # and a larger budget")

    def judge(self) -> None:
        """Whether enough came of it."""
        if not self._found.pages_fetched:
            raise NotFetched(f"nothing could be fetched{_listed(self._found.failures or {})}")
        watch, limit = self._scene.watch, self._wishes.max_failures
        if limit is not None and watch.answered >= FEWEST_ANSWERS:
            share = watch.failed / watch.answered
            if share > limit:
                raise NotFetched(f"{share:.1%} of the pages asked for failed")

    @cached_property
    def _found(self) -> Status:
        """The store as it is after the run."""
        return status(self._store)

    def _facts(self) -> Iterator[tuple[str, str]]:
        found, watch, speed = self._found, self._scene.watch, self._scene.speed
        known = f"{found.pages_known:,} known on {found.hosts:,} hosts"
        yield "fetched", f"{found.pages_fetched or 0:,} pages of {known}"
        yield "importance", f"{found.importance_gathered or 0:.1%} gathered"
        for name, counts in (("failed", found.failures), ("refused", found.refusals)):
            if counts:
                yield name, f"{sum(counts.values()):,}{_listed(counts)}"
        for mirror in mirrors(self._store):
            yield "mirror", mirror.in_words
        speed.saw(watch.read)
        yield "this run", f"{watch.read:,} pages in {lasted(speed.elapsed_s)}, {speed.mean:,.0f}/s"
        yield "store", str(self._store)

    def _subscribe(self, shown: Display, leaving: ExitStack) -> None:
        wishes, writers = self._wishes, list[Writer]()
        if wishes.verbose:
            writers.append(shown.say)
        if wishes.log_file is not None:
            writers.append(leaving.enter_context(log_file(wishes.log_file)))
        if writers:
            self._crawl.subscribe(Log(wishes.log_format, *writers).hear)
        if not wishes.verbose:
            self._crawl.subscribe(lambda event: _say_what_is_noted(event, shown))
        if not wishes.is_demo:
            self._crawl.subscribe(_warning_of_namelessness(self._crawl, shown))
        self._crawl.subscribe(self._scene.watch.hear)

    def _say(self, line: str, style: str = "") -> None:
        if not self._wishes.quiet:
            self._console.print(Text(visible(line), style=style), soft_wrap=True)


def _warning_of_namelessness(crawl: Crawl, shown: Display) -> Listener:
    """Warns with the first event: a crawl that cannot begin needs no advice.

    By then the store has said whether it keeps a contact.
    """
    lines = [_NAMELESS]

    def hear(_event: Event) -> None:
        while lines:
            line = lines.pop()
            if crawl.settings.politeness.contact is None:
                shown.say(line)

    return hear


def _say_what_is_noted(event: Event, shown: Display) -> None:
    match event:
        case Noted(text=text):
            shown.say(text)
        case Warned(text=text):
            shown.warn(text)
        case _:
            pass


def _listed(counts: dict[str, int]) -> str:
    listed = ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
    return listed and f" ({listed})"


def _console(color: str) -> Console:
    if color == "never":
        return Console(stderr=True, color_system=None)
    if color == "always":
        return Console(stderr=True, force_terminal=True, no_color=False)
    return Console(stderr=True)


# ---------------------------------------------------------------- while it runs


async def _watched(crawl: Crawl, shown: Display) -> Reason:
    """Crawl, and show now and then how far it has come."""
    showing = asyncio.create_task(_show(crawl, shown))
    try:
        with _stoppable(crawl, shown.say):
            return await crawl.run_in_loop()
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


async def _show(crawl: Crawl, shown: Display) -> None:
    pause_s = shown.every_s
    while True:
        await asyncio.sleep(pause_s)
        began = time.perf_counter()
        progress = crawl.progress()
        if progress is not None:
            shown.show(progress)
        pause_s = max(shown.every_s, (time.perf_counter() - began) / _COST_SHARE)


@contextmanager
def _stoppable(crawl: Crawl, say: Callable[[str], None]) -> Iterator[None]:
    """The first signal stops it, the second breaks it off, the third is the system's."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        crawl.stop()
        say("stopping as soon as what is under way has ended; once more stops at once")

    def gracefully(_number: int, _frame: FrameType | None) -> None:
        if not crawl.has_begun and not crawl.settings.storing.store.exists():
            raise KeyboardInterrupt  # the loop may be waiting for a line of stdin
        _handle(at_once)
        if crawl.has_begun:
            loop.call_soon_threadsafe(stop)
        else:
            crawl.stop()  # at the next seed

    def at_once(_number: int, _frame: FrameType | None) -> None:
        _handle(signal.SIG_DFL)
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
