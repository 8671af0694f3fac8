"""Fetches one URL. The outcome is always a value, never an exception.

Laws: one deadline covers a request from look-up to body; only the body of a file has more time. If
the deadline cuts a body, the part that was read is used. Redirects are results and are not
followed. Only proxies that the settings name and logins given to the fetcher are used. Every
connection goes to an address that the resolver allows.

The outcome depends on status, headers and, if it is wanted, the body. Of redirects, of unwanted
types and of failures that are not kept, only the head is read. Partial content that was not
requested is never taken for the whole page.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import socket
import ssl
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.values import ENVIRONMENT, OFF, key_file, without_login
from minicrawl.errors import UsageError
from minicrawl.fetch.access import AccessByOrigin, RequestHeaders
from minicrawl.fetch.body import (
    Body,
    BodyLimits,
    BodyVerdict,
    DecodeBudget,
    Judge,
    codings,
    read_body,
)
from minicrawl.fetch.connection import Connector, Dialer, DirectDialer, HttpClient, Pace
from minicrawl.fetch.http import (
    CONFLICT,
    EXPECTED,
    MOST_CHARACTERS,
    ConnectTarget,
    Fault,
    Origin,
    ResponseStream,
    Target,
    Transport,
    TransportRequest,
    failure,
    joined_headers,
    read_head,
    take_cookies,
    target,
    transfer_codings,
    without_secrets,
)
from minicrawl.fetch.resolver import (
    HostAndPort,
    Located,
    Lookup,
    Resolver,
    ResolveRules,
    lookup_of,
    parse_rule,
    unresolved,
)
from minicrawl.fetch.tls import HTTP1, HTTP1_AND_2, TlsContexts, check_authorities, check_tls
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refusal,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
    Wire,
)
from minicrawl.web.responses import (
    BLOCKS,
    COOKIE_WALL,
    HTML_TYPES,
    NO_TYPE,
    DocumentType,
    challenge,
    is_wanted,
    leads_to_cookie_wall,
    max_age_s,
    parse_content_type,
    type_of,
)
from minicrawl.web.urls import canonical, posted_to

if TYPE_CHECKING:
    import httpx


# ================================================================ opening the client
#
# Builds the transport that the settings ask for, and checks these settings before the crawl.
#
# Law: modules that a crawl does not need, such as proxies or HTTP/2, are not imported.

PlacesOf = Callable[[Origin], Awaitable[Located]]
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 1.0, 15.0
_KEPT_DELAYS = 4
"""Number of request delays for which an idle connection is kept.

Many servers close idle connections after 5 s; with the usual delay of 1 s, we close them before.
"""
_MOST_KEPT = 2000


def pace_of(politeness: Politeness) -> Pace:
    """Return the pool limits. A connection is kept while the host's next request may soon come."""
    delay_s = politeness.delay_after(None)
    keep_s = min(max(_KEPT_DELAYS * delay_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_KEPT * 2 if soft == resource.RLIM_INFINITY else soft
    kept = max(politeness.concurrency, min(_MOST_KEPT, files // 2))
    # Only requests on kept connections are repeated, and their hosts have delays below `keep_s`: a
    # pause of `keep_s` respects them.
    return Pace(politeness.concurrency, kept, keep_s, keep_s if delay_s else 0.0)


class OpenedTransport(NamedTuple):
    """Transport, and the function that finds the addresses it may connect to."""

    transport: Transport
    places_of: PlacesOf


def open_transport(
    network: Network,
    pace: Pace,
    resolver: Resolver,
    lookup: Lookup,
    tls: ssl.SSLContext | None = None,
) -> OpenedTransport:
    """Return a client that dials as the settings ask for. `tls` is for tests."""
    offers_http2 = network.http2 != "off"
    contexts = TlsContexts(network, HTTP1_AND_2 if offers_http2 else HTTP1, tls)
    dialer: Dialer
    places_of: PlacesOf = resolver.places_of
    dialer = direct = DirectDialer(Connector(network.timeout_s, network.bind_address), contexts)
    http2 = None
    if any(text != ENVIRONMENT for text in network.proxy):
        from minicrawl.fetch.proxy import ProxyDialer

        dialer = proxied = ProxyDialer(network, direct, lookup, TlsContexts(network, given=tls))
        places_of = proxied.places_by(resolver)
    if offers_http2:
        from minicrawl.fetch.http2 import Http2Connection

        http2 = Http2Connection
    client = HttpClient(pace, dialer, max_head_bytes=network.max_head_bytes, http2=http2)
    return OpenedTransport(client, places_of)


def through_httpx(transport: httpx.AsyncBaseTransport, resolver: Resolver) -> OpenedTransport:
    """Return an httpx transport adapted to take the place of the HTTP client."""
    return OpenedTransport(HttpxTransport(transport), resolver.places_of)


def with_logins(transport: Transport, logins: AccessByOrigin, pause_s: float) -> Transport:
    """Return the transport, wrapped to log in where servers ask for it."""
    from minicrawl.fetch.access import LoginTransport

    return LoginTransport(transport, logins, pause_s)


def with_signatures(
    transport: Transport, key: Path | str, contact: str | None, pause_s: float
) -> Transport:
    """Return the transport, wrapped to sign requests with the key of a setting."""
    from minicrawl.fetch.signing import RequestSigner, SigningKey, SigningTransport, key_directory

    file, only_asked = key_file(key)
    signer = RequestSigner(SigningKey.read(file), key_directory(contact))
    return SigningTransport(transport, signer, pause_s, only_asked=only_asked)


# ================================================================ httpx
#
# Adapter that sends requests through any httpx transport, such as a mock.
#
# Such a transport resolves names itself: the resolver can refuse a host, but cannot choose the
# address.


class HttpxTransport:
    """Transport of this package over an httpx transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, request: TransportRequest) -> HttpxResponseStream:
        import httpx

        with _naming_faults():
            sent = httpx.Request(
                request.method,
                request.target.url,
                headers=[*request.headers],
                content=request.body or None,
            )
            began = perf_counter()
            response = await self._transport.handle_async_request(sent)
            return HttpxResponseStream(response, perf_counter() - began)

    async def aclose(self) -> None:
        await self._transport.aclose()


class HttpxResponseStream:
    """Response stream of this package over an httpx response."""

    def __init__(self, response: httpx.Response, first_byte_s: float) -> None:
        self._response, self.first_byte_s = response, first_byte_s
        self.status, self.wire = response.status_code, None  # httpx hides the raw heads
        raw = response.headers.raw
        self.headers = joined_headers(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
        )

    @property
    async def body(self) -> AsyncIterator[bytes]:
        import httpx

        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        with _naming_faults():
            async for chunk in self._response.stream:
                yield chunk

    def take_whole(self) -> bytes | None:
        return None  # httpx does not say whether the body is complete

    async def aclose(self) -> None:
        await self._response.aclose()


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Convert exceptions of httpx into Faults."""
    import httpx

    try:
        yield
    except httpx.TimeoutException as error:
        raise Fault(FailureKind.TIMEOUT, str(error)) from error
    except httpx.ConnectError as error:
        raise Fault(FailureKind.CONNECT, str(error)) from error
    except httpx.NetworkError as error:
        raise Fault(FailureKind.RESET, str(error)) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise Fault(FailureKind.PROTOCOL, str(error)) from error


# ================================================================ reaching
#
# Reach: how servers are reached, reported and checked before the first request.
#
# Law: settings that cannot work are refused here once, instead of failing at every host: a proxy
# that is down or demands a login, a certificate without its key, a local address that does not
# exist.


class Reach(NamedTuple):
    """Messages for the user: settings in effect, and settings that are dangerous or broken."""

    notes: list[str]
    warnings: list[str]


def network_with_proxies(network: Network, environ: Mapping[str, str] = os.environ) -> Network:
    """Return the settings with the proxies of settings, files and environment as URLs."""
    if not _may_have_proxies(network, environ):
        return network
    from minicrawl.fetch.proxy import with_known_proxies

    return with_known_proxies(network, environ)


async def check_network(network: Network, environ: Mapping[str, str] = os.environ) -> Reach:
    """Raise UsageError for settings that cannot work, and return notes and warnings."""
    check_authorities(environ)
    check_tls(network)
    for address in network.bind_address:
        _check_address(address)
    notes, warnings = list[str](), list(_warnings(network))
    if _may_have_proxies(network, environ):
        from minicrawl.fetch.proxy import (
            ProxyRoutes,
            as_lines,
            check_proxies,
            hosts_without_proxy,
            names_of_proxies,
        )

        found = network_with_proxies(network, environ)
        if found.proxy:
            warnings += await check_proxies(found)
            routes = ProxyRoutes(found.proxy, found.no_proxy)
            named = names_of_proxies(network, environ)
            notes.append(f"through {as_lines(routes.proxies)} ({named})")
            notes += filter(None, [hosts_without_proxy(network, environ)])
    return Reach(notes, warnings)


def _may_have_proxies(network: Network, environ: Mapping[str, str]) -> bool:
    """Return False if there is certainly no proxy, without importing the proxy code."""
    if network.proxy != (ENVIRONMENT,):
        return bool(network.proxy)
    return any(name.lower().endswith("_proxy") for name in environ)


def _warnings(network: Network) -> Iterator[str]:
    for host in network.insecure:
        yield f"the certificate of {host} is not checked (--insecure): anybody may answer for it"


def _check_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as bound:
            bound.bind((address, 0))
    except OSError as error:
        raise UsageError(f"--bind-address {address}: {error.strerror}") from None


# ================================================================ fetching

DEFAULT_ACCESS = Access()


class HttpFetcher:
    """HTTP fetcher for one crawl.

    `trusted_hosts`, each with a port, may have private addresses (see `resolver.trusted_among`).
    `access` is the crawler's identity, `logins` the credentials by origin
    (`access.access_by_origin`). Tests pass their own lookup or TLS context, or an httpx transport
    to replace the HTTP client.
    """

    def __init__(  # all but the first two are keyword-only
        self,
        network: Network,
        politeness: Politeness,
        *,
        trusted_hosts: Collection[HostAndPort] = (),
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        access: Access = DEFAULT_ACCESS,
        logins: AccessByOrigin | None = None,
    ) -> None:
        self._timeout_s, self._max_codings = network.timeout_s, network.max_codings
        self._page_bytes = network.max_body_bytes
        self._headers = RequestHeaders(politeness, access)
        self._takes_cookies = access.cookies != OFF
        self._is_signed = access.sign_requests is not None
        self._keeps_credentials, self._keeps_coded = access.keep_credentials, network.raw_bodies
        self._decode_budget = DecodeBudget(network.max_bodies_bytes)
        self._own_lookup = lookup_of(network, politeness.concurrency)
        lookup = lookup or (unresolved if transport else self._own_lookup)
        self._resolver = Resolver(
            lookup,
            rules=ResolveRules(map(parse_rule, network.resolve)),
            trusted_hosts=trusted_hosts,
            allow_private=network.allow_private,
        )
        pace = pace_of(politeness)
        self._transport, self._places_of = (
            through_httpx(transport, self._resolver)
            if transport
            else open_transport(network, pace, self._resolver, lookup, tls)
        )
        # Below the logins: a request that is repeated with a login is signed anew.
        if access.sign_requests:
            self._transport = with_signatures(
                self._transport, access.sign_requests, politeness.contact, pace.pause_s
            )
        if logins:
            self._transport = with_logins(self._transport, logins, pace.pause_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._transport.aclose()
        self._resolver.close()
        self._own_lookup.close()

    async def fetch(self, request: Request) -> FetchResult:
        """Send one request, once."""
        began = perf_counter()
        # One deadline for look-up, handshake, head and body. With a limit for each, a server that
        # uses up all of them would hold a slot several times as long as the user allows.
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        fetched: FetchResult
        cookies: tuple[str, ...] = ()
        first_byte_s = None
        try:
            stream = await self._send_by(deadline, request)
            if isinstance(stream, Refused | Failed):
                fetched = stream
            else:
                cookies = take_cookies(stream.headers, stay=not self._takes_cookies)
                first_byte_s = stream.first_byte_s
                # A fixed deadline would cut every large file. The extra time lets a file of the
                # maximum size arrive at the rate at which the largest page just meets the deadline.
                most = request.max_bytes if request.want is Want.FILE else request.file_bytes
                more_s = self._timeout_s * max(most / self._page_bytes - 1, 0.0)
                limits = BodyLimits(
                    self._decode_budget, deadline, most, more_s, keeps_coded=self._keeps_coded
                )
                wire = stream.wire
                fetched = await read_response(request, stream, limits, self._max_codings)
                if wire is not None:
                    fetched = with_wire(fetched, self._archived(wire, request))
        except EXPECTED as error:
            fetched = failure(error)
            if request.keeps_failures and isinstance(error, Fault) and error.wire is not None:
                wire = self._archived(error.wire, request)
                fetched = fetched._replace(answer=_with_cut_head(wire, fetched.detail))
        return fetched._replace(
            elapsed_s=perf_counter() - began, first_byte_s=first_byte_s, cookies=cookies
        )

    def _archived(self, wire: Wire, request: Request) -> Wire:
        """Return the heads to archive, by default without credentials.

        The body of a POST that a page's script made follows its head, because replay looks the
        response up by it. Bodies of the user's own requests may hold secrets and are left out.
        """
        if not self._keeps_credentials:
            hides = self._takes_cookies
            wire = without_secrets(wire, hides_cookies=hides, is_signed=self._is_signed)
        if request.is_anonymous and request.body:
            wire = wire._replace(request=wire.request + request.body)
        return wire

    async def _send_by(
        self, deadline: float, request: Request
    ) -> ResponseStream | Refused | Failed:
        """Send the request and wait for the head of its response."""
        try:
            async with asyncio.timeout_at(deadline):
                is_post = request.method == "POST"
                url = posted_to(request.url) if is_post else request.request_url or request.url
                located = await self._located(url)
                if isinstance(located, Refused | Failed):
                    return located
                method = request.method or _METHODS.get(request.want, "GET")
                headers = self._headers.of(request)
                return await self._transport.send(
                    TransportRequest(*located, headers, method, request.is_anonymous, request.body)
                )
        except TimeoutError as error:
            detail = f"no answer in {self._timeout_s:g} s (--timeout)"
            raise Fault(FailureKind.TIMEOUT, detail) from error

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address that a fetch of this URL would connect to first."""
        try:
            async with asyncio.timeout(self._timeout_s):
                located = await self._located(url)
        except TimeoutError:
            detail = f"no address in {self._timeout_s:g} s"
            return Failed(kind=FailureKind.TIMEOUT, detail=detail)
        if isinstance(located, Refused | Failed):
            return located
        _, places = located
        return places[0].address

    async def _located(
        self, url: str
    ) -> tuple[Target, tuple[ConnectTarget, ...]] | Refused | Failed:
        wanted = target(url)
        if wanted is None:
            return Refused(reason=Refusal.ADDRESS, detail="neither http nor https")
        places = await self._places_of(wanted.origin)
        return places if isinstance(places, Refused | Failed) else (wanted, places)


# ---------------------------------------------------------------- outcomes


def with_wire(fetched: FetchResult, wire: Wire) -> FetchResult:
    """Return the result with the heads of its exchange, if it may be archived."""
    match fetched:
        case Response() | Moved():
            return fetched._replace(wire=_with_body_of(fetched.wire, wire))
        case Unchanged():
            return fetched._replace(wire=wire)
        case Failed(answer=Response() as answer) | Refused(answer=Response() as answer):
            answer = answer._replace(wire=_with_body_of(answer.wire, wire))
            return fetched._replace(answer=answer)
    return fetched


def _with_cut_head(wire: Wire, why: str) -> Response:
    """Return the response of which only the beginning of the head was read."""
    status = read_head(wire.response.partition(b"\n")[0]).status
    return Response(status, {}, b"", cut=FailureKind.TOO_LARGE, cut_detail=why, wire=wire)


def _with_body_of(known: Wire | None, wire: Wire) -> Wire:
    return wire if known is None else wire._replace(body=known.body)


_METHODS = {Want.HEAD: "HEAD", Want.PREFLIGHT: "OPTIONS"}
_OF_LINKS = (Want.PAGE, Want.HEAD, Want.STATUS)
_HEAD_ALONE = (Want.HEAD, Want.STATUS, Want.PREFLIGHT)
_REDIRECTS: frozenset[int] = frozenset(
    (
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    )
)
_EMPTY: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT))

_FAILURES: dict[int, FailureKind] = {
    HTTPStatus.NOT_FOUND: FailureKind.NOT_FOUND,
    HTTPStatus.GONE: FailureKind.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS: FailureKind.THROTTLED,
}
_SUCCESS = 2  # hundreds: the class of a status
_MOST_OF_A_FAILURE = 1 << 16
"""Maximum bytes to read of a failure's body: an error message is at most a page of text."""
_RANGE = re.compile(r"bytes[\t ]*=?[\t ]*([0-9]{1,18})-")
_FAILURES_BY_CLASS = {4: FailureKind.CLIENT_ERROR, 5: FailureKind.SERVER_ERROR}


async def read_response(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> FetchResult:
    """Return the outcome of a request with this response, and close the response."""
    try:
        if limits.keeps_coded and transfer_codings(stream.headers):
            limits = limits._replace(keeps_coded=False)  # WARC cannot describe such a body
        wanted = _wanted(request, stream, max_codings)
        if isinstance(wanted, WantedBody):
            names, verdict = wanted
            body = await read_body(_chunks(stream), names, request.max_bytes, verdict, limits)
            found = _result(stream, body)
            # A response is a file even if its body could not be read.
            is_file = body.is_file if isinstance(body, Body) else verdict is BodyVerdict.FILE
            if is_file and request.want is Want.PAGE:
                answer = found if isinstance(found, Response) else None
                refused = Refused(reason=Refusal.TYPE, cost_s=body.cost_s, answer=answer)
                return _result(stream, refused)
            return _unless_challenge(request, stream, found)
        if request.keeps_failures and isinstance(wanted, Failed):
            answer = await _answer(request, stream, limits, max_codings)
            wanted = wanted._replace(answer=answer, cost_s=answer.cost_s)
        return _unless_challenge(request, stream, wanted)
    finally:
        await stream.aclose()


def _unless_challenge(request: Request, stream: ResponseStream, found: FetchResult) -> FetchResult:
    """Return the result, or for a bot challenge a failure that names the service.

    A challenge with a status of success is not a page: it is neither parsed nor archived as one.
    """
    if isinstance(found, Failed):
        body = b"" if found.answer is None else found.answer.body
        service = challenge(stream.status, stream.headers, body)
        return found._replace(detail=f"{BLOCKS}{service}") if service else found
    if request.want not in _OF_LINKS:
        return found
    if isinstance(found, Moved) and _asks_for_cookies(request.url, found, stream.headers):
        return Failed(kind=FailureKind.CLIENT_ERROR, detail=COOKIE_WALL, status=found.status)
    if not isinstance(found, Response) or found.spooled:
        return found
    service = challenge(found.status, found.headers, found.body)
    if not service:
        return found
    return Failed(
        kind=FailureKind.CLIENT_ERROR,
        detail=f"{BLOCKS}{service}",
        status=found.status,
        cost_s=found.cost_s,
        answer=found if request.keeps_failures else None,
    )


def _asks_for_cookies(url: str, found: Moved, headers: Mapping[str, str]) -> bool:
    """Return True if a redirect only serves to set a cookie that this crawl does not take."""
    is_loop = "set-cookie" in headers and canonical(found.target, url) == url
    return is_loop or leads_to_cookie_wall(url, found.target)


class WantedBody(NamedTuple):
    """Body to read: its codings, and its verdict or the function that finds it."""

    codings: list[str]
    verdict: Judge | BodyVerdict


async def _answer(
    request: Request, stream: ResponseStream, limits: BodyLimits, max_codings: int
) -> Response:
    """Return a failure as a response to archive, without a body if it cannot be decoded."""
    names = _codings(stream.headers)
    most = min(request.max_bytes, _MOST_OF_A_FAILURE)
    if len(names) <= max_codings and stream.status not in _EMPTY:
        body = await read_body(_chunks(stream), names, most, BodyVerdict.WANTED, limits)
        found = _result(stream, body)
        if isinstance(found, Response):
            return found
    return Response(status=stream.status, headers=stream.headers, body=b"")


def _chunks(stream: ResponseStream) -> AsyncIterable[bytes] | bytes:
    """Return the complete body if it is at hand, else the stream of its chunks."""
    whole = stream.take_whole()
    return stream.body if whole is None else whole


def _codings(headers: Mapping[str, str]) -> list[str]:
    """Return the codings of a body, in the order they were applied."""
    named = headers.get("content-encoding")
    return (codings(named) if named else []) + transfer_codings(headers)


def _wanted(request: Request, stream: ResponseStream, max_codings: int) -> WantedBody | FetchResult:
    """Return the outcome if the head determines it, else the body to read."""
    status, headers = stream.status, stream.headers
    if status // 100 != _SUCCESS:
        return _other_result(request, status, headers)
    if status in _EMPTY or request.want in _HEAD_ALONE:
        return Response(status=status, headers=headers, body=b"")
    if status == HTTPStatus.PARTIAL_CONTENT:
        part = _RANGE.match(headers.get("content-range", ""))
        if part and (first := int(part[1])):
            detail = f"a part from byte {first} on, though the whole was asked for"
            return Failed(kind=FailureKind.PROTOCOL, detail=detail, status=status)
    verdict = _verdict(request, headers.get("content-type"))
    names = _codings(headers)
    is_too_deep = len(names) > max_codings
    is_other = verdict is BodyVerdict.FILE and request.want is Want.PAGE
    if verdict is BodyVerdict.UNWANTED or (is_too_deep and is_other):
        return _result(stream, Refused(reason=Refusal.TYPE))
    if is_too_deep:
        detail = f"{len(names)} codings, one over another"
        return Failed(kind=FailureKind.ENCODING, detail=detail, status=status)
    return WantedBody(names, verdict)


def _other_result(request: Request, status: int, headers: Mapping[str, str]) -> FetchResult:
    if status in _REDIRECTS:
        return _redirect(status, headers.get("location", ""))
    if status == HTTPStatus.NOT_MODIFIED and (request.etag or request.last_modified):
        return Unchanged(fresh_s=max_age_s(headers))
    by_class = _FAILURES_BY_CLASS.get(status // 100, FailureKind.BAD_STATUS)
    kind = _FAILURES.get(status, by_class)
    return Failed(kind=kind, status=status, retry_after=headers.get("retry-after"))


def _redirect(status: int, target: str) -> Moved | Failed:
    if target and len(target) <= MOST_CHARACTERS and CONFLICT not in target:
        is_absolute = target.lower().startswith(("http", "//"))
        return Moved(status=status, target=without_login(target) if is_absolute else target)
    detail = "no Location"
    if CONFLICT in target:
        detail = "Locations that differ"
    elif target:
        detail = f"a Location of more than {MOST_CHARACTERS:,} characters"
    return Failed(kind=FailureKind.BAD_REDIRECT, detail=detail, status=status)


def _result(stream: ResponseStream, body: Body | Failed | Refused) -> FetchResult:
    status, headers = stream.status, stream.headers
    if isinstance(body, Refused):
        essence, _ = parse_content_type(headers.get("content-type"))
        return body._replace(detail=essence or NO_TYPE, status=status)
    if isinstance(body, Failed):
        return body._replace(status=status)
    cut, cut_detail = body.cut, body.cut_detail
    if status == HTTPStatus.PARTIAL_CONTENT and cut in (None, FailureKind.TOO_LARGE):
        cut, cut_detail = FailureKind.PROTOCOL, "a part, though the whole was asked for"
    return Response(
        status=status,
        headers=headers,
        body=body.content,
        wire_bytes=body.wire_bytes,
        cut=cut,
        cut_detail=cut_detail,
        cost_s=body.cost_s,
        spooled=body.spooled,
        wire=Wire(b"", b"", body=body.coded) if any(body.coded) else None,
    )


def _verdict(request: Request, content_type: str | None) -> Judge | BodyVerdict:
    """Return the verdict on a body, or a function of its first bytes if its type is not enough."""
    if request.want is not Want.PAGE:
        return _VERDICTS.get(request.want, BodyVerdict.WANTED)
    url, types = request.url, request.types
    wanted, other = is_wanted(content_type, url, types), BodyVerdict.UNWANTED
    if request.file_bytes:
        other = BodyVerdict.FILE
    document = BodyVerdict.WANTED
    if request.file_bytes > request.max_bytes:
        # The first part of a page is of use; that of a PDF cannot be read at all.
        document = BodyVerdict.DOCUMENT
    if wanted is False:
        return other
    if wanted:
        if document is not BodyVerdict.WANTED and parse_content_type(content_type)[0] in HTML_TYPES:
            return BodyVerdict.WANTED
        return document
    verdicts = {
        None: other,
        DocumentType.HTML: BodyVerdict.WANTED,
        DocumentType.SITEMAP: BodyVerdict.LIST,
    }
    return lambda first_bytes: verdicts.get(
        type_of(content_type, url, first_bytes, types), document
    )


_VERDICTS = {Want.SITEMAP: BodyVerdict.LIST, Want.FILE: BodyVerdict.FILE}
