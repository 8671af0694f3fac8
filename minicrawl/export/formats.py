"""File formats by suffix, and the writers of CSV, TSV, JSONL and Parquet.

CSV and TSV are for spreadsheets. Their cells are escaped, so a cell may differ from the page's text
by a leading apostrophe or an escape. JSONL is for programs, and exact.

Parquet files are written by DuckDB, and exact like JSONL. A row group is in memory as a whole, so
it is limited in bytes. DuckDB checks that limit only between the chunks that it reads, and a chunk
of a table is 2,048 rows, however large. So each block first becomes a small file, whose chunks are
no larger than the file, and the files are then joined. DuckDB writes only to a path, so the result
is made in a temporary folder and copied.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minicrawl import plugins
from minicrawl.errors import UsageError
from minicrawl.export.cells import COLUMNS, LINK_COLUMNS, Block, all_harmless
from minicrawl.export.drafts import scratch
from minicrawl.export.drawings import DRAWINGS
from minicrawl.plugins import Registry

ROW_GROUP_BYTES = 32 << 20
_LEAST_MEMORY = 256 << 20
_MEMORY_OF_GROUP = 8
"""Memory limit in row groups: several copies exist while one is compressed."""
_TYPES = {
    "rank": "BIGINT",
    "importance": "DOUBLE",
    "cash": "DOUBLE",
    "history": "DOUBLE",
    "inlinks": "BIGINT",
    "status": "SMALLINT",
    "depth": "SMALLINT",
    "first_fetched": "TIMESTAMPTZ",
    "last_fetched": "TIMESTAMPTZ",
    "weight": "BIGINT",
}
"""SQL types; the other columns of COLUMNS and LINK_COLUMNS are text."""
_COPY = """
COPY (FROM read_parquet(?) UNION ALL BY NAME SELECT NULL AS "{}" WHERE random() > 1)
TO ? (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE_BYTES {})
"""
"""Query that joins the files.

The second SELECT never returns a row. It makes every column nullable; otherwise that would depend
on the rows, and files could not be joined.
"""


def write_parquet(
    blocks: Iterable[Block],
    file: BinaryIO,
    columns: Sequence[str] = COLUMNS,
    row_group_bytes: int = ROW_GROUP_BYTES,
) -> None:
    """Write Parquet, block by block; times are timestamps in UTC."""
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(
            "Parquet needs the package duckdb: install minicrawl[parquet], or export .csv"
        ) from error
    memory = max(_LEAST_MEMORY, _MEMORY_OF_GROUP * row_group_bytes)
    typed = ", ".join(f'CAST("{name}" AS {_type(name)}) AS "{name}"' for name in columns)
    none = ", ".join(f'NULL AS "{name}"' for name in columns)
    with scratch("parquet") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory >> 20}MiB",
            "threads": 1,  # more threads would shuffle the rows
            "preserve_insertion_order": False,  # otherwise row groups would have no limit in bytes
            "temp_directory": str(folder),
        }
        with duckdb.connect(config=config) as database:
            parts = [str(folder / "0.parquet")]
            empty = f"SELECT {typed} FROM (SELECT {none}) WHERE false"
            database.execute(f"COPY ({empty}) TO ? (FORMAT parquet)", parts)
            for block in blocks:
                parts.append(str(folder / f"{len(parts)}.parquet"))
                database.register("block", _as_arrays(block))
                part = f"COPY (SELECT {typed} FROM block) TO ? (FORMAT parquet)"
                database.execute(part, parts[-1:])
            target = folder / "pages.parquet"
            copy = _COPY.format(columns[0], row_group_bytes)
            database.execute(copy, [parts, str(target)])
        with target.open("rb") as made:
            shutil.copyfileobj(made, file)


CONTENTS = ("text", "html", "headings", "lang", "links")
"""Columns of page content, for JSONL and Parquet."""


def content_columns() -> tuple[str, ...]:
    """Return `CONTENTS`, and the texts that packages add."""
    return (*CONTENTS, *plugins.entry_points(plugins.TEXTS))


RAW_TEXTS = ("end", "rel", "written")
"""Columns that only files of links as written have."""


def _type(name: str) -> str:
    """Return the SQL type of a column; unknown columns are scores."""
    if name in RAW_TEXTS or name in content_columns():
        return "VARCHAR"
    return _TYPES.get(name, "VARCHAR") if name in (*COLUMNS, *LINK_COLUMNS) else "DOUBLE"


def _as_arrays(block: Block) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=_numpy_type(name)) for name, values in block.items()}


def _numpy_type(name: str) -> type:
    """Return the numpy type of a column; nullable ones are objects."""
    if _TYPES.get(name) == "DOUBLE":
        return np.float64
    return np.int64 if name in {"rank", "inlinks", "depth", "weight"} else object


_STRANGE = frozenset(
    (
        *("url", "host", "title", "source", "target", "original", "end", "through", "stands_for"),
        *("text", "rel", "written", "like"),
    )
)
"""Columns with text from web pages."""


def write_csv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write CSV by RFC 4180, but with Unix line ends."""
    _write_cells(blocks, file, columns, ",")


def write_tsv(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write TSV. No cell contains a tab."""
    _write_cells(blocks, file, columns, "\t")


def write_jsonl(blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    """Write one JSON object per line, in ASCII without control characters."""
    line = "{" + ", ".join(f'"{name}": %s' for name in columns) + "}\n"
    for block in blocks:
        values = map(_as_json, block.values())
        lines = "".join(map(line.__mod__, zip(*values, strict=True)))
        file.write(lines.replace("\x7f", r"\u007f").encode("ascii"))


def _as_json(values: Sequence[Any]) -> list[str]:
    """Return each value as JSON.

    The list is encoded at once and split at line breaks, for speed.
    """
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
    """Return the values as text; None is an empty cell."""
    if None in values:
        return ["" if value is None else str(value) for value in values]
    return map(str, values)


def _quoted(cells: Sequence[str], delimiter: str) -> Sequence[str]:
    """Quote the cells that need it.

    Escaped cells have no line break, so only the delimiter and quotes matter.
    """
    text = "".join(cells)
    if delimiter not in text and '"' not in text:
        return cells
    return [_quote(cell) if delimiter in cell or '"' in cell else cell for cell in cells]


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


Writer = Callable[[Iterable[Block], BinaryIO, Sequence[str]], None]
"""Function that writes blocks with these columns."""

ROW_WRITERS: dict[str, Writer] = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
"""Built-in writers by file suffix."""

WRITERS = Registry(plugins.EXPORTERS, ROW_WRITERS)
"""Built-in writers, and those of installed packages."""


WEB_ARCHIVES = ("warc.gz", "wacz")
"""Formats of pages with their content."""

FORMATS = (*ROW_WRITERS, *DRAWINGS, *WEB_ARCHIVES)
"""Built-in formats: rows, drawings of graphs, web archives."""


def format_of(path: Path, name: str | None = None) -> str:
    """Return the format of this name, or that of the file's suffix."""
    ending = path.suffix.removeprefix(".").lower()
    in_full = "".join(path.suffixes[-2:]).removeprefix(".").lower()
    suffix = name or (in_full if in_full in WEB_ARCHIVES else ending)
    if suffix not in FORMATS and suffix not in WRITERS:
        known = ", ".join(f".{known}" for known in dict.fromkeys((*FORMATS, *WRITERS)))
        raise UsageError(f"{path}: unknown format; use one of {known}, or --format")
    return suffix
