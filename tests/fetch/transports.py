"""The ways by which a request may be sent, for tests of what all of them promise."""

import ssl
from collections.abc import Callable, Sequence

import pytest

from minicrawl.fetch.by_httpx.client import HttpxClient
from minicrawl.fetch.by_httpx.dialing import DirectDialer
from minicrawl.fetch.connection.client import HttpClient
from minicrawl.fetch.connection.dialing import Connector
from minicrawl.fetch.transport import Transport

OWN, BY_HTTPX = "own", "by httpx"


def httpx_client(  # noqa: PLR0913  # the arguments of our own client
    *,
    tls: Callable[[str], ssl.SSLContext],
    connections: int,
    kept: int,
    keep_s: float,
    timeout_s: float,
    max_head_bytes: int,
    pause_s: float = 0.0,
    bind: Sequence[str] = (),
) -> HttpxClient:
    """What takes the arguments of our own client, and asks the same servers by httpx."""
    return HttpxClient(
        DirectDialer(Connector(timeout_s, bind), tls),
        connections=connections,
        kept=kept,
        keep_s=keep_s,
        max_head_bytes=max_head_bytes,
        pause_s=pause_s,
    )


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
