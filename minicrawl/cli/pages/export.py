"""`minicrawl export`: pages, or the links between them, as a file for other programs."""

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.archive.warc.wacz import WaczKey
from minicrawl.cli import store_options
from minicrawl.cli.options import ListOption, graph_of_option, refuse, refuse_without_text
from minicrawl.cli.output import show_json, warn_of_exposure
from minicrawl.cli.pages.export_output import (
    GRAPHS,
    RAW,
    STDOUT,
    Export,
    RowCount,
    listed,
    progress_of,
)
from minicrawl.cli.parameters import field_option, fields_of, option, switch, with_options
from minicrawl.config.values.quantities import size
from minicrawl.errors import UsageError
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.report.files.content_columns import SHORT_CONTENTS, content_columns
from minicrawl.report.files.data_set import read_until
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.graph_folder import refuse_folder
from minicrawl.report.files.rows import (
    FORMATS,
    GRAPH_FOLDER,
    WEB_ARCHIVES,
    WRITERS,
    contents_of,
    format_of,
    lines_of,
)
from minicrawl.report.saved_ranks import convergence_of, convergence_text
from minicrawl.report.selected_pages import COLUMNS, PageSelection, score_column
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.report.states.changes import new_and_changed
from minicrawl.store import tables
from minicrawl.store.derived.ranks import OPIC
from minicrawl.web.robots.usage import PURPOSES
from minicrawl.wording import counted, visible

_EXACT, _TABLES = ("jsonl", "parquet"), ("csv", "tsv")  # tables escape text, and have no lists
LAST_RUN = -1.0
"""Time that stands for the start of the last run."""


def _since(text: str) -> float:
    """Return a time, the start of the last run, or the time of an earlier data set."""
    if text == "last":
        return LAST_RUN
    if Path(text).exists():
        # What was read at that very moment is in the data set.
        return math.nextafter(read_until(Path(text)), math.inf)
    return store_options.moment_or_age(text)


def byte_count(text: str) -> int:
    count = size(text)
    if count is None or count < 1:
        raise click.BadParameter(f"{text} is not a size: use a number of bytes such as 64MiB")
    return count


class FormatName(click.Choice[str]):
    """A format that is built in, or that a package adds."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name, if there is such a format."""
        is_added = isinstance(value, str) and value in WRITERS
        return str(value) if is_added else super().convert(value, param, ctx)


def _needs_pages(given: Mapping[str, Any]) -> bool:
    named = _format_name(given["file"], given["name"], given["shard_bytes"])
    suffix = format_of(given["file"], named)
    has_contents = suffix in WEB_ARCHIVES or bool(contents_of(suffix))
    return has_contents or any(bool(given[name]) for name in ("contents", "field", "raw"))


def _format_name(file: Path, name: str | None, shard_bytes: int | None) -> str | None:
    """Return the format that was named; that of stdout is csv, that of a data set parquet."""
    usual = "parquet" if shard_bytes else "csv" if file == STDOUT else None
    return name or usual


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@store_options.selection_options(count=0)
@with_options
@graph_of_option(KNOWN)
@click.option("--force", is_flag=True, help="Replace FILE if it exists, without asking.")
@store_options.json_option
@store_options.store_option_for(store_options.READ, of_cluster=True, needs_pages=_needs_pages)
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
        f".jsonl and .parquet; {', '.join(SHORT_CONTENTS)} also for .csv and .tsv.",
        flag="--with",
        cls=ListOption,
        metavar="NAME,...",
    ),
    field: tuple[str, ...] = field_option("Add a column of text from the kept pages."),
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
        type=_since,
    ),
    row_group: int | None = option(
        "Limit a row group of a .parquet file to SIZE before compression. Writing takes about "
        "eight times SIZE of memory.",
        usual="32MiB",
        metavar="SIZE",
        type=byte_count,
    ),
    shard_bytes: int | None = option(
        "Write a folder of files of about SIZE each, with a manifest and a data card. WARC files "
        "also get Common Crawl's columnar index.  [default format: parquet]",
        flag="--shard",
        metavar="SIZE",
        type=byte_count,
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
    has_rows = suffix in WRITERS and lines_of(suffix) is None and not contents_of(suffix)
    if field and (is_graph or not has_rows):
        raise click.UsageError("--field needs a file of rows such as .csv, without --edges")
    taken = (*COLUMNS, *content_columns(), *map(score_column, listed(ranks)))
    fields, signing = fields_of(field, taken), None if key is None else WaczKey.opened(key)
    with snapshot(store) as view, progress_of(file) as progress:
        if since is not None:
            since = tables.last_run(view.connection) if since == LAST_RUN else since
            selected = replace(selected, among=new_and_changed(view, since))
        rows = Export(
            snapshot=view,
            selected=selected,
            progress=progress,
            file=file,
            suffix=suffix,
            ranks=listed(ranks),
            contents=columns,
            fields=fields,
            graph=graph,
            row_group=row_group,
            purpose=purpose,
            shard_bytes=shard_bytes,
            since=since,
            force=force,
            key=signing,
        ).write()
        if file != STDOUT:
            _tell_of(file, view, rows, as_json=as_json)
    click.get_current_context().exit(1 if rows.left_out else 0)


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
    if as_json:
        importance = convergence_text(convergence_of(snapshot))
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
    store_options.tell_of_importance(snapshot, err=True)


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
    is_sharded = given["shard_bytes"] is not None
    unread, has_rows, has_answers = given["unread"], suffix in WRITERS, suffix in WEB_ARCHIVES
    conflicts = {
        f"a .{suffix} file holds pages: leave out --ranks, --edges and --level": has_answers
        and (ranks or edges or level),
        f"a .{suffix} file holds pages: leave out --edges": edges and contents_of(suffix),
        f"a .{suffix} file has what was read: leave out --unread": has_answers and unread,
        f"--level needs --edges for a .{suffix} file": level and not edges and has_rows,
        f"--ranks is for pages: links in a .{suffix} file have no scores": ranks
        and edges
        and has_rows,
        "--raw needs --edges between pages, and a file of rows such as .csv": raw
        and (not edges or not has_rows or level == "host"),
        "a graph folder has no scores: leave out --ranks": ranks and suffix == GRAPH_FOLDER,
        f"a .{suffix} file has the links anyway: leave out --edges": edges
        and suffix in (*DRAWINGS, GRAPH_FOLDER),
        "--force and --json are for a FILE: stdout has only the rows": is_stdout
        and (given["force"] or given["as_json"]),
        "--row-group is for a .parquet file": given["row_group"] is not None
        and suffix != "parquet",
        "--sign is for a .wacz file": given["key"] is not None and suffix != "wacz",
        "--graph-of needs a graph: --edges, graph/, or a .graphml, .gexf or .dot file": is_crawled
        and not is_graph,
        "--unread and --graph-of crawled cannot be combined": is_crawled and unread,
        "--fetched and --graph-of crawled say the same: leave out one": is_crawled
        and given["fetched"],
        "pages that were not read have no links: leave out --unread": edges and unread,
        "--by orders pages: with --edges it needs --n or --fold": edges
        and given["by"] != OPIC
        and not (given["fold"] or given["n"]),
        "--shard is for pages, as rows or as .warc.gz, in a folder": is_sharded
        and (is_graph or suffix == "wacz" or is_stdout),
        "--for selects pages: leave out --edges, or choose another format": given["purpose"]
        and is_graph,
    }
    refuse(conflicts)


def _contents(names: str | None, suffix: str, *, edges: bool) -> list[str]:
    always = () if edges else contents_of(suffix)
    columns = [name for name in listed(names) if name not in COLUMNS]  # all rows have COLUMNS
    may_be_long = suffix in _EXACT
    if columns and (edges or not (may_be_long or suffix in _TABLES)):
        raise click.UsageError("--with needs a file of rows such as .jsonl, without --edges")
    for name in columns:
        refuse_without_text(name, f"--with {name}")
        if name not in content_columns():
            raise click.UsageError(f"--with {name}: use {', '.join(content_columns())}")
        if name not in SHORT_CONTENTS and not may_be_long:
            raise click.UsageError(f"--with {name} needs a .jsonl or .parquet file")
    return [*always, *columns]
