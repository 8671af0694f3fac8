import asyncio

import pytest

from minicrawl.fetch.http.faults import Fault
from minicrawl.states import State
from tests.fetch.connection.clients import cancel, get, http_client, request_to
from tests.fetch.wire import FAULTS, Answer, Then, answer, deaf, wire

NOBODY = "127.0.0.2"  # nothing listens here


async def test_the_first_address_that_accepts_the_connection_gets_the_request() -> None:
    async with wire(answer(b"a")) as server, http_client() as client:
        assert await get(client, request_to(server, NOBODY, "127.0.0.1", NOBODY)) == b"a"
        assert await get(client, request_to(server, NOBODY, "127.0.0.1")) == b"a"
        assert server.connections == 1


async def test_if_no_address_accepts_the_connection_the_last_error_is_reported() -> None:
    async with wire() as server, http_client() as client:
        with pytest.raises(Fault, match=r"127\.0\.0\.3") as caught:
            await client.send(request_to(server, NOBODY, "127.0.0.3"))
        assert caught.value.kind is State.CONNECT
        assert server.connections == 0


async def test_a_silent_address_is_given_up_for_the_next() -> None:
    silence = Answer((), Then.HOLD)
    async with (
        wire(silence) as server,
        wire(silence, address=NOBODY, port=server.port) as other,
        http_client(timeout_s=0.02) as client,
    ):
        request = request_to(server, NOBODY, "127.0.0.1", url=f"https://127.0.0.1:{server.port}/")
        sending = asyncio.create_task(client.send(request))
        await other.until_left(1)
        while not server.connections:
            await asyncio.sleep(0)
        await cancel(sending)
        await server.until_left(1)


async def test_an_address_that_was_silent_is_tried_after_the_others() -> None:
    closing = Answer(answer(b"a").pieces, Then.CLOSE)
    async with wire(closing) as server, http_client(timeout_s=1) as client:
        request = request_to(server, NOBODY, "127.0.0.1")
        with deaf(NOBODY, server.port):
            assert await get(client, request) == b"a"
        async with wire(answer(b"b"), address=NOBODY, port=server.port) as other:
            assert await get(client, request) == b"a"
            assert (server.connections, other.connections) == (2, 0)


async def test_an_address_that_was_silent_until_the_deadline_is_tried_last_next_time() -> None:
    async with wire(answer(b"a")) as server, http_client() as client:
        with deaf(NOBODY, server.port):
            sending = asyncio.create_task(client.send(request_to(server, NOBODY)))
            await asyncio.sleep(0)
            await cancel(sending)
        async with wire(answer(b"b"), address=NOBODY, port=server.port):
            assert await get(client, request_to(server, NOBODY, "127.0.0.1")) == b"a"


@pytest.mark.parametrize("host", [".a.example", "a" * 300 + ".example"])
async def test_a_name_that_tls_cannot_carry_is_a_fault(host: str) -> None:
    async with wire() as server, http_client() as client:
        request = request_to(server, "127.0.0.1", NOBODY, url=f"https://{host}:{server.port}/")
        with pytest.raises(Fault) as caught:
            await client.send(request)
        assert caught.value.kind is State.TLS


async def test_no_more_requests_than_allowed_are_under_way() -> None:
    async with (
        wire(FAULTS["silence"], answer(b"a")) as server,
        http_client(connections=1) as client,
    ):
        first = asyncio.create_task(client.send(request_to(server)))
        await server.until_asked(1)
        second = asyncio.create_task(get(client, request_to(server)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert server.connections == 1
        first.cancel()
        assert await second == b"a"


async def test_a_cancelled_request_gives_up_its_place_in_the_queue() -> None:
    async with (
        wire(FAULTS["silence"], answer(b"a")) as server,
        http_client(connections=1) as client,
    ):
        first, second = (asyncio.create_task(client.send(request_to(server))) for _ in range(2))
        await server.until_asked(1)
        await cancel(second, first)
        assert await get(client, request_to(server)) == b"a"


async def test_closing_an_unread_response_closes_its_connection() -> None:
    async with wire(FAULTS["a body without end"]) as server, http_client(connections=1) as client:
        response = await client.send(request_to(server))
        await response.aclose()
        await server.until_left(1)


async def test_connections_of_other_origins_are_not_shared() -> None:
    async with wire(answer(b"a")) as server, http_client() as client:
        for host in ("a.example", "b.example", "a.example"):
            await get(client, request_to(server, url=server.url(host=host)))
        assert server.connections == 2


async def test_an_idle_connection_is_closed_when_its_time_is_over() -> None:
    async with wire(answer(b"a")) as server, http_client(keep_s=0.001) as client:
        await get(client, request_to(server))
        await server.until_left(1)


async def test_more_connections_may_be_kept_than_requests_and_the_longest_idle_is_closed() -> None:
    async with wire(answer(b"a")) as server, http_client(connections=1, kept=2) as client:

        async def connections_after(*hosts: str) -> int:
            for host in hosts:
                await get(client, request_to(server, url=server.url(host=f"{host}.example")))
            return server.connections

        assert await connections_after("a", "b", "a", "b") == 2
        assert await connections_after("c", "b", "c") == 3
        await server.until_left(1)
        assert await connections_after("a") == 4


async def test_closing_ends_idle_connections_and_requests_under_way() -> None:
    async with wire(answer(b"a"), FAULTS["silence"]) as server, http_client() as client:
        await get(client, request_to(server, url=server.url(host="a.example")))
        sending = asyncio.create_task(client.send(request_to(server)))
        await server.until_asked(2)
        await client.aclose()
        await server.until_left(2)
        with pytest.raises(Fault, match="ended"):
            await sending


async def test_a_kept_connection_that_its_server_closed_is_forgotten() -> None:
    closing = Answer(answer(b"a").pieces, Then.CLOSE)
    async with wire(closing) as server, http_client() as client:
        for _ in range(2):
            assert await get(client, request_to(server)) == b"a"
        assert server.connections == len(server.asked) == 2


async def test_a_request_is_repeated_only_after_a_pause() -> None:
    answers = answer(b"a"), FAULTS["closed at once"], answer(b"a")
    async with wire(*answers) as server, http_client(pause_s=1000) as client:
        await get(client, request_to(server))
        sending = asyncio.create_task(client.send(request_to(server)))
        await server.until_left(1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(server.asked) == 2
        await cancel(sending)
