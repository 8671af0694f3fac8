"""Attributes of a tag, and character references in them and in text.

Attributes are found by the tokenization rules of the HTML standard, in linear time for any text:

    <a href=/x class="b" HREF='/y'>     {"href": "/x", "class": "b"}: the first of a name counts

Every character reference has a value, whatever its number.
"""

import re
from html import unescape
from html.entities import html5

S = r"[\t\n\f\r ]"
"""Pattern of a whitespace character."""

STOP = r"(?=[\t\n\f\r />])"
"""Pattern of the end of a tag name."""

_NAME = r"[^\t\n\f\r />][^\t\n\f\r />=]*+"  # a leading "=" is part of the name


def _value(opening: str) -> str:
    return (
        rf"(?:{S}*+={S}*+"
        rf"""(?:"{opening}[^"]*+)(?:"|\Z)|'{opening}[^']*+)(?:'|\Z)"""
        rf"""|{opening}[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+)?+"""
    )


_VALUE = _value("(?:")
_CAPTURED_VALUE = _value("(")  # in one of three groups
ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{_NAME}{_VALUE})*+"
"""Pattern of all attributes of a tag, up to its end or the end of the page."""

_ATTRIBUTE = re.compile(rf"({_NAME}){_CAPTURED_VALUE}")
_ATTRIBUTES_READ = 1 << 16  # characters; beyond that a tag is an attack


def attributes(text: str) -> dict[str, str]:
    """Return the attributes in a match of `ATTRIBUTES`, by lower-case name; the first one counts.

    Values are as written, with character references not decoded.
    """
    values: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        values.setdefault(name.lower(), double or single or bare)
    return values


_HREF = re.compile(
    rf"(?:[\t\n\f\r /]++|(?!href(?:[\t\n\f\r />=]|\Z)){_NAME}{_VALUE})*+href{_CAPTURED_VALUE}",
    re.IGNORECASE | re.ASCII,
)


def href(text: str) -> str | None:
    """Return the attribute href, as in `attributes`."""
    attribute = _HREF.match(text)
    return attribute and "".join(attribute.groups(""))


_REFERENCE = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?+|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))"
)

# Python refuses to parse thousands of digits. Such a number is not a character anyway.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{9})0*+([0-9]{0,8})[0-9]*+")
_SHORT = len("&#12345678;")


def unescaped(text: str) -> str:
    """Return text with its character references decoded."""
    if "&" not in text:
        return text
    return unescape(text if len(text) <= _SHORT else _LONG_NUMBER.sub(r"&#0\1", text))


def decoded(value: str) -> str:
    """Return the value of an attribute with its character references decoded.

    Unlike in text, "&copy=1" and "&copyright" stay unchanged. That keeps queries intact in which
    "&" is not written as "&amp;".
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescaped(reference[0])
