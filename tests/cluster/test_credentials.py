"""Credentials and certificates as NATS' own clients use them, against a real server."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import nkeys
import pytest
import trustme

from minicrawl import Loaded, Settings
from minicrawl.cluster import records
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats.connecting import connect
from minicrawl.cluster.servers import local_servers
from minicrawl.cluster.terms import start_or_join
from minicrawl.errors import UsageError
from tests.cluster.engines import connected, needs_server
from tests.cluster.jwt_users import SignedUsers, identity

pytestmark = pytest.mark.anyio


AccessFor = Callable[[str], ClusterAccess]


class Certificates:
    """Files of an authority, and of servers and clients with certificates that it has signed."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self._authority, self._folder = trustme.CA(), folder
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(self.ca)
        self.cert, self.key = self.issued(name)

    def issued(self, name: str) -> tuple[Path, Path]:
        issued = self._authority.issue_cert(name)
        cert, key = (self._folder / f"{name}-{what}.pem" for what in ("cert", "key"))
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        return cert, key

    def config(self, *, verify: bool) -> str:
        files = f'cert_file: "{self.cert}", key_file: "{self.key}", ca_file: "{self.ca}"'
        return f"tls {{ {files}, verify: {str(verify).lower()} }}"


class Credentials(NamedTuple):
    """Configuration of a server, and accesses by its URL that it lets in or refuses with a line."""

    config: str
    right: list[AccessFor]
    wrong: list[AccessFor]
    line: str


def access(way: str = "nats://", **files: Any) -> AccessFor:
    return lambda url: ClusterAccess(url=url.replace("nats://", way), **files)


def password(_folder: Path) -> Credentials:
    config = 'authorization { users: [{user: "crawler", password: "p@ss word"}] }'
    wrong = [access(f"nats://{user}") for user in ("", "crawler:secret@", "somebody@")]
    right = access("nats://crawler:p%40ss%20word@")
    return Credentials(config, [right], wrong, "refuses these credentials")


def nkey(folder: Path) -> Credentials:
    seed, public = identity(nkeys.PREFIX_BYTE_USER)
    creds = folder / "user.nk"
    creds.write_bytes(seed)
    config = f'authorization {{ users: [{{nkey: "{public}"}}] }}'
    return Credentials(config, [access(creds=creds)], [access()], "NATS_CREDS")


def jwt(folder: Path) -> Credentials:
    users = SignedUsers()
    signed = users.write_creds(folder / "crawler.creds")
    stranger = SignedUsers().write_creds(folder / "stranger.creds")
    expired = users.write_creds(folder / "expired.creds", valid_s=-60)
    wrong = [access(creds=creds) for creds in (stranger, expired, None)]
    line = "refuses .*: name their file in NATS_CREDS"
    return Credentials(users.config, [access(creds=signed)], wrong, line)


def authority(folder: Path) -> Credentials:
    own = Certificates(folder / "own", "127.0.0.2")
    trusts = access("tls://", ca=own.ca)
    return Credentials(own.config(verify=False), [trusts], [access("tls://")], "NATS_CA")


def certificate(folder: Path) -> Credentials:
    own, foreign = (Certificates(folder / name, "127.0.0.2") for name in ("own", "foreign"))
    cert, key = own.issued("crawler.example")
    other_cert, other_key = foreign.issued("crawler.example")
    both = folder / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return Credentials(
        own.config(verify=True),
        [access(ca=own.ca, cert=cert, key=key), access(ca=own.ca, cert=both)],
        [access(ca=own.ca), access(ca=own.ca, cert=other_cert, key=other_key)],
        "NATS_CERT",
    )


@needs_server
@pytest.mark.parametrize("kind", [password, nkey, jwt, authority, certificate])
async def test_only_valid_credentials_are_let_in_and_no_error_shows_them(
    kind: Callable[[Path], Credentials], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found, folder = kind(tmp_path), tmp_path / "servers"
    async with local_servers(folder, 1, more=found.config, access_for=found.right[0]) as servers:
        for right in found.right:
            async with connected(right(servers.url)) as engine:
                await engine.put("key", b"value")
        for wrong in found.wrong:
            await is_refused(wrong(servers.url), found.line)
    assert not [one for one in caplog.records if one.name == "asyncio"]  # no connection is left


async def is_refused(settings: ClusterAccess, line: str) -> None:
    with pytest.raises(EngineError, match=line) as refused:
        await connect(settings)
    for hidden in ("\n", "secret", "somebody"):
        assert hidden not in str(refused.value)


SEED = identity(nkeys.PREFIX_BYTE_USER).seed.decode()


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nothing of NATS",
        "\xe9",
        "SUAAAA",
        SEED[:-2],
        "-----BEGIN NATS USER JWT-----\na.b.c\n",
        f"-----BEGIN USER NKEY SEED-----\n{SEED}\n",
        f"-----BEGIN NATS USER JWT-----\na.b.c\n-----BEGIN USER NKEY SEED-----\n{SEED[:20]}\n",
    ],
    ids=(
        *("absent", "empty", "foreign", "no text", "no key", "cut"),
        *("no seed", "no token", "cut in its block"),
    ),
)
async def test_invalid_files_of_credentials_are_named_without_their_secret(
    tmp_path: Path, text: str | None
) -> None:
    creds = tmp_path / "user.creds"
    if text is not None:
        creds.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(str(creds))) as refused:
        await connect(ClusterAccess(url="nats://127.0.0.2:1", creds=creds))
    assert SEED[:12] not in str(refused.value)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"cert": "absent.pem"}, "NATS_CERT=.*absent.pem"),
        ({"cert": "empty.pem"}, "NATS_CERT=.*empty.pem"),
        ({"key": "empty.pem"}, "NATS_KEY=.*empty.pem .*NATS_CERT"),
        ({"ca": "empty.pem"}, "empty.pem"),
    ],
)
async def test_the_error_names_a_certificate_that_cannot_be_used(
    tmp_path: Path, files: dict[str, str], named: str
) -> None:
    (tmp_path / "empty.pem").touch()
    paths: dict[str, Any] = {name: tmp_path / file for name, file in files.items()}
    with pytest.raises(UsageError, match=named):
        await connect(ClusterAccess(url="tls://127.0.0.2:1", **paths))


class OpenServer:
    """Server without encryption that notes everything that a client sends."""

    def __init__(self) -> None:
        self.told = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        info = b'{"server_id": "x", "version": "2.10.5", "auth_required": true, "headers": true}'
        writer.write(b"INFO " + info + b"\r\n")
        while line := await reader.readline():
            self.told += line
            writer.write(b"PONG\r\n" if line == b"PING\r\n" else b"")
        writer.close()


@pytest.mark.parametrize(
    ("scheme", "more"), [("tls", {}), ("nats", {"ca": True}), ("nats", {"tls": True})]
)
async def test_a_client_that_wants_tls_sends_nothing_to_a_server_without_it(
    tmp_path: Path, scheme: str, more: dict[str, bool]
) -> None:
    ca = Certificates(tmp_path / "own", "127.0.0.2").ca

    heard = OpenServer()
    server = await asyncio.start_server(heard.serve, "127.0.0.2", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"{scheme}://crawler:secret@127.0.0.2:{port}"
    wanted: dict[str, Any] = {**more, **({"ca": ca} if "ca" in more else {})}
    await is_refused(ClusterAccess(url=url, **wanted), "does not encrypt, so nothing was sent")
    server.close()
    assert heard.told == b""


@pytest.mark.slow
@needs_server
async def test_no_password_is_in_a_store_a_log_or_the_list_of_processes(tmp_path: Path) -> None:
    secret = os.urandom(8).hex()
    more = f'authorization {{ users: [{{user: "crawler", password: "{secret}"}}] }}'

    def url_of(url: str) -> str:
        return url.replace("nats://", f"nats://crawler:{secret}@")

    def settings_for(url: str) -> ClusterAccess:
        return ClusterAccess(url=url_of(url))

    folder = tmp_path / "servers"
    async with local_servers(folder, 1, more=more, access_for=settings_for) as servers:
        url = url_of(servers.url)
        seeds = ["http://127.0.0.1:9/"]
        async with opened(ClusterAccess(url)) as engine:
            await start_or_join(engine, Loaded.of(Settings.of(cluster=url)), seeds, 1)
            with node_of_environment(url, tmp_path / "node") as node:
                while not await engine.keys(records.TOLD_PREFIX):
                    await asyncio.sleep(0.1)
                commands = commands_from(node.pid)
                node.send_signal(signal.SIGTERM)
                said = await asyncio.to_thread(node.communicate)
        for server in servers.servers:
            await server.end()
    assert len(commands) > 1
    assert secret not in "".join((*commands, *said))
    (folder / "server-0.conf").unlink()
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in kept if secret.encode() in file.read_bytes()]


@contextmanager
def node_of_environment(url: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a node with the URL of its servers in the environment, which no other user can read."""
    with subprocess.Popen(
        [sys.executable, "-m", "minicrawl", "node", "--name", "a", "--folder", str(folder)],
        env={**os.environ, "MINICRAWL_CLUSTER": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as node:
        try:
            yield node
        finally:
            node.kill()


def commands_from(pid: int) -> list[str]:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [command, *(one for child in children for one in commands_from(int(child)))]
