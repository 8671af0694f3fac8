"""Rows as CSV, TSV and JSONL, and the table of all writers of rows.

CSV and TSV are for spreadsheets. Their cells are escaped, so a cell may differ from the page's text
by a leading apostrophe or an escape. JSONL is for programs, and exact.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from minicrawl import ext
from minicrawl.errors import UsageError
from minicrawl.ext import Registry
from minicrawl.report.files.content_columns import NESTED
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.parquet import write_parquet
from minicrawl.report.selected_pages import COLUMN_TYPES, COLUMNS, Block
from minicrawl.wording import all_harmless


def contents_of(suffix: str) -> tuple[str, ...]:
    """Return the columns of page content that files with this suffix always have."""
    writer = WRITERS.get(suffix)
    return tuple(getattr(writer, "contents", ()))


def lines_of(suffix: str) -> Callable[[Any, Callable[[str], None]], Iterator[bytes]] | None:
    """Return the function that yields such a file's lines from a snapshot; None for other files."""
    return getattr(WRITERS.get(suffix), "lines", None)


def parts_of(suffix: str, snapshot: Any) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield names and lines of the files that belong beside such a file, as a long sitemap has."""
    parts = getattr(WRITERS.get(suffix), "parts", None)
    return iter(()) if parts is None else parts(snapshot)


def write_csv(
    blocks: Iterable[Block],
    file: BinaryIO,
    columns: Sequence[str] = COLUMNS,
    delimiter: str = ",",
) -> None:
    """Write CSV by RFC 4180, but with Unix line ends."""
    file.write(f"{delimiter.join(columns)}\n".encode())
    for block in blocks:
        cells = []
        for name, values in block.items():
            texts = ["" if value is None else str(value) for value in values]
            # Any text may come from a page.
            has_text = name not in COLUMN_TYPES and any(isinstance(value, str) for value in values)
            cells.append(_quoted(all_harmless(texts), delimiter) if has_text else texts)
        lines = map(delimiter.join, zip(*cells, strict=True))
        file.write("".join([f"{line}\n" for line in lines]).encode())


write_tsv = partial(write_csv, delimiter="\t")
"""Writes TSV. No cell contains a tab."""


def write_jsonl(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write one JSON object per line, in ASCII without control characters."""
    encode = json.JSONEncoder(allow_nan=False, separators=("\n", ": ")).encode
    line = "{" + ", ".join(f'"{name}": %s' for name in columns) + "}\n"
    for block in blocks:
        values = [
            list(map(json.dumps, column))
            if name in NESTED
            # For speed all values are encoded at once. JSON escapes the line breaks of texts, so
            # one in the output is always a separator.
            else encode(column)[1:-1].split("\n")
            for name, column in block.items()
            if column
        ]
        lines = "".join(map(line.__mod__, zip(*values, strict=True)))
        file.write(lines.replace("\x7f", r"\u007f").encode("ascii"))


def _quoted(cells: Sequence[str], delimiter: str) -> Sequence[str]:
    """Quote the cells that need it. Escaped cells have no line break."""
    # One search in the whole column: most columns need no quotes at all.
    text = "".join(cells)
    if delimiter not in text and '"' not in text:
        return cells
    return [
        '"' + cell.replace('"', '""') + '"' if delimiter in cell or '"' in cell else cell
        for cell in cells
    ]


Writer = Callable[[Iterable[Block], BinaryIO, Sequence[str]], int | None]
"""Function that writes blocks with these columns, and counts its rows if it leaves some out."""

ROW_WRITERS: dict[str, Writer] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
"""Built-in writers by file suffix."""

WRITERS = Registry(ext.EXPORTERS, ROW_WRITERS)
"""Built-in writers, and those of installed packages."""

WEB_ARCHIVES = ("warc.gz", "wacz")
"""Formats of pages with their content."""

GRAPH_FOLDER = "graph"
"""Name of the format of a folder `graph/`, or one with the suffix `.graph/`."""

FORMATS = (*ROW_WRITERS, *DRAWINGS, GRAPH_FOLDER, *WEB_ARCHIVES)


def format_of(path: Path, name: str | None = None) -> str:
    """Return the format of this name, or that of the file's suffix."""
    ending = path.suffix.removeprefix(".").lower() or path.name
    in_full = "".join(path.suffixes[-2:]).removeprefix(".").lower()
    suffix = name or (in_full if in_full in WEB_ARCHIVES or in_full in WRITERS else ending)
    if suffix not in FORMATS and suffix not in WRITERS:
        known = ", ".join(f".{known}" for known in dict.fromkeys((*FORMATS, *WRITERS)))
        raise UsageError(f"{path}: unknown format; use one of {known}, or --format")
    return suffix
