"""A fetcher for tests, and its results, narrowed."""

from typing import Any

from minicrawl.config import Network, Politeness
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.resolver.lookups import LookupAnswer
from minicrawl.model import Failed, FetchResult, Request, Response
from minicrawl.states import State

LOCAL = Network(timeout_s=60, allow_private=True)
"""Settings that reach servers on loopback."""


async def no_names(host: str) -> LookupAnswer:
    raise OSError(f"the tests know no {host}")


def http_fetcher(
    network: Network = LOCAL, politeness: Politeness | None = None, **given: Any
) -> HttpFetcher:
    """Return a fetcher that knows no names, unless a `lookup` is given."""
    return HttpFetcher(network, politeness or Politeness(), **{"lookup": no_names} | given)


async def ask(
    request: Request | str,
    network: Network = LOCAL,
    politeness: Politeness | None = None,
    **given: Any,
) -> FetchResult:
    """Return the result of one request, or of a page's URL."""
    async with http_fetcher(network, politeness, **given) as fetcher:
        return await fetcher.fetch(Request(url=request) if isinstance(request, str) else request)


def page_of(result: object) -> Response:
    assert isinstance(result, Response), result
    return result


def kind_of(result: object) -> State:
    assert isinstance(result, Failed), result
    return result.kind
