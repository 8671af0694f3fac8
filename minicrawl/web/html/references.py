"""References of a page as written: links with their texts, assets, and anchors.

Takes linear time for any input. Reports use this module to read a page again; a crawl reads links
with `markup`, in a tenth of the time.

reference  URL as written in an attribute or a style, with the text of its link
asset      something needed to show a page: an image, a style, a script, a medium
style      CSS: a file, an element, or an attribute
anchor     place in a page that a fragment names, by `id` or by `name`
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

LONGEST_TEXT = 200
"""Most characters of the text of a link."""
_LONGEST_HREF = 8192
_IN_A_STYLE = re.compile(
    r"""(?:@import\s+)?url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'()]+))\s*\)"""
    r"""|@import\s+(?:"([^"\n]*)"|'([^'\n]*)')""",
    re.IGNORECASE,
)
_LINKS = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
_ASSETS = {
    "img": ("src",),
    "script": ("src",),
    "source": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
}
_ASSET_RELATIONS = {"stylesheet", "icon", "apple-touch-icon", "manifest", "preload"}
_LINK_RELATIONS = {"next", "prev", "alternate", "canonical"}
_KINDS = {"img": "image", "input": "image", "script": "script"}


class Reference(NamedTuple):
    """A link or an asset."""

    written: str
    text: str
    rel: str
    kind: str  # image, style, script or media for an asset; the name of the tag for a link


@dataclass(slots=True)
class References:
    """The references of a page, with duplicates, in their order."""

    base: str | None = None
    links: list[Reference] = field(default_factory=list)
    assets: list[Reference] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


def references(markup: str) -> References:
    """Return the references in the markup of a page."""
    from lxml import etree  # not at the top: most reports read no page and start faster without it

    reader = _Reader()
    parser = etree.HTMLParser(target=cast(Any, reader), encoding="utf-8", huge_tree=True)
    parser.feed(markup.encode("utf-8", "replace"))
    parser.close()
    reader.close()
    return reader.found


def style_references(style: str) -> Iterator[Reference]:
    """Yield the references in a style: other styles, images and fonts."""
    for found in _IN_A_STYLE.finditer(style):
        written = "".join(filter(None, found.groups()))
        if written and written[0] != "#" and len(written) <= _LONGEST_HREF:
            is_import = found[0].lower().startswith("@import")
            yield Reference(written, "", "", "style" if is_import else "media")


class _Reader:
    """Parser target that receives tags and texts one by one."""

    def __init__(self) -> None:
        self.found = References()
        self._open: tuple[str, str] | None = None  # href and rel of the open anchor
        self._words: list[str] = []
        self._left = LONGEST_TEXT
        self._style: list[str] | None = None  # content of the open style

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Process a start tag."""
        self.found.anchors.update(filter(None, (attributes.get("id"),)))
        if tag == "a":
            self._begin_anchor(attributes)
        elif tag == "base":
            self.found.base = self.found.base or attributes.get("href")
        elif tag == "link":
            self._read_link(attributes)
        elif tag in _LINKS:
            self._add_link(attributes.get(_LINKS[tag]), attributes.get("alt", ""), "", tag)
        elif tag in _ASSETS:
            self._read_asset(tag, attributes)
        elif tag == "style":
            self._style = []
        self._read_style(attributes.get("style", ""))

    def end(self, tag: str) -> None:
        """Process an end tag."""
        if tag == "a":
            self._end_anchor()
        elif tag == "style" and self._style is not None:
            self._read_style("".join(self._style))
            self._style = None

    def data(self, text: str) -> None:
        """Process text."""
        if self._style is not None:
            self._style.append(text)
        elif self._open is not None and self._left > 0:
            self._words.append(text[: self._left])
            self._left -= len(text)

    def close(self) -> None:
        """End the page, and close what is open."""
        self._end_anchor()

    def _begin_anchor(self, attributes: dict[str, str]) -> None:
        self._end_anchor()
        self.found.anchors.update(filter(None, (attributes.get("name"),)))
        if (href := attributes.get("href")) is not None:
            self._open = href, attributes.get("rel", "")

    def _end_anchor(self) -> None:
        if self._open is not None:
            href, rel = self._open
            self._add_link(href, " ".join("".join(self._words).split()), rel, "a")
        self._open, self._words, self._left = None, [], LONGEST_TEXT

    def _read_link(self, attributes: dict[str, str]) -> None:
        rel = attributes.get("rel", "")
        relations = set(rel.lower().split())
        if relations & _ASSET_RELATIONS:
            kind = "style" if "stylesheet" in relations else "media"
            self._add_asset(attributes.get("href"), rel, kind)
        elif relations & _LINK_RELATIONS:
            self._add_link(attributes.get("href"), "", rel, "link")

    def _read_asset(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "img" and self._open is not None:
            self.data(attributes.get("alt", ""))
        for name in _ASSETS[tag]:
            self._add_asset(attributes.get(name), "", _KINDS.get(tag, "media"))
        for url in _candidates(attributes.get("srcset", "")):
            self._add_asset(url, "", "image")

    def _read_style(self, style: str) -> None:
        self.found.assets += style_references(style)

    def _add_link(self, href: str | None, text: str, rel: str, kind: str) -> None:
        if href is not None and len(href) <= _LONGEST_HREF:
            self.found.links.append(Reference(href, text, rel, kind))

    def _add_asset(self, href: str | None, rel: str, kind: str) -> None:
        if href and len(href) <= _LONGEST_HREF:
            self.found.assets.append(Reference(href, "", rel, kind))


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a list such as `a.png 1x, b.png 2x`. A URL may contain commas."""
    is_url = True
    for word in srcset.split():
        written = word if is_url else word.partition(",")[2]
        if url := written.rstrip(","):
            yield url
        is_url = word.endswith(",")
