"""Rows as Parquet, written by DuckDB, and exact like JSONL.

A row group is in memory as a whole, so it is limited in bytes. DuckDB checks that limit only
between the chunks that it reads, and a chunk of a table is 2,048 rows, however large. So each block
first becomes a small file, whose chunks are no larger than the file, and the files are then joined.
DuckDB writes only to a path, so the result is made in a temporary folder and copied.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from minicrawl.errors import needs
from minicrawl.own_files import scratch
from minicrawl.report.files.content_columns import CONTENTS, NESTED, RAW_TEXTS, content_columns
from minicrawl.report.selected_pages import COLUMN_TYPES, COLUMNS, LINK_COLUMNS, Block

ROW_GROUP_BYTES = 32 << 20
_LEAST_MEMORY = 256 << 20
_MEMORY_OF_GROUP = 8
"""Memory limit in row groups: several copies exist while one is compressed."""
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
    most_bytes: int | None = None,
    types: Mapping[str, str] | None = None,
    least_memory: int = _LEAST_MEMORY,
) -> None:
    """Write Parquet, block by block; times are timestamps in UTC.

    No further block is taken when the file has about `most_bytes`. `types` are SQL types of columns
    that are not those of pages and links.
    """
    with needs("parquet", "Parquet"):
        import duckdb
    memory = max(least_memory, _MEMORY_OF_GROUP * row_group_bytes)
    typed = ", ".join(f'{_cast(name, types or {})} AS "{name}"' for name in columns)
    none = ", ".join(f'NULL AS "{name}"' for name in columns)
    with scratch("parquet") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory >> 20}MiB",
            "threads": 1,  # more threads would shuffle the rows
            "preserve_insertion_order": False,  # otherwise row groups would have no limit in bytes
            "temp_directory": str(folder),
        }
        with duckdb.connect(config=config) as database:
            parts, written = [str(folder / "0.parquet")], 0
            empty = f"SELECT {typed} FROM (SELECT {none}) WHERE false"
            database.execute(f"COPY ({empty}) TO ? (FORMAT parquet)", parts)
            for block in blocks:
                parts.append(str(folder / f"{len(parts)}.parquet"))
                arrays = {name: _as_array(name, values) for name, values in block.items()}
                database.register("block", arrays)
                part = f"COPY (SELECT {typed} FROM block) TO ? (FORMAT parquet, COMPRESSION zstd)"
                database.execute(part, parts[-1:])
                written += Path(parts[-1]).stat().st_size
                if most_bytes is not None and written >= most_bytes:
                    break
            target = folder / "pages.parquet"
            copy = _COPY.format(columns[0], row_group_bytes)
            database.execute(copy, [parts, str(target)])
        with target.open("rb") as whole:
            shutil.copyfileobj(whole, file)


def _cast(name: str, types: Mapping[str, str]) -> str:
    """Return the SQL expression of a column with its type; unknown columns are scores."""
    if name in CONTENTS:
        usual = CONTENTS[name].type
    else:
        known = (*COLUMNS, *LINK_COLUMNS, *RAW_TEXTS, *content_columns())
        usual = COLUMN_TYPES.get(name, "VARCHAR") if name in known else "DOUBLE"
    value = f'CAST("{name}" AS JSON)' if name in NESTED else f'"{name}"'
    return f"CAST({value} AS {types.get(name) or usual})"


def _as_array(name: str, values: Sequence[Any]) -> np.ndarray:
    """Return a column: lists and structs as JSON, nullable values as objects."""
    if name in NESTED:
        values = [None if value is None else json.dumps(value) for value in values]
    if COLUMN_TYPES.get(name) == "DOUBLE":
        return np.array(values, dtype=np.float64)
    is_number = name in {"rank", "inlinks", "depth", "weight"}
    return np.array(values, dtype=np.int64 if is_number else object)
