"""Pages of one site teach where their main text is, and where text repeats.

A place is the chain of elements, classes and ids that leads to a box, without the numbers in
names. Two kinds of places are learned:

    repeated   at least 95 % of the letters there are at that place of other pages as well: menus,
               teasers. Versions of the page and lists of pages do not count
    main       at least 10 % of the pages have their main box there, once repeated text is dropped

    body > div.c1f            the same words on all pages: repeated
    body > div.c9a            the main box of 4 pages of 40, which have many comments: main
    body > div.c9a > div.c3e  the main box of the 36 others: main; of two, the inner is taken

Repeated lines instead of places were rejected: in manuals, tables and signatures repeat from page
to page and are main text nevertheless. For the same reason headings, code, cells and terms are
never dropped. Nothing is learned from few pages: with 5 to 10 the result is worse than without.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from minicrawl.text.boxes import Box, Inline, outermost, read
from minicrawl.text.hints import HEADINGS
from minicrawl.text.main_box import NO_PLACES, SENTENCE, SitePlaces, find_main

FEWEST_PAGES = 20
_REPEATED = 0.95
_USUAL = 0.2
"""Minimum share of the pages with a place for it to be repeated."""
_OF_VERSION = 0.8
"""Share of the sentences of its own that a page has in common with a version of it."""
_MOST_OF_PEER = 2
"""Number of times as much text that another page may have at a place; a list of pages has more."""
_VOTES = 0.1
_KEPT = HEADINGS | {"", "dt", "pre", "td", "th"}
"""Runs, and elements whose runs never repeat."""


@lru_cache(1)
def learned(pages: Sequence[str]) -> SitePlaces:
    """Return the places of the site of these pages; none if there are too few pages."""
    if len(pages) < FEWEST_PAGES:
        return NO_PLACES
    known = [_outline(page) for page in pages]
    repeated = _repeated(known)
    votes = Counter[int]()
    for boxes in known:
        main = find_main(boxes, SitePlaces(repeated))
        if main is not boxes[0]:
            votes[main.place] += 1
    least = _VOTES * len(pages)
    return SitePlaces(
        repeated, frozenset(place for place, count in votes.items() if count >= least)
    )


def _outline(markup: str) -> list[Box]:
    """Return the boxes of a page without their nodes and pieces, which would fill the memory."""
    (boxes, _), no_pieces = read(markup), list[tuple[str, Inline]]()
    for box in boxes:
        box.node, box.pieces = None, no_pieces
    return boxes


def _repeated(pages: Sequence[list[Box]]) -> frozenset[int]:
    usual = _USUAL * len(pages)
    outer = (outermost(boxes, lambda box: box.tag in _KEPT) for boxes in pages)
    runs = [[box for box in page if not box.tag] for page in outer]
    letters_at = defaultdict[int, Counter[int]](Counter)  # a place, of each page
    pages_with = defaultdict[tuple[int, str], set[int]](set)  # a text at a place
    for number, page in enumerate(runs):
        for run in page:
            letters_at[run.place][number] += run.letters
            pages_with[run.place, run.text].add(number)
    versions = _versions(runs, usual)
    repeated = Counter[int]()  # letters at a place
    for number, page in enumerate(runs):
        for run in page:
            repeating, letters = pages_with[run.place, run.text], letters_at[run.place]
            most = _MOST_OF_PEER * letters[number]
            is_repeated = len(repeating) >= usual or any(
                letters[number] <= _MOST_OF_PEER * letters[other] and letters[other] <= most
                for other in repeating - versions[number]
            )
            repeated[run.place] += run.letters * is_repeated
    return frozenset(
        place
        for place, letters in letters_at.items()
        if len(letters) >= usual and repeated[place] >= _REPEATED * letters.total()
    )


def _versions(runs: Sequence[list[Box]], usual: float) -> list[set[int]]:
    """Return the versions of each page: itself, and pages with nearly the same own sentences.

    Of two such pages, one may have more, such as comments that a print version lacks.
    """
    pages_with = defaultdict[str, set[int]](set)
    texts = [{run.text: run.letters for run in page if run.letters >= SENTENCE} for page in runs]
    for number, page in enumerate(texts):
        for text in page:
            pages_with[text].add(number)
    versions = [{number} for number in range(len(runs))]
    for number, page in enumerate(texts):
        shared = Counter[int]()
        for text, letters in page.items():
            if len(pages_with[text]) < usual:
                shared.update(dict.fromkeys(pages_with[text], letters))
        for other, letters in shared.items():
            if letters >= _OF_VERSION * shared[number]:
                versions[number].add(other)
                versions[other].add(number)
    return versions
