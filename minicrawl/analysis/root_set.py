"""The root set of a question: the nodes of a list, or the pages of a store that have its words."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.report.ranks import places_of_largest
from minicrawl.store import questions
from minicrawl.store.trouble import reporting_damage


class Roots(NamedTuple):
    """Nodes, and those of the list that the graph does not have."""

    nodes: list[int]
    unknown: list[str]


def listed(named: NamedGraph, lines: Iterable[str]) -> Roots:
    """The nodes that the lines name; `#` begins a line that names none."""
    texts = (line.strip() for line in lines)
    names = list(dict.fromkeys(text for text in texts if text and not text.startswith("#")))
    places = dict(zip(names, named.names.find(names), strict=True))
    unknown = [name for name, node in places.items() if node is None]
    nodes = [node for node in places.values() if node is not None]
    if not nodes:
        raise UsageError(f"no root of {len(names):,} is in the graph: name its nodes, one a line")
    return Roots(nodes, unknown)


def having(source: Source, words: str, count: int) -> list[int]:
    """The most important pages whose title or URL has all words."""
    if (seen := source.snapshot) is None:
        raise UsageError("--query searches the pages of a store: use --root with --graph")
    with reporting_damage(seen.path):
        found = questions.pages_with(seen.connection, words.split())
    if not words.split() or not found:
        raise UsageError(f"no page has {words!r} in its title or URL: ask for fewer words")
    pages = np.array(found)
    return [int(page) for page in pages[places_of_largest(seen.importance[pages], count)]]
