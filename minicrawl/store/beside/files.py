"""All files of a store: what lies beside it goes where the store goes.

Laws: a store is moved or set aside while nobody writes it. Within one file system each file is
renamed and the store comes last, so that a move that was broken off is completed by the same
command. Between file systems the old files are removed when all copies are complete.

beside   the files and folders whose names are that of the store and `-` or `.log`
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EXDEV
from itertools import chain, count
from pathlib import Path

from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.store.reader import DASHBOARD, LOCK, LOG, file_beside, real_path
from minicrawl.store.writer import locked

_BESIDE = ("-*", ".log*")
_MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Whether this is a file of SQLite, as stores are, and no other one."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def files_of(store: Path) -> list[Path]:
    """Return the files and folders that belong to a store; the store comes last.

    Its lock and the note of its dashboard belong to the place where it is: who holds them goes on
    there, whatever store comes next.
    """
    place = real_path(store)
    name = place.name.translate({ord(sign): f"[{sign}]" for sign in "*?["})
    found = chain.from_iterable(place.parent.glob(f"{name}{end}") for end in _BESIDE)
    of_place = {file_beside(place, LOCK), file_beside(place, DASHBOARD)}
    kept = sorted(file for file in found if file not in of_place)
    return [*kept, place] if place.exists() else kept


def bytes_of(file: Path) -> int:
    """The size of a file, or of all files in a folder."""
    with suppress(FileNotFoundError):  # a log may go at any time
        if not file.is_dir():
            return file.stat().st_size
    return sum(bytes_of(inner) for inner in file.iterdir()) if file.is_dir() else 0


def set_aside(path: Path) -> Path | None:
    """Rename the store. Returns its new name, or None if there is no store.

    If the path is a link, the store that it leads to is renamed, and the link stays.
    """
    if not path.exists():
        return None
    if path.is_symlink():
        path = real_path(path)
    stamp = time.strftime(f"{path.name}.%Y-%m-%dT%H-%M-%S")
    names = chain((stamp,), (f"{stamp}-{number}" for number in count(2)))
    aside = next(free for name in names if not (free := path.with_name(name)).exists())
    with locked(path):
        for file, target in _moves(path, aside):
            file.rename(target)
    return aside


def move(
    path: Path,
    to: Path,
    *,
    is_folder: bool = False,
    made: Callable[[Path], None] = lambda _folder: None,
) -> list[Path]:
    """Move the store and all that lies beside it. Returns the new files, the store last.

    `to` is the new name, or a folder. `made` is called with a folder that did not exist.
    """
    if not path.is_file():
        raise UsageError(f"no store at {path}")
    target = to / path.name if to.is_dir() or is_folder else to
    _refuse_what_is_there(path, target)
    with locked(path):
        if file_beside(path, LOG).exists():
            raise StoreError(f"{path} is being read: wait until that is over")
        moves = list(_moves(path, target))
        try:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                made(target.parent)
            _move_all(moves)
        except OSError as error:
            raise MinicrawlError(
                f"{path} cannot be moved to {target}: {error.strerror}; run the same again"
            ) from error
    return [new for _, new in moves]


def _refuse_what_is_there(path: Path, target: Path) -> None:
    for _, new in _moves(path, target):
        if os.path.lexists(new):
            raise UsageError(f"{new} exists: a move replaces nothing")


def _moves(path: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    place = real_path(path)
    for file in files_of(place):
        yield file, target.with_name(target.name + file.name.removeprefix(place.name))


def _move_all(moves: list[tuple[Path, Path]]) -> None:
    for file, target in moves:
        try:
            file.rename(target)
        except OSError as error:
            if error.errno != EXDEV:
                raise
            _copy_all(moves)
            return


def _copy_all(moves: list[tuple[Path, Path]]) -> None:
    """Copy to another file system, under names that no store has until all is there."""
    drafts = [(file, target.with_name(f"{target.name}.part"), target) for file, target in moves]
    try:
        for file, draft, _ in drafts:
            _remove(draft)
            shutil.copytree(file, draft) if file.is_dir() else shutil.copy2(file, draft)
    except BaseException:
        for _, draft, _ in drafts:
            _remove(draft)
        raise
    for _, draft, target in drafts:
        draft.rename(target)
    for file, _ in reversed(moves):
        _remove(file)


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
