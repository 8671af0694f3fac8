"""Settings as TOML, as JSON and as text, with their origins; and the settings that a store keeps.

Laws: the output of `as_toml` is a minicrawl.toml with these settings, except for secrets, which
are never written. Parsing the `plain` value of a setting, directly or after a round trip through
JSON, gives the same value.
"""

import json
from pathlib import Path

from minicrawl.config.declaration import Setting
from minicrawl.config.host_settings import HOST_SETTINGS, is_of_proxy
from minicrawl.config.settings import Loaded, Settings
from minicrawl.config.table import SECTIONS, STORED, TABLE
from minicrawl.config.values.kinds import NONE
from minicrawl.config.values.stop_rules import FORMS

_COMMENTS_FROM = 34  # the column


def as_toml(loaded: Loaded) -> str:
    """Return TOML with a setting per line and its origin in a comment."""
    lines = []
    for section in SECTIONS.values():
        lines.append(f"\n[{section.name}]")
        for setting in (row for row in TABLE if row.section is section):
            shown = setting.kind.masked(plain(loaded.settings, setting))
            # Strings are printable, so JSON and TOML write them alike.
            value = json.dumps(NONE if shown is None else shown, ensure_ascii=False)
            origin = "".join(c if c.isprintable() else "?" for c in loaded.origins[setting.name])
            lines.append(f"{f'{setting.name} = {value}':{_COMMENTS_FROM}}  # {origin}")
    return "\n".join(lines) + "\n"


def as_document(loaded: Loaded) -> dict[str, dict[str, object]]:
    """Return value (in JSON types) and origin of each setting, by its key in minicrawl.toml."""
    return {
        setting.key: {
            "value": setting.kind.masked(plain(loaded.settings, setting)),
            "from": loaded.origins[setting.name],
        }
        for setting in TABLE
    }


def as_kept(loaded: Loaded) -> dict[str, object]:
    """Return the settings that a store keeps for the next run, by name: given now or before."""
    given = {row.name: plain(loaded.settings, row) for row in STORED if loaded.is_given(row)}
    if isinstance(texts := given.get(HOST_SETTINGS), list):  # proxies may have logins
        given[HOST_SETTINGS] = [text for text in texts if not is_of_proxy(text)]
    return given


def plain(settings: Settings, setting: Setting) -> object:
    """Return the value in JSON types."""
    value = settings.value(setting)
    if isinstance(value, FORMS):
        value = value.plain
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def as_text(value: object) -> str:
    """Format a plain value for a message."""
    match value:
        case bool(on):
            return "on" if on else "off"
        case list(texts) if texts:
            return ", ".join(map(str, texts))
        case None | []:
            return NONE
    return str(value)
