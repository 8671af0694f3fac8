"""The text of a page, for people and for data sets.

Laws: comments, scripts, styles, templates and the head are no text. Blocks stand on lines of their
own, as do lines of preformatted text; blank lines are left out. The time is proportional to the
length: no quantifier backtracks, and what is not closed extends to the end of the page.
"""

import re

from minicrawl.web.html.tokens import ATTRIBUTES, STOP, attributes, unescaped


def _raw(name: str) -> str:
    return rf"<{name}{STOP}(?:[^<]++|<(?!/{name}{STOP}))*+(?:</{name}[^>]*+>|\Z)"


_HIDDEN = re.compile(
    r"<!--(?:-?>|[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z))|"
    + "|".join(map(_raw, ("script", "style", "template", "title", "noscript", "svg"))),
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


def plain_text(markup: str) -> str:
    """The text of a page, line by line."""
    text = _PREFORMATTED.sub(_with_breaks, _HIDDEN.sub("", markup))
    text = " ".join(text.split())
    text = _TAG.sub("", _CELL.sub(" ", _BLOCK.sub("\n", text)))
    lines = (" ".join(line.split()) for line in unescaped(text).split("\n"))
    return "\n".join(filter(None, lines))


def _with_breaks(found: re.Match[str]) -> str:
    """Preformatted text, whose lines end as markup ends lines."""
    return _TAG_OR_LINE_END.sub(lambda one: one[0] if one[0][0] == "<" else "<br>", found[0])


_HEADING = re.compile(
    rf"<h[1-6]{STOP}{ATTRIBUTES}(?:>|\Z)((?:[^<]++|<(?!/?h[1-6]{STOP}))*+)",
    re.IGNORECASE | re.ASCII,
)
_LANG = re.compile(rf"<html{STOP}({ATTRIBUTES})", re.IGNORECASE | re.ASCII)


def headings(markup: str) -> list[str]:
    """The headings of a page, each on one line."""
    found = _HEADING.findall(_HIDDEN.sub("", markup))
    return [line for one in found if (line := " ".join(plain_text(one).split()))]


def language(markup: str) -> str:
    """The language that a page says it is in, such as `en` or `pt-br`."""
    found = _LANG.search(markup)
    said = attributes(found[1]) if found else {}
    return unescaped(said.get("lang", said.get("xml:lang", ""))).strip().lower()
