"""Extracts the searchable text of a page: title, headings, lines of text, and links with words.

Lexbor parses markup as browsers do, but takes quadratic time on some pages: call `page_text` where
it can be killed, and `simple_text` for a page that took too long.

Law: scripts, styles, templates and hidden elements are not text.

frame   parts that a page marks as navigation, header or footer
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

# The first letters distinguish block tags from common inline tags, three times faster than names.
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
_HEADINGS = "h1,h2,h3,h4,h5,h6,dt"
_BELOW_FOLDERS = re.compile(r"[^?#/][^?#]*")


class AnchorText(NamedTuple):
    """Link, with its words."""

    url: str
    words: str


class PageText(NamedTuple):
    """Text of a page, by part."""

    title: str = ""
    headings: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    language: str = ""
    anchors: tuple[AnchorText, ...] = ()


def page_text(markup: str, url: str) -> PageText:
    """Return the text of the page at this URL."""
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
    """Return the text without links, in time proportional to the length."""
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
    """Resolve a reference that does not depend on the page's name.

    The cache pays because most pages of a site share their references.
    """
    return canonical(href, folder)


def _frame(tree: LexborHTMLParser) -> Iterator[str]:
    for node in _outermost(tree.css(_FRAME)):
        yield from _lines(node.text())
        node.decompose()


def _drop(nodes: list[LexborNode]) -> None:
    for node in _outermost(nodes):
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


# ================================================================ boilerplate
#
# Boilerplate: lines that a site repeats on its pages, such as menus and notices.
#
# Laws: whether a line is boilerplate depends only on its own site, of which a sample of pages is
# examined. Boilerplate can be found, but has little weight.

SAMPLE = 400
"""Pages sampled per site."""
SHARE = 0.05
FEWEST = 4
"""A line is boilerplate if it is on `SHARE` of the pages, and on at least `FEWEST`."""
SHARE_OF_TITLES = 0.2
_BETWEEN_PIECES = re.compile(r"\s+[-–—|·•»«:/]+\s+|\s+(?=[(\[])|\s*[|·•»]\s*|::")


class Parted(NamedTuple):
    """Lines of a page, split into its own and boilerplate."""

    own: list[str]
    repeated: list[str]


class SiteLines:
    """Line counts over a sample of a site's pages."""

    def __init__(self, pages: int = 0, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.pages = pages
        self.is_new = False
        """True if a page was added since loading."""
        self.counts: Counter[int] = Counter(dict(counts))

    @property
    def takes_more(self) -> bool:
        """True if the sample is not full."""
        return self.pages < SAMPLE

    def add(self, title: str, codes: Iterable[int]) -> None:
        """Add a page to the sample, by its title and the codes of its lines."""
        self.pages += 1
        self.is_new = True
        self.counts.update({*codes, *codes_of(_pieces(title))})

    def part(self, lines: Sequence[str], codes: Sequence[int]) -> Parted:
        """Split the lines of a page into its own and boilerplate."""
        least = max(FEWEST, SHARE * self.pages)
        counts = map(self.counts.get, codes, repeat(0))
        is_own = [count < least for count in counts]
        return Parted(list(compress(lines, is_own)), list(compress(lines, map(not_, is_own))))

    def own_title(self, title: str) -> str:
        """Return the title without the parts that the site repeats, unless nothing is left."""
        pieces = _pieces(title)
        least = max(FEWEST, SHARE_OF_TITLES * self.pages)
        own = [
            piece
            for piece, code in zip(pieces, codes_of(pieces), strict=True)
            if self.counts.get(code, 0) < least
        ]
        return " ".join(piece.strip() for piece in own) or title

    def remembered(self) -> Iterator[tuple[int, int]]:
        """Yield the counts to store; of a full sample, only lines seen more than once."""
        least = 1 if self.takes_more else 2
        return ((code, pages) for code, pages in self.counts.items() if pages >= least)


def _pieces(title: str) -> list[str]:
    """Return the parts of a title. A leading space distinguishes them from lines."""
    return [f" {piece}" for piece in _BETWEEN_PIECES.split(title) if piece]


def codes_of(lines: Iterable[str]) -> list[int]:
    """Return a hash of each line."""
    return [crc32(line.encode("utf-8", "replace")) for line in lines]
