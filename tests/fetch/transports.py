"""The ways by which a request may be sent, for tests of what all of them promise."""

import ssl
from collections.abc import Callable, Sequence

import pytest

from minicrawl.fetch.by_httpx import DirectDialer, HttpxClient
from minicrawl.fetch.connection import Connector, HttpClient, Pace
from minicrawl.fetch.transport import Transport

OWN, BY_HTTPX = "own", "by httpx"


def httpx_client(
    pace: Pace,
    *,
    tls: Callable[[str], ssl.SSLContext],
    timeout_s: float,
    max_head_bytes: int,
    bind: Sequence[str] = (),
) -> HttpxClient:
    """What takes the arguments of our own client, and asks the same servers by httpx."""
    dialer = DirectDialer(Connector(timeout_s, bind), tls)
    return HttpxClient(dialer, pace, max_head_bytes=max_head_bytes)


CLIENTS: dict[str, Callable[..., Transport]] = {OWN: HttpClient, BY_HTTPX: httpx_client}


def both_transports(*places: str) -> Callable[..., str]:
    """A fixture that runs each test of a module by each transport; `places` name the client."""

    @pytest.fixture(params=CLIENTS, autouse=True)
    def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        name = str(request.param)
        for place in places:
            monkeypatch.setattr(place, CLIENTS[name])
        return name

    return transport
