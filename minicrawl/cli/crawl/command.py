"""`minicrawl crawl`: start or resume a crawl, or preview one with --dry-run. `minicrawl update`.

Heavy modules are imported on demand, so that `crawl --help` is fast.

`minicrawl update` reads a crawl again, and says what changed. Laws: the same command does the same
every night. Each update has the page limit of the last run of `crawl` for itself: that limit also
counts revisits, so a few updates would use it up.
"""

import asyncio
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from minicrawl import ext
from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import (
    CrawlRequest,
    OwnWeb,
    cluster_door,
    companion_options,
    companions,
)
from minicrawl.cli.crawl.seeds import seeds_of
from minicrawl.cli.options import (
    NOTIFY_SECRET,
    CommandWithSettings,
    Number,
    graph_of_option,
    loaded_options,
    naming,
)
from minicrawl.config import Loaded, Scope, Settings
from minicrawl.config.table import BY_NAME, TABLE
from minicrawl.config.values.kinds import PATTERN, TIME, InvalidValue
from minicrawl.config.values.networks import has_login, hidden_login, without_login, without_logins
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.model import CRAWLED
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.crawl.hooks import OnPage
    from minicrawl.crawl.start.preview import FirstHost, Preview

SHOWN_FIRST = 20
SHOWN_TOP = 10
_ARGUMENTS = f"{__name__}.arguments"
_NO_STORE = "no store at {}: there is nothing to resume"
_SEEN_BY_ALL = "is visible to all users of this machine in the list of processes"
_HIDES_LOGIN = {"proxy": "@FILE", "auth": "HOST=@FILE", "bearer": "HOST=@FILE"}
"""Settings with logins, and the form of value that keeps the login in a file."""
_NATS_SCHEMES = ("nats://", "tls://")
_SECRET_FLAGS = frozenset(
    row.flag for row in TABLE if row.section.name == "access" and row.kind.mask
)


class CrawlCommand(CommandWithSettings):
    """Command that remembers its arguments, to print the command that resumes the crawl."""

    usual = (
        *("--pages", "--for", "--scope", "--deny", "--max-depth", "--delay", "--contact"),
        *("--keep", "--warc", "--store", "--fresh", "--dry-run", "--help"),
    )

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
@click.option(
    "--sink",
    metavar="URL",
    help="Hand each page over to the sink of a package, chosen by the scheme of URL, such as "
    "postgresql://host/database. A page counts as fetched when the sink has it.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only warnings and errors.")
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
    help="Colour stderr; auto: on a terminal, or as FORCE_COLOR or NO_COLOR say.",
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
    from minicrawl.crawl.workers.pool import forked_workers

    given, arguments = context.params, context.meta[_ARGUMENTS]
    request = CrawlRequest(loaded, given, resume_command(arguments))
    _refuse_conflicts(request)
    _warn_of_logins(loaded, seeds)
    _refuse_unsigned(loaded.settings)
    if any(companion.crawls_instead(request) for companion in companions()):
        return
    with forked_workers(loaded.settings), ExitStack() as stack:
        from minicrawl.cli.crawl.session import RunOptions, Session

        web = next((web for each in companions() if (web := each.own_web(request))), None)
        served = None if web is None else stack.enter_context(web)
        crawl = _open_crawl(request, request.resume, served, stack)
        if given["must_resume"] and not (store := crawl.settings.storing.store).exists():
            raise UsageError(_NO_STORE.format(store))
        if given["dry_run"]:
            _show_preview(asyncio.run(crawl.preview(SHOWN_FIRST)), crawl.settings.scope)
            return
        for companion in companions():
            stack.enter_context(companion.beside(crawl, request))
        run = {field.name: given[field.name] for field in fields(RunOptions) if field.name in given}
        run["graph_stats"] |= any(each.samples_graph(request) for each in companions())
        is_demo = served is not None
        again = None if is_demo else _update_command(arguments)
        session = Session(
            crawl, RunOptions(resume=request.resume, update=again, is_demo=is_demo, **run)
        )
        session.run()
        if is_demo and not (given["as_json"] or given["quiet"]):
            from minicrawl.cli.pages.top import top

            context.invoke(top, store=crawl.settings.storing.store, n=SHOWN_TOP)
        session.suggest_next_commands()
        session.fail_without_success()


def _show_preview(preview: "Preview", scope: Scope) -> None:
    """Show the scope, the hosts of the first pages with their robots.txt, and the first pages."""
    from minicrawl.cli.output import show_facts, show_list, units
    from minicrawl.web.urls import origin

    show_facts(
        [
            ("scope", scope.scope),
            *(("allow", pattern) for pattern in scope.allow),
            *(("deny", pattern) for pattern in scope.deny),
            *(("limit", text) for text in preview.limits),
            ("known", f"{counted(preview.known, 'page')}, {counted(preview.seeds, 'seed')}"),
        ]
    )
    click.echo()
    hosts = ((f"{host.delay_s:g} s", host.origin, _robots(host)) for host in preview.hosts)
    show_list(("delay", "host", "robots.txt"), hosts, texts=2)
    click.echo()
    silent = {host.origin for host in preview.hosts if host.rules is None and host.trouble is None}
    turns = []
    for turn, page in enumerate(preview.pages, 1):
        action = "wait" if origin(page.url) in silent else "fetch"
        action = action if page.refusal is None else page.refusal.label
        turns.append((f"{turn:,}", units(page.cash), action, page.url))
    show_list(("turn", "cash", "action", "url"), turns, texts=1)
    click.echo("\nonly robots.txt was fetched, and nothing was written")


def _robots(host: "FirstHost") -> str:
    if host.trouble is not None:
        return f"not available: {host.trouble.label}"
    if host.rules is None:
        return "no answer; the crawl would ask again"
    if not host.rules.forbidden:
        return "forbids nothing"
    return f"{len(host.rules.forbidden):,} Disallow, {len(host.rules.allowed):,} Allow"


def _refuse_conflicts(request: CrawlRequest) -> None:
    given = request.given
    if request.loaded.settings.cluster.url is not None:
        cluster_door()
        if given["sink"]:
            raise click.UsageError("--sink and --cluster cannot be combined")
    for companion in companions():
        companion.refuse(request)
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("--quiet and --verbose cannot be combined")
    if given["fresh"] and given["must_resume"]:
        raise click.UsageError("--fresh and --resume cannot be combined")
    if given["log_keep"] is not None and not given["log_file"]:
        raise click.UsageError("--log-keep needs --log-file")


def _refuse_unsigned(settings: Settings) -> None:
    """Raise UsageError if documents are to be posted that could not be signed."""
    if settings.network.notify and not os.environ.get(NOTIFY_SECRET):
        raise UsageError(f"--notify needs {NOTIFY_SECRET}, the secret that signs what is posted")


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


def resume_command(arguments: tuple[str, ...]) -> str:
    """Return the command to print and store: without --fresh, stdin, which is gone, and secrets."""
    repeated = [word for word in _without_secrets(arguments) if word not in ("--fresh", "-")]
    return shlex.join([PROGRAM, "crawl", *repeated])


def _update_command(arguments: tuple[str, ...]) -> str:
    """Return the command that reads the crawl again, with the options of this run that it has."""
    flags = {
        flag: parameter
        for parameter in update.params
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }
    options, remaining = list[str](), iter(_without_secrets(arguments))
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if isinstance(option := flags.get(name), click.Option):
            has_value = not equals and not option.is_flag
            options += [argument, *islice(remaining, has_value)]
    return shlex.join([PROGRAM, "update", *options])


def _without_secrets(arguments: Iterable[str]) -> Iterator[str]:
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if name not in _SECRET_FLAGS:
            is_cluster = argument.removeprefix("--cluster=").startswith(_NATS_SCHEMES)
            yield (without_logins if is_cluster else without_login)(argument)
        elif not equals:
            next(remaining, None)  # its value


def _open_crawl(
    request: CrawlRequest, command: str | None, served: OwnWeb | None, stack: ExitStack
) -> "Crawl":
    """Return the crawl of the seeds or of `served`. Without a command, the store keeps its own."""
    from minicrawl import app
    from minicrawl.cli.store_options import reporting_damaged_store

    seeds = seeds_of(request.given["seeds"], stack) if served is None else served.seeds
    loaded = request.loaded if served is None else served.loaded
    address = request.given["sink"]
    on_page = None if address is None else _opened_sink(address, stack)
    crawl = app.Crawl(
        seeds,
        loaded,
        fresh=request.given["fresh"],
        command=command,
        on_page=on_page,
        on_error="retry",
    )
    stack.enter_context(reporting_damaged_store(crawl.settings.storing.store))
    return crawl


_OF_AN_UPDATE = frozenset(
    row.name
    for row in TABLE
    if row.section.name in ("budget", "politeness", "network", "access", "limits")
    or (row.section.name == "store" and not row.stored)
) - {"pages", "until", "continuous"} | {"store"}
"""Settings with an option: those of one run, and those that a store may not weaken. The store has
the others. Limits of all runs would end an update at its start."""


def _watch_rule(rule: str) -> tuple[str, float]:
    """Return a URL or a regular expression, and the time after which its pages are read again."""
    pattern, _, interval = rule.rpartition("=")
    try:
        return str(PATTERN.read(pattern)), float(str(TIME.read(interval)))
    except InvalidValue as unfit:
        raise click.BadParameter(f"{rule!r}: {unfit.value!r} {unfit.wanted}") from None


@click.command(cls=CrawlCommand)
@click.option(
    "--watch",
    multiple=True,
    metavar="URL|REGEX=TIME",
    type=_watch_rule,
    help="Of the pages read before, request only those at this URL, or whose URLs match REGEX, "
    "and only if they were last read TIME ago or longer: '/news/=1h'. Repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only what changed, and warnings.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options(without=[row.name for row in TABLE if row.name not in _OF_AN_UPDATE])
@click.pass_context
def update(
    context: click.Context,
    /,
    loaded: Loaded,
    watch: tuple[tuple[str, float], ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Fetch the pages of a crawl again, with the store's own settings, and say what changed.

    Each page is requested once, those that have probably changed first. On hosts whose sitemaps
    have been right before, pages that the sitemap says are unchanged are left out, but one in
    eleven is requested all the same. New pages are requested, and dead targets of links and checks
    again: at least once a week, sooner if they have just failed. The limit of pages is that of the
    last `crawl`. Run the same command every night, and list the pages with `minicrawl changes`.
    """
    from minicrawl.crawl.workers.pool import forked_workers
    from minicrawl.store import tables
    from minicrawl.store.reader import reading

    store = loaded.settings.storing.store
    if not store.exists():
        raise UsageError(_NO_STORE.format(store))
    _warn_of_logins(loaded, ())
    _refuse_unsigned(loaded.settings)
    with reading(store) as connection:
        counters = tables.counters(connection)
        if tables.settings(connection).get("deterministic"):
            raise UsageError(
                f"{store} was crawled with --deterministic, but an update varies with time: "
                f"`{PROGRAM} crawl --no-deterministic` allows updates from then on"
            )
    values: dict[str, object] = {"refresh": 1.0, "continuous": False, "pages": None, "until": None}
    most = counters.get(tables.PAGES_OF_A_RUN, counters.get(tables.MAXIMUM))
    if loaded.settings.budget.new_pages is None and isinstance(most, int):
        values["new-pages"] = most
    received = counters.get("wire_bytes")
    if (more := loaded.settings.budget.body_bytes) is not None and isinstance(received, int):
        values["bytes"] = received + more  # the limit of a crawl counts the bytes of all runs
    settings = loaded.settings.with_values(values)
    order = replace(settings.order, watch=watch)
    again = replace(loaded, settings=replace(settings, order=order))
    command = shlex.join([PROGRAM, "update", *_without_secrets(context.meta[_ARGUMENTS])])
    no_options = {str(option.name): None for option in crawl.params} | {"seeds": ()}
    request = CrawlRequest(again, no_options, command)
    _refuse_conflicts(request)
    with forked_workers(again.settings), ExitStack() as stack:
        from minicrawl.cli.crawl.session import RunOptions, Session

        # The store keeps the command of the crawl itself, and its limits.
        options = RunOptions(kind="update", resume=command, quiet=quiet)
        session = Session(_open_crawl(request, None, None, stack), options)
        session.run()
        _show_changes(store, session.not_requested, as_json=as_json)
        session.fail_without_success()


def _show_changes(store: Path, not_requested: int, *, as_json: bool) -> None:
    """Show the number of changes of each kind since the run began, and of pages not requested."""
    from minicrawl.cli.output import show_json, show_list
    from minicrawl.report.snapshot import snapshot
    from minicrawl.report.states.changes import counted_changes
    from minicrawl.store import tables

    with snapshot(store) as view:
        counts = counted_changes(view)
        left_out = tables.counters(view.connection).get(tables.LEFT_OUT, 0)
    if as_json:
        show_json({**counts, "left_out": left_out, "not_requested": not_requested})
        return
    rows = [(f"{number:,}", kind) for kind, number in counts.items()]
    if left_out:
        rows.append((f"{left_out:,}", "left out: unchanged according to the sitemap"))
    if not_requested:
        rows.append((f"{not_requested:,}", "not requested: the host is down"))
    show_list(("pages", "what"), rows, texts=1)
    if any(number for kind, number in counts.items() if kind != "unchanged"):
        click.echo(f"next: {PROGRAM} changes{naming(store)}", err=True)


def _opened_sink(address: str, stack: ExitStack) -> "OnPage":
    scheme, colon, _ = address.partition(":")
    known = ext.entry_points(ext.SINKS)
    if not colon or scheme not in known:
        schemes = ", ".join(f"{name}:" for name in known) or "none, install a package that adds one"
        raise UsageError(f"--sink {hidden_login(address)}: its scheme must be a sink's ({schemes})")
    opened = cast(Callable[[str], object], known[scheme].load())(address)
    if isinstance(opened, AbstractContextManager):
        on_page = stack.enter_context(opened)
        if callable(on_page):
            return cast("OnPage", on_page)
    raise MinicrawlError(
        f"the sink {scheme!r} of the package {known[scheme].package} is no context with a function"
    )
