"""Lists of pages and links: `minicrawl pages`, `changes`, `broken`, `redirects`, `orphans`,
`duplicates`; and `minicrawl report`, which has most of them in one HTML file.
"""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from minicrawl.cli.common.stores import (
    Moment,
    count_option,
    json_option,
    percent,
    progress,
    store_option,
    units,
)
from minicrawl.cli.common.tables import short_time, show_json, show_list
from minicrawl.export.cells import COLUMNS, Block
from minicrawl.export.drafts import replacing
from minicrawl.export.formats import write_csv
from minicrawl.model import State
from minicrawl.report import changes as changed
from minicrawl.report import problems
from minicrawl.report.links import with_texts
from minicrawl.report.ranks import LIST_COLUMNS, PageSelection, sorted_rows
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.wording import counted

_SHOWN = 100
_NONE = "none"
_TEXTS = (
    *("url", "text", "target", "source", "original", "end", "through", "stands_for"),
    *("host", "title"),
)
_TIMES = ("first_fetched", "last_fetched", "at")
_USUAL_COLUMNS = "state,status,depth,inlinks,url,stands_for"

Command = Callable[..., Any]
Rows = Sequence[Sequence[object]]
Show = Callable[[Sequence[str], Rows], None]
Finder = Callable[..., Rows]
"""Finds rows in a snapshot for a host or for all, by the values of further options."""


_host_option = click.option("--host", metavar="NAME", help="Only pages of this host.")


_exit_code_option = click.option(
    "--exit-code",
    "has_exit_code",
    is_flag=True,
    help="Exit with 1 if there is anything to show, for jobs that shall fail then.",
)


def _form_options(command: Command) -> Command:
    """Pass `show`, which shows rows with these columns in the form that was asked for."""

    @functools.wraps(command)
    def with_form(as_csv: bool, as_json: bool, **rest: Any) -> Any:
        if as_csv and as_json:
            raise click.UsageError("--csv and --json cannot be combined")
        show = _show_csv if as_csv else _show_json if as_json else _show_table
        return command(show=show, **rest)

    csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    return csv_option(json_option(with_form))


def _as_found(_seen: Snapshot, rows: Rows) -> Rows:
    return rows


def _listing(
    kind: type[NamedTuple],
    finish: Callable[[Snapshot, Any], Rows] = _as_found,
    further: Callable[[Command], Command] = lambda command: command,
) -> Callable[[Finder], click.Command]:
    """A command that shows rows of this kind as a table, CSV or JSON.

    `finish` is given the rows that are shown; `further` adds an option of this command alone.
    """

    def decorate(find: Finder) -> click.Command:
        @click.command(find.__name__, help=find.__doc__)
        @further
        @_host_option
        @count_option(_SHOWN)
        @_exit_code_option
        @_form_options
        @store_option
        def command(
            store: Path, host: str | None, n: int, has_exit_code: bool, show: Show, **rest: Any
        ) -> None:
            with snapshot(store) as seen:
                rows = find(seen, host, **rest)
                shown = finish(seen, rows[: n or None])
            show(kind._fields, shown)
            if show is _show_table and len(rows) > n > 0:
                click.echo(f"{counted(len(rows) - n, 'more row')}: --n 0 shows all")
            if has_exit_code and rows:
                raise click.exceptions.Exit(1)

        return command

    return decorate


def _show_json(columns: Sequence[str], rows: Rows) -> None:
    show_json([dict(zip(columns, row, strict=True)) for row in rows])


def _show_csv(columns: Sequence[str], rows: Rows) -> None:
    block: Block = {name: [row[place] for row in rows] for place, name in enumerate(columns)}
    write_csv([block], sys.stdout.buffer, columns)


def _show_table(columns: Sequence[str], rows: Rows) -> None:
    """Numbers first. A column of texts that are all empty is left out."""
    if not rows:
        click.echo(_NONE)
        return
    places = range(len(columns))
    texts = [i for i in places if columns[i] in _TEXTS and any(row[i] for row in rows)]
    order = [*(i for i in places if columns[i] not in _TEXTS), *texts]
    lines = ([_cell(columns[i], row[i]) for i in order] for row in rows)
    show_list([columns[i] for i in order], lines, texts=len(texts))


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if name in _TIMES and sys.stdout.isatty():
        return short_time(str(value))
    if isinstance(value, float):
        return percent(value) if name == "importance" else units(value)
    return str(value)


class _Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        names = tuple(name.strip() for name in str(value).split(","))
        for name in names:
            if name not in LIST_COLUMNS:
                self.fail(f"{name!r} is not one of {', '.join(LIST_COLUMNS)}", param, ctx)
        return names


@click.command()
@_host_option
@count_option(_SHOWN)
@click.option(
    "--state",
    "states",
    metavar="STATE",
    type=click.Choice([state.label for state in State if state is not State.FOREIGN]),
    multiple=True,
    help="Only pages in this state, such as not-found or moved. Repeatable.",
)
@click.option(
    "--sort",
    metavar="COLUMN",
    default="rank",
    show_default=True,
    help="Order by this column; with - before it, the largest value first.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    type=_Columns(),
    default=_USUAL_COLUMNS,
    show_default=True,
    help=f"Show these columns, of {', '.join(LIST_COLUMNS)}.",
)
@_form_options
@store_option
def pages(
    store: Path,
    host: str | None,
    n: int,
    states: tuple[str, ...],
    sort: str,
    columns: tuple[str, ...],
    show: Show,
) -> None:
    """List pages with the columns that you choose."""
    column = sort.removeprefix("-")
    if column not in COLUMNS:
        raise click.UsageError(f"--sort {sort}: not one of {', '.join(COLUMNS)}")
    wanted = PageSelection(count=n, host=host, states=frozenset(map(State.labelled, states)))
    with snapshot(store) as seen:
        found = sorted_rows(seen, wanted, column, falling=sort.startswith("-"))
    show(columns, [[row[name] for name in columns] for row in found])


@_listing(
    changed.Change,
    further=click.option(
        "--since",
        metavar="TIME",
        type=Moment(),
        help="Since this day or time, such as 2026-11-22 or 2026-11-22T10:00 (UTC), or for so "
        "long, such as 12h or 7d.  [default: since the last crawl began]",
    ),
)
def changes(seen: Snapshot, host: str | None, since: float | None) -> Rows:
    """Show the pages that are new, have changed, or are not there any more.

    The most important ones come first. `what` is new, changed, moved, gone, failed or refused, and
    `at` is when a crawl found that. A page has changed if its text differs from that before;
    `old_words` and `new_words` are how long both are. Of a page that was not kept, any other byte
    counts.
    """
    return changed.changes(seen, since, host)


@_listing(problems.BrokenLink, with_texts)
def broken(seen: Snapshot, host: str | None) -> Rows:
    """Show the links that lead nowhere, those to the most linked target first.

    The target failed, at once or behind the redirects in `through`, or it is at an address that is
    not public. --host chooses the pages that have the links. `text` is what a link says, in a store
    of `crawl --keep links` or --keep pages.
    """
    with progress("links") as tell:
        return problems.broken_links(seen, host, tell)


@_listing(problems.Redirect)
def redirects(seen: Snapshot, host: str | None) -> Rows:
    """Show the redirects and where they end, the most linked first.

    `links` are those to the redirect, and `state` is that of its end. A loop, or a redirect to
    nowhere, has no end. `through` are the other redirects on the way.
    """
    with progress("links") as tell:
        return problems.redirects(seen, host, tell)


@_listing(problems.Orphan)
def orphans(seen: Snapshot, host: str | None) -> Rows:
    """Show the pages that no page links to, the most important first.

    They became known in another way, such as by a sitemap. Seeds are left out.
    """
    with progress("links") as tell:
        return problems.orphans(seen, host, tell)


@_listing(problems.Duplicate)
def duplicates(seen: Snapshot, host: str | None) -> Rows:
    """Show the pages that are copies of another one, the largest group first.

    Such a page names the other one as canonical, has its content (alias), or has a URL that leads
    to the same page, as similar URLs did (twin).
    """
    return problems.duplicates(seen, host)


# ---------------------------------------------------------------- all of it in one file


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def report(file: Path, store: Path) -> None:
    """Write a report on what was crawled as one HTML file.

    The report lists what to mend: broken links, redirects, orphans, duplicates, pages that are
    deep, slow or large, and titles that are missing or not unique. It also shows the most important
    pages, the number of links per page, and a graph of the hosts. It loads nothing from elsewhere,
    so you can send it and print it.
    """
    from minicrawl.export.site_report import write_site_report
    from minicrawl.report.site_report import site_report

    with snapshot(store) as seen, progress("links") as tell:
        found = site_report(seen, time.time(), tell)
    with replacing(file) as written:
        write_site_report(found, written)
    click.echo(f"{file}: {len(found.sections)} sections", err=True)
