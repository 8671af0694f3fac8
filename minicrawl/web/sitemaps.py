"""Sitemaps: the pages that a site names itself, and the further sitemaps it keeps them in.

Laws: what can be read counts, however the rest is broken, but no URL is guessed at; nothing but
URLs is taken; no entity is expanded and no document type is loaded; what is read is bounded in
bytes, in events and in URLs, whatever the body unpacks to.

The forms are told apart by how the body begins: gzip, with one of the others inside; XML, be it a
sitemap, an index of sitemaps, RSS or Atom; all else is a list of absolute URLs, one a line.
"""

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

from lxml import etree

from minicrawl.model import Originals
from minicrawl.web.urls import LONGEST, canonical_links, names_of_links

MAX_BYTES = 50 * 1024 * 1024
"""What is behind is neither read nor unpacked."""

MAX_URLS = 50_000
"""The protocol allows no more; a file that names more is read no further."""

_MAX_EVENTS = 2_000_000  # tags, texts between them and repairs; a tag takes a microsecond
_CHUNK_BYTES = 64 * 1024
_PACKED_CHUNK_BYTES = 4 * 1024  # so much is lost at a place that is broken
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_LINE = re.compile(rb"^[ \t]*+(https?://\S++)[ \t]*+$", re.IGNORECASE | re.MULTILINE)
_CDATA_OR_BARE_AMPERSAND = re.compile(
    rb"<!\[CDATA\[(?:.*?\]\]>|.*)|&(?!(?:amp|lt|gt|quot|apos|#\d+|#[xX][\da-fA-F]+);)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap names: canonical, each once, in its order."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    originals: Originals = ()  # of the pages
    limit: str = ""  # the one it reached, in words: there may be more


def parse(body: bytes, url: str, *, strip_marks: bool = True) -> Sitemap:
    """What the sitemap at `url` names. Of a gzip file with several members the first is read."""
    content = (_unpacked(body) if body.startswith(_GZIP_MAGIC) else body)[:MAX_BYTES]
    body_bytes, encoding = len(content), None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        content, encoding = content.decode("utf-16", errors="ignore").encode(), "utf-8"
    content = content.removeprefix(BOM_UTF8).lstrip()
    found = _Found()
    if content.startswith(b"<"):
        _read_xml(content, encoding, found)
    else:
        found.pages += _lines(content)
    names = names_of_links(found.pages, url, strip_marks=strip_marks)
    pages = dict(islice(names.items(), MAX_URLS))
    return Sitemap(
        pages=tuple(pages),
        sitemaps=tuple(canonical_links(found.sitemaps, url)[:MAX_URLS]),
        originals=tuple([(page, original) for page, original in pages.items() if original]),
        limit=_limit(body_bytes, len(found.pages) + len(found.sitemaps)),
    )


def _limit(body_bytes: int, urls: int) -> str:
    if urls >= MAX_URLS:
        return f"{MAX_URLS:,} URLs of a sitemap are read, no more"
    return f"{MAX_BYTES:,} bytes of a sitemap are read, no more" if body_bytes >= MAX_BYTES else ""


def _unpacked(packed: bytes) -> bytes:
    member = zlib.decompressobj(_GZIP_ONLY)
    pieces = []
    room = MAX_BYTES
    for start in range(0, len(packed), _PACKED_CHUNK_BYTES):
        try:
            pieces.append(member.decompress(packed[start : start + _PACKED_CHUNK_BYTES], room))
        except zlib.error:
            break
        room -= len(pieces[-1])
        if member.eof or not room:
            break
    return b"".join(pieces)


def _lines(content: bytes) -> list[str]:
    lines = _LINE.finditer(content.replace(b"\r", b"\n"))
    return [line[1].decode(errors="replace") for line in islice(lines, MAX_URLS)]


def _read_xml(content: bytes, encoding: str | None, found: "_Found") -> None:
    parser = etree.XMLParser(
        # The stubs ask for methods that lxml itself does well without, and quicker.
        target=cast("etree.ParserTarget", found),
        encoding=encoding,
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    if b"&" in content:  # to look at each "<" of 50 MB takes half a second
        content = _CDATA_OR_BARE_AMPERSAND.sub(_mended, content, count=_MAX_EVENTS)
    for start in range(0, len(content), _CHUNK_BYTES):
        parser.feed(content[start : start + _CHUNK_BYTES])
        if found.is_enough():
            break


def _mended(found: re.Match[bytes]) -> bytes:
    """What begins no entity that XML itself knows is text, as whoever wrote it meant it.

    libxml2 would drop it and leave another URL. So is a reference to an entity of the
    document's own: there is nothing to expand.
    """
    return b"&amp;" if found[0] == b"&" else found[0]


class _Found:
    """The URLs of an XML document, whose tags and texts libxml2 tells it as they come.

    Names of elements count without their namespace, which is wrong in many a sitemap.
    """

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.sitemaps: list[str] = []
        self._places = {
            ("url", "loc"): self.pages,
            ("urlset", "loc"): self.pages,
            ("item", "link"): self.pages,
            ("entry", "link"): self.pages,
            ("sitemap", "loc"): self.sitemaps,
            ("sitemapindex", "loc"): self.sitemaps,
        }
        self._open = [""]  # the root's parent has no name
        self._events = 0
        self._place: list[str] | None = None  # where the URL goes that is being read
        self._text = ""

    def is_enough(self) -> bool:
        return self._events > _MAX_EVENTS or len(self.pages) + len(self.sitemaps) >= MAX_URLS

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._events += 1
        name = tag.rpartition("}")[2] if "}" in tag else tag
        self._place = self._places.get((self._open[-1], name))
        self._open.append(name)
        if self._place is not None:
            self._text = attributes.get("href", "")
            if attributes.get("rel", "alternate") != "alternate":
                self._place = None

    def data(self, text: str) -> None:
        self._events += 1
        if self._place is not None and len(self._text) <= LONGEST:
            self._text += text

    def end(self, _tag: str) -> None:
        self._open.pop()
        if self._place is not None:
            url = self._text.strip()
            if url:
                self._place.append(url)
            self._place = None
