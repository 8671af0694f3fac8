"""Sitemaps and feeds: the URLs of pages, and of further sitemaps, and when the pages changed.

The beginning of the body decides the format: gzip, with another format inside; XML, which may be
a sitemap, a sitemap index, RSS or Atom; JSON Feed; otherwise a list of absolute URLs, one a line.

All readable URLs count, however broken the rest is. A broken entry is lost, but none before or
after it, and no URL is guessed. The input is limited in bytes, tags, URLs and characters of URLs,
whatever the body unpacks to, and a limit that was reached is reported. XML is read in one pass in
linear time: no quantifier backtracks, and none goes past the next "<". Only the predefined entities
of XML are expanded, and no document type is read.

entry      element whose content, or whose href, is a URL
leaf       element without attributes that has only text, and is not an entry
local      name without its namespace, which is wrong in many sitemaps
"""

import re
import sys
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from minicrawl.model import Originals, StatedChanges
from minicrawl.web.encoding.detection import sniff
from minicrawl.web.encoding.labels import UTF_8, UTF_16, codec
from minicrawl.web.html.attributes import attributes
from minicrawl.web.sitemaps.json_feed import ABSOLUTE, read_json_feed
from minicrawl.web.urls import LONGEST, MOST_CHARS, canonical, resolve_links

MAX_EVENTS = 800_000  # tags, without leaves; one takes a microsecond or two
_LONGEST_WRITTEN = 8 * LONGEST  # bytes; each character may be written as a reference

_NAME = rb"[a-zA-Z_\x80-\xff][^\s<>/=\"']*+"
_ENTRY_TAGS = (  # without those of images, of which a page may have many
    rb"(?:(?!image:|video:)[^\s<>/:]++:)?+"
    rb"(?:loc|link|guid|url|urlset|item|entry|sitemap|sitemapindex)[\s/>]"
)
_LEAF = rb"<(?!%b)%b>[^<]*+</(?!%b)%b>" % (_ENTRY_TAGS, _NAME, _ENTRY_TAGS, _NAME)
_MARKUP = (
    rb"<(?:(?P<opened>%b)(?P<said>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
    rb"|/(?P<closed>%b)[^<>]*+>|(?P<section>!--|!\[CDATA\[)|[!?][^<>]*+>?+|(?P<broken>))"
) % (_NAME, _NAME)
_GROUPS = ("opened", "said", "closed", "section", "broken")
_OUTSIDE = re.compile(rb"(?:[^<]*+%b)*+[^<]*+(?:%b|\Z)" % (_LEAF, _MARKUP))
_INSIDE = re.compile(rb"(?P<text>[^<]*+)(?:%b|\Z)" % _MARKUP)

_PAGES = {(b"url", b"loc"), (b"urlset", b"loc"), (b"item", b"link"), (b"entry", b"link")}
_SITEMAPS = {(b"sitemap", b"loc"), (b"sitemapindex", b"loc")}
"""Pairs of parent and element whose content is a URL."""
_GUID = (b"item", b"guid")
_SECTION_ENDS = {b"!--": b"-->", b"![CDATA[": b"]]>"}
_REFERENCE = re.compile(
    r"&(?:(amp|lt|gt|quot|apos)|#(?=[0-9])0*+([0-9]*+)"
    r"|#[xX](?=[0-9a-fA-F])0*+([0-9a-fA-F]*+));"
)
_OWN_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffd-\uffff\ud800-\udfff]")
_MOST_DIGITS = 8  # more digits are never a valid code


def expanded(text: str) -> str:
    """Expand the predefined entities of XML. Other references stay as text."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    if name:
        return _OWN_ENTITIES[name]
    digits, base = (hexadecimal, 16) if decimal is None else (decimal, 10)
    code = int(digits[:_MOST_DIGITS] or "0", base)
    return chr(code) if code <= sys.maxunicode else "\N{REPLACEMENT CHARACTER}"


def _local(name: bytes) -> bytes:
    return name.rpartition(b":")[2] if b":" in name else name


def base_of(tag: Mapping[str, str], above: str, feed: str) -> str:
    """Return the base in a tag, below that of the element around it; "" is that of the document."""
    written = expanded(tag.get("xml:base", ""))
    return (written and canonical(written, above or feed, strip_marks=False)) or above


@dataclass(slots=True)
class _Entry:
    """Open element that holds a URL, and the list that the URL belongs to."""

    urls: list[str]
    text: list[str]
    written_bytes: int = 0


class UrlsInXml:
    """The URLs of the XML document at `url`: pages and sitemaps, as written or by `xml:base`."""

    def __init__(self, content: bytes, encoding: str, url: str) -> None:
        self.pages: list[str] = []
        self.sitemaps: list[str] = []
        self.urls = 0
        self.has_more = False
        self._content, self._codec = content, codec(encoding)
        self._last_ends = {end: content.rfind(end) for end in _SECTION_ENDS.values()}
        self._open = [b""]  # the root's parent has no name
        self._url, self._bases = url, [""]  # of the open elements; "" is that of the document
        self._guids: list[str] = []  # of an open item, which count if it has no link
        self._pages_before_item = 0
        self._times_open: defaultdict[bytes, int] = defaultdict(int)
        self._entry: _Entry | None = None

    def read(self, most_urls: int) -> None:
        """Parse to the end, or until a limit is reached."""
        at = events = 0
        while at < len(self._content) and self.urls < most_urls and events < MAX_EVENTS:
            pattern = _OUTSIDE if self._entry is None else _INSIDE
            markup = pattern.match(self._content, at)
            assert markup is not None
            at = self._take(markup)
            events += 1
        self.has_more = at < len(self._content)

    def _take(self, markup: re.Match[bytes]) -> int:
        """Process a tag; return the position after it."""
        if (entry := self._entry) is not None:
            self._add(entry, markup["text"], expanded)
        opened, raw, closed, section, broken = markup.group(*_GROUPS)
        if opened:
            self._start(_local(opened), raw)
        elif closed:
            self._end(_local(closed))
        elif section:
            return self._skip_section(section, markup.end())
        elif broken is not None:
            self._entry = None
        return markup.end()

    def _skip_section(self, section: bytes, start: int) -> int:
        """Skip a comment, or add CDATA to the entry; return the position after it.

        An unclosed section loses the entry.
        """
        end = _SECTION_ENDS[section]
        if start > self._last_ends[end]:
            self._entry = None
            return start
        stop = self._content.index(end, start)
        if (entry := self._entry) is not None and section != b"!--":
            self._add(entry, self._content[start : min(stop, start + _LONGEST_WRITTEN + 1)], str)
        return stop + len(end)

    def _start(self, name: bytes, raw: bytes) -> None:
        self._entry, place = None, (self._open[-1], name)
        if place in _PAGES or place in _SITEMAPS:
            urls = self.pages if place in _PAGES else self.sitemaps
            tag = self._attributes(raw)
            if tag.get("rel", "alternate") == "alternate":
                self._entry = _Entry(urls, [expanded(tag.get("href", ""))])
        elif place == _GUID and self._attributes(raw).get("ispermalink", "").lower() != "false":
            self._entry = _Entry(self._guids, [])
        elif name == b"item":
            self._end_item()
        base = self._bases[-1]
        if b"xml:base" in raw:
            base = base_of(self._attributes(raw), base, self._url)
        self._bases.append(base)
        self._open.append(name)
        self._times_open[name] += 1
        if raw.endswith(b"/"):
            self._end(name)

    def _end(self, name: bytes) -> None:
        """Close the innermost element of this name, and all unclosed elements in it."""
        if not self._times_open[name]:
            return
        entry, self._entry = self._entry, None
        url = "" if entry is None else "".join(entry.text).strip()
        if entry is not None and url and not UNREADABLE.search(url):
            base = self._bases[-1]
            entry.urls.append((base and canonical(url, base, strip_marks=False)) or url)
            self.urls += entry.urls is not self._guids
        closed = None
        while closed != name:
            closed = self._open.pop()
            self._bases.pop()
            self._times_open[closed] -= 1
        if name == b"item":
            self._end_item()

    def _attributes(self, raw: bytes) -> dict[str, str]:
        return attributes(raw.decode(self._codec, errors="replace"))

    def _end_item(self) -> None:
        """End an item of RSS. Without a link, its guid is the URL, unless it is only a name."""
        guid = next((guid for guid in self._guids if ABSOLUTE.match(guid)), None)
        if guid and len(self.pages) == self._pages_before_item:
            self.pages.append(guid)
            self.urls += 1
        self._guids.clear()
        self._pages_before_item = len(self.pages)

    def _add(self, entry: _Entry, written: bytes, read: Callable[[str], str]) -> None:
        entry.written_bytes += len(written)
        if entry.written_bytes > _LONGEST_WRITTEN:
            self._entry = None
        else:
            entry.text.append(read(written.decode(self._codec, errors="replace")))


MAX_BYTES = 50 * 1024 * 1024
"""Limit of the unpacked size. The rest of a sitemap is ignored."""

MAX_URLS = 50_000
"""The limit of the sitemap protocol. The rest of a longer file is ignored."""

_MAX_GROWTH = 100  # times the packed size; real sitemaps grow by a factor of 30
_FREE_BYTES = 1024 * 1024  # a sitemap may always unpack to this size
_PACKED_CHUNK_BYTES = 4 * 1024  # the loss at a broken place
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_AT_ONCE = 1000
_LINE = re.compile(rb"^[ \t]*+(https?://\S++)[ \t]*+$", re.IGNORECASE | re.MULTILINE)


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
    pages, room = _canonical(pages_written, url, strip_marks, MOST_CHARS)
    sitemaps, room = _canonical(sitemaps_written, url, strip_marks, room)
    of_chars = f"only {MOST_CHARS:,} characters of URLs of a sitemap are kept" if room < 0 else ""
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
    elif (encoding := sniff(content)) in UTF_16:
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
            xml = UrlsInXml(content, sniff(content) or UTF_8, url)
            xml.read(MAX_URLS)
            of_tags = f"only {MAX_EVENTS:,} tags of a sitemap are read" if xml.has_more else ""
            return xml.pages, xml.sitemaps, too_many if xml.urls == MAX_URLS else of_tags
        case b"{":
            _, urls = read_json_feed(content.decode(errors="replace"), MAX_URLS)
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
        resolved = resolve_links(written[start : start + _AT_ONCE], url, strip_marks=strip_marks)
        for name, original in resolved.items():
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
    rb"<(?:\w{1,20}:)?(?:(loc|lastmod|updated)(?:\s[^<>]{0,99})?>\s*+(?:<!\[CDATA\[)?+([^<]*+)"
    rb"|link\s([^<>]{1,999}))"
)
_DAY_S = 86_400.0
_DAY_CHARS = len("2026-11-27")


def stated_entries(content: bytes, feed: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of the sitemap or the Atom feed at the URL `feed`.

    Each is the URL as written, or by `xml:base`, and the text that says when it changed, or "".
    """
    head, *pieces = _ENTRY.split(content)
    opened = _FEED.search(head)
    of_feed = base_of(attributes(opened[1].decode(errors="replace")), "", feed) if opened else ""
    for piece in pieces:
        url = changed = ""
        opening = piece.partition(b">")[0]
        base = base_of(attributes(opening.decode(errors="replace")), of_feed, feed)
        for name, text, raw in _FIELD.findall(piece):
            value = text.decode(errors="replace").strip().removesuffix("]]>").rstrip()
            if name == b"loc":
                url = url or expanded(value)
            elif name:
                changed = changed or value
            else:
                link = attributes(raw.decode(errors="replace"))
                if not url and link.get("rel", "alternate") == "alternate":
                    url = expanded(link.get("href", ""))
                    base = base_of(link, base, feed)
                    url = (base and canonical(url, base, strip_marks=False)) or url
        yield url, changed


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
