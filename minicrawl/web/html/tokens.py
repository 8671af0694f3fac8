"""Tokens: the tags of a page that say something to us, found in one pass over its text.

Law: tags are found by the tokenization rules of the HTML standard, so no nesting, no size and no
markup left open can hide a tag from us, and what the standard takes for text is none. The time is
proportional to the text, whatever it is: in a token no quantifier gives back what it took, one
that has no end is taken to the end of the page, and each match goes on to the next tag that counts.

telling      a tag that may say something: an anchor, <base>, <frame>, <iframe>, <link>, <meta>,
             <title>, and where <noscript> and <svg> begin and end
silent       one that tells nothing
plain        spelled as programs spell: in small letters, each value in double quotes. Most tags
             are, and patterns that need not know more take half the time
raw text     content in which only its own end tag is markup, as in <style>
escaped      in a script behind "<!--": there an inner <script> hides one </script>

Tags: how a tag is spelled, what it says, and what the character references in it mean.

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


# ---------------------------------------------------------------- plain tags

_PLAIN_ATTRIBUTE = r'[ \n]++[a-z-]++="[^"]*+"'
_PLAIN_END = r"[ \n]?+/?+>"

_TARGET = r'(?:id|name)="[^"]*+">'  # of links, and none itself
_NO_LINK = r'rel="(?!(?:alternate|canonical|next|prev)")[a-z]++"'
_MAY_TELL = (
    rf"a[\t\n\f\r />](?!{_TARGET})|area|base|i?+frame|link(?![ \n]++{_NO_LINK})|meta|no|plaintext"
    r"|sc|style|svg|t(?:it|ex)|xmp"
)

# Spelled otherwise, a tag is silent unless it has one of these names, or is an anchor.
_NAMES = (
    r"area|base|i?+frame|link|meta|/?+(?:noscript|svg)|no(?:embed|frames)|plaintext|script|style"
    r"|t(?:itle|extarea)|xmp"
)

# What is common is tried first, without a loop: to enter one is what costs.
_COMMON = r"(?:span|div|p|li|td|tr|code|dd|dt|em|pre|h[1-6]|ul|strong)"
_SILENT = (
    rf'<(?:/(?![nN][oO]|[sS][vV])[a-zA-Z][a-zA-Z0-9]*+>|{_COMMON}(?:>| [a-z-]++="[^"]*+">)'
    rf"|(?!{_MAY_TELL})[a-z][a-z0-9]*+(?:{_PLAIN_ATTRIBUTE})*+{_PLAIN_END}"
    rf"|(?![aA]{STOP}|(?i:{_NAMES}){STOP})/?+[a-zA-Z][^\t\n\f\r />]*+(?:>|{ATTRIBUTES}>))"
)

# Of "#top" the "#" is enough: many pages are full of links to themselves.
_PLAIN_ANCHOR = (
    r'a[ \n]++(?:(?!href|rel)[a-z-]++="[^"]*+"[ \n]++)*+href="(?P<href>#|[^"]*+)[^"]*+"'
    rf'(?:>|(?:[ \n]++(?!rel)[a-z-]++="[^"]*+")*+{_PLAIN_END})'
)

# ---------------------------------------------------------------- all others

_TELLING = (
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
_MORE_TEXT = r"(?:[^<]*+<(?![a-zA-Z/!?]))*+"  # behind a "<" that begins no tag


def _raw(end_of_tag: str) -> str:
    text = rf"[^<]*+(?:<(?!/(?P=raw){STOP})[^<]*+)*+"
    script = rf"(?:[^<]++|{_ESCAPED}|(?!{_SCRIPT_END})<)*+"
    return (
        rf"(?i:(?P<raw>t(?:itle|extarea)|iframe|style|xmp|no(?:embed|frames)){STOP}"
        rf"(?P<raw_said>{ATTRIBUTES}){end_of_tag}(?P<content>{text})"
        rf"|script{STOP}{ATTRIBUTES}{end_of_tag}{script}|plaintext{STOP}{ATTRIBUTES}>(?s:.*+))"
    )


# ---------------------------------------------------------------- a page


def _tokens(end_of_raw_tag: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:[^<]*+{_SILENT})*+[^<]*+"
        rf"(?:<(?:(?P<plain>{_PLAIN_ANCHOR})|{_TELLING}|{_raw(end_of_raw_tag)}"
        rf"|{_OTHER}|{_COMMENT}|{_BOGUS_COMMENT}|{_MORE_TEXT})|\Z)",
        re.ASCII,
    )


HTML = _tokens(">")
"""Matches up to the end of the next tag that may tell something, or of a token that does not:

- `href` of an anchor, which has no rel and begins at `plain`
- `name` of another tag, or the end tag of one that matters, and the attributes `said` in it
- `raw`, the name of an element of raw text, its attributes `raw_said` and its `content`
"""

HREF = HTML.groupindex["href"]
"""To ask for a group by its number takes half the time, and this one is asked of every token."""

XHTML = _tokens("(?<!/)>")  # only there has <script/> no content
