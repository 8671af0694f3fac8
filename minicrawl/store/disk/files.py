"""The files of a store, moved together.

Laws: a store is moved or set aside only while nobody writes it. Within a file system each file is
renamed, the store last, so that repeating the command completes an interrupted move. Across file
systems the old files are removed when all copies are complete.

beside   files and folders named like the store, followed by `-` or `.log`
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from errno import EXDEV
from itertools import chain, count
from pathlib import Path

from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.store import tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import DASHBOARD, LOCK, LOG, file_beside, missing_store, real_path
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter, locked

_BESIDE = ("-*", ".log*")
_MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def files_of(store: Path) -> list[Path]:
    """Return the files and folders that belong to a store; the store comes last.

    Lock and dashboard note are not included. They belong to the path: the process that made them
    keeps them, whatever store is at the path next.
    """
    place = real_path(store)
    name = place.name.translate({ord(sign): f"[{sign}]" for sign in "*?["})
    files = chain.from_iterable(place.parent.glob(f"{name}{end}") for end in _BESIDE)
    of_place = {file_beside(place, LOCK), file_beside(place, DASHBOARD)}
    beside = sorted(file for file in files if file not in of_place)
    return [*beside, place] if place.exists() else beside


def bytes_of(file: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    with suppress(FileNotFoundError):  # a log may disappear at any time
        if not file.is_dir():
            return file.stat().st_size
    return sum(bytes_of(inner) for inner in file.iterdir()) if file.is_dir() else 0


def set_aside(path: Path) -> Path | None:
    """Rename the store. Return its new name, or None if there is no store.

    If the path is a symbolic link, its target is renamed and the link stays.
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


def stores_aside(path: Path) -> list[Path]:
    """Return the earlier stores of this path that `set_aside` renamed."""
    path = real_path(path) if path.is_symlink() else path
    stamped = re.compile(rf"{re.escape(path.name)}\.[0-9-]{{10}}T[0-9-]{{8,}}")
    return sorted(entry for entry in path.parent.iterdir() if stamped.fullmatch(entry.name))


def move(
    path: Path,
    to: Path,
    *,
    is_folder: bool = False,
    made: Callable[[Path], None] = lambda _folder: None,
) -> list[Path]:
    """Move the store and all files beside it. Return the new files, the store last.

    `to` is the new name, or a folder. `made` is called with a folder that was created.
    """
    if not path.is_file():
        raise missing_store(path)
    target = to / path.name if to.is_dir() or is_folder else to
    for _, new in _moves(path, target):
        if os.path.lexists(new):
            raise UsageError(f"{new} exists: move it away or choose another name")
    with locked(path):
        if file_beside(path, LOG).exists():
            raise StoreError(f"{path} is being read: wait and try again")
        moves = list(_moves(path, target))
        try:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                made(target.parent)
            for file, renamed in moves:
                try:
                    file.rename(renamed)
                except OSError as error:
                    if error.errno != EXDEV:
                        raise
                    _copy_all(moves)
                    break
        except OSError as error:
            raise MinicrawlError(
                f"{path} cannot be moved to {target}: {error.strerror}; repeat the command"
            ) from error
    # The next crawl goes on with the WARC files of the store, which belong to a path.
    with reporting_damage(target), closing(StoreWriter.open(target)) as store:
        counters = tables.counters(store.connection)
        series = counters.get(tables.WARC)
        if isinstance(series, dict) and series.get("store") == str(real_path(path)):
            moved = series | {"store": str(real_path(target))}
            store.commit(Batch(counters=counters | {tables.WARC: moved}))
    return [new for _, new in moves]


def _moves(path: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    place = real_path(path)
    for file in files_of(place):
        yield file, target.with_name(target.name + file.name.removeprefix(place.name))


def _copy_all(moves: list[tuple[Path, Path]]) -> None:
    """Copy to another file system, under temporary names until all copies are complete."""
    drafts = [(file, target.with_name(f"{target.name}.part"), target) for file, target in moves]
    try:
        for file, draft, _ in drafts:
            remove(draft)
            shutil.copytree(file, draft) if file.is_dir() else shutil.copy2(file, draft)
    except BaseException:
        for _, draft, _ in drafts:
            remove(draft)
        raise
    for _, draft, target in drafts:
        draft.rename(target)
    for file, _ in reversed(moves):
        remove(file)


def remove(*files: Path) -> None:
    """Remove files, links and whole folders, as far as they exist."""
    for file in files:
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)
