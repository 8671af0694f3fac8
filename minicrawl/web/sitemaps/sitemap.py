"""Sitemaps and feeds: the URLs of pages, and of further sitemaps, and when the pages changed.

The beginning of the body decides the format: gzip, with another format inside; XML, which may be
a sitemap, a sitemap index, RSS or Atom; JSON Feed; otherwise a list of absolute URLs, one a line.

All readable URLs count, however broken the rest is. A broken entry is lost, but none before or
after it, and no URL is guessed. The input is limited in bytes, tags, URLs and characters of URLs,
whatever the body unpacks to, and a limit that was reached is reported.
"""

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from minicrawl.model import Originals, StatedChanges
from minicrawl.web.encoding.detection import sniff
from minicrawl.web.html.attributes import attributes
from minicrawl.web.sitemaps.json_feed import read_json_feed
from minicrawl.web.sitemaps.xml import MAX_EVENTS, UNREADABLE, UrlsInXml, base_of, expanded
from minicrawl.web.urls import MOST_CHARS, canonical, resolve_links

MAX_BYTES = 50 * 1024 * 1024
"""Limit of the unpacked size. The rest of a sitemap is ignored."""


MAX_URLS = 50_000
"""The limit of the sitemap protocol. The rest of a longer file is ignored."""

MAX_CHARS = MOST_CHARS
"""Limit of the characters of all URLs together."""

_MAX_GROWTH = 100  # times the packed size; real sitemaps grow by a factor of 30
_FREE_BYTES = 1024 * 1024  # a sitemap may always unpack to this size
_PACKED_CHUNK_BYTES = 4 * 1024  # the loss at a broken place
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_AT_ONCE = 1000
_LINE = re.compile(rb"^[ \t]*+(https?://\S++)[ \t]*+$", re.IGNORECASE | re.MULTILINE)
_UTF_8 = "utf-8"
_UTF_16 = ("utf-16le", "utf-16be")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The canonical URLs of a sitemap, distinct and in order."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    originals: Originals = ()  # of the pages
    changed: StatedChanges = ()
    limit: str = ""  # a message about a limit that was reached


def parse(body: bytes, url: str, *, strip_marks: bool = True) -> Sitemap:
    """Parse the sitemap at `url`. Of a gzip file with several members, only the first is read."""
    content, limit = content_of(body)
    pages_written, sitemaps_written, of_urls = _written(content, url)
    pages, room = _canonical(pages_written, url, strip_marks, MAX_CHARS)
    sitemaps, room = _canonical(sitemaps_written, url, strip_marks, room)
    of_chars = f"only {MAX_CHARS:,} characters of URLs of a sitemap are kept" if room < 0 else ""
    return Sitemap(
        pages=tuple(pages),
        sitemaps=tuple(sitemaps),
        originals=tuple([(page, original) for page, original in pages.items() if original]),
        changed=tuple(_changed(content, url, pages, strip_marks)),
        limit=of_urls or of_chars or limit,
    )


def content_of(body: bytes) -> tuple[bytes, str]:
    """Return the unpacked content, with UTF-16 as UTF-8; and the limit that was reached."""
    packed = body.startswith(_GZIP_MAGIC)
    content, limit = _unpacked(body) if packed else (body[:MAX_BYTES], "")
    if len(content) >= MAX_BYTES:
        limit = f"only {MAX_BYTES:,} bytes of a sitemap are read"
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        content = content.decode("utf-16", errors="ignore").encode()
    elif (encoding := sniff(content)) in _UTF_16:
        content = content.decode(encoding, errors="ignore").encode()
    return content.removeprefix(BOM_UTF8).lstrip(), limit


def _unpacked(packed: bytes) -> tuple[bytes, str]:
    """Return the bytes that can be unpacked, and the limit that was reached, or ""."""
    member = zlib.decompressobj(_GZIP_ONLY)
    pieces = []
    most = room = min(max(_FREE_BYTES, _MAX_GROWTH * len(packed)), MAX_BYTES)
    for start in range(0, len(packed), _PACKED_CHUNK_BYTES):
        try:
            pieces.append(member.decompress(packed[start : start + _PACKED_CHUNK_BYTES], room))
        except zlib.error:
            break
        room -= len(pieces[-1])
        if member.eof or not room:
            break
    limit = "" if room else f"only {most:,} bytes of a sitemap of this size are unpacked"
    return b"".join(pieces), limit


def _written(content: bytes, url: str) -> tuple[Sequence[str], Sequence[str], str]:
    """Return the URLs of pages and of sitemaps, as written, and the limit that was reached."""
    too_many = f"only {MAX_URLS:,} URLs of a sitemap are read"
    match content[:1]:
        case b"<":
            xml = UrlsInXml(content, sniff(content) or _UTF_8, url)
            xml.read(MAX_URLS)
            of_tags = f"only {MAX_EVENTS:,} tags of a sitemap are read" if xml.has_more else ""
            return xml.pages, xml.sitemaps, too_many if xml.urls == MAX_URLS else of_tags
        case b"{":
            urls = read_json_feed(content.decode(errors="replace"), MAX_URLS).urls
            readable = [page for page in urls if not UNREADABLE.search(page)]
        case _:  # a list, without lines that are not UTF-8
            lines = islice(_LINE.finditer(content.replace(b"\r", b"\n")), MAX_URLS)
            urls = [line[1].decode(errors="replace") for line in lines]
            readable = [page for page in urls if "\N{REPLACEMENT CHARACTER}" not in page]
    return readable, (), too_many if len(urls) >= MAX_URLS else ""


def _canonical(
    written: Sequence[str], url: str, strip_marks: bool, room: int
) -> tuple[dict[str, str | None], int]:
    """Return the canonical URLs, each with its original or None; and the characters left."""
    names: dict[str, str | None] = {}
    for start in range(0, len(written), _AT_ONCE):
        some = resolve_links(written[start : start + _AT_ONCE], url, strip_marks=strip_marks)
        for name, original in some.items():
            if name in names:
                continue
            # Relative URLs may be short and resolve to long ones, so they are counted when
            # resolved.
            room -= len(name) + len(original or "")
            if room < 0:
                return names, room
            names[name] = original
    return names, room


_STATES_CHANGES = re.compile(rb"<(?:\w{1,20}:)?(?:lastmod|updated)[\s>]")
_ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:url|entry)(?=[\s>])")
_FEED = re.compile(rb"<(?:\w{1,20}:)?feed\s([^<>]*+)")
_FIELD = re.compile(
    rb"<(?:\w{1,20}:)?(?:(loc|lastmod|updated)(?:\s[^<>]{0,99})?>\s*+([^<]*+)|link\s([^<>]{1,999}))"
)
_DAY_S = 86_400.0
_DAY_CHARS = len("2026-11-27")


class StatedEntry(NamedTuple):
    """URL of a page as written, or by `xml:base`, and the text that says when it changed, or ""."""

    url: str
    changed: str


def stated_entries(content: bytes, feed: str) -> Iterator[StatedEntry]:
    """Yield the entries of the sitemap or the Atom feed at the URL `feed`."""
    head, *pieces = _ENTRY.split(content)
    opened = _FEED.search(head)
    of_feed = base_of(attributes(opened[1].decode(errors="replace")), "", feed) if opened else ""
    for piece in pieces:
        url = changed = ""
        said = piece.partition(b">")[0]
        base = base_of(attributes(said.decode(errors="replace")), of_feed, feed)
        for name, text, said in _FIELD.findall(piece):
            if name == b"loc":
                url = url or expanded(text.decode(errors="replace").strip())
            elif name:
                changed = changed or text.decode("ascii", errors="replace").strip()
            else:
                link = attributes(said.decode(errors="replace"))
                if not url and link.get("rel", "alternate") == "alternate":
                    url = expanded(link.get("href", ""))
                    base = base_of(link, base, feed)
                    url = (base and canonical(url, base, strip_marks=False)) or url
        yield StatedEntry(url, changed)


def moment_of(text: str) -> float | None:
    """Return the Unix time of a W3C date that has a day; None for any other text."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _changed(
    content: bytes, url: str, pages: Container[str], strip_marks: bool
) -> Iterator[tuple[str, float]]:
    """Yield each page with the time of its last change: for a date alone, the end of that day."""
    if not _STATES_CHANGES.search(content):
        return
    for written, text in islice(stated_entries(content, url), MAX_URLS):
        moment = moment_of(text) if text else None
        if moment is not None:
            page = written if written in pages else canonical(written, url, strip_marks=strip_marks)
            if page is not None and page in pages:
                yield page, moment + _DAY_S * (len(text) <= _DAY_CHARS)
