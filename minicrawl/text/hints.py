"""Hints in the markup of an element that say what it is for: its tag, role, class and id.

A class such as `post-sidebar` is split into words, and `sidebar` is a hint of a frame. A lower hint
is a surer sign of one:

    title         a heading above the main box, which Markdown begins with
    own           an article that has the title of the page
    main          the page names it as its main text
    none
    reviews       a frame on the page of a product
    teaser        a frame if it has links, otherwise perhaps the lead
    frame name    a word of its class or id
    sure name     a word that means a frame on every kind of page
    frame tag     `nav`, `footer` and the like, or a role
    never main    a dialog or cookie notice, which may have most of a page's text

Names are cut off, so a page cannot make them expensive.

frame   part with navigation, advertisements, comments and the like
"""

import re
from functools import lru_cache
from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


HEADINGS = words("h1 h2 h3 h4 h5 h6")
_FRAMES = words("aside figcaption footer form menu nav")
_ROLES = words("alert banner complementary contentinfo menu menubar navigation search")
_NOTES = re.compile("footnote|endnote")
"""Classes of notes, which Sphinx writes as `aside`."""
_NEVER_FRAMES = HEADINGS | words("article body dd dt main pre tbody td th tr")
_SURE_WORDS = words(
    "adsense advert advertisement advertising breadcrumb breadcrumbs "
    "copyright crumb crumbs disclaimer disqus dropdown foot footer legal login masthead "
    "modal nav navbar navi navigation newsletter outbrain pager pagination popular popup privacy "
    "promo recommend recommended related relatedposts search share shares sharing sidebar sidebars "
    "signup similar sitemap social socials sponsor sponsored submenu subscribe subscription "
    "taboola toolbar topbar trending widget widgets"
)
"""Hints of a frame on every kind of page; the others may mean text in a shop or on a start page."""
_FRAME_WORDS = words(
    "addthis addtoany advertorial affiliate anzeige author authorbox bio brotkrumen byline "
    "caption captions comment commentform commentlist comments credit credits crumbtrail "
    "factbox feedback figcaption imagecaption infobox kommentar kommentare legend meta metadata "
    "pagenav paging postmeta postmetadata promotion rating ratings recommendations replies reply "
    "respond signature sharedaddy shariff skyscraper tag trackback trackbacks werbung"
)
_TEASER_WORDS = words("banner banners more tags teaser teasers tools")
"""Hints of a frame if the element has links; without, it may be the lead."""
_NOT_OF_FRAMES = re.compile(
    r"\belementor[-_]widget"
    r"|\b(?:cat|category|has|hentry|is|lang|language|layout|no|not|page|tag|with|without)[-_][\w-]+"
)
"""Names whose words do not make a frame, such as `has-sidebar` and `category-search`."""
_WORDS_OF_OPENED = words(
    "accordion answer answers collapse collapsed collapsible content description details expand "
    "expandable expander faq pane panel readmore slide specs spoiler tab tabpanel tabs toggle"
)
"""Hints of what is hidden until people open it: answers, tabs."""
NAME_OF_POST = re.compile(
    r"(?i)post(?!-?card)|message|comment|discussion|repl(?:y|ies)|answer|thread"
)
_FOOTER = re.compile(r"(?i)(?<!\S)(?:(?:global|main|page|site)[-_]?)?footer(?!\S)")
"""Name of the footer of a page; others that contain the word may mean a page that has one."""
_LINE_NUMBERS = words("gutter lineno linenos line-numbers")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAIN_NAME = re.compile(
    r"(?i)\b(?:article|blog|body|entry|main|news|page|post|single|story|text)[-_]*"
    r"(?:article|body|content|copy|inner|main|text)\b|\bmw-parser-output\b|\be-content\b"
)
_UNSEEN_STYLE = re.compile(r"(?i)(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_DOUBLED = re.compile(r"(?:^|\s)(?:a11y-hidden|katex-html|sr-only|visually-?hidden)(?:\s|$)")
"""Classes of labels for screen readers, and of what KaTeX shows of a formula, which it has as TeX.
WordPress's labels say which of two prices is valid, and stay.
"""
_DIGITS = re.compile(r"\d+")
_LONGEST_NAME = 250

TITLE, OWN, NAMED_MAIN, NONE = 3, 2, 1, 0
REVIEWS, TEASER, FRAME_NAME, SURE_NAME, FRAME_TAG, NEVER_MAIN = range(-1, -7, -1)
_OF_WORDS = (
    (NEVER_MAIN, words("consent cookie cookies gdpr")),
    (SURE_NAME, _SURE_WORDS),
    (FRAME_NAME, _FRAME_WORDS),
    (TEASER, _TEASER_WORDS),
    (REVIEWS, words("faq faqs review reviews upsell upsells")),
)


class Signs(NamedTuple):
    """Hints of the attributes of an element; names have no numbers, as in post-17, post-18."""

    hint: int
    class_: str = ""
    id_: str = ""
    kind: str = ""
    """Class that posts of a thread have in common, whatever else each of them has."""


def signs(tag: str, attributes: dict[str, str | None]) -> Signs:
    """Return what an element is for, and the names that are part of its place."""
    if not attributes:
        return Signs(FRAME_TAG if tag in _FRAMES else NONE)
    class_, id_ = attributes.get("class") or "", attributes.get("id") or ""
    of_names = _signs_of_names(tag, class_[:_LONGEST_NAME], id_[:_LONGEST_NAME])
    role, is_notes = attributes.get("role"), tag == "aside" and _NOTES.search(class_)
    if tag == "dialog" or role == "dialog":
        return of_names._replace(hint=NEVER_MAIN)
    if (tag in _FRAMES and not is_notes) or role in _ROLES:
        return of_names._replace(hint=min(of_names.hint, FRAME_TAG))
    if attributes.get("itemprop") == "articleBody":
        return of_names._replace(hint=NAMED_MAIN)
    return of_names


@lru_cache(1 << 13)  # most pages of a site have the same names
def _signs_of_names(tag: str, class_: str, id_: str) -> Signs:
    names = class_
    if tag != "section" and "section" not in names:  # ids of sections are made from headings
        names = f"{names} {id_}"
    hint = NAMED_MAIN if _MAIN_NAME.search(names) else NONE
    if tag not in _NEVER_FRAMES:
        parts = {word.lower() for word in _WORDS.findall(_NOT_OF_FRAMES.sub("", names))}
        hint = next((sign for sign, known in _OF_WORDS if not parts.isdisjoint(known)), hint)
        hint = NEVER_MAIN if _FOOTER.search(names) else hint
    class_, id_ = _DIGITS.sub("", class_), _DIGITS.sub("", id_)
    first = class_.split(maxsplit=1)[:1]
    kind = first[0] if first and NAME_OF_POST.search(first[0]) else class_
    return Signs(hint, class_, id_, kind)


def is_doubled(attributes: dict[str, str | None]) -> bool:
    """Return True for what a page says twice: to screen readers ("Regular price"), or as TeX."""
    return _DOUBLED.search((attributes.get("class") or "")[:_LONGEST_NAME]) is not None


def is_unseen(attributes: dict[str, str | None]) -> bool:
    """Return True if people do not see the element, or do not read it as text."""
    if attributes.get("class") in _LINE_NUMBERS:
        return True
    style = (attributes.get("style") or "")[:_LONGEST_NAME]
    is_hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    if not (is_hidden or _UNSEEN_STYLE.search(style)):
        return False
    # A hidden element may be shown by a click.
    class_, id_ = ((attributes.get(name) or "")[:_LONGEST_NAME] for name in ("class", "id"))
    parts = map(str.lower, _WORDS.findall(f"{class_} {id_}"))
    return attributes.get("role") != "tabpanel" and _WORDS_OF_OPENED.isdisjoint(parts)
