"""The lock of a store, a file beside it.

Law: a store has one writer. The lock ends with the process, even after a crash.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from minicrawl.errors import StoreError, UsageError
from minicrawl.store.reader import LOCK, file_beside, real_path


def lock_store(path: Path) -> int:
    """Take the lock of the store. It ends with the process, even after a crash."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory, not a store")
    place = real_path(path)
    if place.exists() and not os.access(place, os.W_OK):
        raise UsageError(f"{path} is read-only")
    lock_file = file_beside(path, LOCK)
    while True:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise StoreError(
                f"{path} is in use by another crawl: wait for it, or stop it"
            ) from error
        with suppress(FileNotFoundError):
            if os.path.samestat(lock_file.stat(), os.fstat(lock)):
                return lock
        os.close(lock)  # its last owner has just removed it


def unlock_store(path: Path, lock: int) -> None:
    """Remove the file, then release the lock: a file that stays belongs to a writer that died."""
    with suppress(OSError):
        file_beside(path, LOCK).unlink()
    os.close(lock)
