import asyncio
import ssl

import aiohttp
import httpx
import pytest

from minicrawl.fetch.failures import EXPECTED, Fault, failure
from minicrawl.model import FailureKind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Fault(FailureKind.PROTOCOL, "bad"), FailureKind.PROTOCOL),
        (ssl.SSLError("bad"), FailureKind.TLS),
        (ConnectionResetError("bad"), FailureKind.RESET),
        (aiohttp.ServerDisconnectedError("bad"), FailureKind.RESET),
        (aiohttp.ClientPayloadError("bad"), FailureKind.RESET),
        (aiohttp.InvalidURL("http://"), FailureKind.PROTOCOL),
        (httpx.ConnectTimeout("bad"), FailureKind.TIMEOUT),
        (httpx.ConnectError("bad"), FailureKind.CONNECT),
        (httpx.ReadError("bad"), FailureKind.RESET),
        (httpx.RemoteProtocolError("bad"), FailureKind.PROTOCOL),
        (httpx.InvalidURL("bad"), FailureKind.PROTOCOL),
    ],
)
def test_every_expected_exception_has_a_kind(error: Exception, kind: FailureKind) -> None:
    assert isinstance(error, EXPECTED)
    assert failure(error).kind is kind


def test_mistakes_of_our_own_and_cancellations_are_not_expected() -> None:
    for error in (TypeError(), ValueError(), AssertionError(), asyncio.CancelledError()):
        assert not isinstance(error, EXPECTED)


def test_the_innermost_cause_is_told_in_one_short_line() -> None:
    error = aiohttp.ClientPayloadError("outer")
    error.__cause__ = OSError("first line\n  second line " + "x" * 300)
    detail = failure(error).detail
    assert detail.startswith("first line second line xxx")
    assert len(detail) == 200
