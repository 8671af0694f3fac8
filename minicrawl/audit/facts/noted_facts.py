"""Facts of kept pages, saved beside the store, so that each version of a page is read once, and
read again as columns.

The crawl itself saves no facts: reading every tag would double the time to parse a page. An audit
first reads the pages that were kept since the last audit, in the order of the archive. The facts of
a page are about 80 bytes, and a check is about one number of each page, so they are transposed into
a temporary file. References stay in memory, as most pages have few.

    stored     facts of page 0, facts of page 1, ...
    columns    title of page 0, title of page 1, ...; h1 of page 0, h1 of page 1, ...

Laws: a kill loses one round at most, which is read again. Damaged records are skipped: `check`
reports them. Facts need a page's markup: a store with `--keep text`, or with nothing, has none.
"""

import os
import re
import weakref
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind, key_of
from minicrawl.archive.segments import scan
from minicrawl.audit.facts.page_facts import HEADS, LAYOUT, VERSION, UrlReference, facts_of
from minicrawl.audit.url_columns import url_numbers
from minicrawl.errors import Damaged
from minicrawl.ports import Progress
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables
from minicrawl.store.derived.facts import (
    FactsRow,
    FactsUntil,
    ListedRow,
    facts_in_blocks,
    facts_until,
    keep_facts,
)
from minicrawl.store.reader import archive_folder
from minicrawl.web.encoding.detection import decode
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.responses.types import ALL, DocumentType, type_of
from minicrawl.web.sitemaps.sitemap import content_of, stated_entries
from minicrawl.web.urls import canonical

_ROUND = 1000
"""Pages per transaction: a running crawl waits for it before it writes to this file."""
_WITH_MARKUP = (RecordKind.PAGE, RecordKind.REVISIT, RecordKind.RENDERED)
_SITEMAP = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)[\s>]")
_SNIFFED = 2000

REFERENCE = np.dtype([("kind", "u1"), ("key", "<i8")])
"""Stored layout of a reference: its place in `REFERENCE_KINDS`, and the key of its URL."""
REFERENCE_KINDS = (*HEADS, "alternate", "session")
NO_TARGET, UNKNOWN = -1, -2
_OFFSETS: dict[str, int] = {name: field[1] for name, field in (LAYOUT.fields or {}).items()}


class UrlKeys:
    """Index of the pages of a store by the keys of their URLs."""

    def __init__(self, snapshot: Snapshot) -> None:
        keys = url_numbers(snapshot, key_of)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        self._order = np.append(order, np.int32(-1))
        self._sorted = np.append(keys[order], np.iinfo(np.int64).max)

    def pages(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the page of each key, or -1."""
        places = np.searchsorted(self._sorted, keys)
        return np.where(self._sorted[places] == keys, self._order[places], -1)


def note_facts(snapshot: Snapshot, keys: UrlKeys, progress: Progress) -> int:
    """Save the facts of the pages that were kept since the last call, and return their number."""
    end = tables.archive_end(snapshot.connection)
    if end is None or not archive_folder(snapshot.path).is_dir():
        return 0
    with kept_pages(snapshot) as archive:
        name, until = archive.identity(), facts_until(snapshot.path, snapshot.connection)
        # Another name means that the archive was rewritten, as by `forget`: places in it changed,
        # so it is read from the beginning.
        is_same = until is not None and until[:2] == (VERSION, name)
        begin = until.place if until is not None and is_same else archive.begin
        pages = 0
        for places, reached in _rounds(archive, begin):
            rows, listed = _facts_of_round(archive, keys, places)
            pages += len(rows)
            until = FactsUntil(VERSION, name, reached)
            keep_facts(snapshot.path, snapshot.connection, until, rows.values(), listed)
            progress((reached - begin) / max(archive.end - begin, 1))
    return pages


def _rounds(archive: ArchiveReader, begin: int) -> Iterator[tuple[list[tuple[int, int]], int]]:
    """Yield rounds: places and keys of records with markup, and the end of the round."""
    places: list[tuple[int, int]] = []
    for record in scan(archive.segments, begin, archive.end):
        if record.header is not None and record.header.kind in _WITH_MARKUP:
            places.append((record.place, record.header.key))
        if len(places) >= _ROUND:
            yield places, record.place + record.length
            places = []
    if places or begin < archive.end:
        yield places, archive.end


def _facts_of_round(
    archive: ArchiveReader, keys: UrlKeys, places: list[tuple[int, int]]
) -> tuple[dict[int, FactsRow], dict[int, list[ListedRow]]]:
    """Return facts, and entries of sitemaps, from some records: of a page, the last version's."""
    rows, listed = dict[int, FactsRow](), dict[int, list[ListedRow]]()
    pages = keys.pages(np.array([key for _, key in places], np.int64))
    for (place, key), page in zip(places, pages.tolist(), strict=True):
        try:
            answer = archive.shown(place)
        except Damaged:  # `minicrawl check` reports it
            continue
        content_type = answer.headers.get("content-type")
        if page < 0 and (entries := list(_entries(answer, key))):
            listed[key] = entries
        if answer.kind is RecordKind.TEXT:  # of a page that was read again, and had not changed
            continue
        kind = type_of(content_type, answer.url, answer.body, ALL)
        if page >= 0 and kind is DocumentType.HTML and "location" not in answer.headers:
            markup, encoding = decode(answer.body, parse_content_type(content_type)[1])
            facts = facts_of(markup, answer.url, answer.headers, len(answer.body), encoding)
            rows[page] = FactsRow(page, facts[0], packed(facts[1]))
    return rows, listed


def packed(references: Iterable[UrlReference]) -> bytes:
    """Return references in their stored layout."""
    rows = [
        (REFERENCE_KINDS.index(reference.kind), key_of(reference.url)) for reference in references
    ]
    return np.array(rows, REFERENCE).tobytes()


def _entries(answer: Answer, key: int) -> Iterator[ListedRow]:
    content, _ = content_of(answer.body)
    if not _SITEMAP.search(content[:_SNIFFED]):
        return
    for written, changed in stated_entries(content, answer.url):
        if (url := canonical(written, answer.url)) is not None:
            yield ListedRow(key, key_of(url), changed)


class FactColumns:
    """Numbers of all pages by name, and the targets of their references."""

    def __init__(self, snapshot: Snapshot, keys: UrlKeys) -> None:
        self._size = len(snapshot)
        self.has = np.zeros(self._size, np.bool_)
        """Pages with facts; the others have 0 in all columns."""
        named = [np.empty((3, 0), np.int32)]
        with TemporaryFile() as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        os.truncate(self._file, LAYOUT.itemsize * self._size)
        for rows in facts_in_blocks(snapshot.path, snapshot.connection):
            pages = np.array([row.page for row in rows], np.int32)
            self.has[pages] = True
            first = int(pages[0])
            block = np.zeros(int(pages[-1]) - first + 1, LAYOUT)
            block[pages - first] = np.frombuffer(b"".join(row.numbers for row in rows), LAYOUT)
            for name in LAYOUT.names or ():
                os.pwrite(self._file, block[name].tobytes(), self._place(name, first))
            givers = np.repeat(pages, [len(row.refs) // REFERENCE.itemsize for row in rows])
            references = np.frombuffer(b"".join(row.refs for row in rows), REFERENCE)
            targets = keys.pages(references["key"])
            targets[targets < 0] = UNKNOWN
            named.append(np.array((references["kind"], givers, targets), np.int32))
        self._named = np.concatenate(named, axis=1)

    def named(self, kind: str) -> NDArray[np.int32]:
        """Return pages, and the page that each names in this way, or `UNKNOWN`."""
        return self._named[1:, self._named[0] == REFERENCE_KINDS.index(kind)]

    def number(self, name: str) -> NDArray[Any]:
        size, place = LAYOUT[name].itemsize * self._size, self._place(name, 0)
        return np.frombuffer(os.pread(self._file, size, place), LAYOUT[name])

    def _place(self, name: str, page: int) -> int:
        """Return where the number of a page lies in the file."""
        return _OFFSETS[name] * self._size + LAYOUT[name].itemsize * page
