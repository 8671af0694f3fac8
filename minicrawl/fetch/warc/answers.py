"""Answers: the outcome of a request, from the record of its response.

Laws: a recorded response has the same effect as if its server had sent it now. Some writers of
records undo the chunks or the encoding of a body but keep the header that announces it, so the
body itself decides. The caller passes records of responses and resources only.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from minicrawl.config import Network
from minicrawl.fetch.body.reading import BodyLimits, DecodeBudget
from minicrawl.fetch.http.faults import Fault, failure
from minicrawl.fetch.http.framing import ByChunks
from minicrawl.fetch.http.heads import Head, has_word, read_head, take_cookies
from minicrawl.fetch.http.http1 import BLANK_LINE
from minicrawl.fetch.outcome import read_response, with_wire
from minicrawl.fetch.warc.records import WARC_PROTOCOL, WarcRecord
from minicrawl.model import Failed, FetchResult, Request, Wire
from minicrawl.states import State
from minicrawl.web.responses.types import is_html

_HTTP = b"HTTP/"
_PIECE_BYTES, _CHUNKED_BYTES = 1 << 16, 1 << 14
_CUTS = {"length": State.TOO_LARGE, "time": State.TIMEOUT}
"""Cuts by WARC-Truncated; any other value means that the connection ended."""
_OK = 200


@dataclass
class RecordedStream:
    """Response whose bytes are all in memory."""

    status: int
    headers: dict[str, str]
    content: bytes
    cut: Fault | None = None
    wire: Wire | None = None
    first_byte_s: float = 0.0

    @property
    async def body(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), _PIECE_BYTES):
            yield self.content[start : start + _PIECE_BYTES]
        if self.cut is not None:
            raise self.cut

    def take_whole(self) -> bytes | None:
        return None  # large bodies are read in pieces

    async def aclose(self) -> None:
        """Do nothing: no resource is open."""


class RecordedAnswers:
    def __init__(self, network: Network) -> None:
        self._max_codings = network.max_codings
        self._budget = DecodeBudget(network.max_bodies_bytes)

    async def read(self, request: Request, record: WarcRecord) -> FetchResult:
        try:
            stream = _stream(record)
        except Fault as fault:
            return failure(fault)
        fetched = await self._read(request, stream)
        is_broken = isinstance(fetched, Failed) and fetched.kind is State.ENCODING
        # The writer of the record may have decoded the body and kept its Content-Encoding.
        if is_broken and is_html(None, stream.content):
            del stream.headers["content-encoding"]
            fetched = await self._read(request, stream)
        return fetched if stream.wire is None else with_wire(fetched, stream.wire)

    async def _read(self, request: Request, stream: RecordedStream) -> FetchResult:
        limits = BodyLimits(self._budget)
        return await read_response(request, stream, limits, self._max_codings)


def moment_of(record: WarcRecord) -> float:
    try:
        moment = datetime.fromisoformat(record.fields.get("warc-date", ""))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def head_of(record: WarcRecord) -> Head | None:
    """Return the HTTP head of a record, or None if it has none that can be parsed."""
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
        raise Fault(State.PROTOCOL, "its record has no HTTP head")
    head = read_head(record.block[: end.start()])
    take_cookies(head.headers)
    body, fault = record.block[end.end() :], None
    if has_word(head.headers, "transfer-encoding", "chunked"):
        body, fault = _without_chunks(body)
    wire = wire_of(record)
    return RecordedStream(head.status, head.headers, body, _cut(record) or fault, wire)


def wire_of(record: WarcRecord) -> Wire | None:
    """Return the heads of an exchange, and the facts of its connection; None without a head."""
    if (end := BLANK_LINE.search(record.block)) is None:
        return None
    place = record.fields.get("warc-ip-address", "")
    cipher = record.fields.get("warc-cipher-suite", "")
    protocols = tuple(filter(None, record.fields.get(WARC_PROTOCOL, "").split("\n")))
    return Wire(record.request, record.block[: end.end()], place, protocols, cipher)


def _without_chunks(body: bytes) -> tuple[bytes, Fault | None]:
    """Return the body without chunked framing, and why it is incomplete, or None.

    The writer of the record may have removed the framing already. The parser copies the bytes that
    it holds back at each call, so it gets small pieces.
    """
    chunks, parts = ByChunks(), list[bytes]()
    for start in range(0, len(body), _CHUNKED_BYTES):
        parts.append(chunks.feed(body[start : start + _CHUNKED_BYTES]))
        while chunks.has_more:
            parts.append(chunks.feed(b""))
        if chunks.ended or chunks.fault:
            break
    content = b"".join(parts)
    if not content and not chunks.ended:
        return body, None
    if chunks.ended:
        return content, None
    return content, chunks.fault or Fault(State.RESET, "its record ends before its chunks do")


def _cut(record: WarcRecord) -> Fault | None:
    """Return why the body is incomplete, by its record or our limit, or None."""
    why = record.fields.get("warc-truncated", "")
    if record.is_cut:
        return Fault(State.TOO_LARGE, "its record is too long")
    if not why:
        return None
    return Fault(_CUTS.get(why, State.RESET), f"its record is cut: {why}")
