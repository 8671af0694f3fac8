"""The text of a page as it is searched: title, headings, lines of text, and links with their words.

Lexbor reads the markup as browsers do, but it takes quadratic time for some pages: call `page_text`
where it can be killed, and `simple_text` for a page that took too long.

Law: scripts, styles, templates and what is hidden are no text.

frame   what a page says of itself as navigation, header or footer
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, repeat
from operator import not_
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from minicrawl.web.html.page import headings, language, plain_text
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


# ================================================================ boilerplate
#
# Boilerplate: lines that a site repeats on its pages, such as menus and notices.
#
# Law: a line counts as boilerplate by the pages of its own site alone, of which some hundred are
# looked at. Boilerplate is found, but counts little.

SAMPLE = 400
"""Pages of a site that are looked at."""
SHARE = 0.05
FEWEST = 4
"""A line is boilerplate on this share of the pages, and on so many."""
SHARE_OF_TITLES = 0.2
_BETWEEN_PIECES = re.compile(r"\s+[-–—|·•»«:/]+\s+|\s+(?=[(\[])|\s*[|·•»]\s*|::")


class Parted(NamedTuple):
    """The lines of a page."""

    own: list[str]
    repeated: list[str]


class SiteLines:
    """The lines of some pages of a site."""

    def __init__(self, pages: int = 0, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.pages = pages
        self.is_new = False
        """Whether a page was looked at since."""
        self.counts: Counter[int] = Counter(dict(counts))

    @property
    def takes_more(self) -> bool:
        """Whether more pages are to be looked at."""
        return self.pages < SAMPLE

    def add(self, title: str, codes: Iterable[int]) -> None:
        """Look at a page, by its title and the codes of its lines."""
        self.pages += 1
        self.is_new = True
        self.counts.update({*codes, *codes_of(_pieces(title))})

    def part(self, lines: Sequence[str], codes: Sequence[int]) -> Parted:
        """The lines of a page with these codes, and those that are boilerplate."""
        least = max(FEWEST, SHARE * self.pages)
        counts = map(self.counts.get, codes, repeat(0))
        is_own = [count < least for count in counts]
        return Parted(list(compress(lines, is_own)), list(compress(lines, map(not_, is_own))))

    def own_title(self, title: str) -> str:
        """The title without the pieces that the site puts on every page, if something is left."""
        pieces = _pieces(title)
        least = max(FEWEST, SHARE_OF_TITLES * self.pages)
        own = [
            piece
            for piece, code in zip(pieces, codes_of(pieces), strict=True)
            if self.counts.get(code, 0) < least
        ]
        return " ".join(piece.strip() for piece in own) or title

    def remembered(self) -> Iterator[tuple[int, int]]:
        """What is to be remembered: of a full sample only what was seen again."""
        least = 1 if self.takes_more else 2
        return ((code, pages) for code, pages in self.counts.items() if pages >= least)


def _pieces(title: str) -> list[str]:
    """Pieces are told from lines by the space at their beginning."""
    return [f" {piece}" for piece in _BETWEEN_PIECES.split(title) if piece]


def codes_of(lines: Iterable[str]) -> list[int]:
    """By what lines are told from each other."""
    return [crc32(line.encode("utf-8", "replace")) for line in lines]
