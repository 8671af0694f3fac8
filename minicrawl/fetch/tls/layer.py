"""TLS layer: encrypts what is written to the transport below, decrypts what it receives.

below     the transport that carries the TLS bytes: a socket, or TLS to a proxy
above     the protocol that receives the decrypted bytes
session   shared state of both sides that lets the next handshake skip the certificates

Laws: nothing is decrypted while the reader pauses. A session is reused only for the same server
under the same trust settings. The memory of a connection is freed when it ends, not by the garbage
collector later. The number of kept sessions is bounded.

Refused: asyncio's own TLS, which has no sessions and holds a buffer of 256 KB per connection.
"""

import asyncio
import socket
import ssl
from asyncio import BaseTransport
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from minicrawl.fetch.http.faults import Fault
from minicrawl.states import State


def break_cycles(transport: BaseTransport) -> None:
    """Delete the references of a closed transport to itself.

    An asyncio transport stores bound methods of itself as attributes, and so refers to itself. If
    asyncio changes this detail, nothing is found to delete.
    """
    attributes = getattr(transport, "__dict__", {})
    own = [
        name for name, value in attributes.items() if getattr(value, "__self__", None) is transport
    ]
    for name in own:
        del attributes[name]


P = TypeVar("P", bound=asyncio.BaseProtocol)

READ_BUFFER_BYTES = 64 * 1024
_MOST_SESSIONS = 4000


class TlsServer(NamedTuple):
    context: ssl.SSLContext
    name: str
    port: int


class TlsOpener:
    """Starts TLS on connections, which resume the sessions of earlier ones."""

    def __init__(self, most_sessions: int = _MOST_SESSIONS) -> None:
        self._most_sessions = most_sessions
        self._sessions: OrderedDict[TlsServer, ssl.SSLSession] = OrderedDict()
        self.read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def begin(self, opened: socket.socket, make: Callable[[], P], server: TlsServer) -> P:
        """Start TLS on a socket, closed on failure, and make the protocol above."""
        try:
            layer = self._layer(make, server)
        except BaseException:
            opened.close()
            raise
        try:
            await asyncio.get_running_loop().create_connection(lambda: layer, sock=opened)
            return await layer.begun
        except BaseException:
            layer.abort()
            raise

    async def begin_over(
        self, below: asyncio.Transport, make: Callable[[], P], server: TlsServer
    ) -> P:
        """Start TLS on a connection that was used before, such as one to a proxy."""
        layer = self._layer(make, server)
        below.set_protocol(layer)
        layer.connection_made(below)
        try:
            return await layer.begun
        except BaseException:
            layer.abort()
            raise

    def session_of(self, server: TlsServer) -> ssl.SSLSession | None:
        return self._sessions.get(server)

    def keep_session(self, server: TlsServer, session: ssl.SSLSession) -> None:
        self._sessions[server] = session
        self._sessions.move_to_end(server)
        if len(self._sessions) > self._most_sessions:
            self._sessions.popitem(last=False)

    def _layer(self, make: Callable[[], P], server: TlsServer) -> "TlsLayer[P]":
        try:
            return TlsLayer(self, make, server)
        except ValueError as error:  # a name that TLS cannot carry
            raise Fault(State.TLS, str(error)) from error


class TlsLayer(asyncio.BufferedProtocol, asyncio.Transport, Generic[P]):
    """Protocol of the transport below, and transport of the protocol above."""

    def __init__(self, opener: TlsOpener, make: Callable[[], P], server: TlsServer) -> None:
        super().__init__()
        self._opener, self._make, self._server = opener, make, server
        self._above: asyncio.BaseProtocol | None = None  # None before the end of the handshake
        self._incoming, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = server.context.wrap_bio(
            self._incoming,
            self._to_send,
            server_hostname=server.name,
            session=opener.session_of(server),
        )
        self._unsent = bytearray()
        self._below: asyncio.Transport | None = None  # None before and after the connection
        self._is_paused = False
        self._error: Exception | None = None
        self.begun: asyncio.Future[P] = asyncio.get_running_loop().create_future()

    def pause_reading(self) -> None:
        if self._below is not None and not self._is_paused:
            self._is_paused = True
            self._below.pause_reading()

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            asyncio.get_running_loop().call_soon(self._go_on)

    def abort(self) -> None:
        """Close the connection immediately, and cancel a pending handshake."""
        self.begun.cancel()
        self._hang_up()

    close = abort

    def is_closing(self) -> bool:
        return self._below is None or self._below.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._tls
        return default if self._below is None else self._below.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._above = protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._below = transport
        self._advance()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._opener.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._opener.read_buffer[:nbytes])
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._below is not None:
            break_cycles(self._below)
        self._below = None
        error = self._error or (exc and exc.with_traceback(None))
        if self._above is not None:
            # The session is taken at the end of the connection, not after the handshake: servers of
            # TLS 1.3 send their session tickets later.
            if not self._error and (session := self._tls.session):
                self._opener.keep_session(self._server, session)
            self._above.connection_lost(error)
        elif not self.begun.done():
            self.begun.set_exception(error or ConnectionResetError())

    def _go_on(self) -> None:
        """Decrypt the bytes received before the reader paused, then resume reading."""
        self._advance()
        if self._below is not None and not self._is_paused:
            self._below.resume_reading()

    def _advance(self) -> None:
        """Continue handshake and decryption as far as the received bytes allow."""
        try:
            if self._above is None:
                if self.begun.done():  # cancelled
                    return
                self._tls.do_handshake()
                self._above = above = self._make()
                above.connection_made(self)
                self.begun.set_result(above)
            while self._below is not None and not self._is_paused:
                if not (self._incoming.pending or self._tls.pending()):
                    break
                if not self._deliver_to(self._above):
                    self._hang_up()  # the server closed its side
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._hang_up(error)
        self.write()

    def _deliver_to(self, above: asyncio.BaseProtocol) -> bool:
        """Pass on the next decrypted bytes. Return False at the end of the data."""
        if isinstance(above, asyncio.BufferedProtocol):
            view = above.get_buffer(-1)
            assert isinstance(view, memoryview)
            read: Any = self._tls.read  # the stub lacks the int result of read into a buffer
            nbytes = int(read(len(view), view))
            if nbytes:
                above.buffer_updated(nbytes)
            return bool(nbytes)
        assert isinstance(above, asyncio.Protocol)
        if piece := self._tls.read(READ_BUFFER_BYTES):
            above.data_received(piece)
        return bool(piece)

    def write(self, data: bytes | bytearray | memoryview = b"") -> None:
        """Send `data`, after what waits already, and any pending TLS records."""
        self._unsent += data
        try:
            while self._unsent:
                del self._unsent[: self._tls.write(self._unsent)]
        except ssl.SSLWantReadError:  # the server wants a key update first
            pass
        except ssl.SSLError as error:
            self._hang_up(error)
        if self._below is not None and self._to_send.pending:
            self._below.write(self._to_send.read())

    def _hang_up(self, error: ssl.SSLError | None = None) -> None:
        """Close the connection; after an error, send the TLS alert first."""
        if error is not None:
            self._error = error.with_traceback(None)
        if self._below is not None:
            if error is not None and self._to_send.pending:
                self._below.write(self._to_send.read())
            self._below.abort()
