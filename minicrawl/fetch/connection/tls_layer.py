"""TLS over a connection: what is written goes down encrypted, what comes up was decrypted.

below     the transport that carries the bytes of TLS: a socket, or TLS to a proxy
above     the protocol that gets what the server says
session   what both sides know of each other; with it, the next handshake verifies no certificate

Laws: while the reader pauses nothing is decrypted. A session is used for the server that it was
made with, under the same rules of trust, and no other. The memory of a connection is freed when it
ends. The last sessions of so many servers are kept, and no more.

asyncio's own TLS knows no sessions, and holds a buffer of 256 KB for each connection.
"""

import asyncio
import socket
import ssl
from collections import OrderedDict
from typing import Any, NamedTuple, TypeVar

from minicrawl.fetch.connection.cycles import break_cycles
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind

P = TypeVar("P", bound=asyncio.BaseProtocol)

READ_BUFFER_BYTES = 64 * 1024
_MOST_SESSIONS = 4000


class TlsServer(NamedTuple):
    """Whom to speak TLS with, and whom to trust."""

    context: ssl.SSLContext
    name: str
    port: int


class TlsOpener:
    """Begins TLS on connections; those of one opener resume each other's sessions."""

    def __init__(self, most_sessions: int = _MOST_SESSIONS) -> None:
        self._most_sessions = most_sessions
        self._sessions: OrderedDict[TlsServer, ssl.SSLSession] = OrderedDict()
        self.read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def begin(self, opened: socket.socket, above: P, server: TlsServer) -> P:
        """Begin on an open socket, which is closed if that fails."""
        try:
            layer = self._layer(above, server)
        except BaseException:
            opened.close()
            raise
        try:
            await asyncio.get_running_loop().create_connection(lambda: layer, sock=opened)
            await layer.begun
        except BaseException:
            layer.abort()
            raise
        return above

    async def begin_over(
        self, below: asyncio.Transport, above: asyncio.BaseProtocol, server: TlsServer
    ) -> None:
        """Begin on a connection on which something was said already, as with a proxy."""
        layer = self._layer(above, server)
        below.set_protocol(layer)
        layer.connection_made(below)
        try:
            await layer.begun
        except BaseException:
            layer.abort()
            raise

    def session_of(self, server: TlsServer) -> ssl.SSLSession | None:
        """That of the last connection to this server."""
        return self._sessions.get(server)

    def keep_session(self, server: TlsServer, session: ssl.SSLSession) -> None:
        """The next connection to this server resumes this one."""
        self._sessions[server] = session
        self._sessions.move_to_end(server)
        if len(self._sessions) > self._most_sessions:
            self._sessions.popitem(last=False)

    def _layer(self, above: asyncio.BaseProtocol, server: TlsServer) -> "TlsLayer":
        try:
            return TlsLayer(self, above, server)
        except ValueError as error:  # a name that TLS cannot carry
            raise Fault(FailureKind.TLS, str(error)) from error


class TlsLayer(asyncio.BufferedProtocol, asyncio.Transport):
    """A protocol for the transport below, a transport for the protocol above."""

    def __init__(self, opener: TlsOpener, above: asyncio.BaseProtocol, server: TlsServer) -> None:
        super().__init__()
        self._opener, self._above, self._server = opener, above, server
        self._came, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = server.context.wrap_bio(
            self._came,
            self._to_send,
            server_hostname=server.name,
            session=opener.session_of(server),
        )
        self._below: asyncio.Transport | None = None  # None before and after the connection
        self._unsent = bytearray()
        self._is_paused = self._has_begun = False
        self._error: Exception | None = None
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # ------------------------------------------------------------ called from above

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._unsent += data
        self._encrypt()

    def pause_reading(self) -> None:
        if self._below is not None and not self._is_paused:
            self._is_paused = True
            self._below.pause_reading()

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            asyncio.get_running_loop().call_soon(self._go_on)

    def abort(self) -> None:
        """Close it at once; nobody waits any more until it has begun."""
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

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._above

    # ------------------------------------------------------------ called from below

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._below = transport
        self._advance()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._opener.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._came.write(self._opener.read_buffer[:nbytes])
        self._advance()

    def data_received(self, data: bytes) -> None:
        """The same from TLS below, which has no buffer of ours."""
        self._came.write(data)
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._below is not None:
            break_cycles(self._below)
        self._below = None
        error = self._error or (exc and exc.with_traceback(None))
        if self._has_begun:
            self._keep_session()
            self._above.connection_lost(error)
        elif not self.begun.done():
            self.begun.set_exception(error or ConnectionResetError())

    # ------------------------------------------------------------ between them

    def _go_on(self) -> None:
        """Decrypt what came before the reader paused, and let more come."""
        self._advance()
        if self._below is not None and not self._is_paused:
            self._below.resume_reading()

    def _advance(self) -> None:
        """As far as what has come allows."""
        try:
            if self._has_begun or self._shake_hands():
                self._deliver()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._fail(error)
        self._encrypt()

    def _shake_hands(self) -> bool:
        """Whether the handshake is done; nobody may wait for it any more."""
        if self.begun.done():
            return False
        self._tls.do_handshake()
        self._has_begun = True
        self._above.connection_made(self)
        self.begun.set_result(None)
        return True

    def _deliver(self) -> None:
        while self._below is not None and not self._is_paused and self._has_more:
            if not self._deliver_piece(self._above):
                self._hang_up()  # the server says that nothing more will come
                return

    def _deliver_piece(self, above: asyncio.BaseProtocol) -> bool:
        """Whether there was one."""
        if isinstance(above, asyncio.BufferedProtocol):
            view = above.get_buffer(-1)
            assert isinstance(view, memoryview)
            nbytes = self._read_into(view)
            if nbytes:
                above.buffer_updated(nbytes)
            return bool(nbytes)
        assert isinstance(above, asyncio.Protocol)
        if piece := self._tls.read(READ_BUFFER_BYTES):
            above.data_received(piece)
        return bool(piece)

    def _read_into(self, view: memoryview) -> int:
        """How many bytes it got."""
        read: Any = self._tls.read  # its type does not tell that a buffer is answered by a number
        return int(read(len(view), view))

    @property
    def _has_more(self) -> bool:
        return bool(self._came.pending or self._tls.pending())

    def _encrypt(self) -> None:
        """Send what was written, and what TLS itself has to say."""
        try:
            while self._unsent and self._has_begun:
                del self._unsent[: self._tls.write(self._unsent)]
        except ssl.SSLWantReadError:  # the server wants new keys first
            pass
        except ssl.SSLError as error:
            self._fail(error)
        if self._to_send.pending and self._below is not None:
            self._below.write(self._to_send.read())

    def _fail(self, error: ssl.SSLError) -> None:
        """Tell the server why, as far as it listens, and end."""
        self._error = error.with_traceback(None)
        if self._to_send.pending and self._below is not None:
            self._below.write(self._to_send.read())
        self._hang_up()

    def _hang_up(self) -> None:
        if self._below is not None:
            self._below.abort()

    def _keep_session(self) -> None:
        session = None if self._error else self._tls.session
        if session is not None:
            self._opener.keep_session(self._server, session)
