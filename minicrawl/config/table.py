"""The table of all settings: by section, by name, and those that a store keeps."""

from minicrawl.config.declaration import Section, settings_in
from minicrawl.config.parts import selection, servers, storage

SECTIONS = {
    section.name: section
    for section in (
        Section("budget", selection.Budget),
        Section("order", selection.Order),
        Section("scope", selection.Scope),
        Section("politeness", servers.Politeness),
        Section("network", servers.Network),
        Section("access", servers.Access),
        Section("render", storage.Rendering),
        Section("limits", selection.Limits),
        Section("traps", selection.Traps),
        Section("store", storage.Storing),
        Section("cluster", storage.Cluster),
    )
}
TABLE = tuple(row for section in SECTIONS.values() for row in settings_in(section))
BY_NAME = {row.name: row for row in TABLE}
STORED = tuple(row for row in TABLE if row.stored)
"""Settings that a store keeps."""
