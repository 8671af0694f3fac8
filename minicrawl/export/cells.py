"""Rows of exported files, and escaping of untrusted text for spreadsheets and terminals.

A page is one row, with the same columns in every format. Rows come in blocks, column by column:
processing a whole column costs a fraction of processing each row.

Laws: a cell never begins like a formula, wherever a spreadsheet looks for one. Control characters,
line breaks and bidirectional marks are replaced by their names, such as \\x1b. Plain text is not
changed.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# Characters that Excel, LibreOffice and Google accept as the start of a formula, full-width and
# small forms included, after any characters that they skip or strip.
_FORMULA = "[\\s\ufeff\u200b-\u200d\u2060]*[=+\\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]"
_BEGINS_SO = re.compile(_FORMULA)
# Where the decimal separator is a comma, spreadsheets split the cells of a file at semicolons.
_NEXT_BEGINS_SO = re.compile(f";(?={_FORMULA})")

_LONGEST_PILE = 4
"""Maximum combining marks per letter: no script needs more, and thousands cover nearby lines."""
_PILE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
    f"{{{_LONGEST_PILE},}}"
)
_JOINERS = "\u200c\u200d"  # Persian and emoji need these, and they do not move text


def visible(text: str) -> str:
    """Return the text with non-printing characters shown by name."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c in _JOINERS else _name(c) for c in text)
    return _PILE.sub(lambda pile: pile[0][:_LONGEST_PILE], shown)


def _name(character: str) -> str:
    """Return a space for any kind of space, otherwise the escape that Python uses."""
    return " " if unicodedata.category(character) == "Zs" else ascii(character)[1:-1]


def all_harmless(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts as cells.

    Columns where all texts are plain, as in most, are checked at once.
    """
    text, starts = "".join(texts), "".join([text[:1] for text in texts])
    if text.isascii() and text.isprintable() and starts.isalnum() and ";" not in text:
        return texts
    return list(map(harmless, texts))


def harmless(text: str) -> str:
    """Return the text as a spreadsheet cell."""
    if not text or (
        text[0].isalnum() and text.isascii() and text.isprintable() and ";" not in text
    ):
        return text
    cell = visible(_NEXT_BEGINS_SO.sub(";'", text))
    return f"'{cell}" if _BEGINS_SO.match(text) or text[0] in "\t\r" else cell


# ---------------------------------------------------------------- rows


class ExportRow(NamedTuple):
    """Page as a row. The order of the fields is the order of the columns; files depend on it."""

    rank: int  # among all known pages; 1 is the most important
    url: str
    host: str
    importance: float  # share; those of all known pages sum to 1
    cash: float  # units
    history: float  # units, as the window counts them
    inlinks: int
    state: str  # the label of a State
    status: int | None  # of the last response that was read
    depth: int
    title: str
    first_fetched: str | None  # ISO 8601, UTC
    last_fetched: str | None
    like: str  # URL of a near-duplicate, according to the search index


COLUMNS = ExportRow._fields

LINK_COLUMNS = ("source", "target", "weight")
"""Columns of a file of links between URLs or hosts; the weight is an integer."""
PAGE_LINK_COLUMNS = (*LINK_COLUMNS, "end")
"""Columns of links between pages; `end` is where the target redirects or is duplicated."""

Block = dict[str, Sequence[Any]]
"""Columns of some rows by name, of equal length: COLUMNS in order, then requested scores."""


def rows_of(block: Block) -> Iterator[ExportRow]:
    """Return the rows of a block, without the scores."""
    return map(ExportRow._make, zip(*map(block.__getitem__, COLUMNS), strict=True))
