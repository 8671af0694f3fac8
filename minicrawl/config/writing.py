"""Settings as TOML and as plain values, each with its origin.

Law: what `as_toml` writes is a minicrawl.toml that gives these settings again.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minicrawl.config.kinds import NONE
from minicrawl.config.settings import Loaded
from minicrawl.config.table import SECTIONS, TABLE, Setting

_COMMENTS_FROM = 34  # the column


def as_toml(loaded: Loaded) -> str:
    """Every setting on a line, its origin in a comment; tables are inline and come first."""
    return "\n".join(_lines(loaded)) + "\n"


def as_document(loaded: Loaded) -> dict[str, dict[str, object]]:
    """By each setting's key in minicrawl.toml its value, in JSON's own types, and its origin."""
    return {
        setting.key: {"value": _value(loaded, setting), "from": loaded.origins[setting.name]}
        for setting in TABLE
    }


def _lines(loaded: Loaded) -> Iterator[str]:
    yield from (_line(loaded, setting) for setting in TABLE if setting.is_table)
    for section in SECTIONS.values():
        yield f"\n[{section.name}]"
        for setting in TABLE:
            if setting.section is section and not setting.is_table:
                yield _line(loaded, setting)


def _line(loaded: Loaded, setting: Setting) -> str:
    value = _literal(_value(loaded, setting))
    origin = "".join(c if c.isprintable() else "?" for c in loaded.origins[setting.name])
    return f"{f'{setting.name} = {value}':{_COMMENTS_FROM}}  # {origin}"


def _value(loaded: Loaded, setting: Setting) -> object:
    value = loaded.settings.value(setting)
    if setting.is_table:
        return {focus.pattern: _plain(focus.strength) for focus in value}
    return _plain(value)


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
