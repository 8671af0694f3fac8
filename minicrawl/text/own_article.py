"""Finds the article that a page is about among several of them, by its title.

Below an article, many news sites add the next ones in full, or put another one first:

    title        "Rain in May - The Paper"
    article        h2 "Sun in April": another article
    article        h1 "Rain in May": the page's own
    article        h2 "Snow in March": another article

Posts of a forum are articles, too, but lack headings, or have the title in each of them.
"""

from __future__ import annotations

import re

from minicrawl.text.boxes import Box, preorder
from minicrawl.text.hints import HEADINGS, OWN

_SHORTEST_TITLE = 12
"""Letters of a heading that may be the title of an article, and no name of a section."""
_WORDS = re.compile(r"\w+")


def mark_own_article(boxes: list[Box], titles: list[str]) -> bool:
    """Mark the only article with a title of the page, if others have other headings.

    Return True if there is one.
    """
    articles, end = list[Box](), 0
    for at, box in enumerate(boxes):
        if box.tag == "article" and at >= end:
            articles.append(box)
            end = at + box.size
    if len(articles) <= 1:
        return False
    said = [_folded(title) for title in titles]
    own, foreign = list[Box](), 0
    for article in articles:
        headings = [_heading(box) for box in preorder(article) if box.tag in HEADINGS]
        if any(len(text) >= _SHORTEST_TITLE and _is_in(text, said) for text in headings):
            own.append(article)
        elif any(headings):
            foreign += 1
    if len(own) != 1 or not foreign:
        return False
    own[0].hint = OWN
    return True


def _heading(box: Box) -> str:
    return _folded(" ".join(run.text for run in preorder(box) if not run.tag))


def _folded(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))


def _is_in(text: str, titles: list[str]) -> bool:
    return any(f" {text} " in f" {title} " for title in titles)
