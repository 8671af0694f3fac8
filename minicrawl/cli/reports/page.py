"""`minicrawl page`: a page as it was fetched."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, store_with_pages_option
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.export.cells import visible
from minicrawl.report.archived import pages
from minicrawl.report.archived.pages import PageVersion
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
@click.option(
    "--versions", "lists", is_flag=True, help="List the answers that are kept, the oldest first."
)
@json_option
@store_with_pages_option
def page(
    url: str,
    store: Path,
    only_text: bool,
    only_headers: bool,
    raw: bool,
    at: str | None,
    number: int | None,
    lists: bool,
    as_json: bool,
) -> None:
    """Show the page at URL as it was fetched.

    On a terminal it is shown in the pager. Control characters are shown by name, except with --raw.
    """
    if raw and sys.stdout.isatty():
        raise click.UsageError("--raw is not for terminals: write to a file or a pipe")
    if lists:
        if any((only_text, only_headers, raw, at, number)):
            raise click.UsageError("--versions is a list of all: leave out the other options")
        _list_versions(url, store, as_json=as_json)
        return
    if sum((only_text, only_headers, raw, as_json)) > 1:
        raise click.UsageError("--text, --headers, --raw and --json: choose one of them")
    with snapshot(store) as seen:
        found = pages.version(seen, url, number, None if at is None else pages.moment(at))
    if raw:
        sys.stdout.buffer.write(found.answer.body)
    elif as_json:
        show_json(found.as_json())
    else:
        _show(_headers(found) if only_headers else _body(found, only_text=only_text))


def _list_versions(url: str, store: Path, *, as_json: bool) -> None:
    with snapshot(store) as seen:
        found = pages.versions(seen, url)
    if as_json:
        show_json([row._asdict() for row in found])
        return
    show_list(pages.VersionRow._fields, map(_version_line, found), texts=0)


def _version_line(row: pages.VersionRow) -> tuple[str, ...]:
    size = "-" if row.bytes is None else f"{row.bytes:,}"
    same = f"{row.same_as}" if row.same_as else "-"
    return f"{row.version}", row.fetched, f"{row.status or '-'}", size, same


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
