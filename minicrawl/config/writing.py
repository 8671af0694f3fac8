"""Settings as TOML and as plain values, each with its origin; what a store keeps of them; in words.

Laws: what `as_toml` writes is a minicrawl.toml that gives these settings again; the kind of a
setting reads its `plain` value as the value, also when it went through JSON.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minicrawl.config.kinds import NONE
from minicrawl.config.settings import Loaded, Settings
from minicrawl.config.table import KEPT, SECTIONS, TABLE, Setting

_COMMENTS_FROM = 34  # the column


def as_toml(loaded: Loaded) -> str:
    """Every setting on a line, its origin in a comment; tables are inline and come first."""
    return "\n".join(_lines(loaded)) + "\n"


def as_document(loaded: Loaded) -> dict[str, dict[str, object]]:
    """By each setting's key in minicrawl.toml its value, in JSON's own types, and its origin."""
    return {
        setting.key: {
            "value": plain(loaded.settings, setting),
            "from": loaded.origins[setting.name],
        }
        for setting in TABLE
    }


def as_kept(loaded: Loaded) -> dict[str, object]:
    """By name what a store keeps for the next run: the values that were given, now or before."""
    return {
        setting.name: plain(loaded.settings, setting)
        for setting in KEPT
        if loaded.is_given(setting)
    }


def plain(settings: Settings, setting: Setting) -> object:
    """The value in JSON's own types."""
    value = settings.value(setting)
    if setting.is_table:
        return {focus.pattern: _plain(focus.strength) for focus in value}
    return list(value) if isinstance(value, tuple) else _plain(value)


def in_words(value: object) -> str:
    """A plain value in a message."""
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
    value = _literal(plain(loaded.settings, setting))
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
    # Strings hold printable characters alone: there JSON and TOML agree.
    return json.dumps(NONE if value is None else value, ensure_ascii=False)
