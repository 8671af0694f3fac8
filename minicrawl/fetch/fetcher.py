"""Fetches one URL. The outcome is always a value, never an exception.

Laws: one deadline covers a request from look-up to body; only the body of a file has more time. If
the deadline cuts a body, the part that was read is used. Redirects are results and are not
followed. Only proxies that the settings name and logins given to the fetcher are used. Every
connection goes to an address that the resolver allows. Modules that a crawl does not need, such as
proxies, are not imported.
"""

import asyncio
import resource
import ssl
from collections.abc import Callable, Collection
from time import perf_counter
from typing import TYPE_CHECKING, Self

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.values.kinds import ENVIRONMENT, OFF
from minicrawl.fetch.access.headers import RequestHeaders
from minicrawl.fetch.access.logins import AccessByOrigin, LoginTransport
from minicrawl.fetch.body.reading import BodyLimits, DecodeBudget
from minicrawl.fetch.client.client import HttpClient, Pace
from minicrawl.fetch.client.dialing import Connector, Dialer
from minicrawl.fetch.client.httpx_transport import HttpxTransport
from minicrawl.fetch.http.faults import EXPECTED, Fault, failure
from minicrawl.fetch.http.heads import take_cookies
from minicrawl.fetch.http.messages import (
    ResponseStream,
    Transport,
    TransportRequest,
    without_secrets,
)
from minicrawl.fetch.http.targets import ConnectTarget, Origin, Target, target
from minicrawl.fetch.outcome import read_response, with_cut_head, with_wire
from minicrawl.fetch.resolver.lookups import Lookup
from minicrawl.fetch.resolver.name_servers import lookup_of
from minicrawl.fetch.resolver.resolver import HostAndPort, Resolver, unresolved
from minicrawl.fetch.resolver.rules import ResolveRules, parse_rule
from minicrawl.fetch.tls.contexts import TlsContexts
from minicrawl.model import Failed, FetchResult, Refused, Request, Want, Wire
from minicrawl.states import State
from minicrawl.web.urls import posted_to

if TYPE_CHECKING:
    import httpx

DEFAULT_ACCESS = Access()
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 1.0, 15.0
_KEPT_DELAYS = 4
"""Request delays for which an idle connection is kept. Many servers close one after 5 s; with the
usual delay of 1 s, we close it before."""
_MOST_KEPT = 2000
_METHODS = {Want.HEAD: "HEAD", Want.PREFLIGHT: "OPTIONS"}


def pace_of(politeness: Politeness) -> Pace:
    """Return the pool limits. A connection is kept while the host's next request may soon come."""
    delay_s = politeness.delay_after(None)
    keep_s = min(max(_KEPT_DELAYS * delay_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_KEPT * 2 if soft == resource.RLIM_INFINITY else soft
    most_idle = max(politeness.concurrency, min(_MOST_KEPT, files // 2))
    # Only requests on kept connections are repeated, and their hosts have delays below `keep_s`: a
    # pause of `keep_s` respects them.
    return Pace(politeness.concurrency, most_idle, keep_s, keep_s if delay_s else 0.0)


class HttpFetcher:
    """HTTP fetcher for one crawl; with a transport of httpx in place of its own client."""

    def __init__(  # all but the first two are keyword-only
        self,
        network: Network,
        politeness: Politeness,
        *,
        trusted_hosts: Collection[HostAndPort] = (),
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
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
        self._resolver_of: Callable[[Origin], Resolver] = lambda _origin: self._resolver
        self._transport: Transport
        if transport:
            self._transport = HttpxTransport(transport)
        else:
            contexts = TlsContexts(network, tls)
            connector = Connector(network.timeout_s, network.bind_address)
            dialer = Dialer(connector, contexts)
            if network.host_settings or any(text != ENVIRONMENT for text in network.proxy):
                from minicrawl.fetch.proxy.dialing import ProxyDialer

                dialer = proxied = ProxyDialer(network, connector, contexts, lookup)
                self._resolver_of = proxied.resolvers(self._resolver)
            most, is_raw = network.max_head_bytes, network.raw_bodies
            self._transport = HttpClient(pace, dialer, max_head_bytes=most, is_raw=is_raw)
        # Below the logins: a request that is repeated with a login is signed anew.
        if access.sign_requests:
            from minicrawl.fetch.access.signing import SigningTransport

            self._transport = SigningTransport.by_settings(
                self._transport, access.sign_requests, politeness.contact, pace.pause_s
            )
        if logins:
            self._transport = LoginTransport(self._transport, logins, pace.pause_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
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
                fetched = fetched._replace(answer=with_cut_head(wire, fetched.detail))
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
            raise Fault(State.TIMEOUT, detail) from error

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address that a fetch of this URL would connect to first."""
        try:
            async with asyncio.timeout(self._timeout_s):
                located = await self._located(url)
        except TimeoutError:
            detail = f"no address in {self._timeout_s:g} s"
            return Failed(kind=State.TIMEOUT, detail=detail)
        if isinstance(located, Refused | Failed):
            return located
        _, places = located
        return places[0].address

    async def _located(
        self, url: str
    ) -> tuple[Target, tuple[ConnectTarget, ...]] | Refused | Failed:
        place = target(url)
        if place is None:
            return Refused(reason=State.ADDRESS, detail="neither http nor https")
        origin = place.origin
        places = await self._resolver_of(origin).locate(origin.host, origin.port)
        return places if isinstance(places, Refused | Failed) else (place, places)
