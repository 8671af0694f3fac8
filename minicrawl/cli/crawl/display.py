"""Display of a running crawl, on stderr: a panel on a terminal, elsewhere occasional lines.

Laws: an event updates a few counters and renders nothing. The remaining time is shown if a budget
is sure to end the crawl. Otherwise an estimate is shown, and called one, while a page that is read
reveals less than half a new page on average: by then a sitemap, or most of a site, is known. Text
of a page or a server is always escaped.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from minicrawl.cli.crawl.display_state import DisplayState, as_line, as_panel
from minicrawl.crawl.progress import Progress
from minicrawl.wording import visible

if TYPE_CHECKING:
    from rich.console import Console

LINE_EVERY_S = 30.0
PANEL_EVERY_S = 0.25
_ERASE_BELOW = "\x1b[J"


class Lines:
    """The display for a file, a pipe or a system log: one line at a time; if quiet, only warnings.

    It refreshes every `every_s` seconds, and shows messages in between.
    """

    has_keys = False
    """True if keys may change what is shown."""

    def __init__(
        self,
        state: DisplayState,
        console: "Callable[[], Console]",
        every_s: float = LINE_EVERY_S,
        *,
        quiet: bool = False,
    ) -> None:
        self.every_s = every_s
        self._state, self._console, self._quiet = state, console, quiet

    def show(self, progress: Progress) -> None:
        if not self._quiet:
            self._state.record(progress)
            self.say(as_line(self._state, progress))

    def say(self, line: str) -> None:
        if not self._quiet:
            with suppress(BrokenPipeError):  # the reader of stderr has gone away, the crawl goes on
                click.echo(visible(line), err=True)

    def warn(self, line: str) -> None:
        """Show a message in red, if stderr has colours; even with --quiet."""
        from rich.text import Text

        console = self._console()
        with console.capture() as drawn:
            console.print(Text(visible(line), style="red"), soft_wrap=True)
        with suppress(BrokenPipeError):
            click.echo(drawn.get(), err=True, nl=False, color=True)

    def close(self) -> None:
        """Clear the panel, and print queued messages."""


class Panel(Lines):
    """Display for a terminal: a redrawn panel, with messages above it.

    rich is imported when it draws, because that takes longer than starting a short crawl.
    """

    has_keys = True

    def __init__(self, state: DisplayState, console: "Console") -> None:
        from rich.live import Live

        super().__init__(state, lambda: console, PANEL_EVERY_S)
        self._terminal = console
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
        from rich.control import Control

        self._state.record(progress)
        panel = as_panel(self._state, progress)
        # Lines may have wrapped because the terminal became narrower.

        before, self._width = self._width, self._terminal.width
        more = sum(max(width - 1, 0) // self._width for width in self._drawn)
        if self._width < before and more:
            self._live.stop()
            self._terminal.control(Control.move(0, -more))
            self._terminal.file.write(_ERASE_BELOW)
        self._print_lines()
        self._live.start()
        self._live.update(panel, refresh=True)
        self._drawn = [min(cell_len(line), self._width) for line in panel.plain.splitlines()]

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
            self._terminal.print(Text("\n").join(lines), soft_wrap=True)
            self._above.clear()


def display(state: DisplayState, console: "Callable[[], Console]", *, quiet: bool) -> Lines:
    """Return the display for stderr. A panel and warnings need a rich console."""
    if not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Panel(state, console())
    return Lines(state, console, quiet=quiet)
