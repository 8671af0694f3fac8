"""The text of a page, for people and for data sets, its headings, `meta` elements and language.

Comments, scripts, styles, templates and the head are left out, and <noscript>, except on pages
that have next to no text otherwise. Blocks are on lines of their own, as are lines of preformatted
text; blank lines are removed. The time is linear: no quantifier backtracks, and unclosed markup
extends to the end of the page.
"""

import re
from itertools import islice
from typing import NamedTuple

from minicrawl.web.html.attributes import ATTRIBUTES, STOP, attributes, unescaped

_HIDDEN = re.compile(
    r"<!--(?:-?>|[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z))|"
    + "|".join(
        rf"<{name}{STOP}(?:[^<]++|<(?!/{name}{STOP}))*+(?:</{name}[^>]*+>|\Z)"
        for name in ("script", "style", "template", "title", "noscript", "svg")
    ),
    re.IGNORECASE | re.ASCII,
)
_BLOCKS = (
    "address|article|aside|blockquote|body|br|caption|dd|details|dialog|div|dl|dt|fieldset"
    "|figcaption|figure|footer|form|h[1-6]|head|header|hgroup|hr|html|legend|li|main|menu|nav|ol"
    "|option|p|pre|section|select|summary|table|tbody|textarea|tfoot|thead|tr|ul"
)
_BLOCK = re.compile(rf"</?(?:{_BLOCKS}){STOP}{ATTRIBUTES}(?:>|\Z)", re.IGNORECASE | re.ASCII)
_CELL = re.compile(rf"</?t[dh]{STOP}{ATTRIBUTES}(?:>|\Z)", re.IGNORECASE | re.ASCII)
_TAG = re.compile(rf"</?[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}(?:>|\Z)|<[!?/][^>]*+(?:>|\Z)")
_PREFORMATTED = re.compile(
    rf"<pre{STOP}(?:[^<]++|<(?!/pre{STOP}))*+(?:</pre|\Z)", re.IGNORECASE | re.ASCII
)
_TAG_OR_LINE_END = re.compile(r"<[^>]*+(?:>|\Z)|\r\n?|\n")

_BODY = re.compile(rf"<body{STOP}", re.IGNORECASE | re.ASCII)
_NOSCRIPT = re.compile(rf"(</?)noscript{STOP}", re.IGNORECASE | re.ASCII)
_IN_NOSCRIPT = re.compile(
    rf"<noscript{STOP}[^>]*+>((?:[^<]++|<(?!/noscript{STOP}))*+)", re.IGNORECASE | re.ASCII
)
_NEXT_TO_NONE = 0.3
"""Length of a text, as a share of that in <noscript>, below which the latter is the page's."""
_LONGEST_NOTICE = 200
"""Characters of a text that names JavaScript up to which it is a notice, as applications have."""


def with_noscript(markup: str) -> str:
    """Return the markup with <noscript> as <div> if a page has next to no text otherwise.

    Forums such as Discourse serve their posts there, and show them by scripts.
    """
    body = _BODY.search(markup)
    start = body.start() if body else 0  # a <div> would end the head
    inside = "\n".join(filter(None, map(_text_of, _IN_NOSCRIPT.findall(markup, start))))
    is_notice = len(inside) <= _LONGEST_NOTICE and "javascript" in inside.lower()
    if not inside or is_notice or len(_text_of(markup)) >= _NEXT_TO_NONE * len(inside):
        return markup
    return markup[:start] + _NOSCRIPT.sub(r"\1div", markup[start:])


def plain_text(markup: str) -> str:
    """Return the text of a page, line by line."""
    return _text_of(with_noscript(markup))


def _text_of(markup: str) -> str:
    text = _PREFORMATTED.sub(_with_breaks, _HIDDEN.sub("", markup))
    text = " ".join(text.split())
    text = _TAG.sub("", _CELL.sub(" ", _BLOCK.sub("\n", text)))
    lines = (" ".join(line.split()) for line in unescaped(text).split("\n"))
    return "\n".join(filter(None, lines))


def _with_breaks(element: re.Match[str]) -> str:
    return _TAG_OR_LINE_END.sub(lambda tag: tag[0] if tag[0][0] == "<" else "<br>", element[0])


_HEADING_TEXT = re.compile(
    rf"<h([1-6]){STOP}{ATTRIBUTES}(?:>|\Z)((?:[^<]++|<(?!/?h[1-6]{STOP}))*+)",
    re.IGNORECASE | re.ASCII,
)
_META = re.compile(rf"<meta{STOP}({ATTRIBUTES})", re.IGNORECASE | re.ASCII)
_MOST_METAS = 1000
_LANG = re.compile(rf"<html{STOP}({ATTRIBUTES})", re.IGNORECASE | re.ASCII)


class Heading(NamedTuple):
    """Heading of a page, on one line."""

    level: int
    text: str


def headings(markup: str) -> list[Heading]:
    """Return the headings of a page that have text."""
    elements = _HEADING_TEXT.findall(_HIDDEN.sub("", with_noscript(markup)))
    lines = ((int(level), " ".join(_text_of(heading).split())) for level, heading in elements)
    return [Heading(level, line) for level, line in lines if line]


def metas(markup: str) -> list[tuple[str, str]]:
    """Return the names, in lower case, and the contents of the `meta` elements of a page."""
    pairs: list[tuple[str, str]] = []
    for tag in islice(_META.findall(_HIDDEN.sub("", markup)), _MOST_METAS):
        said = attributes(tag)
        if "name" in said and "content" in said:
            pairs.append((unescaped(said["name"]).strip().lower(), unescaped(said["content"])))
    return pairs


def language(markup: str) -> str:
    """Return the language that a page declares, such as `en` or `pt-br`."""
    tag = _LANG.search(markup)
    said = attributes(tag[1]) if tag else {}
    return unescaped(said.get("lang", said.get("xml:lang", ""))).strip().lower()
