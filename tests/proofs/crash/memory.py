"""Temporary folder in memory, if the system has one: kills by the thousand wear out a disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_PLACE = Path("/dev/shm")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    with TemporaryDirectory(dir=_PLACE if _PLACE.is_dir() else None) as folder:
        yield Path(folder)
