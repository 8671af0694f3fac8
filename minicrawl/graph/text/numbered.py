"""Old formats that say first which nodes there are, then who links to whom by number.

counted   `nodes links 1`; then as many lines `number name`, from 1 on; then as many `from to`
lettered  `n number name`, from 0 on; then `e from to`
DIMACS    `p sp nodes links`; then as many lines `a from to weight`, from 1 on. Or, for graphs whose
          edges have no direction, `p edge nodes edges`, then as many lines `e one other`: such an
          edge is a link both ways. `c` begins a comment.

Two nodes may have the same name: they are what the list says they are, two. Nodes that only have a
number are called by it. So that no line of text can fill the memory, of more than a million nodes
there are at most 64 for each link.
"""

import re
from typing import Final, NamedTuple

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.links import LinkArrays
from minicrawl.graph.text.lines import A_WEIGHT, LineBlock, refusal, weights

_NUMBER = rb"([0-9]{1,18})"
_NAME = rb"(\S.*?)"

COUNTS: Final = re.compile(rb"\s*" + _NUMBER + rb"\s+" + _NUMBER + rb"\s+1\s*")
"""The head of a counted list."""

IS_NAMED: Final = re.compile(rb"\s*1\s+(?![0-9]+(?:\s|$)).+", re.DOTALL)
"""The line behind it, which no list of ids could hold."""

IS_LETTERED: Final = re.compile(rb"n\s+0\s+\S.*", re.DOTALL)
"""The first line of a lettered list."""


IS_DIMACS: Final = re.compile(rb"c(?: [^\t]*)?|p [^\t]*", re.DOTALL)
"""The first line of a list of DIMACS, which no list of names could hold."""


class Marks(NamedTuple):
    """How the two kinds of lines look."""

    node: re.Pattern[bytes]
    link: re.Pattern[bytes]
    first: int


def _marks(node: bytes, link: bytes, first: int) -> Marks:
    """Patterns of lines that begin with these letters."""
    return Marks(
        re.compile(node + _NUMBER + rb"\s+" + _NAME + rb"\s*", re.DOTALL),
        re.compile(link + _NUMBER + rb"\s+" + _NUMBER + rb"\s*"),
        first,
    )


COUNTED: Final = _marks(rb"\s*", rb"\s*", 1)
LETTERED: Final = _marks(rb"n\s+", rb"e\s+", 0)


class NumberedList:
    """Reads names and then links, block after block.

    `promised` is how many nodes and links there are, where the list said so.
    """

    def __init__(self, marks: Marks, place: str, promised: tuple[int, int] | None = None) -> None:
        self.names: list[bytes] = []
        self._marks, self._place, self._promised = marks, place, promised
        self._links = 0

    def links(self, block: LineBlock) -> LinkArrays:
        found: list[int] = []
        for number, line in block.said():
            if self._is_of_node(line):
                self._name(number, line)
            else:
                found += self._link(number, line)
        ends = np.array(found, dtype=np.int64)
        return LinkArrays(ends[::2], ends[1::2])

    def finish(self) -> None:
        """Refuse what ends too early, or does not end."""
        if self._promised and self._promised != (len(self.names), self._links):
            nodes, links = self._promised
            raise GraphFileError(
                f"{self._place}: {nodes} nodes and {links} links were announced, "
                f"{len(self.names)} and {self._links} are there"
            )

    def _is_of_node(self, line: bytes) -> bool:
        if self._promised:
            return len(self.names) < self._promised[0]
        return line.startswith(b"n")

    def _name(self, number: int, line: bytes) -> None:
        due = len(self.names) + self._marks.first
        found = self._marks.node.fullmatch(line)
        if not found or int(found[1]) != due:
            raise refusal(self._place, number, f"the name of node {due}", line)
        self.names.append(found[2])

    def _link(self, number: int, line: bytes) -> tuple[int, int]:
        found = self._marks.link.fullmatch(line)
        ends = [int(digits) - self._marks.first for digits in found.groups()] if found else [-1]
        if not all(0 <= end < len(self.names) for end in ends):
            raise refusal(self._place, number, "two numbers of nodes", line)
        self._links += 1
        return ends[0], ends[1]


# ---------------------------------------------------------------- DIMACS

_PROBLEM = re.compile(rb"p +(edge|col|sp) +" + _NUMBER + rb" +" + _NUMBER + rb" *")
_ARC = re.compile(rb"a +" + _NUMBER + rb" +" + _NUMBER + rb" +(\S+) *")
_EDGE = re.compile(rb"e +" + _NUMBER + rb" +" + _NUMBER + rb" *")
_DIGITS = b"0123456789"
_FEW_NODES, _SPARSE = 1 << 16, 8
_SURE = 10**18  # a number of more digits may not have fitted


class DimacsList:
    """Reads the links of a list of DIMACS, block after block."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._has_weights = False
        self._promised: tuple[int, int] | None = None
        self._links = 0

    @property
    def names(self) -> range:
        """The numbers of the nodes."""
        return range(1, 1 + (self._promised[0] if self._promised else 0))

    def links(self, block: LineBlock) -> LinkArrays:
        found = self._plain(block) or self._line_by_line(block)
        self._links += len(found.sources)
        if self._has_weights:
            return found
        sources, targets, _ = found
        return LinkArrays(np.append(sources, targets), np.append(targets, sources))

    def finish(self) -> None:
        """Refuse what ends too early, or does not end, or says too little for so many nodes."""
        nodes, links = self._promised or (0, 0)
        if not self._promised or self._links != links:
            said = f"{links} links were announced" if self._promised else "no line `p` announces"
            raise GraphFileError(f"{self._place}: {said}, {self._links} are there")
        if nodes > min(max(_FEW_NODES, _SPARSE * links), MOST_NODES):
            raise GraphFileError(f"{self._place}: {nodes:,} nodes are too many for {links:,} links")
        if not links:
            raise GraphFileError(f"{self._place}: no link in it; expected {self._expected()}")

    def _expected(self) -> str:
        return "`a from to weight`" if self._has_weights else "`e one other`"

    def _plain(self, block: LineBlock) -> LinkArrays | None:
        """Lines that are all arcs, or all edges, with one blank between numbers."""
        mark = b"a   \n" if self._has_weights else b"e  \n"
        lines = block.height
        if not self._promised or block.text.translate(None, _DIGITS) != mark * lines:
            return None
        numbers = np.fromstring(block.text.replace(mark[:1], b""), dtype=np.int64, sep=" ")
        if (
            len(numbers) != (len(mark) - 2) * lines
            or not 0 < numbers.min() <= numbers.max() < _SURE
        ):
            return None
        sources, targets, *rest = numbers.reshape(lines, -1).T
        if max(sources.max(), targets.max()) > self._promised[0]:
            return None
        return LinkArrays(sources - 1, targets - 1, *(column.astype(np.float64) for column in rest))

    def _line_by_line(self, block: LineBlock) -> LinkArrays:
        ends: list[int] = []
        burdens: list[bytes] = []
        for number, line in block.said():
            if line == b"c" or line.startswith(b"c "):
                continue
            if self._promised:
                source, target, *burden = self._link(number, line)
                ends += (int(source) - 1, int(target) - 1)
                burdens += burden
            else:
                self._promise(number, line)
        pairs = np.array(ends, dtype=np.int64)
        return LinkArrays(pairs[::2], pairs[1::2], weights(burdens) if self._has_weights else None)

    def _promise(self, number: int, line: bytes) -> None:
        found = _PROBLEM.fullmatch(line)
        if not found:
            expected = "`p sp nodes links` or `p edge nodes edges`"
            raise refusal(self._place, number, expected, line)
        self._has_weights = found[1] == b"sp"
        self._promised = int(found[2]), int(found[3])

    def _link(self, number: int, line: bytes) -> tuple[bytes, ...]:
        found = (_ARC if self._has_weights else _EDGE).fullmatch(line)
        if not found or not all(
            int(end) - 1 in range(len(self.names)) for end in found.groups()[:2]
        ):
            those = f"numbers of nodes from 1 to {len(self.names)}"
            raise refusal(self._place, number, f"{self._expected()} with {those}", line)
        if self._has_weights and weights([found[3]]) is None:
            raise refusal(self._place, number, A_WEIGHT, found[3])
        return found.groups()
