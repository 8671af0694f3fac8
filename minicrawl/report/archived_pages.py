"""Archived pages of a store.

requisites  resources that archived pages need for display
pages       archived versions of pages
words       words in and around the links of archived pages
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import Answer, RecordKind, key_of, text_of
from minicrawl.archive.segments import Segments
from minicrawl.errors import Damaged, TooSlow, UsageError
from minicrawl.model import State
from minicrawl.own_files import refuse_links
from minicrawl.progress import Progress
from minicrawl.report.selected_pages import Block, PageSelection, blocks, rows_of
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.web.encoding import decode
from minicrawl.web.references import Reference, metas, references, style_references
from minicrawl.web.responses import ALL, DocumentType, parse_content_type, type_of
from minicrawl.web.robots import Rules
from minicrawl.web.urls import canonical, resolve_links
from minicrawl.web.usage import Preference, joined, of_headers, of_meta
from minicrawl.wording import counted, iso

if TYPE_CHECKING:  # reports that show a few links start without the parsers
    from minicrawl.archive.warc import Capture
    from minicrawl.report.page_texts import PageTexts

# ================================================================ requisites
#
# URLs of the resources that archived pages and stylesheets need for display.
#
# requisite  a URL that a page or a stylesheet needs for display

_STYLE, _PAGE = "text/css", ("text/html", "application/xhtml+xml")
Needed = Iterator[tuple[str, bool]]
"""URLs, each with True if it must be a stylesheet."""


def is_style(answer: Answer) -> bool:
    """Return True if an answer is a stylesheet, or a redirect that may lead to one."""
    return "location" in answer.headers or _kind(answer)[0] == _STYLE


def needed_by_style(answer: Answer) -> Needed:
    """Yield the resources that a stylesheet needs, or the target of a redirect."""
    if (target := answer.headers.get("location")) is not None:
        yield from _resolved([Reference(target, "", "", "style")], answer.url)
    elif _kind(answer)[0] == _STYLE:
        yield from _resolved(list(style_references(_text(answer))), answer.url)


def needed_by_page(answer: Answer) -> Needed:
    """Yield the resources that a page needs."""
    if _kind(answer)[0] in _PAGE:
        found = references(_text(answer))
        base = canonical(found.base, answer.url) if found.base else None
        yield from _resolved(found.assets, base or answer.url)


class KeptRequisites:
    """Collector of the resources that pages need, and of their archived answers."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive
        self._pages: set[int] = set()  # keys of their URLs
        self._needed: dict[str, None] = {}

    def add_page(self, answer: Answer) -> None:
        """Add a page, whose resources are wanted."""
        self._pages.add(key_of(answer.url))
        self._needed |= {url: None for url, _ in needed_by_page(answer)}

    def answers(self) -> Iterator[Answer]:
        """Yield the archived answers of each requisite, in the order they are needed."""
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
            except Damaged:  # `minicrawl check` reports it
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
# Archived pages of a store.
#
# Laws: a version is one answer, numbered from 1, oldest first. Versions that the store does not
# know of are not shown, even if a crawl has already written them.

USAGE = "usage"
"""Column of what pages may be used for, as JSON; known of pages that were not kept as well."""
_RULES_REMEMBERED = 1000
_MAIN_TEXTS = ("main", "markdown")
_PAGES_OF_SITE, _LARGEST_OF_SITE = 200, 1 << 18
"""Pages of a host that texts are learned from, and the characters of the largest of them."""
_CONTENTS_AT_ONCE = 8 << 20
"""Characters per block."""
_ONLY_TEXT = "{} keeps only the text of pages: a web archive needs --keep pages"


class PageVersion(NamedTuple):
    """One archived answer of a page."""

    answer: Answer
    number: int
    of_all: int

    @property
    def markup(self) -> str:
        """The body as text, decoded by its declared encoding."""
        if self.answer.kind is RecordKind.TEXT:
            return self.answer.body.decode("utf-8", "replace")
        _, charset = parse_content_type(self.answer.headers.get("content-type"))
        return decode(self.answer.body, charset)[0]

    @property
    def document(self) -> DocumentType | None:
        """Type of the document, or None if only its text was archived."""
        answer = self.answer
        if answer.kind is RecordKind.TEXT:
            return None
        return type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)

    @property
    def text(self) -> str:
        """Text of the page, without markup."""
        if self.document is DocumentType.PDF:
            from minicrawl.report.page_texts import read_pdf

            return "\n".join(read_pdf(self.answer.body).lines)
        if self.document in (None, DocumentType.TEXT, DocumentType.MARKDOWN):
            return self.markup
        return text_of(self.answer.body, self.answer.headers.get("content-type"))

    def as_json(self) -> dict[str, object]:
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


def _readable(archive: ArchiveReader, url: str) -> PageVersion | None:
    """Return the last version of the page, or None if it is damaged: `check` reports that."""
    try:
        return last_version(archive, url)
    except Damaged:
        return None


def markup_of(archive: ArchiveReader, url: str) -> str | None:
    """Return the markup of the last version; None if there is none, or if it is not HTML."""
    page = _readable(archive, url)
    return page.markup if page is not None and page.document is DocumentType.HTML else None


def texts_around(archive: ArchiveReader, url: str, moment: float) -> tuple[str, str] | None:
    """Return the texts of the last version before a moment and of the last one.

    None if that is one version, or if there is none before. Raises `Damaged`.
    """
    rows = archive.versions(url)
    before, last = last_page([row for row in rows if row.at < moment]), last_page(rows)
    if not before or before == last:
        return None
    old, new = (
        PageVersion(archive.answer(rows[number - 1].place), number, len(rows)).text
        for number in (before, last)
    )
    return old, new


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
    """Version in the list of versions. `same_as` is the first version with the same body, or 0."""

    version: int
    fetched: str
    status: int | None
    bytes: int | None
    same_as: int


def versions(snapshot: Snapshot, text: str) -> list[VersionRow]:
    """Return all versions of a page, oldest first. Of a damaged one only the time is known."""
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
    """Yield a line if a crawl found archived pages missing."""
    at = tables.counters(connection).get(tables.LOST_AT)
    if isinstance(at, int | float):
        yield f"{folder}: pages that were kept are gone, as the crawl found at {iso(at)}"


def _kept_url(snapshot: Snapshot, archive: ArchiveReader, text: str) -> str:
    """Return the URL of a page, or of an archived resource, which is not a page of the store."""
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


class PermittedPages:
    """Leaves out pages that may not be used for a purpose, and counts them."""

    def __init__(self, snapshot: Snapshot, purpose: str) -> None:
        self._snapshot, self._purpose = snapshot, purpose
        self.denied = 0

    def of(self, found: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without the rows of such pages."""
        usage = UsageOfPages(self._snapshot)
        with kept_pages(self._snapshot) as archive:
            for block in found:
                places = [
                    place
                    for place, url in enumerate(block["url"])
                    if self._is_permitted(usage.of(url, _readable(archive, url)))
                ]
                self.denied += len(block["url"]) - len(places)
                if places:
                    yield {name: [values[at] for at in places] for name, values in block.items()}

    def _is_permitted(self, said: Mapping[str, Preference]) -> bool:
        return self._purpose not in said or said[self._purpose].allowed


class UsageOfPages:
    """What pages may be used for, as their sites say in robots.txt, headers and markup."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rules = lru_cache(_RULES_REMEMBERED)(self._read_rules)

    def of(self, url: str, page: PageVersion | None) -> dict[str, Preference]:
        """Return an answer for each purpose of which something was said."""
        number = page_of(self._snapshot, url)
        found = list(self._rules(int(self._snapshot.host_of[number])).preferences(url))
        if page is not None:
            found += of_headers(page.answer.headers)
            if page.document is DocumentType.HTML:
                found += of_meta(metas(page.markup))
        return joined(found)

    def _read_rules(self, host: int) -> Rules:
        row = tables.host(self._snapshot.connection, host)
        return Rules.from_text((row and row.robots) or "")


def captures(
    snapshot: Snapshot,
    selection: PageSelection,
    tell: Progress,
    warn: Callable[[str], None],
    permitted: PermittedPages | None = None,
) -> Iterator[Capture]:
    """Yield all versions of the selected pages, most important page first.

    Damaged versions are skipped and reported to `warn`. Resources that the pages need come last, if
    the crawl archived them.
    """
    from minicrawl.archive.warc import capture_of

    has_requisites = bool(tables.settings(snapshot.connection).get("requisites"))
    with kept_pages(snapshot) as archive:
        requisites = KeptRequisites(archive)
        found = blocks(snapshot, selection, tell=tell)
        for block in found if permitted is None else permitted.of(found):
            for row in rows_of(block):
                for version in archive.versions(row.url):
                    try:
                        answer = archive.answer(version.place)
                    except Damaged as error:
                        warn(f"{row.url}: {error}")
                        continue
                    if answer.kind is RecordKind.TEXT:
                        raise UsageError(_ONLY_TEXT.format(snapshot.path))
                    yield capture_of(
                        answer,
                        title=row.title,
                        rank=row.rank,
                        importance=row.importance,
                        hops=row.depth,
                    )
                    if has_requisites:
                        requisites.add_page(answer)
        yield from map(capture_of, requisites.answers())


def with_contents(
    snapshot: Snapshot, found: Iterable[Block], names: Sequence[str], warn: Callable[[str], None]
) -> Iterator[Block]:
    """Yield the blocks with a column for each of these names, from the last version of each page.

    The values of pages that are not archived are None. Blocks become smaller, because contents are
    large.
    """
    if not names:
        yield from found
        return
    from minicrawl.report.page_texts import PageTexts

    made = [name for name in names if name not in CONTENTS and name != USAGE]
    usage = UsageOfPages(snapshot)
    with (
        kept_pages(snapshot) as archive,
        PageTexts(made, partial(pages_of_site, snapshot, archive)) as texts,
    ):
        for block in found:
            start, size, contents = 0, 0, list[list[str | None]]()
            for stop, url in enumerate(block["url"], start=1):
                page = _whole_version(archive, url, warn)
                of_page = _made_texts(texts, page, warn)
                if USAGE in names:
                    of_page[USAGE] = _usage_as_text(usage.of(url, page))
                contents.append(
                    [of_page[name] if name in of_page else _content(name, page) for name in names]
                )
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


def made_texts(page: PageVersion, texts: PageTexts) -> Sequence[str] | None:
    """Return the texts of a page that packages make, or None if only its text was archived.

    The whole text of a document other than HTML is its main text.
    """
    if page.answer.kind is RecordKind.TEXT:
        return None
    if page.document is DocumentType.HTML:
        return texts.of(page.markup, page.answer.url)
    made = texts.of(f"<pre>{escape(page.text)}</pre>", page.answer.url)
    return [
        page.text if name in _MAIN_TEXTS else text
        for name, text in zip(texts.names, made, strict=True)
    ]


def made_text(snapshot: Snapshot, page: PageVersion, name: str) -> str | None:
    """Return one such text of one page."""
    from minicrawl.report.page_texts import PageTexts

    with (
        kept_pages(snapshot) as archive,
        PageTexts([name], partial(pages_of_site, snapshot, archive)) as texts,
    ):
        found = made_texts(page, texts)
    return None if found is None else found[0]


def pages_of_site(snapshot: Snapshot, archive: ArchiveReader, host: str) -> list[str]:
    """Return the markup of up to 200 pages of a host, evenly among those that were read."""
    numbers = [number for number, name in enumerate(snapshot.hosts) if name == host]
    pages = np.flatnonzero(np.isin(snapshot.host_of, numbers) & snapshot.was_read)
    chosen = pages[:: len(pages) // _PAGES_OF_SITE + 1]
    found: list[str] = []
    for url in map(snapshot.url, chosen.tolist()):
        markup = markup_of(archive, url)
        if markup is not None and len(markup) <= _LARGEST_OF_SITE:
            found.append(markup)
    return found


def _made_texts(
    texts: PageTexts, page: PageVersion | None, warn: Callable[[str], None]
) -> dict[str, str | None]:
    """Return the texts by name; those of a page that takes too long are None."""
    none = dict.fromkeys(texts.names)
    if page is None or not none:
        return none
    try:
        found = made_texts(page, texts)
    except TooSlow as error:
        warn(f"{page.answer.url}: {error}")
        return none
    return none if found is None else dict(zip(texts.names, found, strict=True))


def _usage_as_text(said: Mapping[str, Preference]) -> str:
    return json.dumps(
        {one.purpose: {"allowed": one.allowed, "where": one.where} for one in said.values()}
    )


def _content(name: str, page: PageVersion | None) -> str | None:
    """Return a column's value, or None if it is unknown.

    Of a page of which only the text was archived, every other column is unknown.
    """
    if page is None or (page.answer.kind is RecordKind.TEXT and name != "text"):
        return None
    return CONTENTS[name](page)


def _links(page: PageVersion) -> str:
    from minicrawl.report.page_texts import read_pdf
    from minicrawl.web.documents import parse_document

    answer = page.answer
    if page.document is DocumentType.PDF:
        return "\n".join(resolve_links(read_pdf(answer.body).links, answer.url))
    return "\n".join(parse_document(answer.body, answer.url, answer.headers, types=ALL).links)


def _headings(page: PageVersion) -> str:
    from minicrawl.web.documents import read_markdown
    from minicrawl.web.references import headings

    match page.document:
        case DocumentType.HTML:
            return "\n".join(headings(page.markup))
        case DocumentType.MARKDOWN:
            return "\n".join(read_markdown(page.markup).headings)
    return ""


def _language(page: PageVersion) -> str:
    from minicrawl.web.references import language

    return language(page.markup) if page.document is DocumentType.HTML else ""


CONTENTS: dict[str, Callable[[PageVersion], str]] = {
    "text": lambda page: page.text,
    "html": lambda page: page.markup,
    "headings": _headings,
    "lang_declared": _language,
    "links": _links,
}
"""Content columns by name; lists have one item per line."""


def keys_of_best(snapshot: Snapshot, count: int) -> set[int]:
    """Return the archive keys of the most important pages."""
    found = blocks(snapshot, PageSelection(count=count, noindex=True))
    return {key_of(row.url) for block in found for row in rows_of(block)}


def moment(text: str) -> float:
    """Return the time of a text such as 2026-11-22 or 2026-11-22T10:00, in UTC by default."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a time such as 2026-11-22 or 2026-11-22T10:00"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def folder_of(store: Path, folder: Path | None) -> Path:
    """Return the given archive folder, or that of the store."""
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
    """Return the number of the last version at a time."""
    found = [row for row in rows if at is None or row.at <= at]
    if not found:
        raise UsageError(f"{url} was first read at {iso(rows[0].at)}")
    return last_page(found) or len(found)


# ================================================================ words
#
# Words in and around links, from the last archived version of each page.
#
# Laws: the context of a link is 50 characters on either side, as for `crawl --focus-words`. A page
# that was archived without markup, or is damaged, has no words.

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""Types of documents whose links have words."""


class LinkWords(NamedTuple):
    """Link of a page."""

    source: int
    """Index of the page among the requested ones."""
    target: str
    words: str


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[LinkWords]:
    """Yield all links of these pages; nothing if pages are not archived."""
    if tables.archive_end(snapshot.connection) is None:
        return
    from minicrawl.web.documents import parse_document
    from minicrawl.web.html_page import ParseOptions

    options = ParseOptions(with_words=True, strip_marks=snapshot.frontier.terms.strip_marks)
    with kept_pages(snapshot) as archive:
        for source, url in enumerate(urls):
            version = _readable(archive, url)
            if version is None or version.answer.kind is RecordKind.TEXT:
                continue
            answer = version.answer
            page = parse_document(answer.body, url, answer.headers, options, types=WITH_WORDS)
            for target, words in zip(page.links, page.words, strict=True):
                yield LinkWords(source, target, words)
