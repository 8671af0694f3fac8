"""Finds the main text of a page, the article or section that it is about; makes Markdown of it.

The page becomes a tree of boxes: one for each block element, and one for each run of text between
blocks. A run is worth its letters outside links. Worth is summed upwards, and the search for the
main box goes downwards, to the child that has nearly all of its parent's worth:

    body                 worth 940
      div class=menu       dropped: its class is a hint of a frame
      div                  worth 940: all there is, so go on here
        h1                   the title: the text between it and the main box is its lead
        article            worth 900: nearly all, so go on here
          p, p, ul           no child has nearly all: `article` is the main box
          div of links       dropped: links alone
          h2                 dropped: the heading of what was dropped

A page that has hardly any text left is searched once more without regard to class names, which may
mislead. If that fails, too, it is an index of links, and keeps everything outside its frames.

Laws: the time is proportional to the number of nodes, as facts about ancestors are handed down and
never looked up. Lexbor itself takes quadratic time on some pages, so call this where it can be
killed.

hint    word in a class or id that says what an element is for
worth   letters outside links, and less for short lines
frame   part with navigation, advertisements, comments and the like
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.errors import needs
from minicrawl.web.references import with_noscript
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HEADINGS = _words("h1 h2 h3 h4 h5 h6")
CODE = _words("code kbd samp tt")
_INLINE = CODE | _words("a b em i pre strong")
_BLOCKS = HEADINGS | _words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form header hr li main menu nav ol p pre section summary table tbody "
    "td tfoot th thead tr ul"
)
_NO_TEXT = _words(
    "-comment audio button canvas datalist embed head iframe input map math noscript object option "
    "rp rt script select style svg template textarea video"
)
_FRAMES = _words("aside dialog figcaption footer form menu nav")
_ROLES = _words("alert banner complementary contentinfo dialog menu menubar navigation search")
_NEVER_FRAMES = HEADINGS | _words("article body dd dt main pre tbody td th tr")
_MAY_BE_LINKS = _words("div form header ol p ul")
"""Elements that are dropped if they are links alone; tables and definitions are not."""
_OF_TEXT = _words("blockquote dd dt li p td th")
"""Elements in which short lines are text."""
_WHOLE = _words("ol p pre table ul")
"""Elements that are part of a main text, and not all of it."""

_FRAME_WORDS = _words(
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
_TEASER_WORDS = _words("banner banners more tags teaser teasers tools")
"""Hints of a frame if the element has links; without, it may be the lead."""
_NOT_OF_FRAMES = re.compile(
    r"\b(?:cat|category|has|hentry|is|lang|language|layout|no|not|page|tag|with|without)[-_][\w-]+"
)
"""Names whose words do not make a frame, such as `has-sidebar` and `category-search`."""
_LINE_NUMBERS = _words("gutter lineno linenos line-numbers")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAIN_NAME = re.compile(
    r"(?i)\b(?:article|blog|body|entry|main|news|page|post|single|story|text)[-_]*"
    r"(?:article|body|content|copy|inner|main|text)\b|\bmw-parser-output\b|\be-content\b"
)
_UNSEEN_STYLE = re.compile(r"(?i)(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_MAY_HIDE = _words("aria-hidden hidden style")
_DIGITS = re.compile(r"\d+")
_LONGEST_NAME = 250
_NO_ATTRIBUTES: dict[str, str | None] = {}

_MAIN, _NONE, _TEASER, _FRAME_NAME, _FRAME_TAG = 1, 0, -1, -2, -3
"""Hints; a lower one is a surer sign of a frame."""

_SHORT, _SENTENCE = 25, 80
"""Letters below which a line is hardly a sentence, and from which on it certainly is."""
_WORTH_OF_SHORT, _WORTH_OF_MIDDLE = 0.1, 0.5
_NEARLY_ALL, _ALL_OF_NAMED = 0.85, 0.95
"""Share of worth from which on a child is searched, and the same inside a named main text."""
_NAMED, _RIVAL = 0.2, 0.5
"""Shares of worth: of the page, at least in a named main text; of the latter, at most in others."""
_MOST = 0.5
"""Share of the page's worth from which on a box is no frame."""
_LINKS_OF_TEASER = 0.1
_LINKS, _MANY_LINKS, _LONG = 0.6, 0.8, 1000
_LEAD_LINKS, _LEAD = 0.3, 0.3
_LONGEST_LINK = 100
_FEWEST = 140
"""Letters of a main text; a page that has fewer is an index, or its hints mislead."""
_ENDS = ".!?:;…。"
_LOWEST = 7
"""Number above those of all headings."""
_ANCHORS = frozenset("#¶§")
BREAK = "\0"
"""Line break inside a run; the parser leaves no such character in a text."""


class Inline(NamedTuple):
    """Meaning of a piece of text inside its block."""

    link: str | None = None
    mark: str = ""
    """Markdown's mark of code, or of strong or emphasised text."""
    is_exact: bool = False
    """True inside `pre`."""


class SitePlaces(NamedTuple):
    """Repeated and main places of the pages of a site; `learned` finds them."""

    repeated: frozenset[int] = frozenset()
    main: frozenset[int] = frozenset()


NO_PLACES = SitePlaces()


class Box:
    """Block element, or run of text between blocks, whose tag is ""."""

    __slots__ = (
        "boxes",
        "hint",
        "is_dropped",
        "letters",
        "linked",
        "node",
        "pieces",
        "place",
        "size",
        "tag",
        "text",
        "worth",
    )

    def __init__(
        self, tag: str, node: LexborNode | None, hint: int = _NONE, place: int = 0
    ) -> None:
        self.tag, self.node, self.hint, self.place = tag, node, hint, place
        self.boxes: list[Box] = []
        self.pieces: list[tuple[str, Inline]] = []
        self.text = ""
        """Text of a run; whitespace is folded outside `pre`."""
        self.letters = self.linked = 0
        self.size = 1
        """Number of boxes: this one and all inside it."""
        self.worth = 0.0
        self.is_dropped = False


def main_text(boxes: Iterable[Box]) -> str:
    """Return the main text of a page, a block a line."""
    return "\n".join([run.text for run in runs(boxes) if run.text])


def main_boxes(markup: str, places: SitePlaces = NO_PLACES) -> list[Box]:
    """Return the boxes of a page; runs that are not of the main text are marked as dropped."""
    boxes = boxes_of(markup)
    # Class names first, as they find most frames; if hardly any text is left, a name has misled, as
    # where all of a page is in `div class=related`.
    for least in (_FRAME_NAME, _FRAME_TAG):
        keep_main(boxes, find_main(boxes, places, least))
        if sum(run.letters for run in runs(boxes)) >= _FEWEST:
            return boxes
    _drop_frame_tags(boxes)
    return boxes


def runs(boxes: Iterable[Box]) -> Iterator[Box]:
    """Yield the runs that were not dropped."""
    return (box for box in boxes if not box.tag and not box.is_dropped)


def preorder(root: Box) -> Iterator[Box]:
    """Yield a box and all below it, each before those inside it."""
    stack = [root]
    while stack:
        box = stack.pop()
        yield box
        stack.extend(reversed(box.boxes))


# ---------------------------------------------------------------- the tree


def boxes_of(markup: str) -> list[Box]:
    """Return the boxes of a page, measured: first the page itself, and each before those inside it.

    So the boxes inside another one follow it, and are as many as its size says.
    """
    tree = parse(with_noscript(markup))
    boxes = [Box("body", None)] if tree.body is None else _boxes(tree.body)
    _measure(boxes)
    return boxes


@lru_cache(1)
def parse(markup: str) -> LexborHTMLParser:
    """Return the page parsed; several texts of a page need it once."""
    with needs("text", "main text"):
        from selectolax.lexbor import LexborHTMLParser
    return LexborHTMLParser(markup)


def _boxes(body: LexborNode) -> list[Box]:
    root = Box("body", body)
    boxes = [root]
    run, of_run = root, root
    # A stack of our own instead of recursion: pages may be nested deeper than Python allows.
    stack: list[tuple[LexborNode | None, Box, Inline]] = [(body.child, root, Inline())]
    while stack:
        node, box, inline = stack.pop()
        link, _, is_exact = inline
        while node is not None:
            tag = node.tag or ""
            text = node.text_content or "" if tag == "-text" else BREAK if tag == "br" else None
            if text is not None:
                is_first = run is root or of_run is not box
                is_space = text is BREAK or (not is_exact and text.isspace())
                is_anchor = link is not None and text.strip() in _ANCHORS
                if not (is_anchor or (is_first and is_space)):
                    if is_first:
                        run, of_run = _added(boxes, box, "", node, place=box.place), box
                    if link is not None:
                        run.linked += len(text)
                    run.pieces.append((text, inline))
                node = node.next
                continue
            is_block = tag in _BLOCKS
            attributes = node.attributes if is_block or is_exact else _NO_ATTRIBUTES
            if tag in _NO_TEXT or (attributes and _is_unseen(attributes)):
                node = node.next
                continue
            above = box
            if is_block and not is_exact:
                hint, names = _signs(tag, attributes)
                place = hash((box.place, tag, names))
                run, box = root, _added(boxes, box, tag, node, hint, place)
            elif is_block and run is not root:
                run.pieces.append((BREAK, inline))
            inside = node.child
            if inside is None:
                node, box = node.next, above
                continue
            stack.append((node.next, above, inline))
            if tag in _INLINE:
                inline = _inline(tag, node, inline)
                link, _, is_exact = inline
            node = inside
    return boxes


def _added(
    boxes: list[Box], above: Box, tag: str, node: LexborNode, hint: int = _NONE, place: int = 0
) -> Box:
    box = Box(tag, node, hint, place)
    above.boxes.append(box)
    boxes.append(box)
    return box


def _inline(tag: str, node: LexborNode, around: Inline) -> Inline:
    link, mark, is_exact = around
    if tag == "a":
        return Inline(node.attributes.get("href") or "", mark, is_exact)
    if tag == "pre":
        return Inline(link, mark, is_exact=True)
    if tag in CODE:
        return Inline(link, "`", is_exact)
    if mark == "`":
        return around
    return Inline(link, "**" if tag in {"b", "strong"} else mark or "*", is_exact)


def _signs(tag: str, attributes: dict[str, str | None]) -> tuple[int, str]:
    """Return the hint of an element, and the names that are part of its place."""
    if not attributes:
        return (_FRAME_TAG if tag in _FRAMES else _NONE), ""
    class_, id_ = attributes.get("class"), attributes.get("id")
    hint, names = _signs_of_names(
        tag, class_ and class_[:_LONGEST_NAME], id_ and id_[:_LONGEST_NAME]
    )
    if tag in _FRAMES or attributes.get("role") in _ROLES:
        hint = _FRAME_TAG
    elif attributes.get("itemprop") == "articleBody":
        hint = _MAIN
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
        words = {word.lower() for word in _WORDS.findall(_NOT_OF_FRAMES.sub("", names))}
        if words & _FRAME_WORDS:
            return _FRAME_NAME
        if words & _TEASER_WORDS:
            return _TEASER
    return _MAIN if _MAIN_NAME.search(names) else _NONE


def _is_unseen(attributes: dict[str, str | None]) -> bool:
    """Return True if people do not see the element, or do not read it as text."""
    if attributes.get("class") in _LINE_NUMBERS:
        return True
    if _MAY_HIDE.isdisjoint(attributes):
        return False
    style = (attributes.get("style") or "")[:_LONGEST_NAME]
    is_hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    return is_hidden or bool(_UNSEEN_STYLE.search(style))


# ---------------------------------------------------------------- the choice


_LETTERS, _LINKED, _SIZE, _WORTH = map(attrgetter, ("letters", "linked", "size", "worth"))


def _measure(boxes: list[Box]) -> None:
    for box in reversed(boxes):
        if box.tag:
            inside = box.boxes
            box.letters = sum(map(_LETTERS, inside))
            box.linked = sum(map(_LINKED, inside))
            box.size = sum(map(_SIZE, inside), 1)
        else:
            box.text = _text(box.pieces)
            box.letters = len(box.text)
            box.linked = min(box.linked, box.letters)


def _text(pieces: list[tuple[str, Inline]]) -> str:
    text = "".join([text for text, _ in pieces])
    if pieces[0][1].is_exact:
        return text.replace(BREAK, "\n").strip("\n")
    if BREAK in text:
        lines = (" ".join(line.split()) for line in text.split(BREAK))
        return "\n".join(filter(None, lines))
    return " ".join(text.split())


def find_main(boxes: list[Box], places: SitePlaces, frame: int = _FRAME_NAME) -> Box:
    """Drop the frames of the page, and return its main box."""
    _drop_frames(boxes, frame, places.repeated)
    return _known(boxes, places.main) or _searched(_named(boxes) or boxes[0])


def keep_main(boxes: list[Box], main: Box) -> None:
    """Drop all but the main box and its lead."""
    start = boxes.index(main)
    before, inside = boxes[:start], boxes[start : start + main.size]
    lead = {id(box) for box in _lead(before, main)}
    _prune(inside)
    for box in (*before, *boxes[start + main.size :]):
        box.is_dropped = box.is_dropped or (not box.tag and id(box) not in lead)


def _known(boxes: list[Box], main: frozenset[int]) -> Box | None:
    """Return the innermost box at a main place of the site, if it is the only box there."""
    found = [box for box in boxes if box.place in main and box.tag and box.worth]
    times = Counter(box.place for box in found)
    return next((box for box in reversed(found) if times[box.place] == 1), None)


def _drop_frames(boxes: list[Box], frame: int, repeated: frozenset[int]) -> None:
    """Drop frames, except those with most of the page, and sum up the worth of the rest."""
    for box in boxes:
        box.is_dropped = box.place in repeated
    _sum_worth(boxes)
    # A box with most of the page is not dropped, whatever it is called.
    most = _MOST * boxes[0].worth
    for box in boxes:
        if box.hint < _NONE and not box.is_dropped and _is_frame(box, frame) and box.worth < most:
            box.is_dropped = True
        if box.is_dropped:
            _drop_children(box)
    _sum_worth(boxes)


def _drop_frame_tags(boxes: list[Box]) -> None:
    """Drop the frames of an index, compared by letters: its links have no worth."""
    most = _MOST * boxes[0].letters
    for box in boxes:
        box.is_dropped = box.hint <= _FRAME_TAG and box.letters < most
    for box in boxes:
        if box.is_dropped:
            _drop_children(box)


def _is_frame(box: Box, frame: int) -> bool:
    if box.hint == _TEASER:
        return frame == _FRAME_NAME and box.linked > _LINKS_OF_TEASER * box.letters
    return box.hint <= frame


def _drop_children(box: Box) -> None:
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
            is_sentence, is_short = box.letters >= _SENTENCE, box.letters < _SHORT
            factor = 1 if is_sentence else _WORTH_OF_SHORT if is_short else _WORTH_OF_MIDDLE
            box.worth = factor * free * free / box.letters


def _named(boxes: list[Box]) -> Box | None:
    """Return the box that the page itself names as its main text, unless it names several."""
    named = {
        at: box
        for at, box in enumerate(boxes)
        if (box.hint == _MAIN or box.tag == "article") and box.worth
    }
    if not named:
        return None
    start = max(named, key=lambda at: named[at].worth)
    best = named[start]
    if best.worth < _NAMED * boxes[0].worth:
        return None
    others, end = 0.0, 0
    for at, box in named.items():
        if at >= end:  # it is not inside an earlier one
            end = at + box.size
            if end <= start or at >= start + best.size:
                others += box.worth
    return best if others < _RIVAL * best.worth else None


def _searched(box: Box) -> Box:
    """Return the innermost box with nearly all the worth of this one."""
    is_named = False
    while True:
        best = max(box.boxes, key=_WORTH, default=None)
        if best is None or not best.tag or best.tag in _WHOLE:
            return box
        is_named = is_named or box.hint == _MAIN or box.tag in {"article", "main"}
        if best.worth < (_ALL_OF_NAMED if is_named else _NEARLY_ALL) * box.worth:
            return box
        box = best


def _lead(before: list[Box], main: Box) -> list[Box]:
    """Return the title before the main box, and the sentences between them unless too long."""
    after_title = list(takewhile(lambda box: box.tag != "h1", reversed(before)))
    if len(after_title) == len(before):
        return []
    lines = [run for run in after_title if not run.is_dropped and _is_sentence(run)]
    if sum(map(_WORTH, lines)) > _LEAD * main.worth:
        lines = []
    return [*preorder(before[-len(after_title) - 1]), *lines]


def _is_sentence(box: Box) -> bool:
    is_long = not box.tag and box.letters >= _SENTENCE
    return is_long and box.linked < _LEAD_LINKS * box.letters


def _prune(inside: list[Box]) -> None:
    """Drop links, scraps and headings without a section. The main box comes first."""
    for box in inside[1:]:
        most = _LINKS if box.letters < _LONG else _MANY_LINKS
        if box.tag in _MAY_BE_LINKS and box.linked > most * box.letters:
            box.is_dropped = True
        if box.is_dropped:
            _drop_children(box)
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
    of_headings = {id(one) for box in headings for one in preorder(box)}
    covered, has_lost = 0, True  # headings of lower numbers have a section here
    for box in reversed(inside):
        if box.tag in HEADINGS:
            level = int(box.tag[1])
            if level >= covered and has_lost:
                for one in preorder(box):
                    one.is_dropped = True
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
    if run.letters >= _SHORT or run.text[-1:] in _ENDS:
        return False
    return all(inline.mark != "`" for _, inline in run.pieces)


# ================================================================ places of a site
#
# Pages of one site teach where their main text is, and where text repeats.
#
# A place is the chain of elements, classes and ids that leads to a box, without the numbers in
# names. Two kinds of places are learned:
#
#     repeated   at least 95 % of the letters there are at that place of other pages as well: menus,
#                teasers. Versions of the page and lists of pages do not count, and a sentence
#                between the title and the body only if 20 % of the pages have it
#     main       at least 10 % of the pages have their main box there, once repeated text is dropped
#
#     body > div.c1f            the same words on all pages: repeated
#     body > div.c9a            the main box of 4 pages of 40, which have many comments: main
#     body > div.c9a > div.c3e  the main box of the 36 others: main; of two, the inner is taken
#
# Repeated lines instead of places were rejected: in manuals, tables and signatures repeat from page
# to page and are main text nevertheless. For the same reason headings, code, cells and terms are
# never dropped. Nothing is learned from few pages: with 5 to 10 the result is worse than without.

FEWEST_PAGES = 20
_REPEATED = 0.95
_USUAL = 0.2
"""Minimum share of the pages with a place for it to be repeated."""
_OF_VERSION = 0.8
"""Share of the sentences of its own that a page has in common with a version of it."""
_MOST_OF_PEER = 2
"""Number of times as much text that another page may have at a place; a list of pages has more."""
_VOTES = 0.1
_KEPT = HEADINGS | {"dt", "pre", "td", "th"}


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
    boxes, no_pieces = boxes_of(markup), list[tuple[str, Inline]]()
    for box in boxes:
        box.node, box.pieces = None, no_pieces
    return boxes


def _repeated(pages: Sequence[list[Box]]) -> frozenset[int]:
    usual = _USUAL * len(pages)
    runs = [_runs_that_may_repeat(boxes) for boxes in pages]
    letters_at = defaultdict[int, Counter[int]](Counter)  # a place, of each page
    pages_with = defaultdict[tuple[int, int], set[int]](set)  # a text at a place
    for number, page in enumerate(runs):
        for run in page:
            letters_at[run.place][number] += run.letters
            pages_with[run.place, run.text].add(number)
    versions = _versions(runs, usual)
    repeated = Counter[int]()  # letters at a place
    for number, page in enumerate(runs):
        is_lead = True
        for run in page:
            others, letters = pages_with[run.place, run.text], letters_at[run.place]
            most = _MOST_OF_PEER * letters[number]
            is_usual = len(others) >= usual
            is_repeated = is_usual or any(
                letters[number] <= _MOST_OF_PEER * letters[other] and letters[other] <= most
                for other in others - versions[number]
            )
            if run.is_after_title and run.letters >= _SENTENCE:
                is_lead = is_lead and is_repeated
                is_repeated = is_usual or (is_repeated and not is_lead)
            repeated[run.place] += run.letters * is_repeated
    return frozenset(
        place
        for place, letters in letters_at.items()
        if len(letters) >= usual and repeated[place] >= _REPEATED * letters.total()
    )


class _Run(NamedTuple):
    place: int
    text: int  # its hash
    letters: int
    is_after_title: bool


def _runs_that_may_repeat(boxes: list[Box]) -> list[_Run]:
    runs, end, is_after_title = list[_Run](), 0, False
    for at, box in enumerate(boxes):
        is_after_title = is_after_title or box.tag == "h1"
        if at >= end and not box.tag:
            runs.append(_Run(box.place, hash(box.text), box.letters, is_after_title))
        elif at >= end and box.tag in _KEPT:
            end = at + box.size
    return runs


def _versions(runs: Sequence[list[_Run]], usual: float) -> list[set[int]]:
    """Return the versions of each page: itself, and pages with nearly the same own sentences.

    Of two such pages, one may have more, such as comments that a print version lacks.
    """
    pages_with = defaultdict[int, set[int]](set)
    texts = [{run.text: run.letters for run in page if run.letters >= _SENTENCE} for page in runs]
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


# ================================================================ language
#
# Detects the language of a text.
#
# py3langid was the best of six libraries in 47 languages: right for .974 of texts of 50 characters
# and .996 of 200, in .1 ms. Its model takes 100 MB, so it is loaded on the first call.

_FEWEST_LETTERS = 20
"""Minimum number of letters for a detection."""
_MOST_FOR_LANGUAGE = 2000
"""Maximum characters to read; more would not change the result."""


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language, such as `de`; "" if there is too little text."""
    beginning = text[:_MOST_FOR_LANGUAGE]
    if sum(map(str.isalpha, beginning)) < _FEWEST_LETTERS:
        return ""
    with needs("text", "detection of languages"):
        from py3langid import classify

    return str(classify(beginning)[0])


# ================================================================ Markdown
#
# Writes the main text of a page as Markdown: headings, lists, tables, code and links.
#
# Boxes are written in order. Each list item and quote has a prefix for its first line and one for
# the lines after it, which follow the prefixes of the enclosing items:
#
#     > - first item        prefixes "> " and "- ", which is used once
#     >   its second line   prefixes "> " and "  "
#
# Laws: the content of `pre` is exact. Characters that mean something in Markdown are escaped. The
# length of prefixes is limited, so that the output is proportional to the input.

_DEEPEST = 12
"""Maximum level of lists and quotes; deeper ones are written at this level."""
_MOST_CELLS = 200
"""Cells of a row; wider tables are written cell by cell."""
_IN_TARGET = str.maketrans({" ": "%20", "(": "%28", ")": "%29", "\t": "", "\n": "", "\r": ""})
"""What would end the target of a link, and what browsers remove from one."""
_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")
_START = re.compile(r"(?m)^(#{1,6}(?= )|[-+>](?= )|\d+(?=[.)] ))")
_LANGUAGE = re.compile(r"\b(?:brush:\s*|highlight-(?:source-)?|lang(?:uage)?-)([\w+#-]{1,20})")
_FEWEST_OF_TABLE = 2
"""Rows and columns of a table of data."""
_NOT_IN_CELLS = HEADINGS | {"dl", "ol", "pre", "table", "ul"}


def markdown(boxes: Sequence[Box], url: str) -> str:
    """Return the main text of the page at a URL as Markdown."""
    return _Writer(url).written(boxes[0])


class _Place:
    """List item, quote or definition that text is in."""

    def __init__(self, above: _Place | None = None, marker: str = "", indent: str = "") -> None:
        self.above = above
        self.rest: str = above.rest + indent if above else ""
        self.depth: int = above.depth + 1 if above else 0
        self._marker = marker

    def first(self) -> str:
        """Return the prefix of the next line; markers are used once."""
        if self.above is None or not self._marker:
            return self.rest
        marker, self._marker = self._marker, ""
        return self.above.first() + marker


class _Block(NamedTuple):
    text: str
    is_item: bool


class _Writer:
    def __init__(self, url: str) -> None:
        self._url = url
        self._blocks: list[_Block] = []

    def written(self, root: Box) -> str:
        """Return the text of the boxes."""
        stack: list[tuple[Box, _Place, str]] = [(root, _Place(), "- ")]
        while stack:
            box, place, bullet = stack.pop()
            if not box.tag:
                if not box.is_dropped:
                    self._write_run(box, place)
            elif box.tag in HEADINGS:
                if text := self._line(box):
                    self._write(f"{'#' * int(box.tag[1])} {text}", place)
            elif box.tag != "table" or not self._write_table(box, place):
                inside = _inside(box, place, bullet)
                children = zip(box.boxes, _bullets(box), strict=True)
                below = [(child, inside, marker) for child, marker in children]
                stack.extend(reversed(below))
        return "".join(self._joined())

    def _joined(self) -> Iterator[str]:
        was_item = False
        for at, block in enumerate(self._blocks):
            if at:
                yield "\n" if was_item and block.is_item else "\n\n"
            yield block.text
            was_item = block.is_item

    def _write(self, text: str, place: _Place) -> None:
        first = place.first()
        lines = text.replace("\n", f"\n{place.rest}") if place.rest else text
        self._blocks.append(_Block(first + lines, is_item=first != place.rest))

    def _write_run(self, run: Box, place: _Place) -> None:
        if not run.pieces[0][1].is_exact:
            self._write(_START.sub(r"\\\1", self._inline(run)), place)
            return
        code = run.text
        # Longer than any fence in the code, which would otherwise end the block.
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
        self._write(f"{fence}{_language(run)}\n{code}\n{fence}", place)

    def _line(self, box: Box) -> str:
        return " ".join(self._inline(run).replace("\n", " ") for run in runs(preorder(box))).strip()

    def _inline(self, run: Box) -> str:
        parts = []
        for inline, pieces in groupby(run.pieces, key=lambda piece: piece[1]):
            text = "".join([text for text, _ in pieces])
            parts.append(self._marked(text, inline))
        lines = "".join(parts).split(BREAK)
        return "  \n".join(filter(None, (" ".join(line.split()) for line in lines)))

    def _marked(self, text: str, inline: Inline) -> str:
        core = text.strip(f" \t\r\n\f{BREAK}")
        if not core:
            return text
        start = text.index(core)
        if inline.mark == "`":
            marked = _code(core.replace(BREAK, " "))
        else:
            mark = "" if BREAK in core else inline.mark
            marked = mark + _SPECIAL.sub(r"\\\g<0>", core) + mark
        if target := self._target(inline.link):
            marked = f"[{marked}]({target})"
        return text[:start] + marked + text[start + len(core) :]

    def _target(self, link: str | None) -> str | None:
        """Return the URL of a link to another page."""
        if not link or link.startswith("#"):
            return None
        found = canonical(link, self._url or None)
        _, mark, fragment = link.partition("#")
        return found and f"{found}{mark}{fragment}".translate(_IN_TARGET)

    def _write_table(self, table: Box, place: _Place) -> bool:
        """Write a table of data; return False for one that is a layout."""
        rows = _cells(table)
        columns = max(map(len, rows), default=0)
        if not _FEWEST_OF_TABLE <= columns <= _MOST_CELLS:
            return False
        lines = [[self._line(cell).replace("|", "\\|") for cell in row] for row in rows]
        lines = [cells for cells in lines if any(cells)]
        if len(lines) < _FEWEST_OF_TABLE:
            return False
        lines[0] += [""] * (columns - len(lines[0]))  # other rows may be shorter
        lines.insert(1, ["---"] * columns)
        for box in table.boxes:
            if box.tag == "caption" and (text := self._line(box)):
                self._write(text, place)
        self._write("\n".join(f"| {' | '.join(cells)} |" for cells in lines), place)
        return True


def _cells(table: Box) -> list[list[Box]]:
    """Return the cells of each row, or nothing if a cell has more than text."""
    rows = []
    for box in islice(preorder(table), 1, None):
        if box.tag in _NOT_IN_CELLS:
            return []
        if box.tag == "tr":
            rows.append([child for child in box.boxes if child.tag in {"td", "th"}])
    return rows


def _inside(box: Box, place: _Place, bullet: str) -> _Place:
    if place.depth >= _DEEPEST:
        return place
    if box.tag == "li":
        return _Place(place, bullet, " " * len(bullet))
    if box.tag == "dd":
        return _Place(place, ":   ", "    ")
    return _Place(place, "> ", "> ") if box.tag == "blockquote" else place


def _bullets(box: Box) -> Iterator[str]:
    """Yield the marker of each child, if it is an item."""
    number = 0
    for child in box.boxes:
        number += child.tag == "li"
        yield f"{number}. " if box.tag == "ol" else "- "


def _code(text: str) -> str:
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _language(run: Box) -> str:
    """Return the language of code, which is named by one of the elements around it."""
    assert run.node is not None
    node, names = run.node.parent, ""
    for _ in range(3):  # at least `pre`, `body` and `html`
        assert node is not None
        names += f" {(node.attributes.get('class') or '')[:100]}"
        node = node.parent
    found = _LANGUAGE.search(names)
    return found[1] if found else ""


# ================================================================ parsers
#
# A text is better if the site of the page is known: see `learned`.

_main_boxes = lru_cache(1)(main_boxes)  # for a page of which several texts are made


class SiteText:
    """Parser that makes a text of the boxes of pages; better if it knows their site."""

    def __init__(
        self, make: Callable[[list[Box], str], str], places: SitePlaces = NO_PLACES
    ) -> None:
        self._make, self._places = make, places

    def __call__(self, markup: str, url: str) -> str:
        return self._make(_main_boxes(markup, self._places), url)

    def for_site(self, pages: Sequence[str]) -> SiteText:
        """Return the parser for the site of these pages."""
        return SiteText(self._make, learned(tuple(pages)))


MAIN = SiteText(lambda boxes, _url: main_text(boxes))
MARKDOWN = SiteText(markdown)
LANGUAGE = SiteText(lambda boxes, _url: language_of(main_text(boxes)))
