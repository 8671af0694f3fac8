"""Options of commands: the table of settings, and what hands it to a command.

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
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl import ext
from minicrawl.cli import missing_room
from minicrawl.cli.output import warn
from minicrawl.config import Loaded, Storing, load
from minicrawl.config.declaration import PREFIX, Setting
from minicrawl.config.removed import FORMER
from minicrawl.config.settings import told_ignored
from minicrawl.config.sources import FOLDER_FILE, unknown_variables, unnamed_files
from minicrawl.config.table import SECTIONS, TABLE
from minicrawl.config.values import kinds
from minicrawl.model import GRAPHS

CONFIG_VARIABLE, NOTIFY_SECRET = f"{PREFIX}CONFIG", f"{PREFIX}NOTIFY_SECRET"
"""Variables that are no settings: the file with settings, and the secret of --notify."""
OWN_OPTIONS = "Options"

Command = Callable[..., Any]


def refuse(conflicts: Mapping[str, object]) -> None:
    """Raise UsageError if any of these holds, with its key as the reason."""
    for why, holds in conflicts.items():
        if holds:
            raise click.UsageError(why)


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
    def __init__(self, declarations: list[str], *, row: Setting, **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.heading = row.section.name.capitalize()

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Refuse an option in place of a forgotten value."""
        given = opts.get(self.name or "")
        for value in given if isinstance(given, list | tuple) else (given,):
            name = value.partition("=")[0] if isinstance(value, str) else ""
            is_option = any(
                name in (*parameter.opts, *parameter.secondary_opts)
                for parameter in ctx.command.params
            )
            if name.startswith("--") and is_option:
                raise click.UsageError(f"{self.opts[0]} lacks its value: {value} is an option", ctx)
        return super().handle_parse_result(ctx, opts, args)


class ListOption(click.Option):
    """An option with a list, separated by commas. Given again, it adds to the list."""

    def __init__(
        self, declarations: list[str], *, default: str | None = None, **attributes: Any
    ) -> None:
        defaults = None if default is None else [default]
        super().__init__(declarations, multiple=True, default=defaults, **attributes)

    def type_cast_value(self, ctx: click.Context, value: Sequence[str]) -> Any:
        """Return the value of all lists together, None without any."""
        return self.type(",".join(value), self, ctx) if value else None


def sizes(listed: str) -> tuple[int, ...]:
    """Return the whole numbers above 0 that commas separate, sorted."""
    texts = [text.strip() for text in listed.split(",")]
    if not all(text.isascii() and text.isdigit() and text.strip("0") for text in texts):
        raise click.BadParameter(f"{listed!r} is not a list of numbers such as 10,100")
    return tuple(sorted(set(map(int, texts))))


ALL = "all"


class CommandWithSettings(click.Command):
    """A command whose help lists its own options first, then the settings, section by section.

    If `usual` names the flags that most users need, `--help` shows these, and `--help SECTION` and
    `--help all` the others.
    """

    usual: Sequence[str] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all options, those of the section that is asked for, or the usual ones."""
        part = ctx.meta.get(__name__, "" if self.usual else ALL)
        for heading, options in self.sections(ctx).items():
            records = [
                record
                for option in options
                if part or set(self.usual).intersection(option.opts)
                if (record := option.get_help_record(ctx))
            ]
            if records and part in ("", ALL, heading.lower()):
                with formatter.section(heading):
                    formatter.write_dl(records)
        if not part:
            names = ", ".join(heading.lower() for heading in self.sections(ctx))
            formatter.write_paragraph()
            formatter.write_text(f"More: --help SECTION, where SECTION is {names} or {ALL}.")

    def sections(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Return the options that help shows, by heading."""
        lists: dict[str, list[click.Option]] = {OWN_OPTIONS: []}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and not option.hidden:
                heading = option.heading if isinstance(option, SettingOption) else OWN_OPTIONS
                lists.setdefault(heading, []).append(option)
        return lists

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Let `--help` take the name of a section, if it does not show all of them."""
        usual = super().get_help_option(ctx)
        if not self.usual or usual is None:
            return usual
        return click.Option(
            usual.opts,
            is_flag=False,
            flag_value="",
            is_eager=True,
            expose_value=False,
            callback=self._show_help,
            metavar="[SECTION]",
            help="Show the usual options, those of a section, or all, and exit.",
        )

    def _show_help(self, ctx: click.Context, _option: click.Parameter, section: str | None) -> None:
        if section is None or ctx.resilient_parsing:
            return
        known = [*(heading.lower() for heading in self.sections(ctx)), ALL]
        if section not in ("", *known):
            raise click.UsageError(f"--help {section}: choose one of {', '.join(known)}", ctx)
        ctx.meta[__name__] = section
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def settings_options(*sections: str) -> Callable[[Command], Command]:
    """Add options for sections or single settings, and pass `settings` to the command."""
    return _options(sections, lambda loaded: {"settings": loaded.settings})


def loaded_options(*sections: str, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Like `settings_options`, but pass `loaded`, with origins; none for settings `without`."""
    return _options(sections, lambda loaded: {"loaded": loaded}, without)


def _options(
    sections: tuple[str, ...],
    arguments: Callable[[Loaded], Mapping[str, object]],
    without: Sequence[str] = (),
) -> Callable[[Command], Command]:
    names = sections or tuple(SECTIONS)
    rows = [row for row in TABLE if row.section.name in names or row.name in names]
    rows = [row for row in rows if row.name not in without]
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
    help=f"Read settings from this file.  [default: {FOLDER_FILE}, or "
    "[tool.minicrawl] of pyproject.toml, and the user's minicrawl/config.toml, if they exist]",
)


def loaded_from(flags: Mapping[str, object], named: Path | None) -> Loaded:
    """Load settings from flags, the environment, and the named file or else the usual ones."""
    if named is not None:
        return load(flags, os.environ, named)
    return load(flags, os.environ, None, *unnamed_files(os.environ), is_file_named=False)


def warn_of_ignored(loaded: Loaded, rows: Iterable[Setting]) -> None:
    """Warn about settings in files that a command would use, but that are not trusted."""
    names = {row.name for row in rows}
    places: dict[str, list[str]] = {}
    for name, place in loaded.ignored.items():
        if name in names:
            places.setdefault(place.partition(":")[0], []).append(place)
    for of_file in places.values():
        warn(told_ignored(of_file))


def warn_of_unknown_variables() -> None:
    """Warn about variables that look like a setting but are not."""
    for line in unknown_variables(os.environ, (CONFIG_VARIABLE, NOTIFY_SECRET)):
        warn(line)


def _option(row: Setting) -> Callable[[Command], Command]:
    kind = row.kind
    choices = "|".join(kind.all_names()) if kind.group and kind.names else ""

    def complete(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
        return [name for name in kind.all_names() if name.startswith(typed)]

    return click.option(
        f"{row.flag}/{row.off}" if row.off else row.flag,
        row.argument,
        cls=SettingOption,
        row=row,
        default=None,
        metavar=None if row.off else choices or kind.metavar,
        multiple=kind.many,
        # For completion only: the table parses the value.
        type=None if row.off else click.Path() if kind is kinds.FILE else click.STRING,
        help=f"{row.help}{_default(row)}",
        shell_complete=complete if kind.names else None,
    )


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
        str(option.name): max(option.opts, key=len)
        for option in context.command.params
        if isinstance(option, click.Option)
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    }


def naming(store: Path) -> str:
    """Return the `--store` option that selects this store; empty for the default store."""
    return "" if store == Storing().store else f" --store {shlex.quote(str(store))}"


MAIN, MARKDOWN = "main", "markdown"


def refuse_without_text(name: str, option: str) -> None:
    """Raise if the option needs a text of the room `text`, which is not installed."""
    if name in {MAIN, MARKDOWN} and name not in ext.entry_points(ext.PARSERS):
        raise missing_room(option, "text")
