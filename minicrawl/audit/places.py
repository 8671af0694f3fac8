"""The place of a fault: line and tag on the page, or what beside the page has it.

A fault with a target is where the page names the target, and a fault that was counted where it was
first. Another one is at the tag that its check is about, or where that tag is lacking.
"""

import re

from minicrawl.audit.facts.page_facts import HEADINGS
from minicrawl.audit.facts.page_faults import ERROR_MARKS, FAULTS, placed_faults, without_unseen
from minicrawl.web.html.attributes import unescaped
from minicrawl.web.urls import canonical

_LONGEST_TAG, _MOST_NAMED = 160, 20_000
_NAMES_URL = re.compile(
    r"""(?:\b(?:href|src|data|poster|action|content)\s*+=|srcset\s*+=|url\(|,)\s*+["']?\s*+"""
    r"""([^"'\s<>)]++)""",
    re.IGNORECASE,
)
_TAGS = (
    (r"title-|error-page", r"<title\b"),
    (r"directory-", r"index of /|directory listing"),
    (r"error-text|text-filler", "|".join(map(re.escape, ERROR_MARKS))),
    (r"description-", r"<meta\b[^>]*description"),
    *((f"{name}-", rf"<{name}\b") for name in HEADINGS),
    (r"image-without-alt", r"<img\b(?![^>]*\salt\b)"),
    (r"language-", r"<html\b"),
    (r"viewport-|zoom-", r"<meta\b[^>]*viewport"),
    (r"charset-", r"<meta\b[^>]*charset"),
    (r"structured-data-", r"<script\b[^>]*ld\+json"),
    (r"meta-refresh", r"<meta\b[^>]*refresh"),
    (r"noindex-meta|nofollow-page", r"<meta\b[^>]*\b(?:noindex|nofollow|none)\b"),
    (r"nofollow-links", r"<a\b[^>]*nofollow"),
    (r"canonical-", r"<link\b[^>]*canonical"),
    (r"hreflang-", r"<link\b[^>]*hreflang"),
    (r"pagination-", r"<link\b[^>]*\b(?:next|prev)\b"),
    (r"mixed-", r"<(?!a\b)[^>]*http://"),
    (r"form-|password-", r"<form\b"),
    (r"doctype-", r"<"),
    (r"title-|description-|viewport-|charset-missing", r"<head\b"),
    (rf"(?:{'|'.join(HEADINGS)})-|text-thin", r"<body\b"),
)
"""Tags that faults are about, by the beginnings of names of issues."""
_BESIDE = (
    (r"url-|page-on-http", "the address of the page"),
    (r"hsts-|csp-|cookie-|unc|noindex-header|charset-", "the headers of the answer"),
    (r"page-missing|page-as|server-|soft-|redirect-|slow", "the answer of the server"),
    (r"orphan|deep|link-single", "the links of other pages"),
    (r"sitemap-missing|sitemap-mistyped", "robots.txt"),
    (r"sitemap-", "the sitemap"),
    (r"", "the page"),
)
"""Places of faults that no tag has."""


def place_of(markup: str, url: str, issue: str, target: str, fact: str = "") -> str:
    """Return the line of a fault of a page, from 1, and the tag there; "" if it is nowhere in it.

    With a target, the place is where the page names it, if it does; else that of the fact.
    """
    at = _named_at(markup, url, target) if target else None
    if at is None and fact in FAULTS:
        places = placed_faults(without_unseen(markup), url)
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


def place_beside(issue: str) -> str:
    """Return what has a fault that is nowhere in the markup."""
    return next(place for names, place in _BESIDE if re.match(names, issue))


def _named_at(markup: str, url: str, target: str) -> int | None:
    """Return where the page names a URL, or the style that names it."""
    target, _, style = target.partition(" in ")
    reference = style or target
    page, _, name = reference.partition("#")
    for count, named in enumerate(_NAMES_URL.finditer(markup)):
        if count > _MOST_NAMED:
            break
        written, _, fragment = unescaped(named[1]).partition("#")
        if (not name or fragment == name) and (canonical(written, url) if written else url) == page:
            return named.start()
    return None
