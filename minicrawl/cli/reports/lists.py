"""Lists of pages and links: `minicrawl pages`, `changes`, `broken`, `redirects`, `orphans`,
`duplicates`; and `minicrawl report`, an HTML file with most of them.
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
from minicrawl.model import State
from minicrawl.own_files import replacing
from minicrawl.report import page_links
from minicrawl.report import page_states as changed
from minicrawl.report.formats import write_csv
from minicrawl.report.page_links import with_texts
from minicrawl.report.selected_pages import COLUMNS, LIST_COLUMNS, Block, PageSelection, sorted_rows
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
"""Function of a snapshot, a host (None for all) and further options that returns rows."""


_host_option = click.option("--host", metavar="NAME", help="Only pages of this host.")


_exit_code_option = click.option(
    "--exit-code",
    "has_exit_code",
    is_flag=True,
    help="Exit 1 if anything is listed (for CI).",
)


def _form_options(command: Command) -> Command:
    """Pass `show`, which prints rows as a table, CSV or JSON."""

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
    """Make a command that shows rows of this kind as a table, CSV or JSON.

    `finish` post-processes the rows shown; `further` adds an option.
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
    """Show a table, numbers first, without empty columns of text."""
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
    help="Sort by this column; a leading - sorts descending.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    type=_Columns(),
    default=_USUAL_COLUMNS,
    show_default=True,
    help=f"Columns to show, from {', '.join(LIST_COLUMNS)}.",
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
    """List pages with selected columns."""
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
        help="Show changes since this time (2026-11-22 or 2026-11-22T10:00, UTC) or age (12h, "
        "7d).  [default: since the last crawl began]",
    ),
)
def changes(seen: Snapshot, host: str | None, since: float | None) -> Rows:
    """List new, changed and removed pages.

    The most important pages come first. `what` is new, changed, moved, gone, failed or refused;
    `at` is when a crawl found it. A kept page has changed if its text differs; `old_words` and
    `new_words` are the lengths of both texts. Any other page has changed if a byte differs.
    """
    return changed.changes(seen, since, host)


@_listing(page_links.BrokenLink, with_texts)
def broken(seen: Snapshot, host: str | None) -> Rows:
    """List broken links, most linked target first.

    The target failed, directly or behind the redirects in `through`, or has a non-public address.
    --host selects the pages with the links. `text` is the text of the link, if the store was made
    with `crawl --keep links` or --keep pages.
    """
    with progress("links") as tell:
        return page_links.broken_links(seen, host, tell)


@_listing(page_links.Redirect)
def redirects(seen: Snapshot, host: str | None) -> Rows:
    """List redirects and their final targets, most linked first.

    `links` is the number of links to the redirect, `state` the state of its target, `through` the
    other redirects on the way. A loop, or a redirect to nowhere, has no target.
    """
    with progress("links") as tell:
        return page_links.redirects(seen, host, tell)


@_listing(page_links.Orphan)
def orphans(seen: Snapshot, host: str | None) -> Rows:
    """List pages that no page links to, most important first.

    They were found in another way, such as in a sitemap. Seeds are left out.
    """
    with progress("links") as tell:
        return page_links.orphans(seen, host, tell)


@_listing(page_links.Duplicate)
def duplicates(seen: Snapshot, host: str | None) -> Rows:
    """List duplicate pages, largest group first.

    A duplicate names another page as canonical (canonical), has the same content (alias), or has a
    URL of a form that led to the same page before (twin).
    """
    return page_links.duplicates(seen, host)


# ---------------------------------------------------------------- all of it in one file


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def report(file: Path, store: Path) -> None:
    """Write an HTML report on a site to FILE.

    The report lists broken links, redirects, orphans, duplicates, deep, slow and large pages, and
    missing or repeated titles. It also shows the most important pages, the number of links per
    page, and a graph of the hosts. The file is self-contained.
    """
    from minicrawl.report.site_report import site_report, write_site_report

    with snapshot(store) as seen, progress("links") as tell:
        found = site_report(seen, time.time(), tell)
    with replacing(file) as written:
        write_site_report(found, written)
    click.echo(f"{file}: {len(found.sections)} sections", err=True)
