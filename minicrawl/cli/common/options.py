"""The table of settings as options of commands.

`@settings_options("budget", "order")` gives a command the options of these sections, or all, and
hands it `settings`: what flags, environment, minicrawl.toml and defaults make together. Values are
text here; the table reads them, so that a flag and a variable are refused alike.

Numbers that options take.
"""

import functools
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from minicrawl.config import Loaded, kinds, load
from minicrawl.config.table import PREFIX, SECTIONS, TABLE, Section, Setting
from minicrawl.errors import UsageError


class Number(click.FloatRange):
    """A number within bounds, which nan and infinity are not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number of the range", param, ctx)
        return number


USUAL_FILE = Path("minicrawl.toml")
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
OWN_OPTIONS = "Options"

Command = Callable[..., Any]
Completion = Callable[[click.Context, click.Parameter, str], list[str]]
Rows = tuple[Setting, ...]


class SettingOption(click.Option):
    """An option that stands for a row of the table, or for several that share a flag."""

    def __init__(self, declarations: list[str], *, rows: Rows, **rest: Any) -> None:
        super().__init__(declarations, **rest)
        self.heading = rows[0].section.name.capitalize()


class CommandWithSettings(click.Command):
    """A command whose help lists the settings by their sections, after its own options."""

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
    """Options of the sections; with what the other sources give they become `settings`."""
    return _options(sections, lambda loaded: {"settings": loaded.settings})


def loaded_options(*sections: str) -> Callable[[Command], Command]:
    """The same for a command that asks for the origins too: it gets `loaded`."""
    return _options(sections, lambda loaded: {"loaded": loaded})


def _options(
    sections: tuple[str, ...], handed: Callable[[Loaded], Mapping[str, object]]
) -> Callable[[Command], Command]:
    by_parameter = dict(_by_parameter([SECTIONS[name] for name in sections or SECTIONS]))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_settings(config_file: Path | None, **values: Any) -> Any:
            flags: dict[str, object] = {}
            for name, rows in by_parameter.items():
                flags |= _flags(rows, values.pop(name))
            loaded = load(flags, os.environ, config_file or usual_file())
            return command(**values, **handed(loaded))

        decorated: Command = with_settings
        for name, rows in reversed(by_parameter.items()):
            decorated = _option(name, rows)(decorated)
        return _config_option(decorated)

    return decorate


_config_option = click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar=CONFIG_VARIABLE,
    help=f"The file of settings.  [default: {USUAL_FILE}, if there is one]",
)


def usual_file() -> Path | None:
    """A link that leads nowhere is there, and refused when it is read."""
    return USUAL_FILE if os.path.lexists(USUAL_FILE) else None


def _by_parameter(sections: list[Section]) -> Iterator[tuple[str, Rows]]:
    """The rows that each option stands for, by the name click hands its value over under."""
    flags = dict.fromkeys(setting.flag for setting in TABLE if setting.section in sections)
    for flag in flags:
        rows = tuple(setting for setting in TABLE if setting.flag == flag)
        yield flag.removeprefix("--") if rows[0].facet else rows[0].argument, rows


def _flags(rows: Rows, value: Any) -> Mapping[str, object]:
    """What an option was given, by the settings' arguments."""
    if rows[0].facet:
        return dict(_facet(rows, text) for text in value)
    return {rows[0].argument: value}


def _facet(rows: Rows, text: str) -> tuple[str, str]:
    facet, _, value = text.partition("=")
    for row in rows:
        if row.facet == facet:
            return row.argument, value
    wanted = " or ".join(f"{row.facet}={row.kind.metavar}" for row in rows)
    raise UsageError(f"{rows[0].flag} {text}: must be {wanted}")


def _option(name: str, rows: Rows) -> Callable[[Command], Command]:
    row = rows[0]
    kind = row.kind
    return click.option(
        f"{row.flag}/{row.off}" if row.off else row.flag,
        name,
        cls=SettingOption,
        rows=rows,
        default=None,
        metavar=None if row.off else f"{row.facet and 'NAME='}{kind.metavar}",
        multiple=kind.many or bool(row.facet),
        type=_type(row),
        help=_help(rows),
        shell_complete=_completion(kind.names),
    )


def _type(row: Setting) -> click.ParamType[Any] | None:
    """The table reads the value; a type of click's own is there for completion alone."""
    if row.off:
        return None
    return click.Path() if row.kind is kinds.FILE else click.STRING


def _completion(names: tuple[str, ...]) -> Completion | None:
    def complete(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
        return [name for name in names if name.startswith(typed)]

    return complete if names else None


def _help(rows: Rows) -> str:
    row = rows[0]
    if row.facet:
        return "; ".join(f"{one.facet}: {one.help} [default: {one.default:g}]" for one in rows)
    return f"{row.help}{_default(row)}"


def _default(row: Setting) -> str:
    match row.default:
        case ():
            return ""
        case None:
            return "" if row.off else "  [default: none]"  # its help says what neither is
        case bool(on):
            return f"  [default: {'on' if on else 'off'}]"
        case int(number):
            return f"  [default: {number:,}]"
        case float(number):
            return f"  [default: {number:g}]"
        case word:
            return f"  [default: {word}]"
