"""Writers of rows: what other programs read is what was written."""

import csv
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import UsageError
from minicrawl.own_files import replacing
from minicrawl.report.files.parquet import write_parquet
from minicrawl.report.files.rows import FORMATS, format_of, write_csv, write_jsonl, write_tsv
from minicrawl.report.selected_pages import COLUMNS, Block, ExportRow, rows_of
from minicrawl.wording import harmless

TEXT = st.text(max_size=20)
TIME = st.none() | st.just("2027-01-15T08:00:00Z")
ROWS = st.builds(
    ExportRow,
    rank=st.integers(1, 1 << 40),
    url=TEXT,
    host=TEXT,
    importance=st.floats(0, 1),
    cash=st.floats(0, 1e12),
    history=st.floats(0, 1e12),
    inlinks=st.integers(0, (1 << 32) - 1),
    state=st.sampled_from(["fetched", "unread"]),
    status=st.none() | st.integers(100, 999),
    depth=st.integers(0, 255),
    title=TEXT,
    first_fetched=TIME,
    last_fetched=TIME,
    like=TEXT,
    noindex=st.none() | st.booleans(),
    value=st.none() | st.floats(0, 1),
)
UNREAD = ExportRow(
    *(1, "https://a.example/?q=1,2", "a.example", 0.75, 1.5, 0.1, 3, "unread", None, 0),
    *("=1\x00\x1b[2J\x9b\u202e日本", None, None, "", None, None),
)
READ = UNREAD._replace(
    state="fetched",
    status=200,
    inlinks=(1 << 32) - 1,
    first_fetched="2027-01-15T08:00:00Z",
    last_fetched="2027-01-15T08:00:01Z",
    noindex=True,
    value=0.5,
)


def block_of(rows: Sequence[ExportRow]) -> Block:
    return {name: [getattr(row, name) for row in rows] for name in COLUMNS}


def written(write: Callable[[Iterable[Block], io.BytesIO], None], *rows: ExportRow) -> bytes:
    """Return what a writer makes of rows in two blocks."""
    file = io.BytesIO()
    write(iter((block_of(rows[:2]), block_of(rows[2:]))), file)
    return file.getvalue()


class TestText:
    @given(st.lists(ROWS, max_size=5))
    def test_csv_equals_the_output_of_pythons_csv_writer(self, rows: list[ExportRow]) -> None:
        expected = io.StringIO()
        writer = csv.writer(expected, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        assert written(write_csv, *rows).decode() == expected.getvalue()

    @given(st.lists(ROWS, max_size=3))
    def test_tsv_has_a_line_per_page_and_a_field_per_column(self, rows: list[ExportRow]) -> None:
        heading, *lines = written(write_tsv, *rows).decode().split("\n")
        assert heading == "\t".join(COLUMNS)
        assert [line.split("\t")[10] for line in lines[:-1]] == [harmless(r.title) for r in rows]
        assert all(line.count("\t") == len(COLUMNS) - 1 for line in lines[:-1])

    @given(st.lists(ROWS, max_size=3))
    def test_jsonl_is_read_back_exactly(self, rows: list[ExportRow]) -> None:
        lines = written(write_jsonl, *rows).decode("ascii").splitlines()
        assert [ExportRow(**json.loads(line)) for line in lines] == rows
        assert list(rows_of(block_of(rows))) == rows

    def test_jsonl_is_safe_on_a_terminal_and_refuses_nan(self) -> None:
        shown = written(write_jsonl, UNREAD).decode()
        assert all(c.isascii() and (c.isprintable() or c == "\n") for c in shown)
        with pytest.raises(ValueError, match="not JSON compliant"):
            written(write_jsonl, UNREAD._replace(cash=math.nan))


class TestParquet:
    @pytest.mark.parametrize("rows", [[], [READ], [UNREAD], [READ, UNREAD, READ]], ids=len)
    def test_rows_are_read_back_exactly_and_do_not_change_the_schema(
        self, rows: list[ExportRow], tmp_path: Path
    ) -> None:
        path = tmp_path / "ranks.parquet"
        path.write_bytes(written(write_parquet, *rows))
        as_text = "strftime({0} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS {0}"
        times = ", ".join(map(as_text.format, ("first_fetched", "last_fetched")))
        found = duckdb.execute(f"SELECT * REPLACE ({times}) FROM '{path}'").fetchall()
        assert [ExportRow(*row) for row in found] == rows
        kinds = {row[0]: row[1] for row in duckdb.execute(f"DESCRIBE FROM '{path}'").fetchall()}
        assert list(kinds) == list(COLUMNS)
        names = ("importance", "last_fetched", "title", "noindex", "status")
        assert [kinds[name] for name in names] == [
            *("DOUBLE", "TIMESTAMP WITH TIME ZONE", "VARCHAR", "BOOLEAN", "SMALLINT"),
        ]

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "duckdb", None)
        with pytest.raises(UsageError, match=r"install minicrawl\[parquet\]"):
            write_parquet([], io.BytesIO())

    @pytest.mark.slow
    def test_a_file_of_large_pages_needs_the_memory_of_a_row_group(self, tmp_path: Path) -> None:
        """Write 120 MB of pages while DuckDB may use 64 MB."""
        path, html = tmp_path / "pages.parquet", "".join(map(str, range(4000, 8000)))

        def pages() -> Iterator[Block]:
            for start in range(0, 7500, 50):
                rows = [READ._replace(rank=start + number) for number in range(50)]
                texts = [f"{row.rank} {html[row.rank % 100 :]}" for row in rows]
                yield block_of(rows) | {"html": texts}

        with path.open("wb") as file:
            columns = (*COLUMNS, "html")
            write_parquet(pages(), file, columns, 4 << 20, least_memory=64 << 20)
        with duckdb.connect() as database:
            groups = database.execute(
                "SELECT sum(total_uncompressed_size) FROM parquet_metadata(?) GROUP BY "
                "row_group_id",
                [str(path)],
            ).fetchall()
            found = database.execute(f"SELECT rank, html FROM '{path}'").fetchall()
        assert [rank for rank, _ in found] == list(range(7500))
        assert found[7499][1] == f"7499 {html[99:]}"
        assert len(groups) > 20
        assert max(size for (size,) in groups) < 8 << 20


@pytest.mark.parametrize("name", FORMATS)
def test_the_suffix_in_any_case_names_the_format_unless_one_is_given(name: str) -> None:
    assert format_of(Path(f"ranks.{name.upper()}")) == name
    assert format_of(Path(f"ranks.{name}"), "jsonl") == "jsonl"


@pytest.mark.parametrize("path", ["ranks.xlsx", "ranks", "-"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(path: str) -> None:
    known = re.escape(", ".join(f".{name}" for name in FORMATS))
    with pytest.raises(UsageError, match=rf"^{path}: .*{known}"):
        format_of(Path(path))


@pytest.mark.parametrize(("name", "told"), [("no/a.csv", r"a\.csv"), (".", "a folder")])
def test_a_place_without_room_for_a_file_is_refused(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        replacing(tmp_path / name).__enter__()


def test_a_device_is_written_to_and_not_replaced() -> None:
    null = Path(os.devnull)
    with replacing(null) as file:
        file.write(b"gone")
    assert null.is_char_device()
