"""Writes what `minicrawl export` was asked for: a file or a data set, and counts its rows."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import click

from minicrawl.archive.warc.wacz import write_wacz
from minicrawl.archive.warc.wacz_key import WaczKey
from minicrawl.archive.warc.writer import write_warc
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import refuse_without_near_duplicates, warn_of_unranked_pages
from minicrawl.own_files import replacing
from minicrawl.ports import Progress
from minicrawl.report.archived.captures import captures, facts_of
from minicrawl.report.archived.page_contents import with_contents
from minicrawl.report.archived.usage import PermittedPages
from minicrawl.report.files.data_card import has_usage_files, software
from minicrawl.report.files.data_set import DataSet
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.formats import GRAPH_FOLDER, WEB_ARCHIVES
from minicrawl.report.files.graph_folder import write_graph_folder
from minicrawl.report.files.parquet import ROW_GROUP_BYTES, write_parquet
from minicrawl.report.files.rows import WRITERS, lines_of
from minicrawl.report.graph.source import unseen
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


class ExportOutput(NamedTuple):
    """Destination and content of an export: pages with extra columns, or a graph."""

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


class RowCount:
    """Counter of the rows written to a file, and of damaged responses left out.

    `rows` is None if the file has no rows.
    """

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


def _writer(
    snapshot: Snapshot,
    selected: PageSelection,
    output: ExportOutput,
    rows: RowCount,
    progress: Progress,
) -> Write:
    suffix, ranks = output.suffix, output.ranks
    if (lines := lines_of(suffix)) is not None:
        found_lines = rows.of_each(lines(snapshot, rows.leave_out))
        return lambda file: file.writelines(found_lines)
    if suffix in WEB_ARCHIVES:
        all_captures = rows.of_each(
            captures(snapshot, selected, progress, rows.leave_out, rows.permitted)
        )
        about, made_at = facts_of(snapshot), questions.last_reading(snapshot.connection)
        if suffix == "wacz":
            return lambda file: write_wacz(all_captures, file, made_at, about, output.key)
        return lambda file: write_warc(all_captures, file, output.file.name, made_at, about)
    graph = GRAPHS.get(output.graph or "")
    if graph is not None and suffix in DRAWINGS:
        return partial(DRAWINGS[suffix], graph(snapshot, selected, ranks, progress).drawing())
    pieces: Iterable[Block]
    columns: Sequence[str]
    if output.graph == RAW:
        pieces, columns = all_links(snapshot, selected, progress), RAW_COLUMNS
    elif graph is not None:
        pieces, columns = graph(snapshot, selected, ranks, progress).named_links(), graph.columns
    else:
        pieces, columns = _pages(snapshot, selected, output, rows, progress)
    write = WRITERS[suffix]
    if suffix == "parquet":
        group, types = output.row_group or ROW_GROUP_BYTES, dict.fromkeys(output.fields, "VARCHAR")
        write = partial(write_parquet, row_group_bytes=group, types=types)
    return lambda file: rows.correct(write(rows.of_blocks(pieces), file, columns))


def _pages(
    snapshot: Snapshot,
    selected: PageSelection,
    output: ExportOutput,
    rows: RowCount,
    progress: Progress,
) -> tuple[Iterable[Block], Sequence[str]]:
    """Return the rows of pages, and their columns."""
    pages = blocks(snapshot, selected, output.ranks, progress)
    if rows.permitted is not None:
        pages = rows.permitted.of(pages)
    pieces = with_contents(snapshot, pages, output.contents, rows.leave_out, output.fields)
    columns = (*COLUMNS, *map(score_column, output.ranks), *output.contents, *output.fields)
    return pieces, columns


def _write_data_set(
    snapshot: Snapshot,
    selected: PageSelection,
    output: ExportOutput,
    rows: RowCount,
    progress: Progress,
) -> None:
    """Write a folder of files, with its manifest and its data card."""
    assert output.shard_bytes is not None, "the output is a data set"
    made = DataSet(output.file, output.shard_bytes)
    made.prepare(force=output.force)
    read_until, columns = questions.last_reading(snapshot.connection), list[str]()
    if rows.permitted is None and tables.archive_end(snapshot.connection) is not None:
        rows.permitted = PermittedPages(snapshot, None)
    if output.suffix in WEB_ARCHIVES:
        all_captures = captures(snapshot, selected, progress, rows.leave_out, rows.permitted)
        made.write_warcs(
            rows.of_each(all_captures), read_until, facts_of(snapshot), snapshot.path.stem
        )
    else:
        blocks, names = _pages(snapshot, selected, output, rows, progress)
        columns += names
        write = WRITERS[output.suffix]
        if output.suffix == "parquet":
            group = output.row_group or ROW_GROUP_BYTES
            types, most = dict.fromkeys(output.fields, "VARCHAR"), output.shard_bytes
            write = partial(write_parquet, row_group_bytes=group, most_bytes=most, types=types)
        made.write_rows(rows.of_blocks(blocks), output.suffix, columns, write)
    permitted = rows.permitted
    made.finish(
        {
            "software": software(),
            "store": snapshot.path.name,
            "read_until": read_until,
            "since": output.since,
            "purpose": output.purpose,
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


def write_output(
    snapshot: Snapshot, selected: PageSelection, output: ExportOutput, progress: Progress
) -> RowCount:
    """Write the file, and count its rows."""
    if selected.folds:
        refuse_without_near_duplicates(snapshot)
    warn_of_unranked_pages(snapshot, {*output.ranks, selected.by})
    rows = RowCount()
    if output.purpose:
        rows.permitted = PermittedPages(snapshot, output.purpose)
        if output.purpose and not has_usage_files(tables.settings(snapshot.connection)):
            click.echo(
                "tdmrep.json and RSL files were not requested, so pages that only they "
                "reserve are not left out: crawl with --obey-usage",
                err=True,
            )
    if output.suffix == GRAPH_FOLDER:
        graph = GRAPHS[output.graph or "page"](snapshot, selected, (), progress).drawing()
        rows.rows = write_graph_folder(graph, output.file, of_hosts=output.graph == "host")
        return rows
    if output.shard_bytes is not None:
        _write_data_set(snapshot, selected, output, rows, progress)
        return rows
    write = _writer(snapshot, selected, output, rows, progress)
    if output.file == STDOUT:
        write(sys.stdout.buffer)
    else:
        with replacing(output.file) as draft:
            write(draft)
    return rows


def progress_of(file: Path) -> AbstractContextManager[Progress]:
    """Return a progress context, which shows nothing if the rows go to the terminal."""
    is_shared = file == STDOUT and sys.stdout.isatty()
    return unseen("export") if is_shared else progress("export")
