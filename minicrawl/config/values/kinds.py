"""Kinds of values: each reads a value from the user, or raises `InvalidValue`.

Laws: text (of a flag or a variable) and values (of TOML or Python) with the same meaning are read
as the same value. A value that was read once is read again as itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from minicrawl import plugins
from minicrawl.config.parts import Focus
from minicrawl.config.values import quantities

NONE = "none"  # None as text
ALL = "all"
MOST = 2**31 - 1  # of pages, and of all that is counted in pages: the limit of the ledger
MOST_BYTES = 2**63 - 1
MOST_SECONDS = 1e9
LEAST_EDGE = 0.01  # with none cash may go round for ever, with all of it links say nothing

Reader = Callable[[object], object]


HIDDEN = "***"
"""What is shown in place of a secret."""


class InvalidValue(Exception):
    """The value cannot be used. `wanted` completes a message that quotes the value."""

    def __init__(self, value: object, wanted: str) -> None:
        super().__init__(value, wanted)
        self.value = value
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class ValueKind:
    """How a value is shown in help, and how it is read."""

    metavar: str
    read: Reader
    names: tuple[str, ...] = ()  # the values that shell completion offers
    many: bool = False
    show: Callable[[object], str] = str  # a default, as help shows it
    mask: Callable[[str], str] | None = None  # hides the secret in a value

    def masked(self, value: Any) -> Any:
        """The value without its secrets."""
        if self.mask is None or value is None:
            return value
        if isinstance(value, list | tuple):
            return type(value)(map(self.masked, value))
        return self.mask(str(value))


# ---------------------------------------------------------------- numbers


def whole(least: int, most: int = MOST) -> ValueKind:
    """A whole number between `least` and `most`."""
    wanted = "must be a whole number " + ("above 0" if least == 1 else f"of at least {least}")

    def read(value: object) -> int:
        found = quantities.whole_number(value)
        if found is None or found < least:
            raise InvalidValue(value, wanted)
        if found > most:
            raise InvalidValue(value, f"must be at most {most:,}")
        return found

    return ValueKind("N", read)


def number(wanted: str, fits: Callable[[float], bool], metavar: str = "X") -> ValueKind:
    """A finite number for which `fits` is true; `wanted` says what that means."""

    def read(value: object) -> float:
        found = quantities.finite_number(value)
        if found is None or not fits(found):
            raise InvalidValue(value, f"must be {wanted}")
        return found

    return ValueKind(metavar, read, show="{:g}".format)


def time(wanted: str, fits: Callable[[float], bool]) -> ValueKind:
    """A number of seconds, or a time such as 1h30m."""
    wanted = f"must be a time {wanted}, such as 90, 30s, 5m, 2h or 1h30m"

    def read(value: object) -> float:
        found = quantities.seconds(value)
        if found is None or not fits(found):
            raise InvalidValue(value, wanted)
        if found > MOST_SECONDS:
            raise InvalidValue(value, f"must be at most {MOST_SECONDS:,.0f} seconds")
        return found

    return ValueKind("TIME", read, show=quantities.as_time)


def _read_size(value: object) -> int:
    found = quantities.size(value)
    if found is None or found < 1:
        raise InvalidValue(value, "must be a size above 0, such as 5000, 500kB, 10MB or 2GiB")
    if found > MOST_BYTES:
        raise InvalidValue(value, f"must be at most {MOST_BYTES:,} bytes")
    return found


def _read_part(value: object) -> float:
    found = quantities.part(value)
    if found is None or not 0 < found <= 1:
        raise InvalidValue(value, "must be a share above 0 and at most 1, such as 90% or 0.9")
    return found


# ---------------------------------------------------------------- words


def choice(*names: str, renamed: Mapping[str, str] | None = None, group: str = "") -> ValueKind:
    """One of a few names; `renamed` maps names that were removed to the ones to use instead.

    Packages add names by entry points in this group.
    """

    def read(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        if isinstance(value, str) and group and value in plugins.entry_points(group):
            return value
        if isinstance(value, str) and renamed and value in renamed:
            raise InvalidValue(value, f"was removed, use {renamed[value]} instead")
        raise InvalidValue(value, f"must be one of {', '.join(names)}")

    return ValueKind("|".join(names), read, names=names)


def text(metavar: str, wanted: str, form: str) -> ValueKind:
    """Text that matches `form`, a regular expression."""
    fits = re.compile(form).fullmatch

    def read(value: object) -> str:
        if isinstance(value, str) and value.isprintable() and fits(value):
            return value
        raise InvalidValue(value, f"must be {wanted}")

    return ValueKind(metavar, read)


def some_of(*names: str) -> ValueKind:
    """At least one of a few names, as a list or with commas between them; `all` is all of them.

    They come in the order of `names`, each once.
    """

    def read(value: object) -> tuple[str, ...]:
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, list | tuple) or not given:
            raise InvalidValue(value, f"must be some of {', '.join(names)}")
        found = [name.strip() if isinstance(name, str) else name for name in given]
        for name in found:
            if name not in (*names, ALL):
                raise InvalidValue(name, f"must be one of {', '.join(names)}, or {ALL}")
        return names if ALL in found else tuple(name for name in names if name in found)

    return ValueKind("TYPE,...", read, names=(*names, ALL), show=lambda found: _as_list(found, ","))


_SWITCHES = dict.fromkeys(("1", "true", "yes", "on"), True)
_SWITCHES |= dict.fromkeys(("0", "false", "no", "off"), False)


def _read_switch(value: object) -> bool:
    if isinstance(value, str):
        value = _SWITCHES.get(value.lower(), value)
    if isinstance(value, bool):
        return value
    raise InvalidValue(value, "must be true or false")


def _read_path(value: object) -> Path:
    if isinstance(value, str | Path) and str(value) and str(value).isprintable():
        return Path(value)
    raise InvalidValue(value, "must be a path of printable characters")


def _read_folder(value: object) -> Path:
    """As seen from here: a store keeps it for runs in other folders."""
    return _read_path(value).absolute()


def _read_pattern(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidValue(value, "must be a regular expression of printable characters")
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidValue(value, f"is not a regular expression: {error}") from None
    return value


def _read_words(value: object) -> str:
    words = " ".join(value.split()) if isinstance(value, str) else ""
    if words and words.isprintable():
        return words
    raise InvalidValue(value, "must have at least one word")


# ---------------------------------------------------------------- kinds made from others


def optional(kind: ValueKind) -> ValueKind:
    """A value of the kind, or None."""

    def read(value: object) -> object:
        return None if value is None or value == NONE else kind.read(value)

    return ValueKind(kind.metavar, read, names=kind.names, show=kind.show, mask=kind.mask)


def either(word: str, kind: ValueKind) -> ValueKind:
    """This word, or a value of the kind."""

    def read(value: object) -> object:
        return word if value == word else kind.read(value)

    def show(value: object) -> str:
        return word if value == word else kind.show(value)

    return ValueKind(f"{kind.metavar}|{word}", read, names=(word,), show=show)


def several(kind: ValueKind) -> ValueKind:
    """A list of values of the kind. Text is a list of one; `none` is an empty list."""

    def read(value: object) -> tuple[object, ...]:
        if _is_none(value):
            return ()
        if isinstance(value, str | PathLike):
            return (kind.read(value),)
        if isinstance(value, list | tuple):
            return tuple(map(kind.read, value))
        raise InvalidValue(value, "must be a string or a list of strings")

    return ValueKind(kind.metavar, read, many=True, show=_as_list, mask=kind.mask)


def _as_list(value: object, between: str = ", ") -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _is_none(value: object) -> bool:
    return value == NONE or (isinstance(value, list | tuple) and list(value) == [NONE])


def focuses(kind: ValueKind) -> ValueKind:
    """A list of texts of the kind, each with its strength; `none` is an empty list."""

    def read(value: object) -> tuple[Focus, ...]:
        if _is_none(value):
            return ()
        found = tuple(_focus(kind, *pair) for pair in _pairs(value))
        patterns = [focus.pattern for focus in found]
        for pattern in patterns:
            if patterns.count(pattern) > 1:
                raise InvalidValue(pattern, "is given twice")
        return found

    return ValueKind(f"{kind.metavar}[=STRENGTH]", read, many=True)


def _pairs(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, str):
        return [_split(value)]
    if isinstance(value, list | tuple):
        return map(_split, value)
    raise InvalidValue(value, "must be a string, a list of strings or a table of strengths")


def _split(item: object) -> tuple[object, object]:
    """The strength of a text is the number after its last `=`, or 1 where there is none."""
    if isinstance(item, Focus):
        return item.pattern, item.strength
    if isinstance(item, str):
        pattern, equals, strength = item.rpartition("=")
        if equals and _is_a_number(strength):
            return pattern, strength
    return item, 1.0


def _is_a_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _focus(kind: ValueKind, pattern: object, strength: object) -> Focus:
    found = quantities.finite_number(strength)
    if found is None or found <= 0:
        raise InvalidValue(f"{pattern}={strength}", "must have a strength above 0")
    return Focus(pattern=str(kind.read(pattern)), strength=found)


# ---------------------------------------------------------------- kinds without parameters

SHARE = number("a number from 0 to 1", lambda share: 0 <= share <= 1, "SHARE")
SMALL_EDGE = number(
    "a number from 0.01 to 0.99", lambda share: LEAST_EDGE <= share <= 1 - LEAST_EDGE, "SHARE"
)
PART = ValueKind("SHARE", _read_part, show=quantities.as_percent)
POSITIVE = number("a number above 0", lambda found: found > 0)
WEIGHT = number("a number of at least 0", lambda weight: weight >= 0, "WEIGHT")
WAIT = time("of at least 0", lambda seconds: seconds >= 0)
TIME = time("above 0", lambda seconds: seconds > 0)
SIZE = ValueKind("SIZE", _read_size, show=quantities.as_size)
SWITCH = ValueKind("", _read_switch)
FILE = ValueKind("FILE", _read_path)
FOLDER = ValueKind("DIR", _read_folder)
FOUND_FILE = ValueKind("FILE", _read_folder)
PATTERN = ValueKind("REGEX", _read_pattern)
WORDS = ValueKind("WORDS", _read_words)
MEDIA_TYPE = text("TYPE", "a media type such as application/pdf or image/*", r"[\w.+-]+/[\w.+*-]+")
# A product token of robots.txt (RFC 9309, 2.2.1).
AGENT = text("NAME", "a name of letters, - and _ only", r"[A-Za-z_-]+")
# It goes into the parentheses of a header, so it may not close them.
CONTACT = text("WHERE", "a URL or a mail address", r"(https?://[!-'*-~]+|[!-'*-~]+@[!-'*-~]+)")
