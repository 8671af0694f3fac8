"""HTTP/2 by httpcore, the engine of httpx, for servers that choose it in the TLS handshake.

httpcore runs several requests over one connection, and h2 below it parses the frames. A server can
abuse both, so both are guarded. `FrameMeter` limits the frames:

    2,000 frames are free on a connection, and 1,000 for each request
    a page of 800 bytes pays for 100 more, at 8 bytes of DATA a frame
    if nothing else is sent, the 3,101st frame ends the connection, even if it is a PING

frame   a 9-byte header with length and type, and a payload; DATA frames carry the body

Laws: the number of frames that carry next to nothing is limited, and after `_AT_ONCE` frames other
connections get a turn. A head has :status and no other pseudo-header field (RFC 9113, 8.3); a
malformed response does not affect concurrent ones. Whatever a server does raises a Fault of a named
kind, or an OSError. A connection takes no further requests if a response was not read to its end,
as the server cannot be told to stop.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.client import responses
from time import perf_counter
from typing import Any

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

from minicrawl.fetch.client.byte_stream import ByteStream
from minicrawl.fetch.http.heads import joined_headers
from minicrawl.fetch.http.messages import Fault, Origin, TransportRequest, head_bytes
from minicrawl.model import FailureKind, Wire

# ---------------------------------------------------------------- frames

_HEAD_BYTES = 9
_DATA = 0
_AT_ONCE = 100  # a few milliseconds
_FREE, _FREE_A_REQUEST = 2_000, 1_000
"""Number of frames that may be empty. A 10 MB page takes about 700, a typical response 3."""
_TINY_BYTES = 8


class FrameMeter:
    """Frame counter of one connection. `requests` is the number of requests sent on it so far."""

    def __init__(self) -> None:
        self.requests = 0
        self._frames = self._data_bytes = 0
        self._left = 0  # payload bytes of the current frame
        self._head = b""  # partial header of the next frame

    def take(self, piece: bytes) -> int:
        """Return how many bytes of `piece` to parse now. Raises Fault for too many empty frames."""
        at, last = 0, self._frames + _AT_ONCE
        while at < len(piece) and self._frames < last:
            if self._left:
                step = min(self._left, len(piece) - at)
                self._left -= step
                at += step
                continue
            missing = _HEAD_BYTES - len(self._head)
            self._head += piece[at : at + missing]
            at += missing
            if len(self._head) == _HEAD_BYTES:
                self._begin(self._head)
                self._head = b""
        return min(at, len(piece))

    def _begin(self, head: bytes) -> None:
        self._left = int.from_bytes(head[:3])
        self._frames += 1
        if head[3] == _DATA:
            self._data_bytes += self._left
        free = _FREE + _FREE_A_REQUEST * self.requests
        if self._frames > free and self._data_bytes < (self._frames - free) * _TINY_BYTES:
            raise Fault(FailureKind.PROTOCOL, "HTTP/2: too many frames with hardly any data")


class _MeteredStream(httpcore.AsyncNetworkStream):
    """Stream that passes on a limited number of frames at a time.

    The timeouts of httpcore are ignored: the whole request has one deadline.
    """

    def __init__(self, stream: ByteStream) -> None:
        self.meter = FrameMeter()
        self._stream = stream
        self._received = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._received:
            await asyncio.sleep(0)
        else:
            self._received = await self._stream.read(max_bytes)
        end = self.meter.take(self._received)
        piece, self._received = self._received[:end], self._received[end:]
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer)

    async def aclose(self) -> None:
        self._stream.abort()

    def get_extra_info(self, info: str) -> Any:
        return None


# ---------------------------------------------------------------- heads


class _CheckedConnection(httpcore.AsyncHTTP2Connection):
    """HTTP/2 connection that refuses malformed heads.

    httpcore would treat a head without a status as a success.
    """

    def __init__(self, origin: httpcore.Origin, stream: _MeteredStream) -> None:
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
    """Return what is wrong with the pseudo-header fields of a head or of trailers, or ""."""
    fields = list(event.headers or ())
    pseudo = [(bytes(name), bytes(value)) for name, value in fields if name.startswith(b":")]
    if isinstance(event, TrailersReceived):
        return "trailers with a pseudo-header field" if pseudo else ""
    if b":status" not in dict(pseudo):
        return "a head without :status"
    if len(pseudo) > 1 or not fields[0][0].startswith(b":"):
        return "a head with other pseudo-header fields than :status, or with fields before it"
    return "" if _STATUS.fullmatch(pseudo[0][1]) else "a :status that is not a number"


# ---------------------------------------------------------------- requests and responses


class Http2Connection:
    """HTTP/2 connection, which several requests can share.

    `requests` is the number in flight; `is_unanswered` is True until the last has a response.
    """

    def __init__(self, stream: ByteStream, origin: Origin, max_head_bytes: int) -> None:
        self._stream, self._max_head_bytes = stream, max_head_bytes
        self._origin = httpcore.Origin(b"https", origin.host.encode(), origin.port)
        self._metered = _MeteredStream(stream)
        self._http2 = _CheckedConnection(self._origin, self._metered)
        self._is_spoiled = False
        self.requests = 0
        self.is_unanswered = True

    @property
    def is_usable(self) -> bool:
        """True if the connection can take another request."""
        return not self._is_spoiled and self._stream.is_open and self._http2.is_available()

    def abort(self) -> None:
        """Close the connection immediately."""
        self._stream.abort()

    async def send(
        self, request: TransportRequest, done: Callable[[], None], address: str = ""
    ) -> "Http2Response":
        """Send a request to the server at `address` and wait for the head of its response.

        `done` is called when the response is closed, and not if an exception is raised.
        """
        self.requests += 1
        self.is_unanswered = True
        self._metered.meter.requests += 1
        try:
            http2_request = self._asked(request)
            began = perf_counter()
            with _naming_faults():
                response = await self._http2.handle_async_request(http2_request)
            first_byte_s = perf_counter() - began
            self.is_unanswered = False
            stream = Http2Response(response, self, done, first_byte_s)
            first = f"{request.method} {request.target.path} HTTP/1.1"
            tls, sent = self._stream.tls, head_bytes(first, http2_request.headers)
            protocols = ("h2", *filter(None, (tls.version,)))
            stream.wire = stream.wire._replace(
                request=sent, address=address, protocols=protocols, cipher=tls.cipher
            )
            if len(stream.wire.response) > self._max_head_bytes:
                detail = f"a head of more than {self._max_head_bytes:,} bytes"
                fault = Fault(FailureKind.TOO_LARGE, detail)
                fault.wire = stream.wire
                raise fault
            if request.method == "HEAD" or stream.headers.get("content-length") == "0":
                async for _ in stream.body:  # the end of the body is here or imminent
                    pass
        except BaseException:
            self.end_request(is_whole=False)
            raise
        return stream

    def end_request(self, *, is_whole: bool) -> None:
        """Note the end of a request. `is_whole` says whether its response was read to the end."""
        self.requests -= 1
        self._is_spoiled |= not is_whole

    def _asked(self, request: TransportRequest) -> httpcore.Request:
        target = request.target
        url = httpcore.URL(
            scheme=self._origin.scheme,
            host=self._origin.host,
            port=self._origin.port,
            target=target.path.encode("ascii"),
        )
        headers = [(b"Host", target.origin.name.encode()), *request.headers]
        if request.method == "POST":
            headers.append((b"Content-Length", str(len(request.body)).encode()))
        return httpcore.Request(request.method, url, headers=headers, content=request.body)


class Http2Response:
    """Response whose head has arrived, with its body as a stream."""

    def __init__(
        self,
        response: httpcore.Response,
        connection: Http2Connection,
        done: Callable[[], None],
        first_byte_s: float,
    ) -> None:
        self.status, self.first_byte_s = response.status, first_byte_s
        self.headers = joined_headers(
            (name.decode("latin-1"), value.decode("latin-1").strip())
            for name, value in response.headers
        )
        self.headers.pop("transfer-encoding", None)  # HTTP/2 has none
        first = f"HTTP/1.1 {self.status} {responses.get(self.status, '')}".rstrip()
        self.wire = Wire(b"", head_bytes(first, response.headers))
        self._response, self._connection, self._done = response, connection, done
        self._is_whole = False

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    def take_whole(self) -> bytes | None:
        return None  # httpcore does not say whether the body is complete

    async def aclose(self) -> None:
        try:
            with _naming_faults():
                await self._response.aclose()
        except BaseException:
            self._is_whole = False
            raise
        finally:
            self._connection.end_request(is_whole=self._is_whole)
            self._done()

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._is_whole:
            return
        with _naming_faults():
            async for piece in self._response.aiter_stream():
                yield piece
        self._is_whole = True


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Convert exceptions of httpcore and h2 into Faults."""
    try:
        yield
    except (ProtocolError, httpcore.ProtocolError, httpcore.ConnectionNotAvailable) as error:
        raise _fault(error) from error
    except ValueError as error:  # a status that is not a number
        raise Fault(FailureKind.PROTOCOL, f"HTTP/2: {error}") from error


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
