"""Versions of nats-server that are refused, and those that get a warning."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats import connecting
from minicrawl.cluster.nats.connecting import connect
from minicrawl.cluster.server_versions import (
    RECOMMENDED,
    ServerFacts,
    Version,
    as_version,
    cautions,
    refusal,
    summary,
)
from minicrawl.cluster.servers import local_servers, server_program
from tests.cluster.engines import needs_server

CONF = Path("deploy/nats-server.conf")
GUIDE = Path("docs/how-to/crawl-with-several-machines.md")
NOW = ServerFacts("east", "2.12.3", syncs=True)


@pytest.mark.parametrize(
    ("version", "is_refused"),
    [
        ((2, 8, 4), True),
        ((2, 10, 29), True),
        ((2, 11, 0), False),
        (RECOMMENDED, False),
    ],
)
def test_versions_that_lose_streams_are_refused(version: Version, is_refused: bool) -> None:
    assert bool(refusal(version)) == is_refused


def test_older_versions_and_servers_without_sync_get_a_warning() -> None:
    assert list(cautions([NOW])) == []
    old, lazy = NOW._replace(version="2.11.0"), NOW._replace(name="west", syncs=False)
    assert [line.split(":")[0] for line in cautions([old, lazy])] == [
        "nats-server 2.11.0 may lose what it has acknowledged",
        "west",
    ]
    assert list(cautions([NOW._replace(syncs=None)])) == []


def test_status_says_whether_servers_sync_where_it_can_be_asked() -> None:
    assert summary([NOW]) == "nats-server 2.12.3; all sync"
    assert summary([NOW, NOW._replace(name="west", syncs=False)]).endswith("; no sync: west")
    assert "may ask" in summary([NOW._replace(syncs=None)])


def test_a_version_may_be_a_candidate() -> None:
    assert as_version("v2.12.3-RC.1") == as_version("2.12.3") == RECOMMENDED


@needs_server
def test_a_server_that_loses_streams_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_version_of", lambda _client: (2, 10, 21))

    async def run() -> None:
        async with local_servers(tmp_path, 1) as servers:
            with pytest.raises(EngineError, match=r"nats-server 2\.10\.21 may lose"):
                await connect(ClusterAccess(servers.url))

    asyncio.run(run())


@needs_server
def test_only_the_system_account_learns_who_syncs(tmp_path: Path) -> None:
    users = "{ user: u, password: p }"
    accounts = f"accounts {{ $SYS {{ users: [{users}] }} }}\nno_auth_user: v\n".replace(
        "} }\nno", "}, A { jetstream: enabled, users: [{ user: v, password: p }] } }\nno"
    )

    async def run() -> None:
        async with local_servers(tmp_path, 1, more=accounts) as servers:
            engine = await connect(ClusterAccess(servers.url))
            (facts,) = await engine.server_facts()
            await engine.close()
            assert (facts.name, facts.syncs) == ("server-0", None)
            client = connecting.client_for(ClusterAccess(servers.url))
            await client.connect(servers.url.replace("//", "//u:p@"))
            # A client with a login that the engine would not take from an address.
            engine._jetstream.client = client
            (asked,) = await engine.server_facts()
            await client.close()
            assert asked == facts._replace(syncs=True)

    asyncio.run(run())


def test_the_guide_and_the_file_to_deploy_sync_each_message() -> None:
    conf = CONF.read_text(encoding="utf-8")
    assert "sync_interval: always" in conf
    written = conf[conf.index("server_name: ") :]
    assert f"```text\n{written}```" in GUIDE.read_text(encoding="utf-8")


@needs_server
def test_a_server_accepts_the_file_to_deploy(tmp_path: Path) -> None:
    program = server_program() or ""
    conf = CONF.read_text(encoding="utf-8")
    conf = "".join(line for line in conf.splitlines(keepends=True) if not line.startswith("tls"))
    (tmp_path / "nats.conf").write_text(conf.replace("/srv/nats", str(tmp_path)))
    command = [program, "-t", "-c", str(tmp_path / "nats.conf")]
    done = subprocess.run(
        command, env={"CRAWLER_PASSWORD": "p"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
