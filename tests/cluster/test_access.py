"""One URL has the servers and the name of a crawl. Distant servers need TLS and credentials."""

from pathlib import Path

import pytest

from minicrawl import Settings
from minicrawl.cluster.access import access_of
from minicrawl.errors import UsageError


def settings(url: str | None, *insecure: str) -> Settings:
    return Settings.of(cluster=url, insecure=insecure)


@pytest.mark.parametrize(
    ("url", "servers", "name"),
    [
        ("nats://a:4222", "nats://a:4222", "crawl"),
        ("nats://a:4222/", "nats://a:4222", "crawl"),
        ("nats://a:4222/news", "nats://a:4222", "news"),
        ("nats://a:1,nats://b:2", "nats://a:1,nats://b:2", "crawl"),
        ("nats://me:pw@a:1,tls://b:2/news_2", "nats://me:pw@a:1,tls://b:2", "news_2"),
        ("nats://a", "nats://a", "crawl"),
    ],
)
def test_the_path_of_the_url_is_the_name_of_the_crawl(url: str, servers: str, name: str) -> None:
    found = access_of(settings(url, "a", "b"))
    assert (found.url, found.name) == (servers, name)


def test_the_variables_of_nats_name_credentials_and_certificates() -> None:
    environ = {"NATS_CREDS": "a", "NATS_CA": "ca.pem", "NATS_CERT": "us.pem", "NATS_KEY": ""}
    found = access_of(settings("tls://a"), environ)
    files = found.creds, found.ca, found.cert, found.key
    assert files == (Path("a"), Path("ca.pem"), Path("us.pem"), None)
    assert access_of(settings("tls://a", "a"), {}).ca is None


def test_without_a_url_the_error_names_the_option() -> None:
    with pytest.raises(UsageError, match="--cluster nats://host:4222"):
        access_of(settings(None))


@pytest.mark.parametrize(
    ("url", "insecure", "tls"),
    [
        ("nats://localhost:1", (), False),
        ("nats://127.0.0.3:1,nats://127.0.0.4:2", (), False),
        ("nats://[::1]:1", (), False),
        ("nats://me:pw@east:1", (), True),
        ("nats://me:pw@east:1", ("east",), False),
        ("nats://me:pw@a.lan:1", ("*.lan",), False),
        ("nats://me:pw@lan:1", ("*.lan",), True),
        ("nats://me:pw@a.lan:1,nats://b.wan:2", ("*.lan",), True),
        ("nats://me:pw@127.0.0.1.evil.example", (), True),
        ("nats://me:pw@localhost.evil.example", (), True),
    ],
)
def test_servers_on_other_machines_must_encrypt(
    url: str, insecure: tuple[str, ...], *, tls: bool
) -> None:
    assert access_of(settings(url, *insecure), {}).tls is tls


@pytest.mark.parametrize(
    "url", ["nats://east:4222", "tls://east", "nats://localhost:1,nats://west:2"]
)
def test_servers_on_other_machines_need_credentials(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"NATS_CREDS.*--insecure (east|west)") as refused:
        access_of(settings(url), {})
    assert "\n" not in str(refused.value)
    assert access_of(settings(url), {"NATS_CREDS": str(tmp_path)}).tls
    assert access_of(settings(url), {"NATS_CERT": "us.pem"}).tls
    assert not access_of(settings(url, "east", "west"), {}).tls
