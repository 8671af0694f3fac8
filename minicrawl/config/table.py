"""The table of all settings: by section, by name, and those that a store keeps."""

from minicrawl.config import parts
from minicrawl.config.declaration import Section, settings_in

SECTIONS = {
    section.name: section
    for section in (
        Section("budget", parts.Budget),
        Section("order", parts.Order),
        Section("scope", parts.Scope),
        Section("politeness", parts.Politeness),
        Section("network", parts.Network),
        Section("access", parts.Access),
        Section("render", parts.Rendering),
        Section("limits", parts.Limits),
        Section("traps", parts.Traps),
        Section("store", parts.Storing),
        Section("cluster", parts.Cluster),
    )
}
TABLE = tuple(row for section in SECTIONS.values() for row in settings_in(section))
BY_NAME = {row.name: row for row in TABLE}
KEPT = tuple(row for row in TABLE if row.kept)
"""Settings that a store keeps."""
