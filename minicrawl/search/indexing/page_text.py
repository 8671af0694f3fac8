"""Extracts the searchable text of a page: title, headings, lines of text, and links with words.

Lexbor parses markup as browsers do, but takes quadratic time on some pages: call `page_text` where
it can be killed, and `simple_text` for a page that took too long.

Law: scripts, styles, templates and hidden elements are not text, and <noscript> is text only on a
page that has next to none otherwise.

frame   parts that a page marks as navigation, header or footer
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.report.archived.page_texts import TextMaker
from minicrawl.web.encoding.labels import UTF_8, encoded_query
from minicrawl.web.html.page_text import headings, language, plain_text, with_noscript
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


MOST_LINES, LONGEST_LINE = 50_000, 100_000
_MOST_LINKS = 10_000
_LONGEST_ANCHOR = 200
_LONGEST_TITLE = 1_000

# A line break goes before each block tag, so that the text of a page has a line for each block. The
# first letters distinguish these tags from common inline tags, three times faster than whole names.
_BLOCK = re.compile(r"<(?=/?(?:[dltphoDLTPHO]|[bB][rlo]|[fF]i|se|nav|as|ma|ar|ul))")
# Searching the tree for a base element takes as long as searching for all links.
_BASE = re.compile("<[bB][aA][sS][eE]")
_NO_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "head", "iframe", "object"))
_NOT_SEEN = re.compile(
    "(?:^|;)(?:"
    "(?:display:none|visibility:hidden|opacity:0|font-size:0(?:px)?)(?=[;!]|$)"
    "|(?:text-indent|left|top):-999)"
)
"""Declarations that hide text. `opacity:0` must not match `opacity:0.9`.

One is enough, even if a later one overrides it: browsers ignore a later one with a wrong value.
"""
_PERHAPS_HIDDEN = ",".join((*sorted(_NO_TEXT), "[hidden]", "[aria-hidden=true]", "[style]"))
_FRAME = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=search]"
_HEADINGS = (
    "h1,h2,h3,h4,h5,h6,dt,"
    "td:first-child>code:first-of-type,td:first-child>p:first-child>code:first-of-type"
)
"""Elements that name what follows: a table often defines a name in the first cell of a row."""
_BELOW_FOLDERS = re.compile(r"[^?#/][^?#]*")


class PageText(NamedTuple):
    """Text of a page, by part."""

    title: str = ""
    headings: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    language: str = ""
    anchors: tuple[tuple[str, str], ...] = ()
    """URLs of links, with their words."""
    main: tuple[str, ...] = ()
    """Lines of the main text; none if it is unknown."""


def page_text(
    markup: str, url: str, main_text: TextMaker | None = None, encoding: str = UTF_8
) -> PageText:
    """Return the text of the page at this URL, with the lines that `main_text` makes of it."""
    from selectolax.lexbor import LexborHTMLParser

    plain = with_noscript(markup).replace("\n", " ").replace("\r", " ")
    tree = LexborHTMLParser(_BLOCK.sub("\n<", plain))
    anchors = tuple(_anchors(tree, url, encoding, has_base=_BASE.search(plain) is not None))
    title = _line(tree.css_first("title"))[:_LONGEST_TITLE]
    declared = language(markup[:LONGEST_LINE])
    for node in _outermost([node for node in tree.css(_PERHAPS_HIDDEN) if _is_hidden(node)]):
        node.decompose()
    main = () if main_text is None else tuple(_lines(main_text(tree.html or "", url)))
    page_headings = tuple(filter(None, map(_line, tree.css(_HEADINGS))))
    frame = tuple(_frame(tree))
    body = tree.body
    lines = () if body is None else tuple(_lines(body.text()))
    return PageText(title, page_headings, lines, frame, declared, anchors, main)


def simple_text(markup: str) -> PageText:
    """Return the text without links, in time proportional to the length."""
    lines = tuple(plain_text(markup).split("\n")[:MOST_LINES])
    page_headings = tuple(heading.text for heading in headings(markup))
    return PageText("", page_headings, lines, (), language(markup))


def _anchors(
    tree: LexborHTMLParser, url: str, encoding: str, *, has_base: bool
) -> Iterator[tuple[str, str]]:
    base = tree.css_first("base[href]") if has_base else None
    own = (base and canonical(base.attributes.get("href") or "", url)) or url
    folder = own[: own.rindex("/") + 1]
    known = set()
    for node in tree.css("a[href]")[:_MOST_LINKS]:
        href, words = node.attributes.get("href") or "", _line(node)[:_LONGEST_ANCHOR]
        if not words or href[:1] == "#" or (href, words) in known:
            continue
        known.add((href, words))
        href = encoded_query(href, encoding)
        below = _BELOW_FOLDERS.match(href)
        target = _resolved(href, folder) if below else canonical(href, own)
        if target and target != url:
            yield target, words


_resolved = lru_cache(1 << 14)(canonical)
"""Resolves a reference that does not depend on the page's name: most pages of a site share these.
"""


def _frame(tree: LexborHTMLParser) -> Iterator[str]:
    for node in _outermost(tree.css(_FRAME)):
        yield from _lines(node.text())
        node.decompose()


def _is_hidden(node: LexborNode) -> bool:
    """Return True if people do not see the element as text, judging by its own attributes."""
    if node.tag in _NO_TEXT:
        return True
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = "".join((attributes.get("style") or "").lower().split())
    return _NOT_SEEN.search(style) is not None


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the nodes not within others: removing a node frees everything inside it."""
    ids = {node.mem_id for node in nodes}
    return [node for node in nodes if not _is_within(node, ids)]


def _is_within(node: LexborNode, ids: set[int]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in ids:
            return True
        above = above.parent
    return False


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.split("\n") if not line.isspace())
    return [line[:LONGEST_LINE] for line in lines if line][:MOST_LINES]


def _line(node: LexborNode | None) -> str:
    return "" if node is None else " ".join(node.text().split())
