"""The price of a body: what parsing it takes at most, told before it is parsed.

Law: no body takes longer to parse than its price, whatever its bytes are, on a machine such as was
measured. `python -m tests.fuzz --prices` looks for bodies that do. A crawl parses cheap bodies in
processes that serve others, and dear ones where the parser can be killed.

Size alone tells too little: of Markdown, 128 kB of prose take 10 ms, of empty lines 500. What costs
is what a parser stops at, and each of these has a mark that bytes cannot hide: no line without a
line end, no URL without a colon. Marks are counted:

    a JSON feed of 20 kB with 50 entries, 500 quotes, 350 other signs and 250 colons, in µs:
    20,000 x .035 + 500 x 1.2 + 350 x 1.2 + 250 x 4.5 = 2,845

Most pages would look dear by their marks, so HTML is priced while it is read (`html.markup`).

price    seconds; infinite if the body has to be unpacked or is read by foreign code
mark     bytes that a parser stops at
"""

from codecs import BOM_UTF8
from collections.abc import Mapping
from math import inf

from minicrawl.web.documents.kinds import DocumentType

_US = 1e-6
_BYTE_US, _WRITING_BYTE_US, _RULES_BYTE_US, _UTF_16_BYTE_US = 0.04, 0.16, 0.35, 0.25
"""For a byte that is no mark: it is decoded, hashed and passed over, or part of a URL."""
_Marks = Mapping[bytes, float]  # microseconds for each mark
_URL_US = 8.5
_EXPANDING: _Marks = {b"\xef\xb7": 0.8, "\ufdfa".encode("gb18030")[:2]: 0.8}
"""Characters that become up to 18 others in the name of a host; in UTF-8 and in GB 18030."""

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
    **dict.fromkeys((b" ", b"\n", b"\t", b"\r", b"/"), 0.45),  # before each attribute there is one
}
_JSON: _Marks = {**dict.fromkeys((b'"', b"{", b"}", b"[", b"]", b","), 1.2), b":": 4.5, b"\\": 3.0}
_LINES: _Marks = {b":": _URL_US, b"\n": 0.2, b"\r": 0.2}
_LISTS = {b"<": _XML, b"{": _JSON}
"""Sitemaps and feeds, by their first byte."""
_PACKED = b"\x1f\x8b"
_LOOKED_AT = 100
"""Bytes before which a list begins; what comes later is read elsewhere."""


def document_s(body: bytes, kind: DocumentType | None) -> float:
    """Return the price of a document, but for HTML, which is priced while it is read."""
    match kind:
        case None | DocumentType.HTML:
            return len(body) * _BYTE_US * _US
        case DocumentType.TEXT:
            return _priced(body, _TEXT, _WRITING_BYTE_US)
        case DocumentType.MARKDOWN:
            return _priced(body, _MARKDOWN, _WRITING_BYTE_US)
        case DocumentType.FEED | DocumentType.SITEMAP:
            return list_s(body)
        case _:  # code that is not ours reads PDF
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
