"""Graph files that are a few lines of text."""

from collections.abc import Iterator

from minicrawl.graph.text_formats import DetectedFormat, LineBlock, parse

PLACE = "graph.txt"


def blocks(text: bytes, lines_at_once: int = 1000) -> Iterator[LineBlock]:
    """The lines, so many in a block."""
    lines = text.splitlines(keepends=True)
    for first in range(0, len(lines), lines_at_once):
        yield LineBlock(b"".join(lines[first : first + lines_at_once]), first)


def parsed(text: bytes, lines_at_once: int = 1000) -> DetectedFormat:
    return parse(blocks(text, lines_at_once), PLACE)


def named_links(found: DetectedFormat) -> dict[tuple[str, str], float | None]:
    """Every link by the names of its ends, with its weight."""
    graph, weights = found.graph
    names = [name.decode() for name in found.names] if found.ids is None else found.ids.astype(str)
    ends = zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)
    burdens = [None] * graph.edges if weights is None else weights.tolist()
    return {
        (str(names[source]), str(names[target])): weight
        for (source, target), weight in zip(ends, burdens, strict=True)
    }
