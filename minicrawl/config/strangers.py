"""Rules for strangers: whether a value that the user did not give does more than the user's own.

Law: a rule compares a stranger's value with the user's own, and returns True if it is weaker.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minicrawl.config.values.access import LOGIN


def differs(value: object, own: object) -> bool:
    """Rule for files, programs, addresses and servers: any other value is a risk."""
    return value != own


def is_lower(value: Any, own: Any) -> bool:
    """Rule for delays and for protective switches. The delay `auto` has a minimum."""
    return not isinstance(value, str) and (isinstance(own, str) or value < own)


def is_higher(value: Any, own: Any) -> bool:
    """Rule for limits. The number `auto` depends on the machine."""
    return not isinstance(value, str) and value > (0 if isinstance(own, str) else own)


def allows_more(value: bool | None, own: bool | None) -> bool:
    """Rule for private addresses: none, those of seeds, or all."""
    ordered = (False, None, True)
    return ordered.index(value) > ordered.index(own)


def reads_another_file(value: Sequence[str], own: Sequence[str]) -> bool:
    """Rule for logins: a stranger's login is harmless, but may not come from a file of the user."""
    matches = (LOGIN.fullmatch(text) for text in value if text not in own)
    return any(match is not None and match["file"] for match in matches)


def names_another_example(value: Sequence[str], own: Sequence[str]) -> bool:
    """Rule for scorers: a stranger may not make the crawl read files of the user as examples."""
    return any(text.startswith("likeness:") and text not in own for text in value)


def starts_with_another_file(value: object, own: object) -> bool:
    """Rule for cookies: on and off are harmless, a file is a risk."""
    return isinstance(value, Path) and value != own
