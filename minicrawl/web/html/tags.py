"""Tags: how a tag is spelled, what it says, and what the character references in it mean.

Laws: attributes are found by the tokenization rules of the HTML standard. The time is proportional
to the text: no quantifier gives back what it took. No reference is an error, whatever its number.
"""

import re
from html import unescape
from html.entities import html5

S = r"[\t\n\f\r ]"
"""A space."""

STOP = r"(?=[\t\n\f\r />])"
"""Behind the name of a tag."""

_NAME = r"[^\t\n\f\r />][^\t\n\f\r />=]*+"  # a "=" at its start is part of it


def _value(opening: str) -> str:
    return (
        rf"(?:{S}*+={S}*+"
        rf"""(?:"{opening}[^"]*+)(?:"|\Z)|'{opening}[^']*+)(?:'|\Z)"""
        rf"""|{opening}[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+)?+"""
    )


_VALUE = _value("(?:")
_CAPTURED_VALUE = _value("(")  # in one of three groups
ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{_NAME}{_VALUE})*+"
"""All from the name of a tag to its end, or to the end of the page."""

_ATTRIBUTE = re.compile(rf"({_NAME}){_CAPTURED_VALUE}")
_ATTRIBUTES_READ = 1 << 16  # characters; beyond that a tag is an attack


def attributes(text: str) -> dict[str, str]:
    """The attributes in what `ATTRIBUTES` matched, by lower-case name; of twins the first counts.

    Values are as written: their character references are still to be decoded.
    """
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        found.setdefault(name.lower(), "".join(values))
    return found


_HREF = re.compile(
    rf"(?:[\t\n\f\r /]++|(?!href(?:[\t\n\f\r />=]|\Z)){_NAME}{_VALUE})*+href{_CAPTURED_VALUE}",
    re.IGNORECASE | re.ASCII,
)


def href(text: str) -> str | None:
    """The attribute of this name alone, as `attributes` would find it."""
    found = _HREF.match(text)
    return found and "".join(found.groups(""))


# ---------------------------------------------------------------- character references

_REFERENCE = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?+|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))"
)


# The language refuses to read numbers of thousands of digits; so many mean no character anyway.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{9})0*+([0-9]{0,8})[0-9]*+")
_SHORT = len("&#12345678;")


def unescaped(text: str) -> str:
    """Text, its character references decoded."""
    return unescape(text if len(text) <= _SHORT else _LONG_NUMBER.sub(r"&#0\1", text))


def decoded(value: str) -> str:
    """The value of an attribute, its character references decoded.

    Other than in text, "&copy=1" and "&copyright" stay as they are: the standard saves the
    queries of those who did not write "&amp;".
    """
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(reference: re.Match[str]) -> str:
    name = reference[1]
    return html5.get(name, reference[0]) if name else unescaped(reference[0])
