"""The crawler's identity to servers: request headers, and logins for some origins.

challenge  WWW-Authenticate headers, and HTTP digest authentication
identity   the headers that all requests of one kind share, prepared once
logins     a transport that adds credentials, each to requests to its origin only
origins    which headers and logins belong to which origin, from settings, seeds and .netrc
"""

import asyncio
import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import ada_url

from minicrawl import __version__
from minicrawl.config import Access, Politeness
from minicrawl.config.values import HEADER, LOGIN, ON, TOKEN, USER_PASSWORD
from minicrawl.errors import UsageError
from minicrawl.fetch.body import ACCEPTED
from minicrawl.fetch.http import Origin, ResponseStream, Transport, TransportRequest, target
from minicrawl.model import Request, Want

# ================================================================ challenge
#
# Challenges of 401 responses (RFC 9110, 11.6), and replies by digest authentication.
#
# Digest authentication is RFC 7616: the algorithms MD5, SHA-256 and SHA-512-256, with `-sess` or
# without, and quality of protection `auth` or none. The code is pure: the client nonce is an
# argument.
#
# Laws: a header that cannot be parsed is not a challenge, and parsing takes linear time.

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


class Challenge(NamedTuple):
    """Authentication scheme in lower case, with its parameters by lower-case name."""

    scheme: str
    parameters: Mapping[str, str]


def challenges(header: str) -> list[Challenge]:
    """Return the challenges of a WWW-Authenticate header."""
    found: list[tuple[str, dict[str, str]]] = []
    at, header = 0, header[:_LONGEST]
    while part := _PART.match(header, at):
        name, quoted, plain, scheme = part.groups()
        at = part.end()
        if scheme:
            found.append((scheme.lower(), {}))
        elif found:
            value = _ESCAPED.sub(r"\1", quoted) if quoted is not None else plain
            found[-1][1].setdefault(name.lower(), value)
    return [Challenge(scheme, parameters) for scheme, parameters in found]


def basic(user: str, password: str) -> bytes:
    """Return the value of the Authorization header for basic authentication."""
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
    def best_of(cls, found: list[Challenge]) -> "Digest | None":
        """Return the challenge with the strongest supported algorithm, or None."""
        known = [one for offered in found if (one := cls._of(offered)) is not None]
        return min(known, key=lambda one: _BEST_FIRST.index(one.base), default=None)

    @classmethod
    def _of(cls, offered: Challenge) -> "Digest | None":
        given = offered.parameters
        algorithm = given.get("algorithm", "MD5")
        options = [option.strip().lower() for option in given.get("qop", "").split(",")]
        if offered.scheme != "digest" or "nonce" not in given:
            return None
        if algorithm.lower().removesuffix("-sess") not in _HASHES:
            return None
        if "auth" not in options and options != [""]:
            return None  # auth-int only
        return cls(
            realm=given.get("realm", ""),
            nonce=given["nonce"],
            algorithm=algorithm,
            qop="auth" if "auth" in options else "",
            opaque=given.get("opaque"),
            is_stale=given.get("stale", "").lower() == "true",
        )

    @property
    def base(self) -> str:
        """Name of the algorithm without -sess, in lower case."""
        return self.algorithm.lower().removesuffix("-sess")

    def answer(  # one argument for each part of the formula
        self, user: str, password: str, method: str, path: str, count: int, cnonce: str
    ) -> bytes:
        """Return the value of the Authorization header.

        `count` is the number of requests with this nonce, this one included.
        """
        secret = self._hash(f"{user}:{self.realm}:{password}")
        if self.algorithm.lower().endswith("-sess"):
            secret = self._hash(f"{secret}:{self.nonce}:{cnonce}")
        what, uses = self._hash(f"{method}:{path}"), f"{count:08x}"
        middle = f"{self.nonce}:{uses}:{cnonce}:{self.qop}" if self.qop else self.nonce
        fields = {
            "username": _quoted(user),
            "realm": _quoted(self.realm),
            "nonce": _quoted(self.nonce),
            "uri": _quoted(path),
            "response": _quoted(self._hash(f"{secret}:{middle}:{what}")),
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


# ================================================================ identity
#
# Headers that say who asks and what is accepted. They are encoded once, not for each request.

Headers = tuple[tuple[bytes, bytes], ...]

_ACCEPT_TEXT = b"text/plain,application/xml,text/xml,*/*;q=0.1"
_ACCEPT = {
    Want.PAGE: b"text/html,application/xhtml+xml,application/xml;q=0.5,*/*;q=0.1",
    Want.TEXT: _ACCEPT_TEXT,
    Want.SITEMAP: _ACCEPT_TEXT,
    Want.HEAD: b"*/*",
    Want.STATUS: b"*/*",
    Want.RESOURCE: b"*/*",
    Want.FILE: b"*/*",
    Want.PREFLIGHT: b"*/*",
}
_FIRST_QUALITY, _QUALITY_STEP, _LEAST_QUALITY = 10, 1, 1  # tenths


class RequestHeaders:
    """Prepared request headers, by kind of request."""

    def __init__(self, politeness: Politeness, access: Access) -> None:
        given = header_fields(access.headers)
        names = {name.lower() for name, _ in given}
        own = (
            (b"User-Agent", user_agent(politeness, access)),
            (b"Accept-Encoding", ACCEPTED.encode()),
            *_languages(access.languages),
            *given,
        )
        self._by_want: dict[Want, Headers] = {
            want: own if b"accept" in names else (*own, (b"Accept", accepted))
            for want, accepted in _ACCEPT.items()
        }

    def of(self, request: Request) -> Sequence[tuple[bytes, bytes]]:
        """Return the headers of this request."""
        headers = self._by_want[request.want]
        if request.headers:
            headers = _with(headers, request.headers)
        if not (request.cookies or request.etag or request.last_modified):
            return headers
        added = [(b"Cookie", request.cookies.encode())] if request.cookies else []
        if request.etag and request.etag.isprintable():
            added.append((b"If-None-Match", request.etag.encode()))
        if request.last_modified and request.last_modified.isprintable():
            added.append((b"If-Modified-Since", request.last_modified.encode()))
        return (*headers, *added)


def _with(headers: Headers, given: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers, where those in `given` replace others of the same name."""
    found = tuple((name.title().encode(), value.encode()) for name, value in given)
    names = {name.lower() for name, _ in found}
    return (*(one for one in headers if one[0].lower() not in names), *found)


def header_fields(texts: Sequence[str], host: str | None = None) -> Headers:
    """Return the headers that are configured for this host, or for all hosts if None."""
    found = (HEADER.fullmatch(text) for text in texts)
    return tuple(
        (one["name"].encode(), one["value"].strip().encode())
        for one in found
        if one and one["host"] == host
    )


def user_agent(politeness: Politeness, access: Access) -> bytes:
    """Return the value of the User-Agent header."""
    if access.user_agent is not None:
        return access.user_agent.encode()
    agent = f"{politeness.agent}/{__version__}"
    return (f"{agent} (+{politeness.contact})" if politeness.contact else agent).encode()


def _languages(tags: str | None) -> Headers:
    """Return the Accept-Language header.

    Languages without a quality get descending ones, as browsers send them.
    """
    if tags is None:
        return ()
    if ";q=" not in tags:
        tags = ",".join(
            f"{tag};q=0.{max(_FIRST_QUALITY - place * _QUALITY_STEP, _LEAST_QUALITY)}"
            if place
            else tag
            for place, tag in enumerate(tags.split(","))
        )
    return ((b"Accept-Language", tags.encode()),)


# ================================================================ logins
#
# A transport that adds headers and logins, each to requests to its own origin only.
#
# Laws: a secret is sent only to its origin, by exact scheme, host and port. A redirect leads to a
# new request, with the credentials of that request's origin. An anonymous request gets none. A
# password travels over plain HTTP only if the server asks for it, and never in the clear if the
# server offers digest authentication. A challenge is answered once; a second refusal is final.
#
# Bearer tokens are sent with every request, and so is basic authentication over TLS. Otherwise the
# first request of each process is sent without credentials, and repeated after a pause with the
# credentials that the server asked for.

_CNONCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Login:
    """User and password, or a bearer token. `repr` shows neither."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class OriginAccess:
    """Headers and login of one origin."""

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
        kept = (one for one in request.headers if one[0].lower() not in names)
        return replace(request, headers=(*kept, *own))

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
            return self._take(digest, sent)
        schemes = [one.scheme for one in offered]
        # A 401 response that names no scheme at all may mean basic authentication too.
        if sent.value is not None or (schemes and "basic" not in schemes):
            return False
        self._is_basic = True
        return True

    def _take(self, digest: Digest, sent: _Sent) -> bool:
        """Adopt a new challenge. Return True if it is worth an answer.

        An expired nonce does not mean that the password was refused.
        """
        is_news = digest.is_stale or self._has_worked or sent.digest is None
        is_new = sent.digest is None or digest.nonce != sent.digest.nonce
        self._digest, self._uses = digest, 0
        return is_news and is_new


# ================================================================ origins
#
# Which headers and logins belong to which origin, from settings, seeds and .netrc.
#
# A HOST without a port means the origins of the seeds at that host, and https at port 443. So a
# login never goes to another port of the host, nor over plain HTTP unless a seed does. With a
# scheme or a port, HOST means exactly that.
#
# Laws: if an origin has several logins, those of the settings win over those of seed URLs, and
# those over .netrc. Unreadable input is an error before the first request, and no message quotes a
# secret.

_PLACE = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>\[[^\]]+\]|[^:/\[\]]+)(?::(?P<port>[0-9]{1,5}))?"
)
_STANDARD_PORTS = {"https": "443", "http": "80"}


def access_by_origin(
    access: Access,
    seeds: Iterable[str] = (),
    of_seeds: Mapping[Origin, Login] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AccessByOrigin:
    """Return headers and logins by origin.

    `of_seeds` are the logins that were part of the seed URLs.
    """
    from_netrc, from_settings = dict(_netrc(access.netrc, environ)), dict(_logins(access))
    found = map(HEADER.fullmatch, access.headers)
    hosts = dict.fromkeys([one["host"] for one in found if one and one["host"]])
    names = {_name_of(host) for host in (*hosts, *from_netrc, *from_settings)}
    at_seeds = _origins_at(seeds, names) if names else []
    logins: dict[Origin, Login] = {}
    for place, login in from_netrc.items():
        logins |= dict.fromkeys(_origins_of(place, at_seeds), login)
    logins |= of_seeds or {}
    for place, login in from_settings.items():
        logins |= dict.fromkeys(_origins_of(place, at_seeds), login)
    headers: dict[Origin, Headers] = {}
    for host in hosts:
        for origin in _origins_of(host, at_seeds):
            headers[origin] = headers.get(origin, ()) + header_fields(access.headers, host)
    return {
        origin: OriginAccess(headers.get(origin, ()), logins.get(origin))
        for origin in {**logins, **headers}
    }


def login_in(url: str) -> tuple[Origin, Login] | None:
    """Return the login in a URL given by the user, with its origin, or None."""
    place = target(url)
    if place is None:
        return None
    parsed = ada_url.URL(url)
    if not (parsed.username or parsed.password):
        return None
    return place.origin, Login(unquote(parsed.username), unquote(parsed.password))


# ---------------------------------------------------------------- input


def _logins(access: Access) -> Iterator[tuple[str, Login]]:
    for name, texts, fits in (
        ("auth", access.auth, USER_PASSWORD),
        ("bearer", access.bearer, TOKEN),
    ):
        for text in texts:
            found = LOGIN.fullmatch(text)
            assert found, "the table of settings has read it"
            secret = found["secret"] or _secret_in(Path(found["file"]).expanduser(), name, fits)
            user, _, password = secret.partition(":")
            login = Login(user, password) if name == "auth" else Login(token=secret)
            yield found["host"], login


def _secret_in(file: Path, name: str, fits: re.Pattern[str]) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--{name} {file}: {why}") from None
    if not secret.isprintable() or not fits.fullmatch(secret):
        what = "USER:PASS" if name == "auth" else "TOKEN"
        raise UsageError(f"--{name} {file}: must have one line, {what}")
    return secret


def _netrc(file: Path | str | None, environ: Mapping[str, str]) -> Iterator[tuple[str, Login]]:
    if file is None:
        return
    from netrc import NetrcParseError, netrc

    usual = environ.get("NETRC") or Path(environ.get("HOME", "~"), ".netrc")
    path = Path(usual if file == ON else file)
    try:
        machines = netrc(path).hosts
    except NetrcParseError as error:
        place = f"{path}:{error.lineno}" if error.lineno else f"{path}"
        why = (
            "must be readable by its owner only" if "permissive" in error.msg else "not understood"
        )
        raise UsageError(f"--netrc {place}: {why}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = str(error.strerror) if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--netrc {path}: {why}") from None
    for machine, (user, account, password) in machines.items():
        if machine != "default":  # the default entry would go to every host
            yield machine, Login(user or account or "", password or "")


# ---------------------------------------------------------------- origins


def _name_of(place: str) -> str:
    found = _PLACE.fullmatch(place)
    try:
        return ada_url.URL(f"https://{found['host'] if found else place}/").hostname
    except ValueError:
        raise UsageError(f"{place!r} is not a host: a login or header needs one") from None


def _origins_at(urls: Iterable[str], names: Collection[str]) -> list[Origin]:
    bare = {name.strip("[]") for name in names}
    found = (place.origin for place in map(target, urls) if place)
    return list(dict.fromkeys(origin for origin in found if origin.host in bare))


def _origins_of(place: str, at_seeds: Sequence[Origin]) -> list[Origin]:
    found = _PLACE.fullmatch(place)
    name = _name_of(place)
    scheme, port = (found["scheme"], found["port"]) if found else (None, None)
    schemes = [scheme] if scheme else ["https", "http"] if port else ["https"]
    urls = (f"{one}://{name}:{port or _STANDARD_PORTS[one]}/" for one in schemes)
    said = [one.origin for one in map(target, urls) if one]
    if not port:
        at_host = (one for one in at_seeds if one.host == name.strip("[]"))
        said += (one for one in at_host if scheme is None or one.is_tls == (scheme == "https"))
    return said
