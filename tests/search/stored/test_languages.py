"""Pages in many scripts are found by the words that their readers type.

`tests/search/test_words.py` has more spellings that are equal.
"""

# ruff: noqa: RUF001 - Greek and Turkish have letters that look like Latin ones

from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import indexed

TEXTS = {
    "french": "La crème brûlée est un dessert à l'œuf",
    "czech": "Příliš žluťoučký kůň úpěl",
    "greek": "Ο δρόμος της Οδύσσειας και οι ΟΔΟΙ",
    "german": "Die Straße ist groß und naß",
    "decomposed": "Cafe\u0301 Zu\u0308rich",
    "chinese": "中华人民共和国的首都是北京市",
    "japanese": "東京の検索エンジンは速いﾃﾞｰﾀ",
    "korean": "검색엔진은 문서를 찾습니다",
    "thai": "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "arabic": "مُحَمَّد يقرأ الكتـــاب",
    "hebrew": "שָׁלוֹם עולם",
    "hindi": "हिन्दी भाषा में लेख",
    "emoji": "Ship it 🚀 today 👩\u200d💻",
}
ASKED = [
    ("french", "oeuf"),
    ("czech", "zlutoucky kun"),
    ("greek", "οδυσσειας"),
    ("greek", "οδοι"),
    ("german", "STRASSE"),
    ("german", "gross nass"),
    ("decomposed", "café zürich"),
    ("decomposed", "cafe zurich"),
    ("chinese", "北京"),
    ("chinese", "人民共和国"),
    ("chinese", "京"),
    ("japanese", "検索"),
    ("japanese", "データ"),
    ("korean", "검색"),
    ("korean", "문서"),
    ("thai", "ช่องว่าง"),
    ("arabic", "محمد"),
    ("arabic", "الكتاب"),
    ("hebrew", "שלום"),
    ("hindi", "भाषा"),
    ("emoji", "🚀"),
    ("emoji", "👩\u200d💻"),
]


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Finder:
    path: Path = tmp_path_factory.mktemp("languages") / "crawl.db"
    page = '<meta charset="utf-8"><title>{}</title><p>{}'
    pages = {f"http://{name}.example/": page.format(name, text) for name, text in TEXTS.items()}
    return Finder(search_folder(indexed(path, pages)))


@pytest.mark.parametrize(("language", "words"), ASKED)
def test_a_page_is_found_by_usual_spellings(finder: Finder, language: str, words: str) -> None:
    best, *_ = finder.find(parse(words), SearchRequest())
    assert best.entry.title == language
    assert best.snippet.marks


@pytest.mark.parametrize(
    ("words", "languages"),
    [('"华人民共"', ["chinese"]), ('"strasse ist"', ["german"]), ("北海", []), ("מלכים", [])],
)
def test_a_phrase_may_be_any_part_of_a_text_without_spaces(
    finder: Finder, words: str, languages: list[str]
) -> None:
    assert [one.entry.title for one in finder.find(parse(words), SearchRequest())] == languages
