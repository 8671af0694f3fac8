"""The table of settings as options of commands, and what packages add to commands.

`@settings_options("budget", "order")` adds the options of these sections to a command, or of all
sections, and passes `settings` to it: flags, environment, minicrawl.toml and defaults combined. An
option hands its value on as text and the table parses it, so that a bad flag and a bad variable
give the same message.
"""

import functools
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click
from click.core import ParameterSource

from minicrawl import plugins
from minicrawl.cli import missing_room
from minicrawl.config import Loaded, Settings, Storing, load
from minicrawl.config import values as kinds
from minicrawl.config.parts import BY_NAME, PREFIX, SECTIONS, TABLE, Setting
from minicrawl.config.settings import FORMER, told_ignored, unknown_variables
from minicrawl.model import GRAPHS
from minicrawl.wording import visible

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.control import ControlRequest

DEFAULT_FILE = Path("minicrawl.toml")
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
OWN_OPTIONS = "Options"

Command = Callable[..., Any]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


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
            if _is_an_option(ctx.command, value):
                raise click.UsageError(f"{self.opts[0]} lacks its value: {value} is an option", ctx)
        return super().handle_parse_result(ctx, opts, args)


def _is_an_option(command: click.Command, value: object) -> bool:
    if not isinstance(value, str) or not value.startswith("--"):
        return False
    name = value.partition("=")[0]
    return any(name in (*one.opts, *one.secondary_opts) for one in command.params)


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
        shell_complete=_completion(kind.all_names) if kind.names else None,
    )


def _type(row: Setting) -> click.ParamType[Any] | None:
    """Return the click type, for shell completion only: the table parses the value."""
    if row.off:
        return None
    return click.Path() if row.kind is kinds.FILE else click.STRING


def _completion(names: Callable[[], Iterable[str]]) -> Completion:
    def complete(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
        return [name for name in names() if name.startswith(typed)]

    return complete


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
        self, settings: Settings, action: str, request: "ControlRequest", *, as_json: bool
    ) -> None:
        """Steer the crawl of all nodes."""

    def serve(self, settings: Settings, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Serve a dashboard of all nodes until the process is stopped."""


def cluster_door() -> ClusterDoor:
    """Return the installed provider of `--cluster`; raise UsageError if there is none."""
    for make in plugins.loaded(plugins.CLUSTERS):
        door: ClusterDoor = make()
        return door
    raise missing_room("--cluster", "cluster")


# ================================================================ texts of rooms
#
# Main text and Markdown of pages, which the room `text` extracts.

MAIN, MARKDOWN = "main", "markdown"


def refuse_without_text(name: str, option: str) -> None:
    """Raise if the option needs a text of the room `text`, which is not installed."""
    if name in {MAIN, MARKDOWN} and name not in plugins.entry_points(plugins.PARSERS):
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

    def beside(self, crawl: "Crawl", asked: CrawlRequest) -> AbstractContextManager[None]:
        """Return a context that is open while the crawl runs."""
        return nullcontext()


@functools.cache
def companions() -> tuple[Companion, ...]:
    """Return the companions of all packages."""
    return tuple(make() for make in plugins.loaded(plugins.COMPANIONS))


def companion_options(command: Command) -> Command:
    """Add the options of all companions to a command."""
    for companion in reversed(companions()):
        for option in reversed(companion.options):
            command = option(command)
    return command
