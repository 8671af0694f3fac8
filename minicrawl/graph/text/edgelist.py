"""Lists of links, between ids or between names.

Links between ids are two whole numbers a line, and a weight where the first line has one. Numbers
are in decimal digits, with blanks or tabs between and around them. Ids may be sparse: what counts
is which ids occur, not how large they are. In the graph of a list the nodes are in the order of
their ids, and an id in decimal digits is the name of its node (`Ids`).

Names are URLs, hosts or titles, which stay as they are written. Which marks stand between the
fields of a line is said by its layout:

tabs    source<TAB>target, with or without <TAB>weight; a first line that says just this is none
hosts   year|source|target<TAB>weight; what the years say of a link is summed
commas  source,target, with or without weight, under a line that says so; a field may be quoted
end     behind the weight, as an export has it: where the target redirects. It may be empty, and is
        not read
"""

import csv
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.links import Ids as IdArray
from minicrawl.graph.links import LinkArrays
from minicrawl.graph.named import NodeHosts
from minicrawl.graph.text.lines import A_WEIGHT, LineBlock, quoted, refusal, weights

ID_LIMIT: Final = 2**63
"""Ids are below this."""

IDS: Final = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+(?P<weight>[ \t]+\S+)?\s*")
"""A line of such a list."""

_DIGITS = b"0123456789"
_SURE = 10**18  # a number of more digits may not have fitted
_ENDS = 2  # of a link


class IdList:
    """Reads links of ids, block after block."""

    names = None

    def __init__(self, first: bytes, place: str) -> None:
        found = IDS.fullmatch(first)
        self._place = place
        self._columns = _ENDS + bool(found and found["weight"])
        # What is left of a plain line without its digits.
        self._marks = first.translate(None, _DIGITS) + b"\n"

    def links(self, block: LineBlock) -> LinkArrays:
        return self._plain(block) or self._line_by_line(block)

    def finish(self) -> None:
        """Such a list may end anywhere."""

    def _plain(self, block: LineBlock) -> LinkArrays | None:
        """Between as many marks as there are columns no number can be missing or too many."""
        lines, marks = block.height, self._marks
        if len(marks) != self._columns or block.text.translate(None, _DIGITS) != marks * lines:
            return None
        numbers = np.fromstring(block.text, dtype=np.int64, sep=" ")
        if len(numbers) != self._columns * lines or numbers.max() >= _SURE:
            return None
        sources, targets, *rest = numbers.reshape(lines, self._columns).T
        if not all(column.all() for column in rest):
            return None
        return LinkArrays(sources, targets, *(column.astype(np.float64) for column in rest))

    def _line_by_line(self, block: LineBlock) -> LinkArrays:
        ids: list[int] = []
        burdens: list[bytes] = []
        for number, line in block.said():
            fields = line.split()
            if len(fields) != self._columns or not b"".join(fields[:_ENDS]).isdigit():
                raise refusal(self._place, number, self._expected(), line)
            if fields[_ENDS:] and weights(fields[_ENDS:]) is None:
                raise refusal(self._place, number, A_WEIGHT, fields[_ENDS])
            ids += (self._bounded(field, number) for field in fields[:_ENDS])
            burdens += fields[_ENDS:]
        ends = np.array(ids, dtype=np.int64)
        return LinkArrays(
            ends[::2], ends[1::2], weights(burdens) if self._columns > _ENDS else None
        )

    def _expected(self) -> str:
        return "two page ids" if self._columns == _ENDS else "two page ids and a weight"

    def _bounded(self, digits: bytes, number: int) -> int:
        significant = digits.lstrip(b"0") or b"0"
        if len(significant) > len(str(ID_LIMIT)) or int(significant) >= ID_LIMIT:
            found = f"page ids are below 2**63, found {quoted(digits)}"
            raise GraphFileError(f"{self._place}, line {number}: {found}")
        return int(significant)


# ---------------------------------------------------------------- ids as names


class Ids:
    """Node i is called by the i-th of these numbers, which ascend, in decimal digits."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return list(map(str, self._ids[np.asarray(nodes, dtype=np.int64)].tolist()))

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [self._node(name) for name in names]

    def hosts(self) -> NodeHosts:
        return NodeHosts(np.arange(len(self), dtype=np.int32), _Digits(self._ids))

    def _node(self, name: str) -> int | None:
        if not (name.isascii() and name.isdigit()):
            return None
        number = int(name)
        place = int(np.searchsorted(self._ids, number)) if number < ID_LIMIT else len(self)
        return place if place < len(self) and self._ids[place] == number else None


class _Digits(Sequence[str]):
    """The numbers as texts, of which none is kept."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self._ids[place].tolist()
        return list(map(str, found)) if isinstance(place, slice) else str(found)


# ---------------------------------------------------------------- between names


class Layout(NamedTuple):
    """What a line looks like."""

    marks: bytes
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
        return len(self.marks) + 1


HOSTS: Final = Layout(b"||\t", 1, 3, "year|host|host, a tab and a weight")
TABS: Final = Layout(b"\t", 0, None, "two names with a tab between")
TABS_WEIGHT: Final = Layout(b"\t\t", 0, 2, "two names and a weight with tabs between")
COMMAS: Final = Layout(b",", 0, None, "two names with a comma between", True)
COMMAS_WEIGHT: Final = Layout(b",,", 0, 2, "two names and a weight with commas between", True)
_OF_EXPORT = "two names, a weight and a page that is not read, with {} between"
COMMAS_END: Final = Layout(b",,,", 0, 2, _OF_EXPORT.format("commas"), True, True)
TABS_END: Final = Layout(b"\t\t\t", 0, 2, _OF_EXPORT.format("tabs"), False, True)

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

    def of(self, names: Sequence[bytes]) -> IdArray:
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
        is_whole = self._are_there(fields) and (not years or b"".join(years).isdigit())
        return fields if is_whole else None

    def _are_there(self, fields: Sequence[bytes | str]) -> bool:
        """Whether none is empty, but for an end."""
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
        is_whole = len(row) == self._layout.fields and self._are_there(row)
        return [cell.encode(errors="surrogateescape") for cell in row] if is_whole else None

    def _weighs(self, fields: Sequence[bytes]) -> bool:
        column = self._layout.weight
        return column is None or weights(fields[column :: self._layout.fields]) is not None
