"""TLS of the client: sessions that later connections resume, pauses, and errors."""

import asyncio
import ssl
from typing import cast

import pytest

from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.tls.layer import TlsOpener, TlsServer
from tests.fetch.connection.clients import get, http_client, request_to
from tests.fetch.wire import FAULTS, Answer, Then, answer, certified, wire

NAME = "a.example"
BODY = b"x" * 300_000


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_next_connection_to_a_server_resumes_the_session(version: ssl.TLSVersion) -> None:
    server_tls, client_tls = certified(NAME)
    client_tls.maximum_version = version
    async with (
        wire(answer(BODY), tls=server_tls) as server,
        http_client(tls=client_tls, keep_s=0.0) as client,
    ):
        request = request_to(server, url=f"https://{NAME}:{server.port}/")
        for count in (1, 2, 3):
            assert await get(client, request) == BODY
            await server.until_left(count)
        assert server_tls.session_stats()["hits"] == 2


def test_a_limited_number_of_sessions_is_kept_each_for_its_server_name_and_context() -> None:
    opener, session = TlsOpener(most_sessions=2), cast(ssl.SSLSession, object())
    known = TlsServer(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), NAME, 443)
    others = [
        known._replace(port=444),
        known._replace(name="b.example"),
        known._replace(context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)),
    ]
    opener.keep_session(known, session)
    assert opener.session_of(known) is session
    assert not any(map(opener.session_of, others))
    for other in others:
        opener.keep_session(other, session)
    kept = [opener.session_of(one) is session for one in (known, *others)]
    assert kept == [False, False, True, True]


async def test_a_server_waits_while_its_body_is_not_read() -> None:
    server_tls, client_tls = certified(NAME)
    endless = Answer((b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4000), Then.REPEAT)
    async with (
        wire(endless, tls=server_tls) as server,
        http_client(tls=client_tls) as client,
    ):
        response = await client.send(request_to(server, url=f"https://{NAME}:{server.port}/"))
        sent = -1
        while sent < server.sent < 20_000_000:
            sent = server.sent
            for _ in range(200):
                await asyncio.sleep(0)
        assert server.sent == sent
        async for _piece in response.body:
            if server.sent > sent:
                break
        await response.aclose()


@pytest.mark.parametrize(
    ("fault", "is_tls", "error"),
    [
        (FAULTS["closed at once"], False, Fault),  # in the handshake
        (Answer((), Then.GARBAGE), True, ssl.SSLError),  # after it
    ],
)
async def test_a_server_that_breaks_off_tls_is_an_error(
    fault: Answer, is_tls: bool, error: type[Exception]
) -> None:
    server_tls, client_tls = certified(NAME)
    async with (
        wire(fault, tls=server_tls if is_tls else None) as server,
        http_client(tls=client_tls) as client,
    ):
        with pytest.raises(error):
            await client.send(request_to(server, url=f"https://{NAME}:{server.port}/"))
        await server.until_left(1)
