"""`minicrawl search` and `minicrawl index`: find pages by what they say."""

import shutil
import sys
from contextlib import suppress
from pathlib import Path

import click

from minicrawl.cli.common.options import Number
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, percent, store_option
from minicrawl.cli.common.tables import show_json, show_paragraph
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.report.kept import scores
from minicrawl.report.search.index_folder import has_index, why_useless
from minicrawl.report.search.indexing import bring_up_to_date
from minicrawl.report.search.searching import (
    Finder,
    Result,
    SearchRequest,
    is_importance_old,
    keep_importance,
)
from minicrawl.report.snapshot import snapshot
from minicrawl.search.query import MOST_WORDS, parse
from minicrawl.search.snippets import Snippet
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.wording import counted

_INDENT = " " * 5
_BEGIN, _END = "\x02", "\x03"
"""No text of a page has these: `visible` writes them out."""


@click.command()
@click.option("--fresh", is_flag=True, help="Make the index anew.")
@store_option
def index(store: Path, fresh: bool) -> None:
    """Bring the search index up to date.

    The index is a folder beside the store, and may be deleted at any time. If the command is
    interrupted, the next one goes on where it ended.
    """
    bring_index_up_to_date(store, fresh=fresh)


_MISSING = "--serve needs starlette and uvicorn: install minicrawl[dashboard]"


class Linear(click.ParamType[float]):
    """`linear=W`: the part of the likeness."""

    name = "score"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        name, _, part = value.partition("=")
        if name != "linear":
            self.fail(f"{value!r} is not a score such as linear=0.7", param, ctx)
        return Number(0, 1).convert(part, param, ctx)


class _SearchCommand(click.Command):
    """Words may begin with a minus, so `-n` is an option only before a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-n 3` is `--n 3`, as everywhere else."""
        pairs = zip(args, [*args[1:], ""], strict=True)
        named = ["--n" if one == "-n" and other.isdecimal() else one for one, other in pairs]
        return super().parse_args(ctx, named)


@click.command(
    cls=_SearchCommand,
    context_settings={"help_option_names": ["--help"], "ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--n",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Show N pages.",
)
@click.option(
    "--offset",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Leave out the first N pages.",
)
@click.option("--by", metavar="NAME", help="Order the pages that have all words by this rank.")
@click.option(
    "--score",
    "linear",
    metavar="linear=W",
    type=Linear(),
    help="Order by W parts of the likeness and 1 - W parts of the rank.",
)
@click.option("--all", "shows_all", is_flag=True, help="Show all of pages that are alike.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@click.option(
    "--serve",
    is_flag=True,
    help="Serve a page with a search box, and print its address. Ctrl-C ends it.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="The port of that page; 0 for any.  [default: 8420, or any if that is in use]",
)
@json_option
@store_option
def search(
    words: tuple[str, ...],
    store: Path,
    n: int,
    offset: int,
    by: str | None,
    linear: float | None,
    shows_all: bool,
    explain: bool,
    serve: bool,
    port: int | None,
    as_json: bool,
) -> None:
    """Find the pages that have these WORDS.

    Pages with all words come first. WORDS may also be "an exact phrase", -without, site:NAME,
    title:WORD, url:WORD, lang:CODE and after:DATE. Put the whole query in quotes, so that the shell
    does not change it.
    """
    if serve:
        _serve(store, words, port)
        return
    if not words:
        raise click.UsageError("say which WORDS to find, or --serve")
    query = parse(" ".join(words))
    if query.ignored:
        click.echo(f"only the first {MOST_WORDS} words count", err=True)
    finder = _finder(store, by)
    asked = SearchRequest(count=n, offset=offset, folds=not shows_all, linear=linear)
    ranked = list(enumerate(finder.find(query, asked), offset + 1))
    if as_json:
        show_json([one.as_json(rank) for rank, one in ranked])
    else:
        _show_all(ranked, explain=explain)


def _serve(store: Path, words: tuple[str, ...], port: int | None) -> None:
    if words:
        raise click.UsageError("--serve asks for the words in the browser: leave them out")
    try:
        from minicrawl.dashboard.searching import serve_search
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError(_MISSING) from None
    _finder(store, None)
    with suppress(KeyboardInterrupt):
        serve_search(store, search_folder(store), port, click.echo)


def _finder(store: Path, by: str | None) -> Finder:
    folder = search_folder(store)
    with reading(store) as connection:
        is_there = has_index(folder) and not why_useless(folder, connection)
    if not is_there:
        bring_index_up_to_date(store)
    elif is_importance_old(folder, store):
        with snapshot(store) as seen:
            keep_importance(folder, seen)
    if not archive_folder(store).is_dir():
        click.echo(f"{archive_folder(store)} is gone: only the index is left", err=True)
    if by is None:
        return Finder(folder)
    with snapshot(store) as seen:
        return Finder(folder, scores(seen, by))


def bring_index_up_to_date(store: Path, *, fresh: bool = False) -> None:
    """Bring the index up to date, with the importance of the pages, and say what was done."""
    with progress("index") as tell:
        done = bring_up_to_date(store, tell, lambda text: click.echo(text, err=True), fresh=fresh)
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
    click.echo(
        f"index: {counted(done.of_all, 'page')}, {done.pages:,} read anew, "
        f"{done.by_links:,} by links to them",
        err=True,
    )


# ---------------------------------------------------------------- results


def _show_all(ranked: list[tuple[int, Result]], *, explain: bool) -> None:
    for rank, one in ranked:
        _show(rank, one, explain=explain)
    if not ranked:
        click.echo("no page has these words", err=True)


def _show(rank: int, found: Result, *, explain: bool) -> None:
    entry = found.entry
    title = visible(entry.title or entry.url)
    show_paragraph(title, f"{rank:>3}. ", lambda line: line[:5] + click.style(line[5:], bold=True))
    _show_url(visible(entry.url), percent(found.importance))
    show_paragraph(_marked(found.snippet), _INDENT, _dressed)
    if found.folded:
        click.echo(f"     and {counted(found.folded, 'page')} like it (--all)")
    if explain:
        parts = (f"{name} {value:.3g}" for name, value in found.score._asdict().items())
        show_paragraph(", ".join(parts), _INDENT)
    click.echo()


def _show_url(url: str, importance: str) -> None:
    """Whole and behind no indent where it is long, so that it can be copied from a terminal."""
    width = shutil.get_terminal_size().columns - len(_INDENT) - len(importance) - 2
    if sys.stdout.isatty() and len(url) > width:
        show_paragraph(importance, _INDENT)
        click.secho(url, fg="cyan")
    else:
        click.echo(f"{_INDENT}{click.style(url, fg='cyan')}  {importance}")


def _marked(found: Snippet) -> str:
    """The snippet with signs before and behind the words that were looked for."""
    text, marks, at, shown = found.text, found.marks, 0, []
    for begin, end in marks:
        shown += [visible(text[at:begin]), f"{_BEGIN}{visible(text[begin:end])}{_END}"]
        at = end
    return "".join((*shown, visible(text[at:])))


def _dressed(line: str) -> str:
    """The words are bold on a terminal, and between asterisks elsewhere."""
    begin, end = ("\x1b[33m\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("*", "*")
    return line.replace(_BEGIN, begin).replace(_END, end)
