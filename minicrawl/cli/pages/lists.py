"""Lists of pages and links: `minicrawl pages`, `changes`, `broken`, `redirects`, `duplicates`."""

import functools
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click

from minicrawl.cli import output
from minicrawl.cli.options import Command, ListOption
from minicrawl.cli.pages.explain import MOST_SHOWN
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import count_option, json_option, moment_or_age, store_option
from minicrawl.report.files.content_columns import CONTENTS, SHORT_CONTENTS
from minicrawl.report.selected_pages import (
    COLUMNS,
    LIST_COLUMNS,
    TIME_COLUMNS,
    Block,
    PageSelection,
    sorted_rows,
)
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from minicrawl.wording import counted, visible

_TEXTS = (
    *("url", "text", "target", "source", "original", "end", "through", "stands_for"),
    *("host", "title"),
    *(name for name in SHORT_CONTENTS if CONTENTS[name].type == "VARCHAR"),
)
_TIMES = (*TIME_COLUMNS, "at")
_COLUMNS = (*LIST_COLUMNS, *SHORT_CONTENTS)
_USUAL_COLUMNS = "state,status,depth,inlinks,url,stands_for"

Rows = Sequence[Sequence[object]]
Form = Literal["table", "csv", "json"]

_host_option = click.option("--host", metavar="NAME", help="Only pages of this host.")


def _form_options(command: Command) -> Command:
    @functools.wraps(command)
    def with_form(as_csv: bool, as_json: bool, **options: Any) -> Any:
        if as_csv and as_json:
            raise click.UsageError("--csv and --json cannot be combined")
        form = "csv" if as_csv else "json" if as_json else "table"
        return command(form=form, **options)

    csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    return csv_option(json_option(with_form))


def _list_options(command: Command) -> Command:
    """Pass `host`, `n`, `has_exit_code`, `form` and `store` to a command that lists rows."""
    exit_code = click.option(
        "--exit-code",
        "has_exit_code",
        is_flag=True,
        help="Exit 1 if anything is listed (for CI).",
    )
    command = exit_code(_form_options(store_option(command)))
    return _host_option(count_option(MOST_SHOWN)(command))


def _conclude(form: Form, rows: int, n: int, *, fails: object) -> None:
    """Say how many rows are below the `n` that a table shows, and exit."""
    if form == "table" and rows > n > 0:
        click.echo(f"{counted(rows - n, 'more row')}: --n 0 shows all")
    click.get_current_context().exit(1 if fails else 0)


def _show_rows(form: Form, columns: Sequence[str], rows: Rows) -> None:
    """Show rows; as a table numbers first, without empty columns of text."""
    if form == "json":
        output.show_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif form == "csv":
        from minicrawl.report.files.rows import write_csv

        block: Block = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
        write_csv([block], sys.stdout.buffer, columns)
    elif rows:
        places = range(len(columns))
        texts = [i for i in places if columns[i] in _TEXTS and any(row[i] for row in rows)]
        order = [*(i for i in places if columns[i] not in _TEXTS), *texts]
        lines = ([_cell(columns[i], row[i]) for i in order] for row in rows)
        output.show_list([columns[i] for i in order], lines, texts=len(texts))
    else:
        click.echo(output.NONE)


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if name in _TIMES and sys.stdout.isatty():
        return output.short_time(str(value))
    if isinstance(value, float):
        return output.percent(value) if name == "importance" else output.units(value)
    return str(value)


def _columns(listed: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in listed.split(",")))
    for name in names:
        if name not in _COLUMNS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_COLUMNS)}")
    return names


@click.command()
@_host_option
@count_option(MOST_SHOWN)
@with_options
@_form_options
@store_option
def pages(
    store: Path,
    host: str | None,
    n: int,
    form: Form,
    states: tuple[str, ...] = option(
        "Only pages in this state, such as not-found or moved. Repeatable.",
        flag="--state",
        metavar="STATE",
        type=click.Choice([state.label for state in State if state is not State.FOREIGN]),
        multiple=True,
    ),
    sort: str = option(
        "Sort by this column; a leading - sorts descending.", "rank", metavar="COLUMN"
    ),
    columns: tuple[str, ...] = option(
        f"Columns to show, from {', '.join(LIST_COLUMNS)}; of kept pages also from "
        f"{', '.join(SHORT_CONTENTS)}.",
        _USUAL_COLUMNS,
        cls=ListOption,
        metavar="NAME,...",
        type=_columns,
    ),
) -> None:
    """List pages with selected columns."""
    column = sort.removeprefix("-")
    if column not in COLUMNS:
        raise click.UsageError(f"--sort {sort}: not one of {', '.join(COLUMNS)}")
    selection = PageSelection(count=n, host=host, states=frozenset(map(State.labelled, states)))
    with snapshot(store) as view:
        rows = sorted_rows(view, selection, column, falling=sort.startswith("-"))
        if contents := [name for name in columns if name in SHORT_CONTENTS]:
            from minicrawl.report.archived.page_contents import with_contents

            urls: Block = {"url": [row["url"] for row in rows]}
            parts = with_contents(view, [urls], contents, partial(click.echo, err=True))
            cells = chain.from_iterable(
                zip(*(part[name] for name in contents), strict=True) for part in parts
            )
            for row, values in zip(rows, cells, strict=True):
                row.update(zip(contents, values, strict=True))
    _show_rows(form, columns, [[row[name] for name in columns] for row in rows])


@click.command()
@with_options
@_list_options
def changes(
    store: Path,
    host: str | None,
    n: int,
    form: Form,
    has_exit_code: bool,
    since: float | None = option(
        "Show changes since this time (2026-11-22 or 2026-11-22T10:00, UTC) or age (12h, 7d).",
        usual="since the last crawl began",
        metavar="TIME",
        type=moment_or_age,
    ),
    diff: bool = switch("Show the words that went and came, as git diff --word-diff."),
    as_html: bool = switch("Print the changes as a page of HTML.", flag="--html"),
) -> None:
    """List new, changed and removed pages.

    The most important pages come first. `what` is new, changed, fixed (a dead target that is there
    again), moved, gone, failed or refused; `at` is when a crawl noticed. A kept page has changed if
    its main text differs, or its whole text where it has no main text; `old_words` and `new_words`
    are the lengths of both texts. Any other page has changed if a byte differs.
    """
    from minicrawl.report.states import changes as states, text_diffs

    if as_html and (form != "table" or not diff):
        raise click.UsageError("--html needs --diff, and neither --csv nor --json")
    with snapshot(store) as view:
        rows = states.changes(view, since, host)
        shown = rows[: n or None]
        parts = states.text_diffs(view, shown, since) if diff else []
    texts = [text_diffs.as_plain(of_row) for of_row in parts]
    columns = states.Change._fields
    if as_html:
        click.echo(text_diffs.page(store.name, zip(shown, parts, strict=True)), nl=False)
    elif form != "table" and diff:
        with_diffs = [(*row, text) for row, text in zip(shown, texts, strict=True)]
        _show_rows(form, (*columns, "diff"), with_diffs)
    else:
        _show_rows(form, columns, shown)
    for row, text in zip(shown, texts, strict=False) if form == "table" and not as_html else ():
        if text:
            click.echo()
            click.echo(visible(row.url))
            output.show_paragraph(visible(text), "  ")
    _conclude("json" if as_html else form, len(rows), n, fails=has_exit_code and rows)


@click.command()
@with_options
@_list_options
def broken(
    store: Path,
    host: str | None,
    n: int,
    form: Form,
    has_exit_code: bool,
    verdicts: tuple[str, ...] = option(
        "Only targets with this verdict; --exit-code counts them all. Repeatable.",
        flag="--verdict",
        usual="dead and blocked, of which --exit-code counts dead",
        type=click.Choice(("dead", "blocked", "forbidden", "unchecked")),
        multiple=True,
    ),
    each: bool = switch("List the links of each page."),
) -> None:
    """List the targets of broken links, most linked first.

    `links` is the number of pages that link to the target, and `source` the most important one.

    The verdict on a link is dead if its target failed, directly or behind the redirects in
    `through`, or has a non-public address. It is blocked if the server blocks robots: people may
    see a page. It is forbidden if robots.txt forbids the target, and unchecked for the reason in
    `state`. The last line counts all linked pages and files.

    --host selects the pages that contain the links. `text` and `kind` describe the link, in a store
    of `crawl --keep links` or --keep pages.
    """
    from minicrawl.report.links import problems
    from minicrawl.report.links.verdicts import SHOWN
    from minicrawl.report.links.written_links import with_link_texts
    from minicrawl.states import LinkVerdict

    chosen = [LinkVerdict[name.upper()] for name in verdicts] or SHOWN
    with snapshot(store) as view:
        with progress("links") as advance:
            links = problems.broken_links(view, host, advance, chosen)
        rows = links if each else problems.by_target(links)
        shown = with_link_texts(view, rows[: n or None])
        linked = problems.linked_verdicts(view) if form == "table" else {}
    _show_rows(form, problems.BrokenLink._fields, shown)
    if linked:
        counts = (f"{count:,} {name}" for name, count in linked.items())
        click.echo(f"linked pages and files: {', '.join(counts)}")
    fails = has_exit_code and any(row.verdict in {"dead", *verdicts} for row in rows)
    _conclude(form, len(rows), n, fails=fails)


@click.command()
@_list_options
def redirects(store: Path, host: str | None, n: int, form: Form, *, has_exit_code: bool) -> None:
    """List redirects and their final targets, most linked first.

    `links` is the number of links to the redirect, `state` the state of its target, `through` the
    other redirects on the way. A loop, or a redirect to nowhere, has no target.
    """
    from minicrawl.report.links import problems

    with snapshot(store) as view, progress("links") as advance:
        rows = problems.redirects(view, host, advance)
    _show_rows(form, problems.Redirect._fields, rows[: n or None])
    _conclude(form, len(rows), n, fails=has_exit_code and rows)


@click.command()
@_list_options
def duplicates(store: Path, host: str | None, n: int, form: Form, *, has_exit_code: bool) -> None:
    """List duplicate pages, largest group first.

    A duplicate names another page as canonical (canonical), has the same content (alias), or has a
    URL of a form that led to the same page before (twin).
    """
    from minicrawl.report.links import problems

    with snapshot(store) as view:
        rows = problems.duplicates(view, host)
    _show_rows(form, problems.Duplicate._fields, rows[: n or None])
    _conclude(form, len(rows), n, fails=has_exit_code and rows)
