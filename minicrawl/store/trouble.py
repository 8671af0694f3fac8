"""Errors of SQLite as messages of one line that name the store.

Law: a full disk has an error of its own, because it is temporary.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from minicrawl.errors import DamagedStore, NoRoom, StoreError

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that code raises when it reads a bad value."""

DERIVED = "delete it if need be: it can be made again"
"""What comforts who has a damaged file beside a store."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRIMARY = 0xFF
"""The bits of an error code with its primary result code."""
_TRIED_BYTES = 1 << 16


@contextmanager
def translating_sqlite_errors(path: Path, comfort: str = "") -> Iterator[None]:
    """Turn errors of SQLite into a `StoreError` that ends with `comfort`: what is still safe."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes names of a damaged schema
        raise DamagedStore(_line(path, f"damaged ({error})", comfort)) from error
    except sqlite3.Error as error:
        if _means_full_disk(error, path):
            raise NoRoom(_line(path, _full_disk_message(error), comfort)) from error
        is_damaged = _primary_code(error) == sqlite3.SQLITE_CORRUPT
        kind = DamagedStore if is_damaged else StoreError
        raise kind(_line(path, str(error), comfort)) from error


@contextmanager
def translating_derived_errors(path: Path) -> Iterator[None]:
    """The same for what lies beside a store. That it is damaged says nothing of the store."""
    try:
        with translating_sqlite_errors(path, DERIVED):
            yield
    except DamagedStore as error:
        raise StoreError(str(error)) from error


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Turn errors of bad values into a `StoreError`."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(
            f"{path} is damaged ({error}): run `minicrawl check` for details"
        ) from error


def _line(path: Path, what: str, comfort: str) -> str:
    return "; ".join(filter(None, (f"{path}: {what}", comfort)))


def _full_disk_message(error: sqlite3.Error) -> str:
    return str(error) if "full" in str(error) else f"the disk is full ({error})"


def _means_full_disk(error: sqlite3.Error, path: Path) -> bool:
    """SQLite reports a full disk for most writes, but `disk I/O error` for some and for quotas."""
    code = _primary_code(error)
    if code == sqlite3.SQLITE_IOERR:
        return not _has_room(path.absolute().parent)
    return code == sqlite3.SQLITE_FULL


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY


def _has_room(folder: Path) -> bool:
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error.errno not in _FULL
    return True
