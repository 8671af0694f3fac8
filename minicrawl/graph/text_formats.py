"""Parsers for link graphs as text, and detection of the format.

lines     blocks of lines, weights and error messages, shared by all parsers
edgelist  links between ids, or between names
numbered  nodes first, then links between their numbers; DIMACS
detection the format of a text by its first two significant lines
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, NoReturn, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import MOST_NODES, BuiltGraph, Ids, LinkArrays, LinkBuilder, NodeHosts

# ================================================================ lines
#
# Blocks of lines of a graph file.
#
# A list is read completely, or refused with its name and the number of the bad line. No line is
# guessed at or skipped.
#
# plain    text with the same separators on every line. Plain blocks are split in one go; other
#          blocks are read line by line, which is slower.
# weight   positive decimal number that fits into a 32-bit float.
# comment  line that begins with `#`, or with `%` unless a percent-encoded byte follows, as in
#          `%C3%85land`. Comments and empty lines are ignored.

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
        """Number of lines."""
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
        """Return the block without its first line."""
        return LineBlock(self.text[self.text.index(b"\n") + 1 :], self.before + 1)

    def has_comments(self) -> bool:
        return _COMMENT_INSIDE.search(b"\n" + self.text) is not None


def weights(fields: Sequence[bytes]) -> NDArray[np.float64] | None:
    """Return the weight in each field, or None if any field is not a weight."""
    if b"".join(fields).translate(None, _NUMBER):
        return None
    try:
        found = np.array(list(map(float, fields)))
    except ValueError:
        return None
    return found if ((found >= _LEAST) & (found <= _MOST)).all() else None


def line_error(place: str, number: int, expected: str, line: bytes) -> GraphFileError:
    """Return an error about a line of the list that the message calls `place`."""
    return GraphFileError(f"{place}, line {number}: expected {expected}, found {quoted(line)}")


def quoted(text: bytes) -> str:
    """Return the text as a short repr: one line, no control characters."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="backslashreplace"))
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


# ================================================================ edgelist
#
# Edge lists, between ids or between names.
#
# A list between ids has two integers a line, and a weight if the first line has one, in decimal
# digits with spaces or tabs between and around them. Ids may be sparse: memory depends on the
# number of ids, not on their size. The nodes of the graph are in the order of their ids, and the
# decimal id is the name of a node (`NumericNames`).
#
# Names are URLs, hosts or titles, kept as written. The layout tells the separators:
#
# tabs    source<TAB>target, maybe with <TAB>weight; a first line of just these words is a header
# hosts   year|source|target<TAB>weight; the weights of a link in different years are summed
# commas  source,target, maybe with weight, under a header; fields may be quoted
# end     fourth column of exports: the page that the target redirects to. It may be empty, and is
#         ignored

ID_LIMIT: Final = 2**63
"""Exclusive upper bound of ids."""

IDS: Final = re.compile(rb"\s*[0-9]+[ \t]+[0-9]+(?P<weight>[ \t]+\S+)?\s*")
"""Pattern of a line in a list between ids."""

_DIGITS = b"0123456789"
_SURE = 10**18  # above this, the fast parser may have overflowed
_ENDS = 2  # of a link


class IdList:
    """Parser for links between ids."""

    names = None

    def __init__(self, first: bytes, place: str) -> None:
        found = IDS.fullmatch(first)
        self._place = place
        self._columns = _ENDS + bool(found and found["weight"])
        # A plain line without its digits.
        self._separators = first.translate(None, _DIGITS) + b"\n"

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
            or block.text.translate(None, _DIGITS) != separators * lines
        ):
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
        weight_fields: list[bytes] = []
        for number, line in block.significant_lines():
            fields = line.split()
            if len(fields) != self._columns or not b"".join(fields[:_ENDS]).isdigit():
                raise line_error(self._place, number, self._expected(), line)
            if fields[_ENDS:] and weights(fields[_ENDS:]) is None:
                raise line_error(self._place, number, A_WEIGHT, fields[_ENDS])
            ids += (self._parse_id(field, number) for field in fields[:_ENDS])
            weight_fields += fields[_ENDS:]
        ends = np.array(ids, dtype=np.int64)
        return LinkArrays(
            ends[::2], ends[1::2], weights(weight_fields) if self._columns > _ENDS else None
        )

    def _expected(self) -> str:
        return "two page ids" if self._columns == _ENDS else "two page ids and a weight"

    def _parse_id(self, digits: bytes, number: int) -> int:
        significant = digits.lstrip(b"0") or b"0"
        if len(significant) > len(str(ID_LIMIT)) or int(significant) >= ID_LIMIT:
            found = f"page ids are below 2**63, found {quoted(digits)}"
            raise GraphFileError(f"{self._place}, line {number}: {found}")
        return int(significant)


# ---------------------------------------------------------------- ids as names


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
        return NodeHosts(np.arange(len(self), dtype=np.int32), _Digits(self._ids))

    def _node(self, name: str) -> int | None:
        # Python refuses to parse thousands of digits.
        if not (name.isascii() and name.isdigit() and len(name) <= len(str(ID_LIMIT))):
            return None
        number = int(name)
        place = int(np.searchsorted(self._ids, number)) if number < ID_LIMIT else len(self)
        return place if place < len(self) and self._ids[place] == number else None


class _Digits(Sequence[str]):
    """Numbers as texts that are made on access."""

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


class Numbering:
    """Numbers names from 0, in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def of(self, names: Sequence[bytes]) -> Ids:
        numbers = self._numbers
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)

    def names(self) -> list[bytes]:
        return list(self._numbers)


class NameList:
    """Parser for links between names."""

    def __init__(self, layout: Layout, place: str) -> None:
        self._layout, self._place = layout, place
        self._numbering = Numbering()
        kept = {*layout.separators, *b"\n", *(b'"' if layout.is_quoted else b"")}
        self._content_bytes = bytes(set(range(256)) - kept)
        self._to_newlines = bytes.maketrans(layout.separators, b"\n" * len(layout.separators))

    @property
    def names(self) -> list[bytes]:
        """Names for the numbers in the links so far."""
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
        """Accept any end: such a list has no announced length."""

    def _plain(self, block: LineBlock) -> list[bytes] | None:
        """Return the fields of all lines in sequence, or None unless all lines match the layout."""
        fields = None if block.has_comments() else self._fields(block.text, block.line_count)
        return fields if fields and self._are_weights_valid(fields) else None

    def _line_by_line(self, block: LineBlock) -> list[bytes]:
        fields: list[bytes] = []
        for number, line in block.significant_lines():
            found = self._fields(line + b"\n", 1) or self._unquoted(line)
            if found is None:
                raise line_error(self._place, number, self._layout.expected, line)
            if not self._are_weights_valid(found):
                raise line_error(self._place, number, A_WEIGHT, found[-1])
            fields += found
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


# ================================================================ numbered
#
# Older formats that list the nodes first and then the links between their numbers.
#
# counted   `nodes links 1`; then that many lines `number name`, from 1; then lines `from to`
# lettered  `n number name`, from 0; then `e from to`
# DIMACS    `p sp nodes links`; then that many lines `a from to weight`, from 1. Or, for undirected
#           graphs, `p edge nodes edges`; then lines `e one other`: such an edge is a link both
#           ways. `c` begins a comment.
#
# Two nodes may have the same name; they stay two nodes. The name of a DIMACS node is its number.
# In a DIMACS list of more than 65,536 nodes, at least one in eight must have a link, so that a
# short file cannot exhaust the memory.

_INTEGER = rb"([0-9]{1,18})"
_NAME = rb"(\S.*?)"

COUNTS: Final = re.compile(rb"\s*" + _INTEGER + rb"\s+" + _INTEGER + rb"\s+1\s*")
"""Header of a counted list."""

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


def _line_syntax(node: bytes, link: bytes, first: int) -> LineSyntax:
    """Return the patterns for lines that begin with these letters."""
    return LineSyntax(
        re.compile(node + _INTEGER + rb"\s+" + _NAME + rb"\s*", re.DOTALL),
        re.compile(link + _INTEGER + rb"\s+" + _INTEGER + rb"\s*"),
        first,
    )


COUNTED: Final = _line_syntax(rb"\s*", rb"\s*", 1)
LETTERED: Final = _line_syntax(rb"n\s+", rb"e\s+", 0)


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
        found: list[int] = []
        for number, line in block.significant_lines():
            if self._announced:
                is_node = len(self.names) < self._announced[0]
            else:
                is_node = line.startswith(b"n")
            if is_node:
                self._add_node(number, line)
            else:
                found += self._parse_link(number, line)
        ends = np.array(found, dtype=np.int64)
        return LinkArrays(ends[::2], ends[1::2])

    def finish(self) -> None:
        """Refuse a list with fewer or more nodes and links than announced."""
        if self._announced and self._announced != (len(self.names), self._links):
            nodes, links = self._announced
            raise GraphFileError(
                f"{self._place}: expected {nodes} nodes and {links} links as announced, "
                f"found {len(self.names)} and {self._links}"
            )

    def _add_node(self, number: int, line: bytes) -> None:
        due = len(self.names) + self._syntax.first
        found = self._syntax.node.fullmatch(line)
        if not found or int(found[1]) != due:
            raise line_error(self._place, number, f"the name of node {due}", line)
        self.names.append(found[2])

    def _parse_link(self, number: int, line: bytes) -> tuple[int, int]:
        found = self._syntax.link.fullmatch(line)
        ends = [int(digits) - self._syntax.first for digits in found.groups()] if found else [-1]
        if not all(0 <= end < len(self.names) for end in ends):
            raise line_error(self._place, number, "two numbers of nodes", line)
        self._links += 1
        return ends[0], ends[1]


# ---------------------------------------------------------------- DIMACS

_PROBLEM = re.compile(rb"p +(edge|col|sp) +" + _INTEGER + rb" +" + _INTEGER + rb" *")
_ARC = re.compile(rb"a +" + _INTEGER + rb" +" + _INTEGER + rb" +(\S+) *")
_EDGE = re.compile(rb"e +" + _INTEGER + rb" +" + _INTEGER + rb" *")
_FEW_NODES, _SPARSE = 1 << 16, 8


class DimacsList:
    """Parser for DIMACS lists."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._has_weights = False
        self._announced: tuple[int, int] | None = None
        self._links = 0
        self._is_linked = np.zeros(0, dtype=np.bool_)

    @property
    def names(self) -> range:
        """Numbers of the nodes."""
        return range(1, 1 + (self._announced[0] if self._announced else 0))

    def links(self, block: LineBlock) -> LinkArrays:
        found = self._plain(block) or self._line_by_line(block)
        self._links += len(found.sources)
        sources, targets, _ = found
        self._is_linked[sources] = self._is_linked[targets] = True
        if self._has_weights:
            return found
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
        if not self._announced or block.text.translate(None, _DIGITS) != mark * lines:
            return None
        numbers = np.fromstring(block.text.replace(mark[:1], b""), dtype=np.int64, sep=" ")
        if (
            len(numbers) != (len(mark) - 2) * lines
            or not 0 < numbers.min() <= numbers.max() < _SURE
        ):
            return None
        sources, targets, *rest = numbers.reshape(lines, -1).T
        if max(sources.max(), targets.max()) > self._announced[0]:
            return None
        return LinkArrays(sources - 1, targets - 1, *(column.astype(np.float64) for column in rest))

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
            else:
                self._read_announcement(number, line)
        pairs = np.array(ends, dtype=np.int64)
        return LinkArrays(
            pairs[::2], pairs[1::2], weights(weight_fields) if self._has_weights else None
        )

    def _read_announcement(self, number: int, line: bytes) -> None:
        found = _PROBLEM.fullmatch(line)
        if not found:
            expected = "`p sp nodes links` or `p edge nodes edges`"
            raise line_error(self._place, number, expected, line)
        self._has_weights = found[1] == b"sp"
        self._announced = nodes, links = int(found[2]), int(found[3])
        # Refused before anything is allocated: a file of one line could ask for 2^31 nodes.
        if nodes > min(max(_FEW_NODES, _SPARSE * links), MOST_NODES):
            raise GraphFileError(f"{self._place}: {nodes:,} nodes are too many for {links:,} links")
        self._is_linked = np.zeros(nodes, dtype=np.bool_)  # takes no memory until it is written

    def _parse_link(self, number: int, line: bytes) -> tuple[bytes, ...]:
        found = (_ARC if self._has_weights else _EDGE).fullmatch(line)
        if not found or not all(
            int(end) - 1 in range(len(self.names)) for end in found.groups()[:2]
        ):
            numbers = f"numbers of nodes from 1 to {len(self.names)}"
            raise line_error(self._place, number, f"{self._expected()} with {numbers}", line)
        if self._has_weights and weights([found[3]]) is None:
            raise line_error(self._place, number, A_WEIGHT, found[3])
        return found.groups()


# ================================================================ detection
#
# The first two significant lines tell the format. Nodes named by ids are numbered in the order of
# their ids, other nodes in order of appearance. A list without links is refused.

_EXPECTED = "two page ids per line, or two names with a tab between"


NodeNames = list[bytes] | range | None
"""Names of the nodes, or a range of numbers as names, or None if links are between ids."""


class GraphList(Protocol):
    """Parser of one format; takes the blocks of a list in order."""

    @property
    def names(self) -> NodeNames:
        """Names of the nodes in the links so far."""

    def links(self, block: LineBlock) -> LinkArrays:
        """Return the links in a block."""

    def finish(self) -> None:
        """Check that the list is complete, after the last block."""


class ParsedGraph(NamedTuple):
    """A graph, with the ids of its nodes or else their names."""

    graph: BuiltGraph
    ids: Ids | None
    names: list[bytes]


def parse(blocks: Iterable[LineBlock], place: str) -> ParsedGraph:
    """Read a list; error messages call it `place`, such as the name of its file."""
    builder, stream = LinkBuilder(), LinkStream(blocks, place)
    for links in stream:
        builder.add(links)
    if (names := stream.names) is None:
        graph, ids = builder.of_ids()
        return ParsedGraph(graph, ids, [])
    graph = builder.graph_of(len(names))
    if isinstance(names, range):
        return ParsedGraph(graph, np.arange(names.start, names.stop), [])
    return ParsedGraph(graph, None, names)


class LinkStream:
    """The links of a list, block by block, for one pass.

    The first significant block must hold the first two significant lines, if there are two.
    """

    def __init__(self, blocks: Iterable[LineBlock], place: str) -> None:
        significant = (rest for block in blocks if (rest := block.without_leading_comments()).text)
        self._place = place
        self._list, first = _list_for(next(significant, None) or self._refuse_nothing(), place)
        self._blocks = chain([first], significant)

    @property
    def names(self) -> NodeNames:
        """Names for the numbers in the links so far; None if these are ids."""
        return self._list.names

    def __iter__(self) -> Iterator[LinkArrays]:
        found = 0
        for block in self._blocks:
            links = self._list.links(block)
            found += len(links.sources)
            yield links
        self._list.finish()
        if not found:
            self._refuse_nothing()

    def _refuse_nothing(self) -> NoReturn:
        raise GraphFileError(f"{self._place}: no links; expected {_EXPECTED}")


def _list_for(first: LineBlock, place: str) -> tuple[GraphList, LineBlock]:
    """Return the parser for a list that begins with this block, and its first block to parse."""
    one, two, *_ = *(line for _, line in islice(first.significant_lines(), 2)), b""
    if (counts := COUNTS.fullmatch(one)) and IS_NAMED.fullmatch(two):
        announced = int(counts[1]), int(counts[2])
        return NumberedList(COUNTED, place, announced), first.without_first_line()
    if IS_LETTERED.fullmatch(one):
        return NumberedList(LETTERED, place), first
    if IS_DIMACS.fullmatch(one):
        return DimacsList(place), first
    if IDS.fullmatch(one):
        return IdList(one, place), first
    layout, is_head = layout_of(one)
    if layout is None:
        raise line_error(place, first.before + 1, _EXPECTED, one)
    return NameList(layout, place), first.without_first_line() if is_head else first
