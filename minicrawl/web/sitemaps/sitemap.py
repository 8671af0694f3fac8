"""Sitemaps: the pages that a site names itself, and the further sitemaps it keeps them in.

Laws: what can be read counts, however the rest is broken, but no URL is guessed at; nothing but
URLs is taken; what is read is bounded in bytes, in tags, in URLs and in the characters of all URLs
together, whatever the body unpacks to; a limit that was reached is told.

The forms are told apart by how the body begins: gzip, with one of the others inside; XML, be it a
sitemap, an index of sitemaps, RSS or Atom; all else is a list of absolute URLs, one a line.
"""

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from minicrawl.model import Originals
from minicrawl.web.html.encoding import sniff
from minicrawl.web.sitemaps.xml import UrlsInXml
from minicrawl.web.urls import MOST_CHARS, names_of_links

MAX_BYTES = 50 * 1024 * 1024
"""What is behind is neither read nor unpacked."""

MAX_URLS = 50_000
"""The protocol allows no more; a file that names more is read no further."""

MAX_CHARS = MOST_CHARS
"""Of all URLs together."""

_MAX_GROWTH, _FREE_BYTES = 100, 1024 * 1024  # of what is packed; real sitemaps grow by 30
_PACKED_CHUNK_BYTES = 4 * 1024  # so much is lost at a place that is broken
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_AT_ONCE = 1000
_LINE = re.compile(rb"^[ \t]*+(https?://\S++)[ \t]*+$", re.IGNORECASE | re.MULTILINE)
_UTF_8 = "utf-8"
_UTF_16 = ("utf-16le", "utf-16be")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap names: canonical, each once, in its order."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    originals: Originals = ()  # of the pages
    limit: str = ""  # the one it reached, in words: there may be more


def parse(body: bytes, url: str, *, strip_marks: bool = True) -> Sitemap:
    """What the sitemap at `url` names. Of a gzip file with several members the first is read."""
    content, limit = _content(body)
    found = _read_xml(content) if content.startswith(b"<") else _read_lines(content)
    names = _Names(url, strip_marks)
    pages = names.of(found.pages)
    sitemaps = names.of(found.sitemaps)
    return Sitemap(
        pages=tuple(pages),
        sitemaps=tuple(sitemaps),
        originals=tuple([(page, original) for page, original in pages.items() if original]),
        limit=found.limit or names.limit or limit,
    )


# ---------------------------------------------------------------- the bytes


def _content(body: bytes) -> tuple[bytes, str]:
    """As UTF-8, or in what its declaration says; and the limit that it reached."""
    packed = body.startswith(_GZIP_MAGIC)
    content, limit = _unpacked(body) if packed else (body[:MAX_BYTES], "")
    if len(content) >= MAX_BYTES:
        limit = f"{MAX_BYTES:,} bytes of a sitemap are read, no more"
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        content = content.decode("utf-16", errors="ignore").encode()
    elif (encoding := sniff(content)) in _UTF_16:
        content = content.decode(encoding, errors="ignore").encode()
    return content.removeprefix(BOM_UTF8).lstrip(), limit


def _unpacked(packed: bytes) -> tuple[bytes, str]:
    """As far as it goes."""
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
    limit = "" if room else f"{most:,} bytes are unpacked of a sitemap so small, no more"
    return b"".join(pieces), limit


# ---------------------------------------------------------------- the URLs


@dataclass(frozen=True, slots=True)
class _Written:
    """URLs as they stand there."""

    pages: Sequence[str] = ()
    sitemaps: Sequence[str] = ()
    limit: str = ""


def _too_many() -> str:
    return f"{MAX_URLS:,} URLs of a sitemap are read, no more"


def _read_lines(content: bytes) -> _Written:
    """A line that is not in UTF-8 is none that could be read."""
    lines = islice(_LINE.finditer(content.replace(b"\r", b"\n")), MAX_URLS)
    pages = [line[1].decode(errors="replace") for line in lines]
    limit = _too_many() if len(pages) == MAX_URLS else ""
    return _Written([page for page in pages if "\N{REPLACEMENT CHARACTER}" not in page], (), limit)


def _read_xml(content: bytes) -> _Written:
    found = UrlsInXml(content, sniff(content) or _UTF_8)
    found.read(MAX_URLS)
    if found.urls == MAX_URLS:
        limit = _too_many()
    else:
        limit = "a sitemap of so many tags is not read to its end" if found.has_more else ""
    return _Written(found.pages, found.sitemaps, limit)


class _Names:
    """The names of URLs; there is room for so many characters of them."""

    def __init__(self, url: str, strip_marks: bool) -> None:
        self.limit = ""
        self._room = MAX_CHARS
        self._url, self._strip_marks = url, strip_marks

    def of(self, written: Sequence[str]) -> dict[str, str | None]:
        """Each with its original, as long as there is room."""
        names: dict[str, str | None] = {}
        for start in range(0, len(written), _AT_ONCE):
            some = written[start : start + _AT_ONCE]
            found = names_of_links(some, self._url, strip_marks=self._strip_marks)
            for name, original in found.items():
                if name in names:
                    continue
                self._room -= len(name) + len(original or "")
                if self._room < 0:
                    self.limit = f"{MAX_CHARS:,} characters of URLs of a sitemap are kept, no more"
                    return names
                names[name] = original
        return names
