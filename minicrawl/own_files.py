"""Files on disk: those of a store, opened safely, and those of the user, replaced at once.

Laws: a file beside a store, or in a folder beside it, is never a symbolic link, a hard link, a pipe
or a device: opening a store reads and writes nothing elsewhere, and never blocks. The path of the
store itself may be a symbolic link, because the user named it.

A file that is replaced keeps its links, its mode and, if permitted, its owner. Leftovers of a
command that was killed are removed by the next one that writes in the same folder; files that
another command is writing are not.

draft   a file or folder whose name ends in `.part`; its writer holds a lock on it, which ends with
        the process
"""

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import BinaryIO

from minicrawl.errors import MinicrawlError, UsageError

_OF_OTHERS = 0o066
"""Bits of a mode that let the group or everybody read or write a file."""


def refuse_links(path: Path) -> Path:
    """Return the path; raise UsageError if it, or a file in it, is a link, a pipe or a device."""
    for file, status in _files_at(path):
        mode = status.st_mode
        # A link in a circle may stay: nobody can open it.
        if stat.S_ISLNK(mode) and not Path(os.path.realpath(file)).is_symlink():
            raise UsageError(
                f"{file} is a link to {file.readlink()}: files of a store must not be links, as "
                "others could lead them anywhere; put the file itself in its place"
            )
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise UsageError(f"{file} is a pipe or a device, and no file of a store: remove it")
        if stat.S_ISREG(mode) and status.st_nlink > 1:
            raise UsageError(
                f"{file} has {status.st_nlink} names (hard links): a change would show under all "
                "of them; put a copy in its place"
            )
    return path


def exposure(file: Path) -> str:
    """Return a warning if other users can read or replace a file with a secret, or ""."""
    with suppress(OSError):
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & _OF_OTHERS:
            return f"other users can use the key in {file} (mode {mode:04o}): chmod 600 {file}"
    return ""


def _files_at(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        status = path.lstat()
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            for file in path.iterdir():
                yield from _files_at(file)
    except (FileNotFoundError, PermissionError):
        return  # deleted meanwhile, or unreadable: opening it will fail as well


def open_own(path: Path, flags: int) -> int:
    """Open a file of a store, without following a link."""
    # The check and the opening are one call: a link could be put in place after a check.
    handle = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    if os.fstat(handle).st_nlink > 1 and stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        refuse_links(path)
    return handle


def make_folder(folder: Path) -> None:
    """Create a folder, with its parents, so that its name survives a power failure."""
    if not folder.parent.is_dir():
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    # Even if it existed: the process that made it may have been killed before this line.
    with suppress(PermissionError):  # a folder may be writable, but not readable
        sync(folder.parent)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def put_in_place(draft: Path, path: Path) -> None:
    """Give a complete draft its name: a reader finds the old file or the new one, never a part."""
    sync(draft)
    draft.rename(path)
    sync(path.parent)


_END = ".part"
_LONGEST = 50
"""Characters of a file's name that its draft repeats, so that the draft's name is not too long."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path`, or its target if it is a link, when complete."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if path.exists() and not path.is_file():
        with path.open("wb") as device:  # a device is written to, never replaced
            yield device
        return
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # realpath returns a link only if it cannot be resolved
        raise UsageError(f"{path} is a symbolic link that leads in a circle")
    with _written(path), _draft(path, place) as (file, draft):
        yield file
        file.flush()
        _keep_mode_and_owner(file.fileno(), place)
        # Before the file gets its name: after a power failure, the name could otherwise belong to
        # an empty file.
        os.fsync(file.fileno())
        draft.replace(place)


@contextmanager
def drafting(path: Path) -> Iterator[Path]:
    """Yield a folder beside `path` for its draft. The folder is deleted in the end."""
    folder = path.parent
    with _refused(path):
        folder.mkdir(parents=True, exist_ok=True)
        handle, draft = _claimed_folder(folder, _beginning(path))
    with _held_folder(handle, draft):
        yield draft


@contextmanager
def scratch(label: str, parent: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder, which is deleted in the end."""
    folder = parent or Path(tempfile.gettempdir())
    with _held_folder(*_claimed_folder(folder, f"minicrawl-{label}-")) as made:
        yield made


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Name the file in the error if the disk is full, or the file too large for it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (ENOSPC, EDQUOT, EFBIG):
            raise
        raise MinicrawlError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _draft(path: Path, place: Path) -> Iterator[tuple[BinaryIO, Path]]:
    beginning, is_claimed = _beginning(place), False
    with _refused(path):
        _remove_leftovers(place.parent, beginning)
        while not is_claimed:
            handle, name = tempfile.mkstemp(prefix=beginning, suffix=_END, dir=place.parent)
            draft = Path(name)
            if not (is_claimed := _claim(handle, draft)):
                os.close(handle)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file, draft
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _keep_mode_and_owner(handle: int, place: Path) -> None:
    try:
        old = place.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)  # as a plain `open` would
        return
    with suppress(PermissionError):  # only root may change the owner
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _beginning(place: Path) -> str:
    return f".{place.name[:_LONGEST]}-"


def _claimed_folder(folder: Path, beginning: str) -> tuple[int, Path]:
    """Create and lock a new folder."""
    _remove_leftovers(folder, beginning)
    while True:
        made = Path(tempfile.mkdtemp(prefix=beginning, suffix=_END, dir=folder))
        with suppress(FileNotFoundError):
            handle = os.open(made, os.O_RDONLY)
            if _claim(handle, made):
                return handle, made
            os.close(handle)


def _claim(handle: int, draft: Path) -> bool:
    """Lock the draft. Return False if another command removed it as a leftover before."""
    with suppress(OSError):  # without file locks, leftovers are not removed either
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        return os.path.samestat(draft.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextmanager
def _held_folder(handle: int, draft: Path) -> Iterator[Path]:
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(handle)


def _remove_leftovers(folder: Path, beginning: str) -> None:
    """Remove drafts that nobody holds."""
    form = re.compile(f"{re.escape(beginning)}[a-z0-9_]{{8}}{re.escape(_END)}")
    for draft in folder.iterdir():
        if not form.fullmatch(draft.name):
            continue
        with suppress(OSError):  # held by another user, or just removed
            # Without O_NONBLOCK, opening a pipe of that name would wait for a writer for ever.
            handle = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISDIR(os.fstat(handle).st_mode):
                    shutil.rmtree(draft)
                else:
                    draft.unlink()
            finally:
                os.close(handle)
