"""Makes of a page a tree of boxes, which its texts are made of.

There is a box for each block element, and one for each run of text between blocks:

    <div><h1>Title</h1>Some <b>text</b><p>and more</div>

    div
      h1
        run  "Title"
      run    "Some text", in two pieces: as it is, and strong
      p
        run  "and more"

Laws: a box is followed by all boxes inside it. The time is proportional to the number of nodes, as
facts about ancestors are handed down and never looked up. Lexbor itself takes quadratic time on
some pages, so call this where it can be killed.

place   chain of elements, classes and ids that leads to a box, as a hash
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.errors import needs
from minicrawl.text.formulas import FORMULAS, formula
from minicrawl.text.hints import HEADINGS, NONE, is_doubled, is_unseen, signs, words

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "sub": "sub", "sup": "sup", "del": "~~"}
_MARKS |= dict.fromkeys(("code", "kbd", "samp", "tt"), "`")
_INLINE = {*_MARKS, "a", "pre"}
_BLOCKS = HEADINGS | words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form header hr li main menu nav noscript ol p pre section summary "
    "table tbody td tfoot th thead tr ul"
)
_NO_TEXT = words(
    "-comment audio button canvas datalist embed head iframe input map object option "
    "rp rt script select style svg template textarea video"
)
_NO_ATTRIBUTES: dict[str, str | None] = {}
_ANCHORS = words("# ¶ § ↩ ↩︎ ↵ ↑ ⤴ ^ \u200b")
"""Texts of links to a heading itself, or from a note back to where it is referred to. They are left
out, and so are links into a page that it begins with, as "Skip to content".
"""
BREAK = "\0"
"""Line break inside a run; the parser leaves no such character in a text."""


class Inline(NamedTuple):
    """Meaning of a piece of text inside its block."""

    link: str | None = None
    mark: str = ""
    """Markdown's mark of code, or of strong, emphasised or deleted text; `sub`, `sup`, `$`: TeX."""
    is_exact: bool = False
    """True inside `pre`."""


@dataclass(slots=True, eq=False)
class Box:
    """Block element, or run of text between blocks, whose tag is ""."""

    tag: str
    node: LexborNode | None
    hint: int = NONE
    place: int = 0
    boxes: list[Box] = field(default_factory=list)
    pieces: list[tuple[str, Inline]] = field(default_factory=list)
    text: str = ""
    """Text of a run; whitespace is folded outside `pre`."""
    letters: int = 0
    linked: int = 0
    size: int = 1
    """Number of boxes: this one and all inside it."""
    worth: float = 0.0
    kind: str = ""
    """Class, or the first word of a class of posts."""
    is_dropped: bool = False

    def said(self, name: str) -> str:
        """Return the value of an attribute of the element, or ""."""
        return ("" if self.node is None else self.node.attributes.get(name)) or ""


def runs(boxes: Iterable[Box]) -> Iterator[Box]:
    """Yield the runs that were not dropped."""
    return (box for box in boxes if not box.tag and not box.is_dropped)


def outermost(boxes: Sequence[Box], is_one: Callable[[Box], bool]) -> list[Box]:
    """Return the boxes of which this is true, without those inside them and dropped ones."""
    outer, end = list[Box](), 0
    for at, box in enumerate(boxes):
        if at >= end and not box.is_dropped and is_one(box):
            outer.append(box)
            end = at + box.size
    return outer


def preorder(root: Box) -> Iterator[Box]:
    """Yield a box and all below it, each before those inside it."""
    stack = [root]
    while stack:
        box = stack.pop()
        yield box
        stack.extend(reversed(box.boxes))


@lru_cache(1)
def parse(markup: str) -> LexborHTMLParser:
    """Return the page parsed; several texts of a page need it once."""
    with needs("text", "main text"):
        from selectolax.lexbor import LexborHTMLParser
    return LexborHTMLParser(markup)


def read(markup: str, *, with_unseen: bool = False) -> tuple[list[Box], int]:
    """Return the boxes of a page, first the page itself, and the letters that people do not see."""
    body = parse(markup).body
    root = Box("body", body)
    boxes = [root]
    run, of_run, unseen = root, root, 0
    has_runs = False
    # A stack of our own instead of recursion: pages may be nested deeper than Python allows.
    stack: list[tuple[LexborNode | None, Box, Inline]] = [(body and body.child, root, Inline())]
    while stack:
        node, box, inline = stack.pop()
        link, _, is_exact = inline
        while node is not None:
            tag = node.tag or ""
            text = node.text_content or "" if tag == "-text" else _text_of(node, tag)
            if text is not None:
                is_first = run is root or of_run is not box
                is_space = text is BREAK or (not is_exact and text.isspace())
                is_anchor = link is not None and (
                    text.strip() in _ANCHORS or (link.startswith("#") and not has_runs)
                )
                if not (is_anchor or (is_first and is_space)):
                    if is_first:
                        run, of_run = _added(boxes, box, "", node, place=box.place), box
                        has_runs = True
                    if link is not None:
                        run.linked += len(text)
                    run.pieces.append((text, Inline(mark="$") if tag in FORMULAS else inline))
                node = node.next
                continue
            is_block = tag in _BLOCKS
            may_hide = is_block or is_exact
            attributes = node.attributes if may_hide or tag == "span" else _NO_ATTRIBUTES
            is_hidden = tag == "noscript" or (
                may_hide and bool(attributes) and is_unseen(attributes)
            )
            if (
                tag in _NO_TEXT
                or (is_hidden and not with_unseen)
                or (attributes and is_doubled(attributes))
            ):
                unseen += len(node.text()) if is_hidden else 0
                node = node.next
                continue
            above = box
            if is_block and not is_exact:
                hint, class_, id_, kind = signs(tag, attributes)
                place = hash((box.place, tag, class_, id_))
                run, box = root, _added(boxes, box, tag, node, hint, place)
                box.kind = kind
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
    _measure(boxes)
    return boxes, unseen


def _added(
    boxes: list[Box], above: Box, tag: str, node: LexborNode, hint: int = NONE, place: int = 0
) -> Box:
    box = Box(tag, node, hint, place)
    above.boxes.append(box)
    boxes.append(box)
    return box


def _text_of(node: LexborNode, tag: str) -> str | None:
    """Return the text that an element stands for: a line break, or a formula as TeX."""
    if tag == "br":
        return BREAK
    return formula(node, tag) if tag in FORMULAS else None


def _inline(tag: str, node: LexborNode, around: Inline) -> Inline:
    if tag == "a":
        return around._replace(link=node.attributes.get("href") or "")
    if tag == "pre":
        return around._replace(is_exact=True)
    mark = _MARKS[tag]
    return (
        around
        if around.mark == "`" or (around.mark and mark == "*")
        else around._replace(mark=mark)
    )


_LETTERS, _LINKED, _SIZE = map(attrgetter, ("letters", "linked", "size"))


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
