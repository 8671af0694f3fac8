"""What came of a request, from the record of its response.

Laws: a recorded response has the same effect as if its server had sent it now. Writers of records
differ: some undo the chunks or the encoding of a body and leave the header that tells of it, so
what the body is decides. What is no answer to a request for a page has no result.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from minicrawl.config import Network
from minicrawl.fetch.body.body import BodyLimits, DecodeBudget
from minicrawl.fetch.connection.heads import Head, has_word, read_head, take_cookies
from minicrawl.fetch.connection.http1 import BLANK_LINE, ByChunks
from minicrawl.fetch.fetcher import read_response
from minicrawl.fetch.transport import Fault, failure
from minicrawl.fetch.warc.records import WarcRecord
from minicrawl.model import Failed, FailureKind, FetchResult, Request
from minicrawl.web.headers import is_html

_HTTP = b"HTTP/"
_PIECE_BYTES = 1 << 16
_CUTS = {"length": FailureKind.TOO_LARGE, "time": FailureKind.TIMEOUT}
"""By the WARC-Truncated of a record; others were cut by the connection."""
_OK = 200
_ENOUGH_TO_JUDGE = 1445  # bytes; the MIME Sniffing standard looks at no more


@dataclass
class RecordedStream:
    """A response whose bytes are all there."""

    status: int
    headers: dict[str, str]
    content: bytes
    cut: Fault | None = None

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    def take_whole(self) -> bytes | None:
        return None  # large ones are read piece by piece

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _pieces(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), _PIECE_BYTES):
            yield self.content[start : start + _PIECE_BYTES]
        if self.cut is not None:
            raise self.cut


class RecordedAnswers:
    """Reads records of responses."""

    def __init__(self, network: Network) -> None:
        self._max_codings = network.max_codings
        self._budget = DecodeBudget(network.max_bodies_bytes)

    async def read(self, request: Request, record: WarcRecord) -> FetchResult:
        """What came of the request whose response is in this record."""
        try:
            stream = _stream(record)
        except Fault as fault:
            return failure(fault)
        fetched = await self._read(request, stream)
        is_broken = isinstance(fetched, Failed) and fetched.kind is FailureKind.ENCODING
        if is_broken and is_html(None, stream.content[:_ENOUGH_TO_JUDGE]):
            del stream.headers["content-encoding"]
            return await self._read(request, stream)
        return fetched

    async def _read(self, request: Request, stream: RecordedStream) -> FetchResult:
        limits = BodyLimits(self._budget)
        return await read_response(request, stream, limits, self._max_codings)


def moment_of(record: WarcRecord) -> float:
    """When it was made; 0 if it does not tell."""
    try:
        found = datetime.fromisoformat(record.fields.get("warc-date", ""))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def head_of(record: WarcRecord) -> Head | None:
    """The head of HTTP in a record, if it has one that can be read."""
    if not record.block.startswith(_HTTP):
        return None
    end = BLANK_LINE.search(record.block)
    try:
        return read_head(record.block[: end.start()] if end else record.block)
    except Fault:
        return None


def _stream(record: WarcRecord) -> RecordedStream:
    if record.kind == "resource":
        kind = record.fields.get("content-type", "")
        return RecordedStream(_OK, {"content-type": kind}, record.block, _cut(record))
    end = BLANK_LINE.search(record.block)
    if end is None:
        raise Fault(FailureKind.PROTOCOL, "its record has no head of HTTP")
    head = read_head(record.block[: end.start()])
    take_cookies(head.headers)
    body = record.block[end.end() :]
    if has_word(head.headers, "transfer-encoding", "chunked"):
        body = _without_chunks(body)
    return RecordedStream(head.status, head.headers, body, _cut(record))


def _without_chunks(body: bytes) -> bytes:
    """The body, unless its chunks were undone already."""
    chunks = ByChunks()
    content = chunks.feed(body)
    return content if content or chunks.ended else body


def _cut(record: WarcRecord) -> Fault | None:
    """Why the body is not whole, as far as its record tells."""
    why = record.fields.get("warc-truncated", "")
    if record.is_cut:
        return Fault(FailureKind.TOO_LARGE, "its record is too long")
    if not why:
        return None
    return Fault(_CUTS.get(why, FailureKind.RESET), f"its record is cut: {why}")
