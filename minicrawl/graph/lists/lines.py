"""Blocks of lines of a graph file.

A list is read completely, or refused with its name and the number of the bad line. No line is
guessed at or skipped.

plain    text with the same separators on every line. Plain blocks are split in one go; other
         blocks are read line by line, which is slower.
weight   positive decimal number that fits into a 32-bit float.
comment  line that begins with `#`, or with `%` unless a percent-encoded byte follows, as in
         `%C3%85land`. Comments and empty lines are ignored.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError

_COMMENT = rb"[#%](?!(?<=%)[0-9A-Fa-f]{2})"
_IGNORED = re.compile(rb"\s*(?:" + _COMMENT + rb".*)?", re.DOTALL)
_COMMENT_INSIDE = re.compile(rb"\n[ \t]*" + _COMMENT)
_NUMBER = b"0123456789.eE+-"
_LEAST, _MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
A_WEIGHT: Final = "a weight above 0"
_SHOWN = 40  # characters of a bad line that its message quotes


class LineBlock(NamedTuple):
    """Whole lines, each with its end, and the number of lines of the list before them."""

    text: bytes
    before: int

    @property
    def line_count(self) -> int:
        return self.text.count(b"\n")

    def significant_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the significant lines without their ends, with their line numbers."""
        lines = self.text.split(b"\n")[:-1]
        for number, line in enumerate(lines, start=self.before + 1):
            if not _IGNORED.fullmatch(line):
                yield number, line

    def without_leading_comments(self) -> "LineBlock":
        """Return the block without leading comments, which would keep the rest from being plain."""
        ignored, start = 0, 0
        while start < len(self.text):
            end = self.text.index(b"\n", start)
            if not _IGNORED.fullmatch(self.text, start, end):
                break
            ignored, start = ignored + 1, end + 1
        return LineBlock(self.text[start:], self.before + ignored) if ignored else self

    def without_first_line(self) -> "LineBlock":
        return LineBlock(self.text[self.text.index(b"\n") + 1 :], self.before + 1)

    def has_comments(self) -> bool:
        return _COMMENT_INSIDE.search(b"\n" + self.text) is not None


def weights(fields: Sequence[bytes]) -> NDArray[np.float64] | None:
    """Return the weight in each field, or None if any field is not a weight."""
    if b"".join(fields).translate(None, _NUMBER):
        return None
    try:
        values = np.array(list(map(float, fields)))
    except ValueError:
        return None
    return values if ((values >= _LEAST) & (values <= _MOST)).all() else None


def line_error(place: str, number: int, expected: str, line: bytes) -> GraphFileError:
    """Return an error about a line of the list that the message calls `place`."""
    return GraphFileError(f"{place}, line {number}: expected {expected}, found {quoted(line)}")


def quoted(text: bytes) -> str:
    """Return the text as a short repr: one line, no control characters."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="backslashreplace"))
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
