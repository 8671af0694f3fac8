"""What people think of pages: a CSV file with a page and a grade from 1 to 4 a line.

Law: a file is read whole or refused with the line that is wrong. A first line whose grade is no
number names the columns; a page may be graded several times.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import UsageError

GRADES = (1, 2, 3, 4)

_COLUMNS = 2


class Label(NamedTuple):
    """A page and its grade."""

    name: str
    grade: int


def read(path: Path) -> list[Label]:
    """All labels in the file, at least one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            found = list(_labels(str(path), ((rows.line_num, row) for row in rows if row)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not found:
        raise UsageError(f"{path}: no page is graded in it; expected lines of url,grade")
    return found


def _labels(place: str, rows: Iterable[tuple[int, list[str]]]) -> Iterator[Label]:
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if line == 1 and len(cells) == _COLUMNS and not cells[1].lstrip("-").isdigit():
            continue
        if len(cells) != _COLUMNS or cells[1] not in map(str, GRADES):
            raise UsageError(
                f"{place}, line {line}: expected a page and a grade from 1 to 4, "
                f"found {','.join(cells)!r}"
            )
        yield Label(cells[0], int(cells[1]))
