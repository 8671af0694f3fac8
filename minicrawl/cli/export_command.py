"""`minicrawl export`: pages, or the links between them, as a file for other programs."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from minicrawl.archive.warc import Capture, write_wacz, write_warc
from minicrawl.cli.input_options import (
    READ,
    json_option,
    progress,
    refuse_without_near_duplicates,
    selection_options,
    store_option_for,
    tell_of_importance,
    warn_of_unranked_pages,
)
from minicrawl.cli.output import show_json
from minicrawl.cli.setting_options import graph_of_option, refuse_without_text
from minicrawl.config.values import size
from minicrawl.errors import UsageError
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.own_files import replacing
from minicrawl.progress import Progress
from minicrawl.report.archived_pages import PermittedPages, captures, with_contents
from minicrawl.report.formats import (
    DRAWINGS,
    FORMATS,
    WEB_ARCHIVES,
    WRITERS,
    content_columns,
    contents_of,
    format_of,
    write_parquet,
)
from minicrawl.report.page_links import RAW_COLUMNS, all_links
from minicrawl.report.selected_pages import (
    COLUMNS,
    Block,
    HostGraph,
    PageGraph,
    PageSelection,
    blocks,
    score_column,
)
from minicrawl.report.snapshot import Snapshot, convergence_of, snapshot, told
from minicrawl.report.store_graph import unseen
from minicrawl.store.derived import OPIC
from minicrawl.web.usage import PURPOSES
from minicrawl.wording import counted, visible

STDOUT = Path("-")
RAW = "raw"
"""The graph of links as they are written."""
_EXACT = ("jsonl", "parquet")
GRAPHS: dict[str, type[PageGraph] | type[HostGraph]] = {"page": PageGraph, "host": HostGraph}

Write = Callable[[BinaryIO], None]


class FormatName(click.Choice[str]):
    """A format that is built in, or that a package adds."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """The name, if there is such a format."""
        is_added = isinstance(value, str) and value in WRITERS
        return str(value) if is_added else super().convert(value, param, ctx)


def _needs_pages(given: Mapping[str, Any]) -> bool:
    """Return whether the output comes from kept pages."""
    suffix = format_of(given["file"], _format_name(given["file"], given["name"]))
    has_contents = suffix in WEB_ARCHIVES or bool(contents_of(suffix))
    return has_contents or bool(given["contents"]) or bool(given["raw"])


def _format_name(file: Path, name: str | None) -> str | None:
    """The format that was named; that of stdout is csv."""
    return name or ("csv" if file == STDOUT else None)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@selection_options(count=0)
@click.option(
    "--by",
    metavar="NAME",
    default=OPIC,
    show_default=True,
    help="Order pages by this rank, and count --n by it.",
)
@click.option(
    "--fold",
    is_flag=True,
    help="Leave out redirects and duplicates, and of pages that are alike, as `index` found, all "
    "but the best.",
)
@click.option("--noindex", is_flag=True, help="Include pages that ask not to be indexed.")
@click.option(
    "--format",
    "name",
    type=FormatName(FORMATS),
    help="The format of the file.  [default: by its suffix; csv for stdout]",
)
@click.option(
    "--ranks",
    metavar="NAME,...",
    default="",
    help="Add a column with the scores of each rank. rising: the cash that a "
    "page was given since it was read, relative to what its past promised.",
)
@click.option(
    "--with",
    "contents",
    metavar="NAME,...",
    default="",
    help=f"Add a column of what was fetched: {', '.join(content_columns())}. For "
    ".jsonl and .parquet.",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(PURPOSES),
    help="Leave out pages whose site denies this use, in robots.txt, headers or markup.",
)
@click.option(
    "--row-group",
    metavar="SIZE",
    callback=lambda _ctx, _param, value: _row_group(value),
    help="Limit a row group of a .parquet file to SIZE before compression. Writing it takes about "
    "eight times the memory.  [default: 32MiB]",
)
@click.option("--edges", is_flag=True, help="Write the links, one per row, instead of the pages.")
@click.option(
    "--raw",
    is_flag=True,
    help="With --edges, the links as they are written: redirects are not followed, and each link "
    "has its text, its rel and its href, in a store of `crawl --keep links` or --keep pages.",
)
@click.option(
    "--level",
    type=click.Choice(list(GRAPHS)),
    help="Write the graph of pages or of hosts.  [default: page]",
)
@graph_of_option(KNOWN)
@click.option("--force", is_flag=True, help="Replace FILE if it exists, without asking.")
@json_option
@store_option_for(READ, of_cluster=True, needs_pages=_needs_pages)
def export(
    file: Path,
    store: Path,
    selection: PageSelection,
    by: str,
    fold: bool,
    noindex: bool,
    name: str | None,
    ranks: str,
    contents: str,
    purpose: str | None,
    row_group: int | None,
    edges: bool,
    raw: bool,
    level: str | None,
    graph_of: str,
    force: bool,
    as_json: bool,
) -> None:
    """Write the pages, the most important first, to FILE: .csv, .tsv, .jsonl or .parquet.

    With --edges, write the links between them. A .graphml, .gexf or .dot file has both. A .warc.gz
    or .wacz file has all that was fetched. `-` is stdout. When a file was written, stderr says how
    many rows it has and how exact the importance is. What is damaged is named and left out; then
    this exits with 1.
    """
    suffix = format_of(file, _format_name(file, name))
    is_graph = edges or suffix in DRAWINGS
    _refuse_conflicts(
        suffix, ranks=ranks, edges=edges, level=level, raw=raw, unread=selection.unread
    )
    if file == STDOUT and (force or as_json):
        raise click.UsageError("--force and --json are for a FILE: stdout has the rows alone")
    if row_group is not None and suffix != "parquet":
        raise click.UsageError("--row-group is for a .parquet file")
    among = _among(selection, graph_of, is_graph=is_graph)
    if edges:
        _refuse_for_links(selection, by=by, fold=fold)
    _refuse_to_replace(file, force=force)
    selected = replace(among, by=by, noindex=noindex, only_pages=fold, folds=fold)
    graph = RAW if raw else (level or "page") if is_graph else None
    if purpose and graph:
        raise click.UsageError("--for is for pages: leave out --edges, or choose another format")
    columns = _contents(contents, suffix, edges=edges)
    output = _Output(file, suffix, _listed(ranks), columns, graph, row_group, purpose)
    with snapshot(store) as seen, _progress(file) as tell:
        rows = _write(seen, selected, output, tell)
        if file != STDOUT:
            _tell_of(file, seen, rows, as_json=as_json)
    click.get_current_context().exit(1 if rows.left_out else 0)


class _Output(NamedTuple):
    """Destination and content of an export: pages with extra columns, or a graph."""

    file: Path
    suffix: str
    ranks: list[str]
    contents: list[str]
    graph: str | None
    row_group: int | None
    purpose: str | None


def _row_group(value: str | None) -> int | None:
    if value is None:
        return None
    count = size(value)
    if count is None or count < 1:
        raise click.BadParameter(f"{value} is no size: use a number of bytes such as 64MiB")
    return count


class RowCount:
    """Counts rows on their way to a file, and answers that are damaged. None if the file has no
    rows.
    """

    def __init__(self) -> None:
        self.rows: int | None = None
        self.left_out = 0
        self.permitted: PermittedPages | None = None

    def leave_out(self, text: str) -> None:
        """Warn about a response that cannot be written."""
        self.left_out += 1
        click.echo(f"left out: {visible(text)}", err=True)

    def of_each(self, found: Iterator[Capture]) -> Iterator[Capture]:
        """Count these one by one."""
        self.rows = 0
        for one in found:
            self.rows += 1
            yield one

    def of_blocks(self, found: Iterable[Block]) -> Iterator[Block]:
        """Count the rows of blocks."""
        self.rows = 0
        for block in found:
            self.rows += len(next(iter(block.values())))
            yield block


def _writer(
    seen: Snapshot, selected: PageSelection, output: _Output, rows: RowCount, tell: Progress
) -> Write:
    suffix, ranks = output.suffix, output.ranks
    if suffix in WEB_ARCHIVES:
        found_pages = captures(seen, selected, tell, rows.leave_out, rows.permitted)
        captured = rows.of_each(found_pages)
        return _web_archive_writer(captured, output.file.name, suffix)
    graph = GRAPHS.get(output.graph or "")
    if graph is not None and suffix in DRAWINGS:
        return partial(DRAWINGS[suffix], graph(seen, selected, ranks, tell).drawing())
    found: Iterable[Block]
    columns: Sequence[str]
    if output.graph == RAW:
        found, columns = all_links(seen, selected, tell), RAW_COLUMNS
    elif graph is not None:
        found, columns = graph(seen, selected, ranks, tell).named_links(), graph.columns
    else:
        pages = blocks(seen, selected, ranks, tell)
        if rows.permitted is not None:
            pages = rows.permitted.of(pages)
        found = with_contents(seen, pages, output.contents, rows.leave_out)
        columns = (*COLUMNS, *map(score_column, ranks), *output.contents)
    write = WRITERS[suffix]
    if output.row_group:
        write = partial(write_parquet, row_group_bytes=output.row_group)
    return lambda file: write(rows.of_blocks(found), file, columns)


def _refuse_to_replace(file: Path, *, force: bool) -> None:
    """Ask before replacing a file. Devices are written to directly."""
    if force or file == STDOUT or not file.is_file():
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{file} exists: --force replaces it")
    click.confirm(f"{visible(str(file))} exists. Replace it?", abort=True, err=True)


def _tell_of(file: Path, seen: Snapshot, rows: RowCount, *, as_json: bool) -> None:
    """Print the number of rows, and the error of the importance."""
    if as_json:
        importance = told(convergence_of(seen))
        size = file.stat().st_size
        of_rows: dict[str, object] = {"rows": rows.rows, "left_out": rows.left_out}
        if rows.permitted is not None:
            of_rows["denied"] = rows.permitted.denied
        show_json({"file": str(file), "bytes": size, **of_rows, "importance": importance})
        return
    count = "" if rows.rows is None else f", {counted(rows.rows, 'row')}"
    denied = f", {counted(rows.permitted.denied, 'page')} denied" if rows.permitted else ""
    click.echo(f"wrote {visible(str(file))}{count}{denied}", err=True)
    tell_of_importance(seen, err=True)


def _refuse_conflicts(
    suffix: str, *, ranks: str, edges: bool, level: str | None, raw: bool, unread: bool
) -> None:
    if suffix in WEB_ARCHIVES and (ranks or edges or level):
        raise click.UsageError(
            f"a .{suffix} file holds pages: leave out --ranks, --edges and --level"
        )
    if edges and contents_of(suffix):
        raise click.UsageError(f"a .{suffix} file holds pages: leave out --edges")
    if suffix in WEB_ARCHIVES and unread:
        raise click.UsageError(f"a .{suffix} file has what was read: leave out --unread")
    if level and not edges and suffix in WRITERS:
        raise click.UsageError(f"--level needs --edges for a .{suffix} file")
    if ranks and edges and suffix in WRITERS:
        raise click.UsageError(f"--ranks is for pages: links in a .{suffix} file have no scores")
    if raw and (not edges or suffix not in WRITERS or level == "host"):
        raise click.UsageError("--raw needs --edges between pages, and a file of rows such as .csv")
    if edges and suffix in DRAWINGS:
        raise click.UsageError(f"a .{suffix} file has the links anyway: leave out --edges")


def _refuse_for_links(selection: PageSelection, *, by: str, fold: bool) -> None:
    if selection.unread:
        raise click.UsageError("pages that were not read have no links: leave out --unread")
    if by != OPIC and not (fold or selection.count):
        raise click.UsageError("--by orders pages: with --edges it needs --n or --fold")


def _among(selection: PageSelection, graph_of: str, *, is_graph: bool) -> PageSelection:
    """Return the pages that are in the requested graph."""
    if graph_of != CRAWLED:
        return selection
    if not is_graph:
        raise click.UsageError(
            "--graph-of needs a graph: --edges, or a .graphml, .gexf or .dot file"
        )
    if selection.unread:
        raise click.UsageError("--unread and --graph-of crawled cannot be combined")
    if selection.fetched:
        raise click.UsageError("--fetched and --graph-of crawled say the same: leave out one")
    return replace(selection, fetched=True)


def _listed(names: str) -> list[str]:
    return list(dict.fromkeys(filter(None, map(str.strip, names.split(",")))))


def _contents(names: str, suffix: str, *, edges: bool) -> list[str]:
    always = () if edges else contents_of(suffix)
    columns = [name for name in _listed(names) if name not in COLUMNS]  # those are there anyway
    if columns and (edges or suffix not in _EXACT):
        raise click.UsageError("--with is for pages in a .jsonl or .parquet file")
    for name in columns:
        refuse_without_text(name, f"--with {name}")
        if name not in content_columns():
            raise click.UsageError(f"--with {name}: use {', '.join(content_columns())}")
    return [*always, *columns]


def _web_archive_writer(found: Iterator[Capture], name: str, suffix: str) -> Write:
    if suffix == "wacz":
        return lambda file: write_wacz(found, file, time.time())
    return lambda file: write_warc(found, file, name, time.time())


def _write(seen: Snapshot, selected: PageSelection, output: _Output, tell: Progress) -> RowCount:
    """Write the file, and count its rows."""
    if selected.folds:
        refuse_without_near_duplicates(seen)
    warn_of_unranked_pages(seen, {*output.ranks, selected.by})
    rows = RowCount()
    if output.purpose:
        rows.permitted = PermittedPages(seen, output.purpose)
    write = _writer(seen, selected, output, rows, tell)
    if output.file == STDOUT:
        write(sys.stdout.buffer)
    else:
        with replacing(output.file) as draft:
            write(draft)
    return rows


def _progress(file: Path) -> AbstractContextManager[Progress]:
    """Return a progress function; none if the output goes to the terminal."""
    is_shared = file == STDOUT and sys.stdout.isatty()
    return unseen("export") if is_shared else progress("export")
