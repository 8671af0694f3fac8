"""Asks for one URL and answers with a value.

Laws: one deadline stands over everything; of a body that it cuts, what came is read. A redirect is
an answer and is not followed. No cookies, no credentials, no proxies of the environment. No
connection goes past the resolver's guard.
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
from minicrawl.fetch.failures import EXPECTED, Fault, failure
from minicrawl.fetch.outcomes import read_answer
from minicrawl.fetch.transport import ResponseStream, Transport, TransportRequest
from minicrawl.fetch.where.resolve_rules import ConnectTarget, ResolveRules, parse_rule
from minicrawl.fetch.where.resolver import HostAndPort, Lookup, Resolver, SystemLookup
from minicrawl.fetch.where.targets import Target, target
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
    """`trusted_hosts`, each with a port, may be private: `resolving.trusted_among` finds them.

    Tests give it a lookup or a TLS context of their own. A transport of httpx takes the place of
    our own client: a proxy, HTTP/2, a mock.
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
        """What came of asking for one URL, once."""
        began = perf_counter()
        until = asyncio.get_running_loop().time() + self._timeout_s
        fetched = await self._ask(request, until)
        return fetched._replace(elapsed_s=perf_counter() - began)

    async def _ask(self, request: Request, until: float) -> FetchResult:
        try:
            answer = await self._answer_in_time(request, until)
            if isinstance(answer, Refused | Failed):
                return answer
            try:
                pace = BodyLimits(self._decode_budget, until)
                return await read_answer(request, answer, pace, self._max_codings)
            finally:
                await answer.aclose()
        except EXPECTED as error:
            return failure(error)

    async def _answer_in_time(
        self, request: Request, until: float
    ) -> ResponseStream | Refused | Failed:
        """An answer whose head has come."""
        try:
            async with asyncio.timeout_at(until):
                located = await self._located(request.spelled or request.url)
                if isinstance(located, Refused | Failed):
                    return located
                return await self._transport.ask(
                    TransportRequest(*located, self._headers_of(request))
                )
        except TimeoutError as error:
            told = f"no answer in {self._timeout_s:g} s (--timeout)"
            raise Fault(FailureKind.TIMEOUT, told) from error

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
        asked = target(url)
        if asked is None:
            return Refused(reason=Refusal.ADDRESS, detail="neither http nor https")
        places = await self._resolver.locate(asked.origin.host, asked.origin.port)
        return places if isinstance(places, Refused | Failed) else (asked, places)

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
    """As long as the host may soon be asked again, or else idle connections would pile up."""
    return min(2 * delay_s + 1, _KEPT_AT_MOST_S)


def _pause_s(delay_s: float) -> float:
    """No shorter than any Crawl-delay that lets a connection be kept."""
    return _keep_s(delay_s) if delay_s else 0.0
