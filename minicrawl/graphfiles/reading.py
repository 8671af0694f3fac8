"""Graph files, plain or gzipped, whatever their name; `-` is standard input.

Names of nodes take their own bytes and 8 more each, without an object for each (`Texts`). A gzipped
file may give at most `MOST_SWELLING` bytes of text for each byte read, beyond the first
`ALWAYS_UNPACKED`: text that expands further was made to exhaust the memory.
"""

import gzip
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np

from minicrawl.errors import GraphFileError
from minicrawl.graph import formats
from minicrawl.graph.csr import Csr, NamedGraph, NodeHosts
from minicrawl.graph.text import Ids, LineBlock
from minicrawl.progress import Progress, unreported
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
    """Read a graph file: text, or a graph with its answers (`.g`), whose pages are numbered."""
    if (saved := _saved(path)) is not None:
        return saved
    (graph, weights), ids, names = formats.parse(blocks(path, tell), str(path))
    return NamedGraph(graph, Texts(names) if ids is None else Ids(ids), weights)


def blocks(path: Path, tell: Progress = unreported, at_once: int = _AT_ONCE) -> Iterator[LineBlock]:
    """Yield the text of the file in blocks of about `at_once` bytes."""
    with _opened(path) as raw:
        size = os.fstat(raw.fileno()).st_size
        for block in _whole_lines(_unpacked(raw, str(path)), str(path), at_once):
            yield block
            if size and raw.seekable():
                tell(raw.tell() / size)


_SAVED = b"minigraph"


def _saved(path: Path) -> NamedGraph | None:
    with _opened(path) as raw:
        data = raw.read() if _begins_with(raw, _SAVED) else b""
    if not data:
        return None
    from minicrawl.graph.dynamic import unpack  # imports scipy, which takes 30 MB

    try:
        found = unpack(data).graph
    except ValueError as error:
        raise GraphFileError(f"{path}: {error}") from error
    ends = np.array(found.edges, dtype=np.int64).reshape(-1, 2)
    graph = Csr.from_edges(found.nodes, ends[:, 0], ends[:, 1])
    return NamedGraph(graph, Ids(np.arange(found.nodes)))


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
        rest = b"" if text.endswith(b"\n") else file.readline(_LONGEST_LINE)
        if len(rest) == _LONGEST_LINE and not rest.endswith(b"\n"):
            number = before + text.count(b"\n") + 1
            raise GraphFileError(f"{place}, line {number}: longer than {_LONGEST_LINE:,} bytes")
        text = _plainly_ended(text + rest)
        yield LineBlock(text if before else text.removeprefix(_BOM), before)
        before += text.count(b"\n")


def _plainly_ended(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n")
    return text if text.endswith(b"\n") else text + b"\n"


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
