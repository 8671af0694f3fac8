"""Requests to nginx with TLS and client certificates, directly and through real proxies."""

import asyncio
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from minicrawl.config import Network, Politeness
from minicrawl.errors import UsageError
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.proxy.dialing import check_proxies
from minicrawl.model import Failed, FetchResult, Request, Response
from minicrawl.states import State
from tests.real.daemons import free_port, needs, program, running, tinyproxy
from tests.real.nginx import running_nginx, write_certificates

HOST = "site.example"
LOGIN = "me:secret"
PAGES = 5

_LOG_FORMAT = "$server_port $server_protocol $remote_addr $request_uri $http_proxy_authorization"
_NGINX = """
    types {{ text/html html; }}
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    gzip on;
    root {folder}/pages;
    server {{ listen 127.0.0.1:{plain}; }}
    server {{ listen 127.0.0.1:{tls} ssl; }}
    server {{
        listen 127.0.0.1:{client} ssl;
        ssl_client_certificate {folder}/our-authority.pem;
        ssl_verify_client on;
    }}
    server {{ listen 127.0.0.1:{newest} ssl; ssl_protocols TLSv1.3; }}
    server {{
        listen 127.0.0.1:{expired} ssl;
        ssl_certificate {folder}/expired.pem;
        ssl_certificate_key {folder}/expired.key;
    }}
"""
_SQUID = """
{listens}
{login}
acl all_of_us src 127.0.0.0/8
http_access {who}
http_access deny all
pid_filename none
cache deny all
access_log none
cache_log {folder}/squid-cache.log
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
hosts_file {folder}/hosts
cache_effective_user {user}
"""
_SQUID_LOGIN = """
auth_param basic program /usr/lib/squid/basic_ncsa_auth {folder}/logins
acl known proxy_auth REQUIRED
"""

pytestmark = needs("nginx")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Ports of nginx by the kind of server, and files for TLS."""

    ports: dict[str, int]
    folder: Path

    def url(self, kind: str, page: int = 0, host: str = HOST) -> str:
        scheme = "http" if kind == "plain" else "https"
        return f"{scheme}://{host}:{self.ports[kind]}/{page}.html"

    def asked(self, kind: str) -> list[str]:
        """Return the protocol, client, page and proxy login of each request to a server."""
        lines = (self.folder / "requests").read_text().splitlines()
        port = f"{self.ports[kind]} "
        return [line.removeprefix(port) for line in lines if line.startswith(port)]

    @property
    def network(self) -> Network:
        """Settings that trust the site, and send it our certificate."""
        return Network(
            timeout_s=20,
            resolve=(f"{HOST}=127.0.0.1",),
            ca=self.folder / "our-authority.pem",
            client_cert=(f"{HOST}={self.folder}/us.pem",),
            proxy=(),
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    folder.chmod(0o755)
    kinds = ("plain", "tls", "client", "newest", "expired")
    found = Site(ports={kind: free_port() for kind in kinds}, folder=folder)
    write_certificates(folder, HOST, "127.0.0.1", "localhost")
    (folder / "pages").mkdir()
    for page in range(PAGES):
        (folder / "pages" / f"{page}.html").write_text(f"<title>{page}</title>" + "<p>text" * 9999)
    http = _NGINX.format(folder=folder, **found.ports)
    with running_nginx(http, _LOG_FORMAT, folder, found.ports.values()):
        yield found


def _tinyproxy(folder: Path, login: str, _site: Site) -> tuple[list[str | Path], int]:
    port = free_port()
    return tinyproxy(folder / "tinyproxy.conf", port, login), port


def _squid(folder: Path, login: str, _site: Site) -> tuple[list[str | Path], int]:
    port = free_port()
    return _configured_squid(f"http_port 127.0.0.1:{port}", folder, login), port


def _squid_over_tls(folder: Path, login: str, site: Site) -> tuple[list[str | Path], int]:
    port = free_port()
    for name in ("server.pem", "server.key"):
        shutil.copy(site.folder / name, folder)
        (folder / name).chmod(0o644)
    shown = f"tls-cert={folder}/server.pem tls-key={folder}/server.key"
    return _configured_squid(f"https_port 127.0.0.1:{port} {shown}", folder, login), port


def _configured_squid(listens: str, folder: Path, login: str) -> list[str | Path]:
    config = folder / "squid.conf"
    user, _, password = login.partition(":")
    hashing = ["openssl", "passwd", "-apr1", password or "none"]
    hashed = subprocess.run(hashing, capture_output=True, text=True, check=True).stdout
    (folder / "logins").write_text(f"{user}:{hashed}")
    (folder / "hosts").write_text(f"127.0.0.1 {HOST} localhost\n")
    name = pwd.getpwuid(os.getuid()).pw_name
    parts = {
        "login": _SQUID_LOGIN.format(folder=folder) if login else "",
        "who": "allow known" if login else "allow all_of_us",
        "user": "proxy" if name == "root" else name,
    }
    config.write_text(_SQUID.format(listens=listens, folder=folder, **parts))
    folder.chmod(0o777)  # squid writes as another user
    return [str(program("squid")), "-N", "-f", config]


def _microsocks(_folder: Path, login: str, _site: Site) -> tuple[list[str | Path], int]:
    port = free_port()
    user, _, password = login.partition(":")
    options: list[str | Path] = ["-u", user, "-P", password] if login else []
    return [str(program("microsocks")), "-i", "127.0.0.1", "-p", str(port), *options], port


PROXIES = {
    "tinyproxy": ("tinyproxy", _tinyproxy, ("http",)),
    "squid": ("squid", _squid, ("http",)),
    "squid-over-tls": ("squid", _squid_over_tls, ("https",)),
    "microsocks": ("microsocks", _microsocks, ("socks5", "socks5h")),
}


WITH_LOGIN, WITHOUT = (
    [
        pytest.param((name, login), marks=needs(daemon), id=f"{name}{'-login' if login else ''}")
        for name, (daemon, _, _) in PROXIES.items()
    ]
    for login in (LOGIN, "")
)


@pytest.fixture(scope="module", params=[*WITHOUT, *WITH_LOGIN])
def proxies(request: pytest.FixtureRequest, site: Site) -> Iterator[list[str]]:
    """Run a proxy; yield its URLs, one for each scheme."""
    name, login = request.param
    _, prepare, schemes = PROXIES[name]
    with TemporaryDirectory() as name_of_folder:  # other users may not read pytest's folders
        folder = Path(name_of_folder)
        command, port = prepare(folder, login, site)
        with running(command, [port], folder / "log"):
            address = f"{login}@127.0.0.1:{port}" if login else f"127.0.0.1:{port}"
            yield [f"{scheme}://{address}" for scheme in schemes]


def ask(network: Network, *urls: str) -> list[FetchResult]:
    async def asking() -> list[FetchResult]:
        async with HttpFetcher(network, Politeness()) as fetcher:
            return [await fetcher.fetch(Request(url=url)) for url in urls]

    return asyncio.run(asking())


KINDS = ("plain", "tls", "client", "newest")


def assert_all_read(site: Site, network: Network, kind: str) -> None:
    found = ask(network, *(site.url(kind, page) for page in range(PAGES)))
    assert [_title(one) for one in found] == list(map(str, range(PAGES)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_server_is_read_without_a_proxy(site: Site, kind: str) -> None:
    assert_all_read(site, site.network, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_server_is_read_through_every_proxy(
    site: Site, proxies: list[str], kind: str
) -> None:
    before = len(site.asked(kind))
    for proxy in proxies:
        network = replace(site.network, proxy=(proxy,), no_proxy=())
        # Proxies use another address, so nginx's log shows who has sent a request.
        network = replace(network, bind_address=("127.0.0.9",))
        assert asyncio.run(check_proxies(network)) == []
        assert_all_read(site, network, kind)
    asked = site.asked(kind)[before:]
    assert all(line.split()[1] == "127.0.0.1" for line in asked)
    assert not any("Basic" in line for line in asked)


@pytest.mark.parametrize("proxies", WITH_LOGIN, indirect=True)
def test_a_missing_or_wrong_login_is_an_error_before_the_first_request(
    site: Site, proxies: list[str]
) -> None:
    for proxy, login in product(proxies, ("", "me:wr0ng@")):
        network = replace(site.network, proxy=(proxy.replace(f"{LOGIN}@", login),), no_proxy=())
        with pytest.raises(UsageError, match="login"):
            asyncio.run(check_proxies(network))


def test_a_host_that_is_down_is_not_the_fault_of_the_proxy(site: Site, proxies: list[str]) -> None:
    for proxy in proxies:
        network = replace(site.network, proxy=(proxy,), no_proxy=())
        (failed,) = ask(network, f"https://{HOST}:{free_port()}/")
        assert isinstance(failed, Failed)
        assert failed.kind is State.CONNECT, failed


def test_failures_name_an_expired_or_missing_certificate(site: Site) -> None:
    network = site.network
    (expired,) = ask(network, site.url("expired"))
    (anonymous,) = ask(replace(network, client_cert=()), site.url("client"))
    assert isinstance(expired, Failed)
    assert "expired" in expired.detail
    assert isinstance(anonymous, Failed)
    assert anonymous.status == 400
    (page,) = ask(replace(network, insecure=(HOST,)), site.url("expired"))
    assert _title(page) == "0"


def _title(found: FetchResult) -> str:
    assert isinstance(found, Response), found
    return found.body.split(b"</title>")[0].removeprefix(b"<title>").decode()
