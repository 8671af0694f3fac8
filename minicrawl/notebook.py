"""The progress of a crawl in a notebook, below its cell.

Law: one display is updated in place, at most twice per second, and once more at the end. Text of
pages is escaped. IPython on a terminal shows text.
"""

import time
from collections.abc import Callable
from html import escape
from typing import Any

from minicrawl.crawl.events import Asked, Ended, Event, Reason
from minicrawl.crawl.progress import Progress
from minicrawl.errors import UsageError
from minicrawl.wording import counted, percentage

SHOWN_EVERY_S = 0.5


class ShownProgress:
    """Progress display: a table in a notebook, a line on a terminal."""

    def __init__(self, progress: Progress | None, url: str, reason: Reason | None) -> None:
        self._progress, self._url, self._reason = progress, url, reason

    def facts(self) -> list[tuple[str, str]]:
        """Return names and values, in display order."""
        rows = [("crawl", "is running" if self._reason is None else str(self._reason))]
        estimate = " (estimate)" if self._reason is None else ""
        if (now := self._progress) is not None:
            rows += [
                ("fetched", counted(now.fetched, "page")),
                ("known", f"{counted(now.known, 'page')} of {counted(now.hosts, 'host')}"),
                ("failed", f"{now.failed:,}"),
                ("importance gathered", f"{percentage(now.importance_gathered)}{estimate}"),
                ("time", f"{now.running_s:,.0f} s"),
            ]
        return [*rows, ("last", self._url)] if self._reason is None else rows

    def __repr__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts()
        )
        return f"<table>{rows}</table>"


class NotebookDisplay:
    """Listener that shows the progress of a crawl."""

    def __init__(
        self,
        progress: Callable[[], Progress | None],
        show: Callable[..., Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`show` is `IPython.display.display`."""
        if show is None:
            try:
                from IPython import display
            except ImportError:
                raise UsageError("show=True needs IPython, as in a notebook") from None
            typed_display: Callable[..., Any] = display.display
            show = typed_display
        self._progress, self._clock = progress, clock
        self._handle = show(ShownProgress(None, "", None), display_id=True)
        self._last: Progress | None = None
        self._url, self._due = "", 0.0

    def hear(self, event: Event) -> None:
        match event:
            case Asked(url=url):
                self._url = url
                if self._clock() >= self._due:
                    self._update(None)
            case Ended(reason=reason):
                self._update(reason)
            case _:
                pass

    def _update(self, reason: Reason | None) -> None:
        # A crawl that has ended has no progress: the last one is shown with the reason.
        self._last = self._progress() or self._last
        if self._handle is not None:  # IPython without a shell has none
            self._handle.update(ShownProgress(self._last, self._url, reason))
        self._due = self._clock() + SHOWN_EVERY_S
