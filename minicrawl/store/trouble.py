"""What SQLite complains of, as one line that names the store."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minicrawl.errors import StoreError


@contextmanager
def told(path: Path, comfort: str = "") -> Iterator[None]:
    """Whatever SQLite raises inside is a `StoreError`, with a word of comfort if there is one."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError("; ".join(filter(None, (f"{path}: {error}", comfort)))) from error
