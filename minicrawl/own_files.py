"""The files of a store, which may come from somebody else.

Law: a file beside a store, or in a folder beside it, is never a symbolic link, a hard link, a pipe
or a device: opening a store reads and writes nothing elsewhere, and never blocks. The path of the
store itself may be a symbolic link, because the user named it.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from minicrawl.errors import UsageError


def refuse_links(path: Path) -> Path:
    """Return the path; raise UsageError if it, or a file in this folder, is a link."""
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
        return  # deleted meanwhile, or unreadable for everyone


def _leads_nowhere(link: Path) -> bool:
    """Return whether a link points to itself, so that it cannot be opened."""
    return Path(os.path.realpath(link)).is_symlink()


def open_own(path: Path, flags: int) -> int:
    """Open a file of a store, without following a link."""
    handle = os.open(path, flags | os.O_NOFOLLOW, 0o644)
    if os.fstat(handle).st_nlink > 1 and stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        refuse_links(path)
    return handle
