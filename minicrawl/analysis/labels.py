"""What people think of pages: lines of CSV, each with a page and its grade, `url,grade`.

Law: a list is read whole or refused with the line that is wrong. It may begin with a line that
names the columns, the second being `grade`; empty lines say nothing.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from minicrawl.errors import UsageError
from minicrawl.ranks.agreement import GRADES

_ALLOWED = [str(grade) for grade in range(1, GRADES + 1)]
_COLUMNS = 2
_SHOWN = 60  # characters of a bad line that its message quotes


class Label(NamedTuple):
    """A page as the list calls it, its grade, and where that is said."""

    name: str
    grade: int
    line: int


def read(lines: Iterable[str], place: str) -> list[Label]:
    """All labels, at least one; `place` is what a message calls the list."""
    rows = csv.reader(lines, strict=True)
    try:
        found = list(_labels(((rows.line_num, row) for row in rows), place))
    except csv.Error as error:
        raise UsageError(f"{place}, line {rows.line_num}: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8: {error.reason}") from None
    if not found:
        raise UsageError(f"{place}: nothing is graded in it; expected lines of url,grade")
    return found


def _labels(rows: Iterable[tuple[int, list[str]]], place: str) -> Iterator[Label]:
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or (line == 1 and _names_columns(cells)):
            continue
        if len(cells) != _COLUMNS or not cells[0] or cells[1] not in _ALLOWED:
            raise UsageError(
                f"{place}, line {line}: expected a URL and a grade from 1 to {GRADES}, "
                f"found {','.join(cells)[:_SHOWN]!r}"
            )
        yield Label(cells[0], int(cells[1]), line)


def _names_columns(cells: Sequence[str]) -> bool:
    return len(cells) == _COLUMNS and cells[1].lower() == "grade"
