"""XML of sitemaps and feeds, however broken: the URLs in it, found in one pass over its bytes.

Laws: what is broken is lost, and nothing before or behind it; no URL is guessed at, so that one in
which anything cannot be read is lost; no entity is expanded but XML's own, and no document type is
read. The time is proportional to the length: no quantifier gives back what it took, and none goes
on past the next "<".

entry      an element whose content, or whose href, is a URL
leaf       an element without attributes that holds nothing but text, and tells of no URL
local      a name without its namespace, which is wrong in many a sitemap
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable

from minicrawl.web.html.encoding import codec
from minicrawl.web.html.tags import attributes
from minicrawl.web.urls import LONGEST

_MAX_EVENTS = 800_000  # tags but leaves; one takes a microsecond or two
_LONGEST_WRITTEN = 8 * LONGEST  # bytes, as each character may be written as a reference

_NAME = rb"[a-zA-Z_\x80-\xff][^\s<>/=\"']*+"
_TELLS = (  # of URLs, and not of images, of which a page may have many
    rb"(?:(?!image:|video:)[^\s<>/:]++:)?+(?:loc|link|url|urlset|item|entry|sitemap|sitemapindex)[\s/>]"
)
_LEAF = rb"<(?!%b)%b>[^<]*+</(?!%b)%b>" % (_TELLS, _NAME, _TELLS, _NAME)
_MARKUP = (
    rb"<(?:(?P<opened>%b)(?P<said>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
    rb"|/(?P<closed>%b)[^<>]*+>|(?P<section>!--|!\[CDATA\[)|[!?][^<>]*+>?+|(?P<broken>))"
) % (_NAME, _NAME)
_GROUPS = ("opened", "said", "closed", "section", "broken")
_OUTSIDE = re.compile(rb"(?:[^<]*+%b)*+[^<]*+(?:%b|\Z)" % (_LEAF, _MARKUP))
_INSIDE = re.compile(rb"(?P<text>[^<]*+)(?:%b|\Z)" % _MARKUP)

_SECTION_ENDS = {b"!--": b"-->", b"![CDATA[": b"]]>"}
_REFERENCE = re.compile(
    r"&(?:(amp|lt|gt|quot|apos)|#(?=[0-9])0*+([0-9]*+)"
    r"|#[xX](?=[0-9a-fA-F])0*+([0-9a-fA-F]*+));"
)
_OWN_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffd-\uffff\ud800-\udfff]")
_MOST_DIGITS = 8  # of one that is too long they are too large a number, however they go on


def _unescaped(text: str) -> str:
    """What begins no entity that XML itself knows is text, as whoever wrote it meant it."""
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


class UrlsInXml:
    """The URLs of a document, as written, by what they lead to."""

    def __init__(self, content: bytes, encoding: str) -> None:
        self.pages: list[str] = []
        self.sitemaps: list[str] = []
        self.urls = 0
        self.has_more = False
        self._content, self._codec = content, codec(encoding)
        self._last_ends = {end: content.rfind(end) for end in _SECTION_ENDS.values()}
        self._places = {
            (b"url", b"loc"): self.pages,
            (b"urlset", b"loc"): self.pages,
            (b"item", b"link"): self.pages,
            (b"entry", b"link"): self.pages,
            (b"sitemap", b"loc"): self.sitemaps,
            (b"sitemapindex", b"loc"): self.sitemaps,
        }
        self._open = [b""]  # the root's parent has no name
        self._times_open: defaultdict[bytes, int] = defaultdict(int)
        self._place: list[str] | None = None  # where the URL goes that is being read
        self._text: list[str] = []
        self._text_bytes = 0

    def read(self, most_urls: int) -> None:
        """To the end, or until there is enough."""
        at = events = 0
        while at < len(self._content) and self.urls < most_urls and events < _MAX_EVENTS:
            pattern = _OUTSIDE if self._place is None else _INSIDE
            markup = pattern.match(self._content, at)
            assert markup is not None
            at = self._take(markup)
            events += 1
        self.has_more = at < len(self._content)

    def _take(self, markup: re.Match[bytes]) -> int:
        """Where to go on."""
        if self._place is not None:
            self._add(markup["text"], _unescaped)
        opened, said, closed, section, broken = markup.group(*_GROUPS)
        if opened:
            self._start(_local(opened), said)
        elif closed:
            self._end(_local(closed))
        elif section:
            return self._skip_section(section, markup.end())
        elif broken is not None:
            self._place = None
        return markup.end()

    def _skip_section(self, section: bytes, start: int) -> int:
        """A section without an end costs no more than the entry that it is in."""
        end = _SECTION_ENDS[section]
        if start > self._last_ends[end]:
            self._place = None
            return start
        stop = self._content.index(end, start)
        if self._place is not None and section != b"!--":
            self._add(self._content[start : min(stop, start + _LONGEST_WRITTEN + 1)], str)
        return stop + len(end)

    def _start(self, name: bytes, said: bytes) -> None:
        self._place = self._places.get((self._open[-1], name))
        if self._place is not None:
            self._text, self._text_bytes = [], 0
            self._read_attributes(attributes(said.decode(self._codec, errors="replace")))
        self._open.append(name)
        self._times_open[name] += 1
        if said.endswith(b"/"):
            self._end(name)

    def _read_attributes(self, said: dict[str, str]) -> None:
        self._text.append(_unescaped(said.get("href", "")))
        if said.get("rel", "alternate") != "alternate":
            self._place = None

    def _end(self, name: bytes) -> None:
        """Of the innermost element of this name, and of all that were left open in it."""
        if not self._times_open[name]:
            return
        self._close_entry()
        closed = None
        while closed != name:
            closed = self._open.pop()
            self._times_open[closed] -= 1

    def _close_entry(self) -> None:
        if self._place is None:
            return
        url = "".join(self._text).strip()
        if url and not _UNREADABLE.search(url):
            self._place.append(url)
            self.urls += 1
        self._place = None

    def _add(self, written: bytes, read: Callable[[str], str]) -> None:
        self._text_bytes += len(written)
        if self._text_bytes > _LONGEST_WRITTEN:
            self._place = None
        else:
            self._text.append(read(written.decode(self._codec, errors="replace")))
