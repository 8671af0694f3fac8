"""Extracts the searchable text of a page: title, headings, lines of text, and links with words.

Lexbor parses markup as browsers do, but takes quadratic time on some pages: call `page_text` where
it can be killed, and `simple_text` for a page that took too long.

Law: scripts, styles, templates and hidden elements are not text, and <noscript> is text only on a
page that has next to none otherwise.

frame   parts that a page marks as navigation, header or footer
"""

from __future__ import annotations

import gc
import marshal
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import compress, islice, repeat
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlsplit
from zlib import crc32

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged
from minicrawl.memory import PATIENCE_S, limit_processor_time, why_ended
from minicrawl.report.archived.killable_process import KillableProcess, Parent
from minicrawl.report.archived.page_texts import TextMaker
from minicrawl.web.documents import (
    Written,
    can_read_pdf,
    decoded_text,
    parse_pdf,
    read_markdown,
    read_text,
)
from minicrawl.web.markup import UTF_8, decode, encoded_query
from minicrawl.web.references import headings, language, plain_text, with_noscript
from minicrawl.web.responses import ALL, DocumentType, parse_content_type, type_of
from minicrawl.web.urls import canonical, site

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_LINES, LONGEST_LINE = 50_000, 100_000
_MOST_LINKS = 10_000
_LONGEST_ANCHOR = 200
_LONGEST_TITLE = 1_000

# A line break goes before each block tag, so that the text of a page has a line for each block. The
# first letters distinguish these tags from common inline tags, three times faster than whole names.
_BLOCK = re.compile(r"<(?=/?(?:[dltphoDLTPHO]|[bB][rlo]|[fF]i|se|nav|as|ma|ar|ul))")
# Searching the tree for a base element takes as long as searching for all links.
_BASE = re.compile("<[bB][aA][sS][eE]")
_NO_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "head", "iframe", "object"))
_NOT_SEEN = re.compile(
    "(?:^|;)(?:"
    "(?:display:none|visibility:hidden|opacity:0|font-size:0(?:px)?)(?=[;!]|$)"
    "|(?:text-indent|left|top):-999)"
)
"""Declarations that hide text. `opacity:0` must not match `opacity:0.9`.

One is enough, even if a later one overrides it: browsers ignore a later one with a wrong value.
"""
_PERHAPS_HIDDEN = ",".join((*sorted(_NO_TEXT), "[hidden]", "[aria-hidden=true]", "[style]"))
_FRAME = "nav,header,footer,aside,[role=navigation],[role=banner],[role=contentinfo],[role=search]"
_HEADINGS = "h1,h2,h3,h4,h5,h6,dt"
_BELOW_FOLDERS = re.compile(r"[^?#/][^?#]*")


class AnchorText(NamedTuple):
    """Link, with its words."""

    url: str
    words: str


class PageText(NamedTuple):
    """Text of a page, by part."""

    title: str = ""
    headings: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    language: str = ""
    anchors: tuple[AnchorText, ...] = ()
    main: tuple[str, ...] = ()
    """Lines of the main text; none if it is unknown."""


def page_text(
    markup: str, url: str, main_text: TextMaker | None = None, encoding: str = UTF_8
) -> PageText:
    """Return the text of the page at this URL, with the lines that `main_text` makes of it."""
    from selectolax.lexbor import LexborHTMLParser

    plain = with_noscript(markup).replace("\n", " ").replace("\r", " ")
    tree = LexborHTMLParser(_BLOCK.sub("\n<", plain))
    anchors = tuple(_anchors(tree, url, encoding, has_base=_BASE.search(plain) is not None))
    title = _line(tree.css_first("title"))[:_LONGEST_TITLE]
    said = language(markup[:LONGEST_LINE])
    _drop([node for node in tree.css(_PERHAPS_HIDDEN) if _is_hidden(node)])
    main = () if main_text is None else tuple(_lines(main_text(tree.html or "", url)))
    found = tuple(filter(None, map(_line, tree.css(_HEADINGS))))
    frame = tuple(_frame(tree))
    body = tree.body
    lines = () if body is None else tuple(_lines(body.text()))
    return PageText(title, found, lines, frame, said, anchors, main)


def simple_text(markup: str) -> PageText:
    """Return the text without links, in time proportional to the length."""
    lines = tuple(plain_text(markup).split("\n")[:MOST_LINES])
    found = tuple(one.text for one in headings(markup))
    return PageText("", found, lines, (), language(markup))


def _anchors(
    tree: LexborHTMLParser, url: str, encoding: str, *, has_base: bool
) -> Iterator[AnchorText]:
    base = tree.css_first("base[href]") if has_base else None
    own = (base and canonical(base.attributes.get("href") or "", url)) or url
    folder = own[: own.rindex("/") + 1]
    seen = set()
    for node in tree.css("a[href]")[:_MOST_LINKS]:
        href, words = node.attributes.get("href") or "", _line(node)[:_LONGEST_ANCHOR]
        if not words or href[:1] == "#" or (href, words) in seen:
            continue
        seen.add((href, words))
        href = encoded_query(href, encoding)
        below = _BELOW_FOLDERS.match(href)
        target = _resolved(href, folder) if below else canonical(href, own)
        if target and target != url:
            yield AnchorText(target, words)


@lru_cache(1 << 14)
def _resolved(href: str, folder: str) -> str | None:
    """Resolve a reference that does not depend on the page's name.

    The cache pays because most pages of a site share their references.
    """
    return canonical(href, folder)


def _frame(tree: LexborHTMLParser) -> Iterator[str]:
    for node in _outermost(tree.css(_FRAME)):
        yield from _lines(node.text())
        node.decompose()


def _drop(nodes: list[LexborNode]) -> None:
    for node in _outermost(nodes):
        node.decompose()


def _is_hidden(node: LexborNode) -> bool:
    """Return True if people do not see the element as text, judging by its own attributes."""
    if node.tag in _NO_TEXT:
        return True
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = "".join((attributes.get("style") or "").lower().split())
    return _NOT_SEEN.search(style) is not None


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the nodes not within others: removing a node frees everything inside it."""
    ids = {node.mem_id for node in nodes}
    return [node for node in nodes if not _is_within(node, ids)]


def _is_within(node: LexborNode, ids: set[int]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in ids:
            return True
        above = above.parent
    return False


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.split("\n") if not line.isspace())
    return [line[:LONGEST_LINE] for line in lines if line][:MOST_LINES]


def _line(node: LexborNode | None) -> str:
    return "" if node is None else " ".join(node.text().split())


# ================================================================ boilerplate
#
# Boilerplate: lines that a host repeats on its pages, such as menus and notices.
#
# Laws: whether a line is boilerplate depends only on a sample of the pages of its host. Boilerplate
# can be found, but has little weight.

SAMPLE = 400
"""Pages sampled per host."""
SHARE = 0.05
FEWEST = 4
"""A line is boilerplate if it is on `SHARE` of the pages, and on at least `FEWEST`."""
SHARE_OF_TITLES = 0.2
"""Share of the pages from which on a part of a title is repeated."""
_BETWEEN_PIECES = re.compile(r"\s+[-–—|·•»«:/]+\s+|\s+(?=[(\[])|\s*[|·•»]\s*|::")


class SplitText(NamedTuple):
    """Lines of a page, split into its own and boilerplate."""

    own: list[str]
    repeated: list[str]


class HostLines:
    """Line counts over a sample of a host's pages."""

    def __init__(self, pages: int = 0, counts: Iterable[tuple[int, int]] = ()) -> None:
        self.pages = pages
        self.is_new = False
        """True if a page was added since loading."""
        self.counts: Counter[int] = Counter(dict(counts))

    @property
    def takes_more(self) -> bool:
        """True if the sample is not full."""
        return self.pages < SAMPLE

    def add(self, title: str, codes: Iterable[int]) -> None:
        """Add a page to the sample, by its title and the codes of its lines."""
        self.pages += 1
        self.is_new = True
        self.counts.update({*codes, *codes_of(_pieces(title))})

    def part(self, lines: Sequence[str], codes: Sequence[int]) -> SplitText:
        """Split the lines of a page into its own and boilerplate."""
        least = max(FEWEST, SHARE * self.pages)
        counts = map(self.counts.get, codes, repeat(0))
        is_own = [count < least for count in counts]
        return SplitText(list(compress(lines, is_own)), list(compress(lines, map(not_, is_own))))

    def own_title(self, title: str) -> str:
        """Return the title without the parts that the host repeats, unless nothing is left."""
        pieces = _pieces(title)
        least = max(FEWEST, SHARE_OF_TITLES * self.pages)
        own = [
            piece
            for piece, code in zip(pieces, codes_of(pieces), strict=True)
            if self.counts.get(code, 0) < least
        ]
        return " ".join(piece.strip() for piece in own) or title

    def remembered(self) -> Iterator[tuple[int, int]]:
        """Yield the counts to store; of a full sample, only lines seen more than once."""
        least = 1 if self.takes_more else 2
        return ((code, pages) for code, pages in self.counts.items() if pages >= least)


def _pieces(title: str) -> list[str]:
    """Return the parts of a title. A leading space distinguishes them from lines."""
    return [f" {piece}" for piece in _BETWEEN_PIECES.split(title) if piece]


def codes_of(lines: Iterable[str]) -> list[int]:
    """Return a hash of each line."""
    return [crc32(line.encode("utf-8", "replace")) for line in lines]


# ================================================================ the process that reads pages
#
# Laws: a page that exceeds its deadline, in processor time, loses its markup, and no other page is
# affected: the process is killed, and the next one reads that page as plain text, or without text
# if that takes too long as well. Once the pages of a site have cost far more than usual, its other
# pages are read as plain text, too. A PDF has no plain text. What such a limit has cut is said in
# the page. After many slow pages, deadlines become short, so that slow pages cannot take hours,
# however many they are. Pages are returned in the requested order.

DEADLINE_S, SHORT_DEADLINE_S = 5.0, 1.0
_MANY_SLOW = 20
"""Pages that took too long, after which deadlines are short."""
_MOST_OF_A_SITE_S = 10.0
_USUAL_S, _USUAL_BYTE_S = 0.01, 0.3e-6
"""Usual processor time of a page and of a byte: ten times that of manuals."""
_MOST_READ = 4 << 20
"""Maximum bytes to read of a page."""
_OK = range(200, 300)
_CODE = "from minicrawl.search.page_text import main; main()"


class ReadPage(NamedTuple):
    """Archived page, parsed."""

    place: int
    url: str
    text: PageText
    at: float
    changed: str
    """Last-Modified header, or ""."""
    type: str = "html"
    """Type of the document, as `--types` names it."""
    cut: str = ""
    """What a limit has cut, and why."""

    def as_bytes(self) -> bytes:
        """Encode for another process of the same Python; pickle takes twice as long."""
        title, headings, lines, frame, language, anchors, main = self.text
        text = title, headings, lines, frame, language, tuple(map(tuple, anchors)), main
        return marshal.dumps((self.place, self.url, text, *self[3:]))

    @classmethod
    def from_bytes(cls, content: bytes) -> ReadPage | None:
        """Return the page from the result of `as_bytes`, or None for an empty one."""
        if not content:
            return None
        page = cls._make(marshal.loads(content))
        text = PageText._make(page.text)
        anchors = tuple(map(AnchorText._make, text.anchors))
        return page._replace(text=text._replace(anchors=anchors))


class PageReader:
    """Process that reads the pages of an archive. It is started on demand."""

    def __init__(
        self,
        folder: Path,
        end: int,
        deadline_s: float = DEADLINE_S,
        many_slow: int = _MANY_SLOW,
    ) -> None:
        self._arguments = (str(folder), str(end))
        self._deadline_s, self._many_slow = deadline_s, many_slow
        self._process: KillableProcess | None = None
        self._spent_s: defaultdict[str, float] = defaultdict(float)  # by site
        self._slow = 0
        self._why_ended = ""

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def read(self, places: Sequence[int]) -> Iterator[ReadPage | None]:
        """Yield the pages at these places, in order; None if one is damaged or not a page."""
        done = 0
        while done < len(places):
            # All are requested at once, so the process reads the next page while this one is
            # indexed. If it dies, its other pages are requested again.
            for page in self._answers(places[done:]):
                done += 1
                yield page
            if done < len(places):  # this page took too long
                page = self._with_less(places[done : done + 1])
                self._charge(page)
                yield page
                done += 1

    def _with_less(self, place: Sequence[int]) -> ReadPage | None:
        """Return a page that took too long as plain text, or without text if that dies as well."""
        page = next(self._answers(place, self._why_ended), None)
        if self._process is None:  # plain reading has ended it
            page = next(self._answers(place, self._why_ended, has_text=False), None)
        return page

    def _charge(self, page: ReadPage | None) -> None:
        """Count a page that took too long, and was read as plain text."""
        self._slow += 1
        if page is not None:
            self._spent_s[_site(page.url)] += self._deadline_s
        if self._slow == self._many_slow:
            self._deadline_s = min(self._deadline_s, SHORT_DEADLINE_S)

    def _answers(
        self, places: Sequence[int], why: str = "", *, has_text: bool = True
    ) -> Iterator[ReadPage | None]:
        """Yield pages until one takes too long.

        `why` says why they are read as plain text, or not read at all.
        """
        if self._process is None:
            self._process = KillableProcess(_CODE, self._arguments)
        process = self._process
        limit_s = DEADLINE_S if why else self._deadline_s
        request = tuple(places), why, has_text, dict(self._spent_s), limit_s
        process.ask(marshal.dumps(request))
        for _ in places:
            answer = process.answer(PATIENCE_S)
            if answer is None:  # the process is late, or died, perhaps because of a page
                self.close()
                self._why_ended = why_ended(process.child.returncode, self._deadline_s)
                return
            yield ReadPage.from_bytes(answer)


def main() -> None:
    """Run the process: read the requested pages until the parent closes the pipe."""
    folder, end = sys.argv[1:]
    parent = Parent()
    archive = ArchiveReader(Path(folder), int(end))
    gc.disable()  # the parsed trees have no cycles: collections would only cost time
    _main_text()  # loaded now: later, the deadline of the first page would pay
    parent.answer(b"")  # it is ready
    spent_s: defaultdict[str, float] = defaultdict(float)
    with suppress(EOFError, BrokenPipeError):  # the parent has closed the pipe
        while True:
            places, why, has_text, spent_before_s, limit_s = marshal.loads(parent.asked())
            for name, cost_s in spent_before_s.items():
                spent_s[name] = max(spent_s[name], cost_s)
            for place in places:
                limit_processor_time(limit_s)
                page = _read(archive, place, spent_s, why, has_text=has_text)
                parent.answer(b"" if page is None else page.as_bytes())


def _read(
    archive: ArchiveReader,
    place: int,
    spent_s: defaultdict[str, float],
    why: str,
    *,
    has_text: bool,
) -> ReadPage | None:
    """Return a page; `why` says why it is read as plain text, or has no text."""
    try:
        answer = archive.answer(place)
    except Damaged:
        return None
    if answer.status not in _OK:
        return None
    name, began = _site(answer.url), time.process_time()
    if spent_s[name] > _MOST_OF_A_SITE_S:
        why = why or f"other pages of {name} took too long"
    text, cut = _text(answer, why) if has_text else (PageText(), f"its text was not made: {why}")
    spent_s[name] += max(
        0.0, time.process_time() - began - _USUAL_S - _USUAL_BYTE_S * len(answer.body)
    )
    changed = answer.headers.get("last-modified", "")
    return ReadPage(place, answer.url, text, answer.at, changed, _type(answer), cut)


def _type(answer: Answer) -> str:
    found = type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)
    return str((found or DocumentType.HTML).name).lower()


def _site(url: str) -> str:
    return site(urlsplit(url).hostname or "")


def _text(answer: Answer, why: str) -> tuple[PageText, str]:
    """Return the text, and what is cut: with a reason `why`, it is plain."""
    body = answer.body[:_MOST_READ]
    if answer.kind is RecordKind.TEXT:
        return PageText(lines=tuple(body.decode("utf-8", "replace").split("\n")[:MOST_LINES])), ""
    content_type = answer.headers.get("content-type")
    match type_of(content_type, answer.url, body, ALL):
        case DocumentType.PDF:
            text, why = (PageText(), why) if why else _pdf_text(answer.body)
            return text, why and f"its text was not made: {why}"
        case DocumentType.MARKDOWN:
            return _text_of(read_markdown, body, content_type), ""
        case DocumentType.TEXT:
            return _text_of(read_text, body, content_type), ""
    markup, encoding = decode(body, parse_content_type(content_type)[1])
    if why:
        return simple_text(markup), f"read as plain text: {why}"
    return page_text(markup, answer.url, _main_text(), encoding), ""


@lru_cache(1)
def _main_text() -> TextMaker | None:
    """Return the parser that extracts main text; None without the room `text`."""
    point = ext.entry_points(ext.PARSERS).get("main")
    return None if point is None else cast(TextMaker, point.load())


def _pdf_text(body: bytes) -> tuple[PageText, str]:
    """Return the text of a PDF, or why there is none. Its file is not cut: its table is last."""
    if not can_read_pdf():
        return PageText(), ""
    found = parse_pdf(body)
    text = PageText(found.title, lines=_bounded_lines(found.lines))
    return text, "" if found.lines else found.limit


def _text_of(read: Callable[[str], Written], body: bytes, content_type: str | None) -> PageText:
    text, _ = decoded_text(body, content_type)
    found = read(text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return PageText(found.title, found.headings, _bounded_lines(filter(None, lines)))


def _bounded_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_LINE] for line in islice(lines, MOST_LINES))
