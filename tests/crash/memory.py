"""A folder whose files are in memory, where the system has such a place: no disk is worn out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_PLACE = Path("/dev/shm")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """It is gone in the end."""
    with TemporaryDirectory(dir=_PLACE if _PLACE.is_dir() else None) as folder:
        yield Path(folder)
