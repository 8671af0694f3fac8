"""Options for a search page, to serve or to write."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import click

from minicrawl.cli.options import given_options
from minicrawl.cli.progress_bar import progress
from minicrawl.errors import needs
from minicrawl.search.commands.index_command import prepare_index, tell_of_lack
from minicrawl.search.commands.ranking_options import Command
from minicrawl.store.reader import search_folder
from minicrawl.wording import counted

_PAGE_OPTIONS = (
    click.option(
        "--serve",
        is_flag=True,
        help="Serve a search page in the browser and print its address. Ctrl-C stops it.",
    ),
    click.option(
        "--port",
        metavar="N",
        type=click.IntRange(0, 65535),
        help="Port of the search page; 0 for any.  [default: 8420, or any if in use]",
    ),
    click.option(
        "--host",
        metavar="ADDRESS",
        help="Serve the search page to everybody at this address of the machine, without a token.",
    ),
    click.option(
        "--static",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
        help="Write a search page for a static site: files that any web server can serve.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="Serve the search page to everybody, behind a proxy that publishes it at this URL.",
    ),
)
_SERVE_OPTIONS = ("serve", "port", "host", "base_url")


def page_options(command: Command) -> Command:
    """Pass the arguments of `show_page` to the command."""
    for option in reversed(_PAGE_OPTIONS):
        command = option(command)
    return command


def show_page(
    store: Path,
    words: tuple[str, ...],
    *,
    serve: bool,
    port: int | None,
    host: str | None,
    base_url: str | None,
    static: Path | None,
) -> bool:
    """Serve the page until Ctrl-C, or write it. Return False if neither is asked for."""
    if static is not None:
        refuse_others(("static",), "--static writes the search of all pages")
    elif serve:
        refuse_others(_SERVE_OPTIONS, "--serve shows a page in the browser")
    elif needless := [
        given_options()[option] for option in _SERVE_OPTIONS if option in given_options()
    ]:
        raise click.UsageError(f"{needless[0]} needs --serve")
    else:
        return False
    if words:
        raise click.UsageError("the words are typed in the browser: leave out the WORDS")
    if static is not None:
        _write_static(store, static)
        return True
    with needs("dashboard", "--serve"):
        from minicrawl.search.public.search import serve_publicly
        from minicrawl.search.serving import serve_search
    prepare_index(store)
    with suppress(KeyboardInterrupt):
        if host or base_url:
            serve_publicly(store, (host, port), base_url or "", click.echo)
        else:
            serve_search(store, port, click.echo)
    return True


def refuse_others(allowed: Collection[str], why: str) -> None:
    """Refuse all options except `allowed` and those that name the store."""
    for name, option in given_options().items():
        if name not in (*allowed, "store", "cluster"):
            raise click.UsageError(f"{why}: leave out {option}")


def _write_static(store: Path, folder: Path) -> None:
    from minicrawl.search.static_site import write_static

    prepare_index(store)
    tell_of_lack(store)
    with progress("static search") as report:
        pages, words, size = write_static(search_folder(store), folder, report)
    click.echo(
        f"{folder}: {counted(pages, 'page')}, {counted(words, 'word')}, "
        f"{size / 1e6:.1f} MB; open index.html through a web server",
        err=True,
    )
