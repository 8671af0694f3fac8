"""Settings for tests: those of users, and limits that have no row in the table of settings."""

from collections import defaultdict
from dataclasses import fields, replace
from typing import Any

from minicrawl import Settings
from minicrawl.config.table import SECTIONS, TABLE

_ROWS = {(row.section, row.field) for row in TABLE}
PART_OF = {
    field.name: section.part
    for section in SECTIONS.values()
    for field in fields(section.make)
    if (section, field.name) not in _ROWS
}
"""Part of `Settings` that has each limit, by the limit's name."""


def settings_of(**values: Any) -> Settings:
    """Return `Settings.of(**values)`, where `values` may also name limits."""
    parts: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name in PART_OF.keys() & values.keys():
        parts[PART_OF[name]][name] = values.pop(name)
    made = Settings.of(**values)
    return replace(made, **{part: replace(getattr(made, part), **of) for part, of in parts.items()})
