"""Parser for HTML pages: from a response to a parsed page.

Any bytes and headers can be parsed. A link is a canonical URL of another page, comes once, and may
be followed by robots. Links of a page to itself are reported separately. A reference to a place on
the page, such as `#top`, is not a link.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web.encoding.detection import UTF_16_US, decode
from minicrawl.web.encoding.labels import UTF_8, UTF_16
from minicrawl.web.html.hashes import TextHashes, content_hash, text_hashes, title_bit
from minicrawl.web.html.page_numbers import Numbers, page_numbers
from minicrawl.web.html.scanner import AT_ONCE_S, MOST_LINKS, Markup, meta_refresh, scan
from minicrawl.web.html.scripts import scripting
from minicrawl.web.html.thin import is_thin
from minicrawl.web.responses.headers import link_canonical, parse_content_type, parse_robots_tag
from minicrawl.web.responses.types import HTML_TYPES
from minicrawl.web.urls import (
    LONGEST,
    MOST_CHARS,
    ResolvedUrl,
    canonical,
    resolve,
    resolve_links_at,
)
from minicrawl.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Content to extract from a page, and the name of the crawler."""

    agent: str = "minicrawl"
    max_links: int = MOST_LINKS
    with_words: bool = False
    with_written: bool = False
    strip_marks: bool = True
    types: frozenset[str] = HTML_TYPES  # media types of alternates that are read
    with_sitemaps: bool = False
    with_text: bool = False  # for documents whose text only their parser can extract
    with_scripting: bool = False


DEFAULT_OPTIONS = ParseOptions()
_GUESS_US, _SCRIPTS_US = 3000.0, 0.1
"""Extra cost of a page that is not UTF-8; cost per character of looking for scripts."""


def parse_page(
    body: bytes,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions = DEFAULT_OPTIONS,
    *,
    suspicious: int = 0,
    content: int | None = None,
    most_us: float = inf,
) -> ParsedPage:
    """Parse the page at a canonical `url`; raise `TooExpensive` above `most_us` of work.

    Header names are in lower case. `content` is the hash of the body, if known.
    """
    essence, charset = parse_content_type(headers.get("content-type"))
    text, encoding = decode(body, charset, most_us)
    if encoding != UTF_8:
        most_us -= UTF_16_US * len(body) if encoding in UTF_16 else _GUESS_US
    # In the bytes, to search takes a tenth of the time that it takes in the text.
    markup = scan(
        text.replace("\0", "\N{REPLACEMENT CHARACTER}") if b"\0" in body else text,
        agent=options.agent,
        max_links=options.max_links,
        with_words=options.with_words,
        with_anchors=options.with_written,
        xhtml=essence == "application/xhtml+xml",
        types=options.types,
        with_sitemaps=options.with_sitemaps,
        most_us=most_us - _SCRIPTS_US * len(text) * options.with_scripting,
    )
    if encoding != UTF_8:
        markup = markup.in_encoding(encoding)
    facts = BodyFacts(
        content=content_hash(body) if content is None else content,
        encoding=encoding,
        is_thin=is_thin(text, markup.title),
    )
    if suspicious & title_bit(markup.title):
        numbers = page_numbers(text, url, headers.get("date", ""))
        facts = facts._replace(hashes=text_hashes(body), numbers=numbers)
    page = page_of(markup, facts, url, headers, options)
    if not options.with_scripting:
        return page
    return page._replace(scripting=scripting(text, len(page.links), is_thin=facts.is_thin))


class BodyFacts(NamedTuple):
    """Facts about a document that come from its body, not from its tags."""

    content: int
    encoding: str = "utf-8"
    is_thin: bool = False
    hashes: TextHashes = TextHashes()
    numbers: Numbers = ()


def page_of(
    markup: Markup,
    facts: BodyFacts,
    url: str,
    headers: Mapping[str, str],
    options: ParseOptions,
) -> ParsedPage:
    """Return the page described by its markup, its bytes and its headers."""
    robots = markup.robots
    if header := headers.get("x-robots-tag"):
        # The stricter of both counts, as for search engines.
        robots = robots.combined_with(parse_robots_tag(header, options.agent))
    resolver = _UrlResolver(markup, url, options)
    header = headers.get("refresh")
    sent = _header_refresh(header, url, options) if header else _NO_REFRESH
    found = _NO_LINKS if robots.nofollow else resolver.links(sent.link)
    links = found.links
    main = resolver.other_page(markup.canonical or link_canonical(headers.get("link")))
    refresh = sent.target or resolver.other_page(markup.refresh)
    resolved = chain(links.items(), filter(None, (main, refresh)))
    return ParsedPage(
        title=markup.title,
        links=tuple(links),
        words=found.words,
        written=resolver.written(links) if options.with_written else (),
        canonical=main and main.url,
        refresh=refresh and refresh.url,
        originals=tuple([(url, original) for url, original in resolved if original]),
        noindex=robots.noindex,
        encoding=facts.encoding,
        cut=_why_cut(markup, links, options),
        content=facts.content,
        text=facts.hashes.text,
        gist=facts.hashes.gist,
        numbers=facts.numbers,
        is_thin=facts.is_thin,
        self_link=found.self_link,
    )


class _HeaderRefresh(NamedTuple):
    """Target of a Refresh header if it is immediate, or a link if it is delayed."""

    target: ResolvedUrl | None = None
    link: ResolvedUrl | None = None


_NO_REFRESH = _HeaderRefresh()


def _header_refresh(value: str, own: str, options: ParseOptions) -> _HeaderRefresh:
    """Parse a Refresh header, whose URL is relative to that of the page, not to its base."""
    refresh = meta_refresh(value.strip())
    if refresh is None or not refresh.url:
        return _NO_REFRESH
    found = resolve(refresh.url, own, strip_marks=options.strip_marks)
    if found is None or found.url == own:
        return _NO_REFRESH
    is_at_once = refresh.delay_s <= AT_ONCE_S
    return _HeaderRefresh(found) if is_at_once else _HeaderRefresh(link=found)


def _why_cut(markup: Markup, links: Collection[str], options: ParseOptions) -> str:
    if markup.has_more_links:
        return f"cut at {counted(options.max_links, 'link')}"
    if sum(map(len, links)) > MOST_CHARS - LONGEST:
        return f"cut at {MOST_CHARS:,} characters of links"
    return ""


class _FoundLinks(NamedTuple):
    """Links of a page to others, each with its original or None; and the words of each."""

    links: dict[str, str | None]
    words: tuple[str, ...]
    self_link: bool


_NO_LINKS = _FoundLinks({}, (), self_link=False)


class _UrlResolver:
    """Resolves the URLs of a page."""

    def __init__(self, markup: Markup, own: str, options: ParseOptions) -> None:
        self._hrefs, self._anchors = markup.links, markup.anchors
        self._base = (markup.base and canonical(markup.base, own)) or own
        self._own = own
        self._with_words, self._strip_marks = options.with_words, options.strip_marks

    def links(self, last: ResolvedUrl | None) -> _FoundLinks:
        """Return the links, with `last` appended."""
        stays = "#" if self._base == self._own else None
        hrefs = [href for href in self._hrefs if href != stays]
        if self._with_words:
            links, words = self._links_with_words(hrefs)
        else:
            links, words = resolve_links_at(hrefs, self._base, strip_marks=self._strip_marks), {}
        self_link = self._own in links
        links.pop(self._own, None)
        if last:
            links.setdefault(last.url, last.original)
        told = tuple([words.get(url, "") for url in links]) if self._with_words else ()
        return _FoundLinks(links, told, self_link)

    def written(self, links: Collection[str]) -> tuple[str, ...]:
        """Return the short entry of each link (see `references`), in order."""
        from minicrawl.web.html.written_links import entries  # deferred: most crawls keep none

        marks = self._strip_marks
        return entries(self._anchors, links, self._own, self._base, strip_marks=marks)

    def other_page(self, href: str | None) -> ResolvedUrl | None:
        """Return the URL of a reference, if it is another page."""
        found = resolve(href, self._base, strip_marks=self._strip_marks) if href else None
        return None if found is None or found.url == self._own else found

    def _links_with_words(
        self, hrefs: Iterable[str]
    ) -> tuple[dict[str, str | None], dict[str, str]]:
        links: dict[str, str | None] = {}
        words: dict[str, str] = {}
        room = MOST_CHARS
        for href in hrefs:
            found = resolve(href, self._base, strip_marks=self._strip_marks)
            if found and found.url not in links:
                room -= len(found.url)
                if room < 0:
                    break
                links[found.url], words[found.url] = found.original, self._hrefs[href]
        return links, words
