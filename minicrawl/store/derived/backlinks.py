"""Index of the pages that link to a page.

Law: the index is replaced as a whole, and is as of one step.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.store.derived.file import has_table, writing_beside
from minicrawl.store.tables import Connection

_PAGES_A_BLOCK = 1 << 12
_BACKLINKS = """
CREATE TABLE IF NOT EXISTS backlinks_as_of (
    step INTEGER NOT NULL       -- the last one in the index
);
CREATE TABLE IF NOT EXISTS backlinks (
    block INTEGER PRIMARY KEY,
    starts BLOB NOT NULL,       -- where the givers of each page begin, then the end
    givers BLOB NOT NULL
)
"""


def keep_backlinks(store: Path, connection: Connection, step: int, inlinks: Csr) -> None:
    """Replace the backlink index of the store by `inlinks`, as of this step."""

    def blocks() -> Iterator[tuple[int, bytes, bytes]]:
        firsts = [*range(0, inlinks.nodes, _PAGES_A_BLOCK), inlinks.nodes]
        for number, (first, end) in enumerate(pairwise(firsts)):
            starts = inlinks.starts[first : end + 1]
            blob = inlinks.targets[starts[0] : starts[-1]].tobytes()
            yield number, (starts - starts[0]).tobytes(), blob

    with writing_beside(store, connection, _BACKLINKS) as derived:
        derived.execute("DELETE FROM backlinks_as_of")
        derived.execute("DELETE FROM backlinks")
        derived.execute("INSERT INTO backlinks_as_of VALUES (?)", (step,))
        derived.executemany("INSERT INTO backlinks VALUES (?, ?, ?)", blocks())


def backlinks_step(derived: Connection | None) -> int | None:
    """Return the last step in the index, or None if there is no index."""
    if derived is None or not has_table(derived, "backlinks_as_of"):
        return None
    (step,) = derived.execute("SELECT step FROM backlinks_as_of").fetchone()
    return int(step)


def backlinks_of(derived: Connection, pages: Iterable[int]) -> NDArray[np.int32]:
    """Return the pages that link to any of these pages. Pages outside of the index have none."""
    givers_of = [np.empty(0, dtype=np.int32)]
    for page in sorted(pages):
        number, place = divmod(page, _PAGES_A_BLOCK)
        row = derived.execute("SELECT starts, givers FROM backlinks WHERE block = ?", (number,))
        starts, blob = row.fetchone() or (b"", b"")
        begins, givers = np.frombuffer(starts, dtype=np.int64), np.frombuffer(blob, dtype=np.int32)
        if place + 1 < len(begins):
            givers_of.append(givers[begins[place] : begins[place + 1]])
    return np.concatenate(givers_of)
