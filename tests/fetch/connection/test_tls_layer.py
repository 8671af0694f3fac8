"""TLS of our own: what a reader sees, and that connections resume the session of an earlier one."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trustme

from minicrawl.fetch.tls import TlsLayer, TlsOpener, TlsServer
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind
from tests.fetch.connection.clients import client, get, request_to, run
from tests.fetch.wire import answer, wire

NAME = "a.example"
BODY = b"x" * 300_000


class Contexts:
    """Of a server, and of a client that trusts it."""

    def __init__(self, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        authority = trustme.CA()
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(NAME).configure_cert(self.server)
        self.client = ssl.create_default_context()
        self.client.maximum_version = version
        authority.configure_trust(self.client)


class Reader(asyncio.BufferedProtocol):
    """Keeps what comes; pauses when it is told to."""

    def __init__(self, pauses_at: int | None = None) -> None:
        self.came = b""
        self.transport: asyncio.Transport | None = None
        self.ended = asyncio.get_running_loop().create_future()
        self._buffer = memoryview(bytearray(65536))
        self._pauses_at = pauses_at

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, TlsLayer)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.came += self._buffer[:nbytes]
        if self._pauses_at is not None and len(self.came) >= self._pauses_at:
            self._pauses_at = None
            assert self.transport
            self.transport.pause_reading()
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(exc)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve, contexts: Contexts) -> AsyncIterator[int]:
    """The port of a server that does this with each connection."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=contexts.server)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def say(said: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(said)
    writer.close()


async def connected(
    opener: TlsOpener, contexts: Contexts, port: int, pauses_at: int | None = None
) -> Reader:
    opened = socket.create_connection(("127.0.0.1", port))
    opened.setblocking(False)
    server = TlsServer(contexts.client, NAME, port)
    return await opener.begin(opened, lambda _: Reader(pauses_at), server)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_next_connection_to_a_server_resumes_the_session(version: ssl.TLSVersion) -> None:
    async def play() -> None:
        contexts, opener = Contexts(version), TlsOpener()
        resumed = []
        async with serving(partial(say, BODY), contexts) as port:
            for _ in range(3):
                reader = await connected(opener, contexts, port)
                assert reader.transport
                resumed.append(reader.transport.get_extra_info("ssl_object").session_reused)
                reader.transport.write(b"?")
                assert await reader.ended is None
                assert reader.came == BODY
        assert resumed == [False, True, True]

    run(play())


def test_a_session_is_for_its_server_and_its_rules_of_trust_only() -> None:
    async def play() -> None:
        contexts, opener = Contexts(), TlsOpener()
        async with serving(partial(say, b"a"), contexts) as port:
            reader = await connected(opener, contexts, port)
            assert reader.transport
            reader.transport.write(b"?")
            await reader.ended
            known = TlsServer(contexts.client, NAME, port)
            assert opener.session_of(known)
            others = known._replace(port=port + 1), known._replace(name="b.example")
            stricter = known._replace(context=ssl.create_default_context())
            assert not any(map(opener.session_of, (*others, stricter)))

    run(play())


def test_the_sessions_of_so_many_servers_are_kept() -> None:
    async def play() -> None:
        contexts, opener = Contexts(), TlsOpener(most_sessions=1)
        serve = partial(say, b"a")
        async with serving(serve, contexts) as one, serving(serve, contexts) as other:
            for port in (one, other):
                reader = await connected(opener, contexts, port)
                assert reader.transport
                reader.transport.write(b"?")
                await reader.ended
            assert not opener.session_of(TlsServer(contexts.client, NAME, one))
            assert opener.session_of(TlsServer(contexts.client, NAME, other))

    run(play())


def test_a_reader_that_pauses_gets_nothing_until_it_goes_on() -> None:
    async def play() -> None:
        contexts = Contexts()
        async with serving(partial(say, BODY), contexts) as port:
            reader = await connected(TlsOpener(), contexts, port, pauses_at=1)
            assert reader.transport
            reader.transport.write(b"?")
            while not reader.came:
                await asyncio.sleep(0)
            part = len(reader.came)
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(reader.came) == part < len(BODY)
            reader.transport.resume_reading()
            reader.transport.resume_reading()
            assert await reader.ended is None
            assert reader.came == BODY

    run(play())


def test_a_certificate_that_is_not_trusted_is_an_error_and_nothing_is_asked() -> None:
    async def play() -> None:
        contexts = Contexts()
        contexts.client = ssl.create_default_context()
        async with wire(answer(b"a"), tls=contexts.server) as server:
            with pytest.raises(ssl.SSLCertVerificationError):
                await connected(TlsOpener(), contexts, server.port)
            assert not server.asked

    run(play())


def test_a_server_that_hangs_up_in_the_handshake_has_reset_the_connection() -> None:
    async def play() -> None:
        contexts = Contexts()

        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        try:
            with pytest.raises(ConnectionResetError):
                await connected(TlsOpener(), contexts, server.sockets[0].getsockname()[1])
        finally:
            server.close()

    run(play())


def test_bytes_that_are_no_tls_end_the_connection_with_their_error() -> None:
    async def play() -> None:
        contexts = Contexts()

        async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            raw = writer.transport.get_extra_info("socket")
            raw = raw.dup() if hasattr(raw, "dup") else raw
            raw.setblocking(True)
            raw.sendall(b"no TLS at all, " * 10)
            raw.close()

        async with serving(babble, contexts) as port:
            reader = await connected(TlsOpener(), contexts, port)
            assert reader.transport
            reader.transport.write(b"?")
            assert isinstance(await reader.ended, ssl.SSLError)
            assert reader.transport.is_closing()
            assert reader.transport.get_extra_info("peername", "gone") == "gone"

    run(play())


def test_who_waits_for_a_handshake_may_be_cancelled() -> None:
    async def play() -> None:
        contexts, left = Contexts(), asyncio.Event()

        async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            left.set()
            writer.close()

        server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            waiting = asyncio.create_task(connected(TlsOpener(), contexts, port))
            while not server._active_count:  # type: ignore[attr-defined]  # it has connected
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await left.wait()
        finally:
            server.close()

    run(play())


def test_a_name_that_tls_cannot_carry_is_a_fault() -> None:
    async def play() -> None:
        contexts = Contexts()
        async with serving(partial(say, b"a"), contexts) as port:
            opened = socket.create_connection(("127.0.0.1", port))
            server = TlsServer(contexts.client, ".example", port)
            with pytest.raises(Fault) as caught:
                await TlsOpener().begin(opened, lambda _: Reader(), server)
            assert caught.value.kind is FailureKind.TLS
            assert opened.fileno() == -1

    run(play())


def test_a_client_resumes_sessions() -> None:
    async def play() -> None:
        contexts = Contexts()
        async with wire(answer(b"a"), tls=contexts.server) as server:
            asker = client(tls=contexts.client, keep_s=0.0)
            request = request_to(server, url=f"https://{NAME}:{server.port}/")
            for count in (1, 2):
                assert await get(asker, request) == b"a"
                await server.until_left(count)
            assert contexts.server.session_stats()["hits"] == 1
            await asker.aclose()

    run(play())
