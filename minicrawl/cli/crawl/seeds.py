"""The seeds that the user names: URLs, files of URLs, stdin.

Law: a list may be of any length and is never held in memory; a line that is no URL is named and
spoils nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from errno import ENOENT
from itertools import chain
from typing import IO

import click

from minicrawl.cli import PROGRAM
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.web.urls import seed

STDIN = "-"
SHOWN_COMPLAINTS = 10
_SHOWN_TEXT = 60
_SCHEMES = ("http://", "https://")


def seeds_of(arguments: Sequence[str], leaving: ExitStack) -> Iterator[str]:
    """The seeds of all arguments; every file is opened now, and read when its turn comes."""
    urls = [text for text in arguments if text.lower().startswith(_SCHEMES)]
    files = [text for text in arguments if text not in urls]
    lists = [(_name(file), leaving.enter_context(_opened(file))) for file in files]
    return chain(urls, _listed(lists, may_be_empty=bool(urls or not lists)))


def read_seeds(lines: Iterable[str], complain: Callable[[int, str], None]) -> Iterator[str]:
    """The URLs of a list, one a line, `#` begins a comment; told are the lines that hold none."""
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        url = seed(text, strip_marks=False)
        if url is not None:
            yield url
        elif text:
            complain(number, text)


def _name(file: str) -> str:
    return "stdin" if file == STDIN else file


def _opened(file: str) -> IO[str]:
    try:
        # What is no UTF-8 spoils its own line alone.
        return click.open_file(file, encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        hint = "; a URL begins with https://" if error.errno == ENOENT else ""
        raise UsageError(f"{file}: {error.strerror}{hint}") from None


def _listed(lists: Sequence[tuple[str, Iterable[str]]], *, may_be_empty: bool) -> Iterator[str]:
    found = 0
    for name, lines in lists:
        complaints = _Complaints(name)
        for url in read_seeds(lines, complaints.hear):
            found += 1
            yield url
        complaints.close()
    if not found and not may_be_empty:
        raise UsageError(f"{', '.join(name for name, _ in lists)}: no URL to start from")


class _Complaints:
    """Names the first lines of a list that are no URLs, and counts the others."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def hear(self, number: int, text: str) -> None:
        self._count += 1
        if self._count <= SHOWN_COMPLAINTS:
            shown = text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
            self._say(f"{self._name}:{number}: {shown} is no URL")

    def close(self) -> None:
        if self._count > SHOWN_COMPLAINTS:
            self._say(f"{self._name}: so are {self._count - SHOWN_COMPLAINTS:,} more lines")

    def _say(self, line: str) -> None:
        click.echo(f"{PROGRAM}: {visible(line)}", err=True)
