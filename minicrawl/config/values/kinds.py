"""Kinds of values: each parses a value from the user, or raises `InvalidValue`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl import ext
from minicrawl.config.values.quantities import (
    as_size,
    as_time,
    finite_number,
    seconds,
    size,
    span_s,
    whole_number,
)

ON, OFF = "on", "off"
"""Values of settings that also take a file."""
AUTO = "auto"
ENVIRONMENT = "environment"
"""Value that stands for the proxies in environment variables."""
SYSTEM = "system"
"""Value that stands for the resolver of the system."""

NONE = "none"  # None as text
ALL = "all"
MOST = 2**31 - 1  # of pages: the limit of the ledger
MOST_BYTES = 2**63 - 1
MOST_SECONDS = 1e9
LEAST_EDGE = 0.01  # 0 lets cash cycle forever; 1 ignores all links

Reader = Callable[[object], object]

HIDDEN = "***"
"""Shown in place of a secret."""


class InvalidValue(Exception):
    """Unusable value. `expectation` completes a message that quotes the value."""

    def __init__(self, value: object, expectation: str) -> None:
        super().__init__(value, expectation)
        self.value = value
        self.wanted = expectation


@dataclass(frozen=True, slots=True)
class ValueKind:
    """Kind of value: its placeholder in help, and its parser."""

    metavar: str
    read: Reader
    names: tuple[str, ...] = ()  # values offered by shell completion
    group: str = ""  # entry points that add further names
    many: bool = False
    show: Callable[[object], str] = str  # formats a default for help
    mask: Callable[[str], str] | None = None  # hides the secret in a value
    accepts: str = "str"  # type of the argument in Python

    def all_names(self) -> tuple[str, ...]:
        """Return the built-in names, and those of installed packages."""
        added = ext.entry_points(self.group) if self.group else ()
        return tuple(dict.fromkeys((*self.names, *added)))

    @property
    def is_switch(self) -> bool:
        """True if a flag sets it and another one turns it off, both without a value."""
        return not self.metavar

    def masked(self, value: Any) -> Any:
        if self.mask is None or value is None:
            return value
        if isinstance(value, list | tuple):
            return type(value)(map(self.masked, value))
        return self.mask(str(value))


def whole(least: int, most: int = MOST) -> ValueKind:
    """A whole number between `least` and `most`."""
    expectation = "must be a whole number " + ("above 0" if least == 1 else f"of at least {least}")

    def read(value: object) -> int:
        count = whole_number(value)
        if count is None or count < least:
            raise InvalidValue(value, expectation)
        if count > most:
            raise InvalidValue(value, f"must be at most {most:,}")
        return count

    return ValueKind("N", read, accepts="int")


def number(expectation: str, fits: Callable[[float], bool], metavar: str = "X") -> ValueKind:
    """A finite number for which `fits` is true; `expectation` says what that means."""

    def read(value: object) -> float:
        parsed = finite_number(value)
        if parsed is None or not fits(parsed):
            raise InvalidValue(value, f"must be {expectation}")
        return parsed

    return ValueKind(metavar, read, show="{:g}".format, accepts="float | str")


def time(expectation: str, fits: Callable[[float], bool]) -> ValueKind:
    """A number of seconds, or a time such as 1h30m."""
    expectation = f"must be a time {expectation}, such as 90, 30s, 5m, 2h or 1h30m"

    def read(value: object) -> float:
        time_s = seconds(value)
        if time_s is None or not fits(time_s):
            raise InvalidValue(value, expectation)
        if time_s > MOST_SECONDS:
            raise InvalidValue(value, f"must be at most {MOST_SECONDS:,.0f} seconds")
        return time_s

    return ValueKind("TIME", read, show=as_time, accepts="Time")


def _read_size(value: object) -> int:
    byte_count = size(value)
    if byte_count is None or byte_count < 1:
        raise InvalidValue(value, "must be a size above 0, such as 5000, 500kB, 10MB or 2GiB")
    if byte_count > MOST_BYTES:
        raise InvalidValue(value, f"must be at most {MOST_BYTES:,} bytes")
    return byte_count


def choice(*names: str, renamed: Mapping[str, str] | None = None, group: str = "") -> ValueKind:
    """One of a few names; `renamed` maps removed names to their replacements.

    Packages add names by entry points in this group.
    """

    def read(value: object) -> str:
        if isinstance(value, str) and (value in names or value in kind.all_names()):
            return value
        if isinstance(value, str) and renamed and value in renamed:
            raise InvalidValue(value, f"was removed, use {renamed[value]} instead")
        added = ", or a name that an installed package adds" if group else ""
        raise InvalidValue(value, f"must be one of {', '.join(kind.all_names())}{added}")

    accepts = "Literal[" + ", ".join(f'"{name}"' for name in names) + "]"
    if group:  # packages add names that a type checker cannot know
        accepts = "str"
    kind = ValueKind("|".join(names), read, names=names, group=group, accepts=accepts)
    return kind


_WINDOW_NAME = choice(
    *("interpolation", "variable", "fixed", "improved-fixed", "adaptive", "static"),
    group=ext.WINDOWS,
)


def _read_window(value: object) -> str:
    """A name, or NAME:SIZE: readings, circulations, or a time; one window has no size."""
    name, is_sized, size = str(value).partition(":")
    _WINDOW_NAME.read(name)
    if not is_sized:
        return name
    width, time_s = finite_number(size), span_s(size)
    if name in ("fixed", "improved-fixed") and 1 <= (time_s or 0) <= MOST_SECONDS:
        return f"{name}:{as_time(time_s)}"
    if name == "static":
        raise InvalidValue(value, "must be static: this window has no size")
    if name == "variable" and (width is None or width < 1 or width != int(width)):
        raise InvalidValue(value, "must have a whole number of readings as its size")
    if width is None or width <= 0:
        times = ", or if it is fixed or improved-fixed a time such as 4w"
        raise InvalidValue(value, f"must have a number of circulations above 0 as its size{times}")
    return f"{name}:{width:g}"


WINDOW = replace(_WINDOW_NAME, read=_read_window)


def text(metavar: str, expectation: str, form: str | Callable[[str], object]) -> ValueKind:
    """Text that matches `form`, a regular expression or a test."""
    fits = re.compile(form).fullmatch if isinstance(form, str) else form

    def read(value: object) -> str:
        if isinstance(value, str) and value.isprintable() and fits(value):
            return value
        raise InvalidValue(value, f"must be {expectation}")

    return ValueKind(metavar, read)


def some_of(*names: str, or_none: bool = False) -> ValueKind:
    """One or more of a few names, as lists or comma-separated; `all` is all of them.

    With `or_none`, `none` is none of them. The result is in the order of `names`, without repeats.
    """

    def read(value: object) -> tuple[str, ...]:
        given = [value] if isinstance(value, str) else value
        if or_none and (_is_none(value) or value in ([], ())):
            return ()
        if not isinstance(given, list | tuple) or not given:
            raise InvalidValue(value, f"must be some of {', '.join(names)}")
        chosen = [name.strip() for text in given for name in str(text).split(",")]
        for name in chosen:
            if name not in (*names, ALL):
                raise InvalidValue(name, f"must be one of {', '.join(names)}, or {ALL}")
        return names if ALL in chosen else tuple(name for name in names if name in chosen)

    return ValueKind(
        "WHAT,..." if or_none else "TYPE,...",
        read,
        names=(*names, ALL),
        many=True,
        show=lambda chosen: _as_list(chosen, ",") or NONE,
        accepts="str | Sequence[str]",
    )


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


def _read_absolute_path(value: object) -> Path:
    """Return an absolute path, because a store keeps it for runs in other folders."""
    return _read_path(value).absolute()


_WARC_BYTES = 1_000_000_000


class WarcPlace(NamedTuple):
    """Folder of WARC files, beginning of their names or "", and size of a complete file."""

    folder: Path
    name: str = ""
    full_bytes: int = _WARC_BYTES

    def __str__(self) -> str:
        return f"{self.name}:{self.full_bytes}={self.folder}"


def _read_warc_place(value: object) -> Path | str:
    """Return a folder as an absolute path, with what precedes it: NAME=, :SIZE= or NAME:SIZE=."""
    given, is_given, folder = str(value).partition("=")
    if not is_given or "/" in given:
        return _read_absolute_path(value)
    name, is_sized, full = given.partition(":")
    if not folder or not re.fullmatch(r"[\w.-]*", name, re.ASCII) or not (name or is_sized):
        expectation = (
            "must be DIR, NAME=DIR or NAME:SIZE=DIR, with a name of letters, digits, . _ -"
        )
        raise InvalidValue(value, expectation)
    if is_sized:
        _read_size(full)
    return f"{given}={_read_absolute_path(folder)}"


def warc_place(value: Path | str) -> WarcPlace:
    given, is_given, folder = str(value).partition("=")
    if not is_given or "/" in given:
        return WarcPlace(Path(value))
    name, _, full = given.partition(":")
    return WarcPlace(Path(folder), name, size(full) or _WARC_BYTES)


_OBJECT_STORE = re.compile(r"(s3|gs|az)://[^/?#@]+(/[^?#]*)?|file:///[^?#]+")


def object_store_url(value: object) -> str:
    """Return the URL of a place in an object store, which has no credentials."""
    text = value if isinstance(value, str) and value.isprintable() else ""
    if _OBJECT_STORE.fullmatch(text):
        return text.rstrip("/")
    if "@" in text or "?" in text:
        raise InvalidValue(HIDDEN, "must have no credentials: set them in the environment")
    raise InvalidValue(value, "must be s3://BUCKET/PATH, gs://..., az://... or file:///FOLDER")


_ASKED = "asked="


def _read_key_file(value: object) -> Path | str:
    file, only_asked = key_file(_read_path(value))
    return f"{_ASKED}{_read_path(str(file))}" if only_asked else file


def key_file(value: Path | str) -> tuple[Path, bool]:
    """Return the file of a value of `KEY_FILE`, and whether only hosts that ask get signatures."""
    written = str(value)
    return Path(written.removeprefix(_ASKED)), written.startswith(_ASKED)


def _read_pattern(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidValue(value, "must be a regular expression of printable characters")
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidValue(value, f"is not a regular expression: {error}") from None
    return value


def optional(kind: ValueKind) -> ValueKind:
    """A value of the kind, or None."""

    def read(value: object) -> object:
        return None if value is None or value == NONE else kind.read(value)

    return replace(kind, read=read, accepts=f"{kind.accepts} | None")


def either(word: str, kind: ValueKind) -> ValueKind:
    """This word, or a value of the kind."""

    def read(value: object) -> object:
        return word if value == word else kind.read(value)

    def show(value: object) -> str:
        return word if value == word else kind.show(value)

    accepts = kind.accepts if "str" in kind.accepts else f'{kind.accepts} | Literal["{word}"]'
    return ValueKind(f"{kind.metavar}|{word}", read, names=(word,), show=show, accepts=accepts)


def or_named(kind: ValueKind, group: str) -> ValueKind:
    """A value of the kind, or a name that packages add by entry points in this group."""

    def read(value: object) -> object:
        if isinstance(value, str) and value in ext.entry_points(group):
            return value
        try:
            return kind.read(value)
        except InvalidValue as unfit:
            expectation = f"{unfit.wanted}, or a name that an installed package adds"
            raise InvalidValue(value, expectation) from None

    def show(value: object) -> str:
        return value if isinstance(value, str) else kind.show(value)

    return replace(kind, metavar=f"{kind.metavar}|NAME", read=read, show=show, group=group)


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

    accepts = f"{kind.accepts} | Sequence[str]"
    return ValueKind(kind.metavar, read, many=True, show=_as_list, mask=kind.mask, accepts=accepts)


def _as_list(value: object, between: str = ", ") -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _is_none(value: object) -> bool:
    return value == NONE or (isinstance(value, list | tuple) and list(value) == [NONE])


SHARE = number("a number from 0 to 1", lambda share: 0 <= share <= 1, "SHARE")
SMALL_EDGE = number(
    "a number from 0.01 to 0.99", lambda share: LEAST_EDGE <= share <= 1 - LEAST_EDGE, "SHARE"
)
WEIGHT = or_named(
    number("a number of at least 0", lambda weight: weight >= 0, "WEIGHT"), ext.WEIGHTS
)
WAIT = time("of at least 0", lambda seconds: seconds >= 0)
TIME = time("above 0", lambda seconds: seconds > 0)
SIZE = ValueKind("SIZE", _read_size, show=as_size, accepts="Size")
SWITCH = ValueKind("", _read_switch, accepts="bool")
FILE = ValueKind("FILE", _read_path, accepts="str | PathLike[str]")
WARC_PLACE = ValueKind("[NAME[:SIZE]=]DIR", _read_warc_place, accepts="str | PathLike[str]")
OBJECT_STORE = ValueKind("URL", object_store_url)
KEY_FILE = ValueKind("[asked=]FILE", _read_key_file, accepts="str | PathLike[str]")
FOUND_FILE = ValueKind("FILE", _read_absolute_path, accepts="str | PathLike[str]")
PATTERN = ValueKind("REGEX", _read_pattern)
SCORER = text("NAME[:ARGS]", "the name of a scorer, or name:arguments", r"[\w.-]+(:.+)?")
# A product token of robots.txt (RFC 9309, 2.2.1).
AGENT = text("NAME", "a name of letters, - and _ only", r"[A-Za-z_-]+")
# The contact stands in parentheses in the User-Agent header, so it has none itself.
CONTACT = text("WHERE", "a URL or a mail address", r"(https?://[!-'*-~]+|[!-'*-~]+@[!-'*-~]+)")
