"""Metadata columns of a page, from any usual notation."""

import json

import pytest

pytest.importorskip("selectolax")

from minicrawl.text import metadata
from minicrawl.text.main import LANGUAGE

URL = "http://a.example/news/1"


def data(**properties: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(properties)}</script>'


def meta(name: str, content: str, attribute: str = "name") -> str:
    return f'<meta {attribute}="{name}" content="{content}">'


ARTICLE = {"@type": "NewsArticle"}


@pytest.mark.parametrize(
    ("column", "markup", "expected"),
    [
        ("AUTHOR", meta("author", "Ann Bee"), "Ann Bee"),
        ("AUTHOR", data(**ARTICLE, author=[{"name": "Ann"}, {"name": "Bea"}]), "Ann, Bea"),
        ("AUTHOR", data(**ARTICLE, author="Ann") + meta("author", "Bea"), "Ann"),
        ("AUTHOR", meta("article:author", "http://x.example/ann", "property"), ""),
        ("AUTHOR", "<p>By <a rel=author href=/ann>Ann  Bee</a>", "Ann Bee"),
        ("AUTHOR", "<p><span itemprop=author>Ann</span>", "Ann"),
        ("AUTHOR", meta("citation_author", "Ann") + meta("citation_author", "Bea"), "Ann, Bea"),
        ("DESCRIPTION", meta("og:description", "More", "property"), "More"),
        ("DESCRIPTION", data(**ARTICLE, description="More"), "More"),
        ("DESCRIPTION", meta("dc.description", "More"), "More"),
        ("SITE_NAME", meta("application-name", "The Paper"), "The Paper"),
        ("SITE_NAME", meta("og:site_name", "The Paper", "property"), "The Paper"),
        ("SITE_NAME", data(**ARTICLE, publisher={"name": "The Paper"}), "The Paper"),
        ("PUBLISHED", meta("article:published_time", "2026-11-26T09:30:00Z", "property"),
         "2026-11-26T09:30:00+00:00"),
        ("PUBLISHED", data(**ARTICLE, datePublished="2026-11-26"), "2026-11-26"),
        ("PUBLISHED", meta("citation_publication_date", "2026/1/6"), "2026-01-06"),
        ("PUBLISHED", meta("date", "Thu, 26 Nov 2026 09:30:00 +0100"), "2026-11-26T09:30:00+01:00"),
        ("PUBLISHED", meta("date", "yesterday") + meta("pubdate", "2026-11-26"), "2026-11-26"),
        ("PUBLISHED", meta("date", "2026-13-45"), ""),
        ("PUBLISHED", "<time itemprop=datePublished datetime=2026-11-26>today</time>",
         "2026-11-26"),
        ("MODIFIED", data(**ARTICLE, dateModified="2026-11-27"), "2026-11-27"),
        ("MODIFIED", meta("article:modified_time", "2026-11-27", "property"), "2026-11-27"),
        ("MODIFIED", "<i itemprop=dateModified content=2026-11-27></i>", "2026-11-27"),
        ("IMAGE", meta("og:image", "/i.png", "property"), "http://a.example/i.png"),
        ("IMAGE", data(**ARTICLE, image={"url": "http://b.example/i"}), "http://b.example/i"),
        ("CANONICAL", "<link rel=canonical href=/news/one>", "http://a.example/news/one"),
        ("CANONICAL", meta("og:url", "mailto:a@b", "property"), ""),
        ("LICENCE", "<a rel='license nofollow' href=//cc.example/by/4.0/>CC BY</a>",
         "http://cc.example/by/4.0/"),
        ("LICENCE", meta("dc.rights", "http://cc.example/by/"), "http://cc.example/by/"),
        ("AUTHOR", "<p itemprop='' content=x rel='' href=''>Text", ""),
        ("LICENCE", data(**ARTICLE, license="http://cc.example/by/"), "http://cc.example/by/"),
    ],
)  # fmt: skip
def test_each_notation_is_read(column: str, markup: str, expected: str) -> None:
    assert getattr(metadata, column)(f"<html>{markup}<p>Text.", URL) == expected


def test_only_json_ld_objects_about_the_page_count() -> None:
    graph = [
        {"@type": "Organization", "author": "Nobody"},
        {"@type": "WebPage", "author": "Ann"},
        [{"@type": ["Thing", "NewsArticle"], "author": {"@id": "Bea"}}],
    ]
    assert metadata.AUTHOR(data(**{"@graph": graph}), URL) == "Bea, Ann"


@pytest.mark.parametrize(
    "text",
    ["{", "[" * 100_000, '"x"', "[[1], null]", '{"@type": 1}',
     '{"@type": "WebPage", "author": [["x"]]}'],
)  # fmt: skip
def test_invalid_json_ld_is_ignored(text: str) -> None:
    markup = f"<script type='application/ld+json'>{text}</script>" + meta("author", "Ann")
    assert metadata.AUTHOR(markup, URL) == "Ann"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick brown fox jumps over the lazy dog, and then it sleeps in the sun.", "en"),
        ("Der schnelle braune Fuchs springt über den faulen Hund und schläft in der Sonne.", "de"),
        ("Le vif renard brun saute par-dessus le chien paresseux et dort au soleil.", "fr"),
        ("素早い茶色の狐がのろまな犬を飛び越えて、それから日なたで眠ります。", "ja"),
        ("", ""),
    ],
)
def test_the_language_is_detected_from_the_text(text: str, expected: str) -> None:
    pytest.importorskip("py3langid")
    menu = "<nav><a href=/>Startseite</a> <a href=/x>Nachrichten und Wetter</a></nav>"
    body = menu + 3 * f"<p>{text}" if text else ""
    assert LANGUAGE(f"<html lang=xx>{body}", URL) == expected


def test_numbers_have_no_language() -> None:
    assert LANGUAGE("<p>1, 2, 3 and so", URL) == ""
