"""A graph written as text. Its first two lines that hold anything tell the format.

Nodes that a list calls by ids are numbered in the order of these; others in the order in which
they are met. What no list may be is empty.
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
"""The names of the nodes, or the numbers that they are called by; nothing where links have ids."""


class GraphList(Protocol):
    """Takes the blocks of a list in their order."""

    @property
    def names(self) -> NodeNames:
        """As of the links so far."""

    def links(self, block: LineBlock) -> LinkArrays:
        """The links in a block."""

    def finish(self) -> None:
        """All blocks were there."""


class DetectedFormat(NamedTuple):
    """A graph and what its nodes are called: ids, or names."""

    graph: BuiltGraph
    ids: Ids | None
    names: list[bytes]


def parse(blocks: Iterable[LineBlock], place: str) -> DetectedFormat:
    """Read a list; `place` is what a message calls it, such as the name of its file."""
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
    """The links of a list, some at a time and once.

    The first block that says something holds two lines that do, if there are as many.
    """

    def __init__(self, blocks: Iterable[LineBlock], place: str) -> None:
        said = (rest for block in blocks if (rest := block.from_first_said()).text)
        self._place = place
        self._list, first = _list_for(next(said, None) or self._refuse_nothing(), place)
        self._blocks = chain([first], said)

    @property
    def names(self) -> NodeNames:
        """What the numbers in the links so far mean; nothing where these are ids."""
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
    """What reads a list that begins so, and what it is to begin with."""
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
