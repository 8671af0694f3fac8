"""`minicrawl page`: a page as it was fetched."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_json
from minicrawl.export.cells import visible
from minicrawl.report import pages
from minicrawl.report.pages import PageVersion
from minicrawl.report.snapshot import snapshot
from minicrawl.wording import iso


@click.command()
@click.argument("url")
@click.option("--text", "only_text", is_flag=True, help="Show only the text, without markup.")
@click.option(
    "--headers", "only_headers", is_flag=True, help="Show only the status and the headers."
)
@click.option("--raw", is_flag=True, help="Write the bytes as they are kept, for a file or a pipe.")
@click.option("--at", metavar="TIME", help="Show the page as it was at this time.  [default: now]")
@click.option(
    "--version",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show the N-th answer that is kept.  [default: the last one]",
)
@json_option
@store_option
def page(
    url: str,
    store: Path,
    only_text: bool,
    only_headers: bool,
    raw: bool,
    at: str | None,
    number: int | None,
    as_json: bool,
) -> None:
    """Show the page at URL as it was fetched.

    On a terminal it is shown in the pager. Control characters are shown by name, except with --raw.
    """
    if raw and sys.stdout.isatty():
        raise click.UsageError("--raw is not for terminals: write to a file or a pipe")
    with snapshot(store) as seen:
        found = pages.version(seen, url, number, None if at is None else pages.moment(at))
    if raw:
        sys.stdout.buffer.write(found.answer.body)
    elif as_json:
        show_json(found.as_json())
    else:
        _show(_headers(found) if only_headers else _body(found, only_text=only_text))


def _show(lines: Iterator[str]) -> None:
    shown = (f"{visible(line.expandtabs())}\n" for line in lines)
    if sys.stdout.isatty():
        click.echo_via_pager(shown)
    else:
        sys.stdout.writelines(shown)


def _body(found: PageVersion, *, only_text: bool) -> Iterator[str]:
    yield from (found.text if only_text else found.markup).splitlines()


def _headers(found: PageVersion) -> Iterator[str]:
    answer = found.answer
    yield f"{answer.status} {answer.url}"
    yield f"fetched {iso(answer.at)}, version {found.number} of {found.of_all}"
    if answer.cut:
        yield f"cut: {answer.cut}"
    yield from (f"{name}: {value}" for name, value in answer.headers.items())
