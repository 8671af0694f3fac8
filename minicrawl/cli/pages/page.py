"""`minicrawl page`: a page as it was fetched, in any of its versions."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import MAIN, MARKDOWN, refuse_without_text
from minicrawl.cli.output import show_json, show_list
from minicrawl.cli.parameters import field_option, fields_of, number, option, switch, with_options
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import UsageError
from minicrawl.own_files import replacing
from minicrawl.report.snapshot import snapshot
from minicrawl.web.urls import PICTURES
from minicrawl.wording import iso, visible

if TYPE_CHECKING:
    from minicrawl.archive.record import Answer
    from minicrawl.report.archived.page_versions import PageVersion


@click.command()
@click.argument("url")
@with_options
@json_option
@store_with_pages_option
def page(
    url: str,
    store: Path,
    as_json: bool,
    only_text: bool = switch("Show only the text, without markup.", flag="--text"),
    only_main: bool = switch("Show only the main text.", flag="--main"),
    markdown: bool = switch("Show the main text as Markdown."),
    only_headers: bool = switch("Show only the status and the headers.", flag="--headers"),
    field: tuple[str, ...] = field_option("Show what this field of `export` would be."),
    raw: bool = switch("Write the kept bytes unchanged, for a file or a pipe."),
    at: str | None = option("Show the page as it was at this time.", usual="now", metavar="TIME"),
    number: int | None = number(
        "Show the N-th kept response.", flag="--version", usual="the last one"
    ),
    lists: bool = switch("List the kept responses, oldest first.", flag="--versions"),
    screenshot: Path | None = option(
        "Write the picture of the whole page that --screenshots kept to FILE.",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
) -> None:
    """Show the page at URL as it was fetched.

    On a terminal it is shown in the pager. Control characters are shown by name, except with --raw.
    """
    if raw and sys.stdout.isatty():
        raise click.UsageError("--raw is not for terminals: write to a file or a pipe")
    forms = (only_text, only_main, markdown, only_headers, field, raw, screenshot)
    if sum(map(bool, (*forms, as_json or lists))) > 1:
        raise click.UsageError(
            "--text, --main, --markdown, --headers, --field, --raw, --screenshot, --json and "
            "--versions: choose one of them"
        )
    if sum(map(bool, (at, number, lists))) > 1:
        raise click.UsageError("--versions, --at and --version each choose responses: give one")
    if lists:
        _list_versions(url, store, as_json=as_json)
        return
    fields = fields_of(field)
    from minicrawl.report.archived.made_texts import MadeTexts
    from minicrawl.report.archived.page_texts import FIELD
    from minicrawl.report.archived.page_versions import drawn, moment, version

    made = MAIN if only_main else MARKDOWN if markdown else None
    if made:
        refuse_without_text(made, f"--{made}")
    with snapshot(store) as view, MadeTexts(view) as texts:
        shown = version(view, url, number, None if at is None else moment(at))
        text = texts.of(shown, made) if made else None
        values = {name: texts.of(shown, FIELD + fields[name]) for name in fields}
        picture = drawn(view, shown, PICTURES[-1]) if screenshot else None
    if screenshot and picture:
        _write_picture(picture, screenshot)
    elif made:
        if text is None:
            raise UsageError(f"{shown.answer.url} has no {made} text: only its whole text was kept")
        _show(text.splitlines())
    elif fields:
        _show(f"{name}: {value or ''}" for name, value in values.items())
    elif raw:
        sys.stdout.buffer.write(shown.answer.body)
    elif as_json:
        show_json(shown)
    else:
        body = shown.text if only_text else shown.markup
        _show(_headers(shown) if only_headers else body.splitlines())


def _list_versions(url: str, store: Path, *, as_json: bool) -> None:
    from minicrawl.report.archived.page_versions import VersionRow, versions

    with snapshot(store) as view:
        rows = versions(view, url)
    if as_json:
        show_json(rows)
        return
    lines = (
        (
            f"{row.version}",
            row.fetched,
            f"{row.status or '-'}",
            "-" if row.bytes is None else f"{row.bytes:,}",
            f"{row.same_as or '-'}",
        )
        for row in rows
    )
    show_list(VersionRow._fields, lines, texts=0)


def _write_picture(picture: "Answer", place: Path) -> None:
    with replacing(place) as file:
        file.write(picture.body)
    kind, drawn_at = picture.headers.get("content-type", ""), iso(picture.at)
    click.echo(f"wrote {visible(str(place))}: {kind}, drawn at {drawn_at}", err=True)


def _show(lines: Iterable[str]) -> None:
    shown = (f"{visible(line.expandtabs())}\n" for line in lines)
    if sys.stdout.isatty():
        click.echo_via_pager(shown)
    else:
        sys.stdout.writelines(shown)


def _headers(version: "PageVersion") -> Iterator[str]:
    answer = version.answer
    yield f"{answer.status} {answer.url}"
    yield f"fetched {iso(answer.at)}, version {version.number} of {version.of_all}"
    if answer.cut:
        yield f"cut: {answer.cut}"
    yield from (f"{name}: {value}" for name, value in answer.headers.items())
