import asyncio
import gc
from collections.abc import Awaitable, Callable
from weakref import ref

import pytest

from minicrawl.fetch.connection import READ_BUFFER_BYTES, Connection
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind
from tests.loops import hear

OK = b"HTTP/1.1 200 OK\r\n"
PIECE = b"x" * 200_000


class Line(asyncio.Transport):
    """The other side: keeps what was asked, whether it may speak, and whether it was left."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = b""
        self.may_speak = True
        self.left = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.asked += bytes(data)

    def pause_reading(self) -> None:
        self.may_speak = False

    def resume_reading(self) -> None:
        self.may_speak = True

    def abort(self) -> None:
        self.left = True


class Call:
    """A connection under way, and what it told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.line = Line()
        self.connection = Connection(
            lambda _: self.told.append("made"),
            lambda _: self.told.append("lost"),
            10_000,
            memoryview(bytearray(READ_BUFFER_BYTES)),
        )
        self.connection.connection_made(self.line)


def run(play: Callable[[Call], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await play(Call())

    asyncio.run(bounded())


async def begin(call: Call, answer: bytes) -> None:
    """Ask, and hear this much of an answer."""
    asking = asyncio.create_task(call.connection.send(b"GET"))
    await asyncio.sleep(0)
    hear(call.connection, answer)
    await asking


def test_a_request_is_sent_and_its_response_comes() -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"Content-Length: 6\r\n\r\nabc")
        assert call.line.asked == b"GET"
        assert await call.connection.read() == b"abc"
        reading = asyncio.create_task(call.connection.read())
        await asyncio.sleep(0)
        assert not call.connection.is_reusable
        hear(call.connection, b"d")
        hear(call.connection, b"ef")
        assert await reading == b"def"
        assert await call.connection.read() == b""
        assert call.connection.is_reusable

    run(play)


def test_a_body_is_taken_at_once_only_if_all_of_it_has_come() -> None:
    async def play(call: Call) -> None:
        assert call.connection.take_whole() is None
        await begin(call, OK + b"Content-Length: 600003\r\n\r\nabc")
        assert call.connection.take_whole() is None
        for _ in range(3):
            hear(call.connection, PIECE)
        assert not call.line.may_speak
        assert call.connection.take_whole() == b"abc" + 3 * PIECE
        assert call.line.may_speak
        assert await call.connection.read() == b""
        assert call.connection.is_reusable

    run(play)


def test_a_head_may_come_in_pieces() -> None:
    async def play(call: Call) -> None:
        asking = asyncio.create_task(call.connection.send(b"GET"))
        await asyncio.sleep(0)
        assert call.connection.is_unanswered
        hear(call.connection, OK[:5])
        await asyncio.sleep(0)
        assert not call.connection.is_unanswered
        hear(call.connection, OK[5:] + b"\r\n")
        assert (await asking).status == 200

    run(play)


def test_a_body_that_is_not_read_is_not_let_in() -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"\r\n" + PIECE)
        assert call.line.may_speak
        hear(call.connection, PIECE)
        assert not call.line.may_speak
        assert len(await call.connection.read()) == 400_000
        assert call.line.may_speak

    run(play)


def test_a_connection_that_rests_listens() -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"Content-Length: 400000\r\n\r\n" + PIECE)
        hear(call.connection, PIECE)
        assert not call.line.may_speak
        assert call.connection.is_reusable
        call.connection.forget_response()
        assert call.line.may_speak
        await begin(call, OK + b"Content-Length: 1\r\n\r\na")
        assert await call.connection.read() == b"a"

    run(play)


def test_a_server_that_sends_bytes_without_a_request_is_disconnected() -> None:
    async def play(call: Call) -> None:
        hear(call.connection, b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        assert call.line.left

    run(play)


def test_a_connection_tells_when_it_is_made_and_when_it_is_lost() -> None:
    async def play(call: Call) -> None:
        assert call.told == ["made"]
        call.connection.connection_lost(None)
        assert call.told == ["made", "lost"]
        assert not call.connection.is_reusable

    run(play)


def test_a_connection_that_was_lost_before_its_request_fails_it() -> None:
    async def play(call: Call) -> None:
        call.connection.connection_lost(None)
        with pytest.raises(Fault):
            await call.connection.send(b"GET")
        assert call.connection.is_unanswered

    run(play)


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset")])
def test_what_came_before_the_end_is_read_before_the_end_is_reported(error: OSError | None) -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"Content-Length: 6\r\n\r\nabc")
        call.connection.connection_lost(error)
        assert await call.connection.read() == b"abc"
        with pytest.raises(ConnectionResetError if error else Fault):
            await call.connection.read()

    run(play)


def test_an_end_in_order_is_the_end_of_a_body_without_length_and_a_broken_one_is_not() -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"\r\n")
        call.connection.connection_lost(None)
        assert await call.connection.read() == b""
        assert not call.connection.is_reusable

    async def play_broken(call: Call) -> None:
        await begin(call, OK + b"\r\n")
        call.connection.connection_lost(ConnectionResetError("reset"))
        with pytest.raises(ConnectionResetError):
            await call.connection.read()

    run(play)
    run(play_broken)


def test_bytes_that_are_not_http_fail_without_waiting_for_more() -> None:
    async def play(call: Call) -> None:
        with pytest.raises(Fault) as caught:
            await begin(call, b"<html>")
        assert caught.value.kind is FailureKind.PROTOCOL

    run(play)


@pytest.mark.parametrize("broken_by", ["no chunk", "a reset"])
def test_the_error_that_breaks_a_response_keeps_nothing_of_it_in_memory(broken_by: str) -> None:
    """Or else a server that breaks off large bodies fills it, until cycles are looked for."""

    class Body:
        """What a reader has gathered."""

    async def read(call: Call) -> "ref[Body]":
        body = Body()
        await begin(call, OK + b"Transfer-Encoding: chunked\r\n\r\n")
        with pytest.raises((Fault, OSError)):
            await call.connection.read()
        return ref(body)

    async def play(call: Call) -> None:
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

    run(play)


def test_other_connections_have_their_turn_between_tiny_chunks() -> None:
    async def play(call: Call) -> None:
        await begin(call, OK + b"Transfer-Encoding: chunked\r\n\r\n")
        hear(call.connection, b"8\r\n12345678\r\n" * 2_000 + b"0\r\n\r\n")
        body, turns = b"", 0
        while part := await call.connection.read():
            assert call.line.may_speak == call.connection.is_reusable
            body, turns = body + part, turns + 1
            await asyncio.sleep(0)
        assert body == b"12345678" * 2_000
        assert turns >= 4
        assert call.line.may_speak
        assert call.connection.is_reusable

    run(play)
