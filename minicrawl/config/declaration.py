"""How a field of a part declares a setting, and what follows: flag, variable, key and argument.

`setting(1.0, either("auto", WAIT), "Time between …", name="delay")` in the part `Politeness` is the
flag --delay, the variable MINICRAWL_DELAY, the key `delay` in `[politeness]` of minicrawl.toml and
the argument `delay` in Python.
"""

import keyword
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

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
    kept: bool = False,
) -> T:
    """Declare a field of a part as a setting, with its default, its kind and its help.

    `off` is the flag that turns a switch off, `--no-NAME` by default. A store keeps the `kept`
    settings: scope, ranking and politeness. Budgets and resources are set for each run.
    """
    declared = {"kind": kind, "help": text, "name": name, "off": off}
    declared |= {"weakens": weakens, "kept": kept}
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
    kept: bool

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
    """Return the environment variable of a setting."""
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
