import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minicrawl.web.responses.headers import (
    LONGEST_WAIT_S,
    RobotsTag,
    http_date,
    link_canonical,
    parse_content_type,
    parse_robots_tag,
    retry_after_s,
)
from minicrawl.web.responses.types import is_html

NOW = datetime(2026, 11, 20, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "essence", "charset"),
    [
        (None, "", None),
        ("", "", None),
        ("text/html", "text/html", None),
        (" Text/HTML ; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;charset="koi8-r"', "text/html", "koi8-r"),
        ("text/html; charset='koi8-r'", "text/html", "koi8-r"),
        ("text/html; version=1; charset=koi8-r; x=y", "text/html", "koi8-r"),
        ("text/html, text/html; charset=koi8-r", "text/html", "koi8-r"),
        ("; charset=koi8-r", "", "koi8-r"),
        ("html; charset=koi8-r", "", "koi8-r"),  # browsers take no type without a slash
        ("text/", "", None),
        ("/html", "", None),
        ("text/html; charset=", "text/html", None),
    ],
)
def test_a_media_type_has_an_essence_and_maybe_a_charset(
    value: str | None, essence: str, charset: str | None
) -> None:
    assert parse_content_type(value) == (essence, charset)


@pytest.mark.parametrize(
    ("content_type", "html"),
    [
        ("text/html; charset=utf-8", True),
        ("application/xhtml+xml", True),
        ("text/plain", False),
        ("image/png", False),
        ("application/json", False),
        (None, None),
        ("application/octet-stream", None),
        ("*/*", None),
        ("html", None),
        ("none", None),
        ("text/xml", None),
    ],
)
def test_a_specific_type_decides(content_type: str | None, html: bool | None) -> None:
    assert is_html(content_type, b"") is html
    if html is not None:
        assert is_html(content_type, b"<html>") is html


@pytest.mark.parametrize(
    ("first_bytes", "html"),
    [
        (b"<!DOCTYPE HTML>", True),
        (b"\n\t <hTmL lang=de>", True),
        (b"<p>", True),
        (b"<!-- x", True),
        (b"<br/>", False),  # the standard requires a blank or ">" after the name
        (b"<pre>", False),
        (b"\x89PNG\r\n", False),
        (b"%PDF-1.4 <html>", False),
        (b"plain <p>", False),
    ],
)
def test_without_a_type_the_first_bytes_decide(first_bytes: bytes, html: bool) -> None:
    assert is_html(None, first_bytes) is html
    assert is_html("unknown/unknown", first_bytes) is html


@pytest.mark.parametrize(
    ("first_bytes", "html"),
    [
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- x --><html xmlns="x">', True),
        (b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">\n<html>', True),
        (b"<rss><channel><html>", False),
        (b"<p>", False),
    ],
)
def test_xml_with_an_html_root_is_html(first_bytes: bytes, html: bool) -> None:
    assert is_html("application/xml", first_bytes) is html


def test_retry_after_is_parsed_as_in_the_vectors(shared_vector: Callable[[str], Path]) -> None:
    for case in json.loads(shared_vector("retry_after.json").read_text("utf-8")):
        assert retry_after_s(case["header"], NOW) == seconds(case["expect"]), case
    assert retry_after_s(None, NOW) is None
    assert retry_after_s("120, 60", NOW) == 120


def seconds(expected: str | float | None) -> float | None:
    if expected == "cap":
        return LONGEST_WAIT_S
    return float(expected.rpartition(":")[2]) if isinstance(expected, str) else expected


def test_robots_tags_are_parsed_as_in_the_vectors(shared_vector: Callable[[str], Path]) -> None:
    for case in json.loads(shared_vector("x_robots_tag.json").read_text("utf-8")):
        if not case["implementation_defined"]:
            tag = parse_robots_tag(case["value"], case["agent"])
            assert tag == (case["noindex"], case["nofollow"]), case


@pytest.mark.parametrize(
    ("values", "tag"),
    [
        ("", RobotsTag()),
        ("NoIndex", RobotsTag(noindex=True)),
        ("none", RobotsTag(noindex=True, nofollow=True)),
        ("otherbot: none", RobotsTag()),
        ("otherbot: noindex, nofollow", RobotsTag()),
        ("otherbot: noindex, MiniCrawl: nofollow", RobotsTag(nofollow=True)),
        ("nofollow, otherbot: noindex", RobotsTag(nofollow=True)),
        ("unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, noindex", RobotsTag(noindex=True)),
    ],
)
def test_rules_of_robots_tags_hold_for_all_or_for_the_named_crawler(
    values: str, tag: RobotsTag
) -> None:
    assert parse_robots_tag(values, "MiniCrawl") == tag


def test_combined_robots_tags_are_the_stricter_of_both() -> None:
    one, other = RobotsTag(noindex=True), RobotsTag(nofollow=True)
    both = RobotsTag(noindex=True, nofollow=True)
    assert one.combined_with(other) == other.combined_with(one) == both


@pytest.mark.parametrize(
    ("value", "target"),
    [
        (None, None),
        ("", None),
        ('<https://e.org/>; rel="canonical"', "https://e.org/"),
        ("</a>; rel=next, </b>; REL=Canonical", "/b"),
        ('</a?x=1,2>; title="x, </c>; rel=canonical"; rel="up canonical"', "/a?x=1,2"),
        ("</a>; rel=stylesheet", None),
        ("</a>", None),
        ('</a>; rel="', None),
        ('</a>; rel=""', None),
        ("nothing; rel=canonical", None),
    ],
)
def test_a_link_header_may_name_the_canonical_page(value: str | None, target: str | None) -> None:
    assert link_canonical(value) == target


@pytest.mark.parametrize("value", ["Mon, 32 Jan 2024 00:00:00 GMT", "Mon, 1 Jan 2024 25:00:00 GMT"])
def test_a_date_that_no_calendar_has_is_no_date(value: str) -> None:
    assert http_date(value) is None
