"""What SQLite complains of, as one line that names the store.

Law: a disk that is full is told from all other trouble, for it passes.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from minicrawl.errors import NoRoom, StoreError

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised where a value is not what it must be."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRIMARY = 0xFF
"""The bits of an error code that say what it is; the others say where."""
_TRIED_BYTES = 1 << 16


@contextmanager
def translating_sqlite_errors(path: Path, comfort: str = "") -> Iterator[None]:
    """Whatever SQLite raises inside is a `StoreError`, with a word of comfort if there is one."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes names of a damaged schema
        raise StoreError(_line(path, f"damaged ({error})", comfort)) from error
    except sqlite3.Error as error:
        if _is_of_a_full_disk(error, path):
            raise NoRoom(_line(path, _of_a_full_disk(error), comfort)) from error
        raise StoreError(_line(path, str(error), comfort)) from error


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """What is read here makes sense, or the store is named that does not."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(
            f"{path} is damaged ({error}): `minicrawl check` says what is wrong"
        ) from error


def _line(path: Path, what: str, comfort: str) -> str:
    return "; ".join(filter(None, (f"{path}: {what}", comfort)))


def _of_a_full_disk(error: sqlite3.Error) -> str:
    return str(error) if "full" in str(error) else f"the disk is full ({error})"


def _is_of_a_full_disk(error: sqlite3.Error, path: Path) -> bool:
    """SQLite says so of most writes; of some, and of quotas, it says `disk I/O error`."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY
    if code == sqlite3.SQLITE_IOERR:
        return not _takes_more(path.absolute().parent)
    return code == sqlite3.SQLITE_FULL


def _takes_more(folder: Path) -> bool:
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error.errno not in _FULL
    return True
