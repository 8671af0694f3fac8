"""The price of a body: what parsing it takes at most, told before it is parsed.

Law: no body takes longer to parse than its price, whatever its bytes are, on a machine such as was
measured. `python -m tests.fuzz --prices` looks for bodies that do. A crawl parses cheap bodies in
processes that serve others, and dear ones where the parser can be killed.

Size alone tells too little: 128 kB of prose take 1 ms, of links 30 ms, of empty lines in Markdown
500 ms. What costs is what a parser stops at, and each of these has a mark that bytes cannot hide:
no link without an "=", no tag without a "<". To count a mark takes 3 µs for 100 kB.

    a page of 25 kB, with 600 tags, 500 "=" and 150 "href", at most (in µs):
    25,000 x .03 + 600 x 1.5 + 500 x 8.5 = 5,900
    if that is too dear, a second look: 25,000 x .03 + 600 x 1.5 + 500 x .7 + 150 x 8.5 = 3,275

price    seconds; infinite if the body has to be unpacked or is read by foreign code
mark     bytes that a parser stops at
"""

from codecs import BOM_UTF8
from collections.abc import Mapping
from math import inf

from minicrawl.web.documents.kinds import DocumentType
from minicrawl.web.html.page import DEFAULT_OPTIONS, ParseOptions

_US = 1e-6
_BYTE_US, _WRITING_BYTE_US, _RULES_BYTE_US, _UTF_16_BYTE_US = 0.035, 0.13, 0.35, 0.25
"""For a byte that is no mark: it is decoded, hashed and passed over, or part of a URL."""
_Marks = Mapping[bytes, float]  # microseconds for each mark
_URL_US = 8.5
_EXPANDING: _Marks = {b"\xef\xb7": 0.8, "\ufdfa".encode("gb18030")[:2]: 0.8}
"""Characters that become up to 18 others in the name of a host; in UTF-8 and in GB 18030."""

_TAG_US, _ATTRIBUTE_US, _REFERENCE_US = 1.6, 0.7, 1.4
_META_US = 12.0
_SEPARATOR_US = 0.27
"""Before each attribute there is one, and an attribute may have a single letter."""
_SEPARATORS: _Marks = dict.fromkeys((b" ", b"/", b"\n", b"\t", b"\r", b"\f"), _SEPARATOR_US)
_WORDS_US, _EMPHASIS_US, _WRITTEN_US = 42.0, 30.0, 16.0
"""More for each link, if what is around it is looked at."""
_WORDS_REFERENCE_US = 25.0
"""A character reference is around many links, and decoded for each of them."""

_ROBOTS: _Marks = {b"\n": 9.0, b"\r": 9.0, b"*": 0.8, b"%": 0.5}
_TEXT: _Marks = {b":": _URL_US}
_MARKDOWN: _Marks = {
    **dict.fromkeys((b"\n", b"\r"), 7.0),
    **dict.fromkeys((b"[", b"]", b"(", b"`", b"\\"), 2.5),
    **dict.fromkeys((b":", b"<", b"="), _URL_US),
    b"&": _REFERENCE_US,
}
_XML: _Marks = {b"<": 5.5, b"&": 1.5, b"=": 5.0}
_JSON: _Marks = {**dict.fromkeys((b'"', b"{", b"}", b"[", b"]", b","), 1.2), b":": 4.5, b"\\": 3.0}
_LINES: _Marks = {b":": _URL_US, b"\n": 0.2, b"\r": 0.2}
_LISTS = {b"<": _XML, b"{": _JSON}
"""Sitemaps and feeds, by their first byte."""
_PACKED = b"\x1f\x8b"
_LOOKED_AT = 100
"""Bytes before which a list begins; what comes later is read elsewhere."""


def page_s(body: bytes, enough_s: float, options: ParseOptions = DEFAULT_OPTIONS) -> float:
    """Return the price of an HTML page. Beyond `enough_s` it is looked at more closely."""
    link_us = (
        _URL_US
        + _WORDS_US * options.with_words
        + _EMPHASIS_US * options.with_emphasis
        + _WRITTEN_US * options.with_written
    )
    reference_us = _WORDS_REFERENCE_US if options.with_words else _REFERENCE_US
    marks = {b"<": _TAG_US, b"&": reference_us}
    price_s = _priced(body, {**marks, b"=": link_us}, _BYTE_US + _SEPARATOR_US / 2)
    if price_s <= enough_s or b"\0" in body:  # of UTF-16 only single bytes can be counted
        return price_s
    links = {b"href": link_us, b"src": link_us, b"meta": _META_US}
    return _priced(body.lower(), {**marks, **_SEPARATORS, b"=": _ATTRIBUTE_US, **links})


def document_s(
    body: bytes,
    kind: DocumentType | None,
    enough_s: float,
    options: ParseOptions = DEFAULT_OPTIONS,
) -> float:
    """Return the price of a document of any type."""
    match kind:
        case None:
            return len(body) * _BYTE_US * _US
        case DocumentType.HTML:
            return page_s(body, enough_s, options)
        case DocumentType.TEXT:
            return _priced(body, _TEXT, _WRITING_BYTE_US)
        case DocumentType.MARKDOWN:
            return _priced(body, _MARKDOWN, _WRITING_BYTE_US)
        case DocumentType.FEED | DocumentType.SITEMAP:
            return list_s(body)
        case DocumentType.PDF:
            return inf


def list_s(body: bytes) -> float:
    """Return the price of a sitemap or a feed."""
    start = body[:_LOOKED_AT].removeprefix(BOM_UTF8).lstrip()
    if body.startswith(_PACKED) or b"\0" in start or not start:
        return inf
    return _priced(body, _LISTS.get(start[:1], _LINES))


def robots_s(body: bytes) -> float:
    """Return the price of a robots.txt."""
    return _priced(body, _ROBOTS, _RULES_BYTE_US)


def _priced(body: bytes, marks: _Marks, byte_us: float = _BYTE_US) -> float:
    if b"\0" in body:
        byte_us = max(byte_us, _UTF_16_BYTE_US)
    if not body.isascii():
        marks = {**marks, **_EXPANDING}
    return (len(body) * byte_us + sum(us * body.count(mark) for mark, us in marks.items())) * _US
