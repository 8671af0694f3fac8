"""Happy Eyeballs: choice among the addresses of a host."""

import asyncio
import socket

import pytest

from minicrawl.fetch.client.dialing import Connector
from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.targets import ConnectTarget
from minicrawl.states import State
from tests.fetch.wire import answer, wire

PATIENT_S = 1000.0


async def no_handshake(opened: socket.socket) -> socket.socket:
    return opened


def places(*addresses: str, port: int = 80) -> list[ConnectTarget]:
    return [ConnectTarget(address, port) for address in addresses]


async def address_chosen(port: int, *addresses: str) -> str:
    connector = Connector(PATIENT_S, head_start_s=PATIENT_S)
    place, opened = await connector.connect(places(*addresses, port=port), no_handshake)
    opened.close()
    return place.address


async def test_an_address_that_refuses_is_followed_by_the_next_at_once() -> None:
    async with wire(answer(b"a")) as server:
        chosen = await address_chosen(server.port, "127.0.0.2", "127.0.0.3", "127.0.0.1")
    assert chosen == "127.0.0.1"


async def test_no_other_address_is_tried_while_the_first_may_still_answer() -> None:
    async with (
        wire(answer(b"a")) as server,
        wire(answer(b"b"), address="127.0.0.2", port=server.port) as other,
    ):
        assert await address_chosen(server.port, "127.0.0.1", "127.0.0.2") == "127.0.0.1"
        assert other.connections == 0


async def test_the_connection_that_loses_the_race_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connector = Connector(PATIENT_S, head_start_s=0.001)
    opened: list[socket.socket] = []
    both = asyncio.Event()

    async def open_both(_: Connector, place: ConnectTarget) -> socket.socket:
        opened.append(socket.socket())
        if len(opened) == 2:
            both.set()
        await both.wait()
        return opened[-1] if place.address == "127.0.0.2" else opened[0]

    monkeypatch.setattr(Connector, "_open", open_both)
    _, won = await connector.connect(places("127.0.0.1", "127.0.0.2"), no_handshake)
    left = [one for one in opened if one is not won]
    assert [one.fileno() for one in left] == [-1]
    assert won.fileno() != -1
    won.close()


async def test_a_request_tries_four_dead_addresses_and_the_next_request_others() -> None:
    tried: list[str] = []

    async def hang_up(opened: socket.socket) -> socket.socket:
        tried.append(opened.getpeername()[0])
        opened.close()
        raise OSError("refused")

    connector = Connector(PATIENT_S, head_start_s=PATIENT_S)
    addresses = [f"127.0.0.{number}" for number in range(2, 12)]
    with socket.create_server(("0.0.0.0", 0)) as server:  # ten addresses of loopback
        found = places(*addresses, port=server.getsockname()[1])
        for expected in (addresses[:4], addresses[4:8], addresses[8:] + addresses[:2]):
            tried.clear()
            with pytest.raises(Fault, match="refused"):
                await connector.connect(found, hang_up)
            assert tried == expected


async def test_servers_see_the_bound_address() -> None:
    async with wire(answer(b"a")) as server:
        _, opened = await Connector(PATIENT_S, ["127.0.0.9"]).connect(
            places("127.0.0.1", port=server.port), no_handshake
        )
        assert opened.getsockname()[0] == "127.0.0.9"
        opened.close()


async def test_a_server_of_another_family_than_the_bound_address_is_a_failure() -> None:
    with pytest.raises(Fault, match="--bind-address") as caught:
        await Connector(PATIENT_S, ["127.0.0.9"]).connect(places("::1"), no_handshake)
    assert caught.value.kind is State.CONNECT


@pytest.mark.parametrize("timeout_s", [2.0, 30.0, 600.0])
async def test_addresses_before_the_last_share_half_of_the_time(
    timeout_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float | None] = []

    def timeout(limit_s: float | None) -> asyncio.Timeout:
        limits.append(limit_s)
        return asyncio.timeouts.timeout(limit_s)

    async def hang_up(opened: socket.socket) -> None:
        opened.close()
        raise OSError("refused")

    monkeypatch.setattr(asyncio, "timeout", timeout)
    with socket.create_server(("0.0.0.0", 0)) as server:
        dead = places(*(f"127.0.0.{n}" for n in (2, 3, 4, 5)), port=server.getsockname()[1])
        with pytest.raises(Fault, match="refused"):
            await Connector(timeout_s, head_start_s=PATIENT_S).connect(dead, hang_up)
    assert limits.pop() is None
    pairs = zip(limits, (3, 2, 1), strict=True)
    assert all(limit_s and limit_s * others <= timeout_s / 2 for limit_s, others in pairs)
