import asyncio

from minicrawl.fetch.client.client import IdleConnections
from minicrawl.fetch.client.connection import Connection
from minicrawl.fetch.http.targets import ConnectTarget, Origin

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


async def test_a_connection_that_was_taken_is_not_closed_when_its_time_is_over() -> None:
    idle, one, two, three = IdleConnections(9, 0.001), Fake(), Fake(), Fake()
    idle.put(A, one)
    idle.put(A, two)
    assert idle.take(A) is two
    await one.aborted.wait()
    assert not two.aborted.is_set()
    idle.put(B, three)
    await three.aborted.wait()
