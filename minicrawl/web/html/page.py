"""Reading: from what a server answered to what the page says.

Law: whatever the bytes and the headers, there is a reading. A link in it is canonical, another page
than this one, there once, and one that the page lets robots follow.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

from minicrawl.model import ParsedPage
from minicrawl.web import traps
from minicrawl.web.headers import link_canonical, parse_content_type, parse_robots_tag
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.markup import Markup, scan
from minicrawl.web.html.thin import is_thin
from minicrawl.web.urls import LONGEST, MOST_CHARS, ResolvedUrl, canonical, resolve, resolve_links


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """What is wanted of a page, and as whom we read it."""

    agent: str = "minicrawl"
    max_links: int = 10_000
    with_words: bool = False
    strip_marks: bool = True
    suspicious: int = 0


DEFAULT_OPTIONS = ParseOptions()


def parse_page(
    body: bytes, url: str, headers: Mapping[str, str], wishes: ParseOptions = DEFAULT_OPTIONS
) -> ParsedPage:
    """Read the page at `url`, which is canonical; the names of `headers` are in lower case."""
    essence, charset = parse_content_type(headers.get("content-type"))
    text, encoding = decode(body, charset)
    markup = scan(
        text,
        agent=wishes.agent,
        max_links=wishes.max_links,
        with_words=wishes.with_words,
        xhtml=essence == "application/xhtml+xml",
    )
    robots = markup.robots.and_also(parse_robots_tag(headers.get("x-robots-tag", ""), wishes.agent))
    said = _UrlResolver(markup, url, wishes)
    links, words = ({}, ()) if robots.nofollow else said.links()
    main = said.other_page(markup.canonical or link_canonical(headers.get("link")))
    refresh = said.other_page(markup.refresh)
    named = chain(links.items(), filter(None, (main, refresh)))
    is_suspicious = wishes.suspicious & traps.title_bit(markup.title)
    compared = traps.text_hashes(body) if is_suspicious else traps.TextHashes()
    return ParsedPage(
        title=markup.title,
        links=tuple(links),
        words=words,
        canonical=main and main.url,
        refresh=refresh and refresh.url,
        originals=tuple([(url, original) for url, original in named if original]),
        noindex=robots.noindex,
        encoding=encoding,
        cut=_why_cut(markup, links, wishes),
        content=int.from_bytes(blake2b(body, digest_size=8).digest(), "little", signed=True),
        text=compared.text,
        gist=compared.gist,
        is_thin=is_thin(text, markup.title),
    )


def _why_cut(markup: Markup, links: Collection[str], wishes: ParseOptions) -> str:
    if markup.has_more_links:
        return f"cut at {wishes.max_links:,} links (--max-links)"
    if sum(map(len, links)) > MOST_CHARS - LONGEST:
        return f"cut at {MOST_CHARS:,} characters of links"
    return ""


class _UrlResolver:
    """What a page says of others, by their names."""

    def __init__(self, markup: Markup, own: str, wishes: ParseOptions) -> None:
        self._hrefs = markup.links
        self._base = (markup.base and canonical(markup.base, own)) or own
        self._own = own
        self._with_words, self._strip_marks = wishes.with_words, wishes.strip_marks

    def links(self) -> tuple[dict[str, str | None], tuple[str, ...]]:
        """The originals of all links by their URLs, and the words of each."""
        if self._with_words:
            return self._links_with_words()
        links = resolve_links(self._hrefs, self._base, strip_marks=self._strip_marks)
        links.pop(self._own, None)
        return links, ()

    def other_page(self, href: str | None) -> ResolvedUrl | None:
        """What a link leads to that is another page."""
        found = resolve(href, self._base, strip_marks=self._strip_marks) if href else None
        return None if found is None or found.url == self._own else found

    def _links_with_words(self) -> tuple[dict[str, str | None], tuple[str, ...]]:
        links: dict[str, str | None] = {}
        words: list[str] = []
        room = MOST_CHARS
        for href, said in self._hrefs.items():
            found = self.other_page(href)
            if found and found.url not in links:
                room -= len(found.url)
                if room < 0:
                    break
                links[found.url] = found.original
                words.append(said)
        return links, tuple(words)
