"""Archived pages with the files that they need, for web archives."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import chain

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind, key_of
from minicrawl.archive.warc.capture import Capture
from minicrawl.config.parts.selection import FILES
from minicrawl.errors import Damaged, UsageError
from minicrawl.ports import Progress
from minicrawl.report.archived.page_versions import PageVersion, kept_pages
from minicrawl.report.archived.requisites import (
    PAGE_TYPES,
    KeptRequisites,
    decoded_page,
    media_type_of,
    resolved_urls,
)
from minicrawl.report.archived.usage import PermittedPages, UsageOfPages
from minicrawl.report.selected_pages import Block, ExportRow, PageSelection, blocks, rows_of
from minicrawl.report.snapshot import Snapshot
from minicrawl.states import State
from minicrawl.store import step_log, tables
from minicrawl.store.reader import EARLIER, file_beside
from minicrawl.web.html.references import references
from minicrawl.web.scope import pattern_of
from minicrawl.web.urls import PICTURES, canonical, origin, split

_ONLY_TEXT = "{} keeps only the text of pages: a web archive needs --keep pages"


def captures(
    snapshot: Snapshot,
    selection: PageSelection,
    progress: Progress,
    warn: Callable[[str], None],
    permitted: PermittedPages | None = None,
) -> Iterator[Capture]:
    """Yield all versions of the selected pages, most important page first.

    Damaged versions are skipped and reported to `warn`. Archived resources that the pages need come
    last, with the robots.txt and the sitemaps of the hosts. A capture whose body is already in the
    archive of --dedupe-with refers to it.
    """
    from minicrawl.archive.warc.capture import capture_of, payload_digest
    from minicrawl.archive.warc.earlier import EarlierArchive

    with ExitStack() as stack:
        earlier = None
        if (file := file_beside(snapshot.path, EARLIER)).exists():
            earlier = stack.enter_context(closing(EarlierArchive(file)))
        archive = stack.enter_context(kept_pages(snapshot))
        pieces = blocks(snapshot, selection, progress=progress)
        chosen = pieces if permitted is None else permitted.of(pieces)
        for row, answer in _with_needed(snapshot, archive, chosen, warn, permitted):
            capture = capture_of(answer)
            if row is not None:
                if answer.kind is RecordKind.TEXT:
                    raise UsageError(_ONLY_TEXT.format(snapshot.path))
                capture = capture._replace(
                    title=row.title, rank=row.rank, importance=row.importance, hops=row.depth
                )
            if earlier is not None and capture.body:
                digest = payload_digest(capture.body)
                original = earlier.original(capture.url, digest, capture.at)
                capture = capture._replace(original=original)
            yield capture


def _with_needed(
    snapshot: Snapshot,
    archive: ArchiveReader,
    blocks: Iterable[Block],
    warn: Callable[[str], None],
    permitted: PermittedPages | None = None,
) -> Iterator[tuple[ExportRow | None, Answer]]:
    """Yield the archived answers of these pages with their rows, then those of needed files."""
    settings = tables.settings(snapshot.connection)
    has_requisites, types = bool(settings.get("requisites")), settings.get("types")
    has_files = isinstance(types, list | tuple) and FILES in types
    usage, hosts, requisites = UsageOfPages(snapshot), set[str](), KeptRequisites(archive)
    for row in chain.from_iterable(map(rows_of, blocks)):
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
            requisites.add(answer.requested.fetched)
            requisites.add(beginning + row.url for beginning in PICTURES)
            if has_requisites:
                requisites.add_page(answer)
            if has_files and media_type_of(answer)[0] in PAGE_TYPES:
                parsed = references(*decoded_page(answer))
                base = canonical(parsed.base, answer.url) if parsed.base else None
                for url, _ in resolved_urls(parsed.links, base or answer.url):
                    linked = snapshot.find(split(url))
                    if linked is not None and snapshot.states[linked] == State.TYPE:
                        requisites.add([url])
    yield from ((None, answer) for answer in requisites.answers())


def facts_of(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the facts of a crawl for the warcinfo record of a web archive."""
    from minicrawl.archive.warc.writer import MOST_SEEDS, crawl_facts

    connection = snapshot.connection
    return crawl_facts(tables.settings(connection), *step_log.first_seeds(connection, MOST_SEEDS))


def keys_of_type(archive: ArchiveReader, media_type: str) -> set[int]:
    """Return the archive keys of the URLs with responses of a media type, such as `image/*`."""
    fits = re.compile(pattern_of(media_type.lower())).match
    return archive.keys_of(lambda head: fits(media_type_of(head)[0]))


def keys_of_best(snapshot: Snapshot, archive: ArchiveReader, count: int) -> set[int]:
    """Return the archive keys of the most important pages, and of the files that they need."""
    pieces = blocks(snapshot, PageSelection(count=count))
    answers = _with_needed(snapshot, archive, pieces, lambda _line: None)  # `verify` lists damage
    return {key_of(answer.url) for _, answer in answers}
