"""Writes the main text of a page as Markdown: headings, lists, tables, code and links.

Boxes are written in order. Each list item and quote has a prefix for its first line and one for
the lines after it, which follow the prefixes of the enclosing items:

    > - first item        prefixes "> " and "- ", which is used once
    >   its second line   prefixes "> " and "  "

Laws: the content of `pre` is exact. Characters that mean something in Markdown are escaped. The
length of prefixes is limited, so that the output is proportional to the input.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, islice

from minicrawl.text.boxes import BREAK, Box, Inline, preorder, runs
from minicrawl.text.hints import HEADINGS, TITLE, words
from minicrawl.web.urls import canonical

_DEEPEST = 12
"""Maximum level of lists and quotes; deeper ones are written at this level."""
_IN_TARGET = str.maketrans({" ": "%20", "(": "%28", ")": "%29", "\t": "", "\n": "", "\r": ""})
"""What would end the target of a link, and what browsers remove from one."""
_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_START = re.compile(r"(?m)^(\d+(?=[.)](?: |$))|(?=[>=~]|#{1,6}(?: |$)|[-+](?:[ -]|$)))")
_ESCAPE = r"\\\g<0>"
_LONGEST_ALT = 200
_INDENTS = {"blockquote": ("> ", "> "), "dd": (":   ", "    ")}
_OF_NOTES = words("aside dd div li p")
"""Elements that may be a footnote."""
_LABEL = re.compile(r"[\w*†‡]{1,4}")
_LANGUAGE = re.compile(
    r"\b(?:brush:\s*|highlight-(?:source-)?|lang(?:uage)?-|(?:hljs|sourceCode|codehilite)\s+"
    r"(?:lang(?:uage)?-)?|(?=\S+\s+hljs\b))([\w+#-]{1,20})"
)
"""Language of code, as named by Sphinx, Pygments, GitHub, pandoc, highlight.js and Prism."""
_NO_LANGUAGES = words("default en en-US none text plaintext notranslate")
_CODE = words("code pre")
_AROUND_CODE = 4
"""Elements around code that may name its language: Rouge has `code`, `pre` and two of `div`."""


def markdown(boxes: Sequence[Box], url: str) -> str:
    """Return the main text of the page at a URL as Markdown."""
    return _Writer(url).written(boxes[0])


class _Place:
    """List item, quote or definition that text is in."""

    def __init__(self, above: "_Place | None" = None, marker: str = "", indent: str = "") -> None:
        self.above = above
        self.rest: str = above.rest + indent if above else ""
        self.depth: int = above.depth + 1 if above else 0
        self.marker = marker
        self._is_written = not marker

    def first(self) -> str:
        """Return the prefix of the next line; markers are used once."""
        if self.above is None or self._is_written:
            return self.rest
        self._is_written = True
        return self.above.first() + self.marker


def _around(place: _Place, other: _Place) -> _Place:
    """Return the innermost place that is around both."""
    while place is not other:
        inner, other = (place, other) if place.depth >= other.depth else (other, place)
        assert inner.above is not None  # the place without one is around all
        place = inner.above
    return place


class _Writer:
    def __init__(self, url: str) -> None:
        self._url = url
        self._blocks: list[tuple[str, _Place, bool]] = []
        """Texts, each with its place, and True if it begins an item of a list."""
        self._captions = set[int]()
        self._notes = dict[str, str]()
        """Labels of footnotes by the ids of their elements."""

    def written(self, root: Box) -> str:
        self._notes, labels = _notes(root)
        stack: list[tuple[Box, _Place, str]] = [(root, _Place(), "")]
        while stack:
            box, place, bullet = stack.pop()
            if not box.tag:
                if not box.is_dropped and id(box) not in labels:
                    self._write_run(box, place)
            elif box.tag in HEADINGS:
                if text := self._line(box, is_whole=box.hint == TITLE):
                    self._write(f"{'#' * int(box.tag[1])} {text}", place)
            elif box.tag == "table" and (rows := rows_of(box)):
                self._write_table(rows, box, place)
            elif id(box) in self._captions:
                if text := self._line(box, is_whole=True):
                    self._write(text, place)
            else:
                if box.tag == "figure" and not box.is_dropped:
                    self._write_picture(box, place)
                note = self._notes.get(box.said("id")) if box.tag in _OF_NOTES else None
                inside = _inside(box, place, bullet, note)
                bullets = _bullets(box, "" if bullet else self._last_marker(inside))
                children = zip(box.boxes, bullets, strict=True)
                below = [(child, inside, its_marker) for child, its_marker in children]
                stack.extend(reversed(below))
        return "".join(self._joined())

    def _joined(self) -> Iterator[str]:
        for at, (text, place, is_item) in enumerate(self._blocks):
            if at:
                _, before, was_item = self._blocks[at - 1]
                around = _around(before, place)
                is_next = was_item and is_item and place.above is around
                yield "\n" if is_next else f"\n{around.rest.rstrip()}\n"
            yield text

    def _write(self, text: str, place: _Place) -> None:
        first = place.first()
        lines = text.replace("\n", f"\n{place.rest}") if place.rest else text
        self._blocks.append((first + lines, place, first != place.rest))

    def _last_marker(self, place: _Place) -> str:
        """Return the marker of the item that a list at this place would follow, or ""."""
        item = self._blocks[-1][1] if self._blocks else place
        while item.above is not None and item.above is not place:
            item = item.above
        return item.marker

    def _write_run(self, run: Box, place: _Place) -> None:
        if not run.pieces[0][1].is_exact:
            self._write(_START.sub(r"\1\\", self._inline(run)), place)
            return
        code = run.text
        # Longer than any fence in the code, which would otherwise end the block.
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
        self._write(f"{fence}{_language(run)}\n{code}\n{fence}", place)

    def _line(self, box: Box, *, is_whole: bool = False) -> str:
        """Return the text of a box on one line, perhaps with runs that were dropped."""
        inside = (run for run in preorder(box) if not run.tag and (is_whole or not run.is_dropped))
        return " ".join(map(self._inline, inside)).replace("  \n", " ").strip()

    def _write_table(self, rows: list[list[Box | None]], table: Box, place: _Place) -> None:
        """Write the rows with text, the first as the heads of columns."""
        lines = [
            ["" if cell is None else self._line(cell).replace("|", "\\|") for cell in row]
            for row in rows
        ]
        lines = [cells for cells in lines if any(cells)]
        lines.insert(1, ["---"] * len(rows[0]))
        for box in table.boxes:
            if box.tag == "caption" and (text := self._line(box)):
                self._write(text, place)
        self._write("\n".join(f"| {' | '.join(cells)} |" for cells in lines), place)

    def _write_picture(self, figure: Box, place: _Place) -> None:
        """Write the picture of a figure; captions are no main text, but belong to what they say."""
        picture = None if figure.node is None else figure.node.css_first("img[src]")
        if picture is not None and (source := self._target(picture.attributes.get("src"))):
            alt = " ".join((picture.attributes.get("alt") or "").split())[:_LONGEST_ALT]
            self._write(f"![{_SPECIAL.sub(_ESCAPE, alt)}]({source})", place)
        captions = [box for box in figure.boxes if box.tag == "figcaption"]
        if picture is not None or figure.letters > sum(box.letters for box in captions):
            self._captions |= set(map(id, captions))

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
        if note := self._notes.get((inline.link or "")[1:]):
            return f"[^{note}]"
        start = text.index(core)
        if inline.mark == "`":
            code = core.replace(BREAK, " ")
            fence = "`" * (1 + max(map(len, re.findall("`+", code)), default=0))
            marked = f"{fence} {code} {fence}" if "`" in code else f"`{code}`"
        elif inline.mark == "$":
            marked = f"${core}$"
        elif inline.mark in {"sub", "sup"}:
            escaped = _SPECIAL.sub(_ESCAPE, core)
            marked = f"<{inline.mark}>{escaped}</{inline.mark}>"
        else:
            mark = "" if BREAK in core else inline.mark
            marked = mark + _SPECIAL.sub(_ESCAPE, core) + mark
        if target := self._target(inline.link):
            marked = f"[{marked}]({target})"
        return text[:start] + marked + text[start + len(core) :]

    def _target(self, link: str | None) -> str | None:
        """Return the URL of a link to another page."""
        if not link or link.startswith("#"):
            return None
        url = canonical(link, self._url or None)
        _, mark, fragment = link.partition("#")
        return url and f"{url}{mark}{fragment}".translate(_IN_TARGET)


def _notes(root: Box) -> tuple[dict[str, str], set[int]]:
    """Return the labels of the footnotes of a page, and the runs in which notes repeat them.

    Short links refer to notes: `[1]`, `*`. Notes that were dropped have none.
    """
    boxes = [*preorder(root)]
    before = [0, *accumulate(not (box.tag or box.is_dropped) for box in boxes)]
    targets = {
        box.said("id"): boxes[at + 1 : at + 3]
        for at, box in enumerate(boxes)
        if box.tag in _OF_NOTES and before[at + box.size] > before[at]
    }
    notes = dict[str, str]()
    for run in runs(boxes):
        for link, pieces in groupby(run.pieces, key=lambda piece: piece[1].link or ""):
            label = "".join([text for text, _ in pieces]).strip("[]() ")
            if link[:1] == "#" and link[1:] in targets and _LABEL.fullmatch(label):
                notes.setdefault(link[1:], label)
    if len(set(notes.values())) < len(notes):
        return {}, set()
    heads = ((box, label) for name, label in notes.items() for box in targets[name])
    return notes, {id(box) for box, label in heads if box.text.strip("[]()") == label}


def _inside(box: Box, place: _Place, bullet: str, note: str | None) -> _Place:
    if note:
        marker, indent = f"[^{note}]: ", "    "
    elif box.tag == "li":
        marker, indent = bullet + _task(box), " " * len(bullet)
    else:
        marker, indent = _INDENTS.get(box.tag, ("", ""))
    return _Place(place, marker, indent) if indent and place.depth < _DEEPEST else place


def _task(item: Box) -> str:
    """Return the box of a task that an item of a list begins with."""
    first = None if item.node is None else next(iter(item.node.iter()), None)
    if first is None or first.attributes.get("type") != "checkbox":
        return ""
    return "[x] " if "checked" in first.attributes else "[ ] "


def _bullets(box: Box, before: str) -> Iterator[str]:
    """Yield the marker of each item, and of what else is in a list; of no kind that is before."""
    number, end = number_in(box, "start", 1) - 1, ")" if ". " in before else "."
    for child in box.boxes:
        if child.tag == "li":
            number = number_in(child, "value", number + 1)
        is_in_list = child.tag == "li" or box.tag == "ul"
        bullet = ("* " if before.startswith("- ") else "- ") if is_in_list else ""
        yield f"{number}{end} " if box.tag == "ol" else bullet


def _language(run: Box) -> str:
    """Return the language of code, which is named by one of the elements around it."""
    assert run.node is not None
    node, names = run.node.parent, ""
    for _ in range(_AROUND_CODE):
        assert node is not None  # at least `pre`, `body`, `html` and the document
        attributes = node.attributes
        of_code = attributes.get("lang") if node.tag in _CODE else None
        if declared := attributes.get("data-lang") or attributes.get("data-language") or of_code:
            names += f" lang-{declared[:20]}"
        names += f" {(attributes.get('class') or '')[:100]}"
        node = node.parent
    language = _LANGUAGE.search(names)
    return language[1] if language and language[1] not in _NO_LANGUAGES else ""


_MOST_CELLS = 200
"""Cells of a row; wider tables are layouts."""
_FEWEST = 2
"""Rows and columns of a table of data."""
_SECTIONS = words("tbody tfoot thead")
_DIGITS, _ENDLESS = 4, 10_000
_NOT_IN_CELLS = HEADINGS | {"dl", "ol", "pre", "table", "ul"}


def rows_of(table: Box) -> list[list[Box | None]]:
    """Return the cells of each row, all rows equally long, or nothing for a layout.

    A cell that spans columns or rows is in the first of them, and the others are empty, so that all
    cells of a column are below each other:

        <td rowspan=2>a  <td>b          a   b
                         <td>c              c

    A table whose cells have more than text, such as lists, is a layout.
    """
    rows, columns = list[list[Box | None]](), 0
    free_from = dict[int, int]()  # row from which on a column is free
    for box in islice(preorder(table), 1, None):
        if box.tag in _NOT_IN_CELLS:
            return []
        if box.tag in _SECTIONS:
            free_from.clear()
        if box.tag == "tr":
            row, at = list[Box | None](), len(rows)
            for cell in box.boxes:
                if cell.tag in {"td", "th"}:
                    while free_from.get(len(row), 0) > at:
                        row.append(None)
                    wide = min(max(number_in(cell, "colspan", 1), 1), _MOST_CELLS)
                    down = number_in(cell, "rowspan", 1)
                    if down != 1:  # 0 is for all rows of a section
                        spanned = range(len(row), len(row) + wide)
                        free_from |= dict.fromkeys(spanned, at + (down or _ENDLESS))
                    row += [cell, *[None] * (wide - 1)]
                if len(row) > _MOST_CELLS:
                    return []
            rows.append(row)
            columns = max(columns, len(row))
    filled = sum(any(cell and any(runs(preorder(cell))) for cell in row) for row in rows)
    if columns < _FEWEST or filled < _FEWEST:
        return []
    return [row + [None] * (columns - len(row)) for row in rows]


def number_in(box: Box, name: str, default: int) -> int:
    """Return the number in an attribute of an element, or the default."""
    text = box.said(name)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else default
