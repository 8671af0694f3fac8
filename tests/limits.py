"""Settings with other limits of the code: fields of the parts that have no row in the table."""

from collections import defaultdict
from dataclasses import fields, replace
from typing import Any

from minicrawl.config import Settings
from minicrawl.config.parts import SECTIONS, TABLE

_ROWS = {(row.section, row.field) for row in TABLE}
PART_OF = {
    field.name: section.part
    for section in SECTIONS.values()
    for field in fields(section.make)
    if (section, field.name) not in _ROWS
}
"""The part that each limit is in, by its name."""


def settings_of(**values: Any) -> Settings:
    """As `Settings.of`, which knows no limits."""
    parts: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name in PART_OF.keys() & values.keys():
        parts[PART_OF[name]][name] = values.pop(name)
    made = Settings.of(**values)
    return replace(made, **{part: replace(getattr(made, part), **of) for part, of in parts.items()})
