"""`minicrawl search`, full-text search of kept pages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click

from minicrawl.cli.options import Command
from minicrawl.cli.output import percent, show_json, show_paragraph
from minicrawl.cli.parameters import with_made
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.search.commands.index_command import tell_of_lack
from minicrawl.search.commands.page_options import PageOptions, page_options, show_page
from minicrawl.search.commands.ranking_options import RankingChoice, ranking_options
from minicrawl.search.searching import Finder, Result
from minicrawl.search.words.query import MOST_WORDS, parse
from minicrawl.search.words.snippets import Snippet
from minicrawl.wording import counted, visible

_INDENT = " " * 5
_BEGIN, _END = "\x02", "\x03"
"""Marks around query words. No page text has them, since `visible` escapes them."""


class SearchCommand(click.Command):
    """Command with words that may begin with a minus: `-n` is an option only before a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `-n 3` as `--n 3`, and `-h` as `--help`."""
        end = args.index("--") if "--" in args else len(args)
        pairs = pairwise([*args[:end], ""])
        named = [
            "--n" if argument == "-n" and other.isdecimal() else argument
            for argument, other in pairs
        ]
        options = ["--help" if argument == "-h" else argument for argument in named]
        return super().parse_args(ctx, [*options, *args[end:]])


SETTINGS: dict[str, Any] = {"help_option_names": ["--help"], "ignore_unknown_options": True}
"""Context settings of a `SearchCommand`."""

_RESULTS_OPTIONS = (
    click.argument("words", nargs=-1, type=click.UNPROCESSED),
    click.option(
        "--n",
        metavar="N",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="Show N results.",
    ),
    click.option(
        "--offset",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        help="Skip the first N results.",
    ),
    click.option(
        "--all",
        "shows_all",
        is_flag=True,
        help="Include near-duplicates.",
    ),
    json_option,
)


def results_options(command: Command) -> Command:
    """Pass `words`, which pages to show, and `as_json` to the command."""
    for option in reversed(_RESULTS_OPTIONS):
        command = option(command)
    return command


@click.command(cls=SearchCommand, context_settings=SETTINGS)
@results_options
@ranking_options
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@with_made(page=page_options)
@store_with_pages_option
def search(
    words: tuple[str, ...],
    store: Path,
    page: PageOptions,
    explain: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Search the text of kept pages.

    Some results may lack a few words. WORDS may also be "an exact phrase", -without, site:NAME,
    title:WORD, url:WORD, lang:CODE, type:NAME, year:YYYY and after:DATE. -site:NAME and the like
    exclude pages. Quote the whole query, to protect it from the shell.
    """
    if show_page(store, words, page):
        return
    if not words:
        raise click.UsageError("say which WORDS to find, or --serve or --static")
    if explain and as_json:
        raise click.UsageError("--json has all parts of each score: leave out --explain")
    request = ResultRequest(store=store, text=" ".join(words), **choices)
    results = request.results(corrects=True)
    if as_json:
        show_json(results)
        return
    for rank, result in results.ranked():
        show_result(rank, result, explain=explain)
        click.echo()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRequest:
    """Search query and order of results."""

    store: Path
    text: str
    choice: RankingChoice
    n: int
    offset: int
    shows_all: bool

    def results(self, *, corrects: bool = False) -> ResultPage:
        """Find the pages. `corrects` replaces words that no page has by the nearest words."""
        query = parse(self.text)
        if query.ignored:
            click.echo(f"only the first {MOST_WORDS} words count", err=True)
        finder = self.choice.finder(self.store, query)
        tell_of_lack(self.store)
        request = self.choice.request(self.n, self.offset, folds=not self.shows_all)
        if not corrects:
            results = finder.find(query, request)
            return ResultPage(self.store, finder, results, self.offset + 1)
        answered = finder.answer(self.text, request)
        for text, said in (
            (answered.instead, "no page has these words; shown is"),
            (answered.suggestion, "did you mean"),
        ):
            if text:
                click.echo(f"{said}: {visible(text)}", err=True)
        return ResultPage(self.store, finder, answered.results, self.offset + 1)


class ResultPage(NamedTuple):
    """Search results, with the place of the first result."""

    store: Path
    finder: Finder
    results: list[Result]
    first: int

    def to_json(self) -> list[object]:
        """Return the results as a JSON document."""
        return [result.document(rank) for rank, result in enumerate(self.results, self.first)]

    def ranked(self) -> Iterator[tuple[int, Result]]:
        """Return the results with their places. Print a message if there are none."""
        if not self.results:
            click.echo("no page has these words", err=True)
        return enumerate(self.results, self.first)


def show_result(rank: int, result: Result, *, explain: bool) -> None:
    """Show a page: its place, title and URL, and the passage with the words."""
    entry = result.entry
    title = visible(entry.title or entry.url)
    show_paragraph(title, f"{rank:>3}. ", lambda line: line[:5] + click.style(line[5:], bold=True))
    url, importance = visible(entry.url), percent(result.importance)
    width = shutil.get_terminal_size().columns - len(_INDENT) - len(importance) - 2
    if sys.stdout.isatty() and len(url) > width:  # on a line of its own, unindented, for copying
        show_paragraph(importance, _INDENT)
        click.secho(url, fg="cyan")
    else:
        click.echo(f"{_INDENT}{click.style(url, fg='cyan')}  {importance}")
    begin, end = ("\x1b[33m\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("*", "*")
    show_paragraph(
        _marked(result.snippet),
        _INDENT,
        lambda line: line.replace(_BEGIN, begin).replace(_END, end),
    )
    if result.folded:
        click.echo(f"     and {counted(result.folded, 'page')} like it (--all)")
    if explain:
        parts = (f"{name} {value:.3g}" for name, value in result.score._asdict().items())
        show_paragraph(", ".join(parts), _INDENT)


def _marked(snippet: Snippet) -> str:
    """Return the snippet with marks around the search words."""
    text, marks, at, shown = snippet.text, snippet.marks, 0, []
    for begin, end in marks:
        shown += [visible(text[at:begin]), f"{_BEGIN}{visible(text[begin:end])}{_END}"]
        at = end
    return "".join((*shown, visible(text[at:])))
