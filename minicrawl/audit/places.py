"""The place of a fault on a page: line and tag.

A fault with a target is where the page names the target, and a fault that was counted where it was
first. Another one is at the tag that its check is about; one of the headers has no place.
"""

import re
from collections.abc import Iterator

from minicrawl.audit.page_faults import placed_faults, without_unseen
from minicrawl.web.html.attributes import unescaped
from minicrawl.web.urls import canonical

_LONGEST_TAG, _MOST_NAMED = 160, 20_000
_NAMES_URL = re.compile(
    r"""(?:\b(?:href|src|data|poster|action|content)\s*+=|srcset\s*+=|url\(|,)\s*+["']?\s*+"""
    r"""([^"'\s<>)]++)""",
    re.IGNORECASE,
)
_HEADING = re.compile(r"<h([1-6])\b", re.IGNORECASE)
_TAGS = (
    (r"title-|error-page", r"<title\b"),
    (r"description-", r"<meta\b[^>]*description"),
    (r"h1-", r"<h1\b"),
    (r"image-without-alt", r"<img\b(?![^>]*\salt\b)"),
    (r"language-", r"<html\b"),
    (r"viewport-|zoom-", r"<meta\b[^>]*viewport"),
    (r"charset-", r"<meta\b[^>]*charset"),
    (r"structured-data-", r"<script\b[^>]*ld\+json"),
    (r"meta-refresh", r"<meta\b[^>]*refresh"),
    (r"text-filler", r"lorem\s+ipsum"),
    (r"noindex-meta|nofollow-page", r"<meta\b[^>]*\b(?:noindex|nofollow|none)\b"),
    (r"nofollow-links", r"<a\b[^>]*nofollow"),
    (r"canonical-", r"<link\b[^>]*canonical"),
    (r"hreflang-", r"<link\b[^>]*hreflang"),
    (r"pagination-", r"<link\b[^>]*\b(?:next|prev)\b"),
    (r"mixed-", r"<(?!a\b)[^>]*http://"),
    (r"form-", r"<form\b"),
)


def place_of(markup: str, url: str, issue: str, target: str, fact: str = "") -> str:
    """Return the line of a fault of a page, from 1, and the tag there; "" if it is nowhere in it.

    With a target, the place is where the page names it, if it does; else that of the fact.
    """
    at = _named_at(markup, url, target) if target else None
    if at is None and fact:
        visible = without_unseen(markup)
        places = _skips(visible) if fact == "skips_heading" else placed_faults(visible, url)
        at = next((place for name, place in places if name == fact), None)
    if at is None:
        tags = [tag for names, tag in _TAGS if re.match(names, issue)]
        first = next(filter(None, (re.search(tag, markup, re.IGNORECASE) for tag in tags)), None)
        if first is None:
            return ""
        at = first.start()
    begin = max(markup.rfind("<", 0, at + 1), at - _LONGEST_TAG)
    end = markup.find(">", at)
    tag = " ".join(markup[begin : len(markup) if end < 0 else end + 1].split())
    shown = tag if len(tag) <= _LONGEST_TAG else f"{tag[: _LONGEST_TAG - 1]}…"
    return f"line {markup.count(chr(10), 0, at) + 1}: {shown}"


def _skips(visible: str) -> Iterator[tuple[str, int]]:
    level = 0
    for heading in _HEADING.finditer(visible):
        if int(heading[1]) > level + 1 > 1:
            yield "skips_heading", heading.start()
        level = int(heading[1])


def _named_at(markup: str, url: str, target: str) -> int | None:
    """Return where the page names a URL, or the style that names it."""
    target, _, style = target.partition(" in ")
    wanted = style or target
    page, _, name = wanted.partition("#")
    for count, named in enumerate(_NAMES_URL.finditer(markup)):
        if count > _MOST_NAMED:
            break
        written, _, fragment = unescaped(named[1]).partition("#")
        if (not name or fragment == name) and (canonical(written, url) if written else url) == page:
            return named.start()
    return None
