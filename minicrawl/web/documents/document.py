"""Parser for documents of any type: from a response to a parsed page.

Any bytes and headers can be parsed. Fields that a type does not have stay empty. Robots rules and
canonical links in the headers hold for every type. Feeds and sitemaps are read for their links, and
are never search results themselves.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from math import inf
from typing import NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web.documents.writing import Written, read_markdown, read_text, tidy
from minicrawl.web.encoding.detection import decode, sniff
from minicrawl.web.encoding.labels import codec
from minicrawl.web.html.attributes import unescaped
from minicrawl.web.html.hashes import content_hash
from minicrawl.web.html.page import BodyFacts, page_of, parse_page
from minicrawl.web.html.scanner import DEFAULT_OPTIONS, Markup, ParseOptions
from minicrawl.web.html.thin import ENOUGH
from minicrawl.web.responses.headers import parse_content_type, parse_robots_tag
from minicrawl.web.responses.types import DocumentType, type_of
from minicrawl.web.sitemaps import json_feed, sitemap
from minicrawl.wording import counted

_READ = 20_000
_LONGEST = 4_000
_FIRST_ENTRY = re.compile(rb"<(?:[^\s<>/:]++:)?+(?:item|entry)[\s/>]")
_TITLE = re.compile(
    rb"<(?:[^\s<>/:]++:)?+title(?:\s[^<>]*+)?>\s*+"
    rb"(?:<!\[CDATA\[((?:[^\]]|\](?!\]>)){0,%d}+)|([^<]{0,%d}+))" % (_LONGEST, _LONGEST)
)


def title_of(body: bytes) -> str:
    """Return the title of the feed itself, which comes before its entries."""
    if body.lstrip()[:1] == b"{":
        title, _ = json_feed.read_json_feed(body.decode(errors="replace"), 1)
        return tidy(title[:_LONGEST])
    head = body[:_READ]
    entry = _FIRST_ENTRY.search(head)
    element = _TITLE.search(head, 0, entry.start() if entry else _READ)
    if element is None:
        return ""
    section, text = element.groups()
    encoding = codec(sniff(body) or "utf-8")
    if section is not None:
        return tidy(section.decode(encoding, "replace"))
    return tidy(unescaped(text.decode(encoding, "replace")))


_LOOKED_AT = 20 * ENOUGH
"""Number of characters after which a text counts as thin if it has too little text by then."""


class Received(NamedTuple):
    """A response as the readers need it. Header names are in lower case."""

    body: bytes
    url: str
    headers: Mapping[str, str]
    options: ParseOptions
    content: int
    """Hash of the body."""


def parse_document(
    body: bytes,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions = DEFAULT_OPTIONS,
    *,
    types: int,
    suspicious: int = 0,
    content: int | None = None,
    most_us: float = inf,
) -> ParsedPage:
    """Parse the document at a canonical `url` as one of `types`; other types give an empty page.

    `content` is the hash of the body, if known. HTML raises `TooExpensive` if it takes more than
    `most_us` of work.
    """
    content = content_hash(body) if content is None else content
    kind = type_of(headers.get("content-type"), url, body, types)
    if kind is None:
        return ParsedPage(content=content, is_thin=True)
    if kind is DocumentType.HTML:
        return parse_page(
            body, url, headers, options, suspicious=suspicious, content=content, most_us=most_us
        )
    return READERS[kind](Received(body, url, headers, options, content))


def _read_writing(received: Received, read: Callable[[str], Written]) -> ParsedPage:
    text, encoding = decoded_text(received.body, received.headers.get("content-type"))
    writing = read(text)
    facts = BodyFacts(received.content, encoding, is_thin=_is_thin(text))
    return _page_of(writing.title, writing.links.items(), facts, received)


def decoded_text(body: bytes, content_type: str | None) -> tuple[str, str]:
    """Return a text without markup, with uniform line ends; and its encoding."""
    text, encoding = decode(body, parse_content_type(content_type)[1])
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _read_file(received: Received, kind: DocumentType) -> ParsedPage:
    read = reader_of(kind)
    assert read is not None
    file = read(received.body)
    text = "\n".join(file.lines)
    facts = BodyFacts(received.content, is_thin=_is_thin(text))
    page = _page_of(file.title, ((link, "") for link in file.links), facts, received)
    cut = "; ".join(filter(None, (page.cut, file.limit)))
    return page._replace(cut=cut, extracted=text if received.options.with_text else "")


def _is_thin(text: str) -> bool:
    return len(" ".join(text[:_LOOKED_AT].split())) < ENOUGH


def _page_of(
    title: str, links: Iterable[tuple[str, str]], facts: BodyFacts, received: Received
) -> ParsedPage:
    url, headers, options = received.url, received.headers, received.options
    markup, left = Markup(title=title), iter(links)
    markup.links.update(islice(left, options.max_links))
    markup.has_more_links = any(True for _ in left)
    return page_of(markup, facts, url, headers, options)


def _read_sitemap(received: Received) -> ParsedPage:
    """Return all links that the sitemap lists, within the limits of the protocol."""
    listed, facts = _listed(received), _facts_of_a_list(received)
    page = page_of(Markup(), facts, received.url, received.headers, received.options)
    if is_closed(received):
        return page._replace(noindex=True, is_sitemap=True)
    links = dict.fromkeys((*listed.sitemaps, *listed.pages))
    links.pop(received.url, None)
    return page._replace(
        links=tuple(links),
        words=("",) * len(links) if received.options.with_words else (),
        originals=listed.originals,
        noindex=True,
        cut=listed.limit,
        is_sitemap=True,
        sitemaps=tuple([url for url in listed.sitemaps if url in links]),
        changed=listed.changed,
    )


def _read_feed(received: Received) -> ParsedPage:
    listed, most = _listed(received), received.options.max_links
    pages = dict.fromkeys(() if is_closed(received) else listed.pages[:most])
    pages.pop(received.url, None)
    markup = Markup(title=title_of(received.body))
    facts = _facts_of_a_list(received)
    page = page_of(markup, facts, received.url, received.headers, received.options)
    has_more = len(listed.pages) > most
    return page._replace(
        links=tuple(pages),
        words=("",) * len(pages) if received.options.with_words else (),
        originals=listed.originals,
        noindex=True,
        changed=listed.changed,
        cut=f"cut at {counted(most, 'link')}" if has_more else listed.limit,
    )


def _listed(received: Received) -> sitemap.Sitemap:
    marks = received.options.strip_marks
    return sitemap.parse(received.body, received.url, strip_marks=marks)


def _facts_of_a_list(received: Received) -> BodyFacts:
    """Return facts with `is_thin`, so that two short lists are not taken for duplicates."""
    return BodyFacts(received.content, is_thin=True)


def is_closed(received: Received) -> bool:
    """Return True if the headers forbid crawlers to follow the links."""
    directives = received.headers.get("x-robots-tag", "")
    return parse_robots_tag(directives, received.options.agent).nofollow


READERS: dict[DocumentType, Callable[[Received], ParsedPage]] = {
    DocumentType.PDF: partial(_read_file, kind=DocumentType.PDF),
    DocumentType.OFFICE: partial(_read_file, kind=DocumentType.OFFICE),
    DocumentType.TEXT: partial(_read_writing, read=read_text),
    DocumentType.MARKDOWN: partial(_read_writing, read=read_markdown),
    DocumentType.FEED: _read_feed,
    DocumentType.SITEMAP: _read_sitemap,
}

MOST_CHARS = 5_000_000
"""Characters that are read of a file."""


class FileText(NamedTuple):
    """Title, links and text of a file."""

    title: str = ""
    links: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    limit: str = ""  # why content is missing


def reader_of(kind: DocumentType | None) -> Callable[[bytes], FileText] | None:
    """Return the reader of files of this type, or None if its documents are text."""
    match kind:
        case DocumentType.PDF:
            from minicrawl.web.documents.pdf import parse_pdf

            return parse_pdf
        case DocumentType.OFFICE:
            from minicrawl.web.documents.office import parse_office

            return parse_office
    return None
