"""Learns from pages of one site where their main text is, and where text repeats.

A place is the chain of elements, classes and ids that leads to a box, without the numbers in
names. Two kinds of places are learned:

    repeated   at least 95 % of the letters there are on other pages as well: menus, teasers
    main       at least 10 % of the pages have their main box there, after repeated text is dropped

    body > div.c1f           the same words on all pages: repeated
    body > div.c9a           the main box of 4 pages of 40, which have many comments: main
    body > div.c9a > div.c3e the main box of the 36 others: main, and the inner one of two is taken

Repeated lines instead of places were rejected: in manuals, tables and signatures repeat from page
to page and are main text nevertheless. For the same reason headings, code, cells and terms are
never dropped. Nothing is learned from few pages: with 5 to 10 the result is worse than without.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from minicrawl.text.language import language_of
from minicrawl.text.main import (
    HEADINGS,
    NO_PLACES,
    Box,
    SitePlaces,
    boxes_of,
    choose_main,
    main_boxes,
    main_text,
    preorder,
)
from minicrawl.text.markdown import markdown

FEWEST_PAGES = 20
_REPEATED = 0.95
_USUAL = 0.2
"""Minimum share of the pages with a place for it to be repeated."""
_VOTES = 0.1
_KEPT = HEADINGS | {"dt", "pre", "td", "th"}


@lru_cache(1)
def learned(pages: Sequence[str]) -> SitePlaces:
    """Return the places of the site of these pages; none if there are too few pages."""
    if len(pages) < FEWEST_PAGES:
        return NO_PLACES
    repeated = _repeated(pages)
    votes = Counter[int]()
    for root in map(boxes_of, pages):
        main = choose_main(root, list(preorder(root)), SitePlaces(repeated))
        if main is not root:
            votes[main.place] += 1
    least = _VOTES * len(pages)
    return SitePlaces(
        repeated, frozenset(place for place, count in votes.items() if count >= least)
    )


def _repeated(pages: Sequence[str]) -> frozenset[int]:
    pages_with, pages_at = Counter[int](), Counter[int]()  # a text, and a place
    texts = defaultdict[int, Counter[int]](Counter)  # of each place, with their letters
    for root in map(boxes_of, pages):
        runs = [(run.place, hash(run.text), run.letters) for run in _runs_that_may_repeat(root)]
        pages_at.update({place for place, _, _ in runs})
        pages_with.update({text for _, text, _ in runs})
        for place, text, letters in runs:
            texts[place][text] += letters
    return frozenset(
        place
        for place, letters in texts.items()
        if pages_at[place] >= _USUAL * len(pages)
        and sum(count for text, count in letters.items() if pages_with[text] > 1)
        >= _REPEATED * letters.total()
    )


def _runs_that_may_repeat(root: Box) -> Iterator[Box]:
    stack = [root]
    while stack:
        box = stack.pop()
        if not box.tag:
            yield box
        elif box.tag not in _KEPT:
            stack.extend(box.boxes)


# ---------------------------------------------------------------- texts

_main_boxes = lru_cache(1)(main_boxes)  # for a page of which several texts are made


class SiteText:
    """Parser that makes a text of the boxes of pages; better if it knows their site."""

    def __init__(self, make: Callable[[Box, str], str], places: SitePlaces = NO_PLACES) -> None:
        self._make, self._places = make, places

    def __call__(self, markup: str, url: str) -> str:
        return self._make(_main_boxes(markup, self._places), url)

    def for_site(self, pages: Sequence[str]) -> SiteText:
        """Return the parser for the site of these pages."""
        return SiteText(self._make, learned(tuple(pages)))


MAIN = SiteText(lambda root, _url: main_text(root))
MARKDOWN = SiteText(markdown)
LANGUAGE = SiteText(lambda root, _url: language_of(main_text(root)))
