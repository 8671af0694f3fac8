"""Edge lists, between ids or between names.

A list between ids has two integers a line, and a weight if the first line has one, in decimal
digits with spaces or tabs between and around them. Ids may be sparse: memory depends on the
number of ids, not on their size. The nodes of the graph are in the order of their ids, and the
decimal id is the name of a node (`NumericNames`).

Names are URLs, hosts or titles, kept as written. The layout tells the separators:

tabs    source<TAB>target, maybe with <TAB>weight; a first line of just these words is a header
hosts   year|source|target<TAB>weight; the weights of a link in different years are summed
commas  source,target, maybe with weight, under a header; fields may be quoted
end     fourth column of exports: the page that the target redirects to. It may be empty, and is
        ignored
"""

import csv
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.link_builder import LinkArrays
from minicrawl.graph.lists.lines import A_WEIGHT, LineBlock, line_error, quoted, weights
from minicrawl.graph.named_graph import NodeHosts

ID_LIMIT: Final = 2**63
"""Exclusive upper bound of ids."""

IDS: Final = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+(?P<weight>[ \t]+\S+)?\s*")
"""Pattern of a line in a list between ids."""

DIGITS = b"0123456789"
SURE = 10**18  # above this, the fast parser may have overflowed
_ENDS = 2  # of a link


class IdList:
    """Parser for links between ids."""

    names = None

    def __init__(self, first: bytes, place: str) -> None:
        match = IDS.fullmatch(first)
        self._place = place
        self._columns = _ENDS + bool(match and match["weight"])
        # A plain line without its digits.
        self._separators = first.translate(None, DIGITS) + b"\n"

    def links(self, block: LineBlock) -> LinkArrays:
        return self._plain(block) or self._line_by_line(block)

    def finish(self) -> None:
        """Accept any end: such a list has no announced length."""

    def _plain(self, block: LineBlock) -> LinkArrays | None:
        """Parse a block whose separators match exactly, so that no number is missing."""
        lines, separators = block.line_count, self._separators
        # With its digits removed, the block shows in one pass whether all lines have the form of
        # the first one. Then one call parses all numbers; line by line takes many times as long.
        if (
            len(separators) != self._columns
            or block.text.translate(None, DIGITS) != separators * lines
        ):
            return None
        numbers = np.fromstring(block.text, dtype=np.int64, sep=" ")
        if len(numbers) != self._columns * lines or numbers.max() >= SURE:
            return None
        sources, targets, *columns = numbers.reshape(lines, self._columns).T
        if not all(column.all() for column in columns):
            return None
        return LinkArrays(sources, targets, *(column.astype(np.float64) for column in columns))

    def _line_by_line(self, block: LineBlock) -> LinkArrays:
        ids: list[int] = []
        weight_fields: list[bytes] = []
        for number, line in block.significant_lines():
            fields = line.split()
            if len(fields) != self._columns or not b"".join(fields[:_ENDS]).isdigit():
                expected = "two page ids" + " and a weight" * (self._columns > _ENDS)
                raise line_error(self._place, number, expected, line)
            if fields[_ENDS:] and weights(fields[_ENDS:]) is None:
                raise line_error(self._place, number, A_WEIGHT, fields[_ENDS])
            ids += (self._parse_id(field, number) for field in fields[:_ENDS])
            weight_fields += fields[_ENDS:]
        ends = np.array(ids, dtype=np.int64)
        return LinkArrays(
            ends[::2], ends[1::2], weights(weight_fields) if self._columns > _ENDS else None
        )

    def _parse_id(self, digits: bytes, number: int) -> int:
        significant = digits.lstrip(b"0") or b"0"
        if len(significant) > len(str(ID_LIMIT)) or int(significant) >= ID_LIMIT:
            message = f"page ids are below 2**63, found {quoted(digits)}"
            raise GraphFileError(f"{self._place}, line {number}: {message}")
        return int(significant)


class NumericNames:
    """Names that are ascending numbers in decimal digits, one for each node."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return list(map(str, self._ids[np.asarray(nodes, dtype=np.int64)].tolist()))

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [self._node(name) for name in names]

    def hosts(self) -> NodeHosts:
        return NodeHosts(np.arange(len(self), dtype=np.int32), list(map(str, self._ids.tolist())))

    def _node(self, name: str) -> int | None:
        # Python refuses to parse thousands of digits.
        if not (name.isascii() and name.isdigit() and len(name) <= len(str(ID_LIMIT))):
            return None
        number = int(name)
        place = int(np.searchsorted(self._ids, number)) if number < ID_LIMIT else len(self)
        return place if place < len(self) and self._ids[place] == number else None


class Layout(NamedTuple):
    """Separators and columns of a line."""

    separators: bytes
    source: int
    weight: int | None
    expected: str
    is_quoted: bool = False
    has_end: bool = False

    @property
    def target(self) -> int:
        return self.source + 1

    @property
    def fields(self) -> int:
        return len(self.separators) + 1


HOSTS: Final = Layout(b"||\t", 1, 3, "year|host|host, a tab and a weight")
TABS: Final = Layout(b"\t", 0, None, "two names with a tab between")
TABS_WEIGHT: Final = Layout(b"\t\t", 0, 2, "two names and a weight with tabs between")
COMMAS: Final = Layout(b",", 0, None, "two names with a comma between", True)
COMMAS_WEIGHT: Final = Layout(b",,", 0, 2, "two names and a weight with commas between", True)
_EXPORTED = "two names, a weight and the target of a redirect, with {} between"
COMMAS_END: Final = Layout(b",,,", 0, 2, _EXPORTED.format("commas"), True, True)
TABS_END: Final = Layout(b"\t\t\t", 0, 2, _EXPORTED.format("tabs"), False, True)

_HEADS: Final = {
    b"source,target": COMMAS,
    b"source,target,weight": COMMAS_WEIGHT,
    b"source\ttarget": TABS,
    b"source\ttarget\tweight": TABS_WEIGHT,
    b"source,target,weight,end": COMMAS_END,
    b"source\ttarget\tweight\tend": TABS_END,
}
_HOST_LINE: Final = re.compile(rb"[0-9]{4}\|[^|\t]+\|[^|\t]+\t[^|\t]+")


def layout_of(first: bytes) -> tuple[Layout | None, bool]:
    """Return the layout of a list with this first line, and True if the line is only a header."""
    if layout := _HEADS.get(first.strip().replace(b'"', b"")):
        return layout, True
    if _HOST_LINE.fullmatch(first):
        return HOSTS, False
    return {1: TABS, 2: TABS_WEIGHT}.get(first.count(b"\t")), False


class NameList:
    """Parser for links between names."""

    def __init__(self, layout: Layout, place: str) -> None:
        self._layout, self._place = layout, place
        self._numbers: dict[bytes, int] = {}
        """Names are numbered from 0, in order of appearance."""
        separators = {*layout.separators, *b"\n", *(b'"' if layout.is_quoted else b"")}
        self._content_bytes = bytes(set(range(256)) - separators)
        self._to_newlines = bytes.maketrans(layout.separators, b"\n" * len(layout.separators))

    @property
    def names(self) -> list[bytes]:
        """Names for the numbers in the links so far."""
        return list(self._numbers)

    def links(self, block: LineBlock) -> LinkArrays:
        fields = self._plain(block) or self._line_by_line(block)
        layout, width = self._layout, self._layout.fields
        ends = [b""] * (len(fields) // width * 2)
        ends[::2], ends[1::2] = fields[layout.source :: width], fields[layout.target :: width]
        known = self._numbers
        numbers = np.array([known.setdefault(name, len(known)) for name in ends], dtype=np.int64)
        link_weights = None if layout.weight is None else weights(fields[layout.weight :: width])
        return LinkArrays(numbers[::2], numbers[1::2], link_weights)

    def finish(self) -> None:
        """Accept any end: such a list has no announced length."""

    def _plain(self, block: LineBlock) -> list[bytes] | None:
        """Return the fields of all lines in sequence, or None unless all lines match the layout."""
        fields = None if block.has_comments() else self._fields(block.text, block.line_count)
        return fields if fields and self._are_weights_valid(fields) else None

    def _line_by_line(self, block: LineBlock) -> list[bytes]:
        fields: list[bytes] = []
        for number, line in block.significant_lines():
            line_fields = self._fields(line + b"\n", 1) or self._unquoted(line)
            if line_fields is None:
                raise line_error(self._place, number, self._layout.expected, line)
            if not self._are_weights_valid(line_fields):
                raise line_error(self._place, number, A_WEIGHT, line_fields[-1])
            fields += line_fields
        return fields

    def _fields(self, text: bytes, lines: int) -> list[bytes] | None:
        layout = self._layout
        if text.translate(None, self._content_bytes) != (layout.separators + b"\n") * lines:
            return None
        fields = text.translate(self._to_newlines).split(b"\n")[:-1]
        years = fields[:: layout.fields] if layout.source else []
        is_whole = self._are_filled(fields) and (not years or b"".join(years).isdigit())
        return fields if is_whole else None

    def _are_filled(self, fields: Sequence[bytes | str]) -> bool:
        """Return True if no field is empty, except in the column `end`."""
        width = self._layout.fields
        read = width - self._layout.has_end
        return all(all(fields[column::width]) for column in range(read))

    def _unquoted(self, line: bytes) -> list[bytes] | None:
        if not self._layout.is_quoted:
            return None
        try:
            (row,) = csv.reader([line.decode(errors="surrogateescape")], strict=True)
        except csv.Error:
            return None
        is_whole = len(row) == self._layout.fields and self._are_filled(row)
        return [cell.encode(errors="surrogateescape") for cell in row] if is_whole else None

    def _are_weights_valid(self, fields: Sequence[bytes]) -> bool:
        column = self._layout.weight
        return column is None or weights(fields[column :: self._layout.fields]) is not None
