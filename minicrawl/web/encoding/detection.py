"""Decoding: from the bytes of a page to its text.

Every page has a text, whatever its bytes and its labels. The encoding comes from, in this order:
a byte order mark, the Content-Type, a declaration in the first 1024 bytes (by the labels of the
WHATWG Encoding Standard), UTF-8 if the bytes are valid, a later declaration as in browsers,
GB18030 or Big5 if the bytes look like Chinese in it, windows-1252.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice
from math import inf

from minicrawl.web.encoding.chinese import chinese
from minicrawl.web.encoding.labels import FALLBACK, UTF_8, UTF_16, encoding_of_label, text_in
from minicrawl.web.html.attributes import ATTRIBUTES, attributes
from minicrawl.web.responses.prices import TooExpensive

_PRESCAN_BYTES = 1024  # by the standard
_LATE_BYTES = 1 << 16
_MOST_DECLARATIONS, _DECLARATION_READ = 10, 1024
"""Limits for declarations: a page has one or two, of a line each; an attack has many long ones."""

_SPACES = r"[\t\n\f\r ]*+"
_TAG = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:-->|\Z))"
    rf"|meta(?=[\t\n\f\r /])({ATTRIBUTES})>"
    rf"|/?[a-z][^\t\n\f\r >]*+{ATTRIBUTES}(?:>|\Z)"
    r"|[!?/][^>]*+)",
    re.IGNORECASE | re.ASCII,
)
_CHARSET = re.compile(
    rf"""charset{_SPACES}={_SPACES}(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]*+)|)""",
    re.IGNORECASE | re.ASCII,
)
_XML_ENCODING = re.compile(
    rf"""encoding{_SPACES}={_SPACES}(?:"([^"]*+)"|'([^']*+)')""",
)
_XML = "<?xml"


def sniff(body: bytes, limit: int = _PRESCAN_BYTES) -> str | None:
    """Return the encoding that a page declares in its first bytes."""
    head = body[:limit].decode("latin-1")
    if head.startswith("<\0?\0x\0"):
        return "utf-16le"
    if head.startswith("\0<\0?\0x"):
        return "utf-16be"
    metas = (tag[1] for tag in _TAG.finditer(head) if tag[1] and "charset" in tag[1].lower())
    for meta in islice(metas, _MOST_DECLARATIONS):
        if encoding := _by_meta(attributes(meta[:_DECLARATION_READ])):
            return encoding
    if not head.startswith(_XML):
        return None
    declared = _XML_ENCODING.search(head, len(_XML), max(head.find(">"), 0))
    return _ascii_compatible(declared[declared.lastindex or 0]) if declared else None


def _by_meta(attributes: dict[str, str]) -> str | None:
    if "charset" in attributes:
        return _ascii_compatible(attributes["charset"])
    if attributes.get("http-equiv", "").lower() != "content-type":
        return None
    charset = _CHARSET.search(attributes.get("content", ""))
    return _ascii_compatible(charset[charset.lastindex]) if charset and charset.lastindex else None


def _ascii_compatible(label: str) -> str | None:
    """Return the encoding of a label that was read as ASCII, so UTF-16 becomes UTF-8."""
    encoding = encoding_of_label(label)
    if encoding in UTF_16:
        return UTF_8
    return FALLBACK if encoding == "x-user-defined" else encoding


_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)


UTF_16_US = 0.08
"""Time for a byte of UTF-16 if each surrogate lacks its other half: an error handler is called."""


def decode(body: bytes, content_type_charset: str | None, most_us: float = inf) -> tuple[str, str]:
    """Return the text of a page and the name of its encoding. Invalid bytes become U+FFFD.

    Raise `TooExpensive` for UTF-16 that may take more than `most_us`.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            _refuse_expensive(body, encoding, most_us)
            return text_in(body[len(mark) :], encoding), encoding
    declared = encoding_of_label(content_type_charset) or sniff(body)
    if declared:
        _refuse_expensive(body, declared, most_us)
        return text_in(body, declared), declared
    try:
        return body.decode(UTF_8), UTF_8
    except UnicodeDecodeError:
        late = sniff(body, _LATE_BYTES) or chinese(body) or FALLBACK
        return text_in(body, late), late


def _refuse_expensive(body: bytes, encoding: str, most_us: float) -> None:
    if encoding in UTF_16 and UTF_16_US * len(body) > most_us:
        raise TooExpensive
