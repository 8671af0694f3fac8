import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from minicrawl.fetch.connection import Connection, IdleConnections
from minicrawl.fetch.transport import ConnectTarget, Origin

LONG_S = 1000.0
A = Origin(False, "a.example", 80, "a.example"), ConnectTarget("10.0.0.1", 80)
B = Origin(False, "b.example", 80, "b.example"), ConnectTarget("10.0.0.1", 80)


def nothing(_: Connection) -> None:
    """What nobody needs to be told."""


class Still(Connection):
    """A connection that only knows whether it was hung up."""

    def __init__(self) -> None:
        super().__init__(nothing, nothing, max_head_bytes=0, read_buffer=memoryview(b""))
        self.gone = asyncio.Event()

    def abort(self) -> None:
        self.gone.set()


def run(play: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await play()

    asyncio.run(bounded())


def test_a_connection_is_taken_by_its_own_key_and_once() -> None:
    async def play() -> None:
        idle, one = IdleConnections(9, LONG_S), Still()
        idle.put(A, one)
        assert idle.take(B) is None
        assert idle.take(A) is one
        assert idle.take(A) is None
        idle.close()

    run(play)


def test_the_one_that_has_waited_least_is_taken_first() -> None:
    async def play() -> None:
        idle, one, two = IdleConnections(9, LONG_S), Still(), Still()
        idle.put(A, one)
        idle.put(A, two)
        assert [idle.take(A), idle.take(A)] == [two, one]
        idle.close()

    run(play)


def test_of_more_than_the_limit_the_one_that_has_waited_longest_goes() -> None:
    async def play() -> None:
        idle, one, two, three = IdleConnections(2, LONG_S), Still(), Still(), Still()
        for line, connection in ((A, one), (B, two), (A, three)):
            idle.put(line, connection)
        assert [still.gone.is_set() for still in (one, two, three)] == [True, False, False]
        assert [idle.take(A), idle.take(A), idle.take(B)] == [three, None, two]
        idle.close()

    run(play)


def test_a_connection_that_was_lost_is_forgotten() -> None:
    async def play() -> None:
        idle, one = IdleConnections(9, LONG_S), Still()
        idle.forget(one)
        idle.put(A, one)
        idle.forget(one)
        assert idle.take(A) is None
        idle.close()
        assert not one.gone.is_set()

    run(play)


def test_a_connection_that_has_waited_long_enough_is_closed_and_later_ones_after_it() -> None:
    async def play() -> None:
        idle, one, two = IdleConnections(9, 0.001), Still(), Still()
        idle.put(A, one)
        await one.gone.wait()
        idle.put(A, two)
        await two.gone.wait()
        assert idle.take(A) is None

    run(play)


def test_an_alarm_leaves_those_that_may_still_wait() -> None:
    async def play() -> None:
        idle, one, two, three = IdleConnections(9, 0.001), Still(), Still(), Still()
        idle.put(A, one)
        idle.put(A, two)
        assert idle.take(A) is two
        await one.gone.wait()
        assert not two.gone.is_set()
        idle.put(B, three)
        await three.gone.wait()

    run(play)


def test_closing_ends_all_connections() -> None:
    async def play() -> None:
        idle, one, two = IdleConnections(9, LONG_S), Still(), Still()
        idle.put(A, one)
        idle.put(B, two)
        idle.close()
        assert one.gone.is_set()
        assert two.gone.is_set()
        IdleConnections(9, LONG_S).close()

    run(play)
