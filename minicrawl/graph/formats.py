"""Detects the format of a graph in text by its first two significant lines, and parses it.

Nodes named by ids are numbered in the order of their ids, other nodes in order of appearance. A
list without links is refused.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple, NoReturn, Protocol

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import BuiltGraph, Ids, LinkArrays, LinkBuilder
from minicrawl.graph.text import (
    COUNTED,
    COUNTS,
    IDS,
    IS_DIMACS,
    IS_LETTERED,
    IS_NAMED,
    LETTERED,
    DimacsList,
    IdList,
    LineBlock,
    NameList,
    NumberedList,
    layout_of,
    refusal,
)

_EXPECTED = "two page ids a line, or two names with a tab between"


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


class DetectedFormat(NamedTuple):
    """A graph and the names of its nodes: ids, or texts."""

    graph: BuiltGraph
    ids: Ids | None
    names: list[bytes]


def parse(blocks: Iterable[LineBlock], place: str) -> DetectedFormat:
    """Read a list; error messages call it `place`, such as the name of its file."""
    gathering, reading = LinkBuilder(), LinkStream(blocks, place)
    for links in reading:
        gathering.add(links)
    if (names := reading.names) is None:
        graph, ids = gathering.of_ids()
        return DetectedFormat(graph, ids, [])
    graph = gathering.among(len(names))
    if isinstance(names, range):
        return DetectedFormat(graph, np.arange(names.start, names.stop), [])
    return DetectedFormat(graph, None, names)


class LinkStream:
    """The links of a list, block by block, for one pass.

    The first significant block must hold the first two significant lines, if there are two.
    """

    def __init__(self, blocks: Iterable[LineBlock], place: str) -> None:
        said = (rest for block in blocks if (rest := block.from_first_said()).text)
        self._place = place
        self._list, first = _list_for(next(said, None) or self._refuse_nothing(), place)
        self._blocks = chain([first], said)

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
        raise GraphFileError(f"{self._place}: no link in it; expected {_EXPECTED}")


def _list_for(first: LineBlock, place: str) -> tuple[GraphList, LineBlock]:
    """Return the parser for a list that begins like this, and the block it starts with."""
    one, two, *_ = *(line for _, line in islice(first.said(), 2)), b""
    if (counts := COUNTS.fullmatch(one)) and IS_NAMED.fullmatch(two):
        promised = int(counts[1]), int(counts[2])
        return NumberedList(COUNTED, place, promised), first.behind_first()
    if IS_LETTERED.fullmatch(one):
        return NumberedList(LETTERED, place), first
    if IS_DIMACS.fullmatch(one):
        return DimacsList(place), first
    if IDS.fullmatch(one):
        return IdList(one, place), first
    layout, is_head = layout_of(one)
    if layout is None:
        raise refusal(place, first.before + 1, _EXPECTED, one)
    return NameList(layout, place), first.behind_first() if is_head else first
