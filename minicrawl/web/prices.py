"""The price of a body: an upper bound of the time to parse it, computed without parsing it.

No body takes longer to parse than its price on the machine of reference, whatever its bytes.
`python -m tests.fuzz --prices` searches for bodies that do. A crawl parses cheap bodies in
processes that serve other requests too, and expensive ones where the parser can be killed.

Size alone says too little: 128 kB of Markdown take 10 ms as prose and 500 ms as empty lines. The
cost comes from the places where a parser stops, and each has a mark that bytes cannot hide: no line
without a line end, no URL without a colon. So marks are counted:

    a JSON feed of 20 kB with 50 entries, 500 quotes, 350 other signs and 250 colons, in µs:
    20,000 x .035 + 500 x 1.2 + 350 x 1.2 + 250 x 4.5 = 2,845

Marks would make most pages look expensive, so HTML is priced while it is parsed (`html.markup`).

price    seconds; infinite if the body is compressed or is parsed by third-party code
mark     bytes that make a parser stop
"""

from codecs import BOM_UTF8
from collections.abc import Mapping
from math import inf

from minicrawl.web.documents.kinds import DocumentType

_US = 1e-6
_BYTE_US, _WRITING_BYTE_US, _RULES_BYTE_US, _UTF_16_BYTE_US = 0.04, 0.16, 0.35, 0.25
"""Cost of a byte that is no mark: it is decoded, hashed and skipped, or part of a URL."""
_Marks = Mapping[bytes, float]  # microseconds for each mark
_URL_US = 8.5
_EXPANDING: _Marks = {b"\xef\xb7": 0.8, "\ufdfa".encode("gb18030")[:2]: 0.8}
"""First bytes of characters that expand to up to 18 others in a host name, in UTF-8 and GB 18030.
"""

_ROBOTS: _Marks = {b"\n": 9.0, b"\r": 9.0, b"*": 0.8, b"%": 0.5}
_TEXT: _Marks = {b":": _URL_US}
_MARKDOWN: _Marks = {
    **dict.fromkeys((b"\n", b"\r"), 7.0),
    **dict.fromkeys((b"[", b"]", b"(", b"`", b"\\"), 2.5),
    **dict.fromkeys((b":", b"<", b"="), _URL_US),
    b"&": 1.4,
}
_XML: _Marks = {
    b"<": 5.5,
    b"&": 1.5,
    b"=": 5.0,
    **dict.fromkeys((b" ", b"\n", b"\t", b"\r", b"/"), 0.45),  # one precedes each attribute
}
_JSON: _Marks = {**dict.fromkeys((b'"', b"{", b"}", b"[", b"]", b","), 1.2), b":": 4.5, b"\\": 3.0}
_LINES: _Marks = {b":": _URL_US, b"\n": 0.2, b"\r": 0.2}
_LISTS = {b"<": _XML, b"{": _JSON}
"""Marks of sitemaps and feeds, by their first byte."""
_PACKED = b"\x1f\x8b"
_LOOKED_AT = 100
"""Number of bytes within which a list must begin; otherwise its price is infinite."""


def document_s(body: bytes, kind: DocumentType | None) -> float:
    """Return the price of a document; HTML is priced while it is parsed."""
    match kind:
        case None | DocumentType.HTML:
            return len(body) * _BYTE_US * _US
        case DocumentType.TEXT:
            return _priced(body, _TEXT, _WRITING_BYTE_US)
        case DocumentType.MARKDOWN:
            return _priced(body, _MARKDOWN, _WRITING_BYTE_US)
        case DocumentType.FEED | DocumentType.SITEMAP:
            return list_s(body)
        case _:  # PDF is parsed by third-party code
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
