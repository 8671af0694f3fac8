# ruff: noqa: RUF001 - letters of other scripts look like Latin ones
import codecs
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.encoding.detection import chinese, decode, sniff
from minicrawl.web.encoding.labels import codec, encoded_query, encoding_of_label
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.references import references
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.html.written_links import read_entry
from minicrawl.web.urls import canonical

LATIN_2 = "Łódź".encode("iso-8859-2")


def test_a_byte_order_mark_overrides_all_declarations() -> None:
    page = codecs.BOM_UTF8 + "<meta charset=koi8-r>é".encode()
    assert decode(page, "iso-8859-2") == ("<meta charset=koi8-r>é", "utf-8")


@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be")]
)
def test_utf_16_is_known_by_its_mark(mark: bytes, encoding: str) -> None:
    assert decode(mark + "né".encode(encoding), None) == ("né", encoding)


def test_the_header_overrides_the_page() -> None:
    assert decode(b"<meta charset=koi8-r>" + LATIN_2, "ISO-8859-2")[0].endswith("Łódź")


def test_an_unknown_charset_in_the_header_is_ignored() -> None:
    assert decode(b"<meta charset=iso-8859-2>" + LATIN_2, "none")[1] == "iso-8859-2"


def test_a_declaration_in_the_page_overrides_its_bytes() -> None:
    page = "<meta charset=windows-1252>é".encode()
    assert decode(page, None) == ("<meta charset=windows-1252>Ã©", "windows-1252")


def test_an_undeclared_page_is_utf_8_if_valid_and_otherwise_windows_1252() -> None:
    assert decode("é".encode(), None) == ("é", "utf-8")
    assert decode(b"\xe9 \x80", None) == ("é €", "windows-1252")
    assert decode(b"", None) == ("", "utf-8")


def test_an_undeclared_page_that_is_cut_within_a_character_is_utf_8() -> None:
    assert decode("né, né".encode()[:-1], None) == ("né, n\N{REPLACEMENT CHARACTER}", "utf-8")
    assert decode(b"caf\xe9", None) == ("café", "windows-1252")


def test_a_late_declaration_counts_only_if_the_bytes_are_not_utf_8() -> None:
    late = b"x" * 2000 + b"<meta charset=iso-8859-2>"
    assert decode(late + LATIN_2, None)[1] == "iso-8859-2"
    assert decode(late + "Łódź".encode(), None)[1] == "utf-8"


def test_invalid_bytes_become_replacement_characters() -> None:
    assert decode(b"a\xffb", "utf-8") == ("a\N{REPLACEMENT CHARACTER}b", "utf-8")


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("UTF8", "utf-8"),
        (" latin1\n", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("gb2312", "gbk"),
        ("shift-jis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("utf-16", "utf-16le"),
        ("x-user-defined", "x-user-defined"),
        ("utf-7", None),  # an encoding, but not one of the web
        ("iso-2022-kr", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_are_those_of_the_standard(label: str | None, encoding: str | None) -> None:
    assert encoding_of_label(label) == encoding


@pytest.mark.parametrize(
    ("label", "encoded", "text"),
    [
        ("gb2312", b"\x81\x30\x84\x36", "¥"),  # only in gb18030
        ("big5", b"\x88\x62", "Ê̄"),  # only in the Hong Kong supplement
        ("shift_jis", b"\x87\x40", "①"),  # only in Microsoft's variant
        ("euc-kr", b"\x81\x41", "갂"),  # only in the unified code
        ("logical", b"\xe0", "א"),
        ("macintosh", b"\x8e", "é"),
        ("x-mac-ukrainian", b"\x81", "Б"),
        ("tis-620", b"\xa1", "ก"),
        ("iso-2022-jp", b'\x1b$B$"\x1b(B', "あ"),
        ("x-user-defined", b"\xe9", "é"),
    ],
)
def test_a_label_means_the_largest_compatible_codec(label: str, encoded: bytes, text: str) -> None:
    assert decode(encoded, label)[0] == text


@pytest.mark.parametrize(
    ("page", "encoding"),
    [
        (b"<meta http-equiv=content-type content='charset; charset=koi8-r'>", "koi8-r"),
        (b"<meta http-equiv=content-type content='charset=\"koi8-r'>", None),
        (b"<meta http-equiv=content-type>", None),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=koi8-r>'>", None),
        (b"<? > <meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        (b'<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
        (b"<?xml version='1.0'?>", None),
        (b"<?xml encoding='koi8-r'?><meta charset=iso-8859-2>", "iso-8859-2"),
        (b"<\0?\0x\0m\0l\0", "utf-16le"),
        (b"\0<\0?\0x\0m\0l", "utf-16be"),
        (b" " * 1003 + b"<meta charset=koi8-r>", "koi8-r"),
        (b" " * 1004 + b"<meta charset=koi8-r>", None),
    ],
)
def test_declarations_are_found_as_in_the_standard(page: bytes, encoding: str | None) -> None:
    assert sniff(page) == encoding


@pytest.mark.parametrize(
    ("name", "count"), [("tests1.dat", 59), ("tests2.dat", 22), ("test-yahoo-jp.dat", 1)]
)
def test_encodings_are_those_that_browsers_find(
    shared_vector: Callable[[str], Path], name: str, count: int
) -> None:
    vectors = (shared_vector("html5lib_encoding") / name).read_bytes()
    cases = re.findall(rb"#data\n(.*?)\n#encoding\n(.*?)(?:\n|\Z)", vectors, re.DOTALL)
    assert len(cases) == count
    for page, encoding in cases:
        # The suite falls back to windows-1252, minicrawl only if the bytes are not UTF-8.
        assert decode(page + b"\n\xff", None)[1] == encoding.decode().strip().lower(), page


@given(st.text(), st.sampled_from(["utf-8", "utf-16le", "gb18030"]))
def test_text_in_the_declared_encoding_is_read_back(text: str, encoding: str) -> None:
    marks = ("\N{ZERO WIDTH NO-BREAK SPACE}", "\N{LATIN SMALL LETTER THORN}")
    body = text.encode(encoding)
    if not text.startswith(marks) and not body.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF8)):
        assert decode(body, encoding) == (text, encoding)


SIMPLIFIED = (
    "简体中文",
    "新闻网站首页 - 登录",
    "<title>中国的历史</title><p>人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。",
    "今天天气很好，我们一起去公园散步吧。",
)
TRADITIONAL = (
    "繁體中文",
    "新聞網站首頁 - 登錄",
    "<title>中國的歷史</title><p>人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。",
    "今天天氣很好，我們一起去公園散步吧。",
)
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."
JAPANESE = ("すべての人間は、生まれながらにして自由であり、かつ平等である。", "日本語", "東京大学")
OTHERS = {
    "windows-1251": (
        RUSSIAN,
        "ВСЕ НОВОСТИ МОСКВЫ",
        "Усі люди народжуються вільними і рівними у своїй гідності та правах.",
    ),
    "koi8-r": (RUSSIAN, "НОВОСТИ и погода", "русский язык"),
    "iso-8859-5": (RUSSIAN,),
    "ibm866": (RUSSIAN,),
    "windows-1253": ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.", "ΕΛΛΑΔΑ"),
    "iso-8859-7": ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.",),
    "windows-1255": ("כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",),
    "windows-1256": ("يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.",),
    "iso-8859-6": ("يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.",),
    "cp874": ("มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",),
    "windows-1250": ("Wszyscy ludzie rodzą się wolni i równi w swojej godności. Žluťoučký kůň.",),
    "iso-8859-2": ("Minden emberi lény szabadon születik, és egyenlő méltósága van.",),
    "windows-1252": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Straßengrüße, Äpfel.",
        "Todos os seres humanos nascem livres e iguais em dignidade. Ação, não, coração.",
        "é",
        "ÀÉÈÙÇ",
        "naïve “quotes” – and more…",
    ),
    "windows-1254": ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Şığ",),
    "windows-1257": ("Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās.",),
    "windows-1258": ("Người",),
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "euc-kr": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
        "한국어 뉴스",
    ),
    "mac-roman": ("Tous les êtres humains naissent libres et égaux en dignité.",),
}


@pytest.mark.parametrize("text", SIMPLIFIED)
@pytest.mark.parametrize("codec", ["gb2312", "gbk", "gb18030"])
def test_undeclared_simplified_chinese_is_detected(text: str, codec: str) -> None:
    assert decode(text.encode(codec), None) == (text, "gb18030")


@pytest.mark.parametrize("text", TRADITIONAL)
@pytest.mark.parametrize("codec", ["big5", "big5hkscs", "cp950"])
def test_undeclared_traditional_chinese_is_detected(text: str, codec: str) -> None:
    assert decode(text.encode(codec), None) == (text, "big5")


@pytest.mark.parametrize(
    ("codec", "text"), [(codec, text) for codec, texts in OTHERS.items() for text in texts]
)
def test_no_other_language_is_taken_for_chinese(codec: str, text: str) -> None:
    for variant in (text, *text.split(), text.upper(), f"{text} " * 200):
        assert chinese(variant.encode(codec, "ignore")) is None, variant


def test_declared_and_utf_8_pages_are_not_guessed() -> None:
    assert decode(SIMPLIFIED[3].encode(), None)[1] == "utf-8"
    assert decode(SIMPLIFIED[3].encode("gbk"), "windows-1252")[1] == "windows-1252"
    late = b" " * 2000 + b"<meta charset=big5>" + SIMPLIFIED[3].encode("gbk")
    assert decode(late, None)[1] == "big5"


@given(st.binary(max_size=400))
def test_random_bytes_are_not_chinese(body: bytes) -> None:
    assert chinese(body) is None


QUERIES = [
    ("utf-8", "日ü", "%E6%97%A5%C3%BC"),
    ("utf-16le", "日ü", "%E6%97%A5%C3%BC"),
    ("windows-1251", "привет €一", "%EF%F0%E8%E2%E5%F2%20%88%26%2319968%3B"),
    ("windows-1252", "ü€ż", "%FC%80%26%23380%3B"),
    ("koi8-r", "Привет", "%F0%D2%C9%D7%C5%D4"),
    ("gbk", "中文 ü€😀", "%D6%D0%CE%C4%20%A8%B9%80%26%23128512%3B"),
    ("gb18030", "€😀", "%A2%E3%949%FC6"),
    ("shift_jis", "日本表−①¥‾ｱ~髙", "%93%FA%96{%95\\%81|%87@\\~%B1~%FB%FC"),
    ("euc-jp", "日本−ｱ¥", "%C6%FC%CB%DC%A1%DD%8E%B1\\"),
    ("iso-2022-jp", "日本 a ü日", "%1B$BF|K\\%1B(B%20a%20%26%23252%3B%1B$BF|%1B(B"),
    ("euc-kr", "한국 똠é", "%C7%D1%B1%B9%20%8Cc%26%23233%3B"),
    ("big5", "中文é", "%A4%A4%A4%E5%26%23233%3B"),
]
"""Encoding, text, and its query as Chromium sends it."""


@pytest.mark.parametrize(("encoding", "text", "query"), QUERIES)
def test_queries_of_links_are_escaped_in_the_encoding_of_the_page(
    encoding: str, text: str, query: str
) -> None:
    signs = "".join(f"&#{ord(sign)};" for sign in text)
    hrefs = [f"/&#252;?q={signs}&amp;'%41|#{signs}", f" ?{signs}\n ", f"//b.test/?a\n?{signs} #"]
    others = [f"#?{signs}", f"mailto:a?{signs}"]
    markup = "".join(f'<a href="{href}">A</a>' for href in (*hrefs, *others))
    body, url = markup.encode(codec(encoding)), "http://a.test/"
    headers = {"content-type": f"text/html; charset={encoding}"}
    options = ParseOptions(with_written=True, with_words=True)
    page = parse_page(body, url, headers, options)
    assert page.links == (
        f"http://a.test/%C3%BC?q={query}&%27%41|",
        f"http://a.test/?{query}",
        f"http://b.test/?a?{query}%20",
    )
    assert all("A" in words for words in page.words)
    entries = map(read_entry, page.written, [url] * 3, page.links)
    assert [anchor.text for anchor in entries] == ["A"] * len(hrefs)
    kept = references(*decode(body, encoding)).links
    assert tuple(canonical(link.written, url) for link in kept[:3]) == page.links


def test_canonical_links_and_bases_have_queries_in_the_encoding_of_the_page() -> None:
    tags = "<base href='/b/?я'><link rel=canonical href='?я'><link rel=stylesheet href='s?я'>"
    headers = {"content-type": "text/html; charset=windows-1251"}
    page = parse_page(tags.encode("cp1251"), "http://a.test/", headers)
    assert page.canonical == "http://a.test/b/?%FF"
    found = references(tags, "windows-1251")
    assert (found.base, found.assets[0].written) == ("/b/?%FF", "s?%FF")


@given(st.sampled_from([encoding for encoding, _, _ in QUERIES]), st.text())
def test_an_escaped_query_stays_as_it_is(encoding: str, text: str) -> None:
    query = encoded_query(f"?é{text}", encoding)
    assert encoded_query(query, encoding) == query
    assert encoding == "utf-8" or query.partition("#")[0].isascii()
