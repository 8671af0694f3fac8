"""Row of the table of settings: section, names, kind of value and help.

A setting has one name, for example `max-depth`. From it come its flag `--max-depth`, its variable
`MINICRAWL_MAX_DEPTH`, its key `max-depth` in a section of minicrawl.toml and its argument
`max_depth` in Python (`for_` where the name is a keyword of Python).

Law: a setting that touches this machine or can weaken a promise has a rule in `weakens`. A value
from a stranger, such as a store, is used only if it weakens nothing.
"""

import keyword
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minicrawl.config import parts
from minicrawl.config.values import ValueKind

PREFIX = "MINICRAWL_"


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.replace("-", "_").upper()


@dataclass(frozen=True, slots=True)
class Section:
    """Section of minicrawl.toml, and the part of the settings that it sets."""

    name: str
    part: str
    make: type


BUDGET = Section("budget", "budget", parts.Budget)
ORDER = Section("order", "order", parts.Order)
SCOPE = Section("scope", "scope", parts.Scope)
POLITENESS = Section("politeness", "politeness", parts.Politeness)
NETWORK = Section("network", "network", parts.Network)
ACCESS = Section("access", "access", parts.Access)
RENDER = Section("render", "rendering", parts.Rendering)
LIMITS = Section("limits", "limits", parts.Limits)
TRAPS = Section("traps", "traps", parts.Traps)
STORE = Section("store", "storing", parts.Storing)
CLUSTER = Section("cluster", "cluster", parts.Cluster)

SECTIONS = {
    one.name: one
    for one in (
        *(BUDGET, ORDER, SCOPE, POLITENESS, NETWORK, ACCESS, RENDER),
        *(LIMITS, TRAPS, STORE, CLUSTER),
    )
}


Weakens = Callable[[Any, Any], bool]
"""True if a stranger's value may do more than the user's own value."""


def differs(value: object, own: object) -> bool:
    """Rule for files, programs, addresses and servers: any other value is a risk."""
    return value != own


def is_lower(value: Any, own: Any) -> bool:
    """Rule for delays and for protective switches. The delay `auto` has a minimum."""
    return not isinstance(value, str) and (isinstance(own, str) or value < own)


def is_higher(value: Any, own: Any) -> bool:
    """Rule for limits. The number `auto` depends on the machine."""
    return not isinstance(value, str) and value > (0 if isinstance(own, str) else own)


@dataclass(frozen=True, slots=True)
class Setting:
    """Row of the table. `field` is the name of the value in its part."""

    section: Section
    field: str
    name: str
    kind: ValueKind
    help: str
    off: str = ""  # the flag that turns a switch off
    is_table: bool = False  # a table of its own in minicrawl.toml, `[focus]`, instead of a key
    weakens: Weakens | None = None  # None: harmless from any source

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return variable_of(self.name)

    @property
    def key(self) -> str:
        return self.name if self.is_table else f"{self.section.name}.{self.name}"

    @property
    def argument(self) -> str:
        name = self.name.replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def default(self) -> object:
        return getattr(self.section.make(), self.field)
