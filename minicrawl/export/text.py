"""Pages as lines of text.

CSV and TSV are for spreadsheets: their cells are harmless, and read back they may differ from what
the page said by a leading apostrophe or an escape. JSONL is for programs: it is exact.
"""

import csv
import json
from collections.abc import Iterable
from io import StringIO
from itertools import islice
from typing import BinaryIO

from minicrawl.export.cells import harmless
from minicrawl.export.rows import COLUMNS, ExportRow

_ROWS_AT_ONCE = 1_000


def write_csv(rows: Iterable[ExportRow], file: BinaryIO) -> None:
    """RFC 4180 but for the line ends, which are those of the system's own tools."""
    _write_cells(rows, file, ",")


def write_tsv(rows: Iterable[ExportRow], file: BinaryIO) -> None:
    """The same with tabs between; no cell holds one."""
    _write_cells(rows, file, "\t")


def write_jsonl(rows: Iterable[ExportRow], file: BinaryIO) -> None:
    """An object a line, in ASCII."""
    encode = json.JSONEncoder(allow_nan=False).encode
    file.writelines(f"{encode(row._asdict())}\n".encode("ascii") for row in rows)


def _write_cells(rows: Iterable[ExportRow], file: BinaryIO, delimiter: str) -> None:
    lines = StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerow(COLUMNS)
    remaining = iter(rows)
    while lines.tell():
        file.write(lines.getvalue().encode())
        lines.seek(0)
        lines.truncate()
        writer.writerows(map(_cells, islice(remaining, _ROWS_AT_ONCE)))


def _cells(row: ExportRow) -> tuple[object, ...]:
    """Only these three are text of strangers."""
    rank, url, host, *numbers, title, first_fetched, last_fetched = row
    strange = harmless(url), harmless(host), *numbers, harmless(title)
    return rank, *strange, first_fetched, last_fetched
