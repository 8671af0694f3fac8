"""The table of all settings: by section, by name, and those that a store keeps."""

from minicrawl.config.declaration import Section, settings_in
from minicrawl.config.parts import (
    Access,
    Budget,
    Cluster,
    Limits,
    Network,
    Order,
    Politeness,
    Rendering,
    Scope,
    Storing,
    Traps,
)

SECTIONS = {
    section.name: section
    for section in (
        Section("budget", Budget),
        Section("order", Order),
        Section("scope", Scope),
        Section("politeness", Politeness),
        Section("network", Network),
        Section("access", Access),
        Section("render", Rendering),
        Section("limits", Limits),
        Section("traps", Traps),
        Section("store", Storing),
        Section("cluster", Cluster),
    )
}
TABLE = tuple(row for section in SECTIONS.values() for row in settings_in(section))
"""All settings, section by section, in the order of the help."""
BY_NAME = {row.name: row for row in TABLE}
KEPT = tuple(row for row in TABLE if row.kept)
"""Settings that a store keeps."""
