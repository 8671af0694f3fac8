"""Finds the main box of a page: the article or section that it is about.

A run of text is worth its letters outside links. Worth is summed upwards, and the search for the
main box goes downwards, to the child that has nearly all of its parent's worth:

    body                 worth 940
      div class=menu       dropped: its class is a hint of a frame
      div                  worth 940: all there is, so go on here
        h1                   the title: the text between it and the main box is its lead
        article            worth 900: nearly all, so go on here
          p, p, ul           no child has nearly all: `article` is the main box
          div of links       dropped: links alone
          h2                 dropped: the heading of what was dropped

worth   letters outside links, and less for short lines
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise, takewhile
from operator import attrgetter
from typing import NamedTuple

from minicrawl.text import hints
from minicrawl.text.boxes import Box, outermost, preorder, runs

_NEVER_MAIN = hints.words("aside footer nav")
_WHOLE = hints.words("ol p pre table ul") | {""}
"""Elements, and runs, that are part of a main text, and not all of it."""
SHORT, SENTENCE = 25, 80
"""Letters below which a line is hardly a sentence, and from which on it certainly is."""
_WORTH_OF_SHORT, _WORTH_OF_MIDDLE = 0.1, 0.5
_NEARLY_ALL = 0.85
"""Share of worth from which on a child is searched."""
_OWN, _NAMED, _RIVAL = 0.1, 0.2, 0.5
"""Shares of worth: of the page, at least in an article with its title, and in a named main text; of
the latter, at most in others.
"""
_MOST, _FEW = 0.5, 140
"""Share of the page's worth from which on a box is no frame, and letters of any other text."""
_LINKS_OF_TEASER = 0.1
_WORTH = attrgetter("worth")


class SitePlaces(NamedTuple):
    """Repeated and main places of the pages of a site; `learned` finds them."""

    repeated: frozenset[int] = frozenset()
    main: frozenset[int] = frozenset()


NO_PLACES = SitePlaces()


def find_main(boxes: list[Box], places: SitePlaces, least: int = hints.FRAME_NAME) -> Box:
    """Drop the frames of the page, and return its main box."""
    repeated = [box for box in boxes if box.place in places.repeated]
    drop_frames(boxes, least, repeated)
    main = known_box(boxes, places.main) or _searched(_named(boxes))
    if repeated and (before_body := _between_title_and_body(boxes, main)):
        before = set(map(id, before_body))
        drop_frames(boxes, least, [box for box in repeated if id(box) not in before])
    return main


def known_box(boxes: list[Box], main: frozenset[int]) -> Box | None:
    """Return the innermost box at a main place of the site, if it is the only box there."""
    candidates = [box for box in boxes if box.place in main and box.tag and box.worth]
    times = Counter(box.place for box in candidates)
    return next((box for box in reversed(candidates) if times[box.place] == 1), None)


def _between_title_and_body(boxes: list[Box], main: Box) -> list[Box]:
    """Return the boxes from the title on to where the body of the text has begun.

    A lead, or a notice, is the page's own there, however many other pages have it. A paragraph of
    the body may come before it, as a lead often is an ordinary paragraph. What is outside the box
    that has title and body, such as a banner below the head of a page, is not looked at.
    """
    start = boxes.index(main)
    inside = enumerate(boxes[start : start + main.size], start)
    paragraphs = [at for at, box in inside if not box.tag and box.worth >= SENTENCE]
    end = paragraphs[:2][-1] if paragraphs else start
    title = next((at for at in range(end, -1, -1) if boxes[at].tag == "h1"), None)
    if title is None:
        return []
    parts = accumulate((part.size for part in boxes[0].boxes), initial=1)
    is_in_head = any(start < title < stop <= end for start, stop in pairwise(parts))
    return [] if is_in_head else boxes[title:end]


def drop_frames(boxes: list[Box], least: int, repeated: Sequence[Box] = ()) -> None:
    """Drop frames, except those with most of the page, and sum up the worth of the rest."""
    for box in boxes:
        box.is_dropped = False
    for box in repeated:
        box.is_dropped = True
    _sum_worth(boxes)
    drop_named(boxes, least, boxes[0], _WORTH)
    _sum_worth(boxes)


def drop_named(
    boxes: Sequence[Box], least: int, page: Box, measure: Callable[[Box], float]
) -> None:
    """Drop boxes with names of frames, and what is inside dropped ones.

    A box with most of all is not dropped, whatever it is called, unless it is a footer, say.
    """
    most = _MOST * measure(boxes[0])
    for box in boxes:
        if box.hint < hints.NONE and not box.is_dropped and _is_frame(box, least):
            box.is_dropped = measure(box) < most or _is_never_main(box, page)
        if box.is_dropped:
            _drop_children(box)


def _is_never_main(box: Box, page: Box) -> bool:
    """Return True for a footer, a menu or a cookie notice if the page has any other text.

    A footer of links is not the main text even if a page has nothing else, as without its scripts.
    """
    if box.tag == "footer" and box.linked > _MOST * box.letters:
        return True
    has_more = page.letters - box.letters >= _FEW
    return has_more and (box.tag in _NEVER_MAIN or box.hint == hints.NEVER_MAIN)


def _is_frame(box: Box, least: int) -> bool:
    """Return True if the hint of a box is at least as sure a sign of a frame as this one."""
    if box.hint == hints.TEASER:
        return least > hints.SURE_NAME and box.linked > _LINKS_OF_TEASER * box.letters
    return box.hint <= least


def _drop_children(box: Box) -> None:
    """Drop what is inside a box that was dropped."""
    for child in box.boxes:
        child.is_dropped = True


def _sum_worth(boxes: list[Box]) -> None:
    for box in reversed(boxes):
        if box.is_dropped:
            box.worth = 0.0
        elif box.tag:
            box.worth = sum(map(_WORTH, box.boxes))
        elif box.letters:
            free = box.letters - box.linked
            is_sentence, is_short = box.letters >= SENTENCE, box.letters < SHORT
            factor = 1 if is_sentence else _WORTH_OF_SHORT if is_short else _WORTH_OF_MIDDLE
            box.worth = factor * free * free / box.letters


def _named(boxes: list[Box]) -> Box:
    """Return the box that the page itself names as its main text, or that has its title.

    If it names several, or none, that is the whole page.
    """
    own = next((box for box in boxes if box.hint == hints.OWN), None)
    if own is not None and own.worth >= _OWN * boxes[0].worth:
        return own
    named = outermost(boxes, lambda box: box.hint == hints.NAMED_MAIN or box.tag == "article")
    best = max(named, key=_WORTH, default=boxes[0])
    rivals = sum(map(_WORTH, named)) - best.worth
    is_main = best.worth >= _NAMED * boxes[0].worth and rivals < _RIVAL * best.worth
    return best if is_main else boxes[0]


def _searched(box: Box) -> Box:
    """Return the innermost box with nearly all the worth of this one."""
    while True:
        best = max(box.boxes, key=_WORTH, default=None)
        if best is None or best.tag in _WHOLE or best.worth < _NEARLY_ALL * box.worth:
            return box
        box = best


_MAY_BE_LINKS = hints.words("div form header ol p ul")
"""Elements that are dropped if they are links alone; tables and definitions are not."""
_LISTS = hints.words("ol ul")
"""Lists, which are text after a colon, though of links."""
_OF_TEXT = hints.words("blockquote dd dt li p td th")
"""Elements in which short lines are text."""
_SHOWN = frozenset(("", "figure"))
"""Boxes with something to show: runs, and figures with their pictures."""
_LINKS, _MANY_LINKS = 0.6, 0.8
_LEAD = 0.3
_CARD = 12
"""Letters for each box inside links from which on they are a card."""
_ENDS = ".!?:;…。"
_LOWEST = 7
"""Number above those of all headings."""


def keep_main(boxes: list[Box], main: Box, *, has_cards: bool = False) -> None:
    """Drop all but the main box and its lead, the sentences between the title and the box.

    In the box, lists and sections made of links go, and scraps such as "12 views", and then the
    headings whose sections have gone. A scrap is a short line outside paragraphs, list items and
    cells, or a lone link. Links around much text may be cards, which stay.
    """
    start = boxes.index(main)
    before, inside = boxes[:start], boxes[start : start + main.size]
    lead = {id(box) for box in _lead(before, main)}
    _prune(inside, has_cards=has_cards)
    for box in (*before, *boxes[start + main.size :]):
        box.is_dropped = box.is_dropped or (box.tag in _SHOWN and id(box) not in lead)


def _lead(before: list[Box], main: Box) -> list[Box]:
    """Return the sentences between the title and the main box, unless they are too long.

    The title itself is a column of its own, and no main text. Markdown has it as a heading.
    """
    after_title = list(takewhile(lambda box: box.tag != "h1", reversed(before)))
    if len(after_title) == len(before):
        return []
    title = before[-len(after_title) - 1]
    if not title.is_dropped:
        title.hint = hints.TITLE
    lines = [box for box in runs(after_title) if box.letters >= SENTENCE]
    return lines if sum(map(_WORTH, lines)) <= _LEAD * main.worth else []


def _prune(inside: list[Box], *, has_cards: bool) -> None:
    """Drop links, scraps and headings without a section. The main box comes first.

    A list of links stays if a colon introduces it.
    """
    is_introduced = False
    for box in inside[1:]:
        is_links = box.tag in _MAY_BE_LINKS and box.linked > _LINKS * box.letters
        is_card = has_cards and box.letters >= _CARD * box.size
        if is_links and not is_card and not (is_introduced and box.tag in _LISTS):
            box.is_dropped = True
        if not box.tag and not box.is_dropped:
            is_introduced = box.text.endswith(":")
        if box.is_dropped:
            _drop_children(box)
    end_of_text = 0
    for at, box in enumerate(inside):
        if at < end_of_text:
            continue
        if box.tag in _OF_TEXT:
            end_of_text = at + box.size
        elif box.tag in _MAY_BE_LINKS and "admonition" not in box.kind:
            for run in box.boxes:
                run.is_dropped = run.is_dropped or (not run.tag and _is_scrap(run))
    _drop_empty_sections(inside, most=SHORT if has_cards else inside[0].letters)


def _drop_empty_sections(inside: list[Box], most: int) -> None:
    """Drop headings whose sections were dropped, and those at the end.

    A heading that another one follows at once is text: references have lists of such headings. So
    is one of more letters than the most, which says more than the name of a section.
    """
    headings = [box for box in inside if box.tag in hints.HEADINGS]
    of_headings = {id(inner) for box in headings for inner in preorder(box)}
    covered, has_lost = 0, True  # headings of lower numbers have a section here
    for box in reversed(inside):
        if box.tag in hints.HEADINGS:
            level = int(box.tag[1])
            if level >= covered and has_lost and box.letters <= most:
                for inner in preorder(box):
                    inner.is_dropped = True
            else:
                covered, has_lost = level, False
        elif not box.tag and id(box) not in of_headings:
            if box.is_dropped:
                has_lost = has_lost or covered < _LOWEST
            else:
                covered = _LOWEST


def _is_scrap(run: Box) -> bool:
    is_short = run.letters < SHORT and run.text[-1:] not in _ENDS
    return is_short or run.linked > _MANY_LINKS * run.letters
