"""Lists of links between ids: two whole numbers a line, and a weight where the first line has one.

Numbers are in decimal digits, with blanks or tabs between and around them. Ids may be sparse: what
counts is which ids occur, not how large they are. In the graph of a list the nodes are in the order
of their ids, and an id in decimal digits is the name of its node (`Ids`).
"""

import re
from collections.abc import Sequence
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
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
