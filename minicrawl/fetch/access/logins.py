"""A transport that adds headers and logins, each to requests to its origin and to no other one.

Laws: a secret goes to the origin that it is for, by exact scheme, host and port; a redirect is
another request and gets what its own origin has. An anonymous request gets nothing. A password goes
over plain http only when the server asks for it, and never in the clear where digest authentication
is offered. A challenge is answered once: what is refused then is refused.

A bearer token goes with every request. Basic authentication over TLS does so too; otherwise the
first request of each process goes without, and after a pause once more with what was asked for.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from minicrawl.fetch.access.challenge import Digest, basic, challenges
from minicrawl.fetch.access.identity import Headers
from minicrawl.fetch.transport import ResponseStream, Transport, TransportRequest
from minicrawl.fetch.where.targets import Origin

_CNONCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password, or a bearer token. `repr` shows neither."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class OriginAccess:
    """What requests to one origin carry besides."""

    headers: Headers = field(default=(), repr=False)
    login: Login | None = None


AccessByOrigin = Mapping[Origin, OriginAccess]


class LoginTransport:
    """Another transport with logins; it pauses before a request is sent once more."""

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
        stream = await self._transport.send(own.dressed(request, sent))
        if not own.learn(stream, sent):
            return stream
        await stream.aclose()
        await asyncio.sleep(self._pause_s)
        sent = own.authorization(request)
        stream = await self._transport.send(own.dressed(request, sent))
        own.learn(stream, sent)
        return stream

    async def aclose(self) -> None:
        await self._transport.aclose()


@dataclass(slots=True)
class _Sent:
    """The Authorization of a request, and the digest that it answered."""

    value: bytes | None = None
    digest: Digest | None = None


class _OriginLogin:
    """What is known of the login at one origin."""

    def __init__(self, access: OriginAccess, *, is_tls: bool) -> None:
        self._headers, self._login = access.headers, access.login
        self._is_basic = is_tls
        self._digest: Digest | None = None
        self._uses = 0  # of its nonce
        self._has_worked = False

    def authorization(self, request: TransportRequest) -> _Sent:
        """What to send with this request, as far as the server has said what it wants."""
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

    def dressed(self, request: TransportRequest, sent: _Sent) -> TransportRequest:
        """The request with all that belongs to its origin."""
        own = self._headers
        if sent.value is not None:
            own = (*own, (b"Authorization", sent.value))
        names = {name.lower() for name, _ in own}
        kept = (one for one in request.headers if one[0].lower() not in names)
        return replace(request, headers=(*kept, *own))

    def learn(self, stream: ResponseStream, sent: _Sent) -> bool:
        """Hear an answer; whether the same request is to be sent once more, with another login."""
        if stream.status != HTTPStatus.UNAUTHORIZED:
            self._has_worked |= sent.digest is not None
            return False
        if self._login is None or self._login.token:
            return False
        offered = challenges(stream.headers.get("www-authenticate", ""))
        digest = Digest.best_of(offered)
        if digest is not None:
            return self._take(digest, sent)
        if sent.value is not None or not _offers_basic([one.scheme for one in offered]):
            return False
        self._is_basic = True
        return True

    def _take(self, digest: Digest, sent: _Sent) -> bool:
        """A nonce that has run out is no refusal of the password."""
        is_news = digest.is_stale or self._has_worked or sent.digest is None
        is_new = sent.digest is None or digest.nonce != sent.digest.nonce
        self._digest, self._uses = digest, 0
        return is_news and is_new


def _offers_basic(schemes: list[str]) -> bool:
    """Whether it asks for basic authentication; a server that does not say what it wants does."""
    return not schemes or "basic" in schemes
