"""Importance of all pages in a file beside the index, so that a search needs no store."""

import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import NoRoom
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import OPIC, RankRow, rank_row
from minicrawl.store.reader import reading

IMPORTANCE = "importance"
"""File with the importance of each page, relative to the average."""
_HEADER = struct.Struct("<dq")
Floats = NDArray[np.float32] | NDArray[np.float64]


def keep_importance(folder: Path, view: Snapshot) -> None:
    """Write the importance of all pages beside the index."""
    row = view.converged
    values = (view.importance * len(view)).astype(np.float32)
    draft = folder / f"{IMPORTANCE}.draft"
    try:
        draft.write_bytes(_header(row) + values.tobytes())
        # Not written in place: a running search has the old file mapped, and keeps it.
        draft.rename(folder / IMPORTANCE)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise NoRoom(f"{folder / IMPORTANCE} cannot be written: {error.strerror}") from error


def renew_importance(folder: Path, store: Path) -> str:
    """Bring the importance beside the index up to date, or return why it cannot be."""
    if is_importance_old(folder, store):
        try:
            with snapshot(store) as view:
                keep_importance(folder, view)
        except NoRoom as error:
            return f"{error}; results use the earlier importance"
    return ""


def is_importance_old(folder: Path, store: Path) -> bool:
    """Return True if the importance beside the index is outdated and can be replaced."""
    if not os.access(folder, os.W_OK):
        return False
    with reading(store) as connection, reading_beside(store, connection) as derived:
        mark = _header(rank_row(derived, OPIC))
    try:
        with (folder / IMPORTANCE).open("rb") as file:
            return file.read(_HEADER.size) != mark
    except FileNotFoundError:
        return True


def _header(row: RankRow | None) -> bytes:
    return _HEADER.pack(0.0, 0) if row is None else _HEADER.pack(row.made_at, row.step)


def importance_in(folder: Path) -> Floats:
    file = folder / IMPORTANCE
    if not file.is_file() or file.stat().st_size <= _HEADER.size:
        return np.empty(0, np.float32)
    return np.memmap(file, np.float32, mode="r", offset=_HEADER.size)
