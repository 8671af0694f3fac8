"""Edge lists: one link a line, as two page ids. From lines to a graph, wherever they come from.

A line holds two whole numbers in decimal digits, the page that links and the page that is
linked to, with blanks or tabs between and around them. Empty lines and lines that begin with
`#` say nothing. Ids may be sparse: what counts is which ids occur, not how large they are.

Law: a list is read whole or refused with the place and the line that is wrong; no line is
guessed at or passed over.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import GraphFileError
from minicrawl.graph.csr import Csr

ID_LIMIT = 2**63
"""Ids are below this."""

_BATCH = 256  # lines; larger ones are slower, as their fields wake the garbage collector
_SHOWN = 40  # characters of a bad line that its message quotes
_COLUMNS = 2


@dataclass(frozen=True, slots=True, eq=False)
class EdgeList:
    """A graph and what its pages were called: page i of the graph is `ids[i]` of the list."""

    graph: Csr
    ids: NDArray[np.int64]


def parse(lines: Iterable[bytes | str], place: str) -> EdgeList:
    """Read `lines`; `place` is what a message calls the list, such as the name of its file."""
    ends = np.concatenate([np.empty(0, np.int64), *_batches(lines, place)])
    ids = np.unique(ends)
    if len(ids) < _COLUMNS:
        raise GraphFileError(f"{place}: {_poverty(len(ids))}")
    pages = np.searchsorted(ids, ends)
    return EdgeList(graph=Csr.from_edges(len(ids), pages[::2], pages[1::2]), ids=ids)


def _poverty(pages: int) -> str:
    if pages == 0:
        return "no link in it; expected lines of two page ids"
    return "only one page in it; expected links between at least two"


def _batches(lines: Iterable[bytes | str], place: str) -> Iterator[NDArray[np.int64]]:
    """The ids batch by batch, sources and targets in turn."""
    remaining = iter(lines)
    lines_before = 0
    while batch := list(islice(remaining, _BATCH)):
        ids = _ids_if_plain(batch)
        if ids is None:
            ids = list(_ids_line_by_line(batch, place, lines_before))
        yield np.array(ids, dtype=np.int64)
        lines_before += len(batch)


def _ids_if_plain(batch: list[bytes | str]) -> list[int] | None:
    """The ids of a batch in which every line is a link, or nothing.

    Three times as quick as the way line by line, because one look answers for all lines.
    """
    rows = [_as_bytes(line).split() for line in batch]
    if set(map(len, rows)) != {_COLUMNS}:
        return None
    fields = list(chain.from_iterable(rows))
    if not b"".join(fields).isdigit() or max(map(len, fields)) >= len(str(ID_LIMIT)):
        return None
    return list(map(int, fields))


def _ids_line_by_line(batch: list[bytes | str], place: str, lines_before: int) -> Iterator[int]:
    for number, line in enumerate(map(_as_bytes, batch), start=lines_before + 1):
        fields = line.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) != _COLUMNS or not b"".join(fields).isdigit():
            raise GraphFileError(
                f"{place}, line {number}: expected two page ids, found {_quoted(line)}"
            )
        for field in fields:
            yield _bounded_id(field, f"{place}, line {number}")


def _bounded_id(digits: bytes, place: str) -> int:
    significant = digits.lstrip(b"0") or b"0"
    if len(significant) > len(str(ID_LIMIT)) or int(significant) >= ID_LIMIT:
        raise GraphFileError(f"{place}: page ids are below 2**63, found {_quoted(digits)}")
    return int(significant)


def _as_bytes(line: bytes | str) -> bytes:
    # Whatever is not ASCII stays visible in a message and is never taken for a digit.
    return line if isinstance(line, bytes) else line.encode(errors="backslashreplace")


def _quoted(text: bytes) -> str:
    """The text made harmless: one line, no control characters, no more than a glance long."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="backslashreplace"))
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
