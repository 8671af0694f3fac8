r"""The log of a crawl with the columns of Heritrix: one line per request, the oldest first.

    2026-11-27T03:12:43.812Z   200      5120 http://a.example/b L http://a.example/ text/html \
        #000 20261127031243700+112 sha1:ZZLVCEC2W6SZVSSHPDFV2CVPBAQCE7ZB http://a.example/ -

The columns are time, status, bytes, URL, path from a seed (a letter per link: L for a link, E for a
requisite, P for a robots.txt), referrer, type, thread, start and duration in ms, digest of the
body, seed, and annotations. A request without a response has one of Heritrix's negative statuses.
What a store does not know is `-`; digests and types need kept pages.

Laws: each request for a page is one line, and so is each other kept response, such as an image.
Pages that were not requested have no line. Memory holds a few numbers per request, and never a
whole body.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import sha1
from heapq import merge
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind, key_of
from minicrawl.archive.segments import StoredPayload
from minicrawl.archive.unpacking import read_head, unpacked
from minicrawl.archive.warc.capture import shown_digest
from minicrawl.errors import Damaged
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.states.discovery import discovery
from minicrawl.states import State
from minicrawl.store import page_columns, questions, request_log, tables
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.urls import split

_STATUSES = {
    State.DNS: -1,
    State.CONNECT: -2,
    State.TLS: -2,
    State.PROXY: -2,
    State.RESET: -3,
    State.PROTOCOL: -3,
    State.ENCODING: -3,
    State.TIMEOUT: -4,
    State.LOST: -5,
    State.INTERRUPTED: -7000,
}
"""Heritrix's statuses of requests without a response, by outcome."""
_BLOCKED = -5001  # all other outcomes without a response
_NONE, _NO_TYPE = "-", "no-type"
_MOST_LETTERS = 50
"""Maximum letters of a path; before them, Heritrix writes the number of letters left out."""
_TYPE = re.compile(r"[!-~]+")
_BY_LABEL = {state.label: status for state, status in _STATUSES.items()}


class _Body(NamedTuple):
    """Facts about an archived response."""

    url: str
    status: int
    kind: str
    size: int | None
    digest: str = _NONE
    annotations: str = ""


class _Line(NamedTuple):
    """Line of the log, without its constant columns."""

    at: float
    status: int
    size: int | None
    url: str
    kind: str
    path: str
    digest: str = _NONE
    annotations: str = ""
    referrer: str = _NONE
    source: str = _NONE
    took_s: float = 0.0

    def encoded(self) -> bytes:
        """Return the line as bytes."""
        shown = f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3]
        began = f"{datetime.fromtimestamp(self.at - self.took_s, UTC):%Y%m%d%H%M%S%f}"[:-3]
        columns = (
            f"{shown}Z",
            f"{self.status:>5}",
            f"{_NONE if self.size is None else self.size:>10}",
            *(self.url, self.path, self.referrer, self.kind, "#000"),
            f"{began}+{round(1000 * self.took_s)}",
            *(self.digest, self.source, self.annotations or _NONE),
        )
        return f"{' '.join(columns)}\n".encode("utf-8", "replace")


class CrawlLog:
    """Export format `log`, an entry point in `minicrawl.exporters`."""

    def lines(self, snapshot: Snapshot, warn: Callable[[str], None]) -> Iterator[bytes]:
        """Yield all lines; damaged responses have no digest, and are reported to `warn`."""
        with ExitStack() as stack:
            archive = None
            has_archive = tables.archive_end(snapshot.connection) is not None
            if has_archive and archive_folder(snapshot.path).is_dir():
                archive = stack.enter_context(kept_pages(snapshot))
            log = _Log(snapshot, archive, warn)
            for _, line in merge(log.of_pages(), log.of_others(), key=itemgetter(0)):
                yield line


LOG = CrawlLog()


class _Log:
    """Lines of one store's crawl log, with the time of each."""

    def __init__(
        self, snapshot: Snapshot, archive: ArchiveReader | None, warn: Callable[[str], None]
    ) -> None:
        self._connection, self._archive, self._warn = snapshot.connection, archive, warn
        self._depths = page_columns.whole(page_columns.urls(snapshot.connection, "depth"), "depth")
        self._discovery = discovery(snapshot)
        self._places = self._places_of_pages()

    def of_pages(self) -> Iterator[tuple[float, bytes]]:
        """Yield time and line of each request for a page."""
        for row, place in zip(self._requests(), self._places, strict=True):
            url, depth = self._url(row.page), int(self._depths[row.page])
            body = self._body(place) if place else None
            if body is None:
                # The type of a response that is not kept is known if it was refused.
                kind = _plain(row.detail if row.outcome == State.TYPE.outcome else None)
                body = _Body(url, row.status or 0, kind, _size(row), annotations=_why(row))
            line = _Line(
                at=row.at,
                status=_status(row),
                size=body.size,
                url=url,
                kind=body.kind,
                path=_path(depth),
                digest=body.digest,
                annotations=body.annotations,
                referrer=self._shown(self._discovery.finders[row.page]),
                source=self._shown(self._discovery.sources[row.page]),
                took_s=row.elapsed_s,
            )
            yield row.at, line.encoded()

    def of_others(self) -> Iterator[tuple[float, bytes]]:
        """Yield time and line of each kept response to a request that was not for a page."""
        if self._archive is None:
            return
        known = np.sort(np.array(self._places, dtype=np.int64))
        for row in self._archive.index.rows(self._archive.end):
            at = int(np.searchsorted(known, row.place))
            is_page = at < len(known) and known[at] == row.place
            if is_page or row.kind in (RecordKind.DICTIONARY, RecordKind.RENDERED):
                continue
            if (body := self._body(row.place)) is not None:
                path, referrer, source = self._way_to(body.url)
                of_body = body.status, body.size, body.url, body.kind, path, body.digest
                line = _Line(row.at, *of_body, body.annotations, referrer, source)
                yield row.at, line.encoded()

    def _requests(self) -> Iterator[FetchRow]:
        return (row for row in request_log.fetch_rows(self._connection) if row.outcome != NOT_ASKED)

    def _places_of_pages(self) -> array[int]:
        """Return the place of the record of each request for a page, or 0."""
        places = array("q")
        for row in self._requests():
            places.append(0 if self._archive is None else self._place(self._archive, row))
        return places

    def _place(self, archive: ArchiveReader, row: FetchRow) -> int:
        rows = archive.index.of_key(key_of(self._url(row.page)), archive.end)
        fitting = (
            other.place
            for other in rows
            if other.at == row.at and other.kind != RecordKind.RENDERED
        )
        return next(fitting, 0)

    def _body(self, place: int) -> _Body | None:
        assert self._archive is not None
        try:
            return _body_at(self._archive, place)
        except Damaged as error:
            self._warn(str(error))
            return None

    def _url(self, page: int) -> str:
        return tables.url_of(self._connection, page)

    def _way_to(self, url: str) -> tuple[str, str, str]:
        """Return path, referrer and source of a response to a request that was not for a page."""
        if urlsplit(url).path == "/robots.txt":
            return "P", _NONE, _NONE
        page = questions.find(self._connection, *split(url))
        if page is None:
            return "E", _NONE, _NONE
        finder, source = self._discovery.finders[page], self._discovery.sources[page]
        return _path(int(self._depths[page])), self._shown(finder), self._shown(source)

    def _shown(self, page: int) -> str:
        return self._url(int(page)) if page >= 0 else _NONE


def _body_at(archive: ArchiveReader, place: int) -> _Body:
    head = read_head(archive.segments.beginning(place), archive.codec)
    header = archive.segments.header(place)
    of_body: int | None = place
    annotations = ["lenTrunc" if "bytes" in head.cut else "midFetchTrunc"] if head.cut else []
    if header.kind == RecordKind.REVISIT:
        of_body = archive.place_of_body(header.digest)
        annotations.append("duplicate:digest")
    kind = _plain(head.headers.get("content-type"))
    digest = _NONE
    if of_body is not None and header.kind != RecordKind.TEXT:
        digest = _digest_at(archive, of_body)
    url, size = head.request_url or head.url, header.body_bytes
    return _Body(url, head.status, kind, size, digest, ",".join(annotations))


def _digest_at(archive: ArchiveReader, place: int) -> str:
    """Return the SHA-1 of a body, read in pieces."""
    header, digest = archive.segments.header(place), sha1(usedforsecurity=False)
    content = unpacked(header, StoredPayload(archive.segments, place, header), archive.codec)
    next(content)
    for piece in content:
        digest.update(piece)
    return shown_digest(digest.digest())


def _status(row: FetchRow) -> int:
    if row.status is not None:
        return row.status
    label = row.outcome.rpartition(":")[2]
    return _BY_LABEL.get(label, _BLOCKED)


def _plain(content_type: str | None) -> str:
    kind = parse_content_type(content_type)[0]
    return kind if _TYPE.fullmatch(kind) else _NO_TYPE


def _size(row: FetchRow) -> int | None:
    return None if row.status is None else row.wire_bytes


def _why(row: FetchRow) -> str:
    """Return why there is no response, or why it was not read."""
    return row.outcome if ":" in row.outcome else ""


def _path(depth: int) -> str:
    letters, more = "L" * min(depth, _MOST_LETTERS), depth - _MOST_LETTERS
    return f"{more}+{letters}" if more > 0 else letters or _NONE
