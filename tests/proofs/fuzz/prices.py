"""Fuzzing for time: bodies that take longer to parse than their price, and pages that take longer
than the scan should allow.

A body repeats a pattern, and a counter in the pattern makes each repetition different. Patterns
are drawn from fragments of the format, and those that cost most relative to their price are mutated
further. A cost is processor time, the least of a few readings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import NamedTuple

from minicrawl.crawl.workers.parser import ENOUGH_S, LARGE
from minicrawl.web.documents.document import parse_document
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.prices import (
    TooExpensive,
    document_price_s,
    list_price_s,
    robots_price_s,
)
from minicrawl.web.responses.types import DocumentType, types_of
from minicrawl.web.robots import rules
from minicrawl.web.sitemaps import sitemap

URL = "http://a.example/d/s"
_KEPT, _CHANGED = 12, 0.7
_MOST_FRAGMENTS = 6
_LONG = (2, 5, 30, 300)
_NUMBER = "%d"

_HOSTS = ("http://", "//", "https://é.", "http://ﷺﷺﷺ", "HTTP://xn--", "http:a@", "http://中")
_URLS = (
    *("/x", "x", "../", "?a=1&b=2", "?utm_a=1&", ";jsessionid=1", "?sid=1", "#", "&#65;", "&amp;"),
    *("é", "%41", "%e9", "\t", "\\", "@", ".", ":", ":80/", "'", "&a", "&copy", "ﷺ"),
)
_SPACE = (" ", "\n", "\r", "w", "word ", "\0", "中文", "\x80", "ÿ", "\ufdfa")
_HTML = (
    *("<a href=", '<a href="', "<a href='", '">', "'>", ">", "</a>", "<", "<a ", "<a>", "<b>"),
    *("<p>", "<svg>", "</svg>", "<h1>", "</h1>", "<area href=", "<iframe src=", "</iframe>"),
    *("<link rel=next href=", "<link rel=alternate href=", "<link rel=canonical href="),
    "<frame src=",
    *("<meta name=robots content=a,", "<meta robots ", "<meta http-equiv=refresh content='9;url="),
    *("<base href=", "<title>", "</title>", "<script>", "</script>", "<!--", "-->", "<style>"),
    *("</style>", "<textarea>", "<noscript>", "</noscript>", " rel=nofollow", " a=b", " a", "="),
    '"',
    *("<img alt=", "<br>", "</", "<strong>", "<!", "<?", "<template>", "<table><tr>"),
    "<div class=x>",
)
_LISTED = (
    *("<url>", "</url>", "<loc>", "</loc>", "<sitemap>", "</sitemap>", "<item>", "</item>"),
    *("<link>", "<lastmod>", "<lastmod>2026-11-02</lastmod>", "<updated>2026-11-02</updated>"),
    *("</link>", "<entry>", "</entry>", "<link href='", "'/>", "<![CDATA[", "]]>", "<!--", "-->"),
    *("<", ">", "<x/>", "<x>", "</x>", "<a:b xmlns:a='c'>", "<?x?>", "<!x>", "<guid>", " a='b'"),
)
_JSON = (
    *('{"', '"', '":"', '",', '"},', "{", "}", "[", "],", ":", ",", '{"url":"', '"id":"', "items"),
    *('{"url":"","id":"","external_url":"', "\\", "\\u0041", "\\n", "1", "null", '"title":"'),
)
_MARKDOWN = (
    *("[", "](", ")", "]", "`", "```", "~~~", "# ", "=", "---", "- ", "1. ", "    ", "*", "_", "<"),
    *("[a](", "[](", "![a](", "[a]: ", "<a href=", "<http://", ">", "\n\n", "(", "\\", "a\n=\n"),
)
_RULES = (
    *("Disallow: /", "Allow: ", "User-agent: minicrawl\n", "User-agent: *\n", "Sitemap: ", "*"),
    "$",
    *("Disallow:", "a:", ":", "#", "Crawl-delay: 1\n", "Disallow: /*a*b"),
)


class Priced(NamedTuple):
    """A parser, its price function, and the fragments of its inputs."""

    parse: Callable[[bytes], object]
    price_s: Callable[[bytes], float]
    fragments: tuple[str, ...]
    head: str = ""
    size: int = 48 * 1024


def _page(options: ParseOptions) -> Priced:
    def parse(body: bytes) -> None:
        with suppress(TooExpensive):
            parse_page(body, URL, {"content-type": "text/html"}, options, most_us=ENOUGH_S * 1e6)

    fragments = (*_HTML, *_HTML, *_HOSTS, *_URLS, *_SPACE)
    return Priced(parse, lambda _: ENOUGH_S, fragments, size=LARGE)


def _document(kind: DocumentType, media_type: str, fragments: tuple[str, ...]) -> Priced:
    types = types_of([kind.name.lower() if kind.name else ""])
    return Priced(
        lambda body: parse_document(body, URL, {"content-type": media_type}, types=types),
        lambda body: document_price_s(body, kind),
        (*fragments, *_HOSTS, *_URLS, *_SPACE),
    )


def _list(fragments: tuple[str, ...], head: str) -> Priced:
    return Priced(
        lambda body: sitemap.parse(body, URL),
        list_price_s,
        (*fragments, *fragments, *_HOSTS, *_URLS, *_SPACE),
        head,
    )


PRICED: Mapping[str, Priced] = {
    "html": _page(ParseOptions()),
    "html, words": _page(ParseOptions(with_words=True)),
    "html, links": _page(ParseOptions(with_written=True)),
    "html, scripts": _page(ParseOptions(with_scripting=True)),
    "text": _document(DocumentType.TEXT, "text/plain", ()),
    "markdown": _document(DocumentType.MARKDOWN, "text/markdown", _MARKDOWN * 2),
    "sitemap": _list(_LISTED, "<urlset>"),
    "atom": _list(_LISTED, "<feed xmlns='http://www.w3.org/2005/Atom'><entry>"),
    "json feed": _list(_JSON, '{"version":"https://jsonfeed.org/version/1","items":['),
    "lines": _list((), "http://a.example/\n"),
    "robots.txt": Priced(
        lambda body: rules.parse(body, "minicrawl"), robots_price_s, (*_RULES, *_URLS, *_SPACE)
    ),
}


class Trial(NamedTuple):
    """Measured cost of a pattern; `ratio` is relative to its price."""

    ratio: float
    cost_s: float
    pattern: tuple[str, ...]
    encoding: str


def body_of(priced: Priced, pattern: tuple[str, ...], encoding: str) -> bytes:
    """Repeat a pattern, each time with another number, up to the size of the bodies."""
    piece = "".join(pattern)
    each = max(len(piece.encode(encoding, "replace")), 1) + len("12345")
    text = priced.head + "".join(
        piece.replace(_NUMBER, str(10_000 + n)) for n in range(max(priced.size // each, 1))
    )
    return text.encode(encoding, "replace")


def cost_s(priced: Priced, body: bytes, readings: int = 2) -> float:
    """Return the least processor time of some readings."""
    costs = []
    for _ in range(readings):
        began = time.process_time()
        priced.parse(body)
        costs.append(time.process_time() - began)
    return min(costs)


def worst(name: str, inputs: int, seed: int) -> list[Trial]:
    """Try `inputs` patterns and return those that cost most relative to their price."""
    priced, random, kept = PRICED[name], Random(f"{name}/{seed}"), list[Trial]()
    for _ in range(inputs):
        is_changed = kept and random.random() < _CHANGED
        pattern = (
            _mutated(random.choice(kept).pattern, priced.fragments, random)
            if is_changed
            else _drawn(priced.fragments, random)
        )
        encoding = random.choices(("utf-8", "gb18030", "utf-16"), (18, 1, 1))[0]
        if any(pattern == trial.pattern for trial in kept):
            continue
        kept = sorted([*kept, tried(priced, pattern, encoding)], reverse=True)[:_KEPT]
    return kept


def tried(priced: Priced, pattern: tuple[str, ...], encoding: str) -> Trial:
    body = body_of(priced, pattern, encoding)
    price_s, spent_s = priced.price_s(body), cost_s(priced, body, readings=1)
    if spent_s > price_s / 2:
        spent_s = min(spent_s, cost_s(priced, body, readings=3))
    return Trial(spent_s / price_s, spent_s, pattern, encoding)


def _drawn(fragments: tuple[str, ...], random: Random) -> tuple[str, ...]:
    count = random.randint(1, _MOST_FRAGMENTS)
    return tuple(_fragment(fragments, random) for _ in range(count))


def _fragment(fragments: tuple[str, ...], random: Random) -> str:
    fragment = _NUMBER if random.random() < 1 / 5 else random.choice(fragments)
    return fragment * random.choice(_LONG) if random.random() < 1 / 5 else fragment


def _mutated(
    pattern: tuple[str, ...], fragments: tuple[str, ...], random: Random
) -> tuple[str, ...]:
    at = random.randrange(len(pattern))
    new = (_fragment(fragments, random),)
    match random.randrange(4):
        case 0:
            return pattern[:at] + new + pattern[at + 1 :]
        case 1 if len(pattern) > 1:
            return pattern[:at] + pattern[at + 1 :]
        case 2:
            return (*pattern[:at], pattern[at] * random.choice(_LONG[:2]), *pattern[at + 1 :])
    return (pattern[:at] + new + pattern[at:])[:_MOST_FRAGMENTS]
