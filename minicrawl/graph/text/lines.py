"""The lines of a graph file, many at a time.

Law: a list is read whole or refused with the place and the line that is wrong; no line is guessed
at or passed over.

plain    text in which the same marks stand between fields on every line. What is plain is taken
         apart at once; what is not is read line by line, as slow as it may be.
weight   a decimal number above 0 that 32 bits can hold.
comment  a line that begins with `#`, or with `%` unless that begins a letter of a URL, as in
         `%C3%85land`. Comments and empty lines say nothing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError

_COMMENT = rb"[#%](?!(?<=%)[0-9A-Fa-f]{2})"
_SILENT = re.compile(rb"\s*(?:" + _COMMENT + rb".*)?", re.DOTALL)
_COMMENT_INSIDE = re.compile(rb"\n[ \t]*" + _COMMENT)
_NUMBER = b"0123456789.eE+-"
_LEAST, _MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
A_WEIGHT: Final = "a weight above 0"
_SHOWN = 40  # characters of a bad line that its message quotes


class LineBlock(NamedTuple):
    """Whole lines, each with its end, and how many of the list came before them."""

    text: bytes
    before: int

    @property
    def height(self) -> int:
        """How many lines."""
        return self.text.count(b"\n")

    def said(self) -> Iterator[tuple[int, bytes]]:
        """The lines that say something, without their ends, by their numbers."""
        lines = self.text.split(b"\n")[:-1]
        for number, line in enumerate(lines, start=self.before + 1):
            if not _SILENT.fullmatch(line):
                yield number, line

    def from_first_said(self) -> "LineBlock":
        """Without the comments on top, which would keep all that follows from being plain."""
        silent, start = 0, 0
        while start < len(self.text):
            end = self.text.index(b"\n", start)
            if not _SILENT.fullmatch(self.text, start, end):
                break
            silent, start = silent + 1, end + 1
        return LineBlock(self.text[start:], self.before + silent) if silent else self

    def behind_first(self) -> "LineBlock":
        """Without the first line."""
        return LineBlock(self.text[self.text.index(b"\n") + 1 :], self.before + 1)

    def has_comments(self) -> bool:
        return _COMMENT_INSIDE.search(b"\n" + self.text) is not None


def weights(fields: Sequence[bytes]) -> NDArray[np.float64] | None:
    """The weight in each field; nothing where one of them holds none."""
    if b"".join(fields).translate(None, _NUMBER):
        return None
    try:
        found = np.array(list(map(float, fields)))
    except ValueError:
        return None
    return found if ((found >= _LEAST) & (found <= _MOST)).all() else None


def refusal(place: str, number: int, expected: str, line: bytes) -> GraphFileError:
    """What to raise over a line; `place` is what a message calls the list."""
    return GraphFileError(f"{place}, line {number}: expected {expected}, found {quoted(line)}")


def quoted(text: bytes) -> str:
    """The text made harmless: one line, no control characters, no more than a glance long."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="backslashreplace"))
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
