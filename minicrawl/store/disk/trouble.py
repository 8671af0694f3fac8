"""SQLite errors as one-line messages that name the store.

Law: a full disk has an error class of its own, because it is temporary.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from minicrawl import ext
from minicrawl.errors import DamagedStore, NoRoom, StoreError

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that parsing an invalid value may raise."""

DERIVED = "delete it to have it rebuilt"
"""Advice for a damaged file of derived data."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRIMARY = 0xFF
"""Mask of the primary result code in an extended SQLite error code."""
_TRIED_BYTES = 1 << 16


@contextmanager
def translating_sqlite_errors(path: Path, advice: str = "") -> Iterator[None]:
    """Convert SQLite errors into a `StoreError` that ends with `advice`, if any."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DamagedStore(_line(path, f"damaged ({error})", advice)) from error
    except sqlite3.Error as error:
        if _means_full_disk(error, path):
            cause = str(error) if "full" in str(error) else f"the disk is full ({error})"
            raise NoRoom(_line(path, cause, advice)) from error
        is_damaged = primary_code(error) == sqlite3.SQLITE_CORRUPT
        kind = DamagedStore if is_damaged else StoreError
        raise kind(_line(path, str(error), advice)) from error


@contextmanager
def translating_derived_errors(path: Path) -> Iterator[None]:
    """Like `translating_sqlite_errors`, but damaged derived data leaves the store intact."""
    try:
        with translating_sqlite_errors(path, DERIVED):
            yield
    except NoRoom as error:  # a rebuilt file would need the same room
        raise NoRoom(str(error).removesuffix(f"; {DERIVED}")) from error
    except DamagedStore as error:
        raise StoreError(str(error)) from error


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Convert errors from invalid values into a `StoreError`, except those of a package's code."""
    try:
        yield
    except NONSENSE as error:
        if ext.culprit(error) is not None:
            raise
        raise StoreError(
            f"{path} is damaged ({error}): run `minicrawl check` for details"
        ) from error


def _line(path: Path, trouble: str, advice: str) -> str:
    return "; ".join(filter(None, (f"{path}: {trouble}", advice)))


def _means_full_disk(error: sqlite3.Error, path: Path) -> bool:
    """Return True if the error means that the disk is full.

    SQLite reports SQLITE_FULL for most failed writes, but SQLITE_IOERR for some, and for quotas.
    """
    code = primary_code(error)
    if code == sqlite3.SQLITE_IOERR:
        return not _has_room(path.absolute().parent)
    return code == sqlite3.SQLITE_FULL


def primary_code(error: Exception) -> int:
    """Return the code of an SQLite error; SQLite quotes names of a damaged schema."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY


def _has_room(folder: Path) -> bool:
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error.errno not in _FULL
    return True
