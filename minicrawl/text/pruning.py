"""Drops what is not text in and around the main box of a page.

In the box, lists and sections made of links go, and scraps such as "12 views", and then the
headings whose sections have gone. Before it, the sentences stay that lead from the title to the
box.

scrap   short line outside paragraphs, list items and cells, or a lone link
"""

from __future__ import annotations

from itertools import takewhile
from operator import attrgetter

from minicrawl.text.boxes import Box, preorder
from minicrawl.text.hints import HEADINGS, TITLE, words
from minicrawl.text.main_box import SENTENCE, SHORT, drop_children

_MAY_BE_LINKS = words("div form header ol p ul")
"""Elements that are dropped if they are links alone; tables and definitions are not."""
_OF_TEXT = words("blockquote dd dt li p td th")
"""Elements in which short lines are text."""
_SHOWN = frozenset(("", "figure"))
"""Boxes with something to show: runs, and figures with their pictures."""
_LINKS, _MANY_LINKS, _LONG = 0.6, 0.8, 1000
_LEAD_LINKS, _LEAD = 0.3, 0.3
_LONGEST_LINK = 100
_ENDS = ".!?:;…。"
_LOWEST = 7
"""Number above those of all headings."""
_WORTH = attrgetter("worth")


def keep_main(boxes: list[Box], main: Box) -> None:
    """Drop all but the main box and its lead."""
    start = boxes.index(main)
    before, inside = boxes[:start], boxes[start : start + main.size]
    lead = {id(box) for box in _lead(before, main)}
    _prune(inside)
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
        title.hint = TITLE
    lines = [run for run in after_title if not run.is_dropped and _is_sentence(run)]
    return lines if sum(map(_WORTH, lines)) <= _LEAD * main.worth else []


def _is_sentence(box: Box) -> bool:
    is_long = not box.tag and box.letters >= SENTENCE
    return is_long and box.linked < _LEAD_LINKS * box.letters


def _prune(inside: list[Box]) -> None:
    """Drop links, scraps and headings without a section. The main box comes first."""
    for box in inside[1:]:
        most = _LINKS if box.letters < _LONG else _MANY_LINKS
        if box.tag in _MAY_BE_LINKS and box.linked > most * box.letters:
            box.is_dropped = True
        if box.is_dropped:
            drop_children(box)
    end_of_text = 0
    for at, box in enumerate(inside):
        if at < end_of_text:
            continue
        if box.tag in _OF_TEXT:
            end_of_text = at + box.size
        elif box.tag in _MAY_BE_LINKS:
            for run in box.boxes:
                run.is_dropped = run.is_dropped or (not run.tag and _is_scrap(run))
    _drop_empty_sections(inside)


def _drop_empty_sections(inside: list[Box]) -> None:
    """Drop headings whose sections were dropped, and those at the end.

    A heading that another one follows at once is text: references have lists of such headings.
    """
    headings = [box for box in inside if box.tag in HEADINGS]
    of_headings = {id(inner) for box in headings for inner in preorder(box)}
    covered, has_lost = 0, True  # headings of lower numbers have a section here
    for box in reversed(inside):
        if box.tag in HEADINGS:
            level = int(box.tag[1])
            if level >= covered and has_lost:
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
    if run.linked > _MANY_LINKS * run.letters:
        return run.letters < _LONGEST_LINK
    if run.letters >= SHORT or run.text[-1:] in _ENDS:
        return False
    return all(inline.mark != "`" for _, inline in run.pieces)
