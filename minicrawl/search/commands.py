"""`minicrawl search`, full-text search of kept pages, and `minicrawl index`, which prepares it."""

from __future__ import annotations

import functools
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.options import Number, given_options
from minicrawl.cli.output import percent, share, show_json, show_paragraph
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import NoRoom, needs
from minicrawl.report.saved_ranks import kept_scores, scores
from minicrawl.report.snapshot import snapshot
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.query import MOST_WORDS, Query, Snippet, parse
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import (
    Finder,
    Result,
    SearchRequest,
    join_importance,
    keep_importance,
)
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.wording import counted, visible

# ================================================================ ranking
#
# Options for the order of results.

Command = Callable[..., Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChoice:
    """Order of search results."""

    by: str | None = None
    linear: float | None = None
    weights: RankingWeights = field(default_factory=RankingWeights)

    def finder(self, store: Path, query: Query | None = None) -> Finder:
        """Return the finder of a store. A missing index is built first.

        If ranks of topics are mixed, print their weights for `query`.
        """
        from minicrawl.search.indexing import TopicMixture, is_by_topics

        prepare_index(store)
        folder = search_folder(store)
        if self.by is None:
            return Finder(folder)
        with snapshot(store) as seen:
            if not is_by_topics(self.by) or kept_scores(seen, self.by) is not None:
                return Finder(folder, scores(seen, self.by))
            mixture = TopicMixture(seen, SearchIndex(folder / FOLDER), self.by.partition(":")[2])
        if query is not None:
            parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(query).items())
            click.echo(f"topics: {visible(', '.join(parts))}", err=True)
        return Finder(folder, mixture.scores)

    def asked(self, count: int, offset: int = 0, *, folds: bool = True) -> SearchRequest:
        """Return a request for `count` pages in this order."""
        return SearchRequest(
            count=count, offset=offset, folds=folds, linear=self.linear, weights=self.weights
        )


_RANKING_OPTIONS = (
    click.option(
        "--by",
        metavar="NAME",
        help="Order results by this rank. topics mixes the ranks of `rank pagerank --topics` by "
        "the likelihood of the words in each topic; topics:NAME uses those saved with --as NAME.",
    ),
    click.option(
        "--score",
        "linear",
        metavar="linear=W",
        type=Linear(),
        help="Score = W x relevance + (1 - W) x rank.",
    ),
)


def ranking_options(command: Command) -> Command:
    """Pass `choice`, the order of results, to the command."""

    @functools.wraps(command)
    def with_choice(*, by: str | None, linear: float | None, **rest: Any) -> Any:
        return command(choice=RankingChoice(by=by, linear=linear), **rest)

    decorated: Command = with_choice
    for option in reversed(_RANKING_OPTIONS):
        decorated = option(decorated)
    return decorated


def prepare_index(store: Path) -> None:
    """Build the index of a store if it has no usable one, and add the latest ranks."""
    from minicrawl.search.indexing import has_index, why_useless

    folder = search_folder(store)
    with reading(store) as connection:
        is_usable = has_index(folder) and not why_useless(folder, connection)
    if not is_usable:
        bring_index_up_to_date(store)
    elif why := join_importance(folder, store):
        click.echo(f"minicrawl: {visible(why)}", err=True)
    if not archive_folder(store).is_dir():
        click.echo(f"{archive_folder(store)} is gone: only the index is left", err=True)


def tell_of_lack(store: Path) -> None:
    """Say how many pages the index has, if it is not complete."""
    from minicrawl.search.indexing import lack_of

    with suppress(NoRoom):  # the search needs no room, and has said that the disk is full
        if lack := lack_of(store):
            click.echo(f"{lack}; `{PROGRAM} index` adds the rest", err=True)


# ================================================================ command

_INDENT = " " * 5
_BEGIN, _END = "\x02", "\x03"
"""Marks around query words. No page text has them, since `visible` escapes them."""


class SearchCommand(click.Command):
    """Command with words that may begin with a minus: `-n` is an option only before a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read `-n 3` as `--n 3`, and `-h` as `--help`."""
        end = args.index("--") if "--" in args else len(args)
        pairs = pairwise([*args[:end], ""])
        named = ["--n" if one == "-n" and other.isdecimal() else one for one, other in pairs]
        options = ["--help" if one == "-h" else one for one in named]
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


# ---------------------------------------------------------------- search page

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
            self._serve(store)

    def _serve(self, store: Path) -> None:
        with needs("dashboard", "--serve"):
            from minicrawl.search.serving import serve_publicly, serve_search
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


@click.command(cls=SearchCommand, context_settings=SETTINGS)
@results_options
@ranking_options
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@page_options
@store_with_pages_option
def search(
    words: tuple[str, ...],
    store: Path,
    explain: bool,
    page: PageChoice,
    as_json: bool,
    **asked: Any,
) -> None:
    """Search the text of kept pages.

    Some results may lack a few words. WORDS may also be "an exact phrase", -without, site:NAME,
    title:WORD, url:WORD, lang:CODE, type:NAME, year:YYYY and after:DATE. -site:NAME and the like
    exclude pages. Quote the whole query, to protect it from the shell.
    """
    if page.is_chosen:
        page.run(store, words)
    elif not words:
        raise click.UsageError("say which WORDS to find, or --serve or --static")
    elif explain and as_json:
        raise click.UsageError("--json has all parts of each score: leave out --explain")
    else:
        wanted = WantedPages(store=store, text=" ".join(words), **asked)
        found = wanted.found(corrects=True)
        if as_json:
            show_json(found.as_json())
            return
        for rank, one in found.ranked():
            show_result(rank, one, explain=explain)
            click.echo()


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPages:
    """Search query and order of results."""

    store: Path
    text: str
    choice: RankingChoice
    n: int
    offset: int
    shows_all: bool

    def found(self, *, corrects: bool = False) -> FoundPages:
        """Find the pages. `corrects` replaces words that no page has by the nearest words."""
        query = parse(self.text)
        if query.ignored:
            click.echo(f"only the first {MOST_WORDS} words count", err=True)
        finder = self.choice.finder(self.store, query)
        tell_of_lack(self.store)
        asked = self.choice.asked(self.n, self.offset, folds=not self.shows_all)
        if not corrects:
            found = finder.find(query, asked)
            return FoundPages(self.store, finder, found, self.offset + 1)
        answered = finder.answer(self.text, asked)
        for text, said in (
            (answered.instead, "no page has these words; shown is"),
            (answered.suggestion, "did you mean"),
        ):
            if text:
                click.echo(f"{said}: {visible(text)}", err=True)
        return FoundPages(self.store, finder, answered.results, self.offset + 1)


class FoundPages(NamedTuple):
    """Search results, with the place of the first result."""

    store: Path
    finder: Finder
    results: list[Result]
    first: int

    def as_json(self) -> list[object]:
        """Return the results as a JSON document."""
        return [one.as_json(rank) for rank, one in enumerate(self.results, self.first)]

    def ranked(self) -> Iterator[tuple[int, Result]]:
        """Return the results with their places. Print a message if there are none."""
        if not self.results:
            click.echo("no page has these words", err=True)
        return enumerate(self.results, self.first)


def refuse_others(allowed: Collection[str], why: str) -> None:
    """Refuse all options except `allowed` and those that name the store."""
    for name, option in given_options().items():
        if name not in (*allowed, "store", "cluster"):
            raise click.UsageError(f"{why}: leave out {option}")


def _write_static(store: Path, folder: Path) -> None:
    from minicrawl.search.static_site import write_static

    prepare_index(store)
    tell_of_lack(store)
    with progress("static search") as tell:
        done = write_static(search_folder(store), folder, tell)
    click.echo(
        f"{folder}: {counted(done.pages, 'page')}, {counted(done.words, 'word')}, "
        f"{done.size / 1e6:.1f} MB; open index.html through a web server",
        err=True,
    )


# ---------------------------------------------------------------- results


def show_result(rank: int, found: Result, *, explain: bool) -> None:
    """Show a page: its place, title and URL, and the passage with the words."""
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
    """Show a URL. On a terminal, a long one has its own unindented line, for copying."""
    width = shutil.get_terminal_size().columns - len(_INDENT) - len(importance) - 2
    if sys.stdout.isatty() and len(url) > width:
        show_paragraph(importance, _INDENT)
        click.secho(url, fg="cyan")
    else:
        click.echo(f"{_INDENT}{click.style(url, fg='cyan')}  {importance}")


def _marked(found: Snippet) -> str:
    """Return the snippet with marks around the search words."""
    text, marks, at, shown = found.text, found.marks, 0, []
    for begin, end in marks:
        shown += [visible(text[at:begin]), f"{_BEGIN}{visible(text[begin:end])}{_END}"]
        at = end
    return "".join((*shown, visible(text[at:])))


def _dressed(line: str) -> str:
    """Highlight words: bold on a terminal, asterisks elsewhere."""
    begin, end = ("\x1b[33m\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("*", "*")
    return line.replace(_BEGIN, begin).replace(_END, end)


# ================================================================ index


@click.command()
@click.option("--fresh", is_flag=True, help="Rebuild the index from scratch.")
@store_with_pages_option
def index(store: Path, fresh: bool) -> None:
    """Build or update the search index.

    The index is a folder beside the store, and may be deleted at any time. Repeat the command to
    continue an interrupted run. Pages that took too long to parse are listed, as they lack their
    markup or text; the exit code is then 1.
    """
    if bring_index_up_to_date(store, fresh=fresh):
        click.get_current_context().exit(1)


def bring_index_up_to_date(
    store: Path, *, fresh: bool = False, quiet: bool = False, most_s: float = inf
) -> int:
    """Bring the index up to date, store the importance of the pages, and print a summary.

    Say if `most_s` was not enough for all pages, and what limits have cut from their texts. Return
    the number of texts that are cut.
    """
    from minicrawl.search.indexing import bring_up_to_date, lack_of, unlimited

    ends_at = time.monotonic() + most_s

    def is_over() -> bool:
        return time.monotonic() >= ends_at

    def say(text: str) -> None:
        click.echo(text, err=True)

    with progress("index") as tell:
        done = bring_up_to_date(
            store, tell, say, fresh=fresh, is_over=unlimited if most_s == inf else is_over
        )
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
    if not quiet:
        click.echo(
            f"index: {counted(done.of_all, 'page')}, {done.pages:,} newly read, "
            f"{done.by_links:,} added or updated by links",
            err=True,
        )
    if most_s < inf and lack_of(store):
        say("index: --for is over; `minicrawl index` adds the other pages")
    for url, what in done.cut.items():
        say(f"{visible(url)}: {visible(what)}")
    return len(done.cut)
