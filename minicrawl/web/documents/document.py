"""Parse a document of any type: from a response to what it says, as a page says it.

Laws: any bytes and headers can be parsed. What a type does not have is empty. The rules of robots
in the headers and a canonical link in them hold for each type. A feed and a sitemap are read for
their links, and are no pages to be found themselves.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web.documents import pdf
from minicrawl.web.documents.feed import title_of
from minicrawl.web.documents.kinds import DocumentType, type_of
from minicrawl.web.documents.writing import Written, read_markdown, read_text
from minicrawl.web.headers import parse_content_type, parse_robots_tag
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.markup import Markup
from minicrawl.web.html.page import (
    DEFAULT_OPTIONS,
    BodyFacts,
    ParseOptions,
    content_hash,
    page_of,
    parse_page,
)
from minicrawl.web.html.thin import ENOUGH
from minicrawl.web.sitemaps import sitemap
from minicrawl.wording import counted

_LOOKED_AT = 20 * ENOUGH
"""Characters of a text in which it says enough not to be thin."""


class Received(NamedTuple):
    """A response, as far as it matters to its readers. Names of headers are in lower case."""

    body: bytes
    url: str
    headers: Mapping[str, str]
    options: ParseOptions = DEFAULT_OPTIONS
    suspicious: int = 0
    known_content: int | None = None
    most_us: float = inf  # of work on HTML

    @property
    def content(self) -> int:
        """The hash of the body."""
        return content_hash(self.body) if self.known_content is None else self.known_content


def parse_document(  # noqa: PLR0913  # the last ones are given by their names
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
    """Parse the document at a canonical `url`, which is one of these types. What is none of them
    says nothing. `content` is the hash of the body, if that is known. HTML raises `TooDear` if it
    is more than `most_us` of work.
    """
    kind = type_of(headers.get("content-type"), url, body, types)
    received = Received(body, url, headers, options, suspicious, content, most_us)
    if kind is None:
        return ParsedPage(content=received.content, is_thin=True)
    return READERS[kind](received)


def _read_html(received: Received) -> ParsedPage:
    body, url, headers, options, suspicious, content, most_us = received
    return parse_page(
        body, url, headers, options, suspicious=suspicious, content=content, most_us=most_us
    )


# ---------------------------------------------------------------- texts


def _read_text(received: Received) -> ParsedPage:
    return _read_writing(received, read_text)


def _read_markdown(received: Received) -> ParsedPage:
    return _read_writing(received, read_markdown)


def _read_writing(received: Received, read: Callable[[str], Written]) -> ParsedPage:
    text, encoding = decoded_text(received.body, received.headers.get("content-type"))
    found = read(text)
    facts = BodyFacts(received.content, encoding, is_thin=_is_thin(text))
    return _page_of(found.title, found.links.items(), facts, received)


def decoded_text(body: bytes, content_type: str | None) -> tuple[str, str]:
    """A text that is no markup, with one kind of line ends; and its encoding."""
    text, encoding = decode(body, parse_content_type(content_type)[1])
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _read_pdf(received: Received) -> ParsedPage:
    found = pdf.read(received.body)
    text = "\n".join(found.lines)
    facts = BodyFacts(received.content, is_thin=_is_thin(text))
    page = _page_of(found.title, ((link, "") for link in found.links), facts, received)
    cut = "; ".join(filter(None, (page.cut, found.limit)))
    return page._replace(cut=cut, extracted=text if received.options.with_text else "")


def _is_thin(text: str) -> bool:
    return len(" ".join(text[:_LOOKED_AT].split())) < ENOUGH


def _page_of(
    title: str, links: Iterable[tuple[str, str]], facts: BodyFacts, received: Received
) -> ParsedPage:
    """A page with these links, each with its words."""
    url, headers, options = received.url, received.headers, received.options
    markup, rest = Markup(title=title), iter(links)
    markup.links.update(islice(rest, options.max_links))
    markup.has_more_links = any(True for _ in rest)
    return page_of(markup, facts, url, headers, options)


# ---------------------------------------------------------------- lists of links


def _read_sitemap(received: Received) -> ParsedPage:
    """Its links are all that it lists: the limits are those of the protocol."""
    found, facts = _listed(received), _facts_of_a_list(received)
    page = page_of(Markup(), facts, received.url, received.headers, received.options)
    if is_closed(received):
        return page._replace(noindex=True, is_sitemap=True)
    links = dict.fromkeys((*found.sitemaps, *found.pages))
    links.pop(received.url, None)
    return page._replace(
        links=tuple(links),
        words=("",) * len(links) if received.options.with_words else (),
        originals=found.originals,
        noindex=True,
        cut=found.limit,
        is_sitemap=True,
        sitemaps=tuple([one for one in found.sitemaps if one in links]),
    )


def _read_feed(received: Received) -> ParsedPage:
    found, most = _listed(received), received.options.max_links
    pages = dict.fromkeys(() if is_closed(received) else found.pages[:most])
    pages.pop(received.url, None)
    markup = Markup(title=title_of(received.body))
    facts = _facts_of_a_list(received)
    page = page_of(markup, facts, received.url, received.headers, received.options)
    has_more = len(found.pages) > most
    return page._replace(
        links=tuple(pages),
        words=("",) * len(pages) if received.options.with_words else (),
        originals=found.originals,
        noindex=True,
        cut=f"cut at {counted(most, 'link')} (--max-links)" if has_more else found.limit,
    )


def _listed(received: Received) -> sitemap.Sitemap:
    marks = received.options.strip_marks
    return sitemap.parse(received.body, received.url, strip_marks=marks)


def _facts_of_a_list(received: Received) -> BodyFacts:
    """Two lists are no copies of each other because both are short."""
    return BodyFacts(received.content, is_thin=True)


def is_closed(received: Received) -> bool:
    """Whether the owner wants nobody to follow the links."""
    said = received.headers.get("x-robots-tag", "")
    return parse_robots_tag(said, received.options.agent).nofollow


READERS: dict[DocumentType, Callable[[Received], ParsedPage]] = {
    DocumentType.HTML: _read_html,
    DocumentType.PDF: _read_pdf,
    DocumentType.TEXT: _read_text,
    DocumentType.MARKDOWN: _read_markdown,
    DocumentType.FEED: _read_feed,
    DocumentType.SITEMAP: _read_sitemap,
}
