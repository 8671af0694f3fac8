"""Settings: frozen values in parts, so that each package gets only what it needs.

parts       the parts: fields, types, defaults
values      parsing and validation of values
setting     a row of the table: a name, a kind of value, a help text
rows        all rows, and `KEPT`, the rows that a store keeps
settings    effective settings: `Settings`, `load`; flags, environment and minicrawl.toml as raw
            values with their places; the arguments of `Settings.of`, for type checkers and
            completion; settings as TOML or JSON, with origins
crawl_rows  rows of budget, scope, traps, order and store

To add a setting, add a field to `parts`, a row to a module of `rows` and a key to `arguments`.

Only the parts are imported at once: worker processes get their parts from the crawl, and load no
settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from minicrawl.config.parts import (
    Access,
    Budget,
    Cluster,
    Focus,
    Network,
    Order,
    Politeness,
    Rendering,
    Scope,
    Storing,
    Traps,
)

if TYPE_CHECKING:
    from minicrawl.config.settings import Loaded, Settings, load

__all__ = [
    "Access",
    "Budget",
    "Cluster",
    "Focus",
    "Loaded",
    "Network",
    "Order",
    "Politeness",
    "Rendering",
    "Scope",
    "Settings",
    "Storing",
    "Traps",
    "load",
]


_OF_SETTINGS = frozenset(("Loaded", "Settings", "load"))

if not TYPE_CHECKING:  # hides `__getattr__` from the type checker, which knows the names

    def __getattr__(name: str) -> object:
        if name not in _OF_SETTINGS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("minicrawl.config.settings"), name)
