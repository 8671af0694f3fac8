"""`minicrawl export`: pages, or the links between them, as a file for other programs."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from minicrawl.archive.warc.wacz import write_wacz
from minicrawl.archive.warc.wacz_key import WaczKey
from minicrawl.archive.warc.writer import write_warc
from minicrawl.cli.options import ListOption, graph_of_option, refuse_without_text
from minicrawl.cli.output import show_json, warn_of_exposure
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import (
    READ,
    Moment,
    json_option,
    refuse_without_near_duplicates,
    selection_options,
    store_option_for,
    tell_of_importance,
    warn_of_unranked_pages,
)
from minicrawl.config.values.quantities import size
from minicrawl.errors import UsageError
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.own_files import replacing
from minicrawl.ports import Progress
from minicrawl.report.archived.captures import captures, facts_of
from minicrawl.report.archived.page_contents import with_contents
from minicrawl.report.archived.usage import PermittedPages
from minicrawl.report.files.content_columns import content_columns
from minicrawl.report.files.data_card import has_usage_files, software
from minicrawl.report.files.data_set import DataSet, read_until
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.formats import FORMATS, GRAPH_FOLDER, WEB_ARCHIVES, format_of
from minicrawl.report.files.graph_folder import refuse_folder, write_graph_folder
from minicrawl.report.files.parquet import ROW_GROUP_BYTES, write_parquet
from minicrawl.report.files.rows import WRITERS, contents_of, lines_of
from minicrawl.report.graph.source import unseen
from minicrawl.report.links.written_links import RAW_COLUMNS, all_links
from minicrawl.report.saved_ranks import convergence_of, told
from minicrawl.report.selected_graph import HostGraph, PageGraph
from minicrawl.report.selected_pages import COLUMNS, Block, PageSelection, blocks, score_column
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.report.states.changes import new_and_changed
from minicrawl.store import questions, tables
from minicrawl.store.derived import OPIC
from minicrawl.web.usage import PURPOSES
from minicrawl.wording import counted, visible

T = TypeVar("T")


STDOUT = Path("-")
RAW = "raw"
"""Name of the graph of links as the pages have them."""
_EXACT = ("jsonl", "parquet")  # CSV and TSV escape text, and have no lists
LAST_RUN = -1.0
"""Time that stands for the start of the last run."""
GRAPHS: dict[str, type[PageGraph] | type[HostGraph]] = {"page": PageGraph, "host": HostGraph}
Write = Callable[[BinaryIO], None]


class SinceMoment(Moment):
    """A time, the start of the last run, or the time of an earlier data set."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if value == "last":
            return LAST_RUN
        if isinstance(value, str) and Path(value).exists():
            # What was read at that very moment is in the data set.
            return math.nextafter(read_until(Path(value)), math.inf)
        return super().convert(value, param, ctx)


class FormatName(click.Choice[str]):
    """A format that is built in, or that a package adds."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name, if there is such a format."""
        is_added = isinstance(value, str) and value in WRITERS
        return str(value) if is_added else super().convert(value, param, ctx)


def _needs_pages(given: Mapping[str, Any]) -> bool:
    """Return whether the output comes from kept pages."""
    named = _format_name(given["file"], given["name"], given["shard_bytes"])
    suffix = format_of(given["file"], named)
    has_contents = suffix in WEB_ARCHIVES or bool(contents_of(suffix))
    return has_contents or bool(given["contents"]) or bool(given["raw"])


def _format_name(file: Path, name: str | None, shard_bytes: int | None) -> str | None:
    """Return the format that was named; that of stdout is csv, that of a data set parquet."""
    usual = "parquet" if shard_bytes else "csv" if file == STDOUT else None
    return name or usual


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@selection_options(count=0)
@with_options
@graph_of_option(KNOWN)
@click.option("--force", is_flag=True, help="Replace FILE if it exists, without asking.")
@json_option
@store_option_for(READ, of_cluster=True, needs_pages=_needs_pages)
def export(
    file: Path,
    store: Path,
    selection: PageSelection,
    graph_of: str,
    force: bool,
    as_json: bool,
    by: str = option("Order pages by this rank; --n keeps the first ones.", OPIC, metavar="NAME"),
    fold: bool = switch(
        "Leave out redirects and duplicates, and all but the best of each group of "
        "near-duplicates that `index` found."
    ),
    name: str | None = option(
        "The format of the file.",
        flag="--format",
        usual="by its suffix; csv for stdout",
        type=FormatName(FORMATS),
    ),
    ranks: str | None = option(
        "Add a column with the scores of each rank. rising: the cash that a "
        "page received since it was read, relative to what its past predicts.",
        cls=ListOption,
        metavar="NAME,...",
    ),
    contents: str | None = option(
        f"Add these columns from the kept pages: {', '.join(content_columns())}. For "
        ".jsonl and .parquet.",
        flag="--with",
        cls=ListOption,
        metavar="NAME,...",
    ),
    purpose: str | None = option(
        "Leave out pages whose site denies this use, in robots.txt, headers or markup.",
        flag="--for",
        type=click.Choice(PURPOSES),
    ),
    since: float | None = option(
        "Leave out pages that are neither new nor changed since this time (2026-11-22 or "
        "2026-11-22T10:00, UTC), age (12h, 7d), run (last: the start of the last run) or data set "
        "(its folder, as --shard made it).",
        metavar="TIME|RUN",
        type=SinceMoment(),
    ),
    row_group: int | None = option(
        "Limit a row group of a .parquet file to SIZE before compression. Writing takes about "
        "eight times SIZE of memory.",
        usual="32MiB",
        metavar="SIZE",
        callback=lambda _ctx, _param, value: _bytes(value),
    ),
    shard_bytes: int | None = option(
        "Write a folder of files of about SIZE each, with a manifest and a data card. WARC files "
        "also get Common Crawl's columnar index.  [default format: parquet]",
        flag="--shard",
        metavar="SIZE",
        callback=lambda _ctx, _param, value: _bytes(value),
    ),
    key: Path | None = option(
        "Sign the .wacz with the P-384 key in this PEM file, which is made if it is missing. "
        "Needs minicrawl[signing].",
        flag="--sign",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
    ),
    edges: bool = switch("Write the links, one per row, instead of the pages."),
    raw: bool = switch(
        "With --edges, write links as the pages have them, with text, rel and href; redirects "
        "are not followed. Needs a store of `crawl --keep links` or --keep pages."
    ),
    level: str | None = option(
        "Write the graph of pages or of hosts.", usual="page", type=click.Choice(list(GRAPHS))
    ),
) -> None:
    """Write the pages, the most important first, to FILE: .csv, .tsv, .jsonl or .parquet.

    With --edges, write the links between them. A .graphml, .gexf or .dot file has pages and links,
    and so has a folder `graph/` or `NAME.graph/`, with numbers for names, as Common Crawl and
    WebGraph publish graphs. A .warc.gz or .wacz file has all kept responses, a .log file one line
    per request, as Heritrix writes it. `-` is stdout.

    At the end, stderr shows the number of rows, and the error of the importance. Damaged records
    are listed and left out; the exit code is then 1.
    """
    suffix = format_of(file, _format_name(file, name, shard_bytes))
    is_graph = edges or suffix in (*DRAWINGS, GRAPH_FOLDER)
    if lines_of(suffix) is not None:
        _refuse_choices(suffix)
    _refuse_conflicts(suffix, click.get_current_context().params, is_graph=is_graph)
    if shard_bytes is None:
        _refuse_place(file, suffix, force=force)
    if key is not None:
        warn_of_exposure(key)
    selected = replace(selection, by=by, only_pages=fold, folds=fold)
    if graph_of == CRAWLED:
        selected = replace(selected, fetched=True)
    graph = RAW if raw else (level or "page") if is_graph else None
    columns = _contents(contents, suffix, edges=edges)
    output = _Output(
        *(file, suffix, _listed(ranks), columns, graph, row_group, purpose),
        *(shard_bytes, since, force),
        key=None if key is None else WaczKey.opened(key),
    )
    with snapshot(store) as view, _progress(file) as progress:
        if since is not None:
            if since == LAST_RUN:
                since = tables.last_run(view.connection)
                output = output._replace(since=since)
            selected = replace(selected, among=new_and_changed(view, since))
        rows = _write(view, selected, output, progress)
        if file != STDOUT:
            _tell_of(file, view, rows, as_json=as_json)
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
    shard_bytes: int | None
    since: float | None
    force: bool
    key: WaczKey | None


def _bytes(value: str | None) -> int | None:
    if value is None:
        return None
    count = size(value)
    if count is None or count < 1:
        raise click.BadParameter(f"{value} is not a size: use a number of bytes such as 64MiB")
    return count


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
    snapshot: Snapshot, selected: PageSelection, output: _Output, rows: RowCount, progress: Progress
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
    if output.row_group:
        write = partial(write_parquet, row_group_bytes=output.row_group)
    return lambda file: rows.correct(write(rows.of_blocks(pieces), file, columns))


def _pages(
    snapshot: Snapshot, selected: PageSelection, output: _Output, rows: RowCount, progress: Progress
) -> tuple[Iterable[Block], Sequence[str]]:
    """Return the rows of pages, and their columns."""
    pages = blocks(snapshot, selected, output.ranks, progress)
    if rows.permitted is not None:
        pages = rows.permitted.of(pages)
    pieces = with_contents(snapshot, pages, output.contents, rows.leave_out)
    return pieces, (*COLUMNS, *map(score_column, output.ranks), *output.contents)


def _write_data_set(
    snapshot: Snapshot, selected: PageSelection, output: _Output, rows: RowCount, progress: Progress
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
            write = partial(write_parquet, row_group_bytes=group, most_bytes=output.shard_bytes)
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


def _refuse_place(file: Path, suffix: str, *, force: bool) -> None:
    """Ask before replacing a file or a graph, without --force. Devices are written to directly."""
    if suffix == GRAPH_FOLDER:
        if file == STDOUT:
            raise click.UsageError("--format graph writes a folder: stdout is not one")
        refuse_folder(file, force=force)
    elif not force and file != STDOUT and file.is_file():
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError(f"{file} exists: --force replaces it")
        click.confirm(f"{visible(str(file))} exists. Replace it?", abort=True, err=True)


def _tell_of(file: Path, snapshot: Snapshot, rows: RowCount, *, as_json: bool) -> None:
    """Print the number of rows, and the error of the importance."""
    if as_json:
        importance = told(convergence_of(snapshot))
        places = file.iterdir() if file.is_dir() else [file]
        size = sum(place.stat().st_size for place in places)
        of_rows: dict[str, object] = {"rows": rows.rows, "left_out": rows.left_out}
        if rows.permitted is not None and rows.permitted.purpose:
            of_rows["denied"] = rows.permitted.denied
            of_rows["denied_versions"] = rows.permitted.denied_versions
        show_json({"file": str(file), "bytes": size, **of_rows, "importance": importance})
        return
    count = "" if rows.rows is None else f", {counted(rows.rows, 'row')}"
    permitted = rows.permitted if rows.permitted and rows.permitted.purpose else None
    denied = f", {counted(permitted.denied, 'page')} denied" if permitted else ""
    if permitted and permitted.denied_versions:
        denied += f", {counted(permitted.denied_versions, 'earlier version')} denied"
    click.echo(f"wrote {visible(str(file))}{count}{denied}", err=True)
    tell_of_importance(snapshot, err=True)


def _refuse_choices(suffix: str) -> None:
    """Refuse options that choose pages or columns: the file has all requests."""
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if is_given and parameter.name not in ("file", "store", "name", "force", "as_json"):
            given = parameter.opts[-1]
            raise click.UsageError(f"a .{suffix} file has every request: leave out {given}")


def _refuse_conflicts(suffix: str, given: Mapping[str, Any], *, is_graph: bool) -> None:
    """Refuse options that contradict each other, or that a file of this format cannot obey."""
    ranks, edges, level, raw = (given[name] for name in ("ranks", "edges", "level", "raw"))
    is_crawled, is_stdout = given["graph_of"] == CRAWLED, given["file"] == STDOUT
    unread, has_rows, has_answers = given["unread"], suffix in WRITERS, suffix in WEB_ARCHIVES
    for is_refused, why in (
        (
            has_answers and (ranks or edges or level),
            f"a .{suffix} file holds pages: leave out --ranks, --edges and --level",
        ),
        (edges and contents_of(suffix), f"a .{suffix} file holds pages: leave out --edges"),
        (has_answers and unread, f"a .{suffix} file has what was read: leave out --unread"),
        (level and not edges and has_rows, f"--level needs --edges for a .{suffix} file"),
        (
            ranks and edges and has_rows,
            f"--ranks is for pages: links in a .{suffix} file have no scores",
        ),
        (
            raw and (not edges or not has_rows or level == "host"),
            "--raw needs --edges between pages, and a file of rows such as .csv",
        ),
        (ranks and suffix == GRAPH_FOLDER, "a graph folder has no scores: leave out --ranks"),
        (
            edges and suffix in (*DRAWINGS, GRAPH_FOLDER),
            f"a .{suffix} file has the links anyway: leave out --edges",
        ),
        (
            is_stdout and (given["force"] or given["as_json"]),
            "--force and --json are for a FILE: stdout has only the rows",
        ),
        (
            given["row_group"] is not None and suffix != "parquet",
            "--row-group is for a .parquet file",
        ),
        (given["key"] is not None and suffix != "wacz", "--sign is for a .wacz file"),
        (
            is_crawled and not is_graph,
            "--graph-of needs a graph: --edges, graph/, or a .graphml, .gexf or .dot file",
        ),
        (is_crawled and unread, "--unread and --graph-of crawled cannot be combined"),
        (
            is_crawled and given["fetched"],
            "--fetched and --graph-of crawled say the same: leave out one",
        ),
        (edges and unread, "pages that were not read have no links: leave out --unread"),
        (
            edges and given["by"] != OPIC and not (given["fold"] or given["n"]),
            "--by orders pages: with --edges it needs --n or --fold",
        ),
        (
            given["shard_bytes"] is not None and (is_graph or suffix == "wacz" or is_stdout),
            "--shard is for pages, as rows or as .warc.gz, in a folder",
        ),
        (
            given["purpose"] and is_graph,
            "--for selects pages: leave out --edges, or choose another format",
        ),
    ):
        if is_refused:
            raise click.UsageError(why)


def _listed(names: str | None) -> list[str]:
    return list(dict.fromkeys(filter(None, map(str.strip, (names or "").split(",")))))


def _contents(names: str | None, suffix: str, *, edges: bool) -> list[str]:
    always = () if edges else contents_of(suffix)
    columns = [name for name in _listed(names) if name not in COLUMNS]  # all rows have COLUMNS
    if columns and (edges or suffix not in _EXACT):
        raise click.UsageError("--with needs a .jsonl or .parquet file, without --edges")
    for name in columns:
        refuse_without_text(name, f"--with {name}")
        if name not in content_columns():
            raise click.UsageError(f"--with {name}: use {', '.join(content_columns())}")
    return [*always, *columns]


def _write(
    snapshot: Snapshot, selected: PageSelection, output: _Output, progress: Progress
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


def _progress(file: Path) -> AbstractContextManager[Progress]:
    """Return a progress context, which shows nothing if the rows go to the terminal."""
    is_shared = file == STDOUT and sys.stdout.isatty()
    return unseen("export") if is_shared else progress("export")
