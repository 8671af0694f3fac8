"""Decoding: from the bytes of a page to its text.

Every page has a text, whatever its bytes and its labels. The encoding comes from, in this order:
a byte order mark, the Content-Type, a declaration in the first 1024 bytes (by the labels of the
WHATWG Encoding Standard), UTF-8 if the bytes are valid, a later declaration as in browsers,
GB18030 or Big5 if the bytes look like Chinese in it, windows-1252.
"""

import codecs
import re
from itertools import islice
from math import inf

from minicrawl.web.encoding.labels import FALLBACK, UTF_8, UTF_16, encoding_of_label, text_in
from minicrawl.web.html.attributes import ATTRIBUTES, attributes
from minicrawl.web.responses.prices import TooExpensive

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


_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)

UTF_16_US = 0.08
"""Time for a byte of UTF-16 if each surrogate lacks its other half: an error handler is called."""


def decode(body: bytes, content_type_charset: str | None, most_us: float = inf) -> tuple[str, str]:
    """Return the text of a page and the name of its encoding. Invalid bytes become U+FFFD.

    Raise `TooExpensive` for UTF-16 that may take more than `most_us`.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            _refuse_expensive(body, encoding, most_us)
            return text_in(body[len(mark) :], encoding), encoding
    declared = encoding_of_label(content_type_charset) or sniff(body)
    if declared:
        _refuse_expensive(body, declared, most_us)
        return text_in(body, declared), declared
    try:
        text, end = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        text, end = "", 0
    # A body that was cut may end within a character.
    if end == len(body) or not text.isascii():
        return text + body[end:].decode(UTF_8, "replace"), UTF_8
    late = sniff(body, _LATE_BYTES) or chinese(body) or FALLBACK
    return text_in(body, late), late


def _refuse_expensive(body: bytes, encoding: str, most_us: float) -> None:
    if encoding in UTF_16 and UTF_16_US * len(body) > most_us:
        raise TooExpensive


_COMMON_IN_CHINESE = (
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
    "gb18030": frozenset(_COMMON_IN_CHINESE),
    "big5": frozenset(_COMMON_IN_CHINESE.translate(_TRADITIONAL)),
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
    """Return GB18030 or Big5 if a sample looks like Chinese in it, else None.

    Nearly any bytes are characters in GB18030, but in Chinese some 300 characters make up more than
    half of a text. Bytes read in the wrong encoding rarely become these: lower-case Cyrillic, Greek
    and Hebrew letters become characters of GB2312's second level, which are rare, and letters of
    other scripts become characters from all over the table.
    """
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
    letters = _NEUTRAL.sub("", text_in(sample, encoding))
    common = sum(map(_CHARACTERS[encoding].__contains__, letters))
    is_enough = common >= max(_FEWEST, _LEAST_SHARE * len(letters) + 1)
    return common / len(letters) if is_enough and _is_whole(letters) else 0.0


def _is_whole(letters: str) -> bool:
    """Return True if hardly any byte is invalid; the sample may end within a character."""
    return letters.count("\ufffd") <= _MOST_INVALID * len(letters) + letters.endswith("\ufffd")


def _is_of_neighbours(sample: bytes) -> bool:
    """Return True for Korean or Japanese in encodings whose bytes are valid in GB18030."""
    for encoding, letters, least in _NEIGHBOURS:
        text = _NEUTRAL.sub("", text_in(sample, encoding))
        if _is_whole(text) and len(letters.findall(text)) >= least * max(len(text), 1):
            return True
    return False
