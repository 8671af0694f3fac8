"""Tokens of HTML: the relevant tags of a page, their attributes, and character references.

Tags and attributes are found by the tokenization rules of the HTML standard, so no nesting, no size
and no unclosed markup can hide a tag, and text is never mistaken for a tag. The time is linear for
any text: no quantifier backtracks, an unclosed token extends to the end of the page, and each match
goes on to the next relevant tag. Every character reference has a value, whatever its number.

relevant     tag that is read: an anchor, <base>, <frame>, <iframe>, <link>, <meta>, <title>, and
             the start and end of <noscript> and <svg>
skipped      any other tag
plain        in lower case, with every value in double quotes, as programs write. Most tags are
             plain, and patterns for them take half the time
raw text     content in which only its own end tag is markup, as in <style>
escaped      script content after "<!--", where an inner <script> hides one </script>
"""

import re
from functools import cache
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
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(text, 0, _ATTRIBUTES_READ):
        found.setdefault(name.lower(), "".join(values))
    return found


_HREF = re.compile(
    rf"(?:[\t\n\f\r /]++|(?!href(?:[\t\n\f\r />=]|\Z)){_NAME}{_VALUE})*+href{_CAPTURED_VALUE}",
    re.IGNORECASE | re.ASCII,
)


def href(text: str) -> str | None:
    """Return the attribute href, as in `attributes`."""
    found = _HREF.match(text)
    return found and "".join(found.groups(""))


# ---------------------------------------------------------------- character references

_REFERENCE = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]++|[0-9]++);?+|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))"
)


# Python refuses to parse thousands of digits. Such a number is not a character anyway.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{9})0*+([0-9]{0,8})[0-9]*+")
_SHORT = len("&#12345678;")


def unescaped(text: str) -> str:
    """Return text with its character references decoded."""
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


# ---------------------------------------------------------------- plain tags

_PLAIN_ATTRIBUTE = r'[ \n]++[a-z-]++="[^"]*+"'
_PLAIN_END = r"[ \n]?+/?+>"

_TARGET = r'(?:id|name)="[^"]*+">'  # anchors to link to, without a link of their own
_NO_LINK = r'rel="(?!(?:alternate|canonical|next|prev|sitemap)")[a-z]++"'
_MAY_BE_RELEVANT = (
    rf"a[\t\n\f\r />](?!{_TARGET})|area|base|i?+frame|link(?![ \n]++{_NO_LINK})|meta|no|plaintext"
    r"|sc|style|svg|t(?:it|ex)|xmp"
)

# A tag that is not plain is skipped, except anchors and tags with these names.
_NAMES = (
    r"area|base|i?+frame|link|meta|/?+(?:noscript|svg)|no(?:embed|frames)|plaintext|script|style"
    r"|t(?:itle|extarea)|xmp"
)

# Common tags are tried first, without a loop, because entering a loop is slow.
_COMMON = r"(?:span|div|p|li|td|tr|code|dd|dt|em|pre|h[1-6]|ul|strong)"
_SKIPPED = (
    rf'<(?:/(?![nN][oO]|[sS][vV])[a-zA-Z][a-zA-Z0-9]*+>|{_COMMON}(?:>| [a-z-]++="[^"]*+">)'
    rf"|(?!{_MAY_BE_RELEVANT})[a-z][a-z0-9]*+(?:{_PLAIN_ATTRIBUTE})*+{_PLAIN_END}"
    rf"|(?![aA]{STOP}|(?i:{_NAMES}){STOP})/?+[a-zA-Z][^\t\n\f\r />]*+(?:>|{ATTRIBUTES}>))"
)

# Of "#top", only "#" is captured: many pages are full of such links.
_PLAIN_ANCHOR = (
    r'a[ \n]++(?:(?!href|rel)[a-z-]++="[^"]*+"[ \n]++)*+href="(?P<href>#|[^"]*+)[^"]*+"'
    rf'(?:>|(?:[ \n]++(?!rel)[a-z-]++="[^"]*+")*+{_PLAIN_END})'
)

# ---------------------------------------------------------------- other tags

_RELEVANT = (
    r"(?i:(?P<name>a(?:rea)?+|base|frame|link|meta|/?+(?:noscript|svg)))"
    rf"{STOP}(?P<said>{ATTRIBUTES})>"
)

_SCRIPT_END = rf"</script{STOP}"
_HIDDEN = rf"<script{STOP}(?:[^<-]++|-(?!->)|<(?!/script{STOP}))*+(?:{_SCRIPT_END})?+"
_ESCAPED = rf"<!--(?:-?>|(?:[^<-]++|-(?!->)|{_HIDDEN}|(?!{_SCRIPT_END})<)*+(?:-->)?+)"

_OPEN_END = r"(?:>|\Z)"
_OTHER = rf"/?+[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}{_OPEN_END}"
_COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_BOGUS_COMMENT = rf"(?:[!?]|/(?=[^a-zA-Z]))[^>]*+{_OPEN_END}"
_MORE_TEXT = r"(?:[^<]*+<(?![a-zA-Z/!?]))*+"  # after a "<" that does not begin a tag


def _raw(end_of_tag: str) -> str:
    text = rf"[^<]*+(?:<(?!/(?P=raw){STOP})[^<]*+)*+"
    script = rf"(?:[^<]++|{_ESCAPED}|(?!{_SCRIPT_END})<)*+"
    return (
        rf"(?i:(?P<raw>t(?:itle|extarea)|iframe|style|xmp|no(?:embed|frames)){STOP}"
        rf"(?P<raw_said>{ATTRIBUTES}){end_of_tag}(?P<content>{text})"
        rf"|script{STOP}{ATTRIBUTES}{end_of_tag}{script}|plaintext{STOP}{ATTRIBUTES}>(?s:.*+))"
    )


# ---------------------------------------------------------------- the token patterns


def _tokens(end_of_raw_tag: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:[^<]*+{_SKIPPED})*+[^<]*+"
        rf"(?:<(?:(?P<plain>{_PLAIN_ANCHOR})|{_RELEVANT}|{_raw(end_of_raw_tag)}"
        rf"|{_OTHER}|{_COMMENT}|{_BOGUS_COMMENT}|{_MORE_TEXT})|\Z)",
        re.ASCII,
    )


HTML = _tokens(">")
"""Pattern that matches up to the end of the next token. The groups of a relevant tag are:

- `href` of a plain anchor without rel, which begins at `plain`
- `name` of another tag, and its attributes `said`
- `raw`, the name of a raw text element, its attributes `raw_said` and its `content`
"""

HREF = HTML.groupindex["href"]
"""Number of the group `href`, which is read for every token: by number takes half the time."""


@cache
def xhtml_tokens() -> re.Pattern[str]:
    """Return the pattern for XHTML, compiled on demand: only there has <script/> no content."""
    return _tokens("(?<!/)>")
