"""A TCP relay on loopback that can be cut like a network, and healed.

Law: bytes sent while the relay is cut arrive after it is healed, because TCP would send them again.
Neither side learns of the cut: connections stay open and silent, and new ones get no answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from tests.real.daemons import free_port

Place = tuple[str, int]
ADDRESS = "127.0.0.1"
_AT_ONCE = 1 << 16


class Relay:
    def __init__(self, to: Place) -> None:
        self.place = (ADDRESS, free_port(ADDRESS))
        self._to = to
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
        while content := await reader.read(_AT_ONCE):
            await self._is_whole.wait()
            writer.write(content)
            await writer.drain()

    async def end(self) -> None:
        pumps = tuple(self._pumps)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


@asynccontextmanager
async def relays(targets: Iterable[Place]) -> AsyncIterator[list[Relay]]:
    """Run a relay to each of these addresses inside the block."""
    async with AsyncExitStack() as stack:
        made = []
        for target in targets:
            relay = Relay(target)
            server = await asyncio.start_server(relay.connect, *relay.place)
            stack.callback(server.close)
            stack.push_async_callback(relay.end)
            made.append(relay)
        yield made
