"""Archived versions of the pages of a store.

Laws: a version is one response, numbered from 1, oldest first. Versions that the store does not
know of are not shown, even if a crawl has already written them.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.archive.index import IndexRow
from minicrawl.archive.packing import text_of
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.archive.replay import picture_of
from minicrawl.archive.segments import Segments
from minicrawl.errors import Damaged, NoText, UsageError
from minicrawl.own_files import refuse_links
from minicrawl.report.archived.requisites import decoded_page, media_type_of
from minicrawl.report.snapshot import Snapshot, location_of, page_of
from minicrawl.states import State
from minicrawl.store import questions, tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import NOT_DRAWN, NOT_RENDERED
from minicrawl.web.html.page_text import metas
from minicrawl.web.html.references import ReferenceReader, References
from minicrawl.web.responses.types import ALL, DocumentType, type_of
from minicrawl.web.urls import canonical, resolve_links
from minicrawl.wording import counted, iso

if TYPE_CHECKING:  # reports that show a few links start without the parsers
    from minicrawl.web.documents.document import FileText


@dataclass(frozen=True)
class PageVersion:
    """One archived response of a page."""

    answer: Answer
    number: int
    of_all: int

    @property
    def markup(self) -> str:
        """The body as text, decoded by its declared encoding."""
        if self.answer.kind is RecordKind.TEXT:
            return self.answer.body.decode("utf-8", "replace")
        return decoded_page(self.answer)[0]

    def references(self, reader: ReferenceReader | None = None) -> References:
        """Return the links and assets of HTML as written, with queries in the page's encoding."""
        return (reader or ReferenceReader()).read(*decoded_page(self.answer))

    @property
    def document(self) -> DocumentType | None:
        """Type of the document, or None if only its text was archived."""
        answer = self.answer
        if answer.kind is RecordKind.TEXT:
            return None
        return type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)

    @cached_property
    def _file(self) -> "FileText | None":
        """Text of a file. To extract it takes a process, and long, so it is done once."""
        from minicrawl.report.archived.file_reader import read_file

        kind = self.document
        if kind not in (DocumentType.PDF, DocumentType.OFFICE):
            return None
        return read_file(self.answer.body, kind)

    @property
    def file(self) -> "FileText | None":
        """Text of a PDF or an office document, else None. Raise `NoText` if nothing was left."""
        if self._file is not None and self._file.limit and not self._file.lines:
            raise NoText(f"its text was not made: {self._file.limit}")
        return self._file

    @property
    def text(self) -> str:
        """Text of the page, without markup. Raise `NoText`."""
        if self.file is not None:
            return "\n".join(self.file.lines)
        if self.document in (None, DocumentType.TEXT, DocumentType.MARKDOWN):
            return self.markup
        return text_of(self.answer.body, self.answer.headers.get("content-type"))

    @property
    def media_type(self) -> str:
        """Media type of the response, as declared or recognized."""
        return media_type_of(self.answer)[0]

    def links(self) -> list[dict[str, object]]:
        """Return the links in page order; text and rel are empty unless the page is HTML."""
        from minicrawl.web.documents.document import parse_document

        answer = self.answer
        if self.document is DocumentType.HTML:
            page = self.references()
            base = canonical(page.base, answer.url) if page.base else None
            resolved = ((canonical(link.written, base or answer.url), link) for link in page.links)
            return [
                {"url": url, "text": link.text, "rel": link.rel} for url, link in resolved if url
            ]
        if self.file is not None:
            urls = list(resolve_links(self.file.links, answer.url))
        else:
            urls = list(parse_document(answer.body, answer.url, answer.headers, types=ALL).links)
        return [{"url": url, "text": "", "rel": ""} for url in urls]

    def headings(self) -> list[dict[str, object]]:
        """Return the headings in page order; headings of Markdown have no level."""
        from minicrawl.web.documents.writing import read_markdown
        from minicrawl.web.html.page_text import headings

        match self.document:
            case DocumentType.HTML:
                return [heading._asdict() for heading in headings(self.markup)]
            case DocumentType.MARKDOWN:
                return [
                    {"level": None, "text": heading}
                    for heading in read_markdown(self.markup).headings
                ]
        return []

    def robots(self) -> str:
        """Return the robots directives: from the header, then from the markup."""
        directives = [self.answer.headers.get("x-robots-tag", "")]
        if self.document is DocumentType.HTML:
            directives += [content for name, content in metas(self.markup) if name == "robots"]
        return ", ".join(filter(None, directives))

    def declared_language(self) -> str:
        from minicrawl.web.html.page_text import language

        return language(self.markup) if self.document is DocumentType.HTML else ""

    def to_json(self) -> dict[str, object]:
        """Return the version as a JSON document."""
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
    """Return the last version of the page that is not a failure, or None. Raises `Damaged`."""
    rows = archive.versions(url)
    number = last_page(rows)
    return (
        PageVersion(archive.answer(rows[number - 1].place), number, len(rows)) if number else None
    )


def readable_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """Return the last version of the page; None without one, or if it is damaged (see `check`)."""
    try:
        return last_version(archive, url)
    except Damaged:
        return None


def html_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """Return the last version, if it is whole HTML."""
    page = readable_version(archive, url)
    return page if page is not None and page.document is DocumentType.HTML else None


def markup_of(archive: ArchiveReader, url: str) -> str | None:
    """Return the markup of the last version; None if there is none, or if it is not HTML."""
    page = html_version(archive, url)
    return None if page is None else page.markup


@contextmanager
def kept_pages(snapshot: Snapshot) -> Iterator[ArchiveReader]:
    """Yield the archive of a store, as of the last commit that the snapshot sees."""
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
    """Return a version of a page: by number, the last one at a time, or the last one.

    A failure is the last version only if there is no other.
    """
    with kept_pages(snapshot) as archive:
        url, rows = _kept_rows(snapshot, archive, text)
        past = [row for row in rows if at is None or row.at <= at]
        if not past:
            raise UsageError(f"{url} was first read at {iso(rows[0].at)}")
        chosen = number or last_page(past) or len(past)
        if chosen > len(rows):
            known = counted(len(rows), "version")
            raise UsageError(f"{url} has {known}: there is no version {chosen}")
        try:
            return PageVersion(archive.answer(rows[chosen - 1].place), chosen, len(rows))
        except Damaged as error:
            raise Damaged(f"version {chosen} of {url} is damaged: {error}") from error


def drawn(snapshot: Snapshot, page: PageVersion, beginning: str) -> Answer:
    """Return the picture of a version, of those whose names begin so."""
    with kept_pages(snapshot) as archive:
        picture = picture_of(archive, beginning + page.answer.url, page.answer.at)
    if picture is None:
        why = _why_not_drawn(snapshot, page)
        raise UsageError(f"no picture of {page.answer.url} is kept: {why}")
    return picture


def _why_not_drawn(snapshot: Snapshot, page: PageVersion) -> str:
    if not tables.settings(snapshot.connection).get("screenshots"):
        return "crawl with --screenshots"
    location = location_of(snapshot, page.answer.url)
    if location is None or (number := snapshot.find(location)) is None:
        return "it is no page, but a file of pages"
    fetches = tables.last_fetches(snapshot.connection, number, -1)
    fetches.sort(key=lambda fetch: abs(fetch.at - page.answer.at))
    notes = (note for fetch in fetches[:1] for note in fetch.detail.split("; "))
    whys = (note for note in notes if note.startswith((NOT_RENDERED, NOT_DRAWN)))
    return next(whys, "it was not rendered")


class VersionRow(NamedTuple):
    """Row in the list of versions. `same_as` is an earlier version with the same body, or 0."""

    version: int
    fetched: str
    status: int | None
    bytes: int | None
    same_as: int


def versions(snapshot: Snapshot, text: str) -> list[VersionRow]:
    """Return all versions of a page, oldest first; a damaged version has only its time."""
    first_with: dict[bytes, int] = {}
    rows: list[VersionRow] = []
    with kept_pages(snapshot) as archive:
        for number, row in enumerate(_kept_rows(snapshot, archive, text)[1], 1):
            try:
                answer = archive.answer(row.place)
            except Damaged:
                rows.append(VersionRow(number, iso(row.at), None, None, 0))
                continue
            first = first_with.setdefault(answer.digest, number)
            same_as = first if first < number else 0
            size = len(answer.body)
            rows.append(VersionRow(number, iso(answer.at), answer.status, size, same_as))
    return rows


def lost_pages(connection: tables.Connection, folder: Path) -> Iterator[str]:
    """Yield a line if a crawl found archived pages missing."""
    at = tables.counters(connection).get(tables.LOST_AT)
    if isinstance(at, int | float):
        yield f"{folder}: kept pages are missing, as a crawl noticed at {iso(at)}"


def _kept_rows(snapshot: Snapshot, archive: ArchiveReader, text: str) -> tuple[str, list[IndexRow]]:
    """Return the URL and the versions of a page, or of a resource that is no page of the store."""
    url = canonical(text)
    if url is not None and (rows := archive.versions(url)):
        return url, rows
    page = page_of(snapshot, text)
    url = snapshot.url(page)
    if rows := archive.versions(url):
        return url, rows
    state = State(snapshot.states[page])
    if tables.taken_down(tables.counters(snapshot.connection)).covers(url):
        why = "it was taken down: `minicrawl status` lists take-downs"
    elif state.was_read:
        lost = lost_pages(snapshot.connection, archive_folder(snapshot.path))
        why = next(lost, "it was fetched before pages were kept, or its archive is gone")
    else:
        failed = f"its requests failed: {state.label}"
        why = failed if state.is_failure else "it has not been fetched"
    raise UsageError(f"no response of {url} is kept: {why}")


def taken_down_pages(connection: tables.Connection) -> frozenset[int]:
    gone = tables.taken_down(tables.counters(connection))
    all_urls = questions.all_urls(connection) if gone else ()
    return frozenset(page for page, url in all_urls if gone.covers(url))


def moment(text: str) -> float:
    """Return the time of a text such as 2026-11-22 or 2026-11-22T10:00, in UTC by default."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a time such as 2026-11-22 or 2026-11-22T10:00"
        ) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def folder_of(store: Path, folder: Path | None) -> Path:
    """Return the named archive, or that of the store; UsageError if it keeps no pages."""
    place = folder or archive_folder(store)
    refuse_links(place.resolve())
    if not place.is_dir():
        with reading(store) as connection:
            if folder is None and tables.archive_end(connection) is not None:
                raise UsageError(f"{place} is gone, with all pages that were kept")
        raise UsageError(f"no pages are kept in {place}")
    if folder and not Segments(folder).numbers():
        raise UsageError(f"{folder} is not an archive, or has lost its files segment-*.pages")
    return place


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the links of kept pages: index of the page, target, and the words in and around it.

    Those around are 50 characters on either side. A damaged page has no words.
    """
    if tables.archive_end(snapshot.connection) is None:
        return
    from minicrawl.web.documents.document import parse_document
    from minicrawl.web.html.scanner import ParseOptions

    types = int(DocumentType.HTML | DocumentType.MARKDOWN)
    options = ParseOptions(with_words=True, strip_marks=snapshot.frontier.terms.strip_marks)
    with kept_pages(snapshot) as archive:
        for source, url in enumerate(urls):
            version = readable_version(archive, url)
            if version is not None and version.answer.kind is not RecordKind.TEXT:
                answer = version.answer
                page = parse_document(answer.body, url, answer.headers, options, types=types)
                for target, words in zip(page.links, page.words, strict=True):
                    yield source, target, words
