"""Reads archived pages in a process that can be killed.

Laws: a page that exceeds its deadline loses its markup, and no other page is affected: the process
is killed, and the next one reads that page as plain text. A site whose pages have cost far more
than usual has all further ones read so; after many slow pages, deadlines become short. So no number
of such pages takes hours. Pages are returned in the requested order.
"""

from __future__ import annotations

import marshal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged
from minicrawl.report.page_texts import KillableProcess, Parent
from minicrawl.search.page_text import (
    LONGEST_LINE,
    MOST_LINES,
    AnchorText,
    PageText,
    page_text,
    simple_text,
)
from minicrawl.web.documents import document as pdf
from minicrawl.web.documents.document import decoded_text
from minicrawl.web.documents.kinds import ALL, DocumentType, type_of
from minicrawl.web.documents.writing import Written, read_markdown, read_text
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode
from minicrawl.web.urls import site

DEADLINE_S, SHORT_DEADLINE_S = 5.0, 1.0
_MANY_SLOW = 20
"""Pages that took too long, after which deadlines are short."""
_MOST_OF_A_SITE_S = 10.0
_USUAL_S, _USUAL_BYTE_S = 0.01, 0.3e-6
"""Of a page: ten times what the pages of manuals take."""
_MOST_READ = 4 << 20
"""Maximum bytes to read of a page."""
_OK = range(200, 300)
_CODE = "from minicrawl.search.page_reader import main; main()"


class ReadPage(NamedTuple):
    """Archived page, parsed."""

    place: int
    url: str
    text: PageText
    at: float
    changed: str
    """Last-Modified header, or ""."""

    def as_bytes(self) -> bytes:
        """Encode for another process of the same Python; pickle takes twice as long."""
        title, headings, lines, frame, language, anchors = self.text
        text = title, headings, lines, frame, language, tuple(map(tuple, anchors))
        return marshal.dumps((self.place, self.url, text, self.at, self.changed))

    @classmethod
    def from_bytes(cls, content: bytes) -> ReadPage | None:
        """Return the page from the result of `as_bytes`, or None for an empty one."""
        if not content:
            return None
        place, url, told, at, changed = marshal.loads(content)
        text = PageText._make(told)
        anchors = tuple(map(AnchorText._make, text.anchors))
        return cls(place, url, text._replace(anchors=anchors), at, changed)


class PageReader:
    """Process that reads the pages of an archive. It is started on demand."""

    def __init__(self, folder: Path, end: int, deadline_s: float = DEADLINE_S) -> None:
        self._arguments = (str(folder), str(end))
        self._deadline_s = deadline_s
        self._process: KillableProcess | None = None
        self._spent_s: defaultdict[str, float] = defaultdict(float)  # by site
        self._slow = 0

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def read(self, places: Sequence[int]) -> Iterator[ReadPage | None]:
        """Yield the pages at these places, in order; None if one is damaged or not a page."""
        done = 0
        while done < len(places):
            for page in self._answers(places[done:], is_simple=False):
                done += 1
                yield page
            if done < len(places):  # this page took too long
                page = next(self._answers(places[done : done + 1], is_simple=True), None)
                self._charge(page)
                yield page
                done += 1

    def _charge(self, page: ReadPage | None) -> None:
        """Count a page that took too long, and was read as plain text."""
        self._slow += 1
        if page is not None:
            self._spent_s[_site(page.url)] += self._deadline_s
        if self._slow == _MANY_SLOW:
            self._deadline_s = min(self._deadline_s, SHORT_DEADLINE_S)

    def _answers(self, places: Sequence[int], *, is_simple: bool) -> Iterator[ReadPage | None]:
        """Yield pages until one takes too long."""
        if self._process is None:
            self._process = KillableProcess(_CODE, self._arguments)
        process = self._process
        process.ask(marshal.dumps((tuple(places), is_simple, dict(self._spent_s))))
        for _ in places:
            answer = process.answer(self._deadline_s)
            if answer is None:  # the process is late, or died, perhaps because of a page
                self.close()
                return
            yield ReadPage.from_bytes(answer)


def main() -> None:
    """Run the process: read the requested pages until the parent closes the pipe."""
    folder, end = sys.argv[1:]
    parent = Parent()
    archive = ArchiveReader(Path(folder), int(end))
    parent.answer(b"")  # it is ready
    spent_s: defaultdict[str, float] = defaultdict(float)
    with suppress(EOFError, BrokenPipeError):  # the parent has closed the pipe
        while True:
            places, is_simple, spent_before_s = marshal.loads(parent.asked())
            for name, cost_s in spent_before_s.items():
                spent_s[name] = max(spent_s[name], cost_s)
            for place in places:
                page = _read(archive, place, spent_s, is_simple=is_simple)
                parent.answer(b"" if page is None else page.as_bytes())


def _read(
    archive: ArchiveReader, place: int, spent_s: defaultdict[str, float], *, is_simple: bool
) -> ReadPage | None:
    try:
        answer = archive.answer(place)
    except Damaged:
        return None
    if answer.status not in _OK:
        return None
    name, began = _site(answer.url), time.process_time()
    text = _text(answer, is_simple=is_simple or spent_s[name] > _MOST_OF_A_SITE_S)
    spent_s[name] += max(
        0.0, time.process_time() - began - _USUAL_S - _USUAL_BYTE_S * len(answer.body)
    )
    return ReadPage(place, answer.url, text, answer.at, answer.headers.get("last-modified", ""))


def _site(url: str) -> str:
    return site(urlsplit(url).hostname or "")


def _text(answer: Answer, *, is_simple: bool) -> PageText:
    body = answer.body[:_MOST_READ]
    if answer.kind is RecordKind.TEXT:
        return PageText(lines=tuple(body.decode("utf-8", "replace").split("\n")[:MOST_LINES]))
    content_type = answer.headers.get("content-type")
    match type_of(content_type, answer.url, body, ALL):
        case DocumentType.PDF:
            return PageText() if is_simple else _pdf_text(answer.body)
        case DocumentType.MARKDOWN:
            return _text_of(read_markdown, body, content_type)
        case DocumentType.TEXT:
            return _text_of(read_text, body, content_type)
    markup, _ = decode(body, parse_content_type(content_type)[1])
    return simple_text(markup) if is_simple else page_text(markup, answer.url)


def _pdf_text(body: bytes) -> PageText:
    """Return the text of the whole file: a PDF's table of contents is at its end."""
    if not pdf.is_readable():
        return PageText()
    found = pdf.read(body)
    return PageText(found.title, lines=_lines(found.lines))


def _text_of(read: Callable[[str], Written], body: bytes, content_type: str | None) -> PageText:
    text, _ = decoded_text(body, content_type)
    found = read(text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return PageText(found.title, found.headings, _lines(filter(None, lines)))


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_LINE] for line in islice(lines, MOST_LINES))
