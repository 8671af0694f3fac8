"""One connection to a server: requests and their responses, by HTTP/1.1 or by HTTP/2.

line     a connection that has begun
shared   a line that carries several requests at once, as HTTP/2 does

Laws: what a server says in HTTP/1.1 means the same as on direct connections, because the same code
parses it. A head of HTTP/2 has its status, and no other pseudo field (RFC 9113, 8.3); of responses
beside each other, a malformed one fails alone. Whatever a server does raises a Fault of a named
kind or an OSError. A line on which a response was not read to its end takes no further request:
nothing tells the server to stop.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import httpcore
from h2.events import (
    ConnectionTerminated,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import DenialOfServiceError, ProtocolError

from minicrawl.fetch.by_httpx.frames import MeteredStream
from minicrawl.fetch.by_httpx.streams import LoopStream
from minicrawl.fetch.connection.heads import joined_headers
from minicrawl.fetch.connection.http1 import ResponseParser, request_bytes
from minicrawl.fetch.transport import Fault, TransportRequest
from minicrawl.fetch.where.targets import Origin
from minicrawl.model import FailureKind

_READ_BYTES = 64 * 1024
HTTP2 = "h2"
"""What a server chooses that speaks HTTP/2, by ALPN."""


class Spelling(NamedTuple):
    """What is written in place of the path, and the headers for a proxy on the way."""

    path: str
    headers: Sequence[tuple[bytes, bytes]] = ()


class ArrivingResponse(NamedTuple):
    """The head of a response, and its body as it comes; `is_whole`: nothing of it will come."""

    status: int
    headers: dict[str, str]
    body: AsyncIterator[bytes]
    is_whole: bool = False


class Line(Protocol):
    """A connection that has begun. `is_unanswered`: nothing has come for the last request."""

    is_unanswered: bool

    @property
    def is_shared(self) -> bool: ...

    @property
    def is_usable(self) -> bool:
        """Whether it may carry another request."""
        ...

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        """Send a request and wait for the head of its response."""
        ...

    def abort(self) -> None:
        """Close it at once."""

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        """A response is done with, whether its body was read to its end or not."""
        ...


def line_over(stream: LoopStream, origin: Origin, max_head_bytes: int) -> Line:
    """A line of the protocol that the server has chosen."""
    secured = stream.get_extra_info("ssl_object")
    if secured is not None and secured.selected_alpn_protocol() == HTTP2:
        return Http2Line(stream, origin, max_head_bytes)
    return Http1Line(stream, max_head_bytes)


class Http1Line:
    """One request at a time."""

    is_shared = False

    def __init__(self, stream: LoopStream, max_head_bytes: int) -> None:
        self._stream, self._max_head_bytes = stream, max_head_bytes
        self._parser: ResponseParser | None = None
        self.is_unanswered = True

    @property
    def is_usable(self) -> bool:
        is_free = self._parser is None or self._parser.keeps_connection
        return is_free and self._stream.is_quiet

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        parser = self._parser = ResponseParser(self._max_head_bytes)
        self.is_unanswered = True
        headers = [*request.headers, *spelling.headers]
        origin = request.target.origin
        written = request_bytes(origin.name, spelling.path, headers, request.method)
        await self._stream.write(written)
        begun = b""
        while parser.head is None:
            begun = await self._more(parser)
        return ArrivingResponse(parser.head.status, parser.head.headers, self._body(parser, begun))

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        pass

    def abort(self) -> None:
        self._stream.abort()

    async def _body(self, parser: ResponseParser, begun: bytes) -> AsyncIterator[bytes]:
        if begun:
            yield begun
        while not parser.ended:
            if piece := await self._more(parser):
                yield piece

    async def _more(self, parser: ResponseParser) -> bytes:
        """The part of the body in the bytes that come next."""
        if parser.has_more:
            return parser.feed(b"")
        if parser.fault:
            raise parser.fault
        piece = await self._stream.read(_READ_BYTES)
        if piece:
            self.is_unanswered = False
            return parser.feed(piece)
        parser.end_connection()
        return b""


class Http2Line:
    """Requests beside each other, each on a stream of its own."""

    is_shared = True

    def __init__(self, stream: LoopStream, origin: Origin, max_head_bytes: int) -> None:
        self._stream, self._max_head_bytes = stream, max_head_bytes
        self._scheme = b"https" if origin.is_tls else b"http"
        self._host, self._port = origin.host.encode(), origin.port
        at = httpcore.Origin(self._scheme, self._host, self._port)
        self._metered = MeteredStream(stream)
        self._connection = _CheckedConnection(at, self._metered)
        self._has_leftovers = False
        self._responses: dict[int, httpcore.Response] = {}
        self.is_unanswered = True

    @property
    def is_usable(self) -> bool:
        return not self._has_leftovers and self._stream.is_open and self._connection.is_available()

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        self.is_unanswered = True
        self._metered.meter.requests += 1
        url = httpcore.URL(
            scheme=self._scheme,
            host=self._host,
            port=self._port,
            target=spelling.path.encode("ascii"),
        )
        headers = [(b"Host", request.target.origin.name.encode()), *request.headers]
        asked = httpcore.Request(request.method, url, headers=headers)
        with _naming_faults():
            response = await self._connection.handle_async_request(asked)
        self.is_unanswered = False
        self._check_size(response)
        answer = ArrivingResponse(response.status, _headers(response), self._body(response))
        self._responses[id(answer.body)] = response
        if request.method != "HEAD" and answer.headers.get("content-length") != "0":
            return answer
        async for _ in answer.body:  # its end is here or about to come
            pass
        return answer._replace(is_whole=True)

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        self._has_leftovers |= not is_whole
        with _naming_faults():
            await self._responses.pop(id(answer.body)).aclose()

    def abort(self) -> None:
        self._stream.abort()

    def _check_size(self, response: httpcore.Response) -> None:
        if sum(len(name) + len(value) for name, value in response.headers) > self._max_head_bytes:
            detail = f"a head of more than {self._max_head_bytes:,} bytes (--max-head)"
            raise Fault(FailureKind.TOO_LARGE, detail)

    async def _body(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        with _naming_faults():
            async for piece in response.aiter_stream():
                yield piece


class _CheckedConnection(httpcore.AsyncHTTP2Connection):
    """Refuses malformed heads: httpcore takes one without a status for a success."""

    def __init__(self, origin: httpcore.Origin, stream: MeteredStream) -> None:
        super().__init__(origin, stream)
        self._malformed: dict[int, str] = {}

    async def _read_incoming_data(self, request: httpcore.Request) -> list[Event]:
        events: list[Event] = await super()._read_incoming_data(request)
        for event in events:
            if isinstance(event, _Head) and (why := _why_malformed(event)):
                self._malformed.setdefault(event.stream_id, why)
        return events

    async def _receive_stream_event(self, request: httpcore.Request, stream_id: int) -> Any:
        event = await super()._receive_stream_event(request, stream_id)
        if why := self._malformed.pop(stream_id, ""):
            raise Fault(FailureKind.PROTOCOL, f"HTTP/2: {why}")
        return event


_Head = ResponseReceived | InformationalResponseReceived | TrailersReceived
_STATUS = re.compile(rb"[1-9][0-9]{2}")


def _why_malformed(event: _Head) -> str:
    """What is wrong with the pseudo fields of a head, or of trailers; empty if nothing is."""
    fields = list(event.headers or ())
    pseudo = [(bytes(name), bytes(value)) for name, value in fields if name.startswith(b":")]
    if isinstance(event, TrailersReceived):
        return "trailers with a pseudo field" if pseudo else ""
    if b":status" not in dict(pseudo):
        return "a head without :status"
    if len(pseudo) > 1 or not fields[0][0].startswith(b":"):
        return "a head with other pseudo fields than :status, or with fields before it"
    return "" if _STATUS.fullmatch(pseudo[0][1]) else "a :status that is none"


def _headers(response: httpcore.Response) -> dict[str, str]:
    """HTTP/2 has no transfer codings, whatever a server writes."""
    found = joined_headers(
        (name.decode("latin-1"), value.decode("latin-1").strip())
        for name, value in response.headers
    )
    found.pop("transfer-encoding", None)
    return found


@contextmanager
def _naming_faults() -> Iterator[None]:
    """What httpcore and h2 raise as faults."""
    try:
        yield
    except (ProtocolError, httpcore.ProtocolError, httpcore.ConnectionNotAvailable) as error:
        raise _fault(error) from error
    except ValueError as error:  # a status that is no number
        raise Fault(FailureKind.PROTOCOL, f"no HTTP/2: {error}") from error


def _fault(error: Exception) -> Fault:
    cause = error.args[0] if error.args else ""
    match cause:
        case StreamReset():
            return Fault(FailureKind.RESET, f"the server reset the stream: {_code(cause)}")
        case ConnectionTerminated():
            return Fault(FailureKind.RESET, f"the server ended the connection: {_code(cause)}")
        case DenialOfServiceError():
            error = cause
    if isinstance(error, DenialOfServiceError):
        return Fault(FailureKind.TOO_LARGE, f"HTTP/2: {error}")
    if isinstance(error, httpcore.RemoteProtocolError | httpcore.ConnectionNotAvailable):
        return Fault(FailureKind.RESET, "the connection ended before the response did")
    return Fault(FailureKind.PROTOCOL, f"HTTP/2: {error}")


def _code(event: StreamReset | ConnectionTerminated) -> str:
    code = event.error_code
    return getattr(code, "name", None) or f"error {code}"
