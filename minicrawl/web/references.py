"""Text and links of a page as written, for reports and search, which read kept pages again.

written     short entries by which a crawl remembers how links were written
references  links with their texts, assets, and anchors
text        the text of a page, its headings and its language
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Any, NamedTuple, cast

from minicrawl.web.markup import (
    ATTRIBUTES,
    LONGEST_TEXT,
    STOP,
    UTF_8,
    AnchorTag,
    attributes,
    decode,
    encoded_query,
    unescaped,
)
from minicrawl.web.responses import parse_content_type
from minicrawl.web.urls import canonical, resolve_each, split

# ================================================================ written
#
# Links as written: one short entry for each link of a page.
#
# An entry preserves what was written: href, text and rel. A link written in the usual way, relative
# to its page and without text, has an empty entry. Entries contain no separators, so they can be
# joined.
#
# entry      form, fragment, text and rel; empty parts at the end are omitted
# form       empty for the shortest relative reference, "=" for the whole URL, "/" for its path from
#            the root, or "!" and the reference as written

LONGEST_FORM = 2_000
"""Most characters of a reference as written; longer ones are stored as the resolved URL."""
BETWEEN_ENTRIES, BETWEEN_PARTS = "\x1e", "\x1f"
_WHOLE, _ROOTED, _OTHER = "=", "/", "!"
_SEPARATORS = str.maketrans("", "", "\x1c\x1d\x1e\x1f")


def entries(
    anchors: Mapping[str, AnchorTag],
    links: Collection[str],
    own: str,
    base: str,
    *,
    strip_marks: bool = True,
) -> tuple[str, ...]:
    """Return the entry of each link of the page at `own`, from its first anchor with a text."""
    found: dict[str, AnchorTag] = {}
    for written, url in resolve_each(anchors, base, strip_marks=strip_marks):
        anchor = anchors[written]
        if url in links and (url not in found or (anchor.text and not found[url].text)):
            found[url] = anchor
    folders = _folders(own)
    return tuple([_entry(found.get(url), url, folders, has_base=own != base) for url in links])


def read_entry(entry: str, own: str, target: str) -> AnchorTag:
    """Return the link to the target as it was written on the page at `own`."""
    form, text, rel = (*entry.split(BETWEEN_PARTS), "", "")[:3]
    if form.startswith(_OTHER):
        return AnchorTag(form[1:], text, rel)
    if form.startswith(_WHOLE):
        return AnchorTag(target + form[1:], text, rel)
    if form.startswith(_ROOTED):
        return AnchorTag(_rooted(target) + form[1:], text, rel)
    return AnchorTag((_relative(_folders(own), target) or target) + form, text, rel)


def joined(found: Iterable[str]) -> str:
    """Join entries into one text."""
    return BETWEEN_ENTRIES.join(found)


def parted(text: str) -> list[str]:
    """Split a text into its entries."""
    return text.split(BETWEEN_ENTRIES)


def _entry(anchor: AnchorTag | None, url: str, folders: list[str], *, has_base: bool) -> str:
    if anchor is None:
        return ""
    written = anchor.written.translate(_SEPARATORS)
    parts = _form(written, url, folders, has_base=has_base), anchor.text, anchor.rel
    return BETWEEN_PARTS.join(parts).rstrip(BETWEEN_PARTS)


def _form(written: str, url: str, folders: list[str], *, has_base: bool) -> str:
    if len(written) > LONGEST_FORM:
        return _WHOLE
    href, hash_sign, fragment = written.partition("#")
    if href == url:
        return f"{_WHOLE}{hash_sign}{fragment}"
    if not has_base and href == _relative(folders, url):
        return hash_sign + fragment
    if href.startswith("/") and href == _rooted(url):
        return f"{_ROOTED}{hash_sign}{fragment}"
    return _OTHER + written


def _folders(url: str) -> list[str]:
    """Return the folder of a page and those above it, the nearest first."""
    origin, path = split(url)
    names = path.partition("?")[0].split("/")[:-1]
    return list(accumulate((f"{name}/" for name in names), initial=origin))[:0:-1]


def _relative(folders: list[str], url: str) -> str | None:
    """Return the shortest relative reference to a URL; None if it is on another host."""
    for above, folder in enumerate(folders):
        if url.startswith(folder):
            return "../" * above + url[len(folder) :]
    return None


def _rooted(url: str) -> str:
    return split(url)[1]


# ================================================================ references
#
# References of a page as written: links with their texts, assets, and anchors.
#
# Takes linear time for any input. A crawl reads links with `markup`, in a tenth of the time.
#
# reference  URL as written in an attribute or a style, with the text of its link
# asset      something needed to show a page: an image, a style, a script, a medium
# style      CSS: a file, an element, or an attribute
# anchor     place in a page that a fragment names, by `id` or by `name`

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
_LINK_RELATIONS = set(_ROLES)
_KINDS = {"source": "media", "script": "script"} | dict.fromkeys(
    ("img", "input", "image", "feimage", "use", "body", "table", "tr", "td", "th"), "image"
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
            return next((one for one in _ROLES if one in relations), self.kind)
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


def references(markup: str, encoding: str = UTF_8) -> References:
    """Return the references in the markup of a page, whose queries are in its encoding."""
    return ReferenceReader().read(markup, encoding)


def style_references(style: str) -> Iterator[Reference]:
    """Yield the references in a style: other styles, images and fonts."""
    for found in _IN_A_STYLE.finditer(style):
        written = _ESCAPED.sub(_unescaped, "".join(filter(None, found.groups())))
        if written and written[0] != "#" and len(written) <= _LONGEST_HREF:
            is_import = found[0].lower().startswith("@import")
            yield Reference(written, "", "", "style" if is_import else "media")


def style_targets(body: bytes, url: str, content_type: str | None) -> list[tuple[str, str]]:
    """Return the first URLs that the style at `url` refers to, each with its kind."""
    style, _ = decode(body, parse_content_type(content_type)[1])
    found = ((canonical(one.written, url), one.kind) for one in style_references(style))
    usable = ((target, kind) for target, kind in found if target is not None)
    return list(islice(usable, MOST_OF_A_STYLE))


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1] or "0", 16)
    return found[2] or (chr(code) if 0 < code < _SURROGATES else "")


def manifest_references(text: str) -> Iterator[Reference]:
    """Yield the icons and screenshots that the manifest of a web application names."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            waiting += [found.get(name) for name in ("icons", "screenshots", "shortcuts")]
            written = found.get("src")
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
        """Return the references of a page."""
        self._found, self._encoding = References(), encoding
        # As bytes: lxml would obey an encoding that the markup declares and that no longer holds.
        self._parser.feed(markup.encode("utf-8", "replace"))
        self._parser.close()
        return self._found

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Process a start tag."""
        self._templates += tag == "template"
        self._drawings += tag == "svg"
        if self._templates:
            return
        if reader := _READERS.get(tag):
            reader(self, tag, attributes)
        if not attributes:
            return
        if name := attributes.get("id"):
            self._found.anchors.add(name)
        if not _LAZY_OR_SET.isdisjoint(attributes):
            self._read_lazy(tag, attributes)
        if style := attributes.get("style"):
            self._read_style(style)

    def end(self, tag: str) -> None:
        """Process an end tag."""
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
        """Process text."""
        if self._style is not None:
            self._style.append(text)
        elif self._open is not None and self._left > 0:
            self._words.append(text[: self._left])
            self._left -= len(text)

    def close(self) -> None:
        """End the page, and close what is open."""
        self._end_anchor()
        self._style, self._templates, self._drawings = None, 0, 0

    def begin_anchor(self, _tag: str, attributes: dict[str, str]) -> None:
        """Process an <a>, which ends the one before it."""
        self._end_anchor()
        if name := attributes.get("name"):
            self._found.anchors.add(name)
        if (href := attributes.get("href")) is not None:
            self._open = href, attributes.get("rel", "")

    def _end_anchor(self) -> None:
        if self._open is not None:
            href, rel = self._open
            self._add_link(href, " ".join("".join(self._words).split()), rel, "a")
            self._open, self._words, self._left = None, [], LONGEST_TEXT

    def begin_style(self, _tag: str, _attributes: dict[str, str]) -> None:
        """Process a <style>, whose content follows."""
        self._style = []

    def read_base(self, _tag: str, attributes: dict[str, str]) -> None:
        """Process a <base>: the first one with a URL counts, unless it is part of a drawing."""
        if not self._drawings:
            href = encoded_query(attributes.get("href", ""), self._encoding)
            self._found.base = self._found.base or href or None

    def read_frame(self, tag: str, attributes: dict[str, str]) -> None:
        """Process an area or a frame."""
        self._add_link(attributes.get(_LINKS[tag]), attributes.get("alt", ""), "", tag)

    def read_link(self, _tag: str, attributes: dict[str, str]) -> None:
        """Process a <link>."""
        rel = attributes.get("rel", "")
        relations = set(rel.lower().split())
        if relations & _ASSET_RELATIONS:
            kind = "style" if "stylesheet" in relations else "media"
            kind = "manifest" if "manifest" in relations else kind
            self._add_asset(attributes.get("href"), rel, kind)
        elif relations & _LINK_RELATIONS:
            self._add_link(attributes.get("href"), "", rel, "link")

    def read_asset(self, tag: str, attributes: dict[str, str]) -> None:
        """Process an element that loads a file."""
        if tag == "img" and self._open is not None:
            self.data(attributes.get("alt", ""))
        for name in _ASSETS[tag]:
            self._add_asset(attributes.get(name), "", _KINDS.get(tag, "media"))

    def _read_lazy(self, tag: str, attributes: dict[str, str]) -> None:
        """Process sets of images, and attributes of lazy-loading scripts."""
        for name, value in attributes.items():
            if name in _SETS:
                for url in _candidates(value):
                    self._add_asset(url, "", "image")
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


_READERS: Mapping[str, Callable[[ReferenceReader, str, dict[str, str]], None]] = {
    "a": ReferenceReader.begin_anchor,
    "base": ReferenceReader.read_base,
    "link": ReferenceReader.read_link,
    "style": ReferenceReader.begin_style,
    **dict.fromkeys(("area", "iframe", "frame"), ReferenceReader.read_frame),
    **dict.fromkeys(_ASSETS, ReferenceReader.read_asset),
}


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a list such as `a.png 1x, b.png 2x`. A URL may contain commas."""
    is_url = True
    for word in srcset.split():
        written = word if is_url else word.partition(",")[2]
        if url := written.rstrip(","):
            yield url
        is_url = word.endswith(",")


# ================================================================ text
#
# The text of a page, for people and for data sets.
#
# Comments, scripts, styles, templates and the head are left out, and <noscript>, except on pages
# that have next to no text otherwise. Blocks are on lines of their own,
# as are lines of preformatted text; blank lines are removed. The time is linear: no quantifier
# backtracks, and unclosed markup extends to the end of the page.


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


def _with_breaks(found: re.Match[str]) -> str:
    """Return preformatted text with its line ends as markup."""
    return _TAG_OR_LINE_END.sub(lambda one: one[0] if one[0][0] == "<" else "<br>", found[0])


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
    found = _HEADING_TEXT.findall(_HIDDEN.sub("", with_noscript(markup)))
    lines = ((int(level), " ".join(_text_of(one).split())) for level, one in found)
    return [Heading(level, line) for level, line in lines if line]


def metas(markup: str) -> list[tuple[str, str]]:
    """Return the names, in lower case, and the contents of the `meta` elements of a page."""
    found: list[tuple[str, str]] = []
    for one in islice(_META.findall(_HIDDEN.sub("", markup)), _MOST_METAS):
        said = attributes(one)
        if "name" in said and "content" in said:
            found.append((unescaped(said["name"]).strip().lower(), unescaped(said["content"])))
    return found


def language(markup: str) -> str:
    """Return the language that a page declares, such as `en` or `pt-br`."""
    found = _LANG.search(markup)
    said = attributes(found[1]) if found else {}
    return unescaped(said.get("lang", said.get("xml:lang", ""))).strip().lower()
