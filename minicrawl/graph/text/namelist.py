"""Lists of links between names: URLs, hosts or titles, which stay as they are written.

Which marks stand between the fields of a line is said by its layout:

tabs    source<TAB>target, with or without <TAB>weight
hosts   year|source|target<TAB>weight; what the years say of a link is summed
commas  source,target, with or without weight, under a line that says so; a field may be quoted
"""

import csv
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from minicrawl.graph.links import Ids, LinkArrays
from minicrawl.graph.text.lines import A_WEIGHT, LineBlock, refusal, weights


class Layout(NamedTuple):
    """What a line looks like."""

    marks: bytes
    source: int
    weight: int | None
    expected: str
    is_quoted: bool = False

    @property
    def target(self) -> int:
        return self.source + 1

    @property
    def fields(self) -> int:
        return len(self.marks) + 1


HOSTS: Final = Layout(b"||\t", 1, 3, "year|host|host, a tab and a weight")
TABS: Final = Layout(b"\t", 0, None, "two names with a tab between")
TABS_WEIGHT: Final = Layout(b"\t\t", 0, 2, "two names and a weight with tabs between")
COMMAS: Final = Layout(b",", 0, None, "two names with a comma between", True)
COMMAS_WEIGHT: Final = Layout(b",,", 0, 2, "two names and a weight with commas between", True)

_HEADS: Final = {b"source,target": COMMAS, b"source,target,weight": COMMAS_WEIGHT}
_HOST_LINE: Final = re.compile(rb"[0-9]{4}\|[^|\t]+\|[^|\t]+\t[^|\t]+")


def layout_of(first: bytes) -> tuple[Layout | None, bool]:
    """The layout of a list that begins so, and whether that line is only its head."""
    if layout := _HEADS.get(first.strip().replace(b'"', b"")):
        return layout, True
    if _HOST_LINE.fullmatch(first):
        return HOSTS, False
    return {1: TABS, 2: TABS_WEIGHT}.get(first.count(b"\t")), False


class Numbering:
    """Gives every name a number, from 0, as it comes."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def of(self, names: Sequence[bytes]) -> Ids:
        numbers = self._numbers
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)

    def names(self) -> list[bytes]:
        return list(self._numbers)


class NameList:
    """Reads links of names, block after block."""

    def __init__(self, layout: Layout, place: str) -> None:
        self._layout, self._place = layout, place
        self._numbering = Numbering()
        kept = {*layout.marks, *b"\n", *(b'"' if layout.is_quoted else b"")}
        self._others = bytes(set(range(256)) - kept)
        self._to_ends = bytes.maketrans(layout.marks, b"\n" * len(layout.marks))

    @property
    def names(self) -> list[bytes]:
        """What the numbers of the links so far mean."""
        return self._numbering.names()

    def links(self, block: LineBlock) -> LinkArrays:
        fields = self._plain(block) or self._line_by_line(block)
        layout, width = self._layout, self._layout.fields
        ends = [b""] * (len(fields) // width * 2)
        ends[::2], ends[1::2] = fields[layout.source :: width], fields[layout.target :: width]
        numbers = self._numbering.of(ends)
        found = None if layout.weight is None else weights(fields[layout.weight :: width])
        return LinkArrays(numbers[::2], numbers[1::2], found)

    def finish(self) -> None:
        """Such a list may end anywhere."""

    def _plain(self, block: LineBlock) -> list[bytes] | None:
        """The fields of all lines one after the other, if all are links of the same looks."""
        fields = None if block.has_comments() else self._fields(block.text, block.height)
        return fields if fields and self._weighs(fields) else None

    def _line_by_line(self, block: LineBlock) -> list[bytes]:
        fields: list[bytes] = []
        for number, line in block.said():
            found = self._fields(line + b"\n", 1) or self._unquoted(line)
            if found is None:
                raise refusal(self._place, number, self._layout.expected, line)
            if not self._weighs(found):
                raise refusal(self._place, number, A_WEIGHT, found[-1])
            fields += found
        return fields

    def _fields(self, text: bytes, lines: int) -> list[bytes] | None:
        layout = self._layout
        if text.translate(None, self._others) != (layout.marks + b"\n") * lines:
            return None
        fields = text.translate(self._to_ends).split(b"\n")[:-1]
        years = fields[:: layout.fields] if layout.source else []
        is_whole = b"" not in fields and (not years or b"".join(years).isdigit())
        return fields if is_whole else None

    def _unquoted(self, line: bytes) -> list[bytes] | None:
        if not self._layout.is_quoted:
            return None
        try:
            (row,) = csv.reader([line.decode(errors="surrogateescape")], strict=True)
        except csv.Error:
            return None
        is_whole = len(row) == self._layout.fields and all(row)
        return [cell.encode(errors="surrogateescape") for cell in row] if is_whole else None

    def _weighs(self, fields: Sequence[bytes]) -> bool:
        column = self._layout.weight
        return column is None or weights(fields[column :: self._layout.fields]) is not None
