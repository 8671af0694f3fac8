"""JSON Feed: title and entries, also of malformed feeds."""

import json
from typing import Any

import pytest

from minicrawl.web.sitemaps.json_feed import read_json_feed
from minicrawl.web.sitemaps.sitemap import MAX_URLS, parse

A = "https://a.example"
FEED: dict[str, Any] = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Tom & Ann",
    "home_page_url": f"{A}/",
    "author": {"name": "x", "url": f"{A}/author"},
    "hubs": [{"type": "x", "url": f"{A}/hub"}],
    "items": [
        {"id": "1", "url": f"{A}/1", "external_url": "https://b.example/", "tags": ["a", "b"]},
        {"id": "2", "external_url": "https://b.example/2", "title": "more"},
        {"id": f"{A}/3", "attachments": [{"url": f"{A}/3.mp3"}], "content_html": '{"url": "x"}'},
        {"id": "no URL"},
        "no entry",
        {"url": 7, "id": f"{A}/4"},
    ],
    "extensions": {"items": [{"url": f"{A}/deep"}]},
}
URLS = [f"{A}/1", "https://b.example/2", f"{A}/3", f"{A}/4"]


@pytest.mark.parametrize("indent", [None, 2])
def test_only_entries_have_urls(indent: int | None) -> None:
    assert read_json_feed(json.dumps(FEED, indent=indent), 99) == ("Tom & Ann", URLS)


def test_the_number_of_urls_is_limited() -> None:
    assert read_json_feed(json.dumps(FEED), 2)[1] == URLS[:2]


def test_a_feed_is_read_up_to_where_it_breaks_off() -> None:
    text = json.dumps(FEED)
    known = 0
    for end in range(len(text)):
        _, urls = read_json_feed(text[:end], 99)
        assert urls == URLS[: len(urls)] or urls[:-1] == URLS[: len(urls) - 1]
        assert len(urls) >= known
        known = len(urls)
    assert known == len(URLS)


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ('{"items": [{"url": "https:\\/\\/a.example\\/\\u0041"}]}', [f"{A}/A"]),
        (
            '{"items": [{"url": "https://a.example/\\ud800"}, {"url": "https://a.example/"}]}',
            [f"{A}/"],
        ),
        ('{"items": [{"url": "https://a.example/\\x"}]}', []),
        ('{"items": [{"url": "https://a.example/not-closed', []),
        ('{"items": {"url": "https://a.example/"}}', []),
        ('[{"items": [{"url": "https://a.example/"}]}]', []),
        ('{"items": [["url", "https://a.example/"]]}', []),
        ('{"items": [{"url": "https://a.example/1", "url": "https://a.example/2"}]}', [f"{A}/1"]),
        (']]}}{"items": [{"url": "https://a.example/"}]}', [f"{A}/"]),
        ('{"items": [' * 9, []),
        ('{"a\\', []),
        ("", []),
    ],
)
def test_only_url_strings_of_entries_count(text: str, urls: list[str]) -> None:
    assert read_json_feed(text, 99)[1] == urls


def test_the_title_is_that_of_the_feed_itself() -> None:
    text = '{"author": {"title": "x"}, "items": [{"title": "y"}], "title": "z"}'
    assert read_json_feed(text, 9)[0] == "z"


def test_parse_reads_a_json_feed_like_a_sitemap() -> None:
    found = parse(json.dumps(FEED).encode(), f"{A}/feed.json")
    assert (found.pages, found.sitemaps, found.limit) == (tuple(URLS), (), "")
    many = {"items": [{"url": f"{A}/{number}"} for number in range(MAX_URLS + 5)]}
    found = parse(json.dumps(many).encode(), f"{A}/feed.json")
    assert len(found.pages) == MAX_URLS
    assert f"{MAX_URLS:,} URLs" in found.limit
    broken = b'{"items": [{"url": "https://a.example/\xff"}, {"url": "https://a.example/"}]}'
    assert parse(broken, f"{A}/feed.json").pages == (f"{A}/",)
