"""Parses the head of an HTTP/1 response, the status line and the headers, as browsers do.

fold    a line that begins with a blank: it continues the header before it

Laws: a head is refused only if it does not show where the body ends. A line that is no header is
skipped, a line may end without a carriage return, a status may come without a reason. A value that
may be stored is short: a longer one is cut and ends with a note of that; a longer validator is
dropped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind

_STATUS_LINE = re.compile(r"HTTP/([0-9]{1,3})(?:\.([0-9]{1,3}))?[\t ]+([0-9]{3})(?![0-9])")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_BLANKS = "\t\r "

MOST_CHARACTERS = 2048
"""Of a value that may be stored: as many as a URL may have."""
CONFLICT = "\n"
"""Joins different values of a header that may have one only; no value contains it."""
_CUT = f" [cut at {MOST_CHARACTERS:,} characters]"
_ONLY_ONE = frozenset(("location",))
_COOKIES = "set-cookie"
_VALIDATORS = frozenset(("etag", "last-modified"))
# They decide what is done with the response and are not stored. A cut one could mean the opposite.
_NEVER_CUT = frozenset(
    ("connection", "content-encoding", "content-length", "link", "transfer-encoding")
) | {"x-robots-tag"}


class Head(NamedTuple):
    """`headers` have lower-case names; `persistent`: the version keeps connections by default."""

    status: int
    headers: dict[str, str]
    persistent: bool = True


def read_head(head: bytes) -> Head:
    """Parse all lines before the blank one."""
    lines = _FOLD.sub(b" ", head).decode("latin-1").split("\n")
    status_line = _STATUS_LINE.match(lines[0])
    if not status_line:
        raise Fault(FailureKind.PROTOCOL, f"no status line: {lines[0][:40]!r}")
    major, minor, status = status_line.groups(default="0")
    headers, persistent = joined_headers(_fields(lines[1:])), (int(major), int(minor)) > (1, 0)
    if not persistent:
        headers.pop("transfer-encoding", None)  # HTTP/1.0 has none: such servers do not mean it
    return Head(int(status), headers, persistent)


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_BLANKS)):
            yield name, value.strip(_BLANKS)


def joined_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by lower-case name; several of a name are joined by commas.

    Values come decoded as Latin-1.
    """
    joined: dict[str, str] = {}
    several: dict[str, list[str]] = {}  # or one that is long
    for written, value in fields:
        name, text = written.lower(), value if value.isascii() else _text(value)
        if name in joined:
            several.setdefault(name, [joined[name]]).append(text)
            continue
        joined[name] = text
        if len(text) > MOST_CHARACTERS:
            several[name] = [text]
    for name, given in several.items():
        joined[name] = _joined(name, given)
    for name in _VALIDATORS.intersection(joined):
        if len(joined[name]) > MOST_CHARACTERS:
            del joined[name]
    return joined


def take_cookies(headers: dict[str, str], *, stay: bool = True) -> tuple[str, ...]:
    """Take the lines of Set-Cookie out, or let them stay as one that may be stored."""
    value = headers.pop(_COOKIES, None)
    if value is None:
        return ()
    lines = value.split(CONFLICT)
    if not stay:
        return tuple(lines)
    headers[_COOKIES] = _cut(", ".join(lines))
    return ()


def _joined(name: str, values: list[str]) -> str:
    if name in _ONLY_ONE:
        return _cut(CONFLICT.join(dict.fromkeys(values)))
    if name == _COOKIES:
        return CONFLICT.join(values)  # their dates have commas; `take_cookies` makes one of them
    joined = ", ".join(values)
    return joined if name in _NEVER_CUT or name in _VALIDATORS else _cut(joined)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + _CUT


def _text(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def has_word(headers: dict[str, str], name: str, word: str) -> bool:
    """Whether a header that lists words contains this one."""
    value = headers.get(name)
    return value is not None and word in map(str.strip, value.lower().split(","))


def transfer_codings(headers: Mapping[str, str]) -> list[str]:
    """The transfer codings of the body but for chunked, in the order in which they were applied."""
    if "transfer-encoding" not in headers:
        return []
    names = map(str.strip, headers["transfer-encoding"].lower().split(","))
    return [name for name in names if name not in ("", "chunked", "identity")]


def content_length(headers: dict[str, str]) -> int | None:
    """The Content-Length, None without one. It may be repeated; what is no number is ignored."""
    written = headers.get("content-length", "").split(",")
    lengths = {int(length) for text in written if _LENGTH.fullmatch(length := text.strip())}
    if len(lengths) > 1:
        raise Fault(FailureKind.PROTOCOL, "lengths that contradict each other")
    return lengths.pop() if lengths else None
