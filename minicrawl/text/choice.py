"""Chooses the main text of a page, by what is lost in the search for a main box.

Class names are heeded first, as they find most frames; if hardly any text is left, a name has
misled, as where all of a page is in `div class=related`, and the page is searched without them. Two
kinds of pages have no main box:

    index, shop, service   a short box, and thrice its text outside: keeps all but the frames
    text of scripts        most text is in `noscript` or hidden: is read once more with that

A page that calls itself an article is not of the first kind, unless it is a few lines above cards.
"""

import re
from collections import Counter
from operator import attrgetter

from minicrawl.text import hints
from minicrawl.text.boxes import Box, outermost, parse, preorder, read, runs
from minicrawl.text.main_box import (
    NO_PLACES,
    SENTENCE,
    SitePlaces,
    drop_named,
    find_main,
    keep_main,
    known_box,
)
from minicrawl.text.posts import (
    NAME_OF_FORUM,
    drop_shared,
    has_article,
    has_cards,
    ignore_names,
    posts_of,
)

_FEWEST = 140
"""Letters of a main text; a page that has fewer is an index, or its hints mislead."""
_SHORT_MAIN, _OF_WIDE = 1500, 0.35
"""Letters of a main text, and its share of all outside frames, that are too few for a main box."""
_OF_ALL, _LITTLE = 0.3, 600
"""Share of the text with unseen text below which that is the main text, if it has these letters."""
_INTRODUCTION = 3
"""Paragraphs of the main text of an index at most, if it calls itself an article."""
_OF_ROOT = 0.3
"""Share of a page from which on its `main` has all of its content."""
_CELLS = hints.words("dd td th")
_TEXTS = _CELLS | hints.HEADINGS | {"li"}
"""Elements in which short lines are no buttons."""
_SHORTEST_REPEATED = 40
"""Letters of a line that only one place of a page says; shorter ones may be buttons."""
_CARDS = 8
"""Cards of a page that have one button."""
_MOST_PRODUCTS = 2
_PRODUCTS = ('"Product"', '"ProductGroup"', "schema.org/Product")


def main_boxes(markup: str, places: SitePlaces = NO_PLACES) -> list[Box]:
    """Return the boxes of a page; runs that are not of the main text are marked as dropped."""
    (boxes, unseen), tree = read(markup), parse(markup)
    og_type = tree.css_first('meta[property="og:type"]')
    kind = "" if og_type is None else (og_type.attributes.get("content") or "").lower()
    is_article, is_product = "article" in kind, _is_product(markup, kind)
    nodes = map(tree.css_first, ("title", 'meta[property="og:title"]'))
    titles = (node.attributes.get("content") or node.text() for node in nodes if node is not None)
    title = f" {_folded(' '.join(titles))} "

    def choose(boxes: list[Box]) -> int:
        has_own = mark_own_story(boxes, title)
        for box in boxes if is_product else ():
            if box.hint == hints.REVIEWS:
                box.hint = hints.SURE_NAME
        return _choose(boxes, places, is_article=is_article or has_own)

    letters = choose(boxes)
    if letters < _OF_ALL * (letters + unseen):
        with_unseen, _ = read(markup, with_unseen=True)
        of_all = choose(with_unseen)  # under 140 letters, it asks for JavaScript
        least = _FEWEST if letters < _FEWEST else _LITTLE
        if of_all >= least and letters < _OF_ALL * of_all:
            boxes = with_unseen
    _drop_repeated(boxes)
    return boxes


def _drop_repeated(boxes: list[Box]) -> None:
    """Drop lines that another place of the page says, as for narrow screens, and buttons of cards.

    One place may say a sentence again, as songs do. Tables and code repeat with reason.
    """
    buttons = _lines_outside(boxes, _TEXTS)
    times = Counter((run.place, run.text) for run in buttons if run.letters < _SHORTEST_REPEATED)
    for run in buttons:
        run.is_dropped = times[run.place, run.text] >= _CARDS
    place_of = dict[str, int]()
    for run in _lines_outside(boxes, _CELLS):
        if run.letters >= _SHORTEST_REPEATED:
            run.is_dropped = place_of.setdefault(run.text, run.place) != run.place


def _lines_outside(boxes: list[Box], tags: frozenset[str]) -> list[Box]:
    lines = outermost(boxes, lambda box: not box.tag or box.tag in tags)
    return [box for box in lines if not (box.tag or box.pieces[0][1].is_exact)]


def _is_product(markup: str, kind: str) -> bool:
    """Return True if a page of this `og:type` is about one product; lists name many."""
    if "product" in kind and "group" not in kind:
        return True
    return 1 <= sum(map(markup.count, _PRODUCTS)) <= _MOST_PRODUCTS


def _choose(boxes: list[Box], places: SitePlaces, *, is_article: bool) -> int:
    """Mark the runs that are not of the main text, and return the letters of the others."""
    posts = posts_of(boxes)
    has_comments = False
    if posts and has_article(boxes, posts):
        has_comments = boxes[posts[0].start].hint == hints.FRAME_NAME
        is_article = is_article or has_comments
    elif posts and (not is_article or NAME_OF_FORUM.search(boxes[posts[0].start].kind)):
        is_article = False
        ignore_names(boxes, posts)
    for least in (hints.FRAME_NAME, hints.FRAME_TAG):
        keep_main(boxes, find_main(boxes, places, least))
        letters = _letters(boxes)
        if letters >= _FEWEST:
            break
    is_wide = False
    if letters < _SHORT_MAIN and not (places.main and known_box(boxes, places.main)):
        paragraphs = sum(run.letters >= SENTENCE for run in runs(boxes))
        _keep_wide(boxes, places.repeated)
        may_be_index = paragraphs <= _INTRODUCTION and not has_comments
        may_be_wide = letters < _FEWEST or not is_article or (may_be_index and has_cards(boxes))
        is_wide = may_be_wide and letters < _OF_WIDE * _letters(boxes)
    if not is_wide and (letters < _SHORT_MAIN or not is_article):
        keep_main(boxes, find_main(boxes, places, least), has_cards=not is_article)
    if posts:
        drop_shared(boxes, posts)
    return _letters(boxes)


def _letters(boxes: list[Box]) -> int:
    return sum(run.letters for run in runs(boxes))


def _keep_wide(boxes: list[Box], repeated: frozenset[int]) -> None:
    """Drop sure frames alone, also those of links only, which are the cards of an index."""
    page = boxes[0]
    roots = (box for box in boxes if box.tag == "main" or (box.tag and box.said("role") == "main"))
    root = max(roots, key=attrgetter("letters"), default=page)
    if root.letters <= _OF_ROOT * page.letters:
        root = page
    start = boxes.index(root)
    end = start + root.size
    for box in boxes:
        box.is_dropped = box.place in repeated
    drop_named(boxes[start:end], hints.SURE_NAME, page, attrgetter("letters"))
    for box in (*boxes[:start], *boxes[end:]):
        box.is_dropped = box.is_dropped or box.tag in {"", "figure"}


_SHORTEST_TITLE = 12
"""Letters of a heading that may be the title of a story, and no name of a section."""
_WORDS = re.compile(r"\w+")


def mark_own_story(boxes: list[Box], title: str) -> bool:
    """Mark the only story with a title of the page, unless all others lack headings.

    Below an article, many news sites add the next ones in full, or put another one first:

        title        "Rain in May - The Paper"
        article        h2 "Sun in April": another article
        article        h1 "Rain in May": the page's own
        article        h2 "Snow in March": another article

    Posts of a forum are articles, too, but lack headings, or have the title in each of them.
    """
    articles = outermost(boxes, lambda box: box.tag == "article")
    own, foreign = list[Box](), 0
    for article in articles:
        headings = (box for box in preorder(article) if box.tag in hints.HEADINGS)
        texts = [_folded(" ".join(run.text for run in preorder(box))) for box in headings]
        if any(f" {text} " in title for text in texts if len(text) >= _SHORTEST_TITLE):
            own.append(article)
        elif any(texts):
            foreign += 1
    if len(own) != 1 or (len(articles) > 1 and not foreign):
        return False
    own[0].hint = hints.OWN
    return True


def _folded(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))
