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
nonce          text that makes each signature unique: a random number, or chosen by the server
challenge      response that asks for a signature, maybe with a nonce of the server (RFC 9421, 5):

    Accept-Signature: sig1=("@authority" "signature-agent");nonce="e8N7";tag="web-bot-auth"

Laws: a signature holds for one host and five minutes. Every request is signed, or only those to
hosts that have challenged. A refusal (401, 403) is answered once, and only if its challenge asks
for more than the request had: a signature at all, or one with a nonce. A host that refuses an
answer gets no other. The next request meets the challenge of any other response. Headers that a
page's script sets never replace these three.
"""

import asyncio
import hashlib
import json
import os
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import ada_url

from minicrawl.config.values.kinds import key_file
from minicrawl.errors import UsageError, needs
from minicrawl.fetch.http.messages import SIGNATURES, ResponseStream, Transport, TransportRequest
from minicrawl.fetch.http.targets import Origin

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
VALID_S = 300
"""Lifetime of a signature: clocks may be minutes apart, but a stolen one should expire soon."""
_NONCE_BYTES = 32
_TAG, _ALGORITHM = "web-bot-auth", "ed25519"
_COVERED = {'"@authority"', '"signature-agent"'}
_PACKAGE = ("signing", "a signature")


class SigningKey:
    """Ed25519 key pair of the crawler; `jwk` is its public part for the key directory."""

    def __init__(self, private: "Ed25519PrivateKey") -> None:
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
        with needs(*_PACKAGE):
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
        with needs(*_PACKAGE):
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
            "signatures need --contact with an https URL, whose server has the key directory"
        )
    return ada_url.URL(contact).origin + DIRECTORY_PATH


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_LONGEST = 8192
_NAME = r"[a-z*][a-z0-9_.*-]*+"
_VALUE = r'=(?:"[ !#-\[\]-~]*+"|[^ \t",;()]*+)'
_MEMBER = re.compile(rf"(?:\A|,)[ \t]*+({_NAME})=\(([^()]*+)\)((?:;[ ]*+{_NAME}(?:{_VALUE})?+)*+)")
"""Label, components and parameters of a signature that a server asks for. Takes linear time."""
_PARAMETER = re.compile(rf';[ ]*+({_NAME})(?:="([^"]*+)")?+')


class WantedSignature(NamedTuple):
    """Label and nonce that a server asks for. Without a nonce, the signer chooses one."""

    label: str = "sig1"
    nonce: str = ""


USUAL = WantedSignature()


def wanted_signature(stream: ResponseStream, key_id: str) -> WantedSignature | None:
    """Return the signature that a response asks for, if this key can make it."""
    header = stream.headers.get("accept-signature", "")[:_LONGEST]
    usual = {"tag": _TAG, "alg": _ALGORITHM, "keyid": key_id}
    for label, components, parameters in _MEMBER.findall(header):
        fields = dict(_PARAMETER.findall(parameters))
        names = {component.partition(";")[0] for component in components.split()}
        if names <= _COVERED and fields.get("tag") == _TAG and usual | fields == fields | usual:
            return WantedSignature(label, fields.get("nonce", ""))
    return None


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
        self.key = key
        self._agent = f'"{directory.removesuffix(DIRECTORY_PATH)}"'

    def headers(
        self, authority: str, now: float, form: WantedSignature = USUAL
    ) -> tuple[tuple[bytes, bytes], ...]:
        """Return the headers of a request to this host, in the form of its Host header."""
        label, created = form.label, int(now)
        nonce = form.nonce or b64encode(os.urandom(_NONCE_BYTES)).decode()
        covered, text = signature_base(
            {'"@authority"': authority, f'"signature-agent";key="{label}"': self._agent},
            f';created={created};keyid="{self.key.id}";alg="{_ALGORITHM}"'
            f';expires={created + VALID_S};nonce="{nonce}";tag="{_TAG}"',
        )
        signature = b64encode(self.key.sign(text)).decode()
        return (
            (b"Signature-Agent", f"{label}={self._agent}".encode()),
            (b"Signature-Input", f"{label}={covered}".encode()),
            (b"Signature", f"{label}=:{signature}:".encode()),
        )


class SigningTransport:
    """Transport that signs the requests to another; if `only_asked`, from a challenge on."""

    def __init__(
        self, transport: Transport, signer: RequestSigner, pause_s: float, *, only_asked: bool
    ) -> None:
        self._transport, self._signer, self._pause_s = transport, signer, pause_s
        self.aclose = transport.aclose
        self._usual = None if only_asked else USUAL
        self._next: dict[Origin, WantedSignature] = {}  # of hosts that have challenged
        self._unconvinced: set[Origin] = set()  # they refused an answer to their challenge

    @classmethod
    def by_settings(
        cls, transport: Transport, key: Path | str, contact: str | None, pause_s: float
    ) -> Self:
        """Return the transport, wrapped to sign requests with the key of a setting."""
        file, only_asked = key_file(key)
        signer = RequestSigner(SigningKey.read(file), key_directory(contact))
        return cls(transport, signer, pause_s, only_asked=only_asked)

    async def send(self, request: TransportRequest) -> ResponseStream:
        origin, key_id = request.target.origin, self._signer.key.id
        made = self._next.get(origin, self._usual)
        if made is not None and made.nonce:
            self._next[origin] = USUAL  # a nonce of the server is for one request
        stream = await self._send(request, made)
        challenge = wanted_signature(stream, key_id)
        if challenge is None:
            return stream
        if stream.status not in _REFUSALS:
            self._next[origin] = challenge
            return stream
        self._next[origin] = USUAL
        asks_for_no_more = made is not None and not challenge.nonce
        if asks_for_no_more or origin in self._unconvinced:
            return stream
        await stream.aclose()
        await asyncio.sleep(self._pause_s)
        stream = await self._send(request, challenge)
        if stream.status in _REFUSALS and wanted_signature(stream, key_id) is not None:
            self._unconvinced.add(origin)
        return stream

    async def _send(
        self, request: TransportRequest, form: WantedSignature | None
    ) -> ResponseStream:
        unsigned = (header for header in request.headers if header[0].lower() not in SIGNATURES)
        name, now = request.target.origin.name, time.time()
        signed = () if form is None else self._signer.headers(name, now, form)
        return await self._transport.send(replace(request, headers=(*unsigned, *signed)))
