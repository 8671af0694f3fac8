"""Older formats that list the nodes first and then the links between their numbers.

counted   `nodes links 1`; then that many lines `number name`, from 1; then lines `from to`
lettered  `n number name`, from 0; then `e from to`
DIMACS    `p sp nodes links`; then that many lines `a from to weight`, from 1. Or, for undirected
          graphs, `p edge nodes edges`; then lines `e one other`: such an edge is a link both
          ways. `c` begins a comment.

Two nodes may have the same name; they stay two nodes. The name of a DIMACS node is its number.
In a DIMACS list of more than 65,536 nodes, at least one in eight must have a link, so that a
short file cannot exhaust the memory.
"""

import re
from typing import Final, NamedTuple

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import MOST_NODES
from minicrawl.graph.link_builder import LinkArrays
from minicrawl.graph.lists.edge_lists import DIGITS, SURE
from minicrawl.graph.lists.lines import A_WEIGHT, LineBlock, line_error, weights

_INTEGER = rb"([0-9]{1,18})"

COUNTS: Final = re.compile(rb"\s*" + _INTEGER + rb"\s+" + _INTEGER + rb"\s+1\s*")

IS_NAMED: Final = re.compile(rb"\s*1\s+(?![0-9]+(?:\s|$)).+", re.DOTALL)
"""Second line of a counted list, which is not a link between ids."""

IS_LETTERED: Final = re.compile(rb"n\s+0\s+\S.*", re.DOTALL)
"""First line of a lettered list."""

IS_DIMACS: Final = re.compile(rb"c(?: [^\t]*)?|p [^\t]*", re.DOTALL)
"""First line of a DIMACS list, which is not a line of names."""


class LineSyntax(NamedTuple):
    """Patterns of node and link lines, and the number of the first node."""

    node: re.Pattern[bytes]
    link: re.Pattern[bytes]
    first: int


_LINK = _INTEGER + rb"\s+" + _INTEGER + rb"\s*"
_NODE = _INTEGER + rb"\s+(\S.*?)\s*"

COUNTED: Final = LineSyntax(re.compile(rb"\s*" + _NODE, re.DOTALL), re.compile(rb"\s*" + _LINK), 1)
LETTERED: Final = LineSyntax(
    re.compile(rb"n\s+" + _NODE, re.DOTALL), re.compile(rb"e\s+" + _LINK), 0
)


class NumberedList:
    """Parser for lists of names followed by links.

    `announced` has the announced numbers of nodes and links, if the list announces them.
    """

    def __init__(
        self, syntax: LineSyntax, place: str, announced: tuple[int, int] | None = None
    ) -> None:
        self.names: list[bytes] = []
        self._syntax, self._place, self._announced = syntax, place, announced
        self._links = 0

    def links(self, block: LineBlock) -> LinkArrays:
        numbers: list[int] = []
        for number, line in block.significant_lines():
            if self._announced:
                is_node = len(self.names) < self._announced[0]
            else:
                is_node = line.startswith(b"n")
            if is_node:
                due = len(self.names) + self._syntax.first
                match = self._syntax.node.fullmatch(line)
                if not match or int(match[1]) != due:
                    raise line_error(self._place, number, f"the name of node {due}", line)
                self.names.append(match[2])
            else:
                numbers += self._parse_link(number, line)
        ends = np.array(numbers, dtype=np.int64)
        return LinkArrays(ends[::2], ends[1::2])

    def finish(self) -> None:
        """Refuse a list with fewer or more nodes and links than announced."""
        if self._announced and self._announced != (len(self.names), self._links):
            nodes, links = self._announced
            raise GraphFileError(
                f"{self._place}: expected {nodes} nodes and {links} links as announced, "
                f"found {len(self.names)} and {self._links}"
            )

    def _parse_link(self, number: int, line: bytes) -> tuple[int, int]:
        match = self._syntax.link.fullmatch(line)
        ends = [int(digits) - self._syntax.first for digits in match.groups()] if match else [-1]
        if not all(0 <= end < len(self.names) for end in ends):
            raise line_error(self._place, number, "two numbers of nodes", line)
        self._links += 1
        return ends[0], ends[1]


_PROBLEM = re.compile(rb"p +(edge|col|sp) +" + _INTEGER + rb" +" + _INTEGER + rb" *")
_ARC = re.compile(rb"a +" + _INTEGER + rb" +" + _INTEGER + rb" +(\S+) *")
_EDGE = re.compile(rb"e +" + _INTEGER + rb" +" + _INTEGER + rb" *")
_FEW_NODES, _SPARSE = 1 << 16, 8


class DimacsList:
    def __init__(self, place: str) -> None:
        self._place = place
        self._has_weights = False
        self._announced: tuple[int, int] | None = None
        self._links = 0
        self._is_linked = np.zeros(0, dtype=np.bool_)

    @property
    def names(self) -> range:
        return range(1, 1 + (self._announced[0] if self._announced else 0))

    def links(self, block: LineBlock) -> LinkArrays:
        arrays = self._plain(block) or self._line_by_line(block)
        self._links += len(arrays.sources)
        sources, targets, _ = arrays
        self._is_linked[sources] = self._is_linked[targets] = True
        if self._has_weights:
            return arrays
        return LinkArrays(np.append(sources, targets), np.append(targets, sources))

    def finish(self) -> None:
        """Refuse a list that differs from its announcement, is empty, or has too many nodes."""
        nodes, links = self._announced or (0, 0)
        if not self._announced or self._links != links:
            announced = f"{links} links as announced" if self._announced else "a line `p`"
            raise GraphFileError(f"{self._place}: expected {announced}, found {self._links} links")
        if not links:
            raise GraphFileError(f"{self._place}: no links; expected {self._expected()}")
        if nodes > max(_FEW_NODES, _SPARSE * (linked := int(np.count_nonzero(self._is_linked)))):
            raise GraphFileError(f"{self._place}: of {nodes:,} nodes only {linked:,} have a link")

    def _expected(self) -> str:
        return "`a from to weight`" if self._has_weights else "`e one other`"

    def _plain(self, block: LineBlock) -> LinkArrays | None:
        """Parse a block of arcs only, or edges only, with single spaces between numbers."""
        mark = b"a   \n" if self._has_weights else b"e  \n"
        lines = block.line_count
        if not self._announced or block.text.translate(None, DIGITS) != mark * lines:
            return None
        numbers = np.fromstring(block.text.replace(mark[:1], b""), dtype=np.int64, sep=" ")
        if len(numbers) != (len(mark) - 2) * lines or not 0 < numbers.min() <= numbers.max() < SURE:
            return None
        sources, targets, *columns = numbers.reshape(lines, -1).T
        if max(sources.max(), targets.max()) > self._announced[0]:
            return None
        return LinkArrays(
            sources - 1, targets - 1, *(column.astype(np.float64) for column in columns)
        )

    def _line_by_line(self, block: LineBlock) -> LinkArrays:
        ends: list[int] = []
        weight_fields: list[bytes] = []
        for number, line in block.significant_lines():
            if line == b"c" or line.startswith(b"c "):
                continue
            if self._announced:
                source, target, *weight = self._parse_link(number, line)
                ends += (int(source) - 1, int(target) - 1)
                weight_fields += weight
            elif match := _PROBLEM.fullmatch(line):
                self._has_weights = match[1] == b"sp"
                self._announced = nodes, links = int(match[2]), int(match[3])
                # Refused before anything is allocated: a file of one line could ask for 2^31 nodes.
                if nodes > min(max(_FEW_NODES, _SPARSE * links), MOST_NODES):
                    raise GraphFileError(
                        f"{self._place}: {nodes:,} nodes are too many for {links:,} links"
                    )
                self._is_linked = np.zeros(nodes, dtype=np.bool_)  # no memory until it is written
            else:
                expected = "`p sp nodes links` or `p edge nodes edges`"
                raise line_error(self._place, number, expected, line)
        pairs = np.array(ends, dtype=np.int64)
        return LinkArrays(
            pairs[::2], pairs[1::2], weights(weight_fields) if self._has_weights else None
        )

    def _parse_link(self, number: int, line: bytes) -> tuple[bytes, ...]:
        match = (_ARC if self._has_weights else _EDGE).fullmatch(line)
        if not match or not all(
            int(end) - 1 in range(len(self.names)) for end in match.groups()[:2]
        ):
            numbers = f"numbers of nodes from 1 to {len(self.names)}"
            raise line_error(self._place, number, f"{self._expected()} with {numbers}", line)
        if self._has_weights and weights([match[3]]) is None:
            raise line_error(self._place, number, A_WEIGHT, match[3])
        return match.groups()
