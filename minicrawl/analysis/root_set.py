"""A question about a graph: its root set, and the likeness of its pages.

The root set are the nodes of a list, or the pages of a store whose title or URL has the words.

A rank of a base set may be joined with how like the query its pages are: the cosine of two sets of
words, those of the query and those of title and URL.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Vector
from minicrawl.graph.named import NamedGraph
from minicrawl.opic.estimate import shares
from minicrawl.ranks.scores import Scores
from minicrawl.report.ranks import places_of_largest
from minicrawl.store import questions
from minicrawl.store.trouble import reporting_damage

_PAGES_AT_ONCE = 10_000
_WORD = re.compile(r"\w+")


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


# ---------------------------------------------------------------- pages by their words


def likeness_to(source: Source, query: str, nodes: NDArray[np.int64]) -> Vector:
    """How like the query each of these pages of a store is, from 0 to 1."""
    assert source.snapshot is not None, "a search found the pages in a store"
    connection, asked = source.snapshot.connection, _words(query)
    found = []
    for first in range(0, len(nodes), _PAGES_AT_ONCE):
        pages = nodes[first : first + _PAGES_AT_ONCE].tolist()
        titles = {row.page: row.title for row in questions.documents(connection, pages)}
        urls = questions.locations(connection, pages).urls
        for page, url in zip(pages, urls, strict=True):
            words = _words(f"{url} {titles.get(page, '')}")
            found.append(len(asked & words) / sqrt(max(len(asked) * len(words), 1)))
    return np.array(found)


def joined(scores: Scores, likeness: Vector, part: float) -> Scores:
    """The scores with this part of the likeness mixed in, both as shares."""
    values = (1 - part) * scores.values + part * shares(likeness)
    return replace(scores, values=values, error_bound=(1 - part) * scores.error_bound)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
