"""Reads kept pages in a process that can be killed.

Laws: a page that exceeds its deadline, in processor time, loses its markup, and no other page is
affected: the process is killed, and the next one reads that page as plain text, or without text
if that takes too long as well. Once the pages of a site have cost far more than usual, its other
pages are read as plain text, too. A PDF or an office document has no plain text. What such a limit
has cut is said in the page. After many slow pages, deadlines become short, so that slow pages
cannot take hours, however many they are. Pages are returned in the requested order.
"""

import gc
import marshal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged
from minicrawl.memory.limits import PATIENCE_S, limit_processor_time, why_ended
from minicrawl.report.archived.killable_process import KillableProcess, Parent
from minicrawl.report.archived.page_texts import TextMaker
from minicrawl.search.indexing.page_text import (
    LONGEST_LINE,
    MOST_LINES,
    PageText,
    page_text,
    simple_text,
)
from minicrawl.web.documents.document import decoded_text, reader_of
from minicrawl.web.documents.pdf import can_read_pdf
from minicrawl.web.documents.writing import Written, read_markdown, read_text
from minicrawl.web.encoding.detection import decode
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.responses.types import ALL, DocumentType, type_of
from minicrawl.web.sites import site

DEADLINE_S, SHORT_DEADLINE_S = 5.0, 1.0
_MANY_SLOW = 20
"""Pages that took too long, after which deadlines are short."""
_MOST_OF_A_SITE_S = 10.0
_USUAL_S, _USUAL_BYTE_S = 0.01, 0.3e-6
"""Usual processor time of a page and of a byte: ten times that of manuals."""
_MOST_READ = 4 << 20
"""Maximum bytes to read of a page."""
_OK = range(200, 300)
_CODE = "from minicrawl.search.indexing.page_reader import answer_requests; answer_requests()"


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
        return marshal.dumps((self.place, self.url, tuple(self.text), *self[3:]))

    @classmethod
    def from_bytes(cls, content: bytes) -> "ReadPage | None":
        """Return the page from the result of `as_bytes`, or None for an empty one."""
        if not content:
            return None
        page = cls._make(marshal.loads(content))
        return page._replace(text=PageText._make(page.text))


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
                place = places[done : done + 1]
                page = next(self._answers(place, self._why_ended), None)  # as plain text
                if self._process is None:  # that has ended it, too
                    page = next(self._answers(place, self._why_ended, has_text=False), None)
                self._slow += 1
                if page is not None:
                    self._spent_s[_site(page.url)] += self._deadline_s
                if self._slow == self._many_slow:
                    self._deadline_s = min(self._deadline_s, SHORT_DEADLINE_S)
                yield page
                done += 1

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


def answer_requests() -> None:
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
    media_type = type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)
    type_name = str((media_type or DocumentType.HTML).name).lower()
    return ReadPage(place, answer.url, text, answer.at, changed, type_name, cut)


def _site(url: str) -> str:
    return site(urlsplit(url).hostname or "")


def _text(answer: Answer, why: str) -> tuple[PageText, str]:
    """Return the text, and what is cut: with a reason `why`, it is plain."""
    body = answer.body[:_MOST_READ]
    if answer.kind is RecordKind.TEXT:
        return PageText(lines=tuple(body.decode("utf-8", "replace").split("\n")[:MOST_LINES])), ""
    content_type = answer.headers.get("content-type")
    match type_of(content_type, answer.url, body, ALL):
        case (DocumentType.PDF | DocumentType.OFFICE) as kind:
            read, text = reader_of(kind), PageText()
            is_readable = read is not None and (kind is DocumentType.OFFICE or can_read_pdf())
            if read is not None and is_readable and not why:
                document = read(answer.body)  # not cut: its table is last
                text = PageText(document.title, lines=_bounded_lines(document.lines))
                why = "" if document.lines else document.limit
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


def _text_of(read: Callable[[str], Written], body: bytes, content_type: str | None) -> PageText:
    text, _ = decoded_text(body, content_type)
    document = read(text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return PageText(document.title, document.headings, _bounded_lines(filter(None, lines)))


def _bounded_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_LINE] for line in islice(lines, MOST_LINES))
