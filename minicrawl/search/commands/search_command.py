"""`minicrawl search`, full-text search of kept pages."""

import shutil
import sys
from itertools import pairwise
from pathlib import Path

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import percent, share, show_json, show_paragraph
from minicrawl.cli.parameters import number, option, switch, with_made, with_options
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.report.saved_ranks import kept_scores, scores
from minicrawl.report.snapshot import snapshot
from minicrawl.search.commands.index_command import prepare_index, tell_of_lack
from minicrawl.search.commands.page_options import PageOptions, page_options, show_page
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.searching import Finder, Result, SearchRequest
from minicrawl.search.words.query import MOST_WORDS, Query, parse
from minicrawl.store.reader import search_folder
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


class Linear(click.ParamType[float]):
    """Value of --score: `linear=W`, the weight of relevance."""

    name = "score"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        name, _, part = value.partition("=")
        if name != "linear":
            self.fail(f"{value!r} is not a score such as linear=0.7", param, ctx)
        return Number(0, 1).convert(part, param, ctx)


@click.command(
    cls=SearchCommand,
    context_settings={"help_option_names": ["--help"], "ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@with_options
@with_made(page=page_options)
@json_option
@store_with_pages_option
def search(
    words: tuple[str, ...],
    store: Path,
    page: PageOptions,
    as_json: bool,
    n: int = number("Show N results.", 10),
    offset: int = number("Skip the first N results.", 0, least=0),
    shows_all: bool = switch("Include near-duplicates.", flag="--all"),
    by: str | None = option(
        "Order results by this rank. topics mixes the ranks of `rank pagerank --topics` by the "
        "likelihood of the words in each topic; topics:NAME uses those saved with --as NAME.",
        metavar="NAME",
    ),
    linear: float | None = option(
        "Score = W x relevance + (1 - W) x rank.", flag="--score", metavar="linear=W", type=Linear()
    ),
    explain: bool = switch("Show the parts of each score."),
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
    text = " ".join(words)
    query = parse(text)
    if query.ignored:
        click.echo(f"only the first {MOST_WORDS} words count", err=True)
    finder = _finder_by(by, store, query)
    tell_of_lack(store)
    request = SearchRequest(count=n, offset=offset, folds=not shows_all, linear=linear)
    answered = finder.answer(text, request)
    for other_text, meaning in (
        (answered.instead, "no page has these words; shown is"),
        (answered.suggestion, "did you mean"),
    ):
        if other_text:
            click.echo(f"{meaning}: {visible(other_text)}", err=True)
    places = enumerate(answered.results, offset + 1)
    if as_json:
        show_json([result.document(place) for place, result in places])
        return
    if not answered.results:
        click.echo("no page has these words", err=True)
    for place, result in places:
        _show_result(place, result, explain=explain)
        click.echo()


def _finder_by(rank: str | None, store: Path, query: Query) -> Finder:
    """Return the finder of a store, by a rank if one is named. A missing index is built first.

    If ranks of topics are mixed, print their weights for `query`.
    """
    from minicrawl.search.topics import TopicMixture

    prepare_index(store)
    folder = search_folder(store)
    if rank is None:
        return Finder(folder)
    with snapshot(store) as view:
        name, _, family = rank.partition(":")
        if name != "topics" or kept_scores(view, rank) is not None:
            return Finder(folder, scores(view, rank))
        mixture = TopicMixture(view, SearchIndex(folder / FOLDER), family)
    parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(query).items())
    click.echo(f"topics: {visible(', '.join(parts))}", err=True)
    return Finder(folder, mixture.scores)


def _show_result(place: int, result: Result, *, explain: bool) -> None:
    """Show a page: its place, title and URL, and the passage with the words."""
    entry = result.entry
    title = visible(entry.title or entry.url)
    show_paragraph(title, f"{place:>3}. ", lambda line: line[:5] + click.style(line[5:], bold=True))
    url, importance = visible(entry.url), percent(result.importance)
    width = shutil.get_terminal_size().columns - len(_INDENT) - len(importance) - 2
    if sys.stdout.isatty() and len(url) > width:  # on a line of its own, unindented, for copying
        show_paragraph(importance, _INDENT)
        click.secho(url, fg="cyan")
    else:
        click.echo(f"{_INDENT}{click.style(url, fg='cyan')}  {importance}")
    begin, end = ("\x1b[33m\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("*", "*")
    show_paragraph(
        result.snippet.marked(_BEGIN, _END, visible),
        _INDENT,
        lambda line: line.replace(_BEGIN, begin).replace(_END, end),
    )
    if result.folded:
        click.echo(f"     and {counted(result.folded, 'page')} like it (--all)")
    if explain:
        parts = (f"{name} {value:.3g}" for name, value in result.score._asdict().items())
        show_paragraph(", ".join(parts), _INDENT)
