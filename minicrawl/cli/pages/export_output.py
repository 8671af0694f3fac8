"""Writes what `minicrawl export` was asked for: a file or a data set, and counts its rows."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

import click

from minicrawl import __version__
from minicrawl.archive.warc.capture import Capture
from minicrawl.archive.warc.wacz import WaczKey, write_wacz
from minicrawl.archive.warc.writer import write_warc
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import refuse_without_near_duplicates, warn_of_unranked_pages
from minicrawl.own_files import replacing
from minicrawl.ports import Progress
from minicrawl.report.archived.captures import captures, facts_of
from minicrawl.report.archived.page_contents import with_contents
from minicrawl.report.archived.usage import PermittedPages
from minicrawl.report.files.data_card import has_usage_files
from minicrawl.report.files.data_set import DataSet
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.graph_folder import write_graph_folder
from minicrawl.report.files.parquet import ROW_GROUP_BYTES, write_parquet
from minicrawl.report.files.rows import (
    GRAPH_FOLDER,
    WEB_ARCHIVES,
    WRITERS,
    Writer,
    lines_of,
    parts_of,
)
from minicrawl.report.graph.source import without_display
from minicrawl.report.links.written_links import RAW_COLUMNS, all_links
from minicrawl.report.selected_graph import HostGraph, PageGraph
from minicrawl.report.selected_pages import COLUMNS, Block, PageSelection, blocks, score_column
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions, tables
from minicrawl.wording import visible

T = TypeVar("T")

STDOUT = Path("-")
RAW = "raw"
"""Name of the graph of links as the pages have them."""
GRAPHS: dict[str, type[PageGraph] | type[HostGraph]] = {"page": PageGraph, "host": HostGraph}
Write = Callable[[BinaryIO], None]


class RowCount:
    """Counter of rows, None if the file has none, and of damaged responses left out."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.left_out = 0
        self.permitted: PermittedPages | None = None

    def leave_out(self, text: str) -> None:
        """Warn about a response that cannot be written."""
        self.left_out += 1
        click.echo(f"left out: {visible(text)}", err=True)

    def of_each(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items unchanged, and count them."""
        self.rows = 0
        for item in items:
            self.rows += 1
            yield item

    def of_blocks(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks unchanged, and count their rows."""
        self.rows = 0
        for block in blocks:
            self.rows += len(next(iter(block.values())))
            yield block

    def correct(self, written: int | None) -> None:
        """Take the number of a writer that leaves rows out."""
        if written is not None:
            self.rows = written


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export of selected pages with extra columns, or of a graph, to a file or a folder."""

    snapshot: Snapshot
    selected: PageSelection
    progress: Progress
    file: Path
    suffix: str
    ranks: list[str]
    contents: list[str]
    fields: dict[str, str]
    """Selectors by the names of their columns."""
    graph: str | None
    row_group: int | None
    purpose: str | None
    shard_bytes: int | None
    since: float | None
    force: bool
    key: WaczKey | None
    rows: RowCount = field(default_factory=RowCount)

    def write(self) -> RowCount:
        """Write the file, and count its rows."""
        if self.selected.folds:
            refuse_without_near_duplicates(self.snapshot)
        warn_of_unranked_pages(self.snapshot, {*self.ranks, self.selected.by})
        if self.purpose:
            self.rows.permitted = PermittedPages(self.snapshot, self.purpose)
            if not has_usage_files(tables.settings(self.snapshot.connection)):
                click.echo(
                    "tdmrep.json and RSL files were not requested, so pages that only they "
                    "reserve are not left out: crawl with --obey-usage",
                    err=True,
                )
        if self.suffix == GRAPH_FOLDER:
            graph = GRAPHS[self.graph or "page"](self.snapshot, self.selected, (), self.progress)
            of_hosts = self.graph == "host"
            self.rows.rows = write_graph_folder(graph.drawing(), self.file, of_hosts=of_hosts)
        elif self.shard_bytes is not None:
            self._write_data_set(self.shard_bytes)
        elif self.file == STDOUT:
            self._writer()(sys.stdout.buffer)
        else:
            write = self._writer()
            with replacing(self.file) as draft:
                write(draft)
            for name, lines in parts_of(self.suffix, self.snapshot):
                with replacing(self.file.with_name(name)) as draft:
                    draft.writelines(lines)
        return self.rows

    def _writer(self) -> Write:
        suffix, rows = self.suffix, self.rows
        if (lines := lines_of(suffix)) is not None:
            counted = rows.of_each(lines(self.snapshot, rows.leave_out))
            return lambda file: file.writelines(counted)
        if suffix in WEB_ARCHIVES:
            captures = rows.of_each(self._captures())
            made_at = questions.last_reading(self.snapshot.connection)
            about = facts_of(self.snapshot)
            if suffix == "wacz":
                return lambda file: write_wacz(captures, file, made_at, about, self.key)
            return lambda file: write_warc(captures, file, self.file.name, made_at, about)
        pieces: Iterable[Block]
        columns: Sequence[str]
        if self.graph == RAW:
            pieces, columns = all_links(self.snapshot, self.selected, self.progress), RAW_COLUMNS
        elif self.graph is not None:
            make = GRAPHS[self.graph]
            graph = make(self.snapshot, self.selected, self.ranks, self.progress)
            if suffix in DRAWINGS:
                return partial(DRAWINGS[suffix], graph.drawing())
            pieces, columns = graph.named_links(), graph.columns
        else:
            pieces, columns = self._pages()
        write = self._row_writer()
        return lambda file: rows.correct(write(rows.of_blocks(pieces), file, columns))

    def _pages(self) -> tuple[Iterable[Block], Sequence[str]]:
        pages = blocks(self.snapshot, self.selected, self.ranks, self.progress)
        if self.rows.permitted is not None:
            pages = self.rows.permitted.of(pages)
        leave_out = self.rows.leave_out
        pieces = with_contents(self.snapshot, pages, self.contents, leave_out, self.fields)
        columns = (*COLUMNS, *map(score_column, self.ranks), *self.contents, *self.fields)
        return pieces, columns

    def _captures(self) -> "Iterator[Capture]":
        rows = self.rows
        return captures(self.snapshot, self.selected, self.progress, rows.leave_out, rows.permitted)

    def _row_writer(self) -> Writer:
        if self.suffix != "parquet":
            return WRITERS[self.suffix]
        group, types = self.row_group or ROW_GROUP_BYTES, dict.fromkeys(self.fields, "VARCHAR")
        most = self.shard_bytes
        return partial(write_parquet, row_group_bytes=group, most_bytes=most, types=types)

    def _write_data_set(self, shard_bytes: int) -> None:
        snapshot, rows, columns = self.snapshot, self.rows, list[str]()
        made = DataSet(self.file, shard_bytes)
        made.prepare(force=self.force)
        made_at = questions.last_reading(snapshot.connection)
        if rows.permitted is None and tables.archive_end(snapshot.connection) is not None:
            rows.permitted = PermittedPages(snapshot, None)
        if self.suffix in WEB_ARCHIVES:
            about, name = facts_of(snapshot), snapshot.path.stem
            made.write_warcs(rows.of_each(self._captures()), made_at, about, name)
        else:
            blocks, names = self._pages()
            columns += names
            made.write_rows(rows.of_blocks(blocks), self.suffix, columns, self._row_writer())
        permitted = rows.permitted
        made.finish(
            {
                "software": f"minicrawl {__version__}",
                "store": snapshot.path.name,
                "read_until": made_at,
                "since": self.since,
                "purpose": self.purpose,
                "columns": columns,
                "rows": rows.rows,
                "left_out": rows.left_out,
                "denied": permitted.denied if permitted else 0,
                "denied_versions": permitted.denied_versions if permitted else 0,
                "usage": permitted.counts if permitted else None,
                "settings": tables.settings(snapshot.connection),
            }
        )


def listed(names: str | None) -> list[str]:
    return list(dict.fromkeys(filter(None, map(str.strip, (names or "").split(",")))))


def progress_of(file: Path) -> AbstractContextManager[Progress]:
    """Return a progress context, which shows nothing if the rows go to the terminal."""
    is_shared = file == STDOUT and sys.stdout.isatty()
    return without_display("export") if is_shared else progress("export")
