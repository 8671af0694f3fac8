"""References of a page as written: links with their texts, assets, and anchors.

For reports, which read kept pages again. Takes linear time for any input. A crawl reads links with
`scanner`, in a tenth of the time.

reference  URL as written in an attribute or a style, with the text of its link
asset      something needed to show a page: an image, a style, a script, a medium
style      CSS: a file, an element, or an attribute
anchor     place in a page that a fragment names, by `id` or by `name`
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, cast

from minicrawl.web.encoding.detection import decode
from minicrawl.web.encoding.labels import UTF_8, encoded_query
from minicrawl.web.html.anchors import LONGEST_TEXT
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.urls import canonical

_LONGEST_HREF = 8192
_IN_A_STYLE = re.compile(
    r"""/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|@namespace\b[^;{}]*+"""  # refer to nothing
    r"""|(?:@import\s+)?url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|((?:[^\s"'()\\]|\\.)+))\s*\)"""
    r"""|@import\s+(?:"([^"\n]*)"|'([^'\n]*)')"""
    r"""|(?:"([^"\n]*)"|'([^'\n]*)')\s+(?:[\d.]+(?:x|dppx|dpi)\b|type\()"""  # of an image-set
    r"""|"[^"\n]*"|'[^'\n]*'""",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.IGNORECASE)
_LINKS = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
_SOURCE, _HREF, _BACKGROUND = ("src",), ("href", "xlink:href"), ("background",)
_ASSETS = {
    "img": ("src", "lowsrc"),
    "script": (*_SOURCE, *_HREF),  # the latter in SVG
    "source": _SOURCE,
    "audio": _SOURCE,
    "video": ("src", "poster"),
    "track": _SOURCE,
    "embed": _SOURCE,
    "bgsound": _SOURCE,
    "object": ("data",),
    "input": _SOURCE,
    "image": (*_SOURCE, *_HREF),
    "feimage": _HREF,
    "use": _HREF,
    "body": _BACKGROUND,
    "table": _BACKGROUND,
    "thead": _BACKGROUND,
    "tbody": _BACKGROUND,
    "tfoot": _BACKGROUND,
    "tr": _BACKGROUND,
    "td": _BACKGROUND,
    "th": _BACKGROUND,
}
_SETS = {"srcset", "imagesrcset", "data-srcset", "data-lazy-srcset", "data-original-set"}
_LAZY = frozenset(
    f"data-{name}"
    for name in (
        *("src", "original", "lazy", "lazy-src", "bg", "bg-image", "background", "echo", "poster"),
        *("background-image", "image-src", "hi-res-src", "src-retina", "fallback-src", "lowsrc"),
    )
)
"""Attributes from which common lazy-loading scripts take the URL of an image or a medium."""
_LAZY_OR_SET = _LAZY | _SETS
_ASSET_RELATIONS = {
    *("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"),
    *("apple-touch-startup-image", "fluid-icon", "manifest", "preload", "prefetch"),
    "modulepreload",
}
_ROLES = ("canonical", "alternate", "next", "prev")
_KINDS = {"source": "media", "script": "script"} | dict.fromkeys(
    ("img", "input", "image", "feimage", "use", "body", "table", "tr", "td", "th"), "image"
)
_PREVIEWS = (
    "og:image",
    "og:image:url",
    "og:image:secure_url",
    "twitter:image",
    "twitter:image:src",
)
_MOST_ASSETS = 10_000
"""Most assets of a page; others are left out."""
MOST_OF_A_STYLE = 1_000
"""Most references of a style that a check follows."""
_SURROGATES = 0xD800
LEADS_ON = frozenset(("style", "manifest"))
"""Kinds of assets that need assets of their own."""


class Reference(NamedTuple):
    """A link or an asset."""

    written: str
    text: str
    rel: str
    kind: str  # image, style, script, manifest or media for an asset; for a link its tag

    @property
    def role(self) -> str:
        """Kind in reports: link, nofollow, canonical, alternate, next, prev, frame, or an asset."""
        relations = self.rel.lower().split() if self.rel else ()  # most links have none
        if self.kind == "link":
            return next((role for role in _ROLES if role in relations), self.kind)
        if self.kind in ("a", "area"):
            return "nofollow" if "nofollow" in relations else "link"
        return "frame" if self.kind in _LINKS else self.kind


@dataclass(slots=True)
class References:
    """The references of a page, with duplicates, in their order."""

    base: str | None = None
    links: list[Reference] = field(default_factory=list)
    assets: list[Reference] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    previews: list[str] = field(default_factory=list)
    """Images by which other sites show a link to the page, which the page does not need."""
    choices: set[str] = field(default_factory=set)
    """Assets of which a browser loads one."""


def references(markup: str, encoding: str = UTF_8) -> References:
    """Return the references in the markup of a page, whose queries are in its encoding."""
    return ReferenceReader().read(markup, encoding)


def style_references(style: str) -> Iterator[Reference]:
    """Yield the references in a style: other styles, images and fonts."""
    for reference in _IN_A_STYLE.finditer(style):
        written = _ESCAPED.sub(_unescaped, "".join(filter(None, reference.groups())))
        if written and written[0] != "#" and len(written) <= _LONGEST_HREF:
            is_import = reference[0].lower().startswith("@import")
            yield Reference(written, "", "", "style" if is_import else "media")


def style_targets(body: bytes, url: str, content_type: str | None) -> list[tuple[str, str]]:
    """Return the first URLs that the style at `url` refers to, each with its kind."""
    style, _ = decode(body, parse_content_type(content_type)[1])
    targets = (
        (canonical(reference.written, url), reference.kind) for reference in style_references(style)
    )
    usable = ((target, kind) for target, kind in targets if target is not None)
    return list(islice(usable, MOST_OF_A_STYLE))


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or "0", 16)
    return escape[2] or (chr(code) if 0 < code < _SURROGATES else "")


def manifest_references(text: str) -> Iterator[Reference]:
    """Yield the icons and screenshots that the manifest of a web application names."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [value.get(name) for name in ("icons", "screenshots", "shortcuts")]
            written = value.get("src")
            if isinstance(written, str) and 0 < len(written) <= _LONGEST_HREF:
                yield Reference(written, "", "", "image")


class ReferenceReader:
    """Reader of one page after another: target of a parser, which sends tags and texts.

    The parser stays: to make one takes as long as to parse a short page.
    """

    def __init__(self) -> None:
        from lxml import etree  # not at the top: most reports read no page, and start faster

        self._parser = etree.HTMLParser(target=cast(Any, self), encoding="utf-8", huge_tree=True)
        self._found, self._encoding = References(), UTF_8
        self._open: tuple[str, str] | None = None  # href and rel of the open anchor
        self._words: list[str] = []
        self._left = LONGEST_TEXT
        self._style: list[str] | None = None  # content of the open style
        self._templates = self._drawings = 0  # open ones: browsers load nothing of the former

    def read(self, markup: str, encoding: str = UTF_8) -> References:
        self._found, self._encoding = References(), encoding
        # As bytes: lxml would obey an encoding that the markup declares and that no longer holds.
        self._parser.feed(markup.encode("utf-8", "replace"))
        self._parser.close()
        return self._found

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._templates += tag == "template"
        self._drawings += tag == "svg"
        if self._templates:
            return
        self._read_element(tag, attributes)
        if not attributes:
            return
        if name := attributes.get("id"):
            self._found.anchors.add(name)
        if not _LAZY_OR_SET.isdisjoint(attributes):
            self._read_lazy(tag, attributes)
        if style := attributes.get("style"):
            self._read_style(style)

    def end(self, tag: str) -> None:
        if tag == "template":
            self._templates -= 1
        elif tag == "svg":
            self._drawings -= 1
        elif tag == "a":
            self._end_anchor()
        elif tag == "style" and self._style is not None:
            self._read_style("".join(self._style))
            self._style = None

    def data(self, text: str) -> None:
        if self._style is not None:
            self._style.append(text)
        elif self._open is not None and self._left > 0:
            self._words.append(text[: self._left])
            self._left -= len(text)

    def close(self) -> None:
        """End the page, and close what is open."""
        self._end_anchor()
        self._style, self._templates, self._drawings = None, 0, 0

    def _read_element(self, tag: str, attributes: dict[str, str]) -> None:
        """Process what an element refers to by its own attributes."""
        get = attributes.get
        match tag:
            case "a":
                self._end_anchor()  # it ends the one before it
                if name := get("name"):
                    self._found.anchors.add(name)
                if (href := get("href")) is not None:
                    self._open = href, get("rel", "")
            case "link":
                self._read_link(attributes)
            case "meta":
                self._read_meta(attributes)
            case "style":
                self._style = []  # its content follows
            case "area" | "iframe" | "frame":
                self._add_link(get(_LINKS[tag]), get("alt", ""), "", tag)
            case "base" if not self._drawings:  # the first one with a URL counts
                href = encoded_query(get("href", ""), self._encoding)
                self._found.base = self._found.base or href or None
        for name in _ASSETS.get(tag, ()):
            self._add_asset(get(name), "", _KINDS.get(tag, "media"))
        if tag == "img" and self._open is not None:
            self.data(get("alt", ""))

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
            kind = "manifest" if "manifest" in relations else kind
            self._add_asset(attributes.get("href"), rel, kind)
        elif relations.intersection(_ROLES):
            self._add_link(attributes.get("href"), "", rel, "link")

    def _read_meta(self, attributes: dict[str, str]) -> None:
        name = attributes.get("property") or attributes.get("name", "")
        content = attributes.get("content", "").strip()
        if name.lower() in _PREVIEWS and 0 < len(content) <= _LONGEST_HREF:
            self._found.previews.append(encoded_query(content, self._encoding))

    def _read_lazy(self, tag: str, attributes: dict[str, str]) -> None:
        """Process sets of images, and attributes of lazy-loading scripts."""
        for name, value in attributes.items():
            if name in _SETS:
                for url in _candidates(value):
                    self._add_asset(url, "", "image")
                    self._found.choices.add(encoded_query(url, self._encoding))
            elif name in _LAZY and tag not in _LINKS:
                if "url(" in value:
                    self._read_style(value)
                elif "/" in value or "." in value:  # else a flag such as data-lazy="true"
                    self._add_asset(value.strip(), "", _KINDS.get(tag, "media"))

    def _read_style(self, style: str) -> None:
        room = _MOST_ASSETS - len(self._found.assets)
        self._found.assets += islice(style_references(style), max(room, 0))

    def _add_link(self, href: str | None, text: str, rel: str, kind: str) -> None:
        if href is not None and len(href) <= _LONGEST_HREF:
            written = encoded_query(href, self._encoding)
            self._found.links.append(Reference(written, text, rel, kind))

    def _add_asset(self, href: str | None, rel: str, kind: str) -> None:
        is_usual = href and href[0] != "#" and len(href) <= _LONGEST_HREF
        if href and is_usual and len(self._found.assets) < _MOST_ASSETS:
            written = encoded_query(href, self._encoding)
            self._found.assets.append(Reference(written, "", rel, kind))


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a list such as `a.png 1x, b.png 2x`. A URL may contain commas."""
    is_url = True
    for word in srcset.split():
        written = word if is_url else word.partition(",")[2]
        if url := written.rstrip(","):
            yield url
        is_url = word.endswith(",")
