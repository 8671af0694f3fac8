import asyncio

from minicrawl.fetch.connection import Connection, IdleConnections
from minicrawl.fetch.http import ConnectTarget, Origin

LONG_S = 1000.0
A = Origin(False, "a.example", 80, "a.example"), ConnectTarget("10.0.0.1", 80)
B = Origin(False, "b.example", 80, "b.example"), ConnectTarget("10.0.0.1", 80)


class Fake(Connection):
    def __init__(self) -> None:
        super().__init__(
            lambda _: None, lambda _: None, max_head_bytes=0, read_buffer=memoryview(b"")
        )
        self.aborted = asyncio.Event()

    def abort(self) -> None:
        self.aborted.set()


async def test_a_connection_is_taken_once_by_its_own_key_the_latest_first() -> None:
    idle, one, two = IdleConnections(9, LONG_S), Fake(), Fake()
    idle.put(A, one)
    idle.put(A, two)
    assert [idle.take(line) for line in (B, A, A, A)] == [None, two, one, None]
    idle.close()


async def test_over_the_limit_the_connection_that_was_idle_longest_is_closed() -> None:
    idle, one, two, three = IdleConnections(2, LONG_S), Fake(), Fake(), Fake()
    for line, connection in ((A, one), (B, two), (A, three)):
        idle.put(line, connection)
    assert [each.aborted.is_set() for each in (one, two, three)] == [True, False, False]
    assert [idle.take(A), idle.take(A), idle.take(B)] == [three, None, two]
    idle.close()


async def test_closing_aborts_all_connections_but_those_that_were_lost() -> None:
    idle, lost, one, two = IdleConnections(9, LONG_S), Fake(), Fake(), Fake()
    idle.forget(lost)
    for line, connection in ((A, lost), (A, one), (B, two)):
        idle.put(line, connection)
    idle.forget(lost)
    idle.close()
    assert [each.aborted.is_set() for each in (lost, one, two)] == [False, True, True]
    IdleConnections(9, LONG_S).close()


async def test_a_connection_that_was_taken_is_not_closed_when_its_time_is_over() -> None:
    idle, one, two, three = IdleConnections(9, 0.001), Fake(), Fake(), Fake()
    idle.put(A, one)
    idle.put(A, two)
    assert idle.take(A) is two
    await one.aborted.wait()
    assert not two.aborted.is_set()
    idle.put(B, three)
    await three.aborted.wait()
