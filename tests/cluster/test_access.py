"""The servers and the name of a crawl, in one URL."""

from pathlib import Path

import pytest

from minicrawl.cluster.engine import access_of
from minicrawl.config import Cluster
from minicrawl.errors import UsageError


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
def test_a_path_behind_the_servers_names_the_crawl(url: str, servers: str, name: str) -> None:
    found = access_of(Cluster(url=url))
    assert (found.url, found.name) == (servers, name)


def test_variables_of_nats_name_the_certificates() -> None:
    environ = {"NATS_CA": "ca.pem", "NATS_CERT": "us.pem", "NATS_KEY": ""}
    found = access_of(Cluster(url="tls://a"), environ)
    assert (found.ca, found.cert, found.key) == (Path("ca.pem"), Path("us.pem"), None)
    assert access_of(Cluster(url="tls://a"), {}).ca is None


def test_without_servers_there_is_no_cluster() -> None:
    with pytest.raises(UsageError, match="--cluster nats://host:4222"):
        access_of(Cluster())
