"""Plain readers of the real graphs, by file name: an oracle for the readers of minicrawl."""

import gzip
import tarfile
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import numpy as np

from minicrawl.graph.csr import Csr

Pair = tuple[Hashable, Hashable]


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (line for line in lines if line.strip() and not line.startswith("#"))


def _hollins(path: Path) -> Iterator[Pair]:
    lines = _lines(path)
    pages = int(next(lines).split()[0])
    for number, line in enumerate(lines):
        one, other = line.split()[:2]
        yield (one, one) if number < pages else (one, other)


def _california(path: Path) -> Iterator[Pair]:
    for line in _lines(path):
        kind, one, other = line.split()
        yield (one, one) if kind == "n" else (one, other)


def _plain(path: Path) -> Iterator[Pair]:
    for line in _lines(path):
        one, other = line.split()
        yield one, other


def _wikispeedia(path: Path) -> Iterator[Pair]:
    """Read links, and a second file that lists all articles, since some have no link."""
    yield from _plain(path)
    for line in _lines(path.with_name("wikispeedia-articles.tsv.gz")):
        yield line.strip(), line.strip()


def _ukwa(path: Path) -> Iterator[Pair]:
    for line in _lines(path):
        _, one, other = line.split("\t")[0].split("|")
        yield one, other


def _toronto(path: Path) -> Iterator[Pair]:
    with tarfile.open(path) as tar:
        member = tar.extractfile("Movies/adj_list")
        assert member is not None
        for line in member.read().decode().splitlines():
            one, _, others = line.partition(":")
            yield one, one
            yield from ((one, other) for other in others.split() if other != "-1")


_READERS: dict[str, Callable[[Path], Iterator[Pair]]] = {
    "hollins.dat.gz": _hollins,
    "california.txt.gz": _california,
    "wikispeedia-links.tsv.gz": _wikispeedia,
    "wiki-Vote.txt.gz": _plain,
    "toronto-Movies.tar.gz": _toronto,
    "ukwa-1996-hosts.tsv.gz": _ukwa,
    "cnr-2000.edges.txt.gz": _plain,
}


def graph_in(path: Path) -> Csr:
    """Read a graph. A pair of the same page twice adds a page that may have no other link."""
    pages: dict[Hashable, int] = {}
    ends = [pages.setdefault(end, len(pages)) for pair in _READERS[path.name](path) for end in pair]
    both = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Csr.from_edges(len(pages), both[:, 0], both[:, 1])
