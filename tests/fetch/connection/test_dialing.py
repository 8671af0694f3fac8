"""Happy Eyeballs: which address of a host is connected to, and what becomes of the others."""

import asyncio
import socket

import pytest

from minicrawl.fetch import connection as dialing
from minicrawl.fetch.connection import Connector
from minicrawl.fetch.transport import ConnectTarget, Fault
from minicrawl.model import FailureKind
from tests.fetch.connection.clients import run
from tests.fetch.wire import answer, deaf, wire

PATIENT_S = 1000.0


async def as_it_is(opened: socket.socket) -> socket.socket:
    return opened


def places(*addresses: str, port: int = 80) -> list[ConnectTarget]:
    return [ConnectTarget(address, port) for address in addresses]


async def chosen(connector: Connector, at: list[ConnectTarget]) -> str:
    place, opened = await connector.connect(at, as_it_is)
    opened.close()
    return place.address


def test_a_silent_address_does_not_keep_the_next_one_waiting() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            with deaf("127.0.0.2", server.port):
                at = places("127.0.0.2", "127.0.0.1", port=server.port)
                assert await chosen(Connector(PATIENT_S), at) == "127.0.0.1"

    run(play())


def test_an_address_that_refuses_is_followed_by_the_next_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialing, "_HEAD_START_S", PATIENT_S)

    async def play() -> None:
        async with wire(answer(b"a")) as server:
            at = places("127.0.0.2", "127.0.0.3", "127.0.0.1", port=server.port)
            assert await chosen(Connector(PATIENT_S), at) == "127.0.0.1"

    run(play())


def test_while_the_first_address_may_still_answer_no_other_one_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialing, "_HEAD_START_S", PATIENT_S)

    async def play() -> None:
        async with (
            wire(answer(b"a")) as server,
            wire(answer(b"b"), address="127.0.0.2", port=server.port) as other,
        ):
            at = places("127.0.0.1", "127.0.0.2", port=server.port)
            assert await chosen(Connector(PATIENT_S), at) == "127.0.0.1"
            assert other.connections == 0

    run(play())


def test_what_lost_the_race_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[socket.socket] = []
    both = asyncio.Event()

    async def open_both(_: Connector, place: ConnectTarget) -> socket.socket:
        opened.append(socket.socket())
        if len(opened) == 2:
            both.set()
        await both.wait()
        return opened[-1] if place.address == "127.0.0.2" else opened[0]

    monkeypatch.setattr(Connector, "_open", open_both)
    monkeypatch.setattr(dialing, "_HEAD_START_S", 0.001)

    async def play() -> None:
        _, won = await Connector(PATIENT_S).connect(places("127.0.0.1", "127.0.0.2"), as_it_is)
        left = [one for one in opened if one is not won]
        assert [one.fileno() for one in left] == [-1]
        assert won.fileno() != -1
        won.close()

    run(play())


def test_of_many_dead_addresses_a_request_tries_four_and_the_next_one_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    class Refusing(socket.socket):
        def bind(self, _: object) -> None:
            raise OSError("refused")

    async def play() -> None:
        connector = Connector(PATIENT_S, ["127.0.0.1"])
        remember = connector._remember_dead
        monkeypatch.setattr(socket, "socket", Refusing)

        def note(place: ConnectTarget) -> None:
            tried.append(place.address)
            remember(place)

        monkeypatch.setattr(connector, "_remember_dead", note)
        addresses = [f"127.0.0.{number}" for number in range(2, 12)]
        for expected in (addresses[:4], addresses[4:8], addresses[8:] + addresses[:2]):
            tried.clear()
            with pytest.raises(Fault, match="refused"):
                await connector.connect(places(*addresses), as_it_is)
            assert tried == expected
        monkeypatch.undo()

    run(play())


def test_the_address_that_the_user_binds_to_is_the_one_that_servers_see() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            _, opened = await Connector(PATIENT_S, ["127.0.0.9"]).connect(
                places("127.0.0.1", port=server.port), as_it_is
            )
            assert opened.getsockname()[0] == "127.0.0.9"
            opened.close()

    run(play())


def test_servers_of_another_family_than_the_bound_address_are_not_connected_to() -> None:
    async def play() -> None:
        with pytest.raises(Fault, match="--bind-address") as caught:
            await Connector(PATIENT_S, ["127.0.0.9"]).connect(places("::1"), as_it_is)
        assert caught.value.kind is FailureKind.CONNECT

    run(play())


def test_before_the_last_address_no_handshake_takes_more_than_its_share_of_half_the_time() -> None:
    for timeout_s in (0.5, 2, 30, 600):
        for others in (1, 2, 3):
            assert Connector(timeout_s)._begin_s(others) * others <= timeout_s / 2
