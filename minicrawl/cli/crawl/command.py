"""`minicrawl crawl`: from seeds, or from where it was, to the end of the budget."""

import asyncio
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.common.numbers import Number
from minicrawl.cli.common.options import CommandWithSettings, loaded_options
from minicrawl.config import Loaded

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
    from minicrawl.cli.crawl.dry_run import show_preview
    from minicrawl.cli.crawl.seeds import seeds_of
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
