"""Events as log lines, in text or JSON, in one file or one per process.

Law: a logged event is exactly one line without control characters, for any input from servers.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from errno import EDQUOT, ENOSPC
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import assert_never

from minicrawl.cli.output import as_json as json_line
from minicrawl.crawl import events
from minicrawl.crawl.progress import Progress
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.model import COORDINATOR, CrawlerId
from minicrawl.wording import at_most, iso, visible

ROTATED_AT = 10_000_000
"""Size at which a log is rotated, in bytes."""
MOST_WAITING = 1 << 20
"""Maximum bytes buffered while the disk is full: the crawl may be waiting for space as well."""
CRAWLER = "{crawler}"
"""Placeholder for the process in the name of a log; each process then gets a file of its own."""
_MOST_OPEN = 32
"""Maximum number of open files of a log. Each page that kills its worker adds one."""
_NAME = 13
"""Width of the column with the process, in characters."""

_LABELS = {events.Noted: "note", events.Warned: "warning", events.Steered: "control"}

Writer = Callable[[str], None]
Form = Callable[[events.Event, float], str | None]


def as_text(event: events.Event, at: float) -> str | None:
    """Return a line with time, state, duration, process and page; None for no line."""
    match event:
        case events.Asked() | events.Checking() | events.Converging():
            return None
        case events.Settled(
            url=url, state=state, detail=detail, elapsed_s=elapsed_s, crawler=crawler
        ):
            who = "-" if crawler is None else crawler.name
            line = f"{state.label:<12} {elapsed_s:7.3f} s  {who:<{_NAME}}{url}  {detail}"
        case events.Delayed(url=url, detail=detail, crawler=crawler):
            line = f"{'delayed':<24}{crawler.name:<{_NAME}}{url}  {detail}"
        case events.Noted(text=text) | events.Warned(text=text) | events.Steered(text=text):
            line = f"{_LABELS[type(event)]:<24}{text}"
        case events.Ended(reason=reason):
            line = f"{'ended':<24}{reason}"
        case events.Converged(error_bound=error, is_complete=is_complete):
            how = "" if is_complete else "broken off, "
            left = "not kept" if error is None else at_most(error)
            line = f"{'ranks':<24}{how}{left}"
        case _:
            assert_never(event)
    return f"{iso(at)}  {visible(line.rstrip())}"


def as_json(event: events.Event, at: float) -> str | None:
    fields: dict[str, object]
    is_failure = isinstance(event, events.Settled) and event.state.is_failure
    match event:
        case events.Asked() | events.Checking() | events.Converging():
            return None
        case events.Settled(
            url=url, state=state, detail=detail, elapsed_s=elapsed_s, crawler=crawler
        ):
            seconds = round(elapsed_s, 6)
            fields = {"url": url, "state": state.label, "status": event.status}
            fields |= {"seconds": seconds, "detail": detail} | _named(crawler)
        case events.Delayed(url=url, detail=detail, crawler=crawler):
            fields = {"url": url, "detail": detail} | _named(crawler)
        case events.Noted(text=text) | events.Warned(text=text) | events.Steered(text=text):
            fields = {"text": text}
        case events.Ended(reason=reason):
            fields = {"reason": reason}
        case events.Converged(error_bound=error, is_complete=is_complete):
            fields = {"error_bound": error, "complete": is_complete}
        case _:
            assert_never(event)
    level = "warning" if isinstance(event, events.Warned | events.Delayed) or is_failure else "info"
    kind = type(event).__name__.lower()
    return json_line({"at": round(at, 3), "level": level, "event": kind} | fields)


def _named(crawler: CrawlerId | None) -> dict[str, object]:
    if crawler is None:
        return {}
    pid = os.getpid() if crawler == COORDINATOR else crawler.pid
    return {"crawler": crawler.name, "pid": pid}


FORMS: dict[str, Form] = {"text": as_text, "json": as_json}


def progress_line(form: str, progress: Progress, text: str, at: float) -> str:
    """Return the progress as a log line of this form; `text` is used in text logs."""
    if form == "json":
        return json_line(
            {"at": round(at, 3), "level": "info", "event": "progress"} | asdict(progress)
        )
    return f"{iso(at)}  {'progress':<24}{visible(text)}"


class Log:
    """Listener that writes each event as a line."""

    def __init__(
        self,
        form: str,
        *writers: Writer,
        files: "LogFiles | None" = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._form = FORMS[form]
        self._writers, self._files = writers, files
        self._now = now

    def hear(self, event: events.Event) -> None:
        line = self._form(event, self._now())
        if line is None:
            return
        for write in self._writers:
            write(line)
        if self._files is not None:
            crawler = event.crawler if isinstance(event, events.Settled | events.Delayed) else None
            self._files.write(line, crawler or COORDINATOR)


class LogFiles:
    """Log in one file, or in one per process if its name has `{crawler}`."""

    def __init__(self, path: Path, keep: int | None = None) -> None:
        """Open the file of the main process at once, so that a bad name fails early."""
        self._path, self._keep = str(path), keep
        self._open: dict[str, tuple[Writer, ExitStack]] = {}
        self._writer(self._path_of(COORDINATOR))

    def write(self, line: str, crawler: CrawlerId = COORDINATOR) -> None:
        """Append a line to the file of a process."""
        self._writer(self._path_of(crawler))(line)

    def close(self) -> None:
        with ExitStack() as stack:
            for _, closing in self._open.values():
                stack.push(closing)

    def _path_of(self, crawler: CrawlerId) -> str:
        return self._path.replace(CRAWLER, crawler.name.replace(" ", "-"))

    def _writer(self, path: str) -> Writer:
        if path not in self._open:
            if len(self._open) >= _MOST_OPEN:
                _, closing = self._open.pop(next(iter(self._open)))
                closing.close()
            stack = ExitStack()
            self._open[path] = stack.enter_context(log_file(Path(path), self._keep)), stack
        return self._open[path][0]


@contextmanager
def log_file(path: Path, keep: int | None = None) -> Iterator[Writer]:
    """Yield a function that appends a line to the file, once the disk has room.

    With `keep`, a large file is renamed to FILE.1 and so on, and `keep` of these are kept. If
    another program renames the file, as logrotate does, the next line begins a new one.
    """
    file = _opened(path)
    waiting = bytearray()

    def write(line: str) -> None:
        nonlocal file
        waiting.extend(f"{line}\n".encode())
        try:
            is_renamed = not os.path.samestat(path.stat(), os.fstat(file.fileno()))
        except OSError:  # there is no file at the path
            is_renamed = True
        if is_renamed:
            with suppress(OSError):  # until a new file can be opened, lines go to the renamed one
                renamed, file = file, path.open("ab", buffering=0)
                renamed.close()
        _flush(waiting, file, most=MOST_WAITING)
        if keep is not None and not waiting and path.is_file() and file.tell() >= ROTATED_AT:
            file.close()
            names = [
                path,
                *(path.with_name(f"{path.name}.{number}") for number in range(1, keep + 1)),
            ]
            # The oldest first, so that each name is free before the next file takes it.
            for name, older in reversed(list(pairwise(names))):
                if name.exists():
                    name.replace(older)
            path.unlink(missing_ok=True)  # if none is kept
            file = _opened(path)

    try:
        yield write
        _flush(waiting, file, most=0)
    finally:
        file.close()


def _opened(path: Path) -> FileIO:
    try:
        return path.open("ab", buffering=0)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _flush(waiting: bytearray, file: FileIO, *, most: int) -> None:
    try:
        while waiting:
            # The file is unbuffered: `write` returns how many bytes fitted on the disk. The others
            # wait.
            del waiting[: file.write(waiting)]
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT) or len(waiting) > most:
            text = f"{file.name}: {error.strerror}; resume the crawl later"
            raise MinicrawlError(text) from error
