"""Pages as a Parquet file, written by DuckDB. Exact, like JSONL.

It takes rows in blocks and keeps what does not fit into memory on disk; it writes to a path only,
so the file is made in a folder of its own and copied.
"""

import shutil
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.export.drafts import scratch
from minicrawl.export.rows import COLUMNS, LINK_COLUMNS, Block

_MEMORY = "256MB"
_TYPES = {
    "rank": "BIGINT",
    "importance": "DOUBLE",
    "cash": "DOUBLE",
    "history": "DOUBLE",
    "inlinks": "BIGINT",
    "status": "SMALLINT",
    "depth": "SMALLINT",
    "first_fetched": "TIMESTAMP",
    "last_fetched": "TIMESTAMP",
    "weight": "BIGINT",
}
"""All others of COLUMNS and LINK_COLUMNS are text."""


def write_parquet(
    blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str] = COLUMNS
) -> None:
    """One block after the other; the times are timestamps in UTC."""
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(
            "Parquet needs the package duckdb: install minicrawl[parquet], or export .csv"
        ) from error
    with scratch("parquet") as folder:
        target = folder / "pages.parquet"
        with duckdb.connect(folder / "pages.duckdb", config={"memory_limit": _MEMORY}) as database:
            typed = ", ".join(f'"{name}" {_type(name)}' for name in columns)
            database.execute(f"CREATE TABLE pages ({typed})")
            for block in blocks:
                database.register("block", _as_arrays(block))
                database.execute("INSERT INTO pages SELECT * FROM block")
            database.execute("COPY pages TO ? (FORMAT parquet, COMPRESSION zstd)", [str(target)])
        with target.open("rb") as made:
            shutil.copyfileobj(made, file)


def _type(name: str) -> str:
    """A column that is none of these has scores."""
    return _TYPES.get(name, "VARCHAR") if name in (*COLUMNS, *LINK_COLUMNS) else "DOUBLE"


def _as_arrays(block: Block) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=_numpy_type(name)) for name, values in block.items()}


def _numpy_type(name: str) -> type:
    """Objects may be absent, so a status is one, and a score."""
    if _TYPES.get(name) == "DOUBLE":
        return np.float64
    return np.int64 if name in {"rank", "inlinks", "depth", "weight"} else object
