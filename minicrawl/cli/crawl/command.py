"""`minicrawl crawl`: from seeds, or from where it was, to the end of the budget.

How a crawl would begin, on stdout.

The seeds that the user names: URLs, files of URLs, stdin.

Law: a list may be of any length and is never held in memory; a line that is no URL is named and
spoils nothing else.
"""

import asyncio
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from errno import ENOENT
from itertools import chain
from pathlib import Path
from typing import IO, Any

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.common.options import CommandWithSettings, Number, loaded_options
from minicrawl.cli.common.stores import units
from minicrawl.cli.common.tables import show_facts, show_list
from minicrawl.config import Loaded, Scope
from minicrawl.crawl.start.preview import FirstHost, FirstPage, Preview
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.web.urls import origin, seed

STDIN = "-"
SHOWN_COMPLAINTS = 10
_SHOWN_TEXT = 60
_SCHEMES = ("http://", "https://")


def seeds_of(arguments: Sequence[str], leaving: ExitStack) -> Iterator[str]:
    """The seeds of all arguments; every file is opened now, and read when its turn comes."""
    urls = [text for text in arguments if text.lower().startswith(_SCHEMES)]
    files = [text for text in arguments if text not in urls]
    lists = [(_name(file), leaving.enter_context(_opened(file))) for file in files]
    return chain(urls, _listed(lists, may_be_empty=bool(urls or not lists)))


def read_seeds(lines: Iterable[str], complain: Callable[[int, str], None]) -> Iterator[str]:
    """The URLs of a list, one a line, `#` begins a comment; told are the lines that hold none."""
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        url = seed(text, strip_marks=False)
        if url is not None:
            yield url
        elif text:
            complain(number, text)


def _name(file: str) -> str:
    return "stdin" if file == STDIN else file


def _opened(file: str) -> IO[str]:
    try:
        # What is no UTF-8 spoils its own line alone.
        return click.open_file(file, encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        hint = "; a URL begins with https://" if error.errno == ENOENT else ""
        raise UsageError(f"{file}: {error.strerror}{hint}") from None


def _listed(lists: Sequence[tuple[str, Iterable[str]]], *, may_be_empty: bool) -> Iterator[str]:
    found = 0
    for name, lines in lists:
        complaints = _Complaints(name)
        for url in read_seeds(lines, complaints.hear):
            found += 1
            yield url
        complaints.close()
    if not found and not may_be_empty:
        raise UsageError(f"{', '.join(name for name, _ in lists)}: no URL to start from")


class _Complaints:
    """Names the first lines of a list that are no URLs, and counts the others."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def hear(self, number: int, text: str) -> None:
        self._count += 1
        if self._count <= SHOWN_COMPLAINTS:
            shown = text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
            self._say(f"{self._name}:{number}: {shown} is no URL")

    def close(self) -> None:
        if self._count > SHOWN_COMPLAINTS:
            self._say(f"{self._name}: so are {self._count - SHOWN_COMPLAINTS:,} more lines")

    def _say(self, line: str) -> None:
        click.echo(f"{PROGRAM}: {visible(line)}", err=True)


HOST_HEADINGS = ("delay", "host", "robots.txt")
PAGE_HEADINGS = ("turn", "cash", "what happens", "url")


def show_preview(found: Preview, scope: Scope) -> None:
    """The scope, the hosts of the first pages with their robots.txt, the first pages."""
    show_facts(
        [
            ("scope", scope.scope),
            *(("allow", pattern) for pattern in scope.allow),
            *(("deny", pattern) for pattern in scope.deny),
            ("known", f"{found.known:,} pages, {found.seeds:,} of them seeds"),
        ]
    )
    click.echo()
    show_list(HOST_HEADINGS, map(_host_line, found.hosts), texts=2)
    click.echo()
    silent = {host.origin for host in found.hosts if not _has_answered(host)}
    turns = (
        (f"{turn:,}", units(page.cash), _what_happens(page, silent), page.url)
        for turn, page in enumerate(found.pages, 1)
    )
    show_list(PAGE_HEADINGS, turns, texts=1)
    click.echo("\nrobots.txt was asked for and nothing else; nothing was written")


def _host_line(host: FirstHost) -> tuple[str, ...]:
    return f"{host.delay_s:g} s", host.origin, _robots(host)


def _what_happens(page: FirstPage, silent: Collection[str]) -> str:
    if page.refusal is not None:
        return page.refusal.label
    return "wait" if origin(page.url) in silent else "fetch"


def _has_answered(host: FirstHost) -> bool:
    return host.rules is not None or host.trouble is not None


def _robots(host: FirstHost) -> str:
    if host.trouble is not None:
        return f"cannot be had: {host.trouble.label}"
    if host.rules is None:
        return "no answer, it would be asked for again"
    if not host.rules.forbidden:
        return "forbids nothing"
    return f"{len(host.rules.forbidden):,} Disallow, {len(host.rules.allowed):,} Allow"


DEMO_PAGES = 2000
SHOWN_FIRST = 20
SHOWN_TOP = 10
_ARGUMENTS = f"{__name__}.arguments"
_NOT_AGAIN = ("--fresh", "-")


class CrawlCommand(CommandWithSettings):
    """Keeps its arguments, to say by which the crawl goes on."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


@click.command(cls=CrawlCommand)
@click.argument("seeds", nargs=-1, metavar="[SEEDS]...")
@click.option("--fresh", is_flag=True, help="Begin anew; the old store gets another name.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show scope, robots.txt and the first fetches; ask for robots.txt only, write nothing.",
)
@click.option("--demo", is_flag=True, help="Crawl a little web that minicrawl serves itself.")
@click.option(
    "--demo-pages",
    type=click.IntRange(min=100),
    metavar="N",
    help=f"Pages of that web.  [default: {DEMO_PAGES:,}]",
)
@click.option(
    "--max-failures",
    type=Number(0, 1),
    metavar="SHARE",
    help="Exit with 3 if more of the pages asked for failed.  [default: none]",
)
@click.option("-q", "--quiet", is_flag=True, help="Show errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Show a line for each page.")
@click.option(
    "--log-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a line for each page to this file, behind what is there.",
)
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="What these lines look like.",
)
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Whether stderr is coloured; auto looks at the terminal and at NO_COLOR.",
)
@loaded_options()
@click.pass_context
def crawl(
    context: click.Context,
    /,
    loaded: Loaded,
    seeds: tuple[str, ...],
    fresh: bool,
    dry_run: bool,
    demo: bool,
    demo_pages: int | None,
    **wishes: Any,
) -> None:
    """Crawl the web from SEEDS, the pages that matter first.

    SEEDS are files of URLs, one a line (- is stdin), or URLs that begin with http:// or https://.
    Run again, the crawl goes on where it was, and needs no SEEDS.
    """
    from minicrawl import app
    from minicrawl.cli.common.stores import blamed
    from minicrawl.cli.crawl.command import seeds_of, show_preview
    from minicrawl.cli.crawl.session import RunOptions, Session
    from minicrawl.cli.reports.top import top

    _refuse_what_does_not_go_together(context.params)
    again = _same_again(context.meta[_ARGUMENTS])
    with ExitStack() as leaving:
        if demo:
            pages = demo_pages or DEMO_PAGES
            crawl = leaving.enter_context(app.demo(loaded, pages, fresh=fresh, command=again))
        else:
            named = seeds_of(seeds, leaving)
            crawl = app.Crawl(named, loaded, fresh=fresh, command=again)
        leaving.enter_context(blamed(crawl.settings.storing.store))
        if dry_run:
            show_preview(asyncio.run(crawl.preview(SHOWN_FIRST)), crawl.settings.scope)
            return
        session = Session(crawl, RunOptions(again=again, is_demo=demo, **wishes))
        session.run()
    if demo:
        context.invoke(top, store=crawl.settings.storing.store, n=SHOWN_TOP)
    session.say_what_is_next()
    session.judge()


def _refuse_what_does_not_go_together(given: dict[str, Any]) -> None:
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("--quiet and --verbose: choose one of them")
    if given["demo"] and given["seeds"]:
        raise click.UsageError("--demo brings its own seeds: leave out yours")
    if given["demo_pages"] and not given["demo"]:
        raise click.UsageError("--demo-pages goes with --demo")


def _same_again(arguments: tuple[str, ...]) -> str:
    """The same command, but for what would begin anew and what cannot be read twice."""
    kept = [argument for argument in arguments if argument not in _NOT_AGAIN]
    return shlex.join([PROGRAM, "crawl", *kept])
