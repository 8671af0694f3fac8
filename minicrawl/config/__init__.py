"""Settings: frozen values in parts. Each package of minicrawl gets only the part that it needs.

    parts             the parts: fields, types, defaults
    kinds             how a value is parsed, and which values are valid
    quantities        numbers, times and sizes as text
    pace              rates and hours as text
    setting           a row of the table: one name everywhere, a kind, a line of help
    crawl_settings    the rows about what is read: budget, scope, traps, store
    order_settings    the rows about the order of reading
    request_settings  the rows about servers: politeness, network, limits
    access_settings   the rows about who we are to servers: headers, logins, cookies
    table             all rows, and `KEPT`, the rows that a store keeps
    sources           flags, environment and minicrawl.toml as raw values with their places
    settings          the value that takes effect: `Settings`, `load`
    writing           settings as TOML or JSON, with origins

To add a setting, add a field to `parts` and a row to `crawl_settings`, `order_settings` or
`request_settings`.
"""

from minicrawl.config.parts import (
    Access,
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
    "Access",
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
