"""Which gathered stores are read just now.

Law: a store is not removed while somebody reads it. A reader that is killed reads it no longer.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "-used"


def mark_of(store: Path) -> Path:
    """The file that readers of a store lock. It goes with the store."""
    return store.with_name(f"{store.name}{_MARK}")


@contextmanager
def in_use(store: Path) -> Iterator[None]:
    """Keep a store, which need not be there yet, until this is left."""
    held = _locked(mark_of(store))
    try:
        yield
    finally:
        os.close(held)


@contextmanager
def unread(store: Path) -> Iterator[bool]:
    """Whether nobody reads a store. If so, who begins to waits until this is left."""
    mark = os.open(mark_of(store), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(mark)


def _locked(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        mark = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(mark, fcntl.LOCK_SH)
        if _is_there(mark, path):
            return mark
        os.close(mark)  # the store was removed while we waited


def _is_there(mark: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(mark), path.stat())
    return False
