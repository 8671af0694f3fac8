"""Settings: frozen values in parts, so that each package gets only what it needs.

parts          all settings: fields of the parts, each with default, kind, help and names
host_settings  values for one host, or for all below a domain
declaration    how a field declares a setting, and which values of a stranger are weaker
table          the settings of all parts, by section and by name
values         kinds of values: parsing and validation
sources        flags, environment, minicrawl.toml and stores, as raw values with their places
removed        settings of former versions, and what replaces them
settings       effective settings: `Settings`, `load`
writing        settings as TOML, as JSON and as text, with origins

To add a setting, add a field to `parts`, and run `python -m tests.reference --write`: it writes the
reference, and `arguments.pyi`, which tells type checkers the arguments of `Settings.of`.

Importing this package imports only the parts; `Settings`, `Loaded` and `load` follow on first use:
worker processes get their parts from the crawl, and load no settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from minicrawl.config.parts.selection import Budget, Order, Scope, Traps
from minicrawl.config.parts.servers import Access, Network, Politeness
from minicrawl.config.parts.storage import Cluster, Rendering, Storing

if TYPE_CHECKING:
    from minicrawl.config.settings import Loaded, Settings, load

__all__ = [
    "Access",
    "Budget",
    "Cluster",
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
