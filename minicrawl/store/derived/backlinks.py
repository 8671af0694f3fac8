"""An index of the links to each page, as they were written.

Laws: an index is as of one step, and replaces the old one as a whole. A lookup takes memory only
for the blocks of the pages it asks for.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.store.derived.files import writing_beside
from minicrawl.store.tables import Connection

_PAGES_A_BLOCK = 1 << 12
_SCHEMA = """
CREATE TABLE IF NOT EXISTS backlinks_as_of (
    step INTEGER NOT NULL       -- the last one in the index
);
CREATE TABLE IF NOT EXISTS backlinks (
    block INTEGER PRIMARY KEY,
    starts BLOB NOT NULL,       -- where the givers of each page begin, then the end
    givers BLOB NOT NULL
)
"""


def keep(store: Path, connection: Connection, step: int, inlinks: Csr) -> None:
    """Replace the index of the store that `connection` reads by these links, as of this step."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        derived.execute("DELETE FROM backlinks_as_of")
        derived.execute("DELETE FROM backlinks")
        derived.execute("INSERT INTO backlinks_as_of VALUES (?)", (step,))
        derived.executemany("INSERT INTO backlinks VALUES (?, ?, ?)", _blocks(inlinks))


def step_of(derived: Connection | None) -> int | None:
    """The last step in the index; None if there is no index."""
    if derived is None:
        return None
    is_there = "SELECT 1 FROM sqlite_master WHERE name = 'backlinks_as_of'"
    if derived.execute(is_there).fetchone() is None:
        return None
    (step,) = derived.execute("SELECT step FROM backlinks_as_of").fetchone()
    return int(step)


def givers(derived: Connection, pages: Iterable[int]) -> NDArray[np.int32]:
    """The pages that link to any of these pages. Pages that are not in the index have none."""
    found = [np.empty(0, dtype=np.int32)]
    for page in sorted(pages):
        number, place = divmod(page, _PAGES_A_BLOCK)
        starts, blob = _block(derived, number)
        if place + 1 < len(starts):
            found.append(blob[starts[place] : starts[place + 1]])
    return np.concatenate(found)


def _block(derived: Connection, number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    row = derived.execute("SELECT starts, givers FROM backlinks WHERE block = ?", (number,))
    starts, blob = row.fetchone() or (b"", b"")
    return np.frombuffer(starts, dtype=np.int64), np.frombuffer(blob, dtype=np.int32)


def _blocks(inlinks: Csr) -> Iterator[tuple[int, bytes, bytes]]:
    firsts = [*range(0, inlinks.nodes, _PAGES_A_BLOCK), inlinks.nodes]
    for number, (first, end) in enumerate(pairwise(firsts)):
        starts = inlinks.starts[first : end + 1]
        blob = inlinks.targets[starts[0] : starts[-1]].tobytes()
        yield number, (starts - starts[0]).tobytes(), blob
