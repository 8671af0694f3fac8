"""Parser for HTML pages: from a response to a parsed page.

Any bytes and headers can be parsed. A link is a canonical URL of another page, comes once, and may
be followed by robots. Links of a page to itself are reported separately. A reference to a place on
the page, such as `#top`, is not a link.
"""

from collections.abc import Mapping
from itertools import chain
from math import inf
from typing import NamedTuple

from minicrawl.model import ParsedPage
from minicrawl.web.encoding.detection import UTF_16_US, decode
from minicrawl.web.encoding.labels import UTF_8, UTF_16
from minicrawl.web.html.hashes import TextHashes, content_hash, text_hashes, title_bit
from minicrawl.web.html.page_numbers import Numbers, page_numbers
from minicrawl.web.html.scanner import (
    AT_ONCE_S,
    DEFAULT_OPTIONS,
    Markup,
    ParseOptions,
    meta_refresh,
    scan,
)
from minicrawl.web.html.scripts import scripting
from minicrawl.web.html.thin import is_thin
from minicrawl.web.responses.headers import link_canonical, parse_content_type, parse_robots_tag
from minicrawl.web.urls import (
    LONGEST,
    MOST_CHARS,
    ResolvedUrl,
    canonical,
    resolve,
    resolve_links_at,
)
from minicrawl.wording import counted

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
        options,
        xhtml=essence == "application/xhtml+xml",
        most_us=most_us - _SCRIPTS_US * len(text) * options.with_scripting,
    )
    if encoding != UTF_8:
        markup = markup.in_encoding(encoding)
    facts = BodyFacts(
        content=content_hash(body) if content is None else content,
        encoding=encoding,
        is_thin=is_thin(text, markup.title),
    )
    if suspicious and suspicious & title_bit(markup.title):
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
    base = (markup.base and canonical(markup.base, url)) or url

    def other_page(href: str | None, base: str) -> ResolvedUrl | None:
        page = resolve(href, base, strip_marks=options.strip_marks) if href else None
        return None if page is None or page.url == url else page

    header = headers.get("refresh")
    delay_s, sent = (meta_refresh(header.strip()) if header else None) or (0, "")
    is_at_once = delay_s <= AT_ONCE_S
    target = other_page(sent, url)  # relative to the page, not to its base
    links, words = ({}, {}) if robots.nofollow else _links(markup, url, base, options)
    self_link = url in links
    links.pop(url, None)
    if target and not is_at_once and not robots.nofollow:
        links.setdefault(target.url, target.original)
    main = other_page(markup.canonical or link_canonical(headers.get("link")), base)
    refresh = (target if is_at_once else None) or other_page(markup.refresh, base)
    resolved = chain(links.items(), filter(None, (main, refresh)))
    cut = ""
    if markup.has_more_links:
        cut = f"cut at {counted(options.max_links, 'link')}"
    elif sum(map(len, links)) > MOST_CHARS - LONGEST:
        cut = f"cut at {MOST_CHARS:,} characters of links"
    written: tuple[str, ...] = ()
    if options.with_written:
        from minicrawl.web.html.written_links import entries  # deferred: most crawls keep none

        written = entries(markup.anchors, links, url, base, strip_marks=options.strip_marks)
    return ParsedPage(
        title=markup.title,
        links=tuple(links),
        words=tuple([words.get(link, "") for link in links]) if options.with_words else (),
        written=written,
        canonical=main and main.url,
        refresh=refresh and refresh.url,
        originals=tuple([(page, original) for page, original in resolved if original]),
        noindex=robots.noindex,
        encoding=facts.encoding,
        cut=cut,
        content=facts.content,
        text=facts.hashes.text,
        template=facts.hashes.template,
        numbers=facts.numbers,
        is_thin=facts.is_thin,
        self_link=self_link,
    )


def _links(
    markup: Markup, url: str, base: str, options: ParseOptions
) -> tuple[dict[str, str | None], dict[str, str]]:
    """Return the links, each with its original or None; and the words of each, on request."""
    stays = "#" if base == url else None
    hrefs = [href for href in markup.links if href != stays]
    if not options.with_words:
        return resolve_links_at(hrefs, base, strip_marks=options.strip_marks), {}
    links: dict[str, str | None] = {}
    words: dict[str, str] = {}
    room = MOST_CHARS
    for href in hrefs:
        page = resolve(href, base, strip_marks=options.strip_marks)
        if page and page.url not in links:
            room -= len(page.url)
            if room < 0:
                break
            links[page.url], words[page.url] = page.original, markup.links[href]
    return links, words
