"""Settings as TOML, as JSON and as text, with their origins; and the settings that a store keeps.

Laws: the output of `as_toml` is a minicrawl.toml with these settings, but for secrets, which no
output has. The kind of a setting parses
its `plain` value, directly or after a round trip through JSON, as the same value.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minicrawl.config.setting import SECTIONS, Setting
from minicrawl.config.settings import Loaded, Settings
from minicrawl.config.table import KEPT, TABLE
from minicrawl.config.values.kinds import NONE

_COMMENTS_FROM = 34  # the column


def as_toml(loaded: Loaded) -> str:
    """One setting a line, with its origin in a comment. Inline tables come first."""
    return "\n".join(_lines(loaded)) + "\n"


def as_document(loaded: Loaded) -> dict[str, dict[str, object]]:
    """The value, in JSON types, and the origin of each setting, by its key in minicrawl.toml."""
    return {
        setting.key: {
            "value": setting.kind.masked(plain(loaded.settings, setting)),
            "from": loaded.origins[setting.name],
        }
        for setting in TABLE
    }


def as_kept(loaded: Loaded) -> dict[str, object]:
    """The settings that a store keeps for the next run, by name: those given now or before."""
    return {
        setting.name: plain(loaded.settings, setting)
        for setting in KEPT
        if loaded.is_given(setting)
    }


def plain(settings: Settings, setting: Setting) -> object:
    """The value in JSON types."""
    value = settings.value(setting)
    if setting.is_table:
        return {focus.pattern: _plain(focus.strength) for focus in value}
    if isinstance(value, tuple):
        return list(value)
    return _plain(value)


def as_text(value: object) -> str:
    """A plain value for a message."""
    match value:
        case bool(on):
            return "on" if on else "off"
        case dict(strengths) if strengths:
            return ", ".join(f"{pattern}={strength}" for pattern, strength in strengths.items())
        case list(texts) if texts:
            return ", ".join(map(str, texts))
        case None | [] | {}:
            return NONE
    return str(value)


def _lines(loaded: Loaded) -> Iterator[str]:
    yield from (_line(loaded, setting) for setting in TABLE if setting.is_table)
    for section in SECTIONS.values():
        yield f"\n[{section.name}]"
        for setting in TABLE:
            if setting.section is section and not setting.is_table:
                yield _line(loaded, setting)


def _line(loaded: Loaded, setting: Setting) -> str:
    value = _literal(setting.kind.masked(plain(loaded.settings, setting)))
    origin = "".join(c if c.isprintable() else "?" for c in loaded.origins[setting.name])
    return f"{f'{setting.name} = {value}':{_COMMENTS_FROM}}  # {origin}"


def _plain(value: Any) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)} = {_literal(of)}' for key, of in value.items())}}}"
    # Strings have printable characters only, which JSON and TOML write alike.
    return json.dumps(NONE if value is None else value, ensure_ascii=False)
