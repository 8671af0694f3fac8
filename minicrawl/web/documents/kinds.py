"""The types of documents that can be read, and how one is told.

Laws: the media type of a response decides, as far as it says anything; where it does not, the first
bytes do, and for text the ending of the URL. What is HTML by `headers.is_html` is HTML here, unless
it begins as a feed or a sitemap and these are wanted. The answer depends on nothing but the head,
the URL and the first `SNIFFED` bytes, so the process that fetches a body and the one that reads it
agree.

wanted     the types that are read, as bits
"""

import re
import zlib
from collections.abc import Iterable
from enum import IntFlag

from minicrawl.web.headers import HTML_TYPES, NO_TYPES, XML_TYPES, is_html, parse_content_type
from minicrawl.web.scope import NOT_HTML, may_be_html

SNIFFED = 1445
"""The first bytes that are looked at."""


class DocumentType(IntFlag):
    """What a document is."""

    HTML = 1  # XHTML, too
    PDF = 2
    TEXT = 4
    MARKDOWN = 8
    FEED = 16  # RSS, Atom and JSON Feed
    SITEMAP = 32  # and indexes of sitemaps


HTML, PDF, SITEMAP = int(DocumentType.HTML), int(DocumentType.PDF), int(DocumentType.SITEMAP)
"""As plain numbers, which travel between processes and are compared in a tenth of the time."""

ALL = int(sum(DocumentType))
FROM_SEEDS = int(DocumentType.FEED | DocumentType.SITEMAP)
"""What a page is read as that the user names, whatever other pages are read as."""

NO_TYPE = "no type"
"""What is said of a response without a media type."""

WORDS = {kind.name.lower(): kind for kind in DocumentType if kind.name}
"""The types by the names that users write."""


def types_of(names: Iterable[str]) -> int:
    """The types with these names, as bits."""
    return sum({int(WORDS[name]) for name in names})


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
    """What a response may be, by its head alone."""
    essence, _ = parse_content_type(content_type)
    found = next((types for names, types in _BY_MEDIA_TYPE if essence in names), DocumentType(0))
    if essence not in _MARKDOWN and not _ENDS_AS_MARKDOWN.search(url):
        found &= ~DocumentType.MARKDOWN
    return int(found)


def is_wanted(content_type: str | None, url: str, wanted: int) -> bool | None:
    """Whether a response is to be read. None: its first bytes are needed."""
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
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # the binary data bytes of MIME Sniffing
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
    """What a response is, if that is wanted."""
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
"""Of several types that a response may be the first one that it looks like."""


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
    """The beginning of a packed sitemap; other bytes as they are."""
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
    """The file extensions of what is not read."""
    return NOT_HTML.difference(*(_ENDINGS[kind] for kind in _ENDINGS if kind & wanted))


def may_be_wanted(url: str, wanted: int, endings: frozenset[str] = NOT_HTML) -> bool:
    """Whether the ending of a URL lets it be one of these types; `endings` are those that do not.

    For all endings that it does not know, the response decides.
    """
    if may_be_html(url, endings):
        return True
    return bool(wanted & SITEMAP and _PACKED_SITEMAP.match(url))


# ---------------------------------------------------------------- by a link to it


def media_types(wanted: int) -> frozenset[str]:
    """The types that `<link rel=alternate type=...>` may name for its target to be read."""
    named = {
        DocumentType.HTML: HTML_TYPES,
        DocumentType.PDF: _PDF,
        DocumentType.TEXT: _PLAIN,
        DocumentType.MARKDOWN: _MARKDOWN,
        DocumentType.FEED: _FEEDS,
    }
    return frozenset[str]().union(*(named[kind] for kind in named if kind & wanted))
