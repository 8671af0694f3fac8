from pathlib import Path

import pytest

from minicrawl.config import Network
from minicrawl.config.values import ENVIRONMENT
from minicrawl.errors import UsageError
from minicrawl.fetch.opening import known
from minicrawl.fetch.proxy import (
    Proxy,
    ProxyRoutes,
    hosts_without_proxy,
    names_of_proxies,
    parse_proxy,
    with_known_proxies,
)
from minicrawl.fetch.transport import Origin, target

A, B = "http://a.proxy:3128", "socks5h://b.proxy:1080"


def origin(url: str) -> Origin:
    found = target(url)
    assert found
    return found.origin


def routes(network: Network) -> ProxyRoutes:
    return ProxyRoutes(network.proxy, network.no_proxy)


def chosen(network: Network, url: str) -> list[str]:
    return [str(proxy) for proxy in routes(network).proxies_of(origin(url))]


def test_a_url_names_a_proxy_and_its_login_is_not_shown() -> None:
    scheme, proxy = parse_proxy("https=socks5h://m%40e:p%3Aw=1@[::1]:9050")
    assert scheme == "https"
    assert proxy == Proxy("socks5h", "::1", 9050, "m@e", "p:w=1")
    assert str(proxy) == repr(proxy) == "socks5h://[::1]:9050"


@pytest.mark.parametrize(
    ("url", "port"), [("http://p", 80), ("https://p", 443), ("socks5://p", 1080)]
)
def test_a_proxy_has_the_usual_port(url: str, port: int) -> None:
    assert parse_proxy(url).proxy.port == port


def test_without_a_word_of_proxies_nothing_changes() -> None:
    network = Network()
    assert known(network, {"PATH": "/bin"}) is network


def test_the_environment_names_proxies_by_the_scheme_of_the_page() -> None:
    network = known(Network(), {"HTTP_PROXY": A, "https_proxy": B})
    assert chosen(network, "http://e.org/") == [A]
    assert chosen(network, "https://e.org/") == [B]


def test_the_proxy_for_all_is_for_what_has_none_of_its_own() -> None:
    network = known(Network(), {"HTTP_PROXY": A, "ALL_PROXY": B})
    assert chosen(network, "http://e.org/") == [A]
    assert chosen(network, "https://e.org/") == [B]
    assert chosen(known(Network(), {"all_proxy": B}), "http://e.org/") == [B]


def test_small_letters_come_first_and_a_scheme_may_be_missing() -> None:
    environ = {"HTTP_PROXY": "http://no:1", "http_proxy": "a.proxy:3128"}
    assert chosen(known(Network(), environ), "http://e.org/") == [A]
    assert names_of_proxies(Network(), environ) == "http_proxy"


@pytest.mark.parametrize("url", ["http://localhost:8000/", "http://127.0.0.1/", "http://[::1]/"])
def test_this_machine_needs_no_proxy_of_the_environment(url: str) -> None:
    assert chosen(known(Network(), {"ALL_PROXY": B}), url) == []
    assert chosen(known(Network(proxy=(B,)), {}), url) == [B]


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
def test_hosts_domains_ports_and_networks_may_be_asked_without_a_proxy(
    url: str, is_bypassed: bool
) -> None:
    environ = {"ALL_PROXY": B, "NO_PROXY": ".example.org, b.test:8080 10.0.0.0/8,fd00::/8"}
    assert (chosen(known(Network(), environ), url) == []) is is_bypassed


def test_all_hosts_may_be_asked_without_a_proxy_and_the_settings_win() -> None:
    environ = {"NO_PROXY": "*"}
    assert chosen(known(Network(proxy=(A,)), environ), "http://e.org/") == []
    assert chosen(known(Network(proxy=(A,), no_proxy=()), environ), "http://e.org/") == [A]
    assert known(Network(proxy=()), {"HTTP_PROXY": A}).proxy == ()


def test_hosts_without_a_proxy_are_told_with_what_names_them() -> None:
    environ = {"NO_PROXY": "a.example, 10.0.0.0/8"}
    assert hosts_without_proxy(Network(), {}) == ""
    assert (
        hosts_without_proxy(Network(), environ)
        == "without a proxy: a.example, 10.0.0.0/8 (NO_PROXY)"
    )
    both = Network(no_proxy=("b.example", ENVIRONMENT))
    hosts = "b.example, a.example, 10.0.0.0/8"
    assert hosts_without_proxy(both, environ) == f"without a proxy: {hosts} (NO_PROXY)"
    assert hosts_without_proxy(both, {}) == "without a proxy: b.example"
    many = Network(no_proxy=tuple(f"{name}.example" for name in "abcdefg"))
    assert "d.example, e.example and 2 more" in hosts_without_proxy(many, environ)


def test_a_file_has_a_proxy_a_line(tmp_path: Path) -> None:
    file = tmp_path / "proxies"
    file.write_text(f"# ours\n{A}\n\n{B}\n")
    network = with_known_proxies(Network(proxy=(f"@{file}",)), {})
    assert network.proxy == (A, B)
    assert names_of_proxies(Network(proxy=(f"@{file}",)), {}) == "--proxy"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        (b"", "holds no proxy"),
        (b"\xff", "not UTF-8"),
        (b"ok://me:secret@x\n", "proxies:1=ok://\\*\\*\\*@x: must be a URL"),
    ],
)
def test_a_file_that_names_no_proxy_is_refused(
    text: bytes | None, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "proxies"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(UsageError, match=why) as caught:
        with_known_proxies(Network(proxy=(f"@{file}",)), {})
    assert "secret" not in str(caught.value)


def test_a_variable_that_names_no_proxy_is_refused_without_its_login() -> None:
    with pytest.raises(UsageError, match=r"HTTP_PROXY=ftp://\*\*\*@x: must be") as caught:
        known(Network(), {"HTTP_PROXY": "ftp://me:secret@x"})
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match=r"NO_PROXY=a/b: must be"):
        known(Network(), {"HTTP_PROXY": A, "NO_PROXY": "a/b"})


def test_of_several_proxies_each_host_has_its_own_and_keeps_it() -> None:
    proxies = [f"http://p{number}.proxy:80" for number in range(4)]
    hosts = [f"http://h{number}.example/" for number in range(400)]
    first = {url: chosen(Network(proxy=tuple(proxies)), url) for url in hosts}
    assert all(sorted(found) == sorted(proxies) for found in first.values())
    shares = [sum(found[0] == proxy for found in first.values()) for proxy in proxies]
    assert min(shares) > 50
    for url, found in first.items():  # without one proxy, only its own hosts move
        rest = chosen(Network(proxy=tuple(proxies[1:])), url)
        assert rest == [proxy for proxy in found if proxy != proxies[0]]
