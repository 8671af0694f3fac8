"""Web Bot Auth: signs requests, so that a server can tell this crawler from impostors.

A profile of HTTP message signatures (RFC 9421, draft-ietf-webbotauth-httpsig-protocol). A request
to https://shop.example has three more headers:

    Signature-Agent: sig1="https://bot.example"
    Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=1735689600;
        keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735689900;
        nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQ=";tag="web-bot-auth"
    Signature: sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMM...:

The server fetches the key with this ID from the key directory below Signature-Agent, and verifies
the signature of this text, whose last line repeats Signature-Input:

    "@authority": shop.example
    "signature-agent";key="sig1": "https://bot.example"
    "@signature-params": ("@authority" "signature-agent";key="sig1");created=1735689600;...

key ID         thumbprint of the public key (RFC 7638, RFC 8037)
key directory  public keys as JSON, at a well-known path of the contact's server
nonce          random number that makes each signature unique

Laws: a signature holds for one host and five minutes. Every request is signed, so
`Accept-Signature` headers need no reaction. Headers that a page's script sets never replace these
three.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

import ada_url

from minicrawl.errors import UsageError
from minicrawl.fetch.transport import SIGNATURES, ResponseStream, Transport, TransportRequest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
VALID_S = 300
"""Lifetime of a signature: clocks may be minutes apart, but a stolen one should expire soon."""
_NONCE_BYTES = 32
_LABEL = "sig1"
_MISSING = "signatures need the package cryptography: install minicrawl[signing]"


# ---------------------------------------------------------------- keys


class SigningKey:
    """Ed25519 key pair of the crawler.

    `id` is its key ID, `jwk` its public part for the key directory.
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self.sign = private.sign
        x = _base64url(private.public_key().public_bytes_raw())
        required = {"crv": "Ed25519", "kty": "OKP", "x": x}
        # A thumbprint is the hash of the required members, in this order and without blanks.
        written = json.dumps(required, separators=(",", ":")).encode()
        self.id = _base64url(hashlib.sha256(written).digest())
        self.jwk = {**required, "kid": self.id, "use": "sig"}

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a key from a PEM file, as `create` or openssl writes it."""
        _check_installed()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            private = load_pem_private_key(file.read_bytes(), password=None)
        except OSError as error:
            raise UsageError(f"--sign-requests {file}: {error.strerror}") from None
        except (TypeError, ValueError, UnsupportedAlgorithm):  # TypeError: it has a password
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise UsageError(
                f"--sign-requests {file}: not a private Ed25519 key in PEM without a password: "
                "`minicrawl about --new-key FILE` makes one"
            )
        return cls(private)

    @classmethod
    def create(cls, file: Path) -> Self:
        """Write a new key to a new file, which only its owner can read."""
        _check_installed()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise UsageError(f"--new-key {file}: {error.strerror}") from None
        with os.fdopen(descriptor, "wb") as written:
            written.write(pem)
        return cls(private)


def key_directory(contact: str | None) -> str:
    """Return the URL of the key directory: on the server of the contact, which must be https."""
    if contact is None or not contact.startswith("https://"):
        raise UsageError(
            "--sign-requests needs --contact with an https URL, whose server has the key directory"
        )
    return ada_url.URL(contact).origin + DIRECTORY_PATH


def _check_installed() -> None:
    if find_spec("cryptography") is None:
        raise UsageError(_MISSING)


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


# ---------------------------------------------------------------- signatures


def signature_base(components: Mapping[str, str], parameters: str) -> tuple[str, bytes]:
    """Return the signature's parameters as Signature-Input has them, and the text to sign.

    `components` are the values that the signature covers, by identifier (RFC 9421, 2.5).
    """
    covered = f"({' '.join(components)}){parameters}"
    lines = (f"{name}: {value}\n" for name, value in components.items())
    return covered, f'{"".join(lines)}"@signature-params": {covered}'.encode()


class RequestSigner:
    """Maker of the signature headers. `directory` is the URL of the key directory."""

    def __init__(self, key: SigningKey, directory: str) -> None:
        self._key = key
        self._agent = f'"{directory.removesuffix(DIRECTORY_PATH)}"'

    def headers(self, authority: str, now: float) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers of a request to this host, in the form of its Host header."""
        created, nonce = int(now), b64encode(os.urandom(_NONCE_BYTES)).decode()
        covered, text = signature_base(
            {'"@authority"': authority, f'"signature-agent";key="{_LABEL}"': self._agent},
            f';created={created};keyid="{self._key.id}";alg="ed25519"'
            f';expires={created + VALID_S};nonce="{nonce}";tag="web-bot-auth"',
        )
        signature = b64encode(self._key.sign(text)).decode()
        return (
            (b"Signature-Agent", f"{_LABEL}={self._agent}".encode()),
            (b"Signature-Input", f"{_LABEL}={covered}".encode()),
            (b"Signature", f"{_LABEL}=:{signature}:".encode()),
        )


class SigningTransport:
    """Wrapper that signs the requests of another transport."""

    def __init__(
        self, transport: Transport, signer: RequestSigner, clock: Callable[[], float] = time.time
    ) -> None:
        self._transport, self._signer, self._clock = transport, signer, clock

    async def send(self, request: TransportRequest) -> ResponseStream:
        kept = (one for one in request.headers if one[0].lower() not in SIGNATURES)
        signed = self._signer.headers(request.target.origin.name, self._clock())
        return await self._transport.send(replace(request, headers=(*kept, *signed)))

    async def aclose(self) -> None:
        await self._transport.aclose()
