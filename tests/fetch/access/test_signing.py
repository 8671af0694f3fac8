"""Signed requests: vectors of RFC 9421 and Web Bot Auth, and verification by a server."""

import asyncio
import base64
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from minicrawl.config import Access, Politeness
from minicrawl.errors import UsageError
from minicrawl.fetch.access.logins import Login, OriginAccess
from minicrawl.fetch.access.signing import (
    VALID_S,
    RequestSigner,
    SigningKey,
    key_directory,
    signature_base,
)
from minicrawl.fetch.http.targets import target
from minicrawl.model import FetchResult, Request
from tests.fetch.results import http_fetcher, page_of
from tests.fetch.wire import Answer, answer, wire

PEM = """\
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
"""test-key-ed25519 of RFC 9421, B.1.4."""
KEY_ID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
CONTACT = "https://bot.example/about?us"
PAGE = answer(b"<html>in")
CHALLENGE = (
    'Accept-Signature: other=("@method");tag="other", own.1=("@authority" '
    '"signature-agent");created;expires;alg="ed25519";nonce="a+b; c";tag="web-bot-auth"'
)
_SIGNED = re.compile(
    r'([\w.]+)=(\("@authority" "signature-agent";key="\1"\);created=(\d+);keyid="([\w-]+)"'
    r';alg="ed25519";expires=(\d+);nonce="([^"]+)";tag="web-bot-auth")'
)


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    file = tmp_path / "bot.pem"
    file.write_text(PEM, encoding="ascii")
    return file


def signed(pem: Path, components: Mapping[str, str], parameters: str) -> str:
    _, text = signature_base(components, parameters)
    return base64.b64encode(SigningKey.read(pem).sign(text)).decode()


def test_the_vector_of_rfc_9421_b_2_6(pem: Path) -> None:
    components = {
        '"date"': "Tue, 20 Apr 2021 02:07:55 GMT",
        '"@method"': "POST",
        '"@path"': "/foo",
        '"@authority"': "example.com",
        '"content-type"': "application/json",
        '"content-length"': "18",
    }
    parameters = ';created=1618884473;keyid="test-key-ed25519"'
    covered, _ = signature_base(components, parameters)
    assert covered == f"({' '.join(components)}){parameters}"
    assert signed(pem, components, parameters) == (
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    )


@pytest.mark.parametrize(
    ("agent", "nonce", "signature"),
    [
        (
            "",
            "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==",
            "QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==",
        ),
        (
            '"signature-agent";key="agent2"',
            "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==",
            "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
        ),
    ],
)
def test_the_examples_of_web_bot_auth(pem: Path, agent: str, nonce: str, signature: str) -> None:
    components = {'"@authority"': "example.com"}
    if agent:
        components[agent] = '"https://signature-agent.test"'
    parameters = (
        f';created=1735689600;keyid="{KEY_ID}";alg="ed25519";expires=4889289600'
        f';nonce="{nonce}";tag="web-bot-auth"'
    )
    assert signed(pem, components, parameters) == signature


def test_the_directory_has_the_public_key_of_the_example(pem: Path) -> None:
    assert SigningKey.read(pem).jwk == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
        "kid": KEY_ID,
        "use": "sig",
    }


def test_a_new_key_is_read_again_and_only_by_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "new.pem"
    key = SigningKey.create(file)
    assert SigningKey.read(file).jwk == key.jwk
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(UsageError, match=r"new\.pem: File exists"):
        SigningKey.create(file)


def pem_of(private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey, password: str) -> bytes:
    sealed = serialization.BestAvailableEncryption(password.encode()) if password else None
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        sealed or serialization.NoEncryption(),
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        pem_of(ec.generate_private_key(ec.SECP256R1()), ""),
        pem_of(ed25519.Ed25519PrivateKey.generate(), "secret"),
    ],
    ids=["empty", "no PEM", "another curve", "with a password"],
)
def test_a_file_without_a_key_is_refused(pem: Path, content: bytes) -> None:
    pem.write_bytes(content)
    with pytest.raises(UsageError, match=r"bot.pem: not a private Ed25519 key"):
        SigningKey.read(pem)


def test_without_the_package_the_extra_is_named(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("exceptions", "hazmat.primitives"):
        monkeypatch.setitem(sys.modules, f"cryptography.{name}", None)
    for make in (SigningKey.read, SigningKey.create):
        with pytest.raises(UsageError, match=r"minicrawl\[signing\]"):
            make(pem)


def test_the_directory_is_on_the_server_of_the_contact() -> None:
    well_known = "/.well-known/http-message-signatures-directory"
    assert key_directory(CONTACT) == f"https://bot.example{well_known}"
    assert key_directory("https://Bot.example:8443") == f"https://bot.example:8443{well_known}"
    for contact in (None, "me@bot.example", "http://bot.example/"):
        with pytest.raises(UsageError, match="--contact with an https URL"):
            key_directory(contact)


def verify(sent: Mapping[str, str], authority: str) -> tuple[int, int, str]:
    """Verify a request as a server does. Return when it was signed, until when, and the nonce."""
    found = _SIGNED.fullmatch(sent["signature-input"])
    assert found, sent["signature-input"]
    label, covered, created, key_id, expires, nonce = found.groups()
    assert key_id == KEY_ID
    assert sent["signature-agent"] == f'{label}="https://bot.example"'
    text = (
        f'"@authority": {authority}\n"signature-agent";key="{label}": "https://bot.example"\n'
        f'"@signature-params": {covered}'
    )
    public = ed25519.Ed25519PublicKey.from_public_bytes(
        base64.urlsafe_b64decode("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs=")
    )
    signature = sent["signature"].removeprefix(f"{label}=:").removesuffix(":")
    public.verify(base64.b64decode(signature, validate=True), text.encode())
    return int(created), int(expires), nonce


def heads(request: bytes) -> dict[str, str]:
    lines = request.decode().split("\r\n")[1:-2]
    assert len({line.partition(":")[0].lower() for line in lines}) == len(lines)
    return {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in lines}


def test_a_signature_holds_for_five_minutes_and_no_two_are_the_same(pem: Path) -> None:
    signer = RequestSigner(SigningKey.read(pem), key_directory(CONTACT))
    found = [signer.headers("a.example:81", 1735689600.9) for _ in range(2)]
    as_sent = [{name.decode().lower(): value.decode() for name, value in one} for one in found]
    (first, until, nonce), (_, _, other) = (verify(one, "a.example:81") for one in as_sent)
    assert (first, until) == (1735689600, 1735689600 + VALID_S)
    assert nonce != other


def fetched(
    pem: Path,
    *answers: Answer,
    own: OriginAccess | None = None,
    fetches: int = 1,
    only_asked: bool = False,
    **fields: Any,
) -> tuple[FetchResult, list[bytes], str]:
    """Return the last result, the requests, and the name of the server."""

    async def fetch() -> tuple[FetchResult, list[bytes], str]:
        async with wire(*answers) as server:
            place = target(server.url())
            assert place
            fetcher = http_fetcher(
                politeness=Politeness(delay_s=0, contact=CONTACT),
                access=Access(sign_requests=f"asked={pem}" if only_asked else pem),
                logins={place.origin: own} if own else {},
            )
            async with fetcher:
                for _ in range(fetches):
                    found = await fetcher.fetch(Request(url=server.url(), **fields))
            return found, server.asked, place.origin.name

    return asyncio.run(fetch())


def test_a_server_verifies_a_request_and_the_archive_gets_it_as_it_was_sent(pem: Path) -> None:
    found, (heard,), name = fetched(pem, PAGE)
    verify(heads(heard), name)
    assert (wire := page_of(found).wire)
    assert wire.request == heard


def test_a_request_that_is_repeated_with_a_login_is_signed_anew(pem: Path) -> None:
    refusal = answer(
        status="401 Unauthorized", headers=['WWW-Authenticate: Digest realm="r", nonce="n"']
    )
    login = OriginAccess(login=Login("user", "s3cret"))
    _, heard, name = fetched(pem, refusal, PAGE, own=login)
    nonces = [verify(heads(request), name)[2] for request in heard]
    assert len(set(nonces)) == 2
    assert b"Authorization: Digest" in heard[1]


def test_a_page_cannot_set_the_headers_of_a_signature(pem: Path) -> None:
    names = ("signature", "signature-input", "signature-agent")
    forged = tuple((name, "sig1=forged") for name in names)
    _, (heard,), name = fetched(pem, PAGE, headers=forged)
    verify(heads(heard), name)
    assert b"forged" not in heard
    _, (heard,), _ = fetched(pem, PAGE, headers=forged, only_asked=True)
    assert b"forged" not in heard


def refusal(challenge: str = CHALLENGE, status: str = "403 Forbidden") -> Answer:
    return answer(b"<html>who?", status=status, headers=["Content-Type: text/html", challenge])


def test_a_signature_has_the_label_and_the_nonce_that_the_server_asks_for(pem: Path) -> None:
    found, (refused, heard), name = fetched(pem, refusal(), PAGE)
    page_of(found)
    verify(heads(refused), name)
    assert verify(heads(heard), name)[2] == "a+b; c"
    assert heads(heard)["signature"].startswith("own.1=:")


@pytest.mark.parametrize(
    "refused",
    [
        refusal(CHALLENGE.replace(';nonce="a+b; c"', "")),
        refusal(CHALLENGE.replace("web-bot-auth", "other")),
        refusal(CHALLENGE.replace("ed25519", "rsa-pss-sha512")),
        refusal(CHALLENGE.replace(";created", f';keyid="{KEY_ID.lower()}"')),
        refusal(CHALLENGE.replace('("@authority"', '("@authority" "@method"')),
        refusal('Accept-Signature: sig1=("@authority";nonce="n";tag="web-bot-auth"'),
        refusal(status="429 Too Many Requests"),
        refusal(status="404 Not Found"),
    ],
    ids=["nonce", "tag", "algorithm", "key", "components", "nonsense", "busy", "missing"],
)
def test_a_request_is_not_repeated_for_what_it_had_or_what_cannot_be_met(
    pem: Path, refused: Answer
) -> None:
    _, heard, _ = fetched(pem, refused, PAGE)
    assert len(heard) == 1


def test_a_host_that_refuses_an_answer_gets_no_other(pem: Path) -> None:
    _, heard, _ = fetched(pem, refusal(), fetches=3)
    assert [b"own.1" in request for request in heard] == [False, True, False, False]


def test_a_host_may_ask_for_a_new_nonce_each_time(pem: Path) -> None:
    again = refusal(CHALLENGE.replace("a+b; c", "d"))
    _, heard, _ = fetched(pem, refusal(), PAGE, again, PAGE, fetches=2)
    assert len(heard) == 4
    assert b';nonce="d";' in heard[3]


ASKS = 'Accept-Signature: sig1=("@authority");tag="web-bot-auth"'


@pytest.mark.parametrize(
    ("answers", "signed"),
    [
        ([PAGE], [False, False, False]),
        ([refusal(ASKS.replace("web-bot-auth", "other")), PAGE], [False, False, False]),
        ([refusal(ASKS, "200 OK"), PAGE], [False, True, True]),
        ([refusal(ASKS), PAGE], [False, True, True, True]),
        ([refusal(CHALLENGE, "429 Too Many Requests"), PAGE], [False, True, True]),
        # a host that still refuses is not asked twice again
        ([refusal(ASKS)], [False, True, True, True]),
    ],
    ids=["silent", "another tag", "a page", "a refusal", "busy", "still a refusal"],
)
def test_a_host_that_asks_gets_signatures_from_then_on(
    pem: Path, answers: list[Answer], signed: list[bool]
) -> None:
    _, heard, name = fetched(pem, *answers, fetches=3, only_asked=True)
    assert [b"Signature-Input: " in request for request in heard] == signed
    if signed[-1]:
        verify(heads(heard[-1]), name)


@pytest.mark.parametrize("only_asked", [False, True])
def test_the_next_request_has_the_nonce_that_a_busy_server_asks_for(
    pem: Path, only_asked: bool
) -> None:
    busy = refusal(status="429 Too Many Requests")
    _, heard, _ = fetched(pem, busy, PAGE, fetches=3, only_asked=only_asked)
    assert [b';nonce="a+b; c";' in request for request in heard] == [False, True, False]
