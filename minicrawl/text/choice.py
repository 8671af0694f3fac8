"""Chooses the main text of a page, by what is lost in the search for a main box.

Class names are heeded first, as they find most frames; if hardly any text is left, a name has
misled, as where all of a page is in `div class=related`, and the page is searched without them. Two
kinds of pages have no main box:

    index, shop, service   a short box, and twice its text outside: keeps all but the frames
    text of scripts        most text is in `noscript` or hidden: is read once more with that

A page that calls itself an article is not of the first kind. Of a page with a few lines, shares say
nothing.
"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import islice

from minicrawl.text.boxes import Box, parse, read, runs
from minicrawl.text.hints import FRAME_NAME, FRAME_TAG, NONE, REVIEWS, SURE_NAME, words
from minicrawl.text.main_box import (
    NO_PLACES,
    SitePlaces,
    drop_children,
    find_main,
    is_frame,
    is_never_main,
    known_box,
)
from minicrawl.text.own_article import mark_own_article
from minicrawl.text.posts import drop_shared, has_article, ignore_names, posts_of
from minicrawl.text.pruning import keep_main

_FEWEST = 140
"""Letters of a main text; a page that has fewer is an index, or its hints mislead."""
_SHORT_MAIN, _OF_WIDE = 1000, 0.5
"""Letters of a main text, and its share of all outside frames, that are too few for a main box."""
_OF_ALL = 0.3
"""Share of the text with unseen text below which that is the main text."""
_LITTLE = 600
"""Letters of a page below which shares say nothing."""
_OF_ROOT = 0.3
"""Share of a page from which on its `main` has all of its content."""
_MOST = 0.5
_MOST_PRODUCTS = 2
_PRODUCT_IN_JSON = re.compile(r'"@type"\s*+:\s*+\[?\s*+"Product(?:Group)?"')
_PRODUCT_IN_ITEMS = re.compile(r"""itemtype=["']https?://schema\.org/Product["']""")
_ROOT_IDS = words("content main main-content MainContent")


def main_boxes(markup: str, places: SitePlaces = NO_PLACES) -> list[Box]:
    """Return the boxes of a page; runs that are not of the main text are marked as dropped."""
    page = read(markup)
    is_article, is_product, titles = _is_article(markup), _is_product(markup), _titles(markup)

    def choose(boxes: list[Box]) -> int:
        has_own = mark_own_article(boxes, titles)
        for box in boxes if is_product else ():
            if box.hint == REVIEWS:
                box.hint = SURE_NAME
        return _choose(boxes, places, is_article=is_article or has_own)

    letters = choose(page.boxes)
    if letters < _OF_ALL * (letters + page.unseen):
        boxes = read(markup, with_unseen=True).boxes
        if _is_too_little(letters, choose(boxes), _OF_ALL):
            return boxes
    return page.boxes


def _is_article(markup: str) -> bool:
    """Return True if the page calls itself an article."""
    return "article" in _open_graph_type(markup)


def _is_product(markup: str) -> bool:
    """Return True if the page is about one product; lists name many."""
    kind = _open_graph_type(markup)
    if "product" in kind and "group" not in kind:
        return True
    in_json = sum(1 for _ in islice(_PRODUCT_IN_JSON.finditer(markup), _MOST_PRODUCTS + 1))
    in_items = sum(1 for _ in islice(_PRODUCT_IN_ITEMS.finditer(markup), 2))
    return 1 <= in_json <= _MOST_PRODUCTS or in_items == 1


def _titles(markup: str) -> list[str]:
    tree = parse(markup)
    title, said = tree.css_first("title"), tree.css_first('meta[property="og:title"]')
    return [
        "" if title is None else title.text(),
        "" if said is None else said.attributes.get("content") or "",
    ]


def _open_graph_type(markup: str) -> str:
    kind = parse(markup).css_first('meta[property="og:type"]')
    return "" if kind is None else (kind.attributes.get("content") or "").lower()


def _choose(boxes: list[Box], places: SitePlaces, *, is_article: bool) -> int:
    """Mark the runs that are not of the main text, and return the letters of the others."""
    posts = posts_of(boxes)
    if posts and has_article(boxes, posts):
        is_article = is_article or boxes[posts[0].start].hint == FRAME_NAME  # posts are comments
    elif posts and not is_article:
        ignore_names(boxes, posts)
    letters = _narrow_or_wide(boxes, places, is_article=is_article)
    if posts:
        drop_shared(boxes, posts)
        letters = _letters(boxes)
    return letters


def _narrow_or_wide(boxes: list[Box], places: SitePlaces, *, is_article: bool) -> int:
    for least in (FRAME_NAME, FRAME_TAG):
        keep_main(boxes, find_main(boxes, places, least))
        letters = _letters(boxes)
        if letters >= _FEWEST:
            break
    is_known = places.main and known_box(boxes, places.main)
    if is_known or letters >= (_FEWEST if is_article else _SHORT_MAIN):
        return letters
    dropped = [box.is_dropped for box in boxes]
    _keep_wide(boxes, places.repeated)
    if _is_too_little(letters, wide := _letters(boxes), _OF_WIDE):
        return wide
    for box, is_dropped in zip(boxes, dropped, strict=True):
        box.is_dropped = is_dropped
    return letters


def _letters(boxes: list[Box]) -> int:
    return sum(run.letters for run in runs(boxes))


def _is_too_little(letters: int, of_all: int, share: float) -> bool:
    """Return True if a text is too small a part of all; of a few lines this says nothing."""
    return letters < share * of_all and (letters < _FEWEST or of_all >= _LITTLE)


def _keep_wide(boxes: list[Box], repeated: frozenset[int]) -> None:
    """Drop sure frames alone, also those of links only, which are the cards of an index."""
    page = boxes[0]
    root = max(filter(_is_root, boxes), key=lambda box: box.letters, default=page)
    if root.letters <= _OF_ROOT * page.letters:
        root = page
    start = boxes.index(root)
    inside, most = boxes[start : start + root.size], _MOST * root.letters
    for box in boxes:
        box.is_dropped = box.place in repeated
    menus = [at for at, box in enumerate(boxes) if box.tag == "nav"]
    titles = [at for at, box in enumerate(boxes) if box.tag == "h1"]
    for at, box in enumerate(inside, start):
        is_dropped = box.hint < NONE and is_frame(box, SURE_NAME)
        if root is page and box.tag == "header" and not is_dropped:
            is_dropped = _has(boxes, menus, at) or not _has(boxes, titles, at)
        if is_dropped and (box.letters < most or is_never_main(box, page)):
            box.is_dropped = True
        if box.is_dropped:
            drop_children(box)
    for box in (*boxes[:start], *boxes[start + root.size :]):
        box.is_dropped = box.is_dropped or box.tag in {"", "figure"}


def _has(boxes: list[Box], places: list[int], at: int) -> bool:
    """Return True if one of these places is inside the box at a place."""
    return bisect(places, at) < bisect(places, at + boxes[at].size - 1)


def _is_root(box: Box) -> bool:
    """Return True if an element is named as the one with all content of its page."""
    if box.tag == "main":
        return True
    if box.tag not in {"div", "section"} or box.node is None:
        return False
    attributes = box.node.attributes
    return attributes.get("role") == "main" or attributes.get("id") in _ROOT_IDS
