"""What an exported file says of a page: one row, the same columns in every format."""

from typing import NamedTuple


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
