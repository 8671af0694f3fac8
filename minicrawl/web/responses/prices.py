"""The price of a body: an upper bound of the time to parse it, computed without parsing it.

A process that serves hundreds of hosts must not stop for more than 30 ms, whatever one of them
sends. So cheap bodies are parsed at once, and expensive ones in a child process that can be
killed. The choice comes before parsing, and size alone says too little: 128 kB of Markdown take
10 ms as prose and 500 ms as empty lines.

The cost comes from the places where a parser stops, and each has a mark that bytes cannot hide:
no line without a line end, no URL without a colon. So marks are counted, which is cheap:

    JSON feed of 20 kB                      each        µs
      20,000 bytes                          0.04       800
      500 quotes, 350 brackets and commas   1.2      1,020
      250 colons                            4.5      1,125
                                                     2,945   below 30,000: parsed at once
    Markdown of 16 kB, all line ends
      16,000 bytes                          0.16     2,560
      16,000 line ends                      7.0    112,000   parsed in the child

Every price is an upper bound for all bytes, on the reference machine:
`python -m tests.proofs.fuzz --prices` searches for bodies that take longer. HTML is an exception:
nearly every page has enough marks to look expensive, so it is priced while it is scanned, see
`html.scanner`. Compressed bodies and PDF, which is parsed by third-party code, have an infinite
price.

mark     bytes that make a parser stop
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from math import inf

from minicrawl.web.responses.types import GZIP_BEGINS, DocumentType


class TooExpensive(Exception):
    """The page takes longer to parse than the caller has time for."""


_US = 1e-6
_BYTE_US, _WRITING_BYTE_US, _RULES_BYTE_US, _UTF_16_BYTE_US = 0.04, 0.16, 0.35, 0.25
"""Cost of a byte that is not a mark: it is decoded, hashed and skipped, or part of a URL."""
_Marks = Mapping[bytes, float]  # microseconds for each mark
_URL_US = 8.5
_EXPANDING: _Marks = {b"\xef\xb7": 0.8, b"\x840": 0.8}
"""First bytes of characters that expand to up to 18 others in a host name, in UTF-8 and GB 18030.
"""

_ROBOTS_MARKS: _Marks = {b"\n": 9.0, b"\r": 9.0, b"*": 0.8, b"%": 0.5}
_TEXT_MARKS: _Marks = {b":": _URL_US}
_MARKDOWN_MARKS: _Marks = {
    **dict.fromkeys((b"\n", b"\r"), 7.0),
    **dict.fromkeys((b"[", b"]", b"(", b"`", b"\\"), 2.5),
    **dict.fromkeys((b":", b"<", b"="), _URL_US),
    b"&": 1.4,
}
_XML_MARKS: _Marks = {
    b"<": 5.5,
    b"&": 1.5,
    b"=": 5.0,
    **dict.fromkeys((b" ", b"\n", b"\t", b"\r", b"/"), 0.45),  # one precedes each attribute
}
_JSON_MARKS: _Marks = {
    **dict.fromkeys((b'"', b"{", b"}", b"[", b"]", b","), 1.2),
    b":": 4.5,
    b"\\": 3.0,
}
_LINE_MARKS: _Marks = {b":": _URL_US, b"\n": 0.2, b"\r": 0.2}
_LISTS = {b"<": _XML_MARKS, b"{": _JSON_MARKS}
"""Marks of sitemaps and feeds, by their first byte."""
_LOOKED_AT = 100
"""Number of bytes within which a list must begin; otherwise its price is infinite."""


def document_price_s(body: bytes, kind: DocumentType | None) -> float:
    """Return the price of a document; HTML is priced while it is parsed."""
    match kind:
        case None | DocumentType.HTML:
            return len(body) * _BYTE_US * _US
        case DocumentType.TEXT:
            return _priced(body, _TEXT_MARKS, _WRITING_BYTE_US)
        case DocumentType.MARKDOWN:
            return _priced(body, _MARKDOWN_MARKS, _WRITING_BYTE_US)
        case DocumentType.FEED | DocumentType.SITEMAP:
            return list_price_s(body)
        case _:  # PDF is parsed by third-party code
            return inf


def list_price_s(body: bytes) -> float:
    start = body[:_LOOKED_AT].removeprefix(BOM_UTF8).lstrip()
    if body.startswith(GZIP_BEGINS) or b"\0" in start or not start:
        return inf
    return _priced(body, _LISTS.get(start[:1], _LINE_MARKS))


def robots_price_s(body: bytes) -> float:
    """Return the price of a robots.txt."""
    return _priced(body, _ROBOTS_MARKS, _RULES_BYTE_US)


def _priced(body: bytes, marks: _Marks, byte_us: float = _BYTE_US) -> float:
    if b"\0" in body or body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        byte_us = max(byte_us, _UTF_16_BYTE_US)
    if not body.isascii():
        marks = {**marks, **_EXPANDING}
    return (len(body) * byte_us + sum(us * body.count(mark) for mark, us in marks.items())) * _US
