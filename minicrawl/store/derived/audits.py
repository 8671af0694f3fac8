"""Results of audits beside the store, by which the next audit tells what is new and what is fixed.

Laws: a result belongs to the crawl that it judged. Another audit after the same crawl replaces it,
and the results of the last two crawls are kept.
"""

import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.derived.file import has_table, reading_beside, writing_beside
from minicrawl.store.tables import Connection

_AUDITS = """
CREATE TABLE IF NOT EXISTS audits (
    crawl REAL NOT NULL,        -- when it began
    issue TEXT NOT NULL,
    pages BLOB NOT NULL,        -- a bit for each page, compressed
    PRIMARY KEY (crawl, issue)
) WITHOUT ROWID
"""


def keep_audit(
    store: Path,
    connection: Connection,
    crawl: float,
    issues: Iterable[tuple[str, NDArray[np.uint8]]],
) -> None:
    """Keep the pages with each issue for this crawl, and forget all crawls before the last one."""
    with writing_beside(store, connection, _AUDITS) as derived:
        derived.execute("DELETE FROM audits WHERE crawl = ?", (crawl,))
        rows = ((crawl, issue, zlib.compress(bits.tobytes(), 1)) for issue, bits in issues)
        derived.executemany("INSERT INTO audits VALUES (?, ?, ?)", rows)
        derived.execute(
            "DELETE FROM audits WHERE crawl NOT IN "
            "(SELECT DISTINCT crawl FROM audits ORDER BY crawl DESC LIMIT 2)"
        )


def earlier_audit(
    store: Path, connection: Connection, crawl: float
) -> tuple[float, dict[str, NDArray[np.uint8]]] | None:
    """Return when the crawl before this one began, and its pages with each issue, as bits."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "audits"):
            return None
        rows = derived.execute(
            "SELECT crawl, issue, pages FROM audits WHERE crawl = "
            "(SELECT max(crawl) FROM audits WHERE crawl < ?)",
            (crawl,),
        ).fetchall()
        if not rows:
            return None
        try:
            bits = {issue: zlib.decompress(blob) for _, issue, blob in rows}
        except zlib.error as error:
            raise ValueError(str(error)) from error
        pages = {issue: np.frombuffer(packed, np.uint8) for issue, packed in bits.items()}
        return float(rows[0][0]), pages
