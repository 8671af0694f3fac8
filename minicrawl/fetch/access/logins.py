"""A transport that adds headers and logins, each to requests to its own origin only.

Laws: a secret is sent only to its origin, by exact scheme, host and port. A redirect leads to a
new request, with the credentials of that request's origin. An anonymous request gets none. A
password travels over plain HTTP only if the server asks for it, and never in the clear if the
server offers digest authentication. A challenge is answered once; a second refusal is final.

Bearer tokens are sent with every request, and so is basic authentication over TLS. Otherwise the
first request of each process is sent without credentials, and repeated after a pause with the
credentials that the server asked for.

A 401 response has challenges (RFC 9110, 11.6); a header that cannot be parsed is none. Digest
authentication is RFC 7616: the algorithms MD5, SHA-256 and SHA-512-256, with `-sess` or without,
and quality of protection `auth` or none. Parsing takes linear time.
"""

import asyncio
import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import NamedTuple

from minicrawl.fetch.access.headers import Headers
from minicrawl.fetch.http.messages import ResponseStream, Transport, TransportRequest
from minicrawl.fetch.http.targets import Origin

_CNONCE_BYTES = 8
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_PART = re.compile(
    rf'[\t ,]*+(?:({_TOKEN})[\t ]*+=[\t ]*+(?:"((?:[^"\\]++|\\.)*+)"|({_TOKEN}))'
    rf"|({_TOKEN})(?:[\t ]++[!-~]*?=+(?=[\t ,]|\Z))?)",
    re.DOTALL,
)
_LONGEST = 8192
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HASHES = {"md5": "md5", "sha-256": "sha256", "sha-512-256": "sha512_256"}
_BEST_FIRST = ("sha-512-256", "sha-256", "md5")


Challenge = tuple[str, dict[str, str]]
"""Authentication scheme in lower case, with its parameters by lower-case name."""


def challenges(header: str) -> list[Challenge]:
    fields = list[Challenge]()
    at, header = 0, header[:_LONGEST]
    while part := _PART.match(header, at):
        name, quoted, plain, scheme = part.groups()
        at = part.end()
        if scheme:
            fields.append((scheme.lower(), {}))
        elif fields:
            value = _ESCAPED.sub(r"\1", quoted) if quoted is not None else plain
            fields[-1][1].setdefault(name.lower(), value)
    return fields


def basic(user: str, password: str) -> bytes:
    return b"Basic " + b64encode(f"{user}:{password}".encode())


class Digest(NamedTuple):
    """Digest challenge that this client can answer."""

    realm: str
    nonce: str
    algorithm: str  # as the server wrote it
    qop: str  # "auth" or ""
    opaque: str | None = None
    is_stale: bool = False

    @classmethod
    def best_of(cls, offers: list[Challenge]) -> "Digest | None":
        """Return the challenge with the strongest supported algorithm, or None."""
        digests = list[Digest]()
        for scheme, parameters in offers:
            if scheme != "digest" or "nonce" not in parameters:
                continue
            options = [option.strip().lower() for option in parameters.get("qop", "").split(",")]
            digest = cls(
                realm=parameters.get("realm", ""),
                nonce=parameters["nonce"],
                algorithm=parameters.get("algorithm", "MD5"),
                qop="auth" if "auth" in options else "",
                opaque=parameters.get("opaque"),
                is_stale=parameters.get("stale", "").lower() == "true",
            )
            # Quality of protection by `auth-int` alone is not supported.
            if digest.base in _HASHES and (digest.qop or options == [""]):
                digests.append(digest)
        return min(digests, key=lambda digest: _BEST_FIRST.index(digest.base), default=None)

    @property
    def base(self) -> str:
        return self.algorithm.lower().removesuffix("-sess")

    def answer(  # one argument for each part of the formula
        self, user: str, password: str, method: str, path: str, count: int, cnonce: str
    ) -> bytes:
        """Return the value of the Authorization header, for request `count` with this nonce."""
        secret = self._hash(f"{user}:{self.realm}:{password}")
        if self.algorithm.lower().endswith("-sess"):
            secret = self._hash(f"{secret}:{self.nonce}:{cnonce}")
        hashed, uses = self._hash(f"{method}:{path}"), f"{count:08x}"
        middle = f"{self.nonce}:{uses}:{cnonce}:{self.qop}" if self.qop else self.nonce
        fields = {
            "username": _quoted(user),
            "realm": _quoted(self.realm),
            "nonce": _quoted(self.nonce),
            "uri": _quoted(path),
            "response": _quoted(self._hash(f"{secret}:{middle}:{hashed}")),
            "algorithm": self.algorithm,
        }
        if self.opaque is not None:
            fields["opaque"] = _quoted(self.opaque)
        if self.qop:
            fields |= {"qop": self.qop, "nc": uses}
        if self.qop or self.algorithm.lower().endswith("-sess"):
            fields["cnonce"] = _quoted(cnonce)
        return b"Digest " + ", ".join(f"{name}={text}" for name, text in fields.items()).encode()

    def _hash(self, text: str) -> str:
        return hashlib.new(_HASHES[self.base], text.encode(), usedforsecurity=False).hexdigest()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class Login:
    """User and password, or a bearer token. `repr` shows neither."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class OriginAccess:
    headers: Headers = field(default=(), repr=False)
    login: Login | None = None


AccessByOrigin = Mapping[Origin, OriginAccess]


class LoginTransport:
    def __init__(self, transport: Transport, access: AccessByOrigin, pause_s: float) -> None:
        self._transport, self._pause_s = transport, pause_s
        self.aclose = transport.aclose
        self._access = {
            origin: _OriginLogin(own, is_tls=origin.is_tls) for origin, own in access.items()
        }

    async def send(self, request: TransportRequest) -> ResponseStream:
        own = self._access.get(request.target.origin)
        if own is None or request.is_anonymous:
            return await self._transport.send(request)
        sent = own.authorization(request)
        stream = await self._transport.send(own.with_credentials(request, sent))
        if not own.learn(stream, sent):
            return stream
        await stream.aclose()
        await asyncio.sleep(self._pause_s)
        sent = own.authorization(request)
        stream = await self._transport.send(own.with_credentials(request, sent))
        own.learn(stream, sent)
        return stream


_Sent = tuple[bytes | None, Digest | None]
"""Authorization header of a request, and the digest challenge that it answered."""


class _OriginLogin:
    def __init__(self, access: OriginAccess, *, is_tls: bool) -> None:
        self._headers, self._login = access.headers, access.login
        self._is_basic = is_tls
        self._digest: Digest | None = None
        self._uses = 0  # times the nonce was used
        self._has_worked = False

    def authorization(self, request: TransportRequest) -> _Sent:
        login, digest = self._login, self._digest
        if login is None:
            return None, None
        if login.token:
            return b"Bearer " + login.token.encode(), None
        if digest is not None:
            self._uses += 1
            cnonce = os.urandom(_CNONCE_BYTES).hex()
            path, method = request.target.path, request.method
            value = digest.answer(login.user, login.password, method, path, self._uses, cnonce)
            return value, digest
        return basic(login.user, login.password) if self._is_basic else None, None

    def with_credentials(self, request: TransportRequest, sent: _Sent) -> TransportRequest:
        own, (value, _) = self._headers, sent
        if value is not None:
            own = (*own, (b"Authorization", value))
        names = {name.lower() for name, _ in own}
        kept_headers = (header for header in request.headers if header[0].lower() not in names)
        return replace(request, headers=(*kept_headers, *own))

    def learn(self, stream: ResponseStream, sent: _Sent) -> bool:
        """Adopt the challenge of a 401 response; return whether to repeat the request."""
        value, answered = sent
        if stream.status != HTTPStatus.UNAUTHORIZED:
            self._has_worked |= answered is not None
            return False
        if self._login is None or self._login.token:
            return False
        offered = challenges(stream.headers.get("www-authenticate", ""))
        digest = Digest.best_of(offered)
        if digest is not None:
            # An expired nonce does not mean that the password was refused.
            is_news = digest.is_stale or self._has_worked or answered is None
            is_new = answered is None or digest.nonce != answered.nonce
            self._digest, self._uses = digest, 0
            return is_news and is_new
        schemes = [scheme for scheme, _ in offered]
        # A 401 response that names no scheme at all may mean basic authentication too.
        if value is not None or (schemes and "basic" not in schemes):
            return False
        self._is_basic = True
        return True
