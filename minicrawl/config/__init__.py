"""Settings: frozen values in parts. Each package of minicrawl gets only the part that it needs.

parts       the parts: fields, types, defaults
values      how a value is read from text, and which values are valid
setting     a row of the table: one name everywhere, a kind, a line of help
rows        all rows, and `KEPT`, the rows that a store keeps
settings    the value that takes effect: `Settings`, `load`; flags, environment and minicrawl.toml
            as raw values with their places; the arguments of `Settings.of`, for type checkers and
            completion; settings as TOML or JSON, with origins
crawl_rows  what is read, until when and into which file; in which order, and what pages are
            worth; what is stored, and what is done when a crawl ends

To add a setting, add a field to `parts`, a row to a module of `rows` and a key to `arguments`.

The parts are imported at once, all else when it is asked for: worker processes get their parts from
the crawl, and read no settings.
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

if not TYPE_CHECKING:  # the type checker knows the names, and that there are no others

    def __getattr__(name: str) -> object:
        if name not in _OF_SETTINGS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("minicrawl.config.settings"), name)
