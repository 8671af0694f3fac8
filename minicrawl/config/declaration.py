"""Declarations of settings by fields of parts; flag, variable, key and argument follow.

`setting(1.0, either("auto", WAIT), "Time between …", name="delay")` in the part `Politeness` is the
flag --delay, the variable MINICRAWL_DELAY, the key `delay` in `[politeness]` of minicrawl.toml and
the argument `delay` in Python.

Law: a rule for strangers compares a stranger's value with the user's own, and returns True if it
does more.
"""

import keyword
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from minicrawl.config.values.access import LOGIN
from minicrawl.config.values.kinds import ValueKind

T = TypeVar("T")

PREFIX = "MINICRAWL_"

Weakens = Callable[[Any, Any], bool]
"""Function that returns True if a stranger's value may do more than the user's own value."""


def setting(
    default: T,
    kind: ValueKind,
    text: str,
    *,
    name: str = "",
    off: str = "",
    weakens: Weakens | None = None,
    stored: bool = False,
) -> T:
    """Declare a field of a part as a setting, with its default, its kind and its help.

    `off` is the flag that turns a switch off, `--no-NAME` by default. A store keeps the `stored`
    settings: scope, ranking and politeness. Budgets and resources are set for each run.
    """
    declared = {"kind": kind, "help": text, "name": name, "off": off}
    declared |= {"weakens": weakens, "stored": stored}
    return field(default=default, repr=kind.mask is None, metadata=declared)


@dataclass(frozen=True, slots=True)
class Section:
    """Section of minicrawl.toml, and the part of the settings that it sets."""

    name: str
    make: type

    @property
    def part(self) -> str:
        """Name of the part in `Settings`."""
        return self.make.__name__.lower()


@dataclass(frozen=True, slots=True)
class Setting:
    """Declared setting: its names, kind and help. `field` is the name of the part's field."""

    section: Section
    field: str
    default: object
    kind: ValueKind
    help: str
    name: str
    off: str  # the flag that turns a switch off
    weakens: Weakens | None  # None: harmless from any source
    stored: bool

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return variable_of(self.name)

    @property
    def key(self) -> str:
        return f"{self.section.name}.{self.name}"

    @property
    def argument(self) -> str:
        name = self.name.replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name


def variable_of(name: str) -> str:
    return PREFIX + name.replace("-", "_").upper()


def settings_in(section: Section) -> Iterator[Setting]:
    """Yield the settings of a section. Other fields are limits that only tests change."""
    for attribute in fields(section.make):
        if attribute.metadata:
            declared = dict(attribute.metadata)
            declared["name"] = name = declared["name"] or attribute.name.replace("_", "-")
            if declared["kind"].is_switch:
                declared["off"] = declared["off"] or f"--no-{name}"
            yield Setting(
                section=section, field=attribute.name, default=attribute.default, **declared
            )


def differs(value: object, own: object) -> bool:
    """Rule for files, programs, addresses and servers: any other value is a risk."""
    return value != own


def is_lower(value: Any, own: Any) -> bool:
    """Rule for delays and for protective switches. The delay `auto` has a minimum."""
    return not isinstance(value, str) and (isinstance(own, str) or value < own)


def is_higher(value: Any, own: Any) -> bool:
    """Rule for limits. The number `auto` depends on the machine."""
    return not isinstance(value, str) and value > (0 if isinstance(own, str) else own)


def allows_all(value: bool | None, _own: bool | None) -> bool:
    """Rule for private addresses: none and those of seeds are harmless."""
    return value is True


def reads_another_file(value: Sequence[str], own: Sequence[str]) -> bool:
    """Rule for logins: a stranger's login is harmless, but may not come from a file of the user."""
    matches = (LOGIN.fullmatch(text) for text in value if text not in own)
    return any(match is not None and match["file"] for match in matches)


def names_another_example(value: Sequence[str], own: Sequence[str]) -> bool:
    """Rule for scorers: a stranger may not make the crawl read files of the user as examples."""
    return any(text.startswith("likeness:") and text not in own for text in value)


def starts_with_another_file(value: object, own: object) -> bool:
    """Rule for cookies: on and off are harmless, a file is a risk."""
    return isinstance(value, Path) and value != own
