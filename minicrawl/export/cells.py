"""Rows of exported files, and text of strangers as cells that do nothing, on terminals too.

A page is one row, with the same columns in every format. Rows come in blocks, column by column:
what is done to a column at once costs a fraction of what it costs row by row.

Laws: a cell never begins like a formula, wherever a spreadsheet sees its beginning; it has no
control character, line break or mark that turns the direction of text, but their names, such as
\\x1b; plain text is left as it is.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# What Excel, LibreOffice and Google take for the beginning of a formula, in full width and in small
# forms too. What they skip before it, or take away when they read a file, does not hide it.
_FORMULA = "[\\s\ufeff\u200b-\u200d\u2060]*[=+\\-@\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]"
_BEGINS_SO = re.compile(_FORMULA)
# Where a comma is in numbers, spreadsheets part the cells of a file at semicolons.
_NEXT_BEGINS_SO = re.compile(f";(?={_FORMULA})")

_LONGEST_PILE = 4
"""Marks on one letter; no script needs more, and thousands of them bury the lines around."""
_PILE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
    f"{{{_LONGEST_PILE},}}"
)
_JOINERS = "\u200c\u200d"  # letters of Persian and of emoji need them, and they move nothing


def visible(text: str) -> str:
    """The text with all that is not a sign of its own shown by name."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c in _JOINERS else _name(c) for c in text)
    return _PILE.sub(lambda pile: pile[0][:_LONGEST_PILE], shown)


def _name(character: str) -> str:
    """A blank of another kind is a blank; the rest as Python writes it."""
    return " " if unicodedata.category(character) == "Zs" else ascii(character)[1:-1]


def all_harmless(texts: Sequence[str]) -> Sequence[str]:
    """The same texts as cells; where all are plain, as most are, none is looked at by itself."""
    text, starts = "".join(texts), "".join([text[:1] for text in texts])
    if text.isascii() and text.isprintable() and starts.isalnum() and ";" not in text:
        return texts
    return list(map(harmless, texts))


def harmless(text: str) -> str:
    """The text as the cell of a spreadsheet."""
    if not text or (
        text[0].isalnum() and text.isascii() and text.isprintable() and ";" not in text
    ):
        return text
    cell = visible(_NEXT_BEGINS_SO.sub(";'", text))
    return f"'{cell}" if _BEGINS_SO.match(text) or text[0] in "\t\r" else cell


# ---------------------------------------------------------------- rows


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
    like: str  # the URL of a page that says the same, as far as the search index knows


COLUMNS = ExportRow._fields

LINK_COLUMNS = ("source", "target", "weight")
"""Of a file of links, by the URLs or the hosts at their ends; the weight is a whole number."""
PAGE_LINK_COLUMNS = (*LINK_COLUMNS, "end")
"""Of links between pages: the end is where the target redirects, or what it is a duplicate of."""

Block = dict[str, Sequence[Any]]
"""The columns of some rows by their names, all of the same length: COLUMNS in their order, then the
scores of ranks that were asked for, numbers or None."""


def rows_of(block: Block) -> Iterator[ExportRow]:
    """A block row by row, without the scores."""
    return map(ExportRow._make, zip(*map(block.__getitem__, COLUMNS), strict=True))
