"""Options of commands: the table of settings, stores and other inputs, and those of packages.

`@settings_options("budget", "order")` adds the options of these sections to a command, or of all
sections, and passes `settings` to it: flags, environment, minicrawl.toml and defaults combined. An
option hands its value on as text and the table parses it, so that a bad flag and a bad variable
give the same message.
"""

from __future__ import annotations

import functools
import math
import os
import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
from click.core import ParameterSource

from minicrawl import ext
from minicrawl.cli import missing_room
from minicrawl.cli.output import progress, wide_option
from minicrawl.config import Loaded, Settings, Storing, load
from minicrawl.config.declaration import PREFIX, Setting
from minicrawl.config.parts import DEMO_STORE
from minicrawl.config.removed import FORMER
from minicrawl.config.settings import DEFAULT, told_ignored
from minicrawl.config.sources import unknown_variables
from minicrawl.config.table import BY_NAME, SECTIONS, TABLE
from minicrawl.config.values import kinds, quantities
from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.model import GRAPHS
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.control import ControlRequest
    from minicrawl.report.snapshot import Snapshot

DEFAULT_FILE = Path("minicrawl.toml")
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
OWN_OPTIONS = "Options"

Command = Callable[..., Any]


class Number(click.FloatRange):
    """A finite number within bounds."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class SettingOption(click.Option):
    """An option for a row of the table."""

    def __init__(self, declarations: list[str], *, row: Setting, **rest: Any) -> None:
        super().__init__(declarations, **rest)
        self.heading = row.section.name.capitalize()

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Refuse an option in place of a forgotten value."""
        given = opts.get(self.name or "")
        for value in given if isinstance(given, list | tuple) else (given,):
            name = value.partition("=")[0] if isinstance(value, str) else ""
            is_option = any(name in (*one.opts, *one.secondary_opts) for one in ctx.command.params)
            if name.startswith("--") and is_option:
                raise click.UsageError(f"{self.opts[0]} lacks its value: {value} is an option", ctx)
        return super().handle_parse_result(ctx, opts, args)


class ListOption(click.Option):
    """An option with a list, separated by commas. Given again, it adds to the list."""

    def __init__(self, declarations: list[str], *, default: str | None = None, **rest: Any) -> None:
        defaults = None if default is None else [default]
        super().__init__(declarations, multiple=True, default=defaults, **rest)

    def type_cast_value(self, ctx: click.Context, value: Sequence[str]) -> Any:
        """Return the value of all lists together, None without any."""
        return self.type(",".join(value), self, ctx) if value else None


class Sizes(click.ParamType[tuple[int, ...]]):
    """A list of whole numbers above 0, separated by commas; sorted."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        texts = [text.strip() for text in str(value).split(",")]
        if not all(text.isascii() and text.isdigit() and text.strip("0") for text in texts):
            self.fail(f"{value!r} is not a list of numbers such as 10,100", param, ctx)
        return tuple(sorted(set(map(int, texts))))


def sizes_option(default: str) -> Callable[[Command], Command]:
    """Pass `ks`, the sizes of the tops to compare, to the command."""
    return click.option(
        "--k",
        "ks",
        cls=ListOption,
        metavar="K,...",
        type=Sizes(),
        default=default,
        show_default=True,
        help="Show the overlap of the K best pages of each rank.",
    )


class CommandWithSettings(click.Command):
    """A command whose help lists its own options first, then the settings, section by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lists: dict[str, list[tuple[str, str]]] = {OWN_OPTIONS: []}
        for option in self.get_params(ctx):
            heading = option.heading if isinstance(option, SettingOption) else OWN_OPTIONS
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                lists.setdefault(heading, []).append(record)
        for heading, records in lists.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def settings_options(*sections: str) -> Callable[[Command], Command]:
    """Add options for sections or single settings, and pass `settings` to the command."""
    return _options(sections, lambda loaded: {"settings": loaded.settings})


def loaded_options(*sections: str, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Like `settings_options`, but pass `loaded`, which has the origin of each setting.

    Settings named in `without` get no option.
    """
    return _options(sections, lambda loaded: {"loaded": loaded}, without)


def _options(
    sections: tuple[str, ...],
    arguments: Callable[[Loaded], Mapping[str, object]],
    without: Sequence[str] = (),
) -> Callable[[Command], Command]:
    rows = _rows(sections or tuple(SECTIONS), without)
    score = any(row.name == "score" for row in rows)
    former = [name.replace("-", "_") for name in FORMER] if score else []

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_settings(config_file: Path | None, **values: Any) -> Any:
            flags = {row.argument: values.pop(row.argument) for row in rows}
            flags |= {name: values.pop(name) for name in former}
            warn_of_unknown_variables()
            loaded = loaded_from(flags, config_file)
            warn_of_ignored(loaded, rows)
            return command(**values, **arguments(loaded))

        decorated: Command = with_settings
        for row in reversed(rows):
            decorated = _option(row)(decorated)
        for name in former:
            flag = f"--{name.replace('_', '-')}"
            decorated = click.option(flag, name, multiple=True, hidden=True)(decorated)
        return _config_option(decorated)

    return decorate


_config_option = click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar=CONFIG_VARIABLE,
    help=f"Read settings from this file.  [default: {DEFAULT_FILE}, if it exists]",
)


def loaded_from(flags: Mapping[str, object], named: Path | None) -> Loaded:
    """Load settings from flags, the environment, and the named file or else minicrawl.toml.

    A broken symbolic link counts as existing, and fails when it is read.
    """
    if named is not None:
        return load(flags, os.environ, named)
    file = DEFAULT_FILE if os.path.lexists(DEFAULT_FILE) else None
    return load(flags, os.environ, file, is_file_named=False)


def warn_of_ignored(loaded: Loaded, rows: Iterable[Setting]) -> None:
    """Warn about settings in minicrawl.toml that a command would use, but that are not trusted."""
    names = {row.name for row in rows}
    places = [place for name, place in loaded.ignored.items() if name in names]
    if line := told_ignored(places):
        click.echo(f"minicrawl: {visible(line)}", err=True)


def warn_of_unknown_variables() -> None:
    """Warn about variables that look like a setting but are not."""
    for line in unknown_variables(os.environ, (CONFIG_VARIABLE,)):
        click.echo(f"minicrawl: {visible(line)}", err=True)


def _rows(names: Sequence[str], without: Sequence[str] = ()) -> list[Setting]:
    """Return the settings with these names of sections or settings, in table order."""
    sections = [SECTIONS[name] for name in names if name in SECTIONS]
    single = [BY_NAME[name] for name in names if name not in SECTIONS]
    chosen = [one for one in TABLE if one.section in sections or one in single]
    return [one for one in chosen if one.name not in without]


def _option(row: Setting) -> Callable[[Command], Command]:
    kind = row.kind

    def complete(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
        return [name for name in kind.all_names() if name.startswith(typed)]

    return click.option(
        f"{row.flag}/{row.off}" if row.off else row.flag,
        row.argument,
        cls=SettingOption,
        row=row,
        default=None,
        metavar=None if row.off else "|".join(kind.all_names()) if kind.group else kind.metavar,
        multiple=kind.many,
        type=_type(row),
        help=f"{row.help}{_default(row)}",
        shell_complete=complete if kind.names else None,
    )


def _type(row: Setting) -> click.ParamType[Any] | None:
    """Return the click type, for shell completion only: the table parses the value."""
    if row.off:
        return None
    return click.Path() if row.kind is kinds.FILE else click.STRING


def _default(row: Setting) -> str:
    match row.default:
        case ():
            return ""
        case None:
            return "" if row.off else "  [default: none]"  # its help names the default
        case bool(on):
            return f"  [default: {'on' if on else 'off'}]"
        case value:
            return f"  [default: {row.kind.show(value)}]"


def graph_of_option(usual: str) -> Callable[[Command], Command]:
    """Pass `graph_of` to the command."""
    return click.option(
        "--graph-of",
        type=click.Choice(GRAPHS),
        default=usual,
        show_default=True,
        help="Graph of the crawled pages, or of all known pages.",
    )


def given_options() -> dict[str, str]:
    """Return the options given on the command line: parameter name -> longest flag."""
    context = click.get_current_context()
    return {
        str(one.name): max(one.opts, key=len)
        for one in context.command.params
        if isinstance(one, click.Option)
        and context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
    }


def naming(store: Path) -> str:
    """Return the `--store` option that selects this store; empty for the default store."""
    return "" if store == Storing().store else f" --store {shlex.quote(str(store))}"


# ================================================================ clusters
#
# `--cluster`, provided by an entry point of the package that crawls in shards.


class ClusterDoor(Protocol):
    """Operations on a cluster, for commands that usually work on a store."""

    def gathered(self, settings: Settings, *, pages: bool) -> AbstractContextManager[Path]:
        """Return a store of all shards, with or without their kept pages."""

    def steer(
        self, settings: Settings, action: str, request: ControlRequest, *, as_json: bool
    ) -> None:
        """Steer the crawl of all nodes."""

    def serve(self, settings: Settings, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Serve a dashboard of all nodes until the process is stopped."""


def cluster_door() -> ClusterDoor:
    """Return the installed provider of `--cluster`; raise UsageError if there is none."""
    for make in ext.loaded(ext.CLUSTERS):
        door: ClusterDoor = make()
        return door
    raise missing_room("--cluster", "cluster")


# ================================================================ texts of rooms
#
# Main text and Markdown of pages, which the room `text` extracts.

MAIN, MARKDOWN = "main", "markdown"


def refuse_without_text(name: str, option: str) -> None:
    """Raise if the option needs a text of the room `text`, which is not installed."""
    if name in {MAIN, MARKDOWN} and name not in ext.entry_points(ext.PARSERS):
        raise missing_room(option, "text")


# ================================================================ companions
#
# Companions of `minicrawl crawl`: packages that add options to it and act while it runs.
#
# The dashboard, the search index, the demo web and the cluster are companions. They come by entry
# points, so this module names none of them.


class CrawlRequest(NamedTuple):
    """Options of a `crawl` command."""

    loaded: Loaded
    given: Mapping[str, Any]
    """Values of all options, keyed by parameter name."""
    resume: str
    """The command that resumes the crawl."""


class OwnWeb(NamedTuple):
    """A web that a companion serves while it is crawled."""

    seeds: Iterable[str]
    loaded: Loaded


class Companion:
    """Extension of `crawl` by a package. By default its hooks do nothing."""

    options: tuple[Callable[[Command], Command], ...] = ()
    """Decorators by `click.option`. `crawl --help` imports their modules: keep them light."""

    def refuse(self, asked: CrawlRequest) -> None:
        """Raise `click.UsageError` where options cannot be combined."""

    def crawls_instead(self, asked: CrawlRequest) -> bool:
        """Crawl in another way and return True, if the options request it."""
        return False

    def own_web(self, asked: CrawlRequest) -> AbstractContextManager[OwnWeb] | None:
        """Return a web served by this companion, if the options request it."""
        return None

    def samples_graph(self, asked: CrawlRequest) -> bool:
        """Return whether to sample the growing graph."""
        return False

    def beside(self, crawl: Crawl, asked: CrawlRequest) -> AbstractContextManager[None]:
        """Return a context that is open while the crawl runs."""
        return nullcontext()

    def next_commands(self, store: Path) -> Sequence[str]:
        """Return commands for this store to suggest after the crawl."""
        return ()


@functools.cache
def companions() -> tuple[Companion, ...]:
    """Return the companions of all packages."""
    return tuple(make() for make in ext.loaded(ext.COMPANIONS))


def companion_options(command: Command) -> Command:
    """Add the options of all companions to a command."""
    for companion in reversed(companions()):
        for option in reversed(companion.options):
            command = option(command)
    return command


# ================================================================ stores

NeedsPages = Callable[[Mapping[str, Any]], bool]
"""True if a command with these parameters reads kept pages."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


READ, STEER, WATCH = "read", "steer", "watch"
_OF_DEMO = (READ, STEER, WATCH)
_DEFAULTS = {
    False: str(Storing().store),
    True: f"{Storing().store}, or {DEMO_STORE} if only that exists",
}


def store_option_for(
    purpose: str, *, of_cluster: bool = False, needs_pages: NeedsPages = lambda _given: False
) -> Callable[[Command], Command]:
    """Pass `store` to the command, from the strongest source of settings.

    `of_cluster` adds --cluster, which gathers the shards of a cluster into a store first, with
    their kept pages if the command `needs_pages`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_store(store: Path | None, cluster: str | None = None, **rest: Any) -> Any:
            warn_of_unknown_variables()
            chosen = os.environ.get(CONFIG_VARIABLE)
            given = {"store": store and str(store), "cluster": cluster}
            loaded = loaded_from(given, Path(chosen) if chosen else None)
            used = ("store", "cluster", "insecure") if of_cluster else ("store",)
            warn_of_ignored(loaded, map(BY_NAME.__getitem__, used))
            with ExitStack() as stack:
                if of_cluster and _is_of_cluster(given, loaded, rest):
                    gathered = cluster_door().gathered(loaded.settings, pages=needs_pages(rest))
                    read = stack.enter_context(gathered)
                else:
                    read = _store_of(loaded, purpose)
                if not rest.get("graph"):
                    stack.enter_context(reporting_damaged_store(read))
                return command(store=read, **rest)

        decorated: Command = click.option(
            "--store",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=f"The store to {purpose}.  [default: {_DEFAULTS[purpose in _OF_DEMO]}]",
        )(with_store)
        return _cluster_option(decorated) if of_cluster else decorated

    return decorate


_cluster_option = click.option(
    "--cluster",
    metavar="URL",
    help="Read the crawl of this cluster instead of a store. Its shards are gathered first.",
)


def _is_of_cluster(given: Mapping[str, object], loaded: Loaded, more: Mapping[str, object]) -> bool:
    """Return whether the strongest source of settings that names an input names a cluster."""
    others = {"--store": given["store"], "--graph": more.get("graph"), "FOLDER": more.get("folder")}
    named = next((name for name, value in others.items() if value), None)
    if given["cluster"] and named:
        raise click.UsageError(f"--cluster and {named} cannot be combined")
    if named or loaded.settings.cluster.url is None:
        return False
    return bool(given["cluster"]) or loaded.origins["store"] == DEFAULT


def _store_of(loaded: Loaded, purpose: str) -> Path:
    """Return the named store, else the default store, else (for some purposes) that of the demo."""
    store, is_named = loaded.settings.storing.store, loaded.origins["store"] != DEFAULT
    if is_named or purpose not in _OF_DEMO or store.exists() or not DEMO_STORE.exists():
        return store
    return DEMO_STORE


@contextmanager
def reporting_damaged_store(store: Path) -> Iterator[None]:
    """Turn an unexpected error into a `StoreError` if the store is damaged.

    A damaged value can make any code fail in any way, so the store is audited after such an error.
    Without damage, the error is a bug in minicrawl and is raised unchanged.
    """
    from minicrawl.store.records import translating_sqlite_errors

    try:
        with translating_sqlite_errors(store):
            yield
    # These say what is wrong by themselves. Checking the store before each command would catch
    # damage earlier, but takes minutes in a large store.
    except (MinicrawlError, click.ClickException, click.Abort, click.exceptions.Exit, OSError):
        raise
    except Exception as error:
        if wrong := _first_wrong(store):
            raise StoreError(
                f"{store} is damaged ({wrong}): run `minicrawl check` for details"
            ) from error
        raise


def _first_wrong(store: Path) -> str | None:
    from minicrawl.report.audit import audit

    try:
        return next(iter(audit(store).wrong), None) if store.is_file() else None
    except MinicrawlError as error:
        return str(error)


store_option = store_option_for(READ, of_cluster=True)
store_with_pages_option = store_option_for(READ, of_cluster=True, needs_pages=lambda _given: True)
own_store_option = store_option_for(READ)
"""Without --cluster, for commands that change files beside a store."""


def selection_options(count: int) -> Callable[[Command], Command]:
    """Pass `selection`, the pages to show, to the command."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_selection(
            n: int, host: str | None, unread: bool, fetched: bool, **rest: Any
        ) -> Any:
            if unread and fetched:
                raise click.UsageError("--unread and --fetched cannot be combined")
            from minicrawl.report.selected_pages import PageSelection

            selection = PageSelection(count=n, host=host, unread=unread, fetched=fetched)
            return command(selection=selection, **rest)

        decorated: Command = with_selection
        for option in reversed(
            (
                count_option(count),
                click.option("--host", metavar="NAME", help="Only pages of this host."),
                click.option(
                    "--unread", is_flag=True, help="Only pages that have not been fetched."
                ),
                click.option("--fetched", is_flag=True, help="Only pages that have been fetched."),
            )
        ):
            decorated = option(decorated)
        return decorated

    return decorate


def count_option(count: int) -> Callable[[Command], Command]:
    """Pass `n`, the number of rows to show (0: all), and add --wide unless `count` is 0."""
    number = click.option(
        "-n",
        "--n",
        metavar="N",
        type=click.IntRange(min=0),
        default=count,
        help=f"At most N rows; 0 for all.  [default: {count or 'all'}]",
    )
    return (lambda command: number(wide_option(command))) if count else number


def refuse_without_near_duplicates(seen: Snapshot) -> None:
    """Raise UsageError if there is no search index, which finds near-duplicates."""
    from minicrawl.store.reader import search_folder

    if not search_folder(seen.path).is_dir():
        raise UsageError(f"{seen.path} has no index: `minicrawl index` finds near-duplicates")


def warn_of_unranked_pages(seen: Snapshot, names: Collection[str]) -> None:
    """Warn about ranks that are older than some pages."""
    from minicrawl.report.snapshot import saved_ranks

    for rank in saved_ranks(seen.path, seen.connection) if names else ():
        if rank.row.name in names and rank.unranked:
            pages = counted(rank.unranked, "page has", "pages have")
            click.echo(f"{pages} no score by {rank.row.name}: found after it was made", err=True)


def tell_of_importance(seen: Snapshot, *, err: bool = False) -> None:
    """Print how exact and how old the importance is, unless the store is empty."""
    from minicrawl.report.snapshot import convergence_of, told

    if len(seen):
        click.echo(f"importance: {told(convergence_of(seen))}", err=err)


graph_option = click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Read this graph file instead of a store: links between IDs or names, plain or .gz; - "
    "for stdin.",
)


def source_options(command: Command) -> Command:
    """Pass an open `source`, the graph, to the command. click's `obj` has it as well."""

    @functools.wraps(command)
    def with_source(store: Path, graph: Path | None, **rest: Any) -> Any:
        from minicrawl.report.store_graph import opened

        context = click.get_current_context()
        if graph and context.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--store and --graph cannot be combined")
        with opened(store, graph, progress) as source:
            context.obj = source
            return command(source=source, **rest)

    return graph_option(store_option(with_source))


# ================================================================ moments
#
# Times as users write them: a day, a time of day, or an age.


class Moment(click.ParamType[float]):
    """A time in seconds since 1970."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from minicrawl.report.archived_pages import moment

        is_number = quantities.finite_number(value) is not None
        ago_s = None if is_number else quantities.seconds(value)
        if ago_s is not None:
            return time.time() - ago_s
        try:
            return moment(str(value))
        except UsageError as error:
            self.fail(f"{error}, nor an age such as 7d", param, ctx)
