"""The state of a crawl as one line of text, and as the panel of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import TYPE_CHECKING

from rich.filesize import decimal

from minicrawl.cli.crawl.display_state import RICHEST, DisplayState
from minicrawl.crawl.progress import Progress, RenderingProgress
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import counted, percentage, visible

if TYPE_CHECKING:
    from rich.text import Text


_LABEL, _LEFT, _CASH = 12, 34, 12


def as_line(state: DisplayState, progress: Progress) -> str:
    """Format the progress as one line."""
    return (
        f"{state.fetched(progress)}, {state.rates()}; "
        f"importance {percentage(progress.importance_gathered)} (estimate); "
        f"{progress.known:,} known on {counted(progress.hosts, 'host')}, "
        f"{progress.unread:,} unread, {progress.failed:,} failed; "
        f"{as_traffic(progress)}; {state.elapsed(progress)}{progress.long_wait}"
        f"{state.checks and f'; {state.checks}'}"
        f"{_rendering(progress.rendering)}"
        + "".join(f"; {label} {left}, {right}".rstrip(", ") for label, left, right in state.graph())
    )


def _rendering(progress: RenderingProgress | None) -> str:
    if progress is None:
        return ""
    return (
        f"; {len(progress.pages)} of {counted(progress.browsers, 'browser')} busy, "
        f"{progress.rendered:,} rendered, {progress.waiting:,} waiting"
    )


def as_traffic(progress: Progress) -> str:
    """Format the number of requests and of bytes on the wire."""
    return f"{counted(progress.requests, 'request')}, {decimal(progress.wire_bytes)}"


def as_panel(state: DisplayState, progress: Progress) -> Text:
    """Return the progress as a panel, cut to the width of the terminal.

    The last line is blank, for the echo of Ctrl-C.
    """
    from rich.text import Text

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
    rendering = progress.rendering
    if rendering is not None:
        busy = f"{len(rendering.pages)} of {counted(rendering.browsers, 'browser')} busy"
        yield "rendering", busy, f"{rendering.rendered:,} rendered, {rendering.waiting:,} waiting"


def _wait(progress: Progress) -> Iterator[tuple[str, str, str]]:
    if progress.waits_for:
        yield "waits for", f"{visible(readable(progress.waits_for))}, {progress.wait_s:.1f} s", ""


def _turns(progress: Progress) -> str:
    return f"all cash moved {progress.turns_of_cash:.2f} times"
