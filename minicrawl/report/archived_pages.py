"""Archived pages of a store.

requisites  resources that archived pages need for display
pages       archived versions of pages
words       words in and around links
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from minicrawl import ext
from minicrawl.archive.index import IndexRow
from minicrawl.archive.packing import text_of
from minicrawl.archive.reader import ArchiveReader, last_page
from minicrawl.archive.record import Answer, RecordKind, key_of
from minicrawl.archive.segments import Segments
from minicrawl.config.parts import FILES
from minicrawl.errors import Damaged, MinicrawlError, NoText, UsageError
from minicrawl.model import State
from minicrawl.own_files import refuse_links
from minicrawl.ports import Progress
from minicrawl.report.selected_pages import Block, ExportRow, PageSelection, blocks, rows_of
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.store import questions, tables
from minicrawl.store.reader import archive_folder, earlier_file, reading
from minicrawl.web.markup import decode
from minicrawl.web.references import (
    LEADS_ON,
    Reference,
    ReferenceReader,
    References,
    manifest_references,
    metas,
    references,
    style_references,
)
from minicrawl.web.responses import ALL, DocumentType, parse_content_type, type_of
from minicrawl.web.robots import Rules
from minicrawl.web.scope import pattern_of
from minicrawl.web.takedowns import Takedowns
from minicrawl.web.urls import canonical, origin, resolve_links, split
from minicrawl.web.usage import PURPOSES, Preference, joined, of_headers, of_markup, of_meta
from minicrawl.wording import counted, iso

if TYPE_CHECKING:  # reports that show a few links start without the parsers
    from minicrawl.archive.warc.capture import Capture
    from minicrawl.report.page_texts import PageTexts
    from minicrawl.web.documents import PdfText

# ================================================================ requisites
#
# URLs of the resources that archived pages and stylesheets need for display.
#
# requisite  a URL that a page or a stylesheet needs for display

_STYLE, _PAGE = "text/css", ("text/html", "application/xhtml+xml")
_DRAWING = "image/svg+xml"
_MANIFEST = ("application/manifest+json", "application/json", "text/json")
_LEADING_ON = (".css", ".svg", ".webmanifest")
Needed = Iterator[tuple[str, bool]]
"""URLs, each with True if it is used as a stylesheet or a manifest, which need further files."""


def may_lead_on(url: str) -> bool:
    """Return True if a URL has the suffix of a file that needs further files, such as .css."""
    return urlsplit(url).path.lower().endswith(_LEADING_ON)


def needed_by_file(answer: Answer) -> Needed:
    """Yield what a stylesheet, a drawing or a manifest needs, or the target of a redirect."""
    kind = _kind(answer)[0]
    if (target := answer.headers.get("location")) is not None:
        # The target of a redirect may be a stylesheet. Its type is not known before it is read, so
        # it is treated as a file that needs further files.
        yield from _resolved([Reference(target, "", "", "style")], answer.url)
    elif kind == _STYLE:
        yield from _resolved(style_references(_text(answer)), answer.url)
    elif kind == _DRAWING:
        yield from _resolved(references(*_decoded(answer)).assets, answer.url)
    elif kind in _MANIFEST:
        yield from _resolved(manifest_references(_text(answer)), answer.url)


def needed_by_page(answer: Answer) -> Needed:
    """Yield the resources that a page needs."""
    yield from ((url, False) for url in answer.asked.left_out)
    if _kind(answer)[0] in _PAGE:
        found = references(*_decoded(answer))
        base = canonical(found.base, answer.url) if found.base else None
        yield from _resolved(found.assets, base or answer.url)


class KeptRequisites:
    """Collector of the resources that pages need, and of their archived responses."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive
        self._written: set[int] = set()  # keys of URLs
        self._needed: dict[str, None] = {}

    def add_page(self, answer: Answer) -> None:
        """Add a page, whose resources are wanted."""
        self._needed |= {url: None for url, _ in needed_by_page(answer)}

    def leave_out(self, url: str) -> None:
        """Note that all versions of a URL have been written."""
        self._written.add(key_of(url))

    def add(self, urls: Iterable[str]) -> None:
        """Add other files that are wanted."""
        self._needed |= dict.fromkeys(urls)

    def answers(self) -> Iterator[Answer]:
        """Yield the archived responses of each requisite, in the order they are needed."""
        done: set[str] = set()
        # In rounds, since each response may name further files: a stylesheet imports others, and a
        # redirect has a target. `done` breaks cycles of stylesheets that import each other.
        while todo := [url for url in self._needed if url not in done]:
            self._needed.clear()
            for url in todo:
                done.add(url)
                self.add([f"{origin(url)}/robots.txt"])
                # A page shown in a frame, or a linked file, may have been written as a page.
                if key_of(url) not in self._written:
                    yield from self._versions(url)

    def _versions(self, url: str) -> Iterator[Answer]:
        for row in self._archive.versions(url):
            try:
                answer = self._archive.answer(row.place)
            except Damaged:  # `minicrawl check` reports it
                continue
            self._needed |= {other: None for other, _ in needed_by_file(answer)}
            yield answer


def _kind(answer: Answer) -> tuple[str, str | None]:
    return parse_content_type(answer.headers.get("content-type"))


def _text(answer: Answer) -> str:
    return _decoded(answer)[0]


def _decoded(answer: Answer) -> tuple[str, str]:
    """Return the text of a body, and the name of its encoding."""
    return decode(answer.body, _kind(answer)[1])


def _resolved(found: Iterable[Reference], base: str) -> Needed:
    for one in found:
        if (url := canonical(one.written, base)) is not None:
            yield url, one.kind in LEADS_ON


# ================================================================ pages
#
# Archived pages of a store.
#
# Laws: a version is one response, numbered from 1, oldest first. Versions that the store does not
# know of are not shown, even if a crawl has already written them.

USAGE, PAGE_ID, CRAWL_ORDER, TEXT_HASH = "usage", "page_id", "crawl_order", "text_hash"
_OF_STORE = frozenset((USAGE, PAGE_ID, CRAWL_ORDER))
"""Columns with a value also for pages that were not kept."""
ALLOW, DENY, UNSET = "allow", "deny", "unset"
_RULES_REMEMBERED = 1000
MAIN = "main"
_MAIN_TEXTS = (MAIN, "markdown")
_PAGES_OF_SITE, _LARGEST_OF_SITE = 200, 1 << 18
"""Maximum sample pages of a host, from which parsers learn, and maximum characters of each."""
_PROCESSES = 2
"""Number of processes that extract texts; with the reading process they keep two cores busy."""
_MOST_AHEAD = 16
"""Maximum number of pages that wait for the texts of an earlier page."""
_CONTENTS_AT_ONCE = 8 << 20
"""Characters per block."""
_FRAME_OF_ITEM = 50
_ONLY_TEXT = "{} keeps only the text of pages: a web archive needs --keep pages"


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
        return _text(self.answer)

    def references(self, reader: ReferenceReader | None = None) -> References:
        """Return the links and assets of HTML as written, with queries in the page's encoding."""
        return (reader or ReferenceReader()).read(*_decoded(self.answer))

    @property
    def document(self) -> DocumentType | None:
        """Type of the document, or None if only its text was archived."""
        answer = self.answer
        if answer.kind is RecordKind.TEXT:
            return None
        return type_of(answer.headers.get("content-type"), answer.url, answer.body, ALL)

    @cached_property
    def _pdf(self) -> PdfText:
        """Content of a PDF. To read it takes a process, and long, so it is read once."""
        from minicrawl.report.page_texts import read_pdf

        return read_pdf(self.answer.body)

    @property
    def pdf(self) -> PdfText:
        """Content of a PDF. Raise `NoText` if a limit or a fault of the file left nothing of it."""
        if self._pdf.limit and not self._pdf.lines:
            raise NoText(f"its text was not made: {self._pdf.limit}")
        return self._pdf

    @property
    def text(self) -> str:
        """Text of the page, without markup. Raise `NoText`."""
        if self.document is DocumentType.PDF:
            return "\n".join(self.pdf.lines)
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
    """Return the last version of the page; None without one, or if it is damaged (see `check`)."""
    try:
        return last_version(archive, url)
    except Damaged:
        return None


def html_version(archive: ArchiveReader, url: str) -> PageVersion | None:
    """Return the last version, if it is whole HTML."""
    page = _readable(archive, url)
    return page if page is not None and page.document is DocumentType.HTML else None


def markup_of(archive: ArchiveReader, url: str) -> str | None:
    """Return the markup of the last version; None if there is none, or if it is not HTML."""
    page = html_version(archive, url)
    return None if page is None else page.markup


class ComparedTexts(AbstractContextManager["ComparedTexts"]):
    """Comparer of two versions of a page: by main text if both have one, else by whole text."""

    def __init__(self, snapshot: Snapshot, archive: ArchiveReader) -> None:
        self._archive, self._made = archive, None
        if MAIN in ext.entry_points(ext.PARSERS):
            from minicrawl.report.page_texts import PageTexts

            self._made = PageTexts([MAIN], partial(pages_of_site, snapshot, archive))

    def __exit__(self, *error: object) -> None:
        if self._made is not None:
            self._made.__exit__(*error)

    def around(self, url: str, moment: float) -> tuple[str, str] | None:
        """Return the texts of the last version before a moment and of the last one.

        Return None if they are one version, or if there is none before. Raise `Damaged`.
        """
        rows = self._archive.versions(url)
        before, last = last_page([row for row in rows if row.at < moment]), last_page(rows)
        if not before or before == last:
            return None
        old, new = (
            PageVersion(self._archive.answer(rows[number - 1].place), number, len(rows))
            for number in (before, last)
        )
        whole = old.text, new.text
        # Most pages have the same words when they are read again: skip their slow main texts.
        if whole[0].split() == whole[1].split():
            return whole
        mains = self._main_of(old), self._main_of(new)
        return (mains[0], mains[1]) if mains[0] and mains[1] else whole

    def _main_of(self, page: PageVersion) -> str | None:
        """Return the main text, or None if it cannot be extracted."""
        if self._made is None:
            return None
        try:
            found = made_texts(page, self._made)
        except NoText:
            return None
        except MinicrawlError:  # the extractor is not installed
            self._made = None
            return None
        return found[0] if found else None


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
            raise UsageError(f"{url} has {known}: there is no version {chosen}")
        try:
            return PageVersion(archive.answer(rows[chosen - 1].place), chosen, len(rows))
        except Damaged as error:
            raise Damaged(f"version {chosen} of {url} is damaged: {error}") from error


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
        yield f"{folder}: kept pages are missing, as a crawl noticed at {iso(at)}"


def _kept_url(snapshot: Snapshot, archive: ArchiveReader, text: str) -> str:
    """Return the URL of a page, or of an archived resource, which is not a page of the store."""
    url = canonical(text)
    if url is not None and archive.versions(url):
        return url
    return snapshot.url(page_of(snapshot, text))


def _kept_rows(snapshot: Snapshot, archive: ArchiveReader, url: str) -> list[IndexRow]:
    rows = archive.versions(url)
    if not rows:
        raise UsageError(f"no response of {url} is kept: {_why_not_kept(snapshot, url)}")
    return rows


def _why_not_kept(snapshot: Snapshot, url: str) -> str:
    if tables.taken_down(tables.counters(snapshot.connection)).covers(url):
        return "it was taken down: `minicrawl status` lists take-downs"
    state = State(snapshot.states[page_of(snapshot, url)])
    if state.was_read:
        lost = lost_pages(snapshot.connection, archive_folder(snapshot.path))
        return next(lost, "it was fetched before pages were kept, or its archive is gone")
    return f"its requests failed: {state.label}" if state.is_failure else "it has not been fetched"


def taken_down_pages(connection: tables.Connection) -> frozenset[int]:
    """Return the pages that were taken down."""
    gone = tables.taken_down(tables.counters(connection))
    all_urls = questions.all_urls(connection) if gone else ()
    return frozenset(page for page, url in all_urls if gone.covers(url))


class PermittedPages:
    """Filter that drops and counts the pages whose sites deny a purpose, if one is given.

    The last version of a page decides. Earlier versions that deny the purpose are dropped as well.
    `counts` has the numbers of remaining pages by purpose and permission.
    """

    def __init__(self, snapshot: Snapshot, purpose: str | None) -> None:
        self._snapshot, self.purpose = snapshot, purpose
        self._usage = UsageOfPages(snapshot)
        self.denied = self.denied_versions = 0
        self.counts = {one: dict.fromkeys((ALLOW, DENY, UNSET), 0) for one in PURPOSES}

    def of(self, found: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without the rows of denied pages."""
        with kept_pages(self._snapshot) as archive:
            for block in found:
                places = [
                    place
                    for place, url in enumerate(block["url"])
                    if self._is_permitted(self._usage.of(url, _readable(archive, url)))
                ]
                self.denied += len(block["url"]) - len(places)
                if places:
                    yield {name: [values[at] for at in places] for name, values in block.items()}

    def drops(self, url: str, page: PageVersion) -> bool:
        """Return True for a version of a permitted page that denies the purpose, and count it."""
        if self.purpose is None or page.of_all == 1:
            return False
        is_denied = self._is_denied(self._usage.of(url, page))
        self.denied_versions += is_denied
        return is_denied

    def _is_denied(self, said: Mapping[str, Preference]) -> bool:
        # A site that says nothing forbids nothing: only a stated refusal leaves a page out.
        wanted = None if self.purpose is None else said.get(self.purpose)
        return wanted is not None and not wanted.allowed

    def _is_permitted(self, said: Mapping[str, Preference]) -> bool:
        if self._is_denied(said):
            return False
        for purpose, counts in self.counts.items():
            counts[_answer(said.get(purpose))["answer"]] += 1
        return True


class UsageOfPages:
    """Permitted uses of pages, as their sites state them in robots.txt, headers and markup."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rules = lru_cache(_RULES_REMEMBERED)(self._read_rules)

    def of(self, url: str, page: PageVersion | None) -> dict[str, Preference]:
        """Return the stated preferences by purpose; a purpose without a statement is missing."""
        number = page_of(self._snapshot, url)
        found = list(self._rules(int(self._snapshot.host_of[number])).preferences(url))
        if page is not None:
            found += of_headers(page.answer.headers)
            if page.document is DocumentType.HTML:
                markup = page.markup
                found += (*of_meta(metas(markup)), *of_markup(markup, page.answer.url))
        return joined(found)

    def files_for_crawlers(self, url: str) -> Iterator[str]:
        """Yield the robots.txt of the page's host, and the sitemaps that it names."""
        base = f"{origin(url)}/"
        yield f"{base}robots.txt"
        rules = self._rules(int(self._snapshot.host_of[page_of(self._snapshot, url)]))
        yield from filter(None, (canonical(one, base) for one in rules.sitemaps))

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

    Damaged versions are skipped and reported to `warn`. Archived resources that the pages need come
    last, with the robots.txt and the sitemaps of the hosts. A capture whose body is already in the
    archive of --dedupe-with refers to it.
    """
    found = _captures(snapshot, selection, tell, warn, permitted)
    if not (file := earlier_file(snapshot.path)).exists():
        yield from found
        return
    from minicrawl.archive.warc.capture import payload_digest
    from minicrawl.archive.warc.earlier import EarlierArchive

    with closing(EarlierArchive(file)) as earlier:
        for one in found:
            digest = payload_digest(one.body)
            original = earlier.original(one.url, digest, one.at) if one.body else None
            yield one._replace(original=original)


def _captures(
    snapshot: Snapshot,
    selection: PageSelection,
    tell: Progress,
    warn: Callable[[str], None],
    permitted: PermittedPages | None,
) -> Iterator[Capture]:
    from minicrawl.archive.warc.capture import capture_of

    with kept_pages(snapshot) as archive:
        found = blocks(snapshot, selection, tell=tell)
        chosen = found if permitted is None else permitted.of(found)
        for row, answer in _with_needed(snapshot, archive, chosen, warn, permitted):
            if row is None:
                yield capture_of(answer)
                continue
            if answer.kind is RecordKind.TEXT:
                raise UsageError(_ONLY_TEXT.format(snapshot.path))
            yield capture_of(
                answer, title=row.title, rank=row.rank, importance=row.importance, hops=row.depth
            )


def _with_needed(
    snapshot: Snapshot,
    archive: ArchiveReader,
    found: Iterable[Block],
    warn: Callable[[str], None],
    permitted: PermittedPages | None = None,
) -> Iterator[tuple[ExportRow | None, Answer]]:
    """Yield the archived answers of these pages with their rows, then those of needed files."""
    settings = tables.settings(snapshot.connection)
    has_requisites, types = bool(settings.get("requisites")), settings.get("types")
    has_files = isinstance(types, list | tuple) and FILES in types
    usage, hosts, requisites = UsageOfPages(snapshot), set[str](), KeptRequisites(archive)
    for row in chain.from_iterable(map(rows_of, found)):
        if (host := origin(row.url)) not in hosts:
            hosts.add(host)
            requisites.add(usage.files_for_crawlers(row.url))
        requisites.leave_out(row.url)
        versions = archive.versions(row.url)
        for number, version in enumerate(versions, 1):
            try:
                answer = archive.answer(version.place)
            except Damaged as error:
                warn(f"{row.url}: {error}")
                continue
            page = PageVersion(answer, number, len(versions))
            if permitted is not None and permitted.drops(row.url, page):
                continue
            yield row, answer
            requisites.add(answer.asked.fetched)
            if has_requisites:
                requisites.add_page(answer)
            if has_files:
                requisites.add(_linked_files(snapshot, answer))
    yield from ((None, answer) for answer in requisites.answers())


def facts_of(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the facts of a crawl for the warcinfo record of a web archive."""
    from minicrawl.archive.warc.writer import MOST_SEEDS, crawl_facts

    connection = snapshot.connection
    return crawl_facts(tables.settings(connection), *questions.first_seeds(connection, MOST_SEEDS))


def _linked_files(snapshot: Snapshot, answer: Answer) -> Iterator[str]:
    """Yield the files that a page links to."""
    if _kind(answer)[0] in _PAGE:
        found = references(*_decoded(answer))
        base = canonical(found.base, answer.url) if found.base else None
        for url, _ in _resolved(found.links, base or answer.url):
            page = snapshot.find(split(url))
            if page is not None and snapshot.states[page] == State.TYPE:
                yield url


def with_contents(
    snapshot: Snapshot, found: Iterable[Block], names: Sequence[str], warn: Callable[[str], None]
) -> Iterator[Block]:
    """Yield the blocks with a column for each of these names, from the last version of each page.

    The values of pages that are not archived are None, and so are texts that cannot be made, whose
    pages are reported to `warn`. Blocks become smaller, because contents are large.
    """
    if not names:
        yield from found
        return
    from minicrawl.report.page_texts import PageTexts

    texts_in_columns = {name for name in names if name not in CONTENTS and name not in _OF_STORE}
    texts_in_columns.discard(TEXT_HASH)
    if TEXT_HASH in names and MAIN in ext.entry_points(ext.PARSERS):
        texts_in_columns.add(MAIN)
    made, of_store = sorted(texts_in_columns), _StoreColumns(snapshot, names)
    gone = tables.taken_down(tables.counters(snapshot.connection))
    warn = lru_cache(_MOST_AHEAD)(warn)  # several columns of a page may lack the same text
    with kept_pages(snapshot) as archive, ExitStack() as stack:
        sample = partial(pages_of_site, snapshot, archive)
        makers = [stack.enter_context(PageTexts(made, sample)) for _ in range(_PROCESSES)]
        for block in found:
            start, size, contents = 0, 0, list[list[Content | None]]()
            pages = ((url, _whole_version(archive, url, warn)) for url in block["url"])
            for stop, ((url, page), texts) in enumerate(_with_texts(pages, makers, warn), start=1):
                of_page: dict[str, Content | None] = texts | of_store.of(url, page)
                for name in names:
                    if name not in of_page:
                        try:
                            of_page[name] = _content(name, page, texts)
                        except NoText as error:
                            warn(f"{url}: {error}")
                            of_page[name] = None
                contents.append([_concealed(of_page[name], gone) for name in names])
                size += sum(map(_size, contents[-1]))
                if size >= _CONTENTS_AT_ONCE or stop == len(block["url"]):
                    part = {name: values[start:stop] for name, values in block.items()}
                    yield part | dict(zip(names, zip(*contents, strict=True), strict=True))
                    start, size, contents = stop, 0, []


def _concealed(content: Content | None, gone: Takedowns) -> Content | None:
    if not gone:
        return content
    shown: Content | None = json.loads(gone.conceal_in(json.dumps(content, ensure_ascii=False)))
    return shown


class _StoreColumns:
    """Columns that the store knows, also of pages that were not kept."""

    def __init__(self, snapshot: Snapshot, names: Sequence[str]) -> None:
        self._snapshot, self._names = snapshot, _OF_STORE & set(names)
        self._usage = UsageOfPages(snapshot)
        self._order = np.zeros(len(snapshot) if CRAWL_ORDER in self._names else 0, dtype=np.int64)
        if len(self._order):
            read = questions.pages_by_first_reading(snapshot.connection)
            self._order[read] = np.arange(1, len(read) + 1)

    def of(self, url: str, page: PageVersion | None) -> dict[str, Content | None]:
        """Return the columns of the page at a URL."""
        found: dict[str, Content | None] = {}
        if USAGE in self._names:
            said = self._usage.of(url, page)
            found[USAGE] = {purpose: _answer(said.get(purpose)) for purpose in PURPOSES}
        if self._names & {PAGE_ID, CRAWL_ORDER}:
            number = page_of(self._snapshot, url)
            found[PAGE_ID] = number
            found[CRAWL_ORDER] = int(self._order[number]) or None if len(self._order) else None
        return found


def _whole_version(
    archive: ArchiveReader, url: str, warn: Callable[[str], None]
) -> PageVersion | None:
    try:
        return last_version(archive, url)
    except Damaged as error:
        warn(f"{url}: {error}")
        return None


def made_texts(page: PageVersion, texts: PageTexts) -> Sequence[str] | None:
    """Return the texts that packages extract from a page; None if only its text was archived.

    The main text of a document other than HTML is its whole text.
    """
    if page.answer.kind is RecordKind.TEXT:
        return None
    _begin_texts(page, texts)
    return _finished_texts(page, texts)


def _begin_texts(page: PageVersion, texts: PageTexts) -> None:
    is_page = page.document is DocumentType.HTML
    texts.begin(page.markup if is_page else f"<pre>{escape(page.text)}</pre>", page.answer.url)


def _finished_texts(page: PageVersion, texts: PageTexts) -> Sequence[str]:
    made = texts.finish(page.answer.url)
    if page.document is DocumentType.HTML:
        return made
    return [
        page.text if name in _MAIN_TEXTS else text
        for name, text in zip(texts.names, made, strict=True)
    ]


class MadeTexts(AbstractContextManager["MadeTexts"]):
    """Maker of the texts of a snapshot's pages, with a process for each text that was asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._open = snapshot, ExitStack()
        self._gone = tables.taken_down(tables.counters(snapshot.connection))
        self._texts: dict[str, PageTexts] = {}

    def __exit__(self, *_: object) -> None:
        self._texts.clear()
        self._open.close()

    def of(self, page: PageVersion, name: str) -> str | None:
        """Return the text that a package extracts; None if only the whole text was archived."""
        if name not in self._texts:
            from minicrawl.report.page_texts import PageTexts

            archive = self._open.enter_context(kept_pages(self._snapshot))
            sample = partial(pages_of_site, self._snapshot, archive)
            self._texts[name] = self._open.enter_context(PageTexts([name], sample))
        found = made_texts(page, self._texts[name])
        return None if found is None else self._gone.conceal_in(found[0] or "")


def pages_of_site(snapshot: Snapshot, archive: ArchiveReader, host: str) -> list[str]:
    """Return the markup of up to 200 pages of a host, spread evenly over the pages read."""
    numbers = [number for number, name in enumerate(snapshot.hosts) if name == host]
    pages = np.flatnonzero(np.isin(snapshot.host_of, numbers) & snapshot.was_read)
    # Spread evenly, because pages found together are alike: the first 200 pages of a host are often
    # from one section.
    chosen = pages[:: len(pages) // _PAGES_OF_SITE + 1]
    found: list[str] = []
    for url in map(snapshot.url, chosen.tolist()):
        markup = markup_of(archive, url)
        if markup is not None and len(markup) <= _LARGEST_OF_SITE:
            found.append(markup)
    return found


OfPage = tuple[str, PageVersion | None]


@dataclass(slots=True)
class _TextTurn:
    """A page whose texts are made; `maker` works on it, and `texts` are None meanwhile."""

    of: OfPage
    maker: PageTexts | None = None
    texts: dict[str, str | None] | None = None


class _TextTurns:
    """Pages whose texts are made by several processes at once.

    A process that is done gets the next page while others work on slower ones.
    """

    def __init__(self, makers: Sequence[PageTexts], warn: Callable[[str], None]) -> None:
        self._names, self._idle, self._warn = makers[0].names, [*makers], warn
        self.turns = deque[_TextTurn]()

    def begin(self, one: OfPage) -> None:
        """Begin with a page, after an earlier one if all processes are busy."""
        from minicrawl.report.page_texts import first_done

        page, turn = one[1], _TextTurn(one)
        self.turns.append(turn)
        if not self._names or page is None or page.answer.kind is RecordKind.TEXT:
            turn.texts = dict.fromkeys(self._names)
            return
        if not self._idle:
            busy = {turn.maker: turn for turn in self.turns if turn.maker is not None}
            self.finish(busy[first_done([*busy])])
        maker = self._idle.pop()
        try:
            _begin_texts(page, maker)
            turn.maker = maker
        except NoText as error:
            self._idle.append(maker)
            self._refuse(turn, error)

    def finish(self, turn: _TextTurn) -> None:
        """Take the texts of a page; if it takes too long, they are None."""
        maker, page = turn.maker, turn.of[1]
        if maker is None or page is None:
            return
        turn.maker = None
        self._idle.append(maker)
        try:
            turn.texts = dict(zip(self._names, _finished_texts(page, maker), strict=True))
        except NoText as error:
            self._refuse(turn, error)

    def _refuse(self, turn: _TextTurn, error: NoText) -> None:
        self._warn(f"{turn.of[0]}: {error}")
        turn.texts = dict.fromkeys(self._names)


def _with_texts(
    found: Iterable[OfPage], makers: Sequence[PageTexts], warn: Callable[[str], None]
) -> Iterator[tuple[OfPage, dict[str, str | None]]]:
    """Yield the pages in order with their texts by name, which processes make beside."""
    making = _TextTurns(makers, warn)
    turns = making.turns
    for one in found:
        making.begin(one)
        while turns and (turns[0].texts is not None or len(turns) > _MOST_AHEAD):
            making.finish(turn := turns.popleft())
            yield turn.of, turn.texts or {}
    for turn in turns:
        making.finish(turn)
        yield turn.of, turn.texts or {}


def _size(content: Content | None) -> int:
    """Return the approximate number of characters of a value, with the syntax of its items."""
    if isinstance(content, list):
        return sum(_FRAME_OF_ITEM + len(str(value)) for one in content for value in one.values())
    return len(content) if isinstance(content, str) else _FRAME_OF_ITEM


def _answer(one: Preference | None) -> dict[str, str]:
    if one is None:
        return {"answer": UNSET, "where": ""}
    return {"answer": ALLOW if one.allowed else DENY, "where": one.where}


def _content(
    name: str, page: PageVersion | None, texts: Mapping[str, str | None]
) -> Content | None:
    """Return a column's value, or None if it is unknown. Raise `NoText`.

    If only the text of a page was archived, all its other columns are unknown.
    """
    if name == TEXT_HASH and page is not None:
        text = texts.get(MAIN) or page.text
        return sha256(text.encode("utf-8", "replace")).hexdigest()
    if page is None or (page.answer.kind is RecordKind.TEXT and name != "text"):
        return None
    return CONTENTS[name](page)


def _links(page: PageVersion) -> list[dict[str, object]]:
    """Return the links in page order; text and rel are empty unless the page is HTML."""
    from minicrawl.web.documents import parse_document

    answer = page.answer
    if page.document is DocumentType.HTML:
        found = page.references()
        base = canonical(found.base, answer.url) if found.base else None
        resolved = ((canonical(one.written, base or answer.url), one) for one in found.links)
        return [{"url": url, "text": one.text, "rel": one.rel} for url, one in resolved if url]
    urls: Iterable[str]
    if page.document is DocumentType.PDF:
        urls = resolve_links(page.pdf.links, answer.url)
    else:
        urls = parse_document(answer.body, answer.url, answer.headers, types=ALL).links
    return [{"url": url, "text": "", "rel": ""} for url in urls]


def _headings(page: PageVersion) -> list[dict[str, object]]:
    """Return the headings in page order; headings of Markdown have no level."""
    from minicrawl.web.documents import read_markdown
    from minicrawl.web.references import headings

    match page.document:
        case DocumentType.HTML:
            return [one._asdict() for one in headings(page.markup)]
        case DocumentType.MARKDOWN:
            return [{"level": None, "text": one} for one in read_markdown(page.markup).headings]
    return []


def _robots(page: PageVersion) -> str:
    """Return a page's robots directives: from its header, then from its markup."""
    said = [page.answer.headers.get("x-robots-tag", "")]
    if page.document is DocumentType.HTML:
        said += [content for name, content in metas(page.markup) if name == "robots"]
    return ", ".join(filter(None, said))


def _language(page: PageVersion) -> str:
    from minicrawl.web.references import language

    return language(page.markup) if page.document is DocumentType.HTML else ""


Content = str | int | list[dict[str, object]] | dict[str, object]
"""Value of a column of contents."""

CONTENTS: dict[str, Callable[[PageVersion], Content]] = {
    "text": lambda page: page.text,
    "html": lambda page: page.markup,
    "headings": _headings,
    "lang_declared": _language,
    "links": _links,
    "content_type": lambda page: _kind(page.answer)[0],
    "bytes": lambda page: len(page.answer.body),
    "robots": _robots,
}
"""Functions of a page version that return its content columns, by name."""


def keys_of_type(archive: ArchiveReader, media_type: str) -> set[int]:
    """Return the archive keys of the URLs with responses of a media type, such as `image/*`."""
    fits = re.compile(pattern_of(media_type.lower())).match
    return archive.keys_of(lambda head: fits(_kind(head)[0]))


def keys_of_best(snapshot: Snapshot, archive: ArchiveReader, count: int) -> set[int]:
    """Return the archive keys of the most important pages, and of the files that they need."""
    found = blocks(snapshot, PageSelection(count=count))
    answers = _with_needed(snapshot, archive, found, lambda _line: None)  # `verify` lists damage
    return {key_of(answer.url) for _, answer in answers}


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
        raise UsageError(f"{folder} is not an archive, or has lost its files segment-*.pages")
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
# Laws: the context of a link is 50 characters on either side. A page whose archived version is
# damaged, or lacks markup, has no words.

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""Types of documents whose links have words."""


class LinkWords(NamedTuple):
    """Link of a page, with the words in and around it."""

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
