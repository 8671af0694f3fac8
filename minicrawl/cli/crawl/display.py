"""Display of a running crawl, on stderr: a panel on a terminal, elsewhere occasional lines.

Laws: an event updates a few counters and renders nothing. The remaining time is shown if a budget
is sure to end the crawl. Otherwise an estimate is shown, and called one, while a page that is read
reveals less than half a new page on average: by then a sitemap, or most of a site, is known. Text
of a page or a server is always escaped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import click

from minicrawl.cli.crawl.display_state import DisplayState
from minicrawl.cli.crawl.display_text import as_line, as_panel
from minicrawl.crawl.progress import Progress
from minicrawl.wording import visible

if TYPE_CHECKING:
    from rich.console import Console


LINE_EVERY_S = 30.0
PANEL_EVERY_S = 0.25
_ERASE_BELOW = "\x1b[J"


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
