"""Options for a search page, to serve or to write."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.cli.options import given_options
from minicrawl.cli.parameters import number, option, switch
from minicrawl.cli.progress_bar import progress
from minicrawl.errors import needs
from minicrawl.search.commands.index_command import prepare_index, tell_of_lack
from minicrawl.store.reader import search_folder
from minicrawl.wording import counted

_SERVE_OPTIONS = ("serve", "port", "host", "base_url")
_LOOK_OPTIONS = ("title", "logo", "text", "colors")


class PageOptions(NamedTuple):
    """The page to serve or to write, if any, and how it looks."""

    serve: bool
    port: int | None
    host: str | None
    static: Path | None
    base_url: str | None
    look: Mapping[str, str | Sequence[str]]


def page_options(
    serve: bool = switch(
        "Serve a search page in the browser and print its address. Ctrl-C stops it."
    ),
    port: int | None = number(
        "Port of the search page; 0 for any.", least=0, most=65535, usual="8420, or any if in use"
    ),
    host: str | None = option(
        "Serve the search page to everybody at this address of the machine, without a token.",
        metavar="ADDRESS",
    ),
    static: Path | None = option(
        "Write a search page for a static site: files that any web server can serve.",
        metavar="DIR",
        type=click.Path(path_type=Path, file_okay=False),
    ),
    base_url: str | None = option(
        "Serve the search page to everybody, behind a proxy that publishes it at this URL.",
        metavar="URL",
    ),
    title: str | None = option("Title of the page for everybody.", metavar="TEXT"),
    logo: str | None = option("Text above the search box.  [default: the title]", metavar="TEXT"),
    text: str | None = option("Text of the page before a search.", metavar="TEXT"),
    colors: tuple[str, ...] = option(
        "Colour of the page, such as link=#8a1c1c, or dark-link=#ff9e9e on a dark screen. "
        "Repeatable.",
        flag="--color",
        metavar="NAME=COLOR",
        multiple=True,
    ),
) -> PageOptions:
    look = {"title": title or "", "logo": logo or "", "text": text or "", "colors": colors}
    return PageOptions(serve, port, host, static, base_url, look)


def show_page(store: Path, words: tuple[str, ...], page: PageOptions) -> bool:
    """Serve the page until Ctrl-C, or write it. Return False if neither is asked for."""
    given = given_options()
    is_public = page.host or page.base_url or page.static is not None
    if page.static is not None:
        _refuse_others(("static", *_LOOK_OPTIONS), "--static writes the search of all pages")
    elif page.serve:
        _refuse_others((*_SERVE_OPTIONS, *_LOOK_OPTIONS), "--serve shows a page in the browser")
    elif needless := [given[name] for name in _SERVE_OPTIONS if name in given]:
        raise click.UsageError(f"{needless[0]} needs --serve")
    if not is_public and (needless := [given[name] for name in _LOOK_OPTIONS if name in given]):
        raise click.UsageError(f"{needless[0]} needs --host, --base-url or --static")
    if page.static is None and not page.serve:
        return False
    if words:
        raise click.UsageError("the words are typed in the browser: leave out the WORDS")
    if page.static is not None:
        from minicrawl.search.static_site import write_static

        prepare_index(store)
        lack, index = tell_of_lack(store), search_folder(store)
        with progress("static search") as report:
            page_count, word_count, size = write_static(index, page.static, page.look, lack, report)
        click.echo(
            f"{page.static}: {counted(page_count, 'page')}, {counted(word_count, 'word')}, "
            f"{size / 1e6:.1f} MB; open index.html through a web server",
            err=True,
        )
        return True
    with needs("dashboard", "--serve"):
        from minicrawl.search.public.search import serve_publicly
        from minicrawl.search.serving import serve_search
    prepare_index(store)
    with suppress(KeyboardInterrupt):
        if page.host or page.base_url:
            place = page.host, page.port
            serve_publicly(store, place, page.base_url or "", page.look, click.echo)
        else:
            serve_search(store, page.port, click.echo)
    return True


def _refuse_others(allowed: Collection[str], why: str) -> None:
    """Refuse all options except `allowed` and those that name the store."""
    for name, flag in given_options().items():
        if name not in (*allowed, "store", "cluster"):
            raise click.UsageError(f"{why}: leave out {flag}")
