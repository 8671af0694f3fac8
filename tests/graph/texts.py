"""Graph files of a few lines, parsed and as links."""

from collections.abc import Iterator

from minicrawl.graph.lists.formats import ParsedGraph, parse
from minicrawl.graph.lists.lines import LineBlock
from tests.graph.graphs import links_of

PLACE = "graph.txt"


def blocks(text: bytes, lines_at_once: int = 1000) -> Iterator[LineBlock]:
    """Yield the lines in blocks of `lines_at_once`."""
    lines = text.splitlines(keepends=True)
    for first in range(0, len(lines), lines_at_once):
        yield LineBlock(b"".join(lines[first : first + lines_at_once]), first)


def parsed(text: bytes, lines_at_once: int = 1000) -> ParsedGraph:
    return parse(blocks(text, lines_at_once), PLACE)


def named_links(found: ParsedGraph) -> dict[tuple[str, str], float | None]:
    """Weights of all links, keyed by the names of their ends."""
    graph, weights = found.graph
    names = [name.decode() for name in found.names] if found.ids is None else found.ids.astype(str)
    numbers = [None] * graph.edges if weights is None else weights.tolist()
    return {
        (str(names[source]), str(names[target])): weight
        for (source, target), weight in zip(links_of(graph), numbers, strict=True)
    }
