"""Locks on gathered stores that are being read.

Law: a store is not removed while somebody reads it. The lock of a killed reader ends with it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "-used"


def mark_of(store: Path) -> Path:
    """Return the file that readers of a store lock. It is removed with the store."""
    return store.with_name(f"{store.name}{_MARK}")


@contextmanager
def in_use(store: Path) -> Iterator[None]:
    """Protect a store, which need not exist yet, from removal until exit."""
    # The lock is on a file beside the store: SQLite's locks do not keep a file from being removed.
    path = mark_of(store)
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        mark = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(mark, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(mark), path.stat()):
                break
        os.close(mark)  # the store was removed while we waited
    try:
        yield
    finally:
        os.close(mark)


@contextmanager
def unread(store: Path) -> Iterator[bool]:
    """Yield True if nobody reads the store; then new readers wait until exit."""
    mark, is_unread = os.open(mark_of(store), os.O_RDWR | os.O_CREAT, 0o600), False
    try:
        with suppress(BlockingIOError):
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_unread = True
        yield is_unread
    finally:
        os.close(mark)
