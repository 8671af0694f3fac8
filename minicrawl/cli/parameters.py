"""Options of a command, declared where its parameters are: as their defaults.

    @click.command()
    @with_options
    def show(
        rounds: int | None = number("Stop after N rounds.", usual=60),
        matrix: Matrix = choice(Matrix, "Kind of matrix.", Matrix.LINKS),
        lazy: bool = switch("Stay in place half of the time."),
        seeds: Path | None = option("Read seeds from this file.", type=FILE),
    ) -> None: ...

The flag of `most_rounds` is `--most-rounds`, unless the declaration names others. A value that the
help shows as `usual` is not passed: without the option, the parameter is None.

Options that several commands share are the parameters of a function or the fields of a dataclass,
and the commands take what it returns: `@with_made(options=pagerank_options)`.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import click

from minicrawl.cli.options import Command


class _Declaration(NamedTuple):
    flag: str | None
    attributes: dict[str, Any]


def option(
    text: str,
    default: object = None,
    *,
    flag: str | None = None,
    usual: object = None,
    **attributes: Any,
) -> Any:
    """Declare an option with this help. `attributes` are those of `click.option`."""
    attributes |= {"help": text if usual is None else f"{text}  [default: {usual}]"}
    if default is not None:
        attributes |= {"default": default, "show_default": True}
    return _Declaration(flag, attributes)


def number(
    text: str,
    default: int | None = None,
    *,
    least: int = 1,
    most: int | None = None,
    metavar: str = "N",
    **attributes: Any,
) -> Any:
    """Declare an option with a whole number."""
    bounds = click.IntRange(least, most)
    return option(text, default, metavar=metavar, type=bounds, **attributes)


def switch(text: str, **attributes: Any) -> Any:
    """Declare an option without a value."""
    return option(text, is_flag=True, **attributes)


def choice(
    values: type[StrEnum] | Sequence[str], text: str, default: str | None = None, **attributes: Any
) -> Any:
    return option(text, default and str(default), type=_OneOf(values), **attributes)


class _OneOf(click.Choice[str]):
    """A choice that is passed on as a member of its enumeration."""

    def __init__(self, values: type[StrEnum] | Sequence[str]) -> None:
        super().__init__([str(value) for value in values])
        self._member = values if isinstance(values, type) else str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._member(super().convert(str(value), param, ctx))


def with_options(command: Command, declaring: Callable[..., Any] | None = None) -> Command:
    """Add the options that the parameters of the command, or of another function, declare."""
    parameters = inspect.signature(declaring or command).parameters
    for name, parameter in reversed(list(parameters.items())):
        if isinstance(parameter.default, _Declaration):
            flag, attributes = parameter.default
            flag = flag or f"--{name.replace('_', '-')}"
            command = click.option(*flag.split(), name, **attributes)(command)
    return command


def with_made(**makers: Callable[..., Any]) -> Callable[[Command], Command]:
    """Add the options that each maker declares, and pass what it returns."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_values(*arguments: Any, **values: Any) -> Any:
            for name, make in makers.items():
                own = inspect.signature(make).parameters
                values[name] = make(**{option: values.pop(option) for option in own})
            return command(*arguments, **values)

        decorated: Command = with_values
        for make in reversed(makers.values()):
            decorated = with_options(decorated, make)
        return decorated

    return decorate


_NAME = re.compile(r"[A-Za-z_]\w{0,99}")


def field_option(text: str) -> Any:
    """Declare the option, which can be given several times."""
    return option(
        f"{text} SELECTOR is CSS (.price, img@src), XPath (//h1), jsonld:offers.price or "
        "meta:og:title. Can be given several times.",
        (),
        flag="--field",
        metavar="NAME=SELECTOR",
        multiple=True,
    )


def fields_of(written: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return the selectors by name. Refuse one that cannot be read, and a name that is taken."""
    fields = dict[str, str]()
    for text in written:
        name, equals, selector = text.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise click.UsageError(f"--field {text}: use NAME=SELECTOR, as in price=.price")
        if name.strip() in (*taken, *fields):
            raise click.UsageError(f"--field {text}: there is a column {name.strip()} already")
        fields[name.strip()] = selector.strip()
    if fields:
        from minicrawl.report.archived.page_texts import FIELD, text_maker

        for selector in fields.values():
            text_maker(FIELD + selector)
    return fields
