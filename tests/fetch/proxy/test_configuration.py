from pathlib import Path

import pytest

from minicrawl.config import Network
from minicrawl.errors import UsageError
from minicrawl.fetch.http.targets import target
from minicrawl.fetch.proxy.configuration import (
    hosts_without_proxy,
    sources_of_proxies,
    with_known_proxies,
)
from minicrawl.fetch.proxy.proxies import Proxy, ProxyRoutes, parse_proxy
from minicrawl.fetch.reach import network_with_proxies

A, B = "http://a.proxy:3128", "socks5h://b.proxy:1080"


def chosen(network: Network, url: str) -> list[str]:
    place = target(url)
    assert place
    routes = ProxyRoutes(network.proxy, network.no_proxy)
    return [str(proxy) for proxy in routes.proxies_of(place.origin)]


def test_a_url_names_a_proxy_and_its_login_is_not_shown() -> None:
    scheme, proxy = parse_proxy("https=socks5h://m%40e:p%3Aw=1@[::1]:9050")
    assert scheme == "https"
    assert proxy == Proxy("socks5h", "::1", 9050, "m@e", "p:w=1")
    assert str(proxy) == repr(proxy) == "socks5h://[::1]:9050"


@pytest.mark.parametrize(
    ("url", "port"), [("http://p", 80), ("https://p", 443), ("socks5://p", 1080)]
)
def test_a_proxy_without_a_port_has_that_of_its_scheme(url: str, port: int) -> None:
    _, proxy = parse_proxy(url)
    assert proxy.port == port


@pytest.mark.parametrize(
    ("proxies", "environ", "url", "expected"),
    [
        ((), {"HTTP_PROXY": A, "https_proxy": B}, "http://e.org/", [A]),
        ((), {"HTTP_PROXY": A, "https_proxy": B}, "https://e.org/", [B]),
        ((), {"HTTP_PROXY": A, "ALL_PROXY": B}, "http://e.org/", [A]),
        ((), {"HTTP_PROXY": A, "ALL_PROXY": B}, "https://e.org/", [B]),
        ((), {"all_proxy": B}, "http://e.org/", [B]),
        ((), {"HTTP_PROXY": "http://no:1", "http_proxy": "a.proxy:3128"}, "http://e.org/", [A]),
        ((), {"ALL_PROXY": B}, "http://localhost:8000/", []),
        ((), {"ALL_PROXY": B}, "http://127.0.0.1/", []),
        ((), {"ALL_PROXY": B}, "http://[::1]/", []),
        ((B,), {}, "http://[::1]/", [B]),
    ],
)
def test_the_environment_names_proxies_by_scheme_but_not_for_this_machine(
    proxies: tuple[str, ...], environ: dict[str, str], url: str, expected: list[str]
) -> None:
    network = Network(proxy=proxies) if proxies else Network()
    assert chosen(network_with_proxies(network, environ), url) == expected


def test_lower_case_variables_come_first() -> None:
    assert sources_of_proxies(Network(), {"HTTP_PROXY": A, "http_proxy": B}) == "http_proxy"


@pytest.mark.parametrize(
    ("url", "is_bypassed"),
    [
        ("http://example.org/", True),
        ("http://www.example.org/", True),
        ("http://notexample.org/", False),
        ("http://b.test:8080/", True),
        ("http://b.test/", False),
        ("http://10.1.2.3/", True),
        ("http://11.1.2.3/", False),
        ("http://[fd00::1]/", True),
    ],
)
def test_no_proxy_takes_hosts_domains_ports_and_networks(url: str, is_bypassed: bool) -> None:
    environ = {"ALL_PROXY": B, "NO_PROXY": ".example.org, b.test:8080 10.0.0.0/8,fd00::/8"}
    assert (chosen(network_with_proxies(Network(), environ), url) == []) is is_bypassed


def test_no_proxy_may_name_all_hosts_and_settings_override_it() -> None:
    environ = {"NO_PROXY": "*"}
    assert chosen(network_with_proxies(Network(proxy=(A,)), environ), "http://e.org/") == []
    assert chosen(
        network_with_proxies(Network(proxy=(A,), no_proxy=()), environ), "http://e.org/"
    ) == [A]
    assert network_with_proxies(Network(proxy=()), {"HTTP_PROXY": A}).proxy == ()


def test_hosts_without_a_proxy_are_listed_with_the_variable_that_names_them() -> None:
    environ = {"NO_PROXY": "a.example, 10.0.0.0/8"}
    assert hosts_without_proxy(Network(), {}) == ""
    assert "a.example, 10.0.0.0/8 (NO_PROXY)" in hosts_without_proxy(Network(), environ)
    both = Network(no_proxy=("b.example", "environment"))
    listed = hosts_without_proxy(both, environ)
    assert "b.example, a.example, 10.0.0.0/8 (NO_PROXY)" in listed
    assert hosts_without_proxy(both, {}).endswith("b.example")
    many = Network(no_proxy=tuple(f"{name}.example" for name in "abcdefg"))
    assert "d.example, e.example and 2 more" in hosts_without_proxy(many, environ)


def test_a_file_has_one_proxy_a_line(tmp_path: Path) -> None:
    file = tmp_path / "proxies"
    file.write_text(f"# ours\n{A}\n\n{B}\n")
    network = with_known_proxies(Network(proxy=(f"@{file}",)), {})
    assert network.proxy == (A, B)
    assert sources_of_proxies(Network(proxy=(f"@{file}",)), {}) == "--proxy"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        (b"", "holds no proxy"),
        (b"\xff", "not UTF-8"),
        (b"ok://me:secret@x\n", "proxies:1=ok://\\*\\*\\*@x: must be a URL"),
    ],
)
def test_a_file_without_usable_proxies_is_refused(
    text: bytes | None, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "proxies"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(UsageError, match=why) as caught:
        with_known_proxies(Network(proxy=(f"@{file}",)), {})
    assert "secret" not in str(caught.value)


def test_a_bad_variable_is_refused_without_showing_its_login() -> None:
    with pytest.raises(UsageError, match=r"HTTP_PROXY=ftp://\*\*\*@x: must be") as caught:
        network_with_proxies(Network(), {"HTTP_PROXY": "ftp://me:secret@x"})
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match=r"NO_PROXY=a/b: must be"):
        network_with_proxies(Network(), {"HTTP_PROXY": A, "NO_PROXY": "a/b"})


def test_hosts_are_spread_over_proxies_and_keep_theirs_when_another_goes() -> None:
    proxies = [f"http://p{number}.proxy:80" for number in range(4)]
    hosts = [f"http://h{number}.example/" for number in range(400)]
    first = {url: chosen(Network(proxy=tuple(proxies)), url) for url in hosts}
    assert all(sorted(found) == sorted(proxies) for found in first.values())
    shares = [sum(found[0] == proxy for found in first.values()) for proxy in proxies]
    assert min(shares) > 50
    for url, found in first.items():  # without one proxy, only the hosts it had move
        rest = chosen(Network(proxy=tuple(proxies[1:])), url)
        assert rest == [proxy for proxy in found if proxy != proxies[0]]
