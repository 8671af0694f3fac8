"""Queries of links, which browsers send in the encoding of the page.

page in windows-1251, <a href="/s?q=да">     /s?q=%E4%E0
page in UTF-8, the same link                 /s?q=%D0%B4%D0%B0
"""

import codecs
from contextlib import suppress
from functools import cache
from urllib.parse import quote_from_bytes

from minicrawl.web.encoding.labels import UTF_8, codec

_OUTPUT_CODECS = {"gbk": "gbk", "utf-16le": UTF_8, "utf-16be": UTF_8}
"""Codecs that differ from those of `codec` when a text is encoded."""
_LEADS = {
    "shift_jis": (*range(0x81, 0xA0), *range(0xE0, 0xED), *range(0xFA, 0xFD)),
    "big5": range(0xA1, 0xFF),
}
"""First bytes of the pairs that browsers send; of some characters, Python prefers another pair."""
_OF_SHIFT_JIS = str.maketrans("\N{MINUS SIGN}\N{YEN SIGN}\N{OVERLINE}", "\uff0d\\~")
_IN_QUERY = "".join(map(chr, {*range(ord("!"), ord("~") + 1)} - {*b"\"#<>'"}))
_AT_ENDS = "".join(map(chr, range(ord(" ") + 1)))
_NOT_IN_URLS = str.maketrans("", "", "\t\n\r")
_UNMAPPED = "minicrawl-query"


def _reference_to(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    if error.encoding == "gbk" and missing == "€":
        return b"\x80", error.end
    return "".join(f"%26%23{ord(character)}%3B" for character in missing), error.end


codecs.register_error(_UNMAPPED, _reference_to)


def encoded_query(href: str, encoding: str) -> str:
    """Return a reference with its query escaped in the encoding of its page, as browsers do.

    Parsers of URLs escape in UTF-8, and leave what is escaped. Only the query depends on the page.
    """
    if encoding == UTF_8 or href.isascii():
        return href
    whole, sign, fragment = href.partition("#")
    path, question, query = whole.partition("?")
    if query.isascii():
        return href
    query = (query if sign else query.rstrip(_AT_ENDS)).translate(_NOT_IN_URLS)
    octets = _output(query, encoding)
    return f"{path}{question}{quote_from_bytes(octets, _IN_QUERY)}{sign}{fragment}"


def _output(text: str, encoding: str) -> bytes:
    """Encode a text; a character that the encoding lacks becomes an escaped reference."""
    if encoding not in _LEADS:
        return text.encode(_OUTPUT_CODECS.get(encoding) or codec(encoding), _UNMAPPED)
    pairs, rest = _pairs(encoding), "ascii"
    if encoding == "shift_jis":
        text, rest = text.translate(_OF_SHIFT_JIS), codec(encoding)
    return b"".join([pairs.get(sign) or sign.encode(rest, _UNMAPPED) for sign in text])


@cache
def _pairs(encoding: str) -> dict[str, bytes]:
    """Return the characters of two bytes."""
    pairs: dict[str, bytes] = {}
    for lead in _LEADS[encoding]:
        for trail in range(0x40, 0xFF):
            with suppress(UnicodeDecodeError):
                pair = bytes((lead, trail))
                pairs.setdefault(pair.decode(codec(encoding)), pair)
    return pairs
