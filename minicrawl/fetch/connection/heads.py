"""The head of an HTTP/1 answer: the status line and the headers, read as browsers read them.

fold    a line that begins with a blank: it goes on with the header before it

Laws: only what frames the answer can make a head unreadable. A line that is no header is skipped,
a line may end without a carriage return, a status may come without a reason. A value that may be
kept is short: a longer one is cut and says so, and a validator that is longer is dropped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from minicrawl.fetch.failures import Fault
from minicrawl.model import FailureKind

_STATUS_LINE = re.compile(r"HTTP/([0-9]{1,3})(?:\.([0-9]{1,3}))?[\t ]+([0-9]{3})(?![0-9])")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_BLANKS = "\t\r "

MOST_CHARACTERS = 2048
"""Of a value that may be kept: as many as a URL may have."""
DIFFERENT = "\n"
"""Between values of one name that may have one only; no value has it in itself."""
_CUT = f" [cut at {MOST_CHARACTERS:,} characters]"
_ONLY_ONE = frozenset(("location",))
_VALIDATORS = frozenset(("etag", "last-modified"))
# They say what to do, and none of them is kept: a part of one may say the opposite of the whole.
_READ_WHOLE = frozenset(
    ("connection", "content-encoding", "content-length", "link", "transfer-encoding")
) | {"x-robots-tag"}


class Head(NamedTuple):
    """`headers` go by lower-case names; `lasting` is what the version says of the connection."""

    status: int
    headers: dict[str, str]
    lasting: bool = True


def read_head(head: bytes) -> Head:
    """Of all lines before the blank one."""
    lines = _FOLD.sub(b" ", head).decode("latin-1").split("\n")
    status_line = _STATUS_LINE.match(lines[0])
    if not status_line:
        raise Fault(FailureKind.PROTOCOL, f"no status line: {lines[0][:40]!r}")
    major, minor, status = status_line.groups(default="0")
    headers, lasting = joined_headers(_fields(lines[1:])), (int(major), int(minor)) > (1, 0)
    if not lasting:
        headers.pop("transfer-encoding", None)  # an old server that says so does not mean it
    return Head(int(status), headers, lasting)


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_BLANKS)):
            yield name, value.strip(_BLANKS)


def joined_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By lower-case name; several of a name joined by commas. Bytes come as Latin-1."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name.lower(), []).append(value if value.isascii() else _text(value))
    joined = {
        name: given[0] if _is_short(given) else _joined(name, given)
        for name, given in values.items()
    }
    for name in _VALIDATORS.intersection(joined):
        if len(joined[name]) > MOST_CHARACTERS:
            del joined[name]
    return joined


def _is_short(values: list[str]) -> bool:
    return len(values) == 1 and len(values[0]) <= MOST_CHARACTERS


def _joined(name: str, values: list[str]) -> str:
    if name in _ONLY_ONE:
        return _cut(DIFFERENT.join(dict.fromkeys(values)))
    joined = ", ".join(values)
    return joined if name in _READ_WHOLE or name in _VALIDATORS else _cut(joined)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + _CUT


def _text(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def says(headers: dict[str, str], name: str, word: str) -> bool:
    """Is the word among those of a header that lists words?"""
    value = headers.get(name)
    return value is not None and word in map(str.strip, value.lower().split(","))


def transfer_codings(headers: Mapping[str, str]) -> list[str]:
    """What was done to the body on its way, in that order, but for the chunks."""
    if "transfer-encoding" not in headers:
        return []
    names = map(str.strip, headers["transfer-encoding"].lower().split(","))
    return [name for name in names if name not in ("", "chunked", "identity")]


def body_bytes(headers: dict[str, str]) -> int | None:
    """As Content-Length has it, be it several times; what is no number says nothing."""
    written = headers.get("content-length", "").split(",")
    lengths = {int(length) for text in written if _LENGTH.fullmatch(length := text.strip())}
    if len(lengths) > 1:
        raise Fault(FailureKind.PROTOCOL, "lengths that contradict each other")
    return lengths.pop() if lengths else None
