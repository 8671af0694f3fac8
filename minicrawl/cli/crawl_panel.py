"""Display of a running crawl on a terminal: a redrawn panel, with messages above it.

It is a module of its own because importing rich takes longer than starting a short crawl.
"""

from collections.abc import Iterator
from heapq import nlargest

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.live import Live
from rich.text import Text

from minicrawl.cli.crawl_display import RICHEST, DisplayState, as_traffic
from minicrawl.crawl.progress import Progress
from minicrawl.web.urls import readable
from minicrawl.wording import counted, percentage, visible

PANEL_EVERY_S = 0.25
_LABEL, _LEFT, _CASH = 12, 34, 12
_ERASE_BELOW = "\x1b[J"


class Panel:
    """Display for a terminal: a redrawn panel, with messages above it."""

    def __init__(
        self, state: DisplayState, console: Console, every_s: float = PANEL_EVERY_S
    ) -> None:
        self.every_s = every_s
        self._state = state
        self._console = console
        self._above: list[Text] = []
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
        self._state.record(progress)
        panel = as_panel(self._state, progress)
        self._clear_what_wrapped()
        self._print_lines()
        self._live.start()
        self._live.update(panel, refresh=True)
        self._drawn = [min(cell_len(line), self._width) for line in panel.plain.splitlines()]

    def _clear_what_wrapped(self) -> None:
        """Clear lines that wrapped because the terminal became narrower."""
        before, self._width = self._width, self._console.width
        more = sum(max(width - 1, 0) // self._width for width in self._drawn)
        if self._width < before and more:
            self._live.stop()
            self._console.control(Control.move(0, -more))
            self._console.file.write(_ERASE_BELOW)

    def say(self, line: str) -> None:
        """Queue a line until the next refresh; printing one costs as much as a hundred."""
        self._above.append(Text(visible(line)))

    def warn(self, line: str) -> None:
        self._above.append(Text(visible(line), style="red"))

    def close(self) -> None:
        self._print_lines()
        self._live.stop()

    def _print_lines(self) -> None:
        if self._above:
            self._console.print(Text("\n").join(self._above), soft_wrap=True)
            self._above.clear()


def as_panel(state: DisplayState, progress: Progress) -> Text:
    """Return the progress as a panel, cut to the width of the terminal.

    The last line is blank, for the echo of Ctrl-C.
    """
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
