"""The title of a feed. Its links are read as those of a sitemap are, by `sitemaps.sitemap`."""

import re

from minicrawl.web.documents.writing import tidy
from minicrawl.web.html.encoding import codec, sniff
from minicrawl.web.html.tokens import unescaped
from minicrawl.web.sitemaps import json_feed

_READ = 20_000
_LONGEST = 4_000
_FIRST_ENTRY = re.compile(rb"<(?:[^\s<>/:]++:)?+(?:item|entry)[\s/>]")
_TITLE = re.compile(
    rb"<(?:[^\s<>/:]++:)?+title(?:\s[^<>]*+)?>\s*+"
    rb"(?:<!\[CDATA\[((?:[^\]]|\](?!\]>)){0,%d}+)|([^<]{0,%d}+))" % (_LONGEST, _LONGEST)
)


def title_of(body: bytes) -> str:
    """The title of the feed itself, which comes before its entries."""
    if body.lstrip()[:1] == b"{":
        return tidy(json_feed.read(body.decode(errors="replace"), 1).title[:_LONGEST])
    head = body[:_READ]
    entry = _FIRST_ENTRY.search(head)
    found = _TITLE.search(head, 0, entry.start() if entry else _READ)
    if found is None:
        return ""
    section, text = found.groups()
    encoding = codec(sniff(body) or "utf-8")
    if section is not None:
        return tidy(section.decode(encoding, "replace"))
    return tidy(unescaped(text.decode(encoding, "replace")))
