"""Events as lines of a log, as text or as JSON.

Law: an event is exactly one line without control characters, whatever a server or a page sent.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from io import FileIO
from pathlib import Path
from typing import assert_never

from minicrawl.cli.common import tables
from minicrawl.crawl.events import (
    Asked,
    Converged,
    Converging,
    Delayed,
    Ended,
    Event,
    Noted,
    Settled,
    Warned,
)
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.export.cells import visible
from minicrawl.report.ranks import iso

MOST_WAITING = 1 << 20
"""Bytes that are kept while the disk is full. The crawl itself may be waiting for room, too."""

Writer = Callable[[str], None]
Form = Callable[[Event, float], str | None]


def as_text(event: Event, at: float) -> str | None:
    """One line of text with the time, the state, the duration and the page; None for no line."""
    match event:
        case Asked() | Converging():
            return None
        case Settled(url=url, state=state, detail=detail, elapsed_s=elapsed_s):
            line = f"{state.label:<12} {elapsed_s:7.3f} s  {url}  {detail}"
        case Delayed(url=url, detail=detail):
            line = f"{'delayed':<24}{url}  {detail}"
        case Noted(text=text):
            line = f"{'note':<24}{text}"
        case Warned(text=text):
            line = f"{'warning':<24}{text}"
        case Ended(reason=reason):
            line = f"{'ended':<24}{reason}"
        case Converged(error_bound=error, is_complete=is_complete):
            how = "" if is_complete else "broken off, "
            left = "not kept" if error is None else f"error at most {error:.1e}"
            line = f"{'ranks':<24}{how}{left}"
        case _:
            assert_never(event)
    return f"{iso(at)}  {visible(line.rstrip())}"


def as_json(event: Event, at: float) -> str | None:
    """One line of JSON; None for no line."""
    fields: dict[str, object]
    match event:
        case Asked() | Converging():
            return None
        case Settled(url=url, state=state, detail=detail, elapsed_s=elapsed_s):
            seconds = round(elapsed_s, 6)
            fields = {"url": url, "state": state.label, "seconds": seconds, "detail": detail}
        case Delayed(url=url, detail=detail):
            fields = {"url": url, "detail": detail}
        case Noted(text=text) | Warned(text=text):
            fields = {"text": text}
        case Ended(reason=reason):
            fields = {"reason": reason}
        case Converged(error_bound=error, is_complete=is_complete):
            fields = {"error_bound": error, "complete": is_complete}
        case _:
            assert_never(event)
    named = {"at": round(at, 3), "event": type(event).__name__.lower()} | fields
    return tables.as_json(named)


FORMS: dict[str, Form] = {"text": as_text, "json": as_json}


class Log:
    """A listener that writes each event as a line."""

    def __init__(self, form: str, *writers: Writer, today: Callable[[], float] = time.time) -> None:
        self._form = FORMS[form]
        self._writers = writers
        self._today = today

    def hear(self, event: Event) -> None:
        line = self._form(event, self._today())
        if line is not None:
            for write in self._writers:
                write(line)


@contextmanager
def log_file(path: Path) -> Iterator[Writer]:
    """Yield a function that appends a line to the file, as soon as the disk has room."""
    try:
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None

    waiting = bytearray()

    def write(line: str) -> None:
        waiting.extend(f"{line}\n".encode())
        _flush(waiting, file, most=MOST_WAITING)

    with file:
        yield write
        _flush(waiting, file, most=0)


def _flush(waiting: bytearray, file: FileIO, *, most: int) -> None:
    try:
        while waiting:
            del waiting[: file.write(waiting)]
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT) or len(waiting) > most:
            text = f"{file.name}: {error.strerror}; resume the crawl later"
            raise MinicrawlError(text) from error
