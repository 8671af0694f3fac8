"""Encodings: from the bytes of a page to its text.

Every page has a text, whatever its bytes and its labels. The encoding comes from, in this order: a
byte order mark, the Content-Type, a declaration in the first 1024 bytes (by the labels of the
WHATWG Encoding Standard), UTF-8 if the bytes are valid, a later declaration as in browsers, GB18030
or Big5 if the bytes look like Chinese in it, windows-1252.

Nearly any bytes are characters in GB18030, but in Chinese some 300 characters make up more than
half of a text. Bytes read in the wrong encoding rarely become these: lower-case Cyrillic, Greek and
Hebrew letters become characters of GB2312's second level, which are rare, and letters of other
scripts become characters from all over the table.
"""

import codecs
import re
from functools import cache
from itertools import islice
from math import inf

from minicrawl.web.markup import ATTRIBUTES, TooExpensive, attributes

FALLBACK = "windows-1252"
UTF_8 = "utf-8"

# ---------------------------------------------------------------- labels

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


def _encodings() -> dict[str, str]:
    encodings: dict[str, str] = {}
    for line in _LABELS.split("\n")[1:-1]:
        encoding, _, labels = line.partition(":")
        encodings |= dict.fromkeys([encoding, *labels.split()], encoding)
    return encodings


_ENCODINGS = _encodings()


def encoding_of_label(label: str | None) -> str | None:
    """Return the encoding of a label, by its name in the standard; None if unknown."""
    return _ENCODINGS.get(label.strip("\t\n\f\r ").lower()) if label else None


# ---------------------------------------------------------------- declarations

_PRESCAN_BYTES = 1024  # by the standard
_LATE_BYTES = 1 << 16
_MOST_DECLARATIONS, _DECLARATION_READ = 10, 1024
"""Limits for declarations: a page has one or two, of a line each; an attack has many long ones."""

_SPACES = r"[\t\n\f\r ]*+"
_TAG = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:-->|\Z))"
    rf"|meta(?=[\t\n\f\r /])({ATTRIBUTES})>"
    rf"|/?[a-z][^\t\n\f\r >]*+{ATTRIBUTES}(?:>|\Z)"
    r"|[!?/][^>]*+)",
    re.IGNORECASE | re.ASCII,
)
_CHARSET = re.compile(
    rf"""charset{_SPACES}={_SPACES}(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]*+)|)""",
    re.IGNORECASE | re.ASCII,
)
_XML_ENCODING = re.compile(
    rf"""encoding{_SPACES}={_SPACES}(?:"([^"]*+)"|'([^']*+)')""",
)
_XML = "<?xml"


def sniff(body: bytes, limit: int = _PRESCAN_BYTES) -> str | None:
    """Return the encoding that a page declares in its first bytes."""
    head = body[:limit].decode("latin-1")
    if head.startswith("<\0?\0x\0"):
        return "utf-16le"
    if head.startswith("\0<\0?\0x"):
        return "utf-16be"
    metas = (tag[1] for tag in _TAG.finditer(head) if tag[1] and "charset" in tag[1].lower())
    for meta in islice(metas, _MOST_DECLARATIONS):
        if encoding := _by_meta(attributes(meta[:_DECLARATION_READ])):
            return encoding
    if not head.startswith(_XML):
        return None
    declared = _XML_ENCODING.search(head, len(_XML), max(head.find(">"), 0))
    return _ascii_compatible(declared[declared.lastindex or 0]) if declared else None


def _by_meta(attributes: dict[str, str]) -> str | None:
    if "charset" in attributes:
        return _ascii_compatible(attributes["charset"])
    if attributes.get("http-equiv", "").lower() != "content-type":
        return None
    charset = _CHARSET.search(attributes.get("content", ""))
    return _ascii_compatible(charset[charset.lastindex]) if charset and charset.lastindex else None


def _ascii_compatible(label: str) -> str | None:
    """Return the encoding of a label that was read as ASCII, so UTF-16 becomes UTF-8."""
    encoding = encoding_of_label(label)
    if encoding in UTF_16:
        return UTF_8
    return FALLBACK if encoding == "x-user-defined" else encoding


# ---------------------------------------------------------------- from bytes to text

_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)


UTF_16 = frozenset(("utf-16le", "utf-16be"))
UTF_16_US = 0.08
"""Time for a byte of UTF-16 if each surrogate lacks its other half: an error handler is called."""


def decode(body: bytes, content_type_charset: str | None, most_us: float = inf) -> tuple[str, str]:
    """Return the text of a page and the name of its encoding. Invalid bytes become U+FFFD.

    Raise `TooExpensive` for UTF-16 that may take more than `most_us`.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            _refuse_expensive(body, encoding, most_us)
            return _text(body[len(mark) :], encoding), encoding
    declared = encoding_of_label(content_type_charset) or sniff(body)
    if declared:
        _refuse_expensive(body, declared, most_us)
        return _text(body, declared), declared
    try:
        return body.decode(UTF_8), UTF_8
    except UnicodeDecodeError:
        late = sniff(body, _LATE_BYTES) or chinese(body) or FALLBACK
        return _text(body, late), late


def _refuse_expensive(body: bytes, encoding: str, most_us: float) -> None:
    if encoding in UTF_16 and UTF_16_US * len(body) > most_us:
        raise TooExpensive


# ---------------------------------------------------------------- Chinese

_COMMON = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种"
    "事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民"
    "第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月"
    "话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变"
    "四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼"
    "书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切"
    "院让识候带导争运笔网页站首搜索登录注册版简繁输载图片闻联测试字码编汉语影音乐游戏"
)
_OTHER_IN_TAIWAN = (
    "个個们們来來为為国國说說时時会會对對这這着著过過发發后後里裡种種经經么麼学學现現当當没沒动動还還进進样樣开開从從"
    "实實军軍无無与與长長机機关關点點业業两兩间間问問并並应應战戰头頭体體见見产產话話给給门門儿兒东東声聲员員论論处處"
    "义義几幾认認条條题題尔爾别別变變总總电電数數报報结結务務场場计計资資许許统統区區队隊决決马馬书書则則听聽达達强強"
    "难難权權设設记記类類据據边邊张張该該规規万萬觉覺术術领領确確传傳师師观觀让讓识識带帶导導争爭运運笔筆网網页頁录錄"
    "册冊简簡输輸载載图圖闻聞联聯测測试試码碼编編汉漢语語乐樂游遊戏戲将將"
)
"""Pairs of a simplified character and its traditional form."""
_TRADITIONAL = str.maketrans(dict(zip(_OTHER_IN_TAIWAN[::2], _OTHER_IN_TAIWAN[1::2], strict=True)))
_CHARACTERS = {
    "gb18030": frozenset(_COMMON),
    "big5": frozenset(_COMMON.translate(_TRADITIONAL)),
}
_SAMPLE_BYTES = 1 << 13
_LEAST_SHARE = 0.4
_FEWEST = 3
_MOST_INVALID = 0.01
_NEIGHBOURS = (
    ("euc-kr", re.compile("[\uac00-\ud7a3]"), 0.95),
    ("euc-jp", re.compile("[\u3040-\u30ff]"), 0.25),
    ("shift_jis", re.compile("[\u3040-\u30ff]"), 0.25),
)
"""Encodings, the letters that identify their languages, and the least share of these."""
_HIGH = re.compile(rb"[\x80-\xff]")
_NEUTRAL = re.compile("[\0-\x7f\u2010-\u203b\u3000-\u303f\uff00-\uffef]+")
"""ASCII, and punctuation that Chinese shares with other languages."""


def chinese(body: bytes) -> str | None:
    """Return GB18030 or Big5 if a sample looks like Chinese in it, else None."""
    first = _HIGH.search(body)
    if first is None:
        return None
    sample = body[first.start() : first.start() + _SAMPLE_BYTES]
    if _is_of_neighbours(sample):
        return None
    share, encoding = max((_share(sample, encoding), encoding) for encoding in _CHARACTERS)
    return encoding if share >= _LEAST_SHARE else None


def _share(sample: bytes, encoding: str) -> float:
    """Return the share of common characters among those that identify a language."""
    told = _NEUTRAL.sub("", _text(sample, encoding))
    common = sum(map(_CHARACTERS[encoding].__contains__, told))
    is_enough = common >= max(_FEWEST, _LEAST_SHARE * len(told) + 1)
    return common / len(told) if is_enough and _is_whole(told) else 0.0


def _is_whole(told: str) -> bool:
    """Return True if hardly any byte is invalid; the sample may end within a character."""
    return told.count("\ufffd") <= _MOST_INVALID * len(told) + told.endswith("\ufffd")


def _is_of_neighbours(sample: bytes) -> bool:
    """Return True for Korean or Japanese in encodings whose bytes are valid in GB18030."""
    for encoding, letters, least in _NEIGHBOURS:
        told = _NEUTRAL.sub("", _text(sample, encoding))
        if _is_whole(told) and len(letters.findall(told)) >= least * max(len(told), 1):
            return True
    return False


_MULTI_BYTE = {
    *(UTF_8, "utf-16le", "utf-16be"),
    *("gb18030", "big5hkscs", "euc-jp", "iso-2022-jp", "cp932", "cp949"),
}
"""Codecs in which a character may have several bytes."""


def _text(body: bytes, encoding: str) -> str:
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
