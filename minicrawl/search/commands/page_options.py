"""Options for a search page, to serve or to write."""

from __future__ import annotations

import functools
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChoice:
    """Search page to serve or to write, if any."""

    serve: bool
    port: int | None
    host: str | None
    base_url: str | None
    static: Path | None

    @property
    def is_chosen(self) -> bool:
        """True for --serve or --static. Raises UsageError for options that do not go together."""
        if self.static is not None:
            refuse_others(("static",), "--static writes the search of all pages")
        elif self.serve:
            refuse_others(_SERVE_OPTIONS, "--serve shows a page in the browser")
        elif needless := [given_options()[one] for one in _SERVE_OPTIONS if one in given_options()]:
            raise click.UsageError(f"{needless[0]} needs --serve")
        return self.serve or self.static is not None

    def run(self, store: Path, words: tuple[str, ...]) -> None:
        """Serve the page until Ctrl-C, or write it."""
        if words:
            raise click.UsageError("the words are typed in the browser: leave out the WORDS")
        if self.static is not None:
            _write_static(store, self.static)
        else:
            with needs("dashboard", "--serve"):
                from minicrawl.search.public.search import serve_publicly
                from minicrawl.search.serving import serve_search
            prepare_index(store)
            with suppress(KeyboardInterrupt):
                if self.host or self.base_url:
                    serve_publicly(store, (self.host, self.port), self.base_url or "", click.echo)
                else:
                    serve_search(store, self.port, click.echo)


def page_options(command: Command) -> Command:
    """Pass `page`, the search page that is asked for, to the command."""

    @functools.wraps(command)
    def with_page(
        *,
        serve: bool,
        port: int | None,
        host: str | None,
        base_url: str | None,
        static: Path | None,
        **rest: Any,
    ) -> Any:
        page = PageChoice(serve=serve, port=port, host=host, base_url=base_url, static=static)
        return command(page=page, **rest)

    decorated: Command = with_page
    for option in reversed(_PAGE_OPTIONS):
        decorated = option(decorated)
    return decorated


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
