"""Requests through proxies on loopback: results, and what servers and proxies are sent."""

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from minicrawl.config import Network
from minicrawl.errors import UsageError
from minicrawl.fetch.proxy.dialing import check_proxies
from minicrawl.model import Failed, Refused, Request
from minicrawl.states import State
from tests.fetch.proxy.servers import ProxyServer, proxy_server
from tests.fetch.results import LOCAL, ask, http_fetcher, kind_of, page_of
from tests.fetch.wire import FAULTS, ODD_PAGE, ODDITIES, Answer, Wire, answer, certified, wire

PAGE = b"<html><a href=/x>x</a></html>"
SERVED = answer(PAGE)
SCHEMES = ("http", "socks5", "socks5h")


def network_of(*proxies: str, **settings: Any) -> Network:
    return replace(LOCAL, proxy=proxies, **{"no_proxy": ()} | settings)


@asynccontextmanager
async def servers(
    scheme: str,
    proxy: ProxyServer,
    to_serve: Answer = SERVED,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[Wire, str]]:
    async with wire(to_serve, tls=tls) as server, proxy_server(scheme, proxy):
        yield server, f"127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_the_name_of_a_host_is_resolved_by_its_proxy(scheme: str) -> None:
    async with servers(scheme, proxy := ProxyServer()) as (server, at):
        page = await ask(server.url("/a", host="a.example"), network_of(f"{scheme}://{at}"))
    assert page_of(page).body == PAGE
    assert proxy.asked[0].removeprefix("GET http://").startswith("a.example:")


async def test_socks5_is_given_the_address_that_was_checked() -> None:
    async with servers("socks5", proxy := ProxyServer()) as (server, at):
        network = network_of(f"socks5://{at}", resolve=("a.example=127.0.0.1",))
        page_of(await ask(server.url(host="a.example"), network))
    assert proxy.asked[0].startswith("127.0.0.1:")


async def test_a_name_that_only_the_proxy_could_resolve_fails_with_socks5() -> None:
    async with servers("socks5", proxy := ProxyServer()) as (server, at):
        failed = await ask(server.url(host="a.example"), network_of(f"socks5://{at}"))
    assert kind_of(failed) is State.DNS
    assert proxy.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_private_address_is_not_requested_through_a_proxy_either(scheme: str) -> None:
    async with servers(scheme, proxy := ProxyServer()) as (server, at):
        network = Network(timeout_s=60, proxy=(f"{scheme}://{at}",), no_proxy=())
        for host in ("127.0.0.1", "10.0.0.1", "localhost", "169.254.169.254"):
            assert isinstance(await ask(server.url(host=host), network), Refused | Failed), host
    assert proxy.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_https_runs_through_a_tunnel_and_its_certificate_is_checked(scheme: str) -> None:
    server_tls, client_tls = certified("a.example")
    rules = ("*.example=127.0.0.1",) if scheme == "socks5" else ()
    async with servers(scheme, ProxyServer(), tls=server_tls) as (server, at):
        network = network_of(f"{scheme}://{at}", resolve=rules)
        page, other = [
            await ask(server.url(host=host, scheme="https"), network, tls=client_tls)
            for host in ("a.example", "b.example")
        ]
    assert page_of(page).body == PAGE
    assert isinstance(other, Failed)
    assert other.kind is State.TLS
    assert "other hosts" in other.detail


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_login_is_sent_to_the_proxy_alone(scheme: str) -> None:
    async with servers(scheme, ProxyServer(wants_login=True)) as (server, at):
        network = network_of(f"{scheme}://me:s%3Acret@{at}")
        assert await check_proxies(network) == []
        page_of(await ask(server.url(), network))
    (request,) = server.asked
    # The HTTP proxy of these tests forwards its own header, which a real proxy removes.
    assert (b"Proxy-Authorization" in request) == (scheme == "http")
    assert b"cret" not in request


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("login", ["", "you:wr0ng@"])
async def test_a_proxy_that_demands_another_login_is_refused_before_the_first_request(
    scheme: str, login: str
) -> None:
    async with proxy_server(scheme, ProxyServer(wants_login=True)) as proxy:
        at = f"127.0.0.1:{proxy.port}"
        with pytest.raises(UsageError, match=f"proxy {scheme}://{at}.*login") as caught:
            await check_proxies(network_of(f"{scheme}://{login}{at}"))
    assert "wr0ng" not in str(caught.value)


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_failure_of_the_proxy_is_not_one_of_the_host(scheme: str) -> None:
    async with servers(scheme, ProxyServer(wants_login=True)) as (server, at):
        failed = await ask(server.url(), network_of(f"{scheme}://me:wr0ng@{at}"))
    assert isinstance(failed, Failed)
    assert failed.kind is State.PROXY
    assert "wr0ng" not in failed.detail


@pytest.mark.parametrize(
    ("scheme", "reply", "kind"),
    [
        ("http", 403, State.PROXY),
        ("http", 502, State.CONNECT),
        ("socks5h", 1, State.CONNECT),
        ("socks5h", 2, State.PROXY),
        ("socks5h", 5, State.CONNECT),
        ("socks5h", 8, State.PROXY),
        ("socks5h", 99, State.PROXY),
    ],
)
async def test_replies_about_the_host_are_distinguished_from_those_about_the_proxy(
    scheme: str, reply: int, kind: State
) -> None:
    async with servers(scheme, ProxyServer(reply=reply)) as (server, at):
        failed = await ask(server.url(scheme="https"), network_of(f"{scheme}://{at}"))
    assert kind_of(failed) is kind


@pytest.mark.parametrize("fault", ["closed at once", "no HTTP", "a header without end"])
async def test_a_server_that_is_no_proxy_is_refused(fault: str) -> None:
    async with wire(FAULTS[fault]) as server:
        with pytest.raises(UsageError, match=f"proxy http://127.0.0.1:{server.port}"):
            await check_proxies(network_of(f"http://127.0.0.1:{server.port}"))


async def test_a_proxy_that_is_down_is_refused() -> None:
    text = "proxy http://127.0.0.1:1: 127.0.0.1: Connection refused; start it, or choose another"
    with pytest.raises(UsageError, match=f"^{re.escape(text)}"):
        await check_proxies(network_of("http://127.0.0.1:1"))


@pytest.mark.parametrize("down", ["socks5h://127.0.0.1:1", "http://login.localhost:1"])
async def test_a_proxy_that_is_down_is_reported_and_another_one_used(down: str) -> None:
    async with servers("socks5h", ProxyServer()) as (server, at):
        network = network_of(down, f"socks5h://{at}")
        (warning,) = await check_proxies(network)
        page_of(await ask(server.url(), network))
    assert warning.startswith(f"proxy {down}: ")


async def test_a_redirect_in_place_of_a_tunnel_suggests_the_login_of_a_network() -> None:
    async with wire(answer(status="302 Found", headers=["Location: /login"])) as portal:
        at = f"http://127.0.0.1:{portal.port}"
        failed = await ask("https://a.example/", network_of(at))
    assert isinstance(failed, Failed)
    assert failed.detail.endswith(": 302; perhaps you must log in to your network")


async def test_hosts_of_no_proxy_are_connected_to_directly() -> None:
    async with servers("http", proxy := ProxyServer()) as (server, at):
        network = network_of(f"http://{at}", no_proxy=("127.0.0.0/8",))
        page_of(await ask(server.url(), network))
    assert proxy.asked == []


async def test_a_connection_through_a_proxy_is_kept_for_the_next_request() -> None:
    async with (
        servers("socks5h", proxy := ProxyServer()) as (server, at),
        http_fetcher(network_of(f"socks5h://{at}")) as fetcher,
    ):
        for _ in range(3):
            page_of(await fetcher.fetch(Request(url=server.url())))
    assert server.connections == len(proxy.asked) == 1


@pytest.mark.parametrize("oddity", ODDITIES)
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_oddities_that_browsers_forgive_are_forgiven_behind_a_proxy(
    scheme: str, oddity: str
) -> None:
    async with servers(scheme, ProxyServer(), ODDITIES[oddity]) as (server, at):
        page = await ask(server.url(), network_of(f"{scheme}://{at}"))
    assert page_of(page).body == ODD_PAGE
