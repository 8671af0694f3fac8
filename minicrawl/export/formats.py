"""File formats by suffix, and the writers of lines of text: CSV, TSV and JSONL.

CSV and TSV are for spreadsheets. Their cells are harmless, so a cell may differ from the text of
the page by a leading apostrophe or an escape. JSONL is for programs, and exact.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from minicrawl.errors import UsageError
from minicrawl.export.cells import all_harmless
from minicrawl.export.drawings import DRAWINGS
from minicrawl.export.parquet import write_parquet
from minicrawl.export.rows import COLUMNS, Block

_STRANGE = frozenset(("url", "host", "title", "source", "target"))
"""The columns with text from web pages."""


def write_csv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write CSV by RFC 4180, but with Unix line ends."""
    _write_cells(blocks, file, columns, ",")


def write_tsv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write the same with tabs. No cell has a tab."""
    _write_cells(blocks, file, columns, "\t")


def write_jsonl(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write one JSON object a line, in ASCII without control characters."""
    line = "{" + ", ".join(f'"{name}": %s' for name in columns) + "}\n"
    for block in blocks:
        values = map(_as_json, block.values())
        lines = "".join(map(line.__mod__, zip(*values, strict=True)))
        file.write(lines.replace("\x7f", r"\u007f").encode("ascii"))


def _as_json(values: Sequence[Any]) -> list[str]:
    """A text for each value; JSON has no line breaks within texts, so these keep them apart."""
    encode = json.JSONEncoder(allow_nan=False, separators=("\n", ": ")).encode
    return encode(values)[1:-1].split("\n") if values else []


def _write_cells(
    blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str], delimiter: str
) -> None:
    file.write(f"{delimiter.join(columns)}\n".encode())
    for block in blocks:
        cells = (
            _quoted(all_harmless(values), delimiter) if name in _STRANGE else _cells(values)
            for name, values in block.items()
        )
        lines = map(delimiter.join, zip(*cells, strict=True))
        file.write("".join([f"{line}\n" for line in lines]).encode())


def _cells(values: Sequence[Any]) -> Iterable[str]:
    """The values as text; None is an empty cell."""
    if None in values:
        return ["" if value is None else str(value) for value in values]
    return map(str, values)


def _quoted(cells: Sequence[str], delimiter: str) -> Sequence[str]:
    """A harmless cell has no line break, so these two alone make a cell need quotes."""
    text = "".join(cells)
    if delimiter not in text and '"' not in text:
        return cells
    return [_quote(cell) if delimiter in cell or '"' in cell else cell for cell in cells]


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


Writer = Callable[[Iterable[Block], BinaryIO, Sequence[str]], None]
"""A writer of blocks with these columns."""

WRITERS: dict[str, Writer] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
"""By the suffix of the file."""


FORMATS = (*WRITERS, *DRAWINGS)
"""Rows, or the drawing of a graph."""


def format_of(path: Path, name: str | None = None) -> str:
    """The format with this name, or the format of the suffix of the file."""
    suffix = name or path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise UsageError(f"{path}: unknown format; use one of {known}, or --format")
    return suffix
