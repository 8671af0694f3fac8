"""Commits of one document each, of any size."""

import random
import sqlite3

from minicrawl.store.records import Batch, DocumentRow

SHARD = 3
_MOST_CHARS = 60_000


def document(number: int, size: int | None = None) -> Batch:
    """Return a commit of a document that replaces an older one, with an incompressible title."""
    chance = random.Random(number if size is None else number * size)
    chars = chance.randrange(_MOST_CHARS) if size is None else size
    title = chance.randbytes(chars // 2).hex()
    row = DocumentRow(number, title, 200, None, None, number, False, 0.0, 0.0, 1, 0)
    return Batch(documents=[row])


def documents(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    rows = connection.execute("SELECT page, title FROM documents ORDER BY page")
    return [(number, title) for number, title in rows]
