"""A format by the name of a file, and a file that is there whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place when all is written."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if path.exists() and not path.is_file():
        with path.open("wb") as device:  # which nothing may replace
            yield device
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
        beside.chmod(_usual_mode())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    """What a file gets that is opened in the plain way."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
