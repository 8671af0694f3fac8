"""Reading: from what a server answered to what the page says.

Law: whatever the bytes and the headers, there is a reading. A link in it is canonical, another page
than this one, there once, and one that the page lets robots follow.
"""

from collections.abc import Mapping
from hashlib import blake2b

from minicrawl.model import Reading
from minicrawl.web.encoding import decode
from minicrawl.web.headers import link_canonical, media_type, robots_tag
from minicrawl.web.html import Markup, scan
from minicrawl.web.urls import canonical, canonical_links


def read(
    body: bytes,
    url: str,
    headers: Mapping[str, str],
    *,
    agent: str = "minicrawl",
    max_links: int = 10_000,
    with_words: bool = False,
) -> Reading:
    """Read the page at `url`, which is canonical; the names of `headers` are in lower case."""
    essence, charset = media_type(headers.get("content-type"))
    text, encoding = decode(body, charset)
    markup = scan(
        text,
        agent=agent,
        max_links=max_links,
        with_words=with_words,
        xhtml=essence == "application/xhtml+xml",
    )
    base = (markup.base and canonical(markup.base, url)) or url
    robots = markup.robots.and_also(robots_tag(headers.get("x-robots-tag", ""), agent))
    links, words = ((), ()) if robots.nofollow else _links(markup, base, url, with_words)
    return Reading(
        title=markup.title,
        links=links,
        words=words,
        canonical=_other_page(markup.canonical or link_canonical(headers.get("link")), base, url),
        refresh=_other_page(markup.refresh, base, url),
        noindex=robots.noindex,
        encoding=encoding,
        cut=f"cut at {max_links:,} links (--max-links)" if markup.has_more_links else "",
        content=int.from_bytes(blake2b(body, digest_size=8).digest(), "little", signed=True),
    )


def _other_page(href: str | None, base: str, own: str) -> str | None:
    target = canonical(href, base) if href else None
    return None if target == own else target


def _links(
    markup: Markup, base: str, own: str, with_words: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not with_words:
        return tuple(url for url in canonical_links(markup.links, base) if url != own), ()
    words: dict[str, str] = {}
    for href, said in markup.links.items():
        if url := canonical(href, base):
            words.setdefault(url, said)
    words.pop(own, None)
    return tuple(words), tuple(words.values())
