import asyncio

import pytest

from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind
from tests.fetch.connection.clients import client, get, request_to, run
from tests.fetch.wire import FAULTS, Answer, Then, answer, deaf, wire

NOBODY = "127.0.0.2"


def test_the_first_address_that_accepts_the_connection_gets_the_request() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            asker = client()
            assert await get(asker, request_to(server, NOBODY, "127.0.0.1", NOBODY)) == b"a"
            assert await get(asker, request_to(server, NOBODY, "127.0.0.1")) == b"a"
            assert server.connections == 1
            await asker.aclose()

    run(play())


def test_if_no_address_accepts_the_connection_the_last_error_is_reported() -> None:
    async def play() -> None:
        async with wire() as server:
            with pytest.raises(Fault, match=r"127\.0\.0\.3") as caught:
                await client().send(request_to(server, NOBODY, "127.0.0.3"))
            assert caught.value.kind is FailureKind.CONNECT
            assert server.connections == 0

    run(play())


def test_an_address_that_is_silent_is_given_up_for_the_next() -> None:
    async def play() -> None:
        silence = Answer((), Then.HOLD)
        async with (
            wire(silence) as server,
            wire(silence, address=NOBODY, port=server.port) as other,
        ):
            asker = client(timeout_s=0.02)
            asked = request_to(server, NOBODY, "127.0.0.1", url=f"https://127.0.0.1:{server.port}/")
            asking = asyncio.create_task(asker.send(asked))
            await other.until_left(1)
            while not server.connections:
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            await server.until_left(1)
            await asker.aclose()

    run(play())


def test_an_address_that_was_silent_is_tried_after_the_others() -> None:
    async def play() -> None:
        asker = client(timeout_s=1)
        async with wire(Answer(answer(b"a").pieces, Then.CLOSE)) as server:
            asked = request_to(server, NOBODY, "127.0.0.1")
            with deaf(NOBODY, server.port):
                assert await get(asker, asked) == b"a"
            async with wire(answer(b"b"), address=NOBODY, port=server.port) as other:
                assert await get(asker, asked) == b"a"
                assert (server.connections, other.connections) == (2, 0)
        await asker.aclose()

    run(play())


def test_an_address_that_was_silent_until_the_deadline_is_tried_last_by_the_next_request() -> None:
    async def play() -> None:
        asker = client(timeout_s=60)
        async with wire(answer(b"a")) as server:
            with deaf(NOBODY, server.port):
                asking = asyncio.create_task(asker.send(request_to(server, NOBODY)))
                await asyncio.sleep(0)
                asking.cancel()
                await asyncio.wait([asking])
            async with wire(answer(b"b"), address=NOBODY, port=server.port):
                assert await get(asker, request_to(server, NOBODY, "127.0.0.1")) == b"a"
        await asker.aclose()

    run(play())


@pytest.mark.parametrize("host", [".a.example", "a" * 300 + ".example"])
def test_a_name_that_tls_cannot_carry_is_a_fault(host: str) -> None:
    async def play() -> None:
        async with wire() as server:
            asked = request_to(server, "127.0.0.1", NOBODY, url=f"https://{host}:{server.port}/")
            with pytest.raises(Fault) as caught:
                await client().send(asked)
            assert caught.value.kind is FailureKind.TLS

    run(play())


def test_no_more_requests_than_allowed_are_under_way() -> None:
    async def play() -> None:
        async with wire(FAULTS["silence"], answer(b"a")) as server:
            asker = client(connections=1)
            first = asyncio.create_task(asker.send(request_to(server)))
            while not server.asked:
                await asyncio.sleep(0)
            second = asyncio.create_task(get(asker, request_to(server)))
            for _ in range(100):
                await asyncio.sleep(0)
            assert server.connections == 1
            first.cancel()
            assert await second == b"a"
            await asker.aclose()

    run(play())


def test_a_request_that_waits_for_its_turn_may_be_cancelled() -> None:
    async def play() -> None:
        async with wire(FAULTS["silence"], answer(b"a")) as server:
            asker = client(connections=1)
            first, second = (asyncio.create_task(asker.send(request_to(server))) for _ in range(2))
            while not server.asked:
                await asyncio.sleep(0)
            for asking in (second, first):
                asking.cancel()
            await asyncio.wait([first, second])
            assert await get(asker, request_to(server)) == b"a"
            await asker.aclose()

    run(play())


def test_a_cancelled_request_closes_its_connection() -> None:
    async def play() -> None:
        async with wire(FAULTS["a body without end"]) as server:
            asker = client(connections=1)
            found = await asker.send(request_to(server))
            await found.aclose()
            await server.until_left(1)
            await asker.aclose()

    run(play())


def test_connections_of_other_origins_are_not_shared() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            asker = client()
            for host in ("a.example", "b.example", "a.example"):
                await get(asker, request_to(server, url=server.url(host=host)))
            assert server.connections == 2
            await asker.aclose()

    run(play())


def test_an_idle_connection_is_kept_for_its_time_only() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            asker = client(keep_s=0.001)
            await get(asker, request_to(server))
            await server.until_left(1)
            await asker.aclose()

    run(play())


def test_no_more_idle_connections_are_kept_than_allowed() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            asker = client(connections=1)
            for host in ("a.example", "b.example"):
                await get(asker, request_to(server, url=server.url(host=host)))
            await server.until_left(1)
            assert server.connections == 2
            await asker.aclose()

    run(play())


def test_connections_to_many_hosts_are_kept_though_few_requests_are_under_way() -> None:
    async def play() -> None:
        async with wire(answer(b"a")) as server:
            asker = client(connections=1, kept=2)
            for host in ("a.example", "b.example", "a.example", "b.example"):
                await get(asker, request_to(server, url=server.url(host=host)))
            assert server.connections == 2
            await asker.aclose()

    run(play())


def test_closing_ends_idle_connections_and_requests_under_way() -> None:
    async def play() -> None:
        async with wire(answer(b"a"), FAULTS["silence"]) as server:
            asker = client()
            await get(asker, request_to(server, url=server.url(host="a.example")))
            asking = asyncio.create_task(asker.send(request_to(server)))
            while len(server.asked) < 2:
                await asyncio.sleep(0)
            await asker.aclose()
            await server.until_left(2)
            with pytest.raises(Fault, match="ended"):
                await asking

    run(play())


def test_a_kept_connection_that_its_server_closed_is_forgotten() -> None:
    async def play() -> None:
        closing = Answer(answer(b"a").pieces, Then.CLOSE)
        async with wire(closing) as server:
            asker = client()
            for _ in range(2):
                assert await get(asker, request_to(server)) == b"a"
            assert server.connections == len(server.asked) == 2
            await asker.aclose()

    run(play())


def test_a_request_is_sent_once_more_after_a_pause_only() -> None:
    async def play() -> None:
        async with wire(answer(b"a"), FAULTS["closed at once"], answer(b"a")) as server:
            asker = client(pause_s=1000)
            await get(asker, request_to(server))
            asking = asyncio.create_task(asker.send(request_to(server)))
            await server.until_left(1)
            for _ in range(100):
                await asyncio.sleep(0)
            assert len(server.asked) == 2
            asking.cancel()
            await asyncio.wait([asking])
            await asker.aclose()

    run(play())
