"""The text of a page as it is searched: title, headings, lines of text, and links with their words.

Lexbor reads the markup as browsers do, but it takes quadratic time for some pages: call `page_text`
where it can be killed, and `simple_text` for a page that took too long.

Law: scripts, styles, templates and what is hidden are no text.

frame   what a page says of itself as navigation, header or footer
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.web.html.text import headings, language, plain_text
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_LINES, LONGEST_LINE = 50_000, 100_000
_MOST_LINKS = 10_000
_LONGEST_ANCHOR = 200
_LONGEST_TITLE = 1_000

# The first letters tell blocks from the usual tags within a line, in a third of the time.
_BLOCK = re.compile(r"<(?=/?(?:[dltphoDLTPHO]|[bB][rlo]|[fF]i|se|nav|as|ma|ar|ul))")
# To look for one in the tree takes as long as to look for all links.
_BASE = re.compile("<[bB][aA][sS][eE]")
_NO_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "head", "iframe", "object"))
_NOT_SEEN = (
    "display:none",
    "visibility:hidden",
    "opacity:0",
    "font-size:0",
    "font-size:0px",
    "text-indent:-999",
    "left:-999",
    "top:-999",
)
"""Styles that hide text from people; the beginning of a number must not hide `opacity:0.9`."""
_PERHAPS_HIDDEN = ",".join((*sorted(_NO_TEXT), "[hidden]", "[aria-hidden=true]", "[style]"))
_FRAME = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=search]"
_HEADINGS = "h1,h2,h3,h4,h5,h6,dt"
_BELOW_FOLDERS = re.compile(r"[^?#/][^?#]*")


class AnchorText(NamedTuple):
    """A link, and its words."""

    url: str
    words: str


class PageText(NamedTuple):
    """What a page says."""

    title: str = ""
    headings: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    language: str = ""
    anchors: tuple[AnchorText, ...] = ()


def page_text(markup: str, url: str) -> PageText:
    """The text of the page at this URL."""
    from selectolax.lexbor import LexborHTMLParser

    plain = markup.replace("\n", " ").replace("\r", " ")
    tree = LexborHTMLParser(_BLOCK.sub("\n<", plain))
    anchors = tuple(_anchors(tree, url, has_base=_BASE.search(plain) is not None))
    title = _line(tree.css_first("title"))[:_LONGEST_TITLE]
    said = language(markup[:LONGEST_LINE])
    _drop([node for node in tree.css(_PERHAPS_HIDDEN) if _is_hidden(node)])
    found = tuple(filter(None, map(_line, tree.css(_HEADINGS))))
    frame = tuple(_frame(tree))
    body = tree.body
    lines = () if body is None else tuple(_lines(body.text()))
    return PageText(title, found, lines, frame, said, anchors)


def simple_text(markup: str) -> PageText:
    """The same without links, in a time that is proportional to the length."""
    lines = tuple(plain_text(markup).split("\n")[:MOST_LINES])
    return PageText("", tuple(headings(markup)), lines, (), language(markup))


def _anchors(tree: LexborHTMLParser, url: str, *, has_base: bool) -> Iterator[AnchorText]:
    base = tree.css_first("base[href]") if has_base else None
    own = (base and canonical(base.attributes.get("href") or "", url)) or url
    folder = own[: own.rindex("/") + 1]
    seen = set()
    for node in tree.css("a[href]")[:_MOST_LINKS]:
        href, words = node.attributes.get("href") or "", _line(node)[:_LONGEST_ANCHOR]
        if not words or href[:1] == "#" or (href, words) in seen:
            continue
        seen.add((href, words))
        below = _BELOW_FOLDERS.match(href)
        target = _resolved(href, folder) if below else canonical(href, own)
        if target and target != url:
            yield AnchorText(target, words)


@lru_cache(1 << 14)
def _resolved(href: str, folder: str) -> str | None:
    """A reference that does not depend on the name of the page: most pages have the same ones."""
    return canonical(href, folder)


def _frame(tree: LexborHTMLParser) -> Iterator[str]:
    for node in _outermost(tree.css(_FRAME)):
        yield from _lines(node.text())
        node.decompose()


def _drop(nodes: list[LexborNode]) -> None:
    for node in _outermost(nodes):
        node.decompose()


def _is_hidden(node: LexborNode) -> bool:
    """Whether people do not see it as text, as far as it says itself."""
    if node.tag in _NO_TEXT:
        return True
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = "".join((attributes.get("style") or "").lower().split())
    return any(_is_declared(style, one) for one in _NOT_SEEN)


def _is_declared(style: str, declaration: str) -> bool:
    at = style.find(declaration)
    following = style[at + len(declaration) :][:1]
    is_whole = declaration.endswith("999") or following in {"", ";", "!"}
    return at >= 0 and style[at - 1 : at] in {"", ";"} and is_whole


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Those within none of the others: to remove a node frees all that is in it."""
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
