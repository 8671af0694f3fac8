"""Logins with a server on loopback: what is sent, when, and to whom."""

import asyncio
import re
from collections.abc import Mapping

from minicrawl.config import Network, Politeness
from minicrawl.fetch.access import Login, LoginTransport, OriginAccess
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.http import ConnectTarget, TransportRequest, target
from minicrawl.model import Failed, FetchResult, Moved, Request, Response
from tests.fetch.wire import Answer, Wire, answer, wire

PAGE = answer(b"<html>in")
LOGIN = Login("user", "s3cret")


def refusal(challenge: str) -> Answer:
    headers = [f"WWW-Authenticate: {challenge}"] if challenge else []
    return answer(b"no", status="401 Unauthorized", headers=headers)


def fetch(
    *answers: Answer, own: OriginAccess, pages: int = 1
) -> tuple[list[FetchResult], list[str]]:
    async def fetch_all() -> tuple[list[FetchResult], list[str]]:
        async with wire(*answers) as server, fetcher_for(server, own) as fetcher:
            found = [await fetcher.fetch(Request(url=server.url())) for _ in range(pages)]
            return found, [request.decode() for request in server.asked]

    return asyncio.run(fetch_all())


def fetcher_for(server: Wire, own: OriginAccess) -> HttpFetcher:
    place = target(server.url())
    assert place
    network, politeness = Network(timeout_s=60, allow_private=True), Politeness(delay_s=0)
    return HttpFetcher(network, politeness, logins={place.origin: own})


def test_a_password_goes_over_plain_http_only_when_the_server_asks_for_it() -> None:
    got, heard = fetch(refusal('Basic realm="r"'), PAGE, own=OriginAccess(login=LOGIN), pages=2)
    assert all(isinstance(one, Response) for one in got)
    assert ["Authorization: Basic" in request for request in heard] == [False, True, True]


def test_a_401_without_a_challenge_is_answered_with_basic() -> None:
    (got,), heard = fetch(refusal(""), PAGE, own=OriginAccess(login=LOGIN))
    assert isinstance(got, Response)
    assert "Authorization: Basic" in heard[1]


def test_a_wrong_password_is_sent_once_per_page() -> None:
    got, heard = fetch(refusal("Basic realm=r"), own=OriginAccess(login=LOGIN), pages=2)
    assert [one.status for one in got if isinstance(one, Failed)] == [401, 401]
    assert ["Authorization" in request for request in heard] == [False, True, True]
    assert "s3cret" not in repr(got)


def test_a_digest_is_answered_and_its_nonce_used_again() -> None:
    challenge = 'Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256, Basic realm="r"'
    got, heard = fetch(refusal(challenge), PAGE, own=OriginAccess(login=LOGIN), pages=3)
    assert all(isinstance(one, Response) for one in got)
    assert "Basic" not in "".join(heard)
    assert "s3cret" not in "".join(heard)
    counts = [re.findall(r"nc=(\w+)", one) for one in heard]
    assert counts == [[], ["00000001"], ["00000002"], ["00000003"]]


def test_an_expired_nonce_is_replaced() -> None:
    new, old = refusal("Digest realm=r, nonce=n2"), refusal("Digest realm=r, nonce=n1")
    got, heard = fetch(old, PAGE, new, PAGE, own=OriginAccess(login=LOGIN), pages=2)
    assert all(isinstance(one, Response) for one in got)
    assert 'nonce="n2"' in heard[3]


def test_a_digest_that_is_refused_is_not_tried_again() -> None:
    answers = (refusal("Digest realm=r, nonce=n1"), refusal("Digest realm=r, nonce=n2"))
    got, heard = fetch(*answers, own=OriginAccess(login=LOGIN))
    assert isinstance(got[0], Failed)
    assert len(heard) == 2


def test_an_unknown_scheme_is_not_answered() -> None:
    got, heard = fetch(refusal("Negotiate"), own=OriginAccess(login=LOGIN))
    assert isinstance(got[0], Failed)
    assert len(heard) == 1


async def test_an_anonymous_request_carries_no_secret() -> None:
    own = OriginAccess(headers=((b"X-Key", b"s3cret"),), login=Login(token="s3cret"))
    async with wire(PAGE) as server, fetcher_for(server, own) as fetcher:
        for is_anonymous in (False, True):
            await fetcher.fetch(Request(url=server.url(), is_anonymous=is_anonymous))
    assert [b"s3cret" in request for request in server.asked] == [True, False]


def test_a_token_and_headers_of_a_host_go_with_its_requests() -> None:
    own = OriginAccess(headers=((b"X-A", b"b"), (b"accept", b"x/y")), login=Login(token="t0ken"))
    (got,), heard = fetch(PAGE, own=own)
    assert isinstance(got, Response)
    assert "Authorization: Bearer t0ken" in heard[0]
    assert "X-A: b" in heard[0]
    assert len(re.findall(r"(?i)^accept:", heard[0], re.MULTILINE)) == 1
    (got,), heard = fetch(refusal("Basic realm=r"), own=own)
    assert isinstance(got, Failed)
    assert len(heard) == 1


async def test_the_target_of_a_redirect_to_another_origin_gets_no_secret() -> None:
    own = OriginAccess(headers=((b"X-A", b"b"),), login=Login(token="t0ken"))
    async with wire(PAGE) as other:
        moved = answer(status="302 Found", headers=[f"Location: {other.url()}"])
        async with wire(moved) as server, fetcher_for(server, own) as fetcher:
            found = await fetcher.fetch(Request(url=server.url()))
            assert isinstance(found, Moved)
            assert isinstance(await fetcher.fetch(Request(url=found.target)), Response)
    assert b"t0ken" in server.asked[0]
    assert b"t0ken" not in other.asked[0]
    assert b"X-A" not in other.asked[0]


class RecordingTransport:
    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.asked: list[TransportRequest] = []

    async def send(self, request: TransportRequest):  # type: ignore[no-untyped-def]  # itself
        self.asked.append(request)
        return self

    def take_whole(self) -> bytes:
        return b""

    async def aclose(self) -> None:
        pass


async def test_over_tls_a_password_goes_with_the_first_request() -> None:
    place = target("https://a.example/")
    assert place
    transport = RecordingTransport()
    logins = LoginTransport(transport, {place.origin: OriginAccess(login=LOGIN)}, 0.0)
    await logins.send(TransportRequest(place, (ConnectTarget("192.0.2.1", 443),), []))
    assert [name for name, _ in transport.asked[0].headers] == [b"Authorization"]
