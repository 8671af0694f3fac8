"""What an exported file says of a page: one row, the same columns in every format.

Rows come in blocks, column by column: what is done to a column at once costs a fraction of what it
costs row by row.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class ExportRow(NamedTuple):
    """A page. The order of the fields is the order of the columns; files depend on it."""

    rank: int  # among all pages known, 1 is the most important
    url: str
    host: str
    importance: float  # its share; those of all pages known sum to 1
    cash: float  # units
    history: float  # units, as the window counts them
    inlinks: int
    state: str  # the label of a State
    status: int | None  # of the last answer that was read
    depth: int
    title: str
    first_fetched: str | None  # ISO 8601, UTC
    last_fetched: str | None


COLUMNS = ExportRow._fields

Block = dict[str, Sequence[Any]]
"""The columns of some rows by their names, all of the same length: COLUMNS in their order, then the
scores of ranks that were asked for, numbers or None."""


def rows_of(block: Block) -> Iterator[ExportRow]:
    """A block row by row, without the scores."""
    return map(ExportRow._make, zip(*map(block.__getitem__, COLUMNS), strict=True))
