"""Challenges as in RFC 9110, and digests as in RFC 7616 and in httpx."""

from unittest.mock import patch

import httpx
import pytest
from hypothesis import given, strategies as st

from minicrawl.fetch.access.logins import Digest, basic, challenges
from tests.linear_time import expect_linear_reading

RFC_7616 = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", '
    'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"


def digest(header: str) -> Digest:
    found = Digest.best_of(challenges(header))
    assert found
    return found


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_digests_are_those_of_the_examples_in_rfc_7616(algorithm: str, response: str) -> None:
    found = digest(RFC_7616.format(algorithm))
    sent = found.answer("Mufasa", "Circle of Life", "GET", "/dir/index.html", 1, CNONCE)
    assert f'response="{response}"'.encode() in sent
    assert b"nc=00000001" in sent
    assert b'opaque="FQhe/' in sent


@pytest.mark.parametrize("algorithm", ["MD5", "MD5-SESS", "SHA-256", "SHA-256-sess", ""])
@pytest.mark.parametrize("qop", ["auth", ""])
def test_digests_are_those_of_httpx(algorithm: str, qop: str) -> None:
    header = f'Digest realm="a b", nonce="n0nce", algorithm={algorithm or "MD5"}'
    header += f', qop="{qop}"' if qop else ""
    auth = httpx.DigestAuth("user", "pass: word")
    request = httpx.Request("GET", "http://a.example/b?c=d")
    with patch.object(auth, "_get_client_nonce", return_value=b"abc"):
        flow = auth.auth_flow(request)
        next(flow)
        answer = httpx.Response(401, headers={"www-authenticate": header}, request=request)
        theirs = flow.send(answer).headers["authorization"]
    ours = digest(header).answer("user", "pass: word", "GET", "/b?c=d", 1, "abc").decode()
    response = next(part for part in theirs.split(", ") if part.startswith("response="))
    assert response in ours


def test_several_challenges_in_one_header_are_separated() -> None:
    header = 'Basic realm="a, \\"b\\"", Bearer, Digest realm=c, nonce="x=1,y", Negotiate abc=='
    assert challenges(header) == [
        ("basic", {"realm": 'a, "b"'}),
        ("bearer", {}),
        ("digest", {"realm": "c", "nonce": "x=1,y"}),
        ("negotiate", {}),
    ]


def test_the_strongest_digest_is_answered_and_a_stale_nonce_noticed() -> None:
    both = f"{RFC_7616.format('MD5')}, {RFC_7616.format('SHA-256')}"
    assert digest(both).algorithm == "SHA-256"
    assert digest(f"{both}, {RFC_7616.format('SHA-512-256')}").base == "sha-512-256"
    assert digest("Digest nonce=a, stale=TRUE").is_stale
    assert not digest("Digest nonce=a").is_stale


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic realm=a",
        'Digest realm="a"',
        'Digest realm="a", nonce=b, algorithm=MD6',
        'Digest realm="a", nonce=b, qop="auth-int"',
        "realm=alone",
    ],
)
def test_a_challenge_that_cannot_be_answered_is_no_digest(header: str) -> None:
    assert Digest.best_of(challenges(header)) is None


def test_basic_authentication_is_in_utf_8() -> None:
    assert basic("Aladdin", "open sesame") == b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    assert basic("test", "123£") == b"Basic dGVzdDoxMjPCow=="


@given(st.text())
def test_no_header_raises_an_exception(header: str) -> None:
    for scheme, _ in challenges(header):
        assert scheme == scheme.lower()


@pytest.mark.parametrize("piece", ["a=", 'a="', "\\", ",", "a ", "a b==", '"', "="])
def test_reading_a_challenge_takes_linear_time(piece: str) -> None:
    expect_linear_reading(challenges, piece, 2000, "Digest ")
