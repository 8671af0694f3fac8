"""The lock of a store: it has one writer.

Laws: the lock ends with the process, even after a crash. It is on the file of the database itself
and on the folder of its archive, so that no other name, and no lock file that was removed, lets a
second writer in. A writer whose lock is not its own any more writes nothing.

The file beside the store tells readers that it is being written, and is what earlier versions lock.
The database is locked at a byte that SQLite does not use: whoever reads is not kept out. To close
any handle of a file ends all locks that SQLite has on it in this process, so a handle is kept until
nothing else here has the file open.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.errors import StoreError, UsageError
from minicrawl.own_files import open_own, refuse_links
from minicrawl.store.reader import LOCK, file_beside, real_path, refuse_links_beside

_FREE_BYTE = 1 << 62
_HANDLES = Path("/proc/self/fd")
_kept: list[int] = []
"""Handles of databases that are not locked any more, and that something else here has open."""


class StoreLock:
    """The lock of a store, held from its creation until `release`."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a directory, not a store")
        self._path, self._place = path, real_path(path)
        if self._place.exists() and not os.access(self._place, os.W_OK):
            raise UsageError(f"{path} is read-only")
        refuse_links_beside(path)
        self._files: list[_LockFile] = []
        with self._errors():
            self._place.parent.mkdir(parents=True, exist_ok=True)
            self._files.append(_LockFile(file_beside(path, LOCK)))
            try:
                self._database = _locked_database(self._place)
            except BaseException:
                self._files[0].release()
                raise

    def hold_folder(self, folder: Path) -> None:
        """Hold the archive of the store, too, until `release`."""
        file = folder / LOCK.removeprefix("-")
        if file not in (one.file for one in self._files):
            with self._errors():
                folder.mkdir(parents=True, exist_ok=True)
                self._files.append(_LockFile(file))

    def renew(self) -> bool:
        """Make lock files again that were removed; False if another process may write."""
        return _is_at(self._place, self._database) and all(one.renew() for one in self._files)

    def check(self) -> None:
        """Raise StoreError unless the lock is held."""
        if not self.renew():
            raise StoreError(
                f"{self._path} was moved or replaced, or another crawl writes it: this crawl "
                "writes nothing more; everything committed before is safe"
            )

    def release(self) -> None:
        """Release all; close the connection before."""
        fcntl.fcntl(self._database, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK))
        _close_unless_used(self._database)
        for one in self._files:
            one.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError as error:
            raise StoreError(
                f"{self._path} is in use by another crawl: wait for it, or stop it"
            ) from error
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error


class _LockFile:
    """A file that is there to be locked."""

    def __init__(self, file: Path) -> None:
        """Raises BlockingIOError if another process has it."""
        self.file = file
        while True:
            self._handle = open_own(file, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(self._handle)
                raise
            if _is_at(file, self._handle):
                return
            os.close(self._handle)  # its last owner has just removed it

    def renew(self) -> bool:
        """Take the file again if it is gone or nobody's; False if another process has it."""
        if _is_at(self.file, self._handle):
            return True
        try:
            again = _LockFile(self.file)
        except (OSError, UsageError):
            return False
        os.close(self._handle)
        self._handle = again._handle
        return True

    def release(self) -> None:
        """Remove the file, then release it: a file that stays belongs to a writer that died."""
        with suppress(OSError):
            if _is_at(self.file, self._handle):
                self.file.unlink()
        os.close(self._handle)


def _locked_database(place: Path) -> int:
    refuse_links(place)
    handle = open_own(place, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK))
    except OSError:
        _close_unless_used(handle)
        raise
    return handle


def _byte(kind: int) -> bytes:
    """The lock of a single byte, as the kernel wants it."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, _FREE_BYTE, 1, 0)


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is the one at this path."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except OSError:
        return False


def _close_unless_used(handle: int) -> None:
    """Close this handle, and those that were kept, if nothing else here has their files open."""
    _kept.append(handle)
    used = list(_other_files())
    for one in tuple(_kept):
        if not any(os.path.samestat(os.fstat(one), other) for other in used):
            _kept.remove(one)
            os.close(one)


def _other_files() -> Iterator[os.stat_result]:
    """The files that this process has open, but for the handles that were kept."""
    handles = [int(one.name) for one in _HANDLES.iterdir()] if _HANDLES.is_dir() else []
    for number in handles:
        if number not in _kept:
            with suppress(OSError):  # that of the list itself is closed by now
                yield os.fstat(number)
