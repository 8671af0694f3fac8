"""What was fetched and kept.

pages      pages as they were fetched
pdf_apart  reads a PDF in a process of its own
stored     what a store has stored, part by part
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, cast

from minicrawl import plugins
from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import Answer, RecordKind, key_of, text_of
from minicrawl.archive.segments import Segments
from minicrawl.errors import Damaged, UsageError
from minicrawl.export.cells import Block, ExportRow, rows_of
from minicrawl.export.warc import Capture
from minicrawl.memory import limit_memory
from minicrawl.model import State
from minicrawl.own_files import refuse_links
from minicrawl.progress import Progress
from minicrawl.report.ranks import PageSelection, blocks
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.report.status import status
from minicrawl.store import questions, tables
from minicrawl.store.files import bytes_of
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import reporting_damage
from minicrawl.store.written_links import WrittenLinks, written_bytes
from minicrawl.web.documents import document as pdf
from minicrawl.web.documents.document import PdfText, parse_document
from minicrawl.web.documents.kinds import ALL, DocumentType, type_of
from minicrawl.web.documents.writing import read_markdown
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.page import headings, language
from minicrawl.web.html.references import Reference, references, style_references
from minicrawl.web.urls import canonical, resolve_links
from minicrawl.wording import counted, iso

# ================================================================ pdf apart
#
# Reads a PDF that was kept in a process of its own, for commands that show what is kept.
#
# Law: a file that takes too long, too much memory or ends its process says nothing, and why.

DEADLINE_S = 10.0
_CODE = "from minicrawl.report.archived import main; main()"


def read_pdf(body: bytes, deadline_s: float = DEADLINE_S) -> PdfText:
    """What a file says."""
    if not pdf.is_readable():
        raise UsageError(pdf.MISSING)
    try:
        done = subprocess.run(
            (sys.executable, "-c", _CODE),
            input=body,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=deadline_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return PdfText(limit=f"it was not read in {deadline_s:g} s")
    except subprocess.CalledProcessError:
        return PdfText(limit="it ended the process that read it")
    title, links, lines, limit = json.loads(done.stdout)
    return PdfText(title, tuple(links), tuple(lines), limit)


def main() -> None:
    """The process: a file comes in, and what it says goes out."""
    limit_memory()
    json.dump(pdf.read(sys.stdin.buffer.read()), sys.stdout)


# ================================================================ stored
#
# What a store has stored, part by part: `status --stored`.
#
# Law: this counts what is there, and so takes longer the more it is. A part that the store does not
# have has no row.


class StoredPart(NamedTuple):
    """A part: how many of what, and their bytes; None where that cannot be told."""

    part: str
    number: int
    of: str
    bytes: int | None


def stored_parts(store: Path) -> list[StoredPart]:
    """All parts of a store, and what lies beside it."""
    found = status(store)
    failures = [
        StoredPart(f"failed: {kind}", pages, "pages", None)
        for kind, pages in (found.failures or {}).items()
    ]
    fetched = StoredPart("fetched", found.requests or 0, "requests", found.bytes)
    with reading(store) as connection, reporting_damage(store):
        parts = [
            *_repository(store, connection),
            *_of_packages(store),
            StoredPart("links", *_with_unit(questions.links_stored(connection), "links")),
            *_written(connection),
            StoredPart("documents", *_with_unit(questions.documents_stored(connection), "pages")),
        ]
    return [fetched, *parts, *failures]


def _with_unit(counted: tuple[int, int], unit: str) -> tuple[int, str, int]:
    number, size = counted
    return number, unit, size


def _repository(store: Path, connection: tables.Connection) -> Iterator[StoredPart]:
    end, folder = tables.archive_end(connection), archive_folder(store)
    if end is None or not folder.is_dir():
        return
    with closing(ArchiveReader(folder, end)) as archive:
        records = sum(one.records for one in archive.index.totals(end))
    yield StoredPart("repository", records, "answers", bytes_of(folder))


def _of_packages(store: Path) -> Iterator[StoredPart]:
    """What installed packages keep beside a store, such as the search index."""
    for point in plugins.entry_points(plugins.STORED).values():
        yield from cast(Callable[[Path], Iterator[StoredPart]], point.load())(store)


def _written(connection: tables.Connection) -> Iterator[StoredPart]:
    if found := WrittenLinks(connection):
        yield StoredPart("link texts", len(found), "pages", written_bytes(connection))


# ================================================================ requisites
#
# What kept pages and styles need to be shown, as URLs.
#
# requisite  a URL that a page needs to be shown, or that a style needs

_STYLE, _PAGE = "text/css", ("text/html", "application/xhtml+xml")
Needed = Iterator[tuple[str, bool]]
"""URLs, each with whether it must be a style."""


def is_style(answer: Answer) -> bool:
    """Whether an answer is a style, or a redirect that may lead to one."""
    return "location" in answer.headers or _kind(answer)[0] == _STYLE


def needed_by_style(answer: Answer) -> Needed:
    """What a style needs; of a redirect, its target."""
    if (target := answer.headers.get("location")) is not None:
        yield from _resolved([Reference(target, "", "", "style")], answer.url)
    elif _kind(answer)[0] == _STYLE:
        yield from _resolved(list(style_references(_text(answer))), answer.url)


def needed_by_page(answer: Answer) -> Needed:
    """What a page needs."""
    if _kind(answer)[0] in _PAGE:
        found = references(_text(answer))
        base = canonical(found.base, answer.url) if found.base else None
        yield from _resolved(found.assets, base or answer.url)


class KeptRequisites:
    """Gathers what pages need, and finds the answers that are kept of that."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive
        self._pages: set[int] = set()  # keys of their URLs
        self._needed: dict[str, None] = {}

    def add_page(self, answer: Answer) -> None:
        """This page is there, and what it needs is wanted."""
        self._pages.add(key_of(answer.url))
        self._needed |= {url: None for url, _ in needed_by_page(answer)}

    def answers(self) -> Iterator[Answer]:
        """Each answer that is kept of a requisite, in the order in which they are needed."""
        done: set[str] = set()
        while todo := [url for url in self._needed if url not in done]:
            self._needed.clear()
            for url in todo:
                done.add(url)
                if key_of(url) not in self._pages:
                    yield from self._versions(url)

    def _versions(self, url: str) -> Iterator[Answer]:
        for row in self._archive.versions(url):
            try:
                answer = self._archive.answer(row.place)
            except Damaged:  # `minicrawl check` names it
                continue
            self._needed |= {other: None for other, _ in needed_by_style(answer)}
            yield answer


def _kind(answer: Answer) -> tuple[str, str | None]:
    return parse_content_type(answer.headers.get("content-type"))


def _text(answer: Answer) -> str:
    return decode(answer.body, _kind(answer)[1])[0]


def _resolved(found: list[Reference], base: str) -> Needed:
    for one in found:
        if (url := canonical(one.written, base)) is not None:
            yield url, one.kind == "style"


# ================================================================ pages
#
# Pages as they were fetched, from the archive of a store.
#
# Laws: a version is one answer, counted from 1, the oldest first. What the store does not know of
# is not shown, though a crawl may have written it already.

_CONTENTS_AT_ONCE = 8 << 20
"""Characters."""
_ONLY_TEXT = "{} keeps only the text of pages: a web archive needs --keep pages"


class PageVersion(NamedTuple):
    """One answer of a page."""

    answer: Answer
    number: int
    of_all: int

    @property
    def markup(self) -> str:
        """The body as text, as its encoding says."""
        if self.answer.kind is RecordKind.TEXT:
            return self.answer.body.decode("utf-8", "replace")
        _, charset = parse_content_type(self.answer.headers.get("content-type"))
        return decode(self.answer.body, charset)[0]

    @property
    def document(self) -> DocumentType | None:
        """What it is; None if only its text was kept."""
        answer = self.answer
        if answer.kind is RecordKind.TEXT:
            return None
        return type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)

    @property
    def text(self) -> str:
        """The text of the page, without markup."""
        if self.document is DocumentType.PDF:
            return "\n".join(read_pdf(self.answer.body).lines)
        if self.document in (None, DocumentType.TEXT, DocumentType.MARKDOWN):
            return self.markup
        return text_of(self.answer.body, self.answer.headers.get("content-type"))

    def as_json(self) -> dict[str, object]:
        """The version as a JSON document."""
        answer = self.answer
        return {
            "url": answer.url,
            "fetched": iso(answer.at),
            "version": self.number,
            "versions": self.of_all,
            "status": answer.status,
            "headers": dict(answer.headers),
            "cut": answer.cut or None,
            "body": self.markup,
        }


def last_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """What is kept of the page as it was read last; raises `Damaged`."""
    rows = archive.versions(url)
    number = last_page(rows)
    return (
        PageVersion(archive.answer(rows[number - 1].place), number, len(rows)) if number else None
    )


@contextmanager
def kept_pages(snapshot: Snapshot) -> Iterator[ArchiveReader]:
    """The archive of a store, as of the last commit that the snapshot sees."""
    end = tables.archive_end(snapshot.connection)
    if end is None:
        raise UsageError(f"{snapshot.path} has no pages that were kept: crawl with --keep pages")
    if not (folder := archive_folder(snapshot.path)).is_dir():
        raise UsageError(f"{folder} is gone, with all pages that were kept")
    with closing(ArchiveReader(folder, end)) as archive:
        yield archive


def version(
    snapshot: Snapshot, text: str, number: int | None = None, at: float | None = None
) -> PageVersion:
    """A version of a page: this one, or the last one at a time, or the last one.

    What came in place of a page is the last one only if there is no page.
    """
    with kept_pages(snapshot) as archive:
        url = _kept_url(snapshot, archive, text)
        rows = _kept_rows(snapshot, archive, url)
        chosen = number or _last_at(url, rows, at)
        if chosen > len(rows):
            known = counted(len(rows), "version")
            raise UsageError(f"{url} has {known}: there is none with number {chosen}")
        try:
            return PageVersion(archive.answer(rows[chosen - 1].place), chosen, len(rows))
        except Damaged as error:
            raise Damaged(f"version {chosen} of {url} is damaged: {error}") from error


class VersionRow(NamedTuple):
    """A version in the list of them. `same_as` is the version that has the same body, or 0."""

    version: int
    fetched: str
    status: int | None
    bytes: int | None
    same_as: int


def versions(snapshot: Snapshot, text: str) -> list[VersionRow]:
    """All versions of a page, the oldest first; of one that is damaged only its time is known."""
    first_with: dict[bytes, int] = {}
    found: list[VersionRow] = []
    with kept_pages(snapshot) as archive:
        url = _kept_url(snapshot, archive, text)
        for number, row in enumerate(_kept_rows(snapshot, archive, url), 1):
            try:
                answer = archive.answer(row.place)
            except Damaged:
                found.append(VersionRow(number, iso(row.at), None, None, 0))
                continue
            first = first_with.setdefault(answer.digest, number)
            same_as = first if first < number else 0
            size = len(answer.body)
            found.append(VersionRow(number, iso(answer.at), answer.status, size, same_as))
    return found


def lost_pages(connection: tables.Connection, folder: Path) -> Iterator[str]:
    """A line, if a crawl found that pages that were kept are gone."""
    at = tables.counters(connection).get(tables.LOST_AT)
    if isinstance(at, int | float):
        yield f"{folder}: pages that were kept are gone, as the crawl found at {iso(at)}"


def _kept_url(snapshot: Snapshot, archive: ArchiveReader, text: str) -> str:
    """The URL of a page, or of a file that pages need, which is no page of the store."""
    url = canonical(text)
    if url is not None and archive.versions(url):
        return url
    return snapshot.url(page_of(snapshot, text))


def _kept_rows(snapshot: Snapshot, archive: ArchiveReader, url: str) -> list[IndexRow]:
    rows = archive.versions(url)
    if not rows:
        raise UsageError(f"nothing of {url} is kept: {_why_not_kept(snapshot, url)}")
    return rows


def _why_not_kept(snapshot: Snapshot, url: str) -> str:
    state = State(snapshot.states[page_of(snapshot, url)])
    if state.was_read:
        lost = lost_pages(snapshot.connection, archive_folder(snapshot.path))
        return next(lost, "it was read before pages were kept, or what was kept is gone")
    return "it was not read"


def captures(
    snapshot: Snapshot, selection: PageSelection, tell: Progress, warn: Callable[[str], None]
) -> Iterator[Capture]:
    """All versions of the selected pages, the most important page first.

    What is damaged is left out, and `warn` hears of it. What the pages need to be shown comes
    last, if the crawl kept that.
    """
    has_requisites = bool(tables.settings(snapshot.connection).get("requisites"))
    with kept_pages(snapshot) as archive:
        requisites = KeptRequisites(archive)
        for block in blocks(snapshot, selection, tell=tell):
            for row in rows_of(block):
                for found in archive.versions(row.url):
                    try:
                        answer = archive.answer(found.place)
                    except Damaged as error:
                        warn(f"{row.url}: {error}")
                        continue
                    if answer.kind is RecordKind.TEXT:
                        raise UsageError(_ONLY_TEXT.format(snapshot.path))
                    yield _capture(row, answer)
                    if has_requisites:
                        requisites.add_page(answer)
        yield from map(_requisite, requisites.answers())


def with_contents(
    snapshot: Snapshot, found: Iterable[Block], names: Sequence[str], warn: Callable[[str], None]
) -> Iterator[Block]:
    """The blocks with a column for each of these names, from the last version of each page.

    Pages of which nothing is kept have none. Blocks become smaller, because contents are large.
    """
    if not names:
        yield from found
        return
    with kept_pages(snapshot) as archive:
        for block in found:
            start, size, contents = 0, 0, list[list[str | None]]()
            for stop, url in enumerate(block["url"], start=1):
                page = _whole_version(archive, url, warn)
                contents.append([_content(name, page) for name in names])
                size += sum(len(content or "") for content in contents[-1])
                if size >= _CONTENTS_AT_ONCE or stop == len(block["url"]):
                    part = {name: values[start:stop] for name, values in block.items()}
                    yield part | dict(zip(names, zip(*contents, strict=True), strict=True))
                    start, size, contents = stop, 0, []


def _whole_version(
    archive: ArchiveReader, url: str, warn: Callable[[str], None]
) -> PageVersion | None:
    try:
        return last_version(archive, url)
    except Damaged as error:
        warn(f"{url}: {error}")
        return None


def _content(name: str, page: PageVersion | None) -> str | None:
    """None where it is not known: of a page of which only the text was kept, all but that."""
    if page is None or (page.answer.kind is RecordKind.TEXT and name != "text"):
        return None
    return CONTENTS[name](page)


def _links(page: PageVersion) -> str:
    answer = page.answer
    if page.document is DocumentType.PDF:
        return "\n".join(resolve_links(read_pdf(answer.body).links, answer.url))
    return "\n".join(parse_document(answer.body, answer.url, answer.headers, types=ALL).links)


def _headings(page: PageVersion) -> str:
    match page.document:
        case DocumentType.HTML:
            return "\n".join(headings(page.markup))
        case DocumentType.MARKDOWN:
            return "\n".join(read_markdown(page.markup).headings)
    return ""


def _language(page: PageVersion) -> str:
    return language(page.markup) if page.document is DocumentType.HTML else ""


CONTENTS: dict[str, Callable[[PageVersion], str]] = {
    "text": lambda page: page.text,
    "html": lambda page: page.markup,
    "headings": _headings,
    "lang": _language,
    "links": _links,
}
"""What can be made of a page; lists have one item a line."""


def _capture(row: ExportRow, answer: Answer) -> Capture:
    return _requisite(answer)._replace(
        title=row.title, rank=row.rank, importance=row.importance, hops=row.depth
    )


def _requisite(answer: Answer) -> Capture:
    return Capture(
        url=answer.spelled or answer.url,
        status=answer.status,
        headers=answer.headers,
        body=answer.body,
        at=answer.at,
        is_confirmed=answer.status == HTTPStatus.NOT_MODIFIED,
        cut=answer.cut,
        title="",
        rank=0,
        importance=0.0,
        hops=0,
    )


def keys_of_best(snapshot: Snapshot, count: int) -> set[int]:
    """The keys, in the archive, of the most important pages."""
    found = blocks(snapshot, PageSelection(count=count, noindex=True))
    return {key_of(row.url) for block in found for row in rows_of(block)}


def moment(text: str) -> float:
    """The time that a text such as 2026-11-22 or 2026-11-22T10:00 names, in UTC if it says none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a time such as 2026-11-22 or 2026-11-22T10:00"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def folder_of(store: Path, folder: Path | None) -> Path:
    """The folder of an archive: this one, or that of the store."""
    place = folder or archive_folder(store)
    refuse_links(place.resolve())
    if not place.is_dir():
        with reading(store) as connection:
            if folder is None and tables.archive_end(connection) is not None:
                raise UsageError(f"{place} is gone, with all pages that were kept")
        raise UsageError(f"no pages are kept in {place}")
    if folder and not Segments(folder).numbers():
        raise UsageError(f"{folder} is no archive, or has lost its files segment-*.pages")
    return place


def _last_at(url: str, rows: list[IndexRow], at: float | None) -> int:
    """The number of the last version that there was at a time."""
    found = [row for row in rows if at is None or row.at <= at]
    if not found:
        raise UsageError(f"{url} was first read at {iso(rows[0].at)}")
    return last_page(found) or len(found)
