"""A format by the name of a file."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from minicrawl.errors import UsageError
from minicrawl.export.drawings import DRAWINGS
from minicrawl.export.parquet import write_parquet
from minicrawl.export.rows import Block
from minicrawl.export.text import write_csv, write_jsonl, write_tsv

Writer = Callable[[Iterable[Block], BinaryIO, Sequence[str]], None]
"""Is also told which columns the blocks have."""

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
    """The format of this name, or else of the file's suffix."""
    suffix = name or path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise UsageError(
            f"{path}: no format is known by this name; use one of {known}, or --format"
        )
    return suffix
