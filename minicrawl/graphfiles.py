"""Graph files, plain or gzipped, whatever their name; `-` is standard input.

A file is text in one of the formats of `graph.lists.formats`.

A gzipped file may expand to at most `MOST_SWELLING` bytes of text for each byte read, beyond the
first `ALWAYS_UNPACKED`: a file that expands further was made to exhaust the memory.
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
from minicrawl.graph.lists.edge_lists import NumericNames
from minicrawl.graph.lists.formats import parse
from minicrawl.graph.lists.lines import LineBlock
from minicrawl.graph.named_graph import NamedGraph, NodeHosts
from minicrawl.ports import Progress, unreported
from minicrawl.web import urls

_SCHEMES = ("http://", "https://")


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
        nodes: dict[str, int | None] = dict.fromkeys(names)
        for node, name in enumerate(self._all()):
            if name in nodes and nodes[name] is None:
                nodes[name] = node
        return [nodes[name] for name in names]

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


PIPE: Final = "-"
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_AT_ONCE = 1 << 17
_LONGEST_LINE = 1 << 20
MOST_SWELLING = 100
"""Largest expansion by gunzip. The link lists of real webs expand 3 to 20 times."""
ALWAYS_UNPACKED = 1 << 24


def read(path: Path, progress: Progress = unreported) -> NamedGraph:
    (graph, weights), ids, names = parse(blocks(path, progress), str(path))
    return NamedGraph(graph, Texts(names) if ids is None else NumericNames(ids), weights)


def blocks(
    path: Path, progress: Progress = unreported, at_once: int = _AT_ONCE
) -> Iterator[LineBlock]:
    """Yield the text of the file in blocks of about `at_once` bytes."""
    with _opened(path) as raw:
        size, file, before = os.fstat(raw.fileno()).st_size, _unpacked(raw, str(path)), 0
        while text := file.read(at_once):
            # A block ends with a whole line. The limit keeps a file without line ends from being
            # read into memory as a whole.
            line_end = b"" if text.endswith(b"\n") else file.readline(_LONGEST_LINE)
            if len(line_end) == _LONGEST_LINE and not line_end.endswith(b"\n"):
                number = before + text.count(b"\n") + 1
                raise GraphFileError(f"{path}, line {number}: longer than {_LONGEST_LINE:,} bytes")
            text = (text + line_end).replace(b"\r\n", b"\n")
            if not text.endswith(b"\n"):
                text += b"\n"
            yield LineBlock(text if before else text.removeprefix(_BOM), before)
            before += text.count(b"\n")
            if size and raw.seekable():
                progress(raw.tell() / size)


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


def _unpacked(raw: BinaryIO, place: str) -> BinaryIO:
    # Files and standard input are both buffered, so `peek` can look ahead.
    begin: bytes = raw.peek(len(_GZIP))  # type: ignore[attr-defined]
    return cast(BinaryIO, _Unpacked(raw, place)) if begin.startswith(_GZIP) else raw


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
