"""Names of encodings: the labels of the WHATWG Encoding Standard, and the codecs of Python."""

import codecs
from contextlib import suppress
from functools import cache
from urllib.parse import quote_from_bytes

FALLBACK = "windows-1252"
UTF_8 = "utf-8"

# Labels by encoding. The "replacement" encodings of the standard are missing: a page with such a
# label is decoded by its bytes, as its markup is ASCII.
_LABELS = """
utf-8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866: 866 cp866 csibm866
iso-8859-2: csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3: csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4: csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5: csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e
iso-8859-6: iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7: csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597
iso-8859-7: iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso-8859-8: csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598
iso-8859-8: iso_8859-8 iso_8859-8:1988 visual
iso-8859-8-i: csiso88598i logical
iso-8859-10: csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13: iso8859-13 iso885913
iso-8859-14: iso8859-14 iso885914
iso-8859-15: csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16:
koi8-r: cskoi8r koi koi8 koi8_r
koi8-u: koi8-ru
macintosh: csmacintosh mac x-mac-roman
windows-874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250: cp1250 x-cp1250
windows-1251: cp1251 x-cp1251
windows-1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100
windows-1252: iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
windows-1253: cp1253 x-cp1253
windows-1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9
windows-1254: iso_8859-9:1989 l5 latin5 x-cp1254
windows-1255: cp1255 x-cp1255
windows-1256: cp1256 x-cp1256
windows-1257: cp1257 x-cp1257
windows-1258: cp1258 x-cp1258
x-mac-cyrillic: x-mac-ukrainian
gbk: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030:
big5: big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp: cseucpkdfmtjapanese x-euc-jp
iso-2022-jp: csiso2022jp
shift_jis: csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr: cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601
euc-kr: windows-949
utf-16be: unicodefffe
utf-16le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
x-user-defined:
"""

# Encodings for which Python has another name or a more complete codec.
_CODECS = {
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "x-user-defined": FALLBACK,
}

_ENCODINGS = {
    label: encoding
    for encoding, _, labels in (line.partition(":") for line in _LABELS.split("\n")[1:-1])
    for label in (encoding, *labels.split())
}


def encoding_of_label(label: str | None) -> str | None:
    """Return the encoding of a label, by its name in the standard; None if unknown."""
    return _ENCODINGS.get(label.strip("\t\n\f\r ").lower()) if label else None


UTF_16 = frozenset(("utf-16le", "utf-16be"))

_MULTI_BYTE = {
    *(UTF_8, "utf-16le", "utf-16be"),
    *("gb18030", "big5hkscs", "euc-jp", "iso-2022-jp", "cp932", "cp949"),
}
"""Codecs in which a character may have several bytes."""


def text_in(body: bytes, encoding: str) -> str:
    name = codec(encoding)
    if name in _MULTI_BYTE:
        return body.decode(name, errors="replace")
    # An error handler takes 0.2 µs for each undefined byte; a table costs nothing for it.
    return codecs.charmap_decode(body, "replace", _characters(name))[0]


@cache
def _characters(name: str) -> str:
    """Return the character of each byte in a single-byte codec; U+FFFD for undefined bytes."""
    return bytes(range(256)).decode(name, errors="replace")


def codec(encoding: str) -> str:
    """Return the Python codec of an encoding, by its name in the standard."""
    return _CODECS.get(encoding, encoding)


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

        page in windows-1251, <a href="/s?q=да">     /s?q=%E4%E0
        page in UTF-8, the same link                 /s?q=%D0%B4%D0%B0

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
    pairs, encoder = _pairs(encoding), "ascii"
    if encoding == "shift_jis":
        text, encoder = text.translate(_OF_SHIFT_JIS), codec(encoding)
    return b"".join([pairs.get(sign) or sign.encode(encoder, _UNMAPPED) for sign in text])


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
