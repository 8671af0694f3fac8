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
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.own_files import replacing
from minicrawl.report.formats import (
    FORMATS,
    format_of,
    write_csv,
    write_jsonl,
    write_parquet,
    write_tsv,
)
from minicrawl.report.selected_pages import COLUMNS, Block, ExportRow, rows_of
from minicrawl.wording import harmless

FIRST = ExportRow(
    rank=1,
    url="https://a.example/?q=1,2",
    host="a.example",
    importance=0.75,
    cash=1.5,
    history=0.1,
    inlinks=3,
    state="fetched",
    status=200,
    depth=0,
    title='She said "=1", twice',
    first_fetched="2027-01-15T08:00:00Z",
    last_fetched="2027-01-15T08:00:01Z",
    like="http://a.example/first",
    noindex=True,
    value=0.5,
)
SECOND = FIRST._replace(
    rank=2,
    url="https://b.example/",
    state="unread",
    status=None,
    title="",
    first_fetched=None,
    last_fetched=None,
    like="",
    noindex=None,
    value=None,
)
TEXT = st.text(max_size=20)
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
    first_fetched=st.none() | st.just("2027-01-15T08:00:00Z"),
    last_fetched=st.none() | st.just("2027-01-15T08:00:00Z"),
    like=TEXT,
    noindex=st.none() | st.booleans(),
    value=st.none() | st.floats(0, 1),
)


def block_of(rows: Sequence[ExportRow]) -> Block:
    return {name: [getattr(row, name) for row in rows] for name in COLUMNS}


def written(write: Callable[[Iterable[Block], io.BytesIO], None], *rows: ExportRow) -> bytes:
    """Return what a writer makes of rows in two blocks."""
    file = io.BytesIO()
    write(iter((block_of(rows[:2]), block_of(rows[2:]))), file)
    return file.getvalue()


@given(st.lists(ROWS, max_size=3))
def test_a_block_has_its_rows(rows: list[ExportRow]) -> None:
    assert list(rows_of(block_of(rows))) == rows


class TestText:
    def test_csv_has_a_heading_and_a_line_for_each_page(self) -> None:
        assert written(write_csv, FIRST, SECOND).decode() == (
            "rank,url,host,importance,cash,history,inlinks,state,status,depth,title,"
            "first_fetched,last_fetched,like,noindex,value\n"
            '1,"https://a.example/?q=1,2",a.example,0.75,1.5,0.1,3,fetched,200,0,'
            '"She said ""=1"", twice",2027-01-15T08:00:00Z,2027-01-15T08:00:01Z,http://a.example/first,True,0.5\n'
            "2,https://b.example/,a.example,0.75,1.5,0.1,3,unread,,0,,,,,,\n"
        )

    def test_text_without_pages_is_at_most_a_heading(self) -> None:
        assert written(write_tsv).decode() == "\t".join(COLUMNS) + "\n"
        assert written(write_jsonl) == b""

    def test_a_title_like_a_formula_is_quoted(self) -> None:
        hostile = FIRST._replace(title="=HYPERLINK()\t\n")
        assert b",'=HYPERLINK()\\t\\n," in written(write_csv, hostile)
        assert b"\t'=HYPERLINK()\\t\\n\t" in written(write_tsv, hostile)

    @given(st.lists(ROWS, max_size=3))
    def test_numbers_in_csv_are_read_back_exactly(self, rows: list[ExportRow]) -> None:
        lines = written(write_csv, *rows).decode()
        for row, read in zip(rows, csv.DictReader(io.StringIO(lines)), strict=True):
            assert int(read["rank"]) == row.rank
            assert float(read["importance"]) == row.importance
            assert read["status"] == ("" if row.status is None else str(row.status))

    @given(st.lists(ROWS, max_size=3))
    def test_tsv_has_a_line_per_page_and_a_field_per_column(self, rows: list[ExportRow]) -> None:
        lines = written(write_tsv, *rows).decode().split("\n")
        assert len(lines) == len(rows) + 2
        assert all(line.count("\t") == len(COLUMNS) - 1 for line in lines[:-1])

    @given(st.lists(ROWS, max_size=3))
    def test_jsonl_is_read_back_exactly(self, rows: list[ExportRow]) -> None:
        lines = written(write_jsonl, *rows).decode("ascii").splitlines()
        assert [ExportRow(**json.loads(line)) for line in lines] == rows

    def test_jsonl_is_safe_on_a_terminal(self) -> None:
        shown = written(write_jsonl, FIRST._replace(title="\x1b[2J\x7f\x9b\u202e")).decode()
        assert all(c.isascii() and (c.isprintable() or c == "\n") for c in shown)

    @given(st.lists(ROWS, max_size=5))
    def test_csv_equals_the_output_of_pythons_csv_writer(self, rows: list[ExportRow]) -> None:
        expected = io.StringIO()
        writer = csv.writer(expected, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        assert written(write_csv, *rows).decode() == expected.getvalue()


class TestParquet:
    def read(self, path: Path, rows: Sequence[ExportRow]) -> list[ExportRow]:
        with path.open("wb") as file:
            write_parquet([block_of(rows[:2]), block_of(rows[2:])], file)
        columns = ", ".join(
            f"strftime({name} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')"
            if name.endswith("fetched")
            else f'"{name}"'
            for name in COLUMNS
        )
        found = duckdb.execute(f"SELECT {columns} FROM '{path}'").fetchall()
        return [ExportRow(*row) for row in found]

    def test_parquet_is_read_back_exactly_and_in_order(self, tmp_path: Path) -> None:
        strange = FIRST._replace(title="=1\x00\x1b[2J\u202e日本", inlinks=(1 << 32) - 1)
        rows = [FIRST, SECOND, strange]
        assert self.read(tmp_path / "ranks.parquet", rows) == rows

    def test_parquet_can_be_empty(self, tmp_path: Path) -> None:
        assert self.read(tmp_path / "ranks.parquet", []) == []

    def test_columns_have_types(self, tmp_path: Path) -> None:
        path = tmp_path / "ranks.parquet"
        self.read(path, [SECOND])
        described = duckdb.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        kinds = {row[0]: row[1] for row in described}
        assert list(kinds) == list(COLUMNS)
        assert kinds["importance"] == "DOUBLE"
        assert kinds["last_fetched"] == "TIMESTAMP WITH TIME ZONE"
        assert kinds["title"] == "VARCHAR"
        assert kinds["noindex"] == "BOOLEAN"

    def test_the_schema_does_not_depend_on_the_rows(self, tmp_path: Path) -> None:
        unread = SECOND._replace(status=None, first_fetched=None, last_fetched=None)
        found: list[list[tuple[object, ...]]] = []
        for rows in ([], [FIRST], [unread], [FIRST, unread]):
            path = tmp_path / f"{len(found)}.parquet"
            self.read(path, rows)
            columns = "name, type, repetition_type, logical_type"
            asked = f"SELECT {columns} FROM parquet_schema('{path}')"
            found.append(duckdb.execute(asked).fetchall())
        assert found.count(found[0]) == len(found)

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "duckdb", None)
        with pytest.raises(UsageError, match=r"install minicrawl\[parquet\]"):
            write_parquet([], io.BytesIO())


class TestFormats:
    @pytest.mark.parametrize("name", FORMATS)
    def test_the_suffix_names_the_format_in_any_case(self, name: str) -> None:
        assert format_of(Path(f"ranks.{name.upper()}")) == name

    def test_a_given_format_takes_precedence_over_the_suffix(self) -> None:
        assert format_of(Path("ranks.csv"), "jsonl") == "jsonl"

    @pytest.mark.parametrize("path", ["ranks.xlsx", "ranks", "-"])
    def test_an_unknown_suffix_is_refused_with_the_known_ones(self, path: str) -> None:
        known = re.escape(", ".join(f".{name}" for name in FORMATS))
        with pytest.raises(UsageError, match=rf"^{path}: .*{known}"):
            format_of(Path(path))


class TestReplacing:
    def test_the_file_is_replaced_when_everything_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "ranks.csv"
        path.write_bytes(b"old")
        with replacing(path) as file:
            file.write(b"new")
            file.flush()
            assert path.read_bytes() == b"old"
        assert path.read_bytes() == b"new"
        assert list(tmp_path.iterdir()) == [path]

    def test_an_interrupted_write_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "ranks.csv"
        path.write_bytes(b"old")

        def blocks() -> Iterator[Block]:
            yield block_of([FIRST])
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), replacing(path) as file:
            write_csv(blocks(), file)
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_the_file_has_the_users_default_mode(self, tmp_path: Path) -> None:
        plain, path = tmp_path / "plain", tmp_path / "ranks.csv"
        plain.touch()
        with replacing(path):
            pass
        assert path.stat().st_mode == plain.stat().st_mode

    def test_a_missing_folder_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "no" / "ranks.csv"
        with pytest.raises(UsageError, match=r"ranks\.csv cannot be written: No such file"):
            replacing(path).__enter__()

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is a folder: name a file"):
            replacing(tmp_path).__enter__()

    def test_a_device_is_written_to_and_not_replaced(self) -> None:
        null = Path(os.devnull)
        with replacing(null) as file:
            file.write(b"gone")
        assert null.is_char_device()


def test_jsonl_refuses_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(write_jsonl, FIRST._replace(cash=math.nan))


def test_a_parquet_file_of_large_pages_needs_the_memory_of_a_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write 120 MB of pages while DuckDB may use 64 MB."""
    monkeypatch.setattr("minicrawl.report.formats._LEAST_MEMORY", 64 << 20)
    html = "".join(map(str, range(4000, 8000)))

    def pages() -> Iterator[Block]:
        for start in range(0, 7500, 50):
            rows = [FIRST._replace(rank=start + number) for number in range(50)]
            texts = [f"{row.rank} {html[row.rank % 100 :]}" for row in rows]
            yield block_of(rows) | {"html": texts}

    with (tmp_path / "pages.parquet").open("wb") as file:
        write_parquet(pages(), file, (*COLUMNS, "html"), row_group_bytes=4 << 20)
    with duckdb.connect() as database:
        groups = database.execute(
            "SELECT any_value(row_group_num_rows), sum(total_uncompressed_size) "
            "FROM parquet_metadata(?) GROUP BY row_group_id",
            [str(tmp_path / "pages.parquet")],
        ).fetchall()
        found = database.execute(
            "SELECT rank, html FROM read_parquet(?)", [str(tmp_path / "pages.parquet")]
        ).fetchall()
    assert [rank for rank, _ in found] == list(range(7500))
    assert found[7499][1] == f"7499 {html[99:]}"
    assert len(groups) > 20
    assert max(size for _, size in groups) < 8 << 20
