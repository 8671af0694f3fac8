"""Graph files, plain or gzipped, whatever their name; `-` is standard input.

A file is text in one of the formats of `graph.text_formats`, or a graph saved with its distances
and components (`.g`).

Names of nodes take their own bytes and 8 more each, without an object for each (`Texts`). A gzipped
file may expand to at most `MOST_SWELLING` bytes of text for each byte read, beyond the first
`ALWAYS_UNPACKED`: a file that expands further was made to exhaust the memory.
"""

import gzip
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Csr, Edge
from minicrawl.graph.distances import FAR, Distances
from minicrawl.graph.edge_lists import NumericNames
from minicrawl.graph.named_graph import NamedGraph, NodeHosts
from minicrawl.graph.text_formats import parse
from minicrawl.graph.text_lines import LineBlock
from minicrawl.ports import Progress, unreported
from minicrawl.web import urls

PIPE: Final = "-"

_SCHEMES = ("http://", "https://")
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_AT_ONCE = 1 << 17
_LONGEST_LINE = 1 << 20
MOST_SWELLING = 100
"""Largest expansion by gunzip. The link lists of real webs expand 3 to 20 times."""
ALWAYS_UNPACKED = 1 << 24


def read(path: Path, tell: Progress = unreported) -> NamedGraph:
    """Read a graph file: text, or a saved graph (`.g`), whose pages have numbers for names."""
    if (saved := _saved(path)) is not None:
        return saved
    (graph, weights), ids, names = parse(blocks(path, tell), str(path))
    return NamedGraph(graph, Texts(names) if ids is None else NumericNames(ids), weights)


def blocks(path: Path, tell: Progress = unreported, at_once: int = _AT_ONCE) -> Iterator[LineBlock]:
    """Yield the text of the file in blocks of about `at_once` bytes."""
    with _opened(path) as raw:
        size = os.fstat(raw.fileno()).st_size
        for block in _whole_lines(_unpacked(raw, str(path)), str(path), at_once):
            yield block
            if size and raw.seekable():
                tell(raw.tell() / size)


def _saved(path: Path) -> NamedGraph | None:
    with _opened(path) as raw:
        data = raw.read() if _begins_with(raw, MAGIC[:-1]) else b""
    if not data:
        return None
    try:
        found = unpack(data).graph
    except ValueError as error:
        raise GraphFileError(f"{path}: {error}") from error
    ends = np.array(found.edges, dtype=np.int64).reshape(-1, 2)
    graph = Csr.from_edges(found.nodes, ends[:, 0], ends[:, 1])
    return NamedGraph(graph, NumericNames(np.arange(found.nodes)))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        if str(path) == PIPE:
            yield sys.stdin.buffer
        else:
            with path.open("rb") as raw:
                yield raw
    except (OSError, EOFError, zlib.error) as error:
        raise GraphFileError(f"cannot read graph file {path}: {error}") from error


def _begins_with(raw: BinaryIO, mark: bytes) -> bool:
    # Files and standard input are both buffered, so `peek` can look ahead.
    begin: bytes = raw.peek(len(mark))  # type: ignore[attr-defined]
    return begin.startswith(mark)


def _unpacked(raw: BinaryIO, place: str) -> BinaryIO:
    return cast(BinaryIO, _Unpacked(raw, place)) if _begins_with(raw, _GZIP) else raw


class _CountedBytes:
    """A file that counts the bytes read from it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.count = raw, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._raw.read(size)
        self.count += len(piece)
        return piece


class _Unpacked:
    """The text of a gzipped file, with a limit on its expansion."""

    def __init__(self, raw: BinaryIO, place: str) -> None:
        self._packed, self._place, self._count = _CountedBytes(raw), place, 0
        # The bytes read are counted below gzip, as the size of a pipe is not known.
        self._text = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed))

    def read(self, size: int) -> bytes:
        return self._counted(self._text.read(size))

    def readline(self, size: int) -> bytes:
        return self._counted(self._text.readline(size))

    def _counted(self, text: bytes) -> bytes:
        self._count += len(text)
        if self._count > ALWAYS_UNPACKED + MOST_SWELLING * self._packed.count:
            raise GraphFileError(
                f"{self._place} unpacks to more than {MOST_SWELLING} times its size: "
                "if that is meant, unpack it with gunzip first"
            )
        return text


def _whole_lines(file: BinaryIO, place: str, at_once: int) -> Iterator[LineBlock]:
    before = 0
    while text := file.read(at_once):
        # A block ends with a whole line. The limit keeps a file without line ends from being read
        # into memory as a whole.
        rest = b"" if text.endswith(b"\n") else file.readline(_LONGEST_LINE)
        if len(rest) == _LONGEST_LINE and not rest.endswith(b"\n"):
            number = before + text.count(b"\n") + 1
            raise GraphFileError(f"{place}, line {number}: longer than {_LONGEST_LINE:,} bytes")
        text = (text + rest).replace(b"\r\n", b"\n")
        if not text.endswith(b"\n"):
            text += b"\n"
        yield LineBlock(text if before else text.removeprefix(_BOM), before)
        before += text.count(b"\n")


# ---------------------------------------------------------------- names


class Texts:
    """Names as written, in the order of the nodes; two nodes may have the same name."""

    def __init__(self, names: Sequence[bytes]) -> None:
        self._text = b"".join(names)
        lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
        self._starts = np.concatenate(([0], np.cumsum(lengths)))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def of(self, nodes: Sequence[int]) -> list[str]:
        places = np.asarray(nodes, dtype=np.int64)
        starts, ends = self._starts[places].tolist(), self._starts[places + 1].tolist()
        return [self._name(start, end) for start, end in zip(starts, ends, strict=True)]

    def find(self, names: Sequence[str]) -> list[int | None]:
        """Look up all names in one pass over the nodes."""
        found: dict[str, int | None] = dict.fromkeys(names)
        for node, name in enumerate(self._all()):
            if name in found and found[name] is None:
                found[name] = node
        return [found[name] for name in names]

    def hosts(self) -> NodeHosts:
        """Return the hosts of all nodes; a name that is not a URL is its own host."""
        numbers: dict[str, int] = {}
        of_node = np.fromiter(
            (numbers.setdefault(_host(name), len(numbers)) for name in self._all()),
            dtype=np.int32,
            count=len(self),
        )
        return NodeHosts(of_node, list(numbers))

    def _all(self) -> Iterator[str]:
        return (self._name(start, end) for start, end in pairwise(self._starts.tolist()))

    def _name(self, start: int, end: int) -> str:
        return self._text[start:end].decode(errors="backslashreplace")


def _host(name: str) -> str:
    return urls.host(name).lower() if name.startswith(_SCHEMES) else name


# ================================================================ saved graphs
#
# Graphs saved with their distances and components (`.g`), and graphs as DIMACS text. The saved
# numbers are the expected results of algorithms that run on the graph.
#
# Law: unpacking returns what was packed, with edges in the order of insertion. A damaged file is
# refused with a reason.
#
# The file has `minigraph` and a version byte, the name with a NUL at its end, and then
# little-endian u32 numbers: pages, edges, components; the distances page by page, with 2^32 - 1 for
# no path; the component of each page; then a byte for each pair of pages, 1 for an edge; then the
# edges as tail and head.

MAGIC = b"minigraph\x01"
_NO_PATH = 0xFFFFFFFF
_U32 = np.dtype("<u4")


@dataclass(frozen=True, slots=True)
class EdgeSequence:
    """A graph with a fixed order of edges."""

    name: str
    nodes: int
    edges: tuple[Edge, ...]

    @property
    def density(self) -> float:
        """Share of all possible edges that exist."""
        return len(self.edges) / max(1, self.nodes * (self.nodes - 1))


@dataclass(frozen=True, slots=True, eq=False)
class SavedGraph:
    """A graph with the distances and components that algorithms are validated against."""

    graph: EdgeSequence
    distances: Distances
    components: NDArray[np.int64]


def pack(saved: SavedGraph) -> bytes:
    """Return the graph as bytes."""
    graph = saved.graph
    edges = np.array(graph.edges, dtype=_U32).reshape(-1, 2)
    distances = saved.distances.astype(_U32)
    distances[saved.distances == FAR] = _NO_PATH
    is_edge = np.zeros((graph.nodes, graph.nodes), dtype=np.uint8)
    is_edge[edges[:, 0], edges[:, 1]] = 1
    sizes = np.array([graph.nodes, len(edges), len(np.unique(saved.components))], dtype=_U32)
    parts = (sizes, distances, saved.components.astype(_U32), is_edge, edges)
    name = graph.name.encode().replace(b"\0", b"")
    return MAGIC + name + b"\0" + b"".join(part.tobytes() for part in parts)


def unpack(data: bytes) -> SavedGraph:
    """Return the graph in these bytes; ValueError if they hold none."""
    if not data.startswith(MAGIC[:-1]):
        raise ValueError("not a saved graph: no `minigraph` at the beginning")
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError(
            f"version {data[len(MAGIC) - 1]} of the format; only {MAGIC[-1]} is supported"
        )
    end = data.find(b"\0", len(MAGIC))
    if end < 0 or len(data) < end + 1 + 3 * _U32.itemsize:
        raise ValueError("truncated: the name or the sizes are incomplete")
    nodes, edges, components = np.frombuffer(data, _U32, 3, end + 1).tolist()
    place = end + 1 + 3 * _U32.itemsize
    expected = 5 * nodes**2 + 4 * nodes + 8 * edges
    if nodes > FAR or len(data) - place != expected:
        raise ValueError(
            f"{len(data) - place:,} bytes behind the sizes, expected {expected:,} for "
            f"{nodes:,} pages (at most {FAR:,}) and {edges:,} edges"
        )
    numbers = np.frombuffer(data, _U32, nodes * (nodes + 1), place)
    distances = numbers[: nodes * nodes].reshape(nodes, nodes)
    component_of = numbers[nodes * nodes :].astype(np.int64)
    ends = np.frombuffer(data, _U32, 2 * edges, len(data) - 8 * edges)
    if (ends >= nodes).any() or (component_of >= nodes).any():
        raise ValueError(f"a page number is not below {nodes:,}, the number of pages")
    if (found := len(np.unique(component_of))) != components:
        raise ValueError(f"{found:,} components, expected {components:,} by the sizes")
    pairs = [(source, target) for source, target in ends.reshape(-1, 2).tolist()]
    name = data[len(MAGIC) : end].decode(errors="replace")
    graph = EdgeSequence(name, nodes, tuple(pairs))
    return SavedGraph(graph, np.minimum(distances, FAR).astype(np.uint16), component_of)


def as_dimacs(graph: EdgeSequence) -> Iterator[str]:
    """Yield the lines of the graph as DIMACS text: pages from 1, all edges of length 1."""
    yield f"c {graph.name}"
    yield f"p sp {graph.nodes} {len(graph.edges)}"
    yield from (f"a {source + 1} {target + 1} 1" for source, target in graph.edges)
