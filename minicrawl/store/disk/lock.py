"""One writer for a file, by whatever name it is reached.

A path is only a name: it can be a link, and another file can take it. So two things are locked,
the lock file beside the store and the database itself, and the writer checks before each
transaction that the path still leads to the file (the inode) that it locked. Crawl A writes
crawl.db, which is inode 41; then:

    event                            crawl.db-lock    inode 41   crawl B on that path
    A starts                         locked by A      locked     refused: the lock file is locked
    rm crawl.db-lock                 -                locked     locks a new lock file, and is
                                                                 refused at inode 41
    ln crawl.db other.db             locked by A      locked     refused at inode 41 by that name
    mv copy.db crawl.db (inode 57)   locked by A      locked     refused: the lock file is locked.
                                                                 A finds 57 instead of 41 at its
                                                                 path, and writes nothing more
    kill -9 A                        there, unlocked  unlocked   starts

The kernel unlocks when a process ends, so that no crash leaves a lock behind. To readers, a
locked lock file means a running crawl; earlier versions of minicrawl lock nothing else. The
database is locked at a byte that SQLite does not use, so readers are not blocked.

A trap of POSIX: closing any handle of a file releases all locks of this process on it, those of
SQLite included. So the handle of a released database stays open until nothing else in this
process has the file open.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.errors import StoreError, UsageError
from minicrawl.own_files import make_folder, open_own, refuse_links
from minicrawl.store.reader import LOCK, file_beside, real_path, refuse_links_beside

_FREE_BYTE = 1 << 62
_HANDLES = Path("/proc/self/fd")
_kept: list[int] = []
"""Handles of databases that are no longer locked, but that this process still has open otherwise.
"""


class StoreLock:
    """Lock of a store, held from its creation until `release`."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a directory, not a store")
        self._path, self._place = path, real_path(path)
        if self._place.exists() and not os.access(self._place, os.W_OK):
            raise UsageError(f"{path} is read-only")
        refuse_links_beside(path)
        self._files: list[_LockFile] = []
        with self._errors():
            make_folder(self._place.parent)
            self._files.append(_LockFile(file_beside(path, LOCK)))
            try:
                refuse_links(self._place)
                self._database = open_own(self._place, os.O_RDWR | os.O_CREAT)
                try:
                    fcntl.fcntl(self._database, fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK))
                except OSError:
                    _close_unless_used(self._database)
                    raise
            except BaseException:
                self._files[0].release()
                raise

    def hold_folder(self, folder: Path) -> None:
        """Also lock the archive of the store, until `release`."""
        file = folder / LOCK.removeprefix("-")
        if file not in (lock.file for lock in self._files):
            with self._errors():
                make_folder(folder)
                self._files.append(_LockFile(file))

    def renew(self) -> bool:
        """Recreate deleted lock files. Return False if another process may be writing."""
        return _is_at(self._place, self._database) and all(lock.renew() for lock in self._files)

    def check(self) -> None:
        """Raise StoreError unless the lock is held."""
        if not self.renew():
            raise StoreError(
                f"{self._path} was moved or replaced, or another crawl writes it: this crawl "
                "writes nothing more; everything committed before is safe"
            )

    def release(self) -> None:
        """Release all locks. The connection must be closed before."""
        fcntl.fcntl(self._database, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK))
        _close_unless_used(self._database)
        for lock in self._files:
            lock.release()

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
    """File without content, which its writer locks."""

    def __init__(self, file: Path) -> None:
        """Lock the file. Raises BlockingIOError if another process holds it."""
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
            os.close(self._handle)  # its previous owner has just removed it

    def renew(self) -> bool:
        """Lock the file again if it was removed. Return False if another process holds it."""
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
        """Remove the file, then release it. A file that remains is from a writer that crashed."""
        with suppress(OSError):
            if _is_at(self.file, self._handle):
                self.file.unlink()
        os.close(self._handle)


def _byte(kind: int) -> bytes:
    """Return the kernel's structure for a lock of a single byte."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, _FREE_BYTE, 1, 0)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except OSError:
        return False


def _close_unless_used(handle: int) -> None:
    """Close this handle and the kept ones, unless this process has their file open otherwise."""
    _kept.append(handle)
    handles = [int(entry.name) for entry in _HANDLES.iterdir()] if _HANDLES.is_dir() else []
    used = list[os.stat_result]()
    for number in {*handles} - {*_kept}:
        with suppress(OSError):  # the handle of the listing itself is closed by now
            used.append(os.fstat(number))
    for released in tuple(_kept):
        if not any(os.path.samestat(os.fstat(released), other) for other in used):
            _kept.remove(released)
            os.close(released)
