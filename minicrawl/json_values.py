"""Values as JSON: one function for the documents of all commands and services.

    to_json([Cut(3, None, "trap")])     [{"pages": 3, "host": None, "kind": "trap"}]

Rows and dataclasses become objects by the names of their fields, paths text, states their labels. A
class whose document differs from its fields has a method `to_json`; its result is converted, too.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from minicrawl.states import State


def to_json(value: Any) -> Any:
    """Return a value of dicts, lists and plain values alone."""
    if value is None or isinstance(value, str | int | float):
        return value.label if isinstance(value, State) else value
    if hasattr(value, "to_json"):
        return to_json(value.to_json())
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    return list(map(to_json, value))
