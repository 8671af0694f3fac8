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
        self._depths = page_columns.whole(snapshot.connection, "urls", "depth")
        self._finders, self._sources, _ = discovery(snapshot)
        places = array("q")
        for row in self._requests():
            key = key_of(self._url(row.page))
            records = archive.index.of_key(key, archive.end) if archive is not None else ()
            fitting = (
                record.place
                for record in records
                if record.at == row.at and record.kind != RecordKind.RENDERED
            )
            places.append(next(fitting, 0))
        self._places = places

    def of_pages(self) -> Iterator[tuple[float, bytes]]:
        """Yield time and line of each request for a page."""
        for row, place in zip(self._requests(), self._places, strict=True):
            url = self._url(row.page)
            body = self._body(place) if place else None
            if body is None:
                # The type of a response that is not kept is known if it was refused.
                kind = _plain(row.detail if row.outcome == State.TYPE.outcome else None)
                size = None if row.status is None else row.wire_bytes
                why = row.outcome if ":" in row.outcome else ""  # there is none, or it was not read
                body = _Body(url, row.status or 0, kind, size, annotations=why)
            label = row.outcome.rpartition(":")[2]
            status = _BY_LABEL.get(label, _BLOCKED) if row.status is None else row.status
            line = body._replace(url=url, status=status)
            yield row.at, _encoded(row.at, line, self._way_of(row.page), row.elapsed_s)

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
                yield row.at, _encoded(row.at, body, self._way_to(body.url))

    def _requests(self) -> Iterator[FetchRow]:
        return (row for row in request_log.fetch_rows(self._connection) if row.outcome != NOT_ASKED)

    def _body(self, place: int) -> _Body | None:
        assert self._archive is not None
        try:
            head = read_head(self._archive.segments.beginning(place), self._archive.codec)
            header = self._archive.segments.header(place)
            of_body: int | None = place
            annotations = (
                ["lenTrunc" if "bytes" in head.cut else "midFetchTrunc"] if head.cut else []
            )
            if header.kind == RecordKind.REVISIT:
                of_body = self._archive.place_of_body(header.digest)
                annotations.append("duplicate:digest")
            kind = _plain(head.headers.get("content-type"))
            digest = _NONE
            if of_body is not None and header.kind != RecordKind.TEXT:
                segments, sha = self._archive.segments, sha1(usedforsecurity=False)
                head_of_body = segments.header(of_body)
                payload = StoredPayload(segments, of_body, head_of_body)
                pieces = unpacked(head_of_body, payload, self._archive.codec)
                next(pieces)  # the heads
                for piece in pieces:
                    sha.update(piece)
                digest = shown_digest(sha.digest())
            url, size = head.request_url or head.url, header.body_bytes
            return _Body(url, head.status, kind, size, digest, ",".join(annotations))
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
        return self._way_of(page)

    def _way_of(self, page: int) -> tuple[str, str, str]:
        finder, source = self._finders[page], self._sources[page]
        depth = int(self._depths[page])
        letters, more = "L" * min(depth, _MOST_LETTERS), depth - _MOST_LETTERS
        path = f"{more}+{letters}" if more > 0 else letters or _NONE
        return path, self._shown(finder), self._shown(source)

    def _shown(self, page: int) -> str:
        return self._url(int(page)) if page >= 0 else _NONE


def _plain(content_type: str | None) -> str:
    kind = parse_content_type(content_type)[0]
    return kind if _TYPE.fullmatch(kind) else _NO_TYPE


def _encoded(at: float, body: _Body, way: tuple[str, str, str], took_s: float = 0.0) -> bytes:
    """Return a line of the log. `way` has path, referrer and source."""
    path, referrer, source = way
    shown = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3]
    began = f"{datetime.fromtimestamp(at - took_s, UTC):%Y%m%d%H%M%S%f}"[:-3]
    columns = (
        f"{shown}Z",
        f"{body.status:>5}",
        f"{_NONE if body.size is None else body.size:>10}",
        *(body.url, path, referrer, body.kind, "#000"),
        f"{began}+{round(1000 * took_s)}",
        *(body.digest, source, body.annotations or _NONE),
    )
    return f"{' '.join(columns)}\n".encode("utf-8", "replace")
