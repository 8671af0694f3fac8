"""Detection of the format of a link graph as text, by its first two significant lines."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple, NoReturn

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph.link_builder import BuiltGraph, Ids, LinkArrays, LinkBuilder
from minicrawl.graph.lists import numbered_lists
from minicrawl.graph.lists.edge_lists import IDS, IdList, NameList, layout_of
from minicrawl.graph.lists.lines import LineBlock, line_error

# The first two significant lines tell the format. Nodes named by ids are numbered in the order of
# their ids, other nodes in order of appearance. A list without links is refused.


_EXPECTED = (
    "two page ids per line, two names with a tab between, or CSV under the line source,target"
)

NodeNames = list[bytes] | range | None
"""Names of the nodes, or a range of numbers as names, or None if links are between ids."""

GraphList = IdList | NameList | numbered_lists.NumberedList | numbered_lists.DimacsList
"""Parser of one format; takes the blocks of a list in order."""


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
        significant = (
            trimmed for block in blocks if (trimmed := block.without_leading_comments()).text
        )
        self._place = place
        self._list, first = _list_for(next(significant, None) or self._refuse_nothing(), place)
        self._blocks = chain([first], significant)

    @property
    def names(self) -> NodeNames:
        """Names for the numbers in the links so far; None if these are ids."""
        return self._list.names

    def __iter__(self) -> Iterator[LinkArrays]:
        count = 0
        for block in self._blocks:
            links = self._list.links(block)
            count += len(links.sources)
            yield links
        self._list.finish()
        if not count:
            self._refuse_nothing()

    def _refuse_nothing(self) -> NoReturn:
        raise GraphFileError(f"{self._place}: no links; expected {_EXPECTED}")


def _list_for(first: LineBlock, place: str) -> tuple[GraphList, LineBlock]:
    """Return the parser for a list that begins with this block, and its first block to parse."""
    first_line, two, *_ = *(line for _, line in islice(first.significant_lines(), 2)), b""
    if (
        counts := numbered_lists.COUNTS.fullmatch(first_line)
    ) and numbered_lists.IS_NAMED.fullmatch(two):
        announced = int(counts[1]), int(counts[2])
        return numbered_lists.NumberedList(
            numbered_lists.COUNTED, place, announced
        ), first.without_first_line()
    if numbered_lists.IS_LETTERED.fullmatch(first_line):
        return numbered_lists.NumberedList(numbered_lists.LETTERED, place), first
    if numbered_lists.IS_DIMACS.fullmatch(first_line):
        return numbered_lists.DimacsList(place), first
    if IDS.fullmatch(first_line):
        return IdList(first_line, place), first
    layout, is_head = layout_of(first_line)
    if layout is None:
        raise line_error(place, first.before + 1, _EXPECTED, first_line)
    return NameList(layout, place), first.without_first_line() if is_head else first
