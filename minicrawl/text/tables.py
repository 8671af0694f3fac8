"""Rows and columns of tables of data.

A cell that spans columns or rows is in the first of them, and the others are empty, so that all
cells of a column are below each other:

    <td rowspan=2>a  <td>b          a   b
                     <td>c              c

A table whose cells have more than text, such as lists, is a layout, and has no rows.
"""

from __future__ import annotations

from itertools import islice

from minicrawl.text.boxes import Box, preorder, runs
from minicrawl.text.hints import HEADINGS

_MOST_CELLS = 200
"""Cells of a row; wider tables are layouts."""
_FEWEST = 2
"""Rows and columns of a table of data."""
_DIGITS = 4
_NOT_IN_CELLS = HEADINGS | {"dl", "ol", "pre", "table", "ul"}


def rows_of(table: Box) -> list[list[Box | None]]:
    """Return the cells of each row, all rows equally long, or nothing for a layout."""
    rows, columns = list[list[Box | None]](), 0
    free_from = dict[int, int]()  # row from which on a column is free
    for box in islice(preorder(table), 1, None):
        if box.tag in _NOT_IN_CELLS:
            return []
        if box.tag == "tr":
            row, at = list[Box | None](), len(rows)
            for cell in box.boxes:
                if cell.tag in {"td", "th"}:
                    while free_from.get(len(row), 0) > at:
                        row.append(None)
                    wide = min(max(number_in(cell, "colspan", 1), 1), _MOST_CELLS)
                    down = number_in(cell, "rowspan", 1)
                    if down > 1:
                        free_from |= dict.fromkeys(range(len(row), len(row) + wide), at + down)
                    row += [cell, *[None] * (wide - 1)]
                if len(row) > _MOST_CELLS:
                    return []
            rows.append(row)
            columns = max(columns, len(row))
    filled = sum(any(cell and any(runs(preorder(cell))) for cell in row) for row in rows)
    if columns < _FEWEST or filled < _FEWEST:
        return []
    return [row + [None] * (columns - len(row)) for row in rows]


def number_in(box: Box, name: str, default: int) -> int:
    """Return the number in an attribute of an element, or the default."""
    said = (None if box.node is None else box.node.attributes.get(name)) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= _DIGITS else default
