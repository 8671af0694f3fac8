"""URLs in XML: sitemaps, indexes of sitemaps, RSS and Atom.

XML is parsed in one pass in linear time: no quantifier backtracks, and none goes past the next
"<". Only the predefined entities of XML are expanded, and no document type is read.

entry      element whose content, or whose href, is a URL
leaf       element without attributes that has only text, and is not an entry
local      name without its namespace, which is wrong in many sitemaps
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from minicrawl.web.encoding.labels import codec
from minicrawl.web.html.attributes import attributes
from minicrawl.web.sitemaps.json_feed import ABSOLUTE
from minicrawl.web.urls import LONGEST, canonical

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
        opened, said, closed, section, broken = markup.group(*_GROUPS)
        if opened:
            self._start(_local(opened), said)
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

    def _start(self, name: bytes, said: bytes) -> None:
        self._entry, place = None, (self._open[-1], name)
        if place in _PAGES or place in _SITEMAPS:
            urls = self.pages if place in _PAGES else self.sitemaps
            tag = self._attributes(said)
            if tag.get("rel", "alternate") == "alternate":
                self._entry = _Entry(urls, [expanded(tag.get("href", ""))])
        elif place == _GUID and self._attributes(said).get("ispermalink", "").lower() != "false":
            self._entry = _Entry(self._guids, [])
        elif name == b"item":
            self._end_item()
        base = self._bases[-1]
        if b"xml:base" in said:
            base = base_of(self._attributes(said), base, self._url)
        self._bases.append(base)
        self._open.append(name)
        self._times_open[name] += 1
        if said.endswith(b"/"):
            self._end(name)

    def _end(self, name: bytes) -> None:
        """Close the innermost element of this name, and all unclosed elements in it."""
        if not self._times_open[name]:
            return
        self._close_entry()
        closed = None
        while closed != name:
            closed = self._open.pop()
            self._bases.pop()
            self._times_open[closed] -= 1
        if name == b"item":
            self._end_item()

    def _attributes(self, said: bytes) -> dict[str, str]:
        return attributes(said.decode(self._codec, errors="replace"))

    def _end_item(self) -> None:
        """End an item of RSS. Without a link, its guid is the URL, unless it is only a name."""
        guid = next((guid for guid in self._guids if ABSOLUTE.match(guid)), None)
        if guid and len(self.pages) == self._pages_before_item:
            self.pages.append(guid)
            self.urls += 1
        self._guids.clear()
        self._pages_before_item = len(self.pages)

    def _close_entry(self) -> None:
        entry, self._entry = self._entry, None
        url = "" if entry is None else "".join(entry.text).strip()
        if entry is not None and url and not UNREADABLE.search(url):
            base = self._bases[-1]
            entry.urls.append((base and canonical(url, base, strip_marks=False)) or url)
            self.urls += entry.urls is not self._guids

    def _add(self, entry: _Entry, written: bytes, read: Callable[[str], str]) -> None:
        entry.written_bytes += len(written)
        if entry.written_bytes > _LONGEST_WRITTEN:
            self._entry = None
        else:
            entry.text.append(read(written.decode(self._codec, errors="replace")))
