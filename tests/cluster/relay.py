"""A TCP relay on loopback that can be slow, lossy, cut like a network, and healed.

Law: bytes sent while the relay is cut arrive after it is healed, because TCP would send them again.
Neither side learns of the cut: connections stay open and silent, and new ones get no answer. What
follows a lost packet waits until that one has been sent again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import NamedTuple

from tests.real.daemons import free_port

Place = tuple[str, int]
ADDRESS = "127.0.0.1"
_AT_ONCE = 1 << 16
_IN_FLIGHT = 64
"""Most pieces under way; the sender waits for the rest, as with a full window."""
_LEAST_RESENT_S = 0.2
"""Least time until TCP sends a lost packet again."""


class Weather(NamedTuple):
    """What a network does to a packet."""

    delay_s: float = 0.0
    lost: float = 0.0
    """Share of packets that have to be sent again."""


CALM = Weather()


class Piece(NamedTuple):
    """Bytes under way, and the time of the loop's clock at which they arrive."""

    due: float
    content: bytes


class Relay:
    def __init__(self, to: Place, weather: Weather = CALM) -> None:
        self.place = (ADDRESS, free_port(ADDRESS))
        self._to, self._weather, self._chance = to, weather, Random(to[1])
        self._is_whole = asyncio.Event()
        self._is_whole.set()
        self._pumps: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        self._is_whole.clear()

    def heal(self) -> None:
        self._is_whole.set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pumps.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the other side or the relay is gone
        finally:
            self._pumps.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._is_whole.wait()
        there_reader, there_writer = await asyncio.open_connection(*self._to)
        ways = [
            asyncio.create_task(self._pump(reader, there_writer)),
            asyncio.create_task(self._pump(there_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            there_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        under_way = asyncio.Queue[Piece](_IN_FLIGHT)
        taking = asyncio.create_task(self._take(reader, under_way))
        try:
            while (piece := await under_way.get()).content:
                await asyncio.sleep(max(piece.due - clock(), 0))
                await self._is_whole.wait()
                writer.write(piece.content)
                await writer.drain()
        finally:
            taking.cancel()

    async def _take(self, reader: asyncio.StreamReader, under_way: "asyncio.Queue[Piece]") -> None:
        """Send pieces on their way; the last one is empty."""
        clock = asyncio.get_running_loop().time
        delay_s, lost = self._weather
        piece = Piece(0.0, b"-")
        while piece.content:
            try:
                content = await reader.read(_AT_ONCE)
            except OSError:
                content = b""
            resent_s = max(_LEAST_RESENT_S, 2 * delay_s) if self._chance.random() < lost else 0.0
            piece = Piece(max(piece.due, clock() + delay_s + resent_s), content)
            await under_way.put(piece)

    async def end(self) -> None:
        pumps = tuple(self._pumps)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


@asynccontextmanager
async def relays(targets: Iterable[Place], weather: Weather = CALM) -> AsyncIterator[list[Relay]]:
    """Run a relay to each of these addresses inside the block."""
    async with AsyncExitStack() as stack:
        made = []
        for target in targets:
            relay = Relay(target, weather)
            server = await asyncio.start_server(relay.connect, *relay.place)
            stack.callback(server.close)
            stack.push_async_callback(relay.end)
            made.append(relay)
        yield made
