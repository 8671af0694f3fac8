"""Logins at a server on loopback: what is sent, when, and to whom."""

import asyncio
import re
from collections.abc import Mapping

from minicrawl.config import Network, Politeness
from minicrawl.fetch.access import AccessByOrigin, Login, LoginTransport, OriginAccess
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.transport import ConnectTarget, TransportRequest, target
from minicrawl.model import Failed, FetchResult, Moved, Request, Response
from tests.fetch.wire import Answer, Wire, answer, wire

PAGE = answer(b"<html>in")
LOGIN = Login("user", "s3cret")


def refusal(challenge: str) -> Answer:
    headers = [f"WWW-Authenticate: {challenge}"] if challenge else []
    return answer(b"no", status="401 Unauthorized", headers=headers)


def asked(
    *answers: Answer, own: OriginAccess | None = None, pages: int = 1, path: str = "/"
) -> tuple[list[FetchResult], list[str]]:
    """What came of requests to a server whose origin has this, and what it heard."""

    async def talk() -> tuple[list[FetchResult], list[str]]:
        async with wire(*answers) as server:
            access = {} if own is None else {_origin(server): own}
            async with fetcher(access) as asker:
                got = [await asker.fetch(Request(url=server.url(path))) for _ in range(pages)]
            return got, [heard.decode() for heard in server.asked]

    return asyncio.run(talk())


def _origin(server: Wire):  # type: ignore[no-untyped-def]  # the key of a mapping below
    place = target(server.url())
    assert place
    return place.origin


def fetcher(access: AccessByOrigin) -> HttpFetcher:
    network, politeness = Network(timeout_s=60, allow_private=True), Politeness(delay_s=0)
    return HttpFetcher(network, politeness, logins=access)


def test_a_password_goes_over_plain_http_only_when_the_server_asks_for_it() -> None:
    got, heard = asked(refusal('Basic realm="r"'), PAGE, own=OriginAccess(login=LOGIN), pages=2)
    assert all(isinstance(one, Response) for one in got)
    assert ["Authorization: Basic" in request for request in heard] == [False, True, True]


def test_a_server_that_does_not_say_what_it_wants_gets_the_basic_kind() -> None:
    (got,), heard = asked(refusal(""), PAGE, own=OriginAccess(login=LOGIN))
    assert isinstance(got, Response)
    assert "Authorization: Basic" in heard[1]


def test_a_wrong_password_is_sent_once_a_page() -> None:
    got, heard = asked(refusal("Basic realm=r"), own=OriginAccess(login=LOGIN), pages=2)
    assert [one.status for one in got if isinstance(one, Failed)] == [401, 401]
    assert len(heard) == 3
    assert "s3cret" not in repr(got)


def test_a_digest_is_answered_and_its_nonce_used_again() -> None:
    challenge = 'Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256, Basic realm="r"'
    got, heard = asked(refusal(challenge), PAGE, own=OriginAccess(login=LOGIN), pages=3)
    assert all(isinstance(one, Response) for one in got)
    assert "Basic" not in "".join(heard)
    assert "s3cret" not in "".join(heard)
    assert [re.findall(r"nc=(\w+)", one) for one in heard] == [
        [],
        ["00000001"],
        ["00000002"],
        ["00000003"],
    ]


def test_a_nonce_that_has_run_out_is_replaced() -> None:
    new, old = refusal("Digest realm=r, nonce=n2"), refusal("Digest realm=r, nonce=n1")
    got, heard = asked(old, PAGE, new, PAGE, own=OriginAccess(login=LOGIN), pages=2)
    assert all(isinstance(one, Response) for one in got)
    assert 'nonce="n2"' in heard[3]


def test_a_digest_that_is_refused_is_not_tried_again() -> None:
    answers = (refusal("Digest realm=r, nonce=n1"), refusal("Digest realm=r, nonce=n2"))
    got, heard = asked(*answers, own=OriginAccess(login=LOGIN))
    assert isinstance(got[0], Failed)
    assert len(heard) == 2


def test_a_scheme_that_nobody_knows_is_not_answered() -> None:
    got, heard = asked(refusal("Negotiate"), own=OriginAccess(login=LOGIN))
    assert isinstance(got[0], Failed)
    assert len(heard) == 1


def test_an_anonymous_request_has_nothing_of_the_user() -> None:
    own = OriginAccess(headers=((b"X-Key", b"s3cret"),), login=Login(token="s3cret"))

    async def talk() -> list[bytes]:
        async with wire(PAGE) as server, fetcher({_origin(server): own}) as asker:
            for is_anonymous in (False, True):
                await asker.fetch(Request(url=server.url(), is_anonymous=is_anonymous))
            return list(server.asked)

    assert [b"s3cret" in heard for heard in asyncio.run(talk())] == [True, False]


def test_a_token_and_headers_of_a_host_go_with_its_requests() -> None:
    own = OriginAccess(headers=((b"X-A", b"b"), (b"accept", b"x/y")), login=Login(token="t0ken"))
    (got,), heard = asked(PAGE, own=own)
    assert isinstance(got, Response)
    assert "Authorization: Bearer t0ken" in heard[0]
    assert "X-A: b" in heard[0]
    assert len(re.findall(r"(?i)^accept:", heard[0], re.MULTILINE)) == 1
    (got,), heard = asked(refusal("Basic realm=r"), own=own)
    assert isinstance(got, Failed)
    assert len(heard) == 1


def test_another_origin_gets_nothing_redirects_included() -> None:
    async def talk() -> None:
        async with wire(PAGE) as other:
            moved = answer(status="302 Found", headers=[f"Location: {other.url()}"])
            async with wire(moved) as server:
                own = OriginAccess(headers=((b"X-A", b"b"),), login=Login(token="t0ken"))
                async with fetcher({_origin(server): own}) as asker:
                    got = await asker.fetch(Request(url=server.url()))
                    assert isinstance(got, Moved)
                    assert isinstance(await asker.fetch(Request(url=got.target)), Response)
                assert b"t0ken" in server.asked[0]
                assert b"t0ken" not in other.asked[0]
                assert b"X-A" not in other.asked[0]

    asyncio.run(talk())


class Heard:
    """A transport that answers with a status, and keeps what it was asked."""

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
        """Nothing is open."""


def test_over_tls_the_basic_kind_goes_with_the_first_request() -> None:
    place = target("https://a.example/")
    assert place
    transport = Heard()
    logins = LoginTransport(transport, {place.origin: OriginAccess(login=LOGIN)}, 0.0)
    asyncio.run(logins.send(TransportRequest(place, (ConnectTarget("192.0.2.1", 443),), [])))
    assert [name for name, _ in transport.asked[0].headers] == [b"Authorization"]
