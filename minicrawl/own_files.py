"""The files of a store, which may come from somebody else.

Law: a file beside a store, and a file in a folder beside it, is no symbolic link and has no second
name (a hard link): nothing is written or read elsewhere by opening a store. The path of the store
itself may be a symbolic link, as the user has named it. Nor is it a pipe or a device, which whoever
opens it could wait at for ever.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from minicrawl.errors import UsageError


def refuse_links(path: Path) -> Path:
    """The path; raises UsageError if it, or a file in this folder, is a link."""
    for file, status in _files_at(path):
        if stat.S_ISLNK(status.st_mode) and not _leads_nowhere(file):
            raise UsageError(
                f"{file} is a link to {file.readlink()}: files of a store are no links, as "
                "others could lead them anywhere; put the file itself in its place"
            )
        if _is_special(status.st_mode):
            raise UsageError(f"{file} is a pipe or a device, and no file of a store: remove it")
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise UsageError(
                f"{file} has {status.st_nlink} names (hard links): a change would show under all "
                "of them; put a copy in its place"
            )
    return path


def _is_special(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _files_at(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        status = path.lstat()
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            for file in path.iterdir():
                yield from _files_at(file)
    except (FileNotFoundError, PermissionError):
        return  # it went while we looked, or nobody can open it either


def _leads_nowhere(link: Path) -> bool:
    """Whether it is a link to itself, which nobody can open."""
    return Path(os.path.realpath(link)).is_symlink()


def open_own(path: Path, flags: int) -> int:
    """Open a file of a store, without following a link."""
    handle = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    if os.fstat(handle).st_nlink > 1 and stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        refuse_links(path)
    return handle
