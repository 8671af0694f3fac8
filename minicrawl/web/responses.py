"""Facts about a response without parsing it: headers, document type, and cost of parsing its body.

headers   parsers of response headers
types     types of documents, from the head of a response, its URL and its first bytes
prices    upper bounds of the time to parse a body
hidden    responses that hide that a page is blocked or missing: challenges, soft 404s
"""

from __future__ import annotations

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import IntFlag
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import inf
from typing import NamedTuple
from urllib.parse import unquote

from minicrawl.web.scope import NOT_HTML, may_be_html

# ================================================================ headers
#
# Parsers of response headers. An invalid header counts as absent, and no value makes a parser fail.
#
# essence    MIME type without parameters: "text/html" for "Text/HTML; charset=utf-8"

SNIFFED = 1445
"""Length of the resource header in the MIME Sniffing standard, in bytes."""

# ---------------------------------------------------------------- Content-Type

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
XML_TYPES = frozenset({"text/xml", "application/xml"})
NO_TYPES = frozenset(
    {"", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
)

_ESSENCE = re.compile(r"[\t\n\r ]*+([^\t\n\r ;,/]++/[^\t\n\r ;,]++)")
_CHARSET = re.compile(
    r""";[\t\n\r ]*+charset=(?:"([^"]*+)|'([^']*+)|([^\t\n\r ;,"']++))""", re.IGNORECASE | re.ASCII
)


def parse_content_type(content_type: str | None) -> tuple[str, str | None]:
    """Return the essence, or "", and the charset. Of several types the first counts.

    A type without a slash, such as "html", is none, as in browsers: the first bytes decide.
    """
    if not content_type:
        return "", None
    essence = _ESSENCE.match(content_type)
    charset = _CHARSET.search(content_type)
    return (
        essence[1].lower() if essence else "",
        charset[charset.lastindex or 0] if charset else None,
    )


# The HTML patterns of the MIME Sniffing standard for an unknown type.
_LOOKS_LIKE_HTML = re.compile(
    rb"[\t\n\f\r ]*+<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b"
    rb"|body|br|p|!--)[ >]",
    re.IGNORECASE,
)
_LOOKS_LIKE_XHTML = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:[\t\n\f\r ]++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!doctype[^>\[]*+>)*+"
    rb"<html[\t\n\f\r >]",
    re.IGNORECASE,
)


def is_html(content_type: str | None, first_bytes: bytes) -> bool | None:
    """Return whether a response is HTML, by type or first bytes; None if the bytes are needed."""
    essence, _ = parse_content_type(content_type)
    if essence in HTML_TYPES:
        return True
    if essence not in NO_TYPES and essence not in XML_TYPES:
        return False
    if not first_bytes:
        return None
    start = first_bytes[:SNIFFED]
    if essence in NO_TYPES and _LOOKS_LIKE_HTML.match(start):
        return True
    return _LOOKS_LIKE_XHTML.match(start) is not None


# ---------------------------------------------------------------- Retry-After

LONGEST_WAIT_S = 86_400.0
"""Longest Retry-After that is respected."""

_SECONDS = re.compile(r"[\t ]*+([0-9]++)[\t ]*+\Z")
_DATE = re.compile(r"[\t ]*+[A-Z][a-z]++")
_USUAL_DATE = re.compile(
    r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Return the seconds until the server may be asked again; None without a valid value."""
    if not value:
        return None
    if seconds := _SECONDS.match(value):
        return _bounded(float(seconds[1]))
    date = http_date(value)
    return None if date is None else _bounded((date - now).total_seconds())


def _bounded(wait_s: float) -> float:
    return min(max(wait_s, 0.0), LONGEST_WAIT_S)


def http_date(value: str) -> datetime | None:
    """Return the date in a header, such as Last-Modified; None if there is none."""
    if (usual := _USUAL_DATE.fullmatch(value)) and (month := _MONTHS.get(usual[2])):
        # This takes a tenth of the parser's time: in a recrawl, each response may have a date.
        with suppress(ValueError):
            day, year, hour, minute, second = map(int, usual.group(1, 3, 4, 5, 6))
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    if not _DATE.match(value):  # the parser would read "-1" as a year, or "5;x" as a day
        return None
    from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


# ---------------------------------------------------------------- Cache-Control

_STALE = re.compile(r"no-store|no-cache", re.IGNORECASE)
_MAX_AGE = re.compile(r"max-age\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


def max_age_s(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a response is fresh, or None if its headers do not say."""
    said = headers.get("cache-control", "")
    age = None if _STALE.search(said) else _MAX_AGE.search(said)
    return None if age is None else float(age[1])


# ---------------------------------------------------------------- X-Robots-Tag

# Rules with a value. Any other name before a colon is that of a crawler.
_VALUED_RULES = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_AGENT = re.compile(r"([\w.-]++)[\t ]*+:(.*)", re.DOTALL)


class RobotsTag(NamedTuple):
    """The robots rules of a page."""

    noindex: bool = False
    nofollow: bool = False

    def combined_with(self, other: RobotsTag) -> RobotsTag:
        """Return the stricter of both."""
        return RobotsTag(self.noindex or other.noindex, self.nofollow or other.nofollow)


NO_RESTRICTIONS = RobotsTag()


def robots_words(values: str, agent: str = "") -> set[str]:
    """Return the rules for `agent`. The name of a crawler applies to all rules after it."""
    rules: set[str] = set()
    for_us = True
    for part in values.lower().split(","):
        rule = part.strip()
        named = _AGENT.match(rule)
        if named and named[1] not in _VALUED_RULES:
            for_us = named[1] == agent.lower()
            rule = named[2].strip()
        if for_us:
            rules.add(rule)
    return rules


def parse_robots_tag(values: str, agent: str) -> RobotsTag:
    """Return the rules for `agent` that concern a crawl."""
    rules = robots_words(values, agent)
    return RobotsTag(
        noindex=not rules.isdisjoint({"noindex", "none"}),
        nofollow=not rules.isdisjoint({"nofollow", "none"}),
    )


# ---------------------------------------------------------------- Link

_LINK = re.compile(r"""<([^<>]*+)>((?:[^,"<]++|"[^"]*+(?:"|\Z))*+)""")
_RELATION = re.compile(r""";[\t ]*+rel[\t ]*+=[\t ]*+(?:"([^"]*+)|([^\t ;,"]++))""", re.IGNORECASE)


def link_canonical(value: str | None) -> str | None:
    """Return the target of the first rel=canonical in a Link header, as written."""
    for target, parameters in _LINK.findall(value or ""):
        relation = _RELATION.search(parameters)
        if relation and "canonical" in (relation[1] or relation[2] or "").lower().split():
            return str(target).strip()
    return None


# ================================================================ types
#
# Types of documents that can be read, and their detection.
#
# The media type of a response decides if it is specific enough; otherwise the first bytes decide,
# and for text the extension of the URL. HTML by `is_html` is HTML here, unless it begins as a feed
# or a sitemap and these are wanted. The answer depends on the head, the URL and the first `SNIFFED`
# bytes alone, so the process that fetches a body and the one that parses it agree.
#
# wanted     the types to be read, as bits


class DocumentType(IntFlag):
    """Type of a document."""

    HTML = 1  # XHTML, too
    PDF = 2
    TEXT = 4
    MARKDOWN = 8
    FEED = 16  # RSS, Atom and JSON Feed
    SITEMAP = 32  # and indexes of sitemaps


HTML, PDF, SITEMAP = int(DocumentType.HTML), int(DocumentType.PDF), int(DocumentType.SITEMAP)
"""Types as integers, which are sent between processes and compare in a tenth of the time."""

ALL = int(sum(DocumentType))
FROM_SEEDS = int(DocumentType.FEED | DocumentType.SITEMAP)
"""Types that are always read for seeds, beside those for other pages."""

NO_TYPE = "no type"
"""Stands for the media type of a response that has none."""

WORDS = {kind.name.lower(): kind for kind in DocumentType if kind.name}
"""Types by the names that users write."""


def types_of(names: Iterable[str]) -> int:
    """Return the types with these names, as bits; other names are ignored."""
    return sum({int(WORDS[name]) for name in names if name in WORDS})


# ---------------------------------------------------------------- by the media type

_PDF = frozenset(("application/pdf", "application/x-pdf"))
_FEEDS = frozenset(
    (
        *("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
        "application/feed+json",
    )
)
_JSON = frozenset(("application/json",))
_MARKDOWN = frozenset(("text/markdown", "text/x-markdown"))
_PLAIN = frozenset(("text/plain",))
_PACKED = frozenset(("application/gzip", "application/x-gzip"))
_ENDS_AS_MARKDOWN = re.compile(r"\.(?:md|mkd|markdown)(?:\?|\Z)", re.IGNORECASE)
_UNDECIDED_XML = DocumentType.HTML | DocumentType.FEED | DocumentType.SITEMAP

_BY_MEDIA_TYPE: tuple[tuple[frozenset[str], DocumentType], ...] = (
    (HTML_TYPES, _UNDECIDED_XML),
    (XML_TYPES, _UNDECIDED_XML),
    (_PDF, DocumentType.PDF),
    (_FEEDS, DocumentType.FEED),
    (_JSON, DocumentType.FEED),
    (_MARKDOWN, DocumentType.MARKDOWN),
    (_PLAIN, DocumentType.TEXT | DocumentType.MARKDOWN | DocumentType.SITEMAP),
    (_PACKED, DocumentType.SITEMAP),
    (NO_TYPES, _UNDECIDED_XML | DocumentType.PDF | DocumentType.MARKDOWN),
)


def possible(content_type: str | None, url: str) -> int:
    """Return the types that a response may have, by its head alone."""
    essence, _ = parse_content_type(content_type)
    found = next((types for names, types in _BY_MEDIA_TYPE if essence in names), DocumentType(0))
    if essence not in _MARKDOWN and not _ENDS_AS_MARKDOWN.search(url):
        found &= ~DocumentType.MARKDOWN
    return int(found)


def is_wanted(content_type: str | None, url: str, wanted: int) -> bool | None:
    """Return whether a response is to be read; None if its first bytes are needed."""
    if wanted == HTML:
        return is_html(content_type, b"")
    if not (left := possible(content_type, url) & wanted):
        return False
    essence, _ = parse_content_type(content_type)
    if essence in HTML_TYPES:
        return True if left & HTML else None
    return True if essence in _CERTAIN else None


_CERTAIN = _PDF | _FEEDS | _MARKDOWN


# ---------------------------------------------------------------- by the first bytes

_PDF_BEGINS = b"%PDF-"
_GZIP_BEGINS = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # the "binary data bytes" of MIME Sniffing
_BEFORE_ROOT = (
    rb"(?:\xef\xbb\xbf)?+(?:[\t\n\f\r ]++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!doctype[^>\[]*+>)*+"
)
_ROOT_OF_A_FEED = re.compile(
    _BEFORE_ROOT + rb"<(?:rss|(?:[^\s<>/:\"']++:)?+(?:feed|RDF))[\s/>]", re.IGNORECASE
)
_JSON_FEED = re.compile(
    rb"(?:\xef\xbb\xbf)?+[\t\n\r ]*+\{[^{\[]*?\"https?:\\?/\\?/jsonfeed\.org\\?/version\\?/"
)
_ROOT_OF_A_SITEMAP = re.compile(
    _BEFORE_ROOT + rb"<(?:[^\s<>/:\"']++:)?+(?:urlset|sitemapindex)[\s/>]", re.IGNORECASE
)
_LIST_OF_URLS = re.compile(rb"(?:\xef\xbb\xbf)?+\s*+https?://[^\s<>]++[\t ]*+(?:[\r\n]|\Z)")


def type_of(
    content_type: str | None, url: str, first_bytes: bytes, wanted: int
) -> DocumentType | None:
    """Return the type of a response, or None if that is not wanted."""
    if wanted == HTML:
        return DocumentType.HTML if is_html(content_type, first_bytes) else None
    essence, _ = parse_content_type(content_type)
    left, start = possible(content_type, url) & wanted, _unpacked(first_bytes[:SNIFFED])
    for kind in _IN_DOUBT:
        if left & kind and _is(kind, content_type, essence, start):
            return kind
    return None


_IN_DOUBT = (
    DocumentType.SITEMAP,
    DocumentType.FEED,
    DocumentType.HTML,
    DocumentType.PDF,
    DocumentType.MARKDOWN,
    DocumentType.TEXT,
)
"""Order of detection: of several possible types, the first one that matches counts."""


def _is(kind: DocumentType, content_type: str | None, essence: str, start: bytes) -> bool:
    match kind:
        case DocumentType.SITEMAP:
            is_list = essence not in HTML_TYPES and _LIST_OF_URLS.match(start)
            return bool(is_list or _ROOT_OF_A_SITEMAP.match(start))
        case DocumentType.FEED:
            return essence in _FEEDS or bool(
                _ROOT_OF_A_FEED.match(start) or _JSON_FEED.match(start)
            )
        case DocumentType.HTML:
            return is_html(content_type, start) is True
        case DocumentType.PDF:
            return essence in _PDF or start.startswith(_PDF_BEGINS)
    return not _BINARY.search(start)


def _unpacked(start: bytes) -> bytes:
    """Return the beginning of a gzipped sitemap unpacked; other bytes unchanged."""
    if not start.startswith(_GZIP_BEGINS):
        return start
    try:
        return zlib.decompressobj(_GZIP_ONLY).decompress(start, SNIFFED)
    except zlib.error:
        return start


# ---------------------------------------------------------------- by the ending of a URL

_ENDINGS = {DocumentType.PDF: {"pdf"}, DocumentType.FEED: {"rss", "atom"}}
_PACKED_SITEMAP = re.compile(r"[^?]*\.(?:xml|txt)\.gz(?:\?|\Z)", re.IGNORECASE)


def unwanted_endings(wanted: int) -> frozenset[str]:
    """Return the file extensions of types that are not read."""
    return NOT_HTML.difference(*(_ENDINGS[kind] for kind in _ENDINGS if kind & wanted))


def may_be_wanted(url: str, wanted: int, endings: frozenset[str] = NOT_HTML) -> bool:
    """Return True if the extension of a URL may be of a wanted type; `endings` are excluded.

    For unknown extensions the response decides.
    """
    if may_be_html(url, endings):
        return True
    return bool(wanted & SITEMAP and _PACKED_SITEMAP.match(url))


# ---------------------------------------------------------------- by a link to it


def media_types(wanted: int) -> frozenset[str]:
    """Return the types that `<link rel=alternate type=...>` may name for its target to be read."""
    named = {
        DocumentType.HTML: HTML_TYPES,
        DocumentType.PDF: _PDF,
        DocumentType.TEXT: _PLAIN,
        DocumentType.MARKDOWN: _MARKDOWN,
        DocumentType.FEED: _FEEDS,
    }
    return frozenset[str]().union(*(named[kind] for kind in named if kind & wanted))


# ================================================================ prices
#
# The price of a body: an upper bound of the time to parse it, computed without parsing it.
#
# A process that serves hundreds of hosts must not stop for more than 10 ms, whatever one of them
# sends. So cheap bodies are parsed at once, and expensive ones in a child process that can be
# killed. The choice comes before parsing, and size alone says too little: 128 kB of Markdown take
# 10 ms as prose and 500 ms as empty lines.
#
# The cost comes from the places where a parser stops, and each has a mark that bytes cannot hide:
# no line without a line end, no URL without a colon. So marks are counted, which is cheap:
#
#     JSON feed of 20 kB                      each        µs
#       20,000 bytes                          0.04       800
#       500 quotes, 350 brackets and commas   1.2      1,020
#       250 colons                            4.5      1,125
#                                                      2,945   below 10,000: parsed at once
#     Markdown of 16 kB, all line ends
#       16,000 bytes                          0.16     2,560
#       16,000 line ends                      7.0    112,000   parsed in the child
#
# Every price is an upper bound for all bytes, on the reference machine:
# `python -m tests.proofs.fuzz --prices` searches for bodies that take longer. HTML is an exception:
# nearly every page has enough marks to look expensive, so it is priced while it is scanned, see
# `markup`. Compressed bodies and PDF, which is parsed by third-party code, have an infinite price.
#
# mark     bytes that make a parser stop

_US = 1e-6
_BYTE_US, _WRITING_BYTE_US, _RULES_BYTE_US, _UTF_16_BYTE_US = 0.04, 0.16, 0.35, 0.25
"""Cost of a byte that is not a mark: it is decoded, hashed and skipped, or part of a URL."""
_Marks = Mapping[bytes, float]  # microseconds for each mark
_URL_US = 8.5
_EXPANDING: _Marks = {b"\xef\xb7": 0.8, b"\x840": 0.8}
"""First bytes of characters that expand to up to 18 others in a host name, in UTF-8 and GB 18030.
"""

_ROBOTS_MARKS: _Marks = {b"\n": 9.0, b"\r": 9.0, b"*": 0.8, b"%": 0.5}
_TEXT_MARKS: _Marks = {b":": _URL_US}
_MARKDOWN_MARKS: _Marks = {
    **dict.fromkeys((b"\n", b"\r"), 7.0),
    **dict.fromkeys((b"[", b"]", b"(", b"`", b"\\"), 2.5),
    **dict.fromkeys((b":", b"<", b"="), _URL_US),
    b"&": 1.4,
}
_XML_MARKS: _Marks = {
    b"<": 5.5,
    b"&": 1.5,
    b"=": 5.0,
    **dict.fromkeys((b" ", b"\n", b"\t", b"\r", b"/"), 0.45),  # one precedes each attribute
}
_JSON_MARKS: _Marks = {
    **dict.fromkeys((b'"', b"{", b"}", b"[", b"]", b","), 1.2),
    b":": 4.5,
    b"\\": 3.0,
}
_LINE_MARKS: _Marks = {b":": _URL_US, b"\n": 0.2, b"\r": 0.2}
_LISTS = {b"<": _XML_MARKS, b"{": _JSON_MARKS}
"""Marks of sitemaps and feeds, by their first byte."""
_LOOKED_AT = 100
"""Number of bytes within which a list must begin; otherwise its price is infinite."""


def document_price_s(body: bytes, kind: DocumentType | None) -> float:
    """Return the price of a document; HTML is priced while it is parsed."""
    match kind:
        case None | DocumentType.HTML:
            return len(body) * _BYTE_US * _US
        case DocumentType.TEXT:
            return _priced(body, _TEXT_MARKS, _WRITING_BYTE_US)
        case DocumentType.MARKDOWN:
            return _priced(body, _MARKDOWN_MARKS, _WRITING_BYTE_US)
        case DocumentType.FEED | DocumentType.SITEMAP:
            return list_price_s(body)
        case _:  # PDF is parsed by third-party code
            return inf


def list_price_s(body: bytes) -> float:
    """Return the price of a sitemap or a feed."""
    start = body[:_LOOKED_AT].removeprefix(BOM_UTF8).lstrip()
    if body.startswith(_GZIP_BEGINS) or b"\0" in start or not start:
        return inf
    return _priced(body, _LISTS.get(start[:1], _LINE_MARKS))


def robots_price_s(body: bytes) -> float:
    """Return the price of a robots.txt."""
    return _priced(body, _ROBOTS_MARKS, _RULES_BYTE_US)


def _priced(body: bytes, marks: _Marks, byte_us: float = _BYTE_US) -> float:
    if b"\0" in body or body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        byte_us = max(byte_us, _UTF_16_BYTE_US)
    if not body.isascii():
        marks = {**marks, **_EXPANDING}
    return (len(body) * byte_us + sum(us * body.count(mark) for mark, us in marks.items())) * _US


# ================================================================ hidden
#
# Responses that hide that a page is blocked or missing: challenges, cookie walls, soft 404s.
#
# By a challenge a server blocks robots, although the page exists. A table of signatures finds them:
# a row matches if all its parts do: the status, a header, and a piece of the body's beginning.
# Services also put their scripts into ordinary pages, so a piece of the body must occur only in
# challenges, and a long page with a status of success is not searched for it:
#
#     403, cf-mitigated: challenge                            Cloudflare
#     200, <title>Making sure you're not a bot!</title>       Anubis
#     200, an article about "Just a moment" dialogs           none: the mark is a whole title
#     403, nginx                                              none: the page may really be forbidden

READ_BYTES = 2048
"""Number of bytes searched at the beginning of a body."""
SHORT_BYTES = 60_000
"""Longest body of a challenge; most have a tenth of these bytes."""
BLOCKS = "blocks robots: "
"""Beginning of the detail of a request that met a challenge; the name of the service follows."""
COOKIE_WALL = f"{BLOCKS}cookie wall"
"""End of the detail of a request that was redirected without end, with cookies each time."""
_SUCCESS = range(200, 300)


class Signature(NamedTuple):
    """Row of the table; empty parts match anything."""

    service: str
    header: str = ""
    value: str = ""
    body: bytes = b""
    status: tuple[int, ...] = ()


_REFUSED = (401, 403, 405, 406, 429, 503)

SIGNATURES = (
    Signature("Cloudflare", "cf-mitigated", "challenge"),
    Signature("Cloudflare", body=b"_cf_chl_opt"),
    Signature("Cloudflare", "server", "cloudflare", b"<title>Just a moment...</title>"),
    Signature("Cloudflare", "server", "cloudflare", b"Attention Required! | Cloudflare"),
    Signature("Cloudflare", "server", "cloudflare", b"error code: 10", (403, 429)),
    Signature("Akamai", "server", "akamaighost", status=_REFUSED),
    Signature("Akamai", body=b"sec-if-cpt-container"),
    Signature("Akamai", body=b"errors.edgesuite.net", status=_REFUSED),
    Signature("DataDome", "x-datadome", status=_REFUSED),
    Signature("DataDome", "x-dd-b", status=_REFUSED),
    Signature("DataDome", body=b"captcha-delivery.com/"),
    Signature("HUMAN", body=b"px-captcha"),
    Signature("HUMAN", body=b"<title>Access to this page has been denied"),
    Signature("Imperva", "x-iinfo", status=_REFUSED),
    Signature("Imperva", body=b"Incapsula incident ID"),
    Signature("Imperva", body=b"<title>Pardon Our Interruption"),
    Signature("AWS WAF", "x-amzn-waf-action", "challenge"),
    Signature("AWS WAF", "x-amzn-waf-action", "captcha"),
    Signature("AWS WAF", body=b"window.gokuProps"),
    Signature("Sucuri", "x-sucuri-block"),
    Signature("Sucuri", "server", "sucuri", status=_REFUSED),
    Signature("Sucuri", body=b"sucuri_cloudproxy_js"),
    Signature("Anubis", body=b"<title>Making sure you&#39;re not a bot!</title>"),
    Signature("Anubis", body=b"<title>Making sure you're not a bot!</title>"),
    Signature("Anubis", body=b"/.within.website/x/cmd/anubis/static/js/main.mjs"),
    Signature("Vercel", "x-vercel-mitigated"),
    Signature("Vercel", body=b"<title>Vercel Security Checkpoint</title>"),
    Signature("Kasada", "x-kpsdk-ct", status=_REFUSED),
    Signature("DDoS-Guard", "server", "ddos-guard", status=_REFUSED),
    Signature("Reblaze", "server", "reblaze", status=_REFUSED),
    Signature("SiteGround", "sg-captcha", "challenge"),
    Signature("F5", body=b"<title>Request Rejected</title>"),
    Signature("Wordfence", body=b"Generated by Wordfence", status=_REFUSED),
    Signature("LinkedIn", status=(999,)),
    *(
        Signature("cookie wall", body=b"<title>%s</title>" % title)
        for title in (b"Please enable cookies", b"Cookies required", b"Cookies are required")
    ),
)


def challenge(status: int, headers: Mapping[str, str], body: bytes = b"") -> str:
    """Return the name of the service whose challenge this is, or "". Header names are lower-case.

    The long body of a successful response is not searched: a challenge has no article.
    """
    is_read = status not in _SUCCESS or len(body) <= SHORT_BYTES
    beginning = body[:READ_BYTES] if is_read else b""
    rows = _ANYWHERE if status in _SUCCESS else _OF_FAILURES
    for name in _HEADERS.intersection(headers):
        value = headers[name].lower()
        for row in _BY_HEADER[name]:
            if row.value in value and _fits(row, status) and row.body in beginning:
                return row.service
    # One split finds all titles: every page is searched, and most have a single title.
    for title in beginning.split(_TITLE)[1:]:
        for begins, service in _TITLES:
            if title.startswith(begins):
                return service
    for row in rows:
        if row.body in beginning and _fits(row, status):
            return row.service
    return ""


def leads_to_cookie_wall(url: str, target: str) -> bool:
    """Return True if a redirect leads from a page to one that only asks for cookies."""
    return _CONSENT.search(target) is not None and _CONSENT.search(url) is None


_CONSENT = re.compile(
    r"^https?://(?:consent|guce|privacy-consent)\.[^/?#]+"
    r"|/(?:cookie[_-]?absent|cookies?[_-]not[_-]supported|no[_-]?cookies?|enable[_-]?cookies|cookies?[_-]required)"
    r"(?:[./?#]|$)",
    re.IGNORECASE,
)


def _fits(one: Signature, status: int) -> bool:
    return not one.status or status in one.status


_BY_HEADER = {
    name: [one for one in SIGNATURES if one.header == name]
    for name in {one.header for one in SIGNATURES if one.header}
}
_HEADERS = frozenset(_BY_HEADER)
_TITLE = b"<title>"
_OF_BODIES = [one for one in SIGNATURES if not one.header]
_TITLED = [one for one in _OF_BODIES if one.body.startswith(_TITLE) and not one.status]
_TITLES = [(one.body.removeprefix(_TITLE), one.service) for one in _TITLED]
_OF_FAILURES = [one for one in _OF_BODIES if one not in _TITLED]
_ANYWHERE = [one for one in _OF_FAILURES if not one.status]


# ================================================================ soft 404s
#
# Soft 404s: pages that say "not found" with status 200.
#
# The check requests two URLs of a folder that cannot exist, to see what "not found" looks like
# there. Only lines that real pages of the host do not have count, so that a shared template proves
# nothing:
#
#     real pages        Shop, Contact, Imprint
#     missing page      Shop, Contact, Nothing here, See: lamp, Imprint     own: Nothing here
#     another one       Shop, Contact, Nothing here, See: vase, Imprint     varies: 2 words
#     soft 404          Shop, Nothing here, See: mug, Contact, Imprint      the own line, no more
#     real page         Shop, Nothing here is as soft as ...                lacks it
#
# Missing pages name the URL in many ways, as `/shop/no-such-page-1` or `No such page 1`. In the
# lines of every page the name from its own URL is replaced by a mark, so that these lines become
# equal.
#
# Lists of popular articles stand on missing pages, on the home page, and on pages of their own. So
# a soft 404 must have the first of the missing page's own lines, which is its heading as a rule. If
# the home page is shown for all missing pages, nothing is found here: the copies are duplicates. A
# login in place of a missing page proves nothing either, unless most pages have one: the pages for
# members look like it, too.

SOFT_404 = "soft-404"
"""Kind of the finding for a soft 404, and state of such a page in lists of links."""
_MOST_OTHER_WORDS = 12
"""Words that a soft 404 may have of its own, such as a title that repeats its URL."""
_MOST_TEXT = 50_000
"""Most characters of a page that are read: hundreds of texts are in memory at once."""
_SHARE = 0.7
"""Least share of the own lines that a soft 404 has; the others may be there by chance."""
_FEWEST_WORDS = 2
_NAME = "no-such-page-"
_PASSWORD = re.compile(r"""type\s*+=\s*+["']?password\b""", re.IGNORECASE)
_DIGITS = re.compile("[0-9]+")
_UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]"
"""Pattern of letters of scripts that put no spaces between words, of which a word has about two. It
is compiled on demand, as that takes 4 ms and no crawl needs it.
"""
_WORD, _GAP = re.compile(r"[^\W_]+"), r"[\W_]{1,3}"
_MARK = "\0"
_MARKED = re.compile("[!-~\0]+")
"""Run of printable ASCII, to widen a marked name by its path; non-Latin text ends the run."""
_MOST_NAME_WORDS = 8
"""Most words of a name in its pattern: each may be compared with each word of a text."""


class _Line(NamedTuple):
    """Line of a page, in lower case without numbers: plain, and with the page's name as a mark."""

    plain: str
    marked: str


def missing_siblings(folder: str) -> list[str]:
    """Return two URLs in this folder that surely do not exist, the same in every run."""
    digest = blake2b(folder.encode(), digest_size=12).hexdigest()
    return [f"{folder}{_NAME}{name}" for name in (digest[:12], digest[12:])]


def is_missing_sibling(url: str) -> bool:
    """Return True for a URL of `missing_siblings`, to which no page links."""
    return _NAME in url


def asks_for_password(markup: str) -> bool:
    """Return True if the markup has a field for a password."""
    return _PASSWORD.search(markup) is not None


class MissingPage:
    """Text of the missing pages of a folder that other pages of their host do not have."""

    def __init__(
        self, missing: Mapping[str, str], home: str, others: Iterable[Mapping[str, str]]
    ) -> None:
        """Compare texts by URL. `home` is the text of the home page, `others` are groups of pages.

        A line on most pages of a group is no sign of a soft 404. So nothing is found in a folder
        that shows an app or a login for all URLs.
        """
        groups = [[_lines(url, text) for url, text in group.items()] for group in others]
        self._known = set(chain(*_lines("", home), *map(_usual_lines, groups)))
        said = [[line.marked for line in _lines(url, text)] for url, text in missing.items()]
        always = set(said[0]).intersection(*said)
        self._own = self._without_known(line for line in said[0] if line in always)
        varying = (self._without_known(set(lines) - always) for lines in said)
        self._most_words = _MOST_OTHER_WORDS + max(map(_words, varying))
        # All lines of other pages are known, unless the page looks like a missing one: it may be a
        # soft 404 itself.
        self._known.update(*(chain(*page) for page in chain(*groups) if not self._is_alike(page)))
        self._own = self._without_known(self._own)

    def is_like(self, url: str, text: str) -> bool:
        """Return True if a page has the missing pages' own lines, and hardly any other text."""
        return self._is_alike(_lines(url, text))

    def _without_known(self, lines: Iterable[str]) -> list[str]:
        return [line for line in lines if line not in self._known and _words([line])]

    def _is_alike(self, lines: Collection[_Line]) -> bool:
        own = set(self._own)
        if _words(own) < _FEWEST_WORDS:
            return False
        told = {line for line in lines if self._known.isdisjoint(line)}
        said = own.intersection(chain(*told))
        more = {line.plain for line in told if own.isdisjoint(line)}
        is_said = self._own[0] in said and len(said) >= _SHARE * len(own)
        return is_said and _words(more) <= self._most_words


def _usual_lines(pages: Sequence[Iterable[_Line]]) -> set[str]:
    """Return the lines that more than half of these pages have."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(set(chain(*page)))
    return {line for line, count in counts.items() if 2 * count > len(pages)}


@lru_cache(maxsize=1)  # a page is compared with the missing pages of all folders that it is in
def _lines(url: str, text: str) -> list[_Line]:
    words = _WORD.findall(unquote(url.rpartition("/")[2]).lower().partition(".")[0])
    first, name = words[0] if words else "\n", re.compile(_GAP.join(words[:_MOST_NAME_WORDS]))
    lines = [line for line in text[:_MOST_TEXT].lower().split("\n") if line.strip()]
    return [
        _Line(plain := _plain(line), _plain(_marked(name, line)) if first in line else plain)
        for line in lines
    ]


def _marked(name: re.Pattern[str], line: str) -> str:
    return _MARKED.sub(lambda run: _MARK if _MARK in run[0] else run[0], name.sub(_MARK, line))


def _plain(line: str) -> str:
    return " ".join(_DIGITS.sub("0", line).split())


def _words(lines: Iterable[str]) -> int:
    """Return the number of words that are neither a mark nor a number."""
    words = (word for line in lines for word in line.split() if word not in (_MARK, "0"))
    return sum(1 + len(re.findall(_UNSPACED, word)) // 2 for word in words)
