"""Logins with a server on loopback: what is sent, when, and to whom."""

import asyncio
import re
from dataclasses import replace

import pytest

from minicrawl.config import Politeness
from minicrawl.fetch.access.logins import Login, OriginAccess
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.http.targets import target
from minicrawl.model import Failed, FetchResult, Moved, Request, Response
from tests.fetch.results import LOCAL, ask, http_fetcher, page_of
from tests.fetch.wire import Answer, Wire, answer, certified, wire

PAGE = answer(b"<html>in")
LOGIN = Login("user", "s3cret")


def refusal(challenge: str) -> Answer:
    headers = [f"WWW-Authenticate: {challenge}"] if challenge else []
    return answer(b"no", status="401 Unauthorized", headers=headers)


def fetch(
    *answers: Answer, own: OriginAccess | None = None, pages: int = 1
) -> tuple[list[FetchResult], list[str]]:
    """Return the results, and the requests that the server got."""

    async def fetch_all() -> tuple[list[FetchResult], list[str]]:
        async with (
            wire(*answers) as server,
            fetcher_for(server, own or OriginAccess(login=LOGIN)) as fetcher,
        ):
            found = [await fetcher.fetch(Request(url=server.url())) for _ in range(pages)]
            return found, [request.decode() for request in server.asked]

    return asyncio.run(fetch_all())


def fetcher_for(server: Wire, own: OriginAccess) -> HttpFetcher:
    place = target(server.url())
    assert place
    return http_fetcher(politeness=Politeness(delay_s=0), logins={place.origin: own})


@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        # a password goes over plain HTTP only when the server asks for it, or names no scheme
        ([refusal('Basic realm="r"'), PAGE, PAGE], ["", "Basic", "Basic"]),
        ([refusal(""), PAGE, PAGE], ["", "Basic", "Basic"]),
        # a wrong password is sent once per page
        ([refusal("Basic realm=r")], ["", "Basic", "Basic"]),
        # an expired nonce is replaced
        (
            [refusal("Digest realm=r, nonce=n1"), PAGE, refusal("Digest realm=r, nonce=n2"), PAGE],
            ["", "n1", "n1", "n2"],
        ),
        # an unknown scheme is not answered
        ([refusal("Negotiate")], ["", ""]),
    ],
)
def test_a_login_is_sent_when_the_server_asks_for_it(
    answers: list[Answer], sent: list[str]
) -> None:
    found, heard = fetch(*answers, pages=2)
    logins = [re.findall(r'Authorization: (?:Digest .*nonce="(\w+)"|(\w+))', it) for it in heard]
    assert ["".join(*login) if login else "" for login in logins] == sent
    is_answered = answers[-1] is PAGE
    assert all(isinstance(one, Response) == is_answered for one in found)
    assert is_answered or [one.status for one in found if isinstance(one, Failed)] == [401, 401]
    assert "s3cret" not in repr(found)


def test_a_digest_is_answered_and_its_nonce_used_again() -> None:
    challenge = 'Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256, Basic realm="r"'
    found, heard = fetch(refusal(challenge), PAGE, pages=3)
    assert all(isinstance(one, Response) for one in found)
    assert not {"Basic", "s3cret"} & set(re.split(r"\W", "".join(heard)))
    counts = [re.findall(r"nc=(\w+)", one) for one in heard]
    assert counts == [[], ["00000001"], ["00000002"], ["00000003"]]


def test_a_digest_that_is_refused_is_not_tried_again() -> None:
    (failed,), heard = fetch(
        refusal("Digest realm=r, nonce=n1"), refusal("Digest realm=r, nonce=n2")
    )
    assert isinstance(failed, Failed)
    assert len(heard) == 2


async def test_an_anonymous_request_carries_no_secret() -> None:
    own = OriginAccess(headers=((b"X-Key", b"s3cret"),), login=Login(token="s3cret"))
    async with wire(PAGE) as server, fetcher_for(server, own) as fetcher:
        for is_anonymous in (False, True):
            await fetcher.fetch(Request(url=server.url(), is_anonymous=is_anonymous))
    assert [b"s3cret" in request for request in server.asked] == [True, False]


@pytest.mark.parametrize("said", [PAGE, refusal("Basic realm=r")])
def test_a_token_and_headers_of_a_host_go_with_its_requests(said: Answer) -> None:
    own = OriginAccess(headers=((b"X-A", b"b"), (b"accept", b"x/y")), login=Login(token="t0ken"))
    (found,), (heard,) = fetch(said, own=own)
    assert isinstance(found, Response) == (said is PAGE)
    assert "Authorization: Bearer t0ken" in heard
    assert "X-A: b" in heard
    assert len(re.findall(r"(?i)^accept:", heard, re.MULTILINE)) == 1


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


async def test_over_tls_a_password_goes_with_the_first_request() -> None:
    server_tls, client_tls = certified("a.example")
    place = target("https://a.example/")
    assert place
    async with wire(PAGE, tls=server_tls) as server:
        network = replace(LOCAL, resolve=(f"a.example=127.0.0.1:{server.port}",))
        logins = {place.origin: OriginAccess(login=LOGIN)}
        page_of(await ask(place.url, network, tls=client_tls, logins=logins))
    assert b"Authorization: Basic" in server.asked[0]
