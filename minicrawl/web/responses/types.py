"""Types of documents that can be read, and their detection.

The media type of a response decides if it is specific enough; otherwise the first bytes decide,
and for text the extension of the URL. HTML by `is_html` is HTML here, unless it begins as a feed
or a sitemap and these are wanted. The answer depends on the head, the URL and the first `SNIFFED`
bytes alone, so the process that fetches a body and the one that parses it agree.

types      the types to be read, as bits
"""

import re
import zlib
from collections.abc import Iterable
from enum import IntFlag

from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.scope import NOT_HTML, may_be_html

SNIFFED = 1445
"""Length of the resource header in the MIME Sniffing standard, in bytes."""

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
XML_TYPES = frozenset({"text/xml", "application/xml"})
NO_TYPES = frozenset(
    {"", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"}
)

# The HTML patterns of the MIME Sniffing standard for an unknown type.
_LOOKS_LIKE_HTML = re.compile(
    rb"[\t\n\f\r ]*+<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b"
    rb"|body|br|p|!--)[ >]",
    re.IGNORECASE,
)
_BEFORE_ROOT = (
    rb"(?:\xef\xbb\xbf)?+(?:[\t\n\f\r ]++|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!doctype[^>\[]*+>)*+"
)
_LOOKS_LIKE_XHTML = re.compile(_BEFORE_ROOT + rb"<html[\t\n\f\r >]", re.IGNORECASE)


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


class DocumentType(IntFlag):
    HTML = 1  # XHTML, too
    PDF = 2
    TEXT = 4
    MARKDOWN = 8
    FEED = 16  # RSS, Atom and JSON Feed
    SITEMAP = 32  # and indexes of sitemaps
    OFFICE = 64  # docx, pptx, odt, odp, epub


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


_PDF = frozenset(("application/pdf", "application/x-pdf"))
_OFFICE = frozenset(
    (
        "application/epub+zip",
        *(f"application/vnd.oasis.opendocument.{kind}" for kind in ("text", "presentation")),
        *(
            f"application/vnd.openxmlformats-officedocument.{kind}"
            for kind in ("wordprocessingml.document", "presentationml.presentation")
        ),
    )
)
_OFFICE_ENDINGS = frozenset(("docx", "pptx", "odt", "odp", "epub"))
_ZIP = frozenset(("application/zip", "application/x-zip-compressed"))
_FEEDS = frozenset(
    (
        *("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
        "application/feed+json",
    )
)
_MARKDOWN = frozenset(("text/markdown", "text/x-markdown"))
_PLAIN = frozenset(("text/plain",))
_PACKED = frozenset(("application/gzip", "application/x-gzip"))
_ENDS_AS_OFFICE = re.compile(rf"\.(?:{'|'.join(sorted(_OFFICE_ENDINGS))})(?:\?|\Z)", re.IGNORECASE)
_ENDS_AS_MARKDOWN = re.compile(r"\.(?:md|mkd|markdown)(?:\?|\Z)", re.IGNORECASE)
_UNDECIDED_XML = DocumentType.HTML | DocumentType.FEED | DocumentType.SITEMAP

_BY_MEDIA_TYPE: tuple[tuple[frozenset[str], DocumentType], ...] = (
    (HTML_TYPES, _UNDECIDED_XML),
    (XML_TYPES, _UNDECIDED_XML),
    (_PDF, DocumentType.PDF),
    (_OFFICE | _ZIP, DocumentType.OFFICE),
    (_FEEDS | {"application/json"}, DocumentType.FEED),
    (_MARKDOWN, DocumentType.MARKDOWN),
    (_PLAIN, DocumentType.TEXT | DocumentType.MARKDOWN | DocumentType.SITEMAP),
    (_PACKED, DocumentType.SITEMAP),
    (
        NO_TYPES,
        _UNDECIDED_XML | DocumentType.PDF | DocumentType.OFFICE | DocumentType.MARKDOWN,
    ),
)


def possible(content_type: str | None, url: str) -> int:
    """Return the types that a response may have, by its head alone."""
    essence, _ = parse_content_type(content_type)
    kinds = next((types for names, types in _BY_MEDIA_TYPE if essence in names), DocumentType(0))
    if essence not in _MARKDOWN and not _ENDS_AS_MARKDOWN.search(url):
        kinds &= ~DocumentType.MARKDOWN
    if essence not in _OFFICE and not _ENDS_AS_OFFICE.search(url):
        kinds &= ~DocumentType.OFFICE
    return int(kinds)


def is_wanted(content_type: str | None, url: str, types: int) -> bool | None:
    """Return whether a response is to be read; None if its first bytes are needed."""
    if types == HTML:
        return is_html(content_type, b"")
    if not (left := possible(content_type, url) & types):
        return False
    essence, _ = parse_content_type(content_type)
    if essence in HTML_TYPES:
        return True if left & HTML else None
    return True if essence in _CERTAIN else None


_CERTAIN = _PDF | _OFFICE | _FEEDS | _MARKDOWN

_PDF_BEGINS, _ZIP_BEGINS = b"%PDF-", b"PK\x03\x04"
GZIP_BEGINS = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # the "binary data bytes" of MIME Sniffing
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
    content_type: str | None, url: str, first_bytes: bytes, types: int
) -> DocumentType | None:
    """Return the type of a response, or None if that is not wanted."""
    if types == HTML:
        return DocumentType.HTML if is_html(content_type, first_bytes) else None
    essence, _ = parse_content_type(content_type)
    left, start = possible(content_type, url) & types, _unpacked(first_bytes[:SNIFFED])
    for kind in _IN_DOUBT:
        if left & kind and _is(kind, content_type, essence, start):
            return kind
    return None


_IN_DOUBT = (
    DocumentType.SITEMAP,
    DocumentType.FEED,
    DocumentType.HTML,
    DocumentType.PDF,
    DocumentType.OFFICE,
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
        case DocumentType.OFFICE:
            return essence in _OFFICE or start.startswith(_ZIP_BEGINS)
    return not _BINARY.search(start)


def _unpacked(start: bytes) -> bytes:
    """Return the beginning of a gzipped sitemap unpacked; other bytes unchanged."""
    if not start.startswith(GZIP_BEGINS):
        return start
    try:
        return zlib.decompressobj(_GZIP_ONLY).decompress(start, SNIFFED)
    except zlib.error:
        return start


_ENDINGS = {
    DocumentType.PDF: {"pdf"},
    DocumentType.OFFICE: _OFFICE_ENDINGS,
    DocumentType.FEED: {"rss", "atom"},
}
_PACKED_SITEMAP = re.compile(r"[^?]*\.(?:xml|txt)\.gz(?:\?|\Z)", re.IGNORECASE)


def unwanted_endings(types: int) -> frozenset[str]:
    """Return the file extensions of types that are not read."""
    return NOT_HTML.difference(*(_ENDINGS[kind] for kind in _ENDINGS if kind & types))


def may_be_wanted(url: str, types: int, endings: frozenset[str] = NOT_HTML) -> bool:
    """Return True if the extension of a URL may be of a wanted type; `endings` are excluded.

    For unknown extensions the response decides.
    """
    if may_be_html(url, endings):
        return True
    return bool(types & SITEMAP and _PACKED_SITEMAP.match(url))


def media_types(types: int) -> frozenset[str]:
    """Return the types that `<link rel=alternate type=...>` may name for its target to be read."""
    named = {
        DocumentType.HTML: HTML_TYPES,
        DocumentType.PDF: _PDF,
        DocumentType.OFFICE: _OFFICE,
        DocumentType.TEXT: _PLAIN,
        DocumentType.MARKDOWN: _MARKDOWN,
        DocumentType.FEED: _FEEDS,
    }
    return frozenset[str]().union(*(named[kind] for kind in named if kind & types))
