"""A transport that adds headers and logins, each to requests to its own origin only.

Laws: a secret is sent only to its origin, by exact scheme, host and port. A redirect leads to a
new request, with the credentials of that request's origin. An anonymous request gets none. A
password travels over plain HTTP only if the server asks for it, and never in the clear if the
server offers digest authentication. A challenge is answered once; a second refusal is final.

Bearer tokens are sent with every request, and so is basic authentication over TLS. Otherwise the
first request of each process is sent without credentials, and repeated after a pause with the
credentials that the server asked for.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from minicrawl.fetch.access.challenges import Digest, basic, challenges
from minicrawl.fetch.access.headers import Headers
from minicrawl.fetch.http.messages import ResponseStream, Transport, TransportRequest
from minicrawl.fetch.http.targets import Origin

_CNONCE_BYTES = 8


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
    """Wrapper that adds logins to another transport. It pauses before it repeats a request."""

    def __init__(self, transport: Transport, access: AccessByOrigin, pause_s: float) -> None:
        self._transport, self._pause_s = transport, pause_s
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

    async def aclose(self) -> None:
        await self._transport.aclose()


@dataclass(slots=True)
class _Sent:
    """Authorization header of a request, and the digest challenge that it answered."""

    value: bytes | None = None
    digest: Digest | None = None


class _OriginLogin:
    """State of the login at one origin."""

    def __init__(self, access: OriginAccess, *, is_tls: bool) -> None:
        self._headers, self._login = access.headers, access.login
        self._is_basic = is_tls
        self._digest: Digest | None = None
        self._uses = 0  # times the nonce was used
        self._has_worked = False

    def authorization(self, request: TransportRequest) -> _Sent:
        """Return the token, the reply to the last challenge, or basic credentials over TLS."""
        login, digest = self._login, self._digest
        if login is None:
            return _Sent()
        if login.token:
            return _Sent(b"Bearer " + login.token.encode())
        if digest is not None:
            self._uses += 1
            cnonce = os.urandom(_CNONCE_BYTES).hex()
            path, method = request.target.path, request.method
            value = digest.answer(login.user, login.password, method, path, self._uses, cnonce)
            return _Sent(value, digest)
        return _Sent(basic(login.user, login.password) if self._is_basic else None)

    def with_credentials(self, request: TransportRequest, sent: _Sent) -> TransportRequest:
        """Return the request with the headers and credentials of its origin."""
        own = self._headers
        if sent.value is not None:
            own = (*own, (b"Authorization", sent.value))
        names = {name.lower() for name, _ in own}
        kept_headers = (header for header in request.headers if header[0].lower() not in names)
        return replace(request, headers=(*kept_headers, *own))

    def learn(self, stream: ResponseStream, sent: _Sent) -> bool:
        """Adopt the challenge of a 401 response.

        Return True if the request should be repeated with other credentials.
        """
        if stream.status != HTTPStatus.UNAUTHORIZED:
            self._has_worked |= sent.digest is not None
            return False
        if self._login is None or self._login.token:
            return False
        offered = challenges(stream.headers.get("www-authenticate", ""))
        digest = Digest.best_of(offered)
        if digest is not None:
            # An expired nonce does not mean that the password was refused.
            is_news = digest.is_stale or self._has_worked or sent.digest is None
            is_new = sent.digest is None or digest.nonce != sent.digest.nonce
            self._digest, self._uses = digest, 0
            return is_news and is_new
        schemes = [challenge.scheme for challenge in offered]
        # A 401 response that names no scheme at all may mean basic authentication too.
        if sent.value is not None or (schemes and "basic" not in schemes):
            return False
        self._is_basic = True
        return True
