import asyncio
import gc
from weakref import ref

import pytest

from minicrawl.fetch.client.connection import READ_BUFFER_BYTES, Connection
from minicrawl.fetch.http.faults import Fault
from tests.loops import hear

OK = b"HTTP/1.1 200 OK\r\n"
PIECE = b"x" * 200_000


class Line(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_paused = False
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def abort(self) -> None:
        self.is_aborted = True


class Call:
    def __init__(self) -> None:
        self.callbacks: list[str] = []
        self.line = Line()
        self.connection = Connection(
            lambda _: self.callbacks.append("made"),
            lambda _: self.callbacks.append("lost"),
            10_000,
            memoryview(bytearray(READ_BUFFER_BYTES)),
        )
        self.connection.connection_made(self.line)

    async def begin(self, answer: bytes) -> None:
        """Send a request, and receive `answer`, which may be the start of a response."""
        sending = asyncio.create_task(self.connection.send(b"GET"))
        await asyncio.sleep(0)
        hear(self.connection, answer)
        await sending


@pytest.fixture
def call() -> Call:
    return Call()


async def test_a_body_is_taken_whole_only_if_all_of_it_has_come(call: Call) -> None:
    assert call.connection.take_whole() is None
    await call.begin(OK + b"Content-Length: 600003\r\n\r\nabc")
    assert call.connection.take_whole() is None
    for _ in range(3):
        hear(call.connection, PIECE)
    assert call.line.is_paused
    assert call.connection.take_whole() == b"abc" + 3 * PIECE
    assert not call.line.is_paused
    assert await call.connection.read() == b""
    assert call.connection.is_reusable


async def test_reading_pauses_while_the_body_is_not_taken(call: Call) -> None:
    await call.begin(OK + b"\r\n" + PIECE)
    assert not call.line.is_paused
    hear(call.connection, PIECE)
    assert call.line.is_paused
    assert len(await call.connection.read()) == 400_000
    assert not call.line.is_paused


async def test_reading_resumes_when_the_response_is_dropped(call: Call) -> None:
    await call.begin(OK + b"Content-Length: 400000\r\n\r\n" + PIECE)
    hear(call.connection, PIECE)
    assert call.line.is_paused
    assert call.connection.is_reusable
    call.connection.forget_response()
    assert not call.line.is_paused
    await call.begin(OK + b"Content-Length: 1\r\n\r\na")
    assert await call.connection.read() == b"a"


async def test_a_server_that_sends_bytes_without_a_request_is_disconnected(call: Call) -> None:
    hear(call.connection, b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert call.line.is_aborted


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset")])
async def test_a_body_is_read_before_the_end_of_the_connection_is_reported(
    call: Call, error: OSError | None
) -> None:
    await call.begin(OK + b"Content-Length: 6\r\n\r\nabc")
    call.connection.connection_lost(error)
    assert await call.connection.read() == b"abc"
    with pytest.raises(ConnectionResetError if error else Fault):
        await call.connection.read()


async def test_a_broken_connection_does_not_complete_a_body_without_length(call: Call) -> None:
    await call.begin(OK + b"\r\n")
    call.connection.connection_lost(ConnectionResetError("reset"))
    with pytest.raises(ConnectionResetError):
        await call.connection.read()


@pytest.mark.parametrize("broken_by", ["no chunk", "a reset"])
async def test_the_error_that_breaks_a_response_keeps_nothing_of_it_in_memory(
    call: Call, broken_by: str
) -> None:
    """Servers that break off large bodies must not fill memory until the garbage collector runs."""

    class Body:
        """Stands for the part of a body that was read."""

    async def read(call: Call) -> "ref[Body]":
        body = Body()
        await call.begin(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((Fault, OSError)):
            await call.connection.read()
        return ref(body)

    broken = OSError("a reset")
    loop = asyncio.get_running_loop()
    if broken_by == "a reset":
        loop.call_later(0, call.connection.connection_lost, broken)
    else:
        loop.call_later(0, hear, call.connection, b"zz\r\n")
    gc.disable()
    try:
        assert (await read(call))() is None
    finally:
        gc.enable()


async def test_other_connections_have_their_turn_between_tiny_chunks(call: Call) -> None:
    await call.begin(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    hear(call.connection, b"8\r\n12345678\r\n" * 2_000 + b"0\r\n\r\n")
    body, turns = b"", 0
    while part := await call.connection.read():
        assert call.line.is_paused != call.connection.is_reusable
        body, turns = body + part, turns + 1
        await asyncio.sleep(0)
    assert body == b"12345678" * 2_000
    assert turns >= 4
    assert not call.line.is_paused
    assert call.connection.is_reusable
