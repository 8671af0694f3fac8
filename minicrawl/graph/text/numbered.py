"""Two old formats that say first what the nodes are called, then who links to whom by number.

counted   `nodes links 1`; then as many lines `number name`, from 1 on; then as many `from to`
lettered  `n number name`, from 0 on; then `e from to`

Two nodes may have the same name: they are what the list says they are, two.
"""

import re
from typing import Final, NamedTuple

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph.links import LinkArrays
from minicrawl.graph.text.lines import LineBlock, refusal

_NUMBER = rb"([0-9]{1,18})"
_NAME = rb"(\S.*?)"

COUNTS: Final = re.compile(rb"\s*" + _NUMBER + rb"\s+" + _NUMBER + rb"\s+1\s*")
"""The head of a counted list."""

IS_NAMED: Final = re.compile(rb"\s*1\s+(?![0-9]+(?:\s|$)).+", re.DOTALL)
"""The line behind it, which no list of ids could hold."""

IS_LETTERED: Final = re.compile(rb"n\s+0\s+\S.*", re.DOTALL)
"""The first line of a lettered list."""


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
