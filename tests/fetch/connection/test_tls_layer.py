"""TLS layer: received bytes, errors, and sessions that later connections resume."""

import asyncio
import socket
import ssl
from functools import partial

import pytest

from minicrawl.fetch.tls import TlsLayer, TlsOpener, TlsServer
from tests.fetch.connection.clients import get, http_client, request_to
from tests.fetch.wire import answer, certified, listening, wire

NAME = "a.example"
BODY = b"x" * 300_000


class Contexts:
    def __init__(self, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        self.server, self.client = certified(NAME)
        self.client.maximum_version = version


class Reader(asyncio.BufferedProtocol):
    def __init__(self, pauses_at: int | None = None) -> None:
        self.received = b""
        self.transport: asyncio.Transport
        self.ended = asyncio.get_running_loop().create_future()
        self._buffer = memoryview(bytearray(65536))
        self._pauses_at = pauses_at

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, TlsLayer)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]
        if self._pauses_at is not None and len(self.received) >= self._pauses_at:
            self._pauses_at = None
            self.transport.pause_reading()
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(exc)


async def send(data: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(data)
    writer.close()


async def connected(
    opener: TlsOpener, contexts: Contexts, port: int, pauses_at: int | None = None
) -> Reader:
    opened = socket.create_connection(("127.0.0.1", port))
    opened.setblocking(False)
    server = TlsServer(contexts.client, NAME, port)
    reader = await opener.begin(opened, lambda _: Reader(pauses_at), server)
    reader.transport.write(b"?")
    return reader


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_next_connection_to_a_server_resumes_the_session(version: ssl.TLSVersion) -> None:
    contexts = Contexts(version)
    async with (
        wire(answer(BODY), tls=contexts.server) as server,
        http_client(tls=contexts.client, keep_s=0.0) as client,
    ):
        request = request_to(server, url=f"https://{NAME}:{server.port}/")
        for count in (1, 2, 3):
            assert await get(client, request) == BODY
            await server.until_left(count)
        assert contexts.server.session_stats()["hits"] == 2


async def test_a_session_is_kept_for_its_server_name_and_context_only() -> None:
    contexts, opener = Contexts(), TlsOpener()
    async with listening(partial(send, b"a"), contexts.server) as port:
        reader = await connected(opener, contexts, port)
        await reader.ended
        known = TlsServer(contexts.client, NAME, port)
        assert opener.session_of(known)
        others = known._replace(port=port + 1), known._replace(name="b.example")
        stricter = known._replace(context=ssl.create_default_context())
        assert not any(map(opener.session_of, (*others, stricter)))


async def test_no_more_sessions_than_most_sessions_are_kept() -> None:
    contexts, opener = Contexts(), TlsOpener(most_sessions=1)
    serve = partial(send, b"a")
    async with listening(serve, contexts.server) as one, listening(serve, contexts.server) as other:
        for port in (one, other):
            reader = await connected(opener, contexts, port)
            await reader.ended
        assert not opener.session_of(TlsServer(contexts.client, NAME, one))
        assert opener.session_of(TlsServer(contexts.client, NAME, other))


async def test_a_paused_reader_gets_nothing_until_it_resumes() -> None:
    contexts = Contexts()
    async with listening(partial(send, BODY), contexts.server) as port:
        reader = await connected(TlsOpener(), contexts, port, pauses_at=1)
        while not reader.received:
            await asyncio.sleep(0)
        part = len(reader.received)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(reader.received) == part < len(BODY)
        reader.transport.resume_reading()
        reader.transport.resume_reading()
        assert await reader.ended is None
        assert reader.received == BODY


async def test_a_server_that_closes_in_the_handshake_is_a_reset() -> None:
    contexts = Contexts()

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with listening(hang_up) as port:
        with pytest.raises(ConnectionResetError):
            await connected(TlsOpener(), contexts, port)


async def test_bytes_that_are_no_tls_end_the_connection_with_an_error() -> None:
    contexts = Contexts()

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        raw = writer.transport.get_extra_info("socket")
        raw = raw.dup() if hasattr(raw, "dup") else raw
        raw.setblocking(True)
        raw.sendall(b"no TLS at all, " * 10)
        raw.close()

    async with listening(babble, contexts.server) as port:
        reader = await connected(TlsOpener(), contexts, port)
        assert isinstance(await reader.ended, ssl.SSLError)
        assert reader.transport.is_closing()
        assert reader.transport.get_extra_info("peername", "gone") == "gone"
