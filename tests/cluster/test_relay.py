"""Bytes pass a relay, but not while it is cut."""

import asyncio

import pytest

from tests.cluster.relay import relays


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.close()


@pytest.mark.anyio
async def test_bytes_sent_while_the_relay_is_cut_arrive_after_it_is_healed() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, relays([server.sockets[0].getsockname()]) as (relay,):
        reader, writer = await asyncio.open_connection(*relay.place)
        writer.write(b"before\n")
        assert await reader.readline() == b"before\n"
        relay.cut()
        writer.write(b"meanwhile\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                asyncio.shield(waiting := asyncio.create_task(reader.readline())), 0.05
            )
        relay.heal()
        assert await waiting == b"meanwhile\n"
        writer.close()
