"""Requests through proxies that run beside the tests: what servers, proxies and users get."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
import trustme

from minicrawl.config import Network, Politeness
from minicrawl.errors import UsageError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.proxy import check_proxies
from minicrawl.fetch.resolver import LookupAnswer
from minicrawl.model import Failed, FailureKind, FetchResult, Refused, Request, Response
from tests.fetch.proxy.servers import ProxyServer, proxy_server
from tests.fetch.wire import FAULTS, ODD_PAGE, ODDITIES, Answer, Wire, answer, wire

T = TypeVar("T")
PAGE = b"<html><a href=/x>x</a></html>"
SCHEMES = ("http", "socks5", "socks5h")


async def no_names(host: str) -> LookupAnswer:
    raise OSError(f"the tests know no {host}")


def network_of(
    *proxies: str, no_proxy: tuple[str, ...] = (), resolve: tuple[str, ...] = ()
) -> Network:
    return Network(
        timeout_s=60, proxy=proxies, no_proxy=no_proxy, allow_private=True, resolve=resolve
    )


async def ask(network: Network, url: str, tls: ssl.SSLContext | None = None) -> FetchResult:
    async with HttpFetcher(network, Politeness(), lookup=no_names, tls=tls) as asker:
        return await asker.fetch(Request(url=url))


def meet(
    scheme: str,
    proxy: ProxyServer,
    talk: Callable[[Wire, str], Awaitable[T]],
    *answers: Answer,
    tls: ssl.SSLContext | None = None,
) -> T:
    async def meeting() -> T:
        async with (
            wire(*(answers or [answer(PAGE)]), tls=tls) as server,
            proxy_server(scheme, proxy),
        ):
            return await talk(server, f"127.0.0.1:{proxy.port}")

    return asyncio.run(meeting())


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_the_name_of_a_host_is_resolved_by_its_proxy(scheme: str) -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"{scheme}://{at}"), server.url("/a", host="a.example"))

    proxy = ProxyServer()
    page = meet(scheme, proxy, talk)
    assert isinstance(page, Response)
    assert page.body == PAGE
    assert proxy.asked[0].removeprefix("GET http://").startswith("a.example:")


def test_socks5_is_given_the_address_that_was_judged() -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        rules = ("a.example=127.0.0.1",)
        return await ask(network_of(f"socks5://{at}", resolve=rules), server.url(host="a.example"))

    proxy = ProxyServer()
    assert isinstance(meet("socks5", proxy, talk), Response)
    assert proxy.asked[0].startswith("127.0.0.1:")


def test_a_name_that_only_the_proxy_could_resolve_is_not_asked_through_socks5() -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"socks5://{at}"), server.url(host="a.example"))

    proxy = ProxyServer()
    failed = meet("socks5", proxy, talk)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.DNS
    assert proxy.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_private_address_is_not_asked_through_a_proxy_either(scheme: str) -> None:
    async def talk(server: Wire, at: str) -> list[FetchResult]:
        network = Network(timeout_s=60, proxy=(f"{scheme}://{at}",), no_proxy=())
        hosts = ("127.0.0.1", "10.0.0.1", "localhost", "169.254.169.254")
        return [await ask(network, server.url(host=host)) for host in hosts]

    proxy = ProxyServer()
    found = meet(scheme, proxy, talk)
    assert all(isinstance(one, Refused | Failed) for one in found)
    assert proxy.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_https_runs_through_a_tunnel_and_its_certificate_is_checked(scheme: str) -> None:
    authority = trustme.CA()
    of_server, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("a.example").configure_cert(of_server)
    authority.configure_trust(ours)
    rules = ("*.example=127.0.0.1",) if scheme == "socks5" else ()

    async def talk(server: Wire, at: str) -> list[FetchResult]:
        network = network_of(f"{scheme}://{at}", resolve=rules)
        urls = (server.url(host=host, scheme="https") for host in ("a.example", "b.example"))
        return [await ask(network, url, ours) for url in urls]

    page, other = meet(scheme, ProxyServer(), talk, tls=of_server)
    assert isinstance(page, Response)
    assert page.body == PAGE
    assert isinstance(other, Failed)
    assert other.kind is FailureKind.TLS
    assert "the certificate is for other hosts" in other.detail


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_login_is_given_to_the_proxy_and_to_nobody_else(scheme: str) -> None:
    async def talk(server: Wire, at: str) -> list[bytes]:
        network = network_of(f"{scheme}://me:s%3Acret@{at}")
        assert await check_proxies(network) == []
        page = await ask(network, server.url())
        assert isinstance(page, Response), page
        return server.asked

    (asked,) = meet(scheme, ProxyServer(wants_login=True), talk)
    # The proxy of these tests hands everything on; a real one keeps the login to itself.
    assert (b"Proxy-Authorization" in asked) == (scheme == "http")
    assert b"cret" not in asked


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("login", ["", "you:wr0ng@"])
def test_a_proxy_that_demands_another_login_is_refused_before_the_first_request(
    scheme: str, login: str
) -> None:
    async def talk(_: Wire, at: str) -> str:
        with pytest.raises(UsageError, match="login") as caught:
            await check_proxies(network_of(f"{scheme}://{login}{at}"))
        return str(caught.value)

    said = meet(scheme, ProxyServer(wants_login=True), talk)
    assert "wr0ng" not in said
    assert f"proxy {scheme}://127.0.0.1:" in said


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_that_fails_while_the_crawl_runs_is_not_the_fault_of_the_host(scheme: str) -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"{scheme}://me:wr0ng@{at}"), server.url())

    failed = meet(scheme, ProxyServer(wants_login=True), talk)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.PROXY
    assert "wr0ng" not in failed.detail


@pytest.mark.parametrize(
    ("scheme", "reply", "kind"),
    [
        ("http", 403, FailureKind.PROXY),
        ("http", 502, FailureKind.CONNECT),
        ("socks5h", 1, FailureKind.CONNECT),
        ("socks5h", 2, FailureKind.PROXY),
        ("socks5h", 5, FailureKind.CONNECT),
        ("socks5h", 8, FailureKind.PROXY),
        ("socks5h", 99, FailureKind.PROXY),
    ],
)
def test_what_a_proxy_says_of_the_host_is_told_from_what_it_says_of_itself(
    scheme: str, reply: int, kind: FailureKind
) -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"{scheme}://{at}"), server.url(scheme="https"))

    failed = meet(scheme, ProxyServer(reply=reply), talk)
    assert isinstance(failed, Failed)
    assert failed.kind is kind


@pytest.mark.parametrize("fault", ["closed at once", "no HTTP", "a header without end"])
def test_what_is_no_proxy_is_refused(fault: str) -> None:
    async def meeting() -> str:
        async with wire(FAULTS[fault]) as server:
            with pytest.raises(UsageError) as caught:
                await check_proxies(network_of(f"http://127.0.0.1:{server.port}"))
        return str(caught.value)

    assert "proxy http://127.0.0.1:" in asyncio.run(meeting())


def test_a_proxy_that_is_down_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^proxy http://127\.0\.0\.1:1: .*refused|failed"):
        asyncio.run(check_proxies(network_of("http://127.0.0.1:1")))


@pytest.mark.parametrize("down", ["socks5h://127.0.0.1:1", "http://login.localhost:1"])
def test_of_several_proxies_one_that_is_down_is_told_and_replaced(down: str) -> None:
    async def talk(server: Wire, at: str) -> tuple[list[str], FetchResult]:
        network = network_of(down, f"socks5h://{at}")
        return await check_proxies(network), await ask(network, server.url())

    (told,), page = meet("socks5h", ProxyServer(), talk)
    assert told.startswith(f"proxy {down}: ")
    assert isinstance(page, Response)


def test_hosts_that_are_asked_without_a_proxy_are_asked_directly() -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"http://{at}", no_proxy=("127.0.0.0/8",)), server.url())

    proxy = ProxyServer()
    assert isinstance(meet("http", proxy, talk), Response)
    assert proxy.asked == []


def test_a_connection_through_a_proxy_is_kept_for_the_next_request() -> None:
    async def talk(server: Wire, at: str) -> int:
        async with HttpFetcher(network_of(f"socks5h://{at}"), Politeness()) as asker:
            for _ in range(3):
                assert isinstance(await asker.fetch(Request(url=server.url())), Response)
        return server.connections

    proxy = ProxyServer()
    assert meet("socks5h", proxy, talk) == len(proxy.asked) == 1


@pytest.mark.parametrize("oddity", ODDITIES)
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_what_browsers_forgive_is_forgiven_behind_a_proxy_as_well(scheme: str, oddity: str) -> None:
    async def talk(server: Wire, at: str) -> FetchResult:
        return await ask(network_of(f"{scheme}://{at}"), server.url())

    page = meet(scheme, ProxyServer(), talk, ODDITIES[oddity])
    assert isinstance(page, Response), page
    assert page.body == ODD_PAGE
