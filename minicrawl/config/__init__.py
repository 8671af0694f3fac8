"""Settings: frozen values, each part of the house gets its slice.

    parts       the slices: fields, types, defaults
    kinds       how a value is read and what is wanted of it
    table       one row a setting: its name everywhere, its kind, its line of help
    sources     flags, environment and minicrawl.toml as raw values with their places
    settings    which of them counts: `Settings`, `load`
    writing     all of it as TOML or JSON, with origins

A new setting is a field in `parts` and a row in `table`; `KEPT` there are those that a store
keeps.
"""

from minicrawl.config.parts import (
    Budget,
    Focus,
    Network,
    Order,
    Politeness,
    Scope,
    Storing,
    Traps,
)
from minicrawl.config.settings import Loaded, Settings, load

__all__ = [
    "Budget",
    "Focus",
    "Loaded",
    "Network",
    "Order",
    "Politeness",
    "Scope",
    "Settings",
    "Storing",
    "Traps",
    "load",
]
