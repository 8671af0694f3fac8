"""`minicrawl search`: find pages by what they say."""

import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import click

from minicrawl.cli.common.stores import json_option, percent, store_with_pages_option
from minicrawl.cli.common.tables import show_json, show_paragraph
from minicrawl.cli.search.judging import (
    ask_for_verdict,
    judged_before,
    keep_list,
    keeping_verdicts,
    tell_of_all_judged,
    verdicts_of_options,
    what_was_said,
)
from minicrawl.cli.search.ranking import RankingChoice, prepare_index, ranking_options
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.report.search.judgements import Verdict
from minicrawl.report.search.searching import Result
from minicrawl.search.query import MOST_WORDS, parse
from minicrawl.search.snippets import Snippet
from minicrawl.wording import counted

_MISSING = "--serve needs starlette and uvicorn: install minicrawl[dashboard]"
_INDENT = " " * 5
_BEGIN, _END = "\x02", "\x03"
"""No text of a page has these: `visible` writes them out."""


class _SearchCommand(click.Command):
    """Words may begin with a minus: `-n` is an option only before a number, `-h` only by itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-n 3` is `--n 3`, and `-h` is `--help`, as everywhere else."""
        end = args.index("--") if "--" in args else len(args)
        pairs = pairwise([*args[:end], ""])
        named = ["--n" if one == "-n" and other.isdecimal() else one for one, other in pairs]
        options = ["--help" if one == "-h" else one for one in named]
        return super().parse_args(ctx, [*options, *args[end:]])


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
@ranking_options
@click.option(
    "--all",
    "shows_all",
    is_flag=True,
    help="Show every page, also those that are like another one.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show what each score is made of, and how this order does on all judged searches.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Ask for a verdict on each result: good, fair or bad. Without a terminal, each line of "
    "stdin is the verdict on a result.",
)
@click.option(
    "--verdict",
    "said",
    metavar="WHERE=VERDICT",
    multiple=True,
    help="Keep this verdict on a place of the results, or a URL, such as 1=good. Repeatable.",
)
@click.option(
    "--verdicts",
    "listed",
    metavar="FILE",
    type=click.File(encoding="utf-8-sig"),
    help="Keep the verdicts of this CSV file, with a query, a URL and a verdict in each line; - is "
    "stdin.",
)
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
@store_with_pages_option
def search(
    words: tuple[str, ...],
    store: Path,
    listed: IO[str] | None,
    serve: bool,
    port: int | None,
    **shown: Any,
) -> None:
    """Find the pages that have these WORDS.

    Pages with all words come first. WORDS may also be "an exact phrase", -without, site:NAME,
    title:WORD, url:WORD, lang:CODE and after:DATE. -site:NAME and the like leave pages out. Put the
    whole query in quotes, so that the shell does not change it.

    Verdicts are kept beside the store, and `minicrawl agree --searches` compares a ranking on all
    searches that were judged.
    """
    if serve:
        _serve(store, words, port)
    elif listed is not None:
        _refuse_words(words, "--verdicts names the queries")
        keep_list(store, listed, shown["choice"])
    elif not words:
        raise click.UsageError("say which WORDS to find, or --serve")
    else:
        _Wanted(store=store, text=" ".join(words), **shown).show()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is asked for, and how it is shown and judged."""

    store: Path
    text: str
    choice: RankingChoice
    n: int
    offset: int
    shows_all: bool
    explain: bool
    judge: bool
    said: tuple[str, ...]
    as_json: bool

    def show(self) -> None:
        """Find the pages, show them, and keep what is said of them."""
        if self.judge and self.as_json:
            raise click.UsageError("--judge and --json cannot be combined")
        query = parse(self.text)
        if query.ignored:
            click.echo(f"only the first {MOST_WORDS} words count", err=True)
        finder = self.choice.finder(self.store, query)
        asked = self.choice.asked(self.n, self.offset, folds=not self.shows_all)
        results = finder.find(query, asked)
        verdicts = verdicts_of_options(self.said, results, self.offset + 1)
        with keeping_verdicts(self.store, finder, self.choice, self.text, verdicts):
            self._show(results, verdicts)
        if self.explain and not self.as_json:
            tell_of_all_judged(self.store, finder, self.choice)

    def _show(self, results: list[Result], verdicts: dict[str, Verdict]) -> None:
        ranked = list(enumerate(results, self.offset + 1))
        if self.as_json:
            show_json([one.as_json(rank) for rank, one in ranked])
            return
        judged = judged_before(self.store, self.text) if self.explain else None
        for rank, one in ranked:
            _show(rank, one, explain=self.explain)
            if said := what_was_said(judged, one.entry.url):
                click.echo(f"     {said}")
            click.echo()
            if self.judge and not ask_for_verdict(one, verdicts):
                break
        if not ranked:
            click.echo("no page has these words", err=True)


def _refuse_words(words: tuple[str, ...], why: str) -> None:
    if words:
        raise click.UsageError(f"{why}: leave out the WORDS")


def _serve(store: Path, words: tuple[str, ...], port: int | None) -> None:
    _refuse_words(words, "--serve asks for the words in the browser")
    try:
        from minicrawl.dashboard.searching import serve_search
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError(_MISSING) from None
    prepare_index(store)
    with suppress(KeyboardInterrupt):
        serve_search(store, port, click.echo)


# ---------------------------------------------------------------- results


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
