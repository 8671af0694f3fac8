"""Hints in the markup of an element that say what it is for: its tag, role, class and id.

A class such as `post-sidebar` is split into words, and `sidebar` is a hint of a frame. A lower hint
is a surer sign of one:

    main          the page names it as its main text
    none
    teaser        a frame if it has links, otherwise perhaps the lead
    frame name    a word of its class or id
    frame tag     `nav`, `footer` and the like, or a role

Names are cut off, so a page cannot make them expensive.

frame   part with navigation, advertisements, comments and the like
"""

from __future__ import annotations

import re
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


HEADINGS = words("h1 h2 h3 h4 h5 h6")
_FRAMES = words("aside dialog figcaption footer form menu nav")
_ROLES = words("alert banner complementary contentinfo dialog menu menubar navigation search")
_NEVER_FRAMES = HEADINGS | words("article body dd dt main pre tbody td th tr")
_FRAME_WORDS = words(
    "ad addthis addtoany ads adsense adv advert advertisement advertising advertorial affiliate "
    "anzeige author authorbox authors bio breadcrumb breadcrumbs brotkrumen byline callout caption "
    "captions comment commentform commentlist comments consent cookie cookies copyright credit "
    "credits crumb crumbs crumbtrail disclaimer disclosure disqus dropdown factbox feedback "
    "figcaption foot footer gdpr imagecaption infobox kommentar kommentare legal legend "
    "login masthead meta metadata modal nav navbar navi navigation newsletter "
    "outbrain pagenav pager pagination paging popular popup postmeta postmetadata privacy promo "
    "promotion rating ratings recommend recommendations recommended related relatedposts replies "
    "reply respond search share sharedaddy shares shariff sharing sidebar sidebars signup similar "
    "sitemap skip skyscraper social socials sponsor sponsored submenu subscribe subscription "
    "taboola tag toolbar topbar trackback trackbacks tracking trending werbung widget widgets"
)
_TEASER_WORDS = words("banner banners more tags teaser teasers tools")
"""Hints of a frame if the element has links; without, it may be the lead."""
_NOT_OF_FRAMES = re.compile(
    r"\b(?:cat|category|has|hentry|is|lang|language|layout|no|not|page|tag|with|without)[-_][\w-]+"
)
"""Names whose words do not make a frame, such as `has-sidebar` and `category-search`."""
_LINE_NUMBERS = words("gutter lineno linenos line-numbers")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAIN_NAME = re.compile(
    r"(?i)\b(?:article|blog|body|entry|main|news|page|post|single|story|text)[-_]*"
    r"(?:article|body|content|copy|inner|main|text)\b|\bmw-parser-output\b|\be-content\b"
)
_UNSEEN_STYLE = re.compile(r"(?i)(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_MAY_HIDE = words("aria-hidden hidden style")
_DIGITS = re.compile(r"\d+")
_LONGEST_NAME = 250

NAMED_MAIN, NONE, TEASER, FRAME_NAME, FRAME_TAG = 1, 0, -1, -2, -3


def signs(tag: str, attributes: dict[str, str | None]) -> tuple[int, str]:
    """Return the hint of an element, and the names that are part of its place."""
    if not attributes:
        return (FRAME_TAG if tag in _FRAMES else NONE), ""
    class_, id_ = attributes.get("class"), attributes.get("id")
    hint, names = _signs_of_names(
        tag, class_ and class_[:_LONGEST_NAME], id_ and id_[:_LONGEST_NAME]
    )
    if tag in _FRAMES or attributes.get("role") in _ROLES:
        hint = FRAME_TAG
    elif attributes.get("itemprop") == "articleBody":
        hint = NAMED_MAIN
    return hint, names


@lru_cache(1 << 13)
def _signs_of_names(tag: str, class_: str | None, id_: str | None) -> tuple[int, str]:
    """Return the hint in a class and an id, and both without their numbers.

    Most pages of a site have the same. They number them, too: post-17, post-18.
    """
    names = class_ or ""
    if tag != "section" and "section" not in names:  # ids of sections are made from headings
        names = f"{names} {id_ or ''}"
    return _hint_of(tag, names), _DIGITS.sub("", f"{class_} {id_}"[:_LONGEST_NAME])


def _hint_of(tag: str, names: str) -> int:
    if tag not in _NEVER_FRAMES:
        found = {word.lower() for word in _WORDS.findall(_NOT_OF_FRAMES.sub("", names))}
        if found & _FRAME_WORDS:
            return FRAME_NAME
        if found & _TEASER_WORDS:
            return TEASER
    return NAMED_MAIN if _MAIN_NAME.search(names) else NONE


def is_unseen(attributes: dict[str, str | None]) -> bool:
    """Return True if people do not see the element, or do not read it as text."""
    if attributes.get("class") in _LINE_NUMBERS:
        return True
    if _MAY_HIDE.isdisjoint(attributes):
        return False
    style = (attributes.get("style") or "")[:_LONGEST_NAME]
    is_hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return is_hidden or bool(_UNSEEN_STYLE.search(style))
