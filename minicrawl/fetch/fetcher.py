"""Fetches one URL and returns a value that says what came of it, never an exception.

Laws: one deadline covers everything; of a body that it cuts, the part that came is used. A redirect
is a result and is not followed. There are no cookies, no credentials and no proxies from the
environment. Every connection goes to an address that the resolver allows.
"""

import asyncio
import ssl
from collections.abc import Collection
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from minicrawl.config import Network, Politeness
from minicrawl.fetch.body.body import BodyLimits, DecodeBudget
from minicrawl.fetch.body.decoding import ACCEPTED
from minicrawl.fetch.connection.client import HttpClient
from minicrawl.fetch.connection.tls import default_tls
from minicrawl.fetch.outcomes import read_response
from minicrawl.fetch.transport import (
    EXPECTED,
    Fault,
    ResponseStream,
    Transport,
    TransportRequest,
    failure,
)
from minicrawl.fetch.where.resolver import HostAndPort, Lookup, Resolver, SystemLookup
from minicrawl.fetch.where.targets import ConnectTarget, ResolveRules, Target, parse_rule, target
from minicrawl.model import Failed, FailureKind, FetchResult, Refusal, Refused, Request, Want
from minicrawl.version import __version__

if TYPE_CHECKING:
    import httpx

_ACCEPT_TEXT = b"text/plain,application/xml,text/xml,*/*;q=0.1"
_ACCEPT = {
    Want.PAGE: b"text/html,application/xhtml+xml,application/xml;q=0.5,*/*;q=0.1",
    Want.TEXT: _ACCEPT_TEXT,
    Want.SITEMAP: _ACCEPT_TEXT,
}
_KEPT_AT_MOST_S = 15.0


class HttpFetcher:
    """`trusted_hosts`, each with a port, may be private: `resolver.trusted_among` finds them.

    Tests pass a lookup or a TLS context of their own. A transport of httpx replaces our own client:
    a proxy, HTTP/2, a mock.
    """

    def __init__(
        self,
        network: Network,
        politeness: Politeness,
        *,
        trusted_hosts: Collection[HostAndPort] = (),
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self._timeout_s, self._max_codings = network.timeout_s, network.max_codings
        self._headers = _own_headers(politeness)
        self._decode_budget = DecodeBudget(network.max_bodies_bytes)
        self._system_lookup = SystemLookup(politeness.concurrency)
        self._resolver = Resolver(
            lookup or self._system_lookup,
            rules=ResolveRules(map(parse_rule, network.resolve)),
            trusted_hosts=trusted_hosts,
            allow_private=network.allow_private,
        )
        self._transport = (
            _through_httpx(transport)
            if transport
            else HttpClient(
                tls=lambda: tls or default_tls(),
                connections=politeness.concurrency,
                keep_s=_keep_s(politeness.delay_s),
                timeout_s=network.timeout_s,
                max_head_bytes=network.max_head_bytes,
                pause_s=_pause_s(politeness.delay_s),
            )
        )

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
        self._system_lookup.close()

    async def fetch(self, request: Request) -> FetchResult:
        """Send one request, once."""
        began = perf_counter()
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        fetched: FetchResult
        try:
            stream = await self._send_by(deadline, request)
            if isinstance(stream, Refused | Failed):
                fetched = stream
            else:
                limits = BodyLimits(self._decode_budget, deadline)
                fetched = await read_response(request, stream, limits, self._max_codings)
        except EXPECTED as error:
            fetched = failure(error)
        return fetched._replace(elapsed_s=perf_counter() - began)

    async def _send_by(
        self, deadline: float, request: Request
    ) -> ResponseStream | Refused | Failed:
        """Send the request and wait for the head of its response."""
        try:
            async with asyncio.timeout_at(deadline):
                located = await self._located(request.spelled or request.url)
                if isinstance(located, Refused | Failed):
                    return located
                return await self._transport.send(
                    TransportRequest(*located, self._headers_of(request))
                )
        except TimeoutError as error:
            detail = f"no answer in {self._timeout_s:g} s (--timeout)"
            raise Fault(FailureKind.TIMEOUT, detail) from error

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to first."""
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
        places = await self._resolver.locate(wanted.origin.host, wanted.origin.port)
        return places if isinstance(places, Refused | Failed) else (wanted, places)

    def _headers_of(self, request: Request) -> list[tuple[bytes, bytes]]:
        headers = [*self._headers, (b"Accept", _ACCEPT[request.want])]
        if request.etag and request.etag.isprintable():
            headers.append((b"If-None-Match", request.etag.encode()))
        if request.last_modified and request.last_modified.isprintable():
            headers.append((b"If-Modified-Since", request.last_modified.encode()))
        return headers


def _own_headers(politeness: Politeness) -> list[tuple[bytes, bytes]]:
    agent = f"{politeness.agent}/{__version__}"
    if politeness.contact:
        agent = f"{agent} (+{politeness.contact})"
    return [(b"User-Agent", agent.encode()), (b"Accept-Encoding", ACCEPTED.encode())]


def _through_httpx(transport: "httpx.AsyncBaseTransport") -> Transport:
    from minicrawl.fetch.httpx_transport import HttpxTransport

    return HttpxTransport(transport)


def _keep_s(delay_s: float) -> float:
    """How long a connection is kept: while the next request to the host may soon come."""
    return min(2 * delay_s + 1, _KEPT_AT_MOST_S)


def _pause_s(delay_s: float) -> float:
    """At least any Crawl-delay with which connections are kept."""
    return _keep_s(delay_s) if delay_s else 0.0
