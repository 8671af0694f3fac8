"""Parses the head of an HTTP/1 response, that is status line and headers, as browsers do.

fold    a line that begins with a blank; it continues the header before it

Laws: a head is refused only if it has no status line, or if the end of the body is ambiguous. A
line that is not a header is skipped, a line may end without a carriage return, and a status may
lack a reason. Header values that may be stored are short: longer ones are cut and end with a
note; longer validators are dropped.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from minicrawl.fetch.http.faults import Fault
from minicrawl.states import State

STATUS_LINE = re.compile(r"HTTP/([0-9]{1,3})(?:\.([0-9]{1,3}))?[\t ]+([0-9]{3})(?![0-9])")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_BLANKS = "\t\r "
_ASCII = "".join(map(chr, range(0x80)))

MOST_CHARACTERS = 2048
"""Maximum characters of a header value that may be stored: the same as of a URL."""
TOO_LONG = f"a Location of more than {MOST_CHARACTERS:,} characters"
"""Detail of a redirect that a browser would follow: to a login page, as a rule."""
CONFLICT = "\n"
"""Separator of conflicting Locations, and of Set-Cookie lines; no value contains it."""
_CUT = f" [cut at {MOST_CHARACTERS:,} characters]"
_ONLY_ONE = frozenset(("location",))
_COOKIES = "set-cookie"
_VALIDATORS = frozenset(("etag", "last-modified"))
# These decide how the response is handled, and are not stored. Cutting one could reverse its
# meaning.
_NEVER_CUT = frozenset(
    ("connection", "content-encoding", "content-length", "link", "transfer-encoding")
) | {"x-robots-tag"}


class Head(NamedTuple):
    """Head of a response, with lower-case header names."""

    status: int
    headers: dict[str, str]
    persistent: bool = True  # the HTTP version keeps connections open by default


def read_head(head: bytes) -> Head:
    lines = _FOLD.sub(b" ", head).decode("latin-1").split("\n")
    status_line = STATUS_LINE.match(lines[0])
    if not status_line:
        raise Fault(State.PROTOCOL, f"no status line: {lines[0][:40]!r}")
    major, minor, status = status_line.groups(default="0")
    fields = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_BLANKS)):
            fields.append((name, value.strip(_BLANKS)))
    headers, persistent = joined_headers(fields), (int(major), int(minor)) > (1, 0)
    if not persistent:
        headers.pop("transfer-encoding", None)  # HTTP/1.0 has none
    return Head(int(status), headers, persistent)


def joined_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers by lower-case name; repeated ones are joined by commas.

    `fields` are decoded as Latin-1; values that are valid UTF-8 are decoded again.
    """
    joined: dict[str, str] = {}
    several: dict[str, list[str]] = {}  # values of repeated headers, and of long ones to be cut
    for written, value in fields:
        name = written.lower()
        text = value if value.isascii() else _text(name, value)
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
    """Remove the Set-Cookie lines and return them; with `stay`, keep them as one header."""
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
        return CONFLICT.join(values)  # cookie dates contain commas; `take_cookies` joins the lines
    joined = ", ".join(values)
    return joined if name in _NEVER_CUT or name in _VALIDATORS else _cut(joined)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + _CUT


def _text(name: str, value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        # The path of a redirect goes back byte by byte, as browsers send it.
        return quote(value, _ASCII, "latin-1") if name in _ONLY_ONE else value


def has_word(headers: dict[str, str], name: str, word: str) -> bool:
    value = headers.get(name)
    return value is not None and word in map(str.strip, value.lower().split(","))


def content_length(headers: dict[str, str]) -> int | None:
    """Return the Content-Length, or None; equal repetitions are allowed."""
    written = headers.get("content-length", "")
    if _LENGTH.fullmatch(written):  # as nearly always
        return int(written)
    texts = map(str.strip, written.split(","))
    lengths = {int(text) for text in texts if _LENGTH.fullmatch(text)}
    if len(lengths) > 1:
        raise Fault(State.PROTOCOL, "lengths that contradict each other")
    return lengths.pop() if lengths else None
