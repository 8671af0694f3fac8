"""`minicrawl crawl`: start or resume a crawl, or preview one with --dry-run."""

import asyncio
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.common.clusters import cluster_door
from minicrawl.cli.common.options import (
    CommandWithSettings,
    Number,
    graph_of_option,
    loaded_options,
)
from minicrawl.cli.crawl.companions import CrawlRequest, OwnWeb, companion_options, companions
from minicrawl.config import Loaded
from minicrawl.config.parts import BY_NAME, TABLE
from minicrawl.config.values import has_login, without_login
from minicrawl.errors import UsageError
from minicrawl.model import CRAWLED

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.cli.crawl.session import Session

SHOWN_FIRST = 20
SHOWN_TOP = 10
_ARGUMENTS = f"{__name__}.arguments"
_OF_THE_RUN = (
    "quiet",
    "verbose",
    "graph_stats",
    "graph_of",
    "log_file",
    "log_format",
    "log_keep",
    "as_json",
    "color",
    "max_failures",
)
"""Options that are passed to `session.RunOptions` unchanged."""
_NOT_TO_RESUME = ("--fresh", "-")
_SEEN_BY_ALL = "is seen by everybody on this machine, in the list of processes"
_HIDES_LOGIN = {"proxy": "@FILE", "auth": "HOST=@FILE", "bearer": "HOST=@FILE"}
"""Settings with logins, and the form of value that keeps the login in a file."""
_SECRET_FLAGS = frozenset(
    row.flag for row in TABLE if row.section.name == "access" and row.kind.mask
)


class CrawlCommand(CommandWithSettings):
    """Keeps its arguments, to print the command that resumes the crawl."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


@click.command(cls=CrawlCommand)
@click.argument("seeds", nargs=-1, metavar="[SEEDS]...")
@click.option("--fresh", is_flag=True, help="Start a new crawl; the old store is renamed.")
@click.option(
    "--resume", "must_resume", is_flag=True, help="Resume a crawl; fail if there is no store."
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the scope, the robots.txt of the first hosts and the first pages. Only robots.txt "
    "is fetched, and nothing is written.",
)
@click.option(
    "--max-failures",
    type=Number(0, 1),
    metavar="SHARE",
    help="Exit 3 if more than this share of the requested pages failed, from 0 to 1.  [default: 1]",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only errors.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print a line per page, and show the growing graph on a terminal.",
)
@click.option(
    "--graph-stats",
    is_flag=True,
    help="Sample the growing graph in a low-priority process. `minicrawl status` shows the last "
    "sample, `minicrawl plot` draws all.",
)
@graph_of_option(CRAWLED)
@click.option(
    "--log-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Append a line per page to this file, with the process that requested it. {crawler} in "
    "the name gives each process its own file.",
)
@click.option(
    "--log-keep",
    metavar="N",
    type=click.IntRange(min=0),
    help="Rotate the log at 10 MB, and keep the last N files as FILE.1, FILE.2 and so on.  "
    "[default: one file that grows]",
)
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Format of the log.",
)
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Colour stderr; auto: on a terminal, unless NO_COLOR is set.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON summary at the end.")
@companion_options
@loaded_options()
@click.pass_context
def crawl(
    context: click.Context, /, loaded: Loaded, seeds: tuple[str, ...], **options: Any
) -> None:
    """Crawl the web from SEEDS, most important pages first.

    SEEDS are URLs such as example.org, or files with one URL per line or a CSV column `url`; - is
    stdin. Run the same command again to resume the crawl; SEEDS are then optional.
    """
    del options  # the session and the companions take theirs from the context
    asked = CrawlRequest(loaded, context.params, _resume_command(context.meta[_ARGUMENTS]))
    _refuse_conflicts(asked)
    _warn_of_logins(loaded, seeds)
    if not any(companion.crawls_instead(asked) for companion in companions()):
        _crawl_here(context, asked)


def _crawl_here(context: click.Context, asked: CrawlRequest) -> None:
    """Crawl with this machine alone."""
    from minicrawl.cli.crawl.session import RunOptions, Session

    given = asked.given
    with ExitStack() as stack:
        web = next((web for one in companions() if (web := one.own_web(asked))), None)
        served = None if web is None else stack.enter_context(web)
        crawl = _open_crawl(asked, served, stack)
        _refuse_nothing(crawl.settings.storing.store, must_resume=given["must_resume"])
        if given["dry_run"]:
            _preview(crawl)
            return
        for companion in companions():
            stack.enter_context(companion.beside(crawl, asked))
        run = {name: given[name] for name in _OF_THE_RUN}
        run["graph_stats"] |= any(one.samples_graph(asked) for one in companions())
        is_demo = served is not None
        session = Session(crawl, RunOptions(resume=asked.resume, is_demo=is_demo, **run))
        session.run()
        _conclude(context, session, crawl.settings.storing.store if is_demo else None)


def _preview(crawl: "Crawl") -> None:
    """Show the first requests of the crawl."""
    from minicrawl.cli.crawl.preview import show_preview

    show_preview(asyncio.run(crawl.preview(SHOWN_FIRST)), crawl.settings.scope)


def _conclude(context: click.Context, session: "Session", demo: Path | None) -> None:
    """Print what follows the summary; for a demo, also its best pages."""
    if demo and not context.params["as_json"]:
        from minicrawl.cli.reports.top import top

        context.invoke(top, store=demo, n=SHOWN_TOP)
    session.suggest_next_commands()
    session.fail_without_success()


def _refuse_conflicts(asked: CrawlRequest) -> None:
    given = asked.given
    if asked.loaded.settings.cluster.url is not None:
        cluster_door()
    for companion in companions():
        companion.refuse(asked)
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("--quiet and --verbose cannot be combined")
    if given["fresh"] and given["must_resume"]:
        raise click.UsageError("--fresh and --resume cannot be combined")
    if given["log_keep"] is not None and not given["log_file"]:
        raise click.UsageError("--log-keep needs --log-file")


def _warn_of_logins(loaded: Loaded, seeds: Sequence[str]) -> None:
    for name, in_file in _HIDES_LOGIN.items():
        setting = BY_NAME[name]
        values = loaded.settings.value(setting)
        if loaded.origins[name] == setting.flag and setting.kind.masked(values) != values:
            hides = f"{setting.variable} or {setting.flag} {in_file} hides it"
            click.echo(f"the login of {setting.flag} {_SEEN_BY_ALL}: {hides}", err=True)
    if any(map(has_login, seeds)):
        hides = "a file of seeds, MINICRAWL_AUTH or --netrc hides it"
        click.echo(f"the login of a seed {_SEEN_BY_ALL}: {hides}", err=True)


def _refuse_nothing(store: Path, *, must_resume: bool) -> None:
    if must_resume and not store.exists():
        raise UsageError(f"no store at {store}: there is nothing to resume")


def _resume_command(arguments: tuple[str, ...]) -> str:
    """Return the command without --fresh and stdin, which cannot be read again.

    It is printed and stored, so secrets are left out.
    """
    kept = [one for one in _without_secrets(arguments) if one not in _NOT_TO_RESUME]
    return shlex.join([PROGRAM, "crawl", *kept])


def _without_secrets(arguments: Iterable[str]) -> Iterator[str]:
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if name not in _SECRET_FLAGS:
            yield without_login(argument)
        elif not equals:
            next(rest, None)  # its value


def _open_crawl(asked: CrawlRequest, served: OwnWeb | None, stack: ExitStack) -> "Crawl":
    """Return the crawl of the seeds or of `served`; it ends with the stack."""
    from minicrawl import app
    from minicrawl.cli.common.stores import reporting_damaged_store
    from minicrawl.cli.crawl.seed_lists import seeds_of

    seeds = seeds_of(asked.given["seeds"], stack) if served is None else served.seeds
    loaded = asked.loaded if served is None else served.loaded
    crawl = app.Crawl(seeds, loaded, fresh=asked.given["fresh"], command=asked.resume)
    stack.enter_context(reporting_damaged_store(crawl.settings.storing.store))
    return crawl
