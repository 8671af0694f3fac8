"""Access to the engine: addresses, credentials, and what may not be sent unencrypted."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from minicrawl.cluster.engine import ClusterEngine, EngineError
from minicrawl.config import Settings
from minicrawl.errors import UsageError, needs
from minicrawl.fetch.tls.contexts import covers

_NAMED = re.compile("(.*[^/])/([A-Za-z0-9_-]*)")
"""Servers and the path after them; the slashes of `nats://` do not count."""
DEFAULT_NAME = "crawl"
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_CANCEL_AGAIN_S = 0.2
_SCHEMES = ("nats", "tls", "ws", "wss")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Address of the engine of one crawl, and access to it.

    Law: nothing that is shown, logged or stored has a password.
    """

    url: str
    """Comma-separated URLs of servers. Other servers of the cluster are discovered."""
    name: str = DEFAULT_NAME
    """Name of the crawl: several crawls may use the same servers."""
    creds: Path | None = None
    """File with credentials in the format of NATS, or with the seed of an nkey."""
    ca: Path | None = None
    """File with certificates to trust instead of the system's."""
    cert: Path | None = None
    """File with our certificate, if servers require one."""
    key: Path | None = None
    """File with the key of `cert`, if it is in a file of its own."""
    tls: bool = False
    """True if the connection must be encrypted, whatever the URLs say."""
    patience_s: float = 15.0
    """Time for which a request is repeated. Servers take up to 10 s to elect a leader."""

    def __post_init__(self) -> None:
        for url in self.urls:
            try:
                parts = urlsplit(url)
                is_valid = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
            except ValueError:  # its text may contain the password
                is_valid = False
            if not is_valid:
                raise UsageError(
                    f"{without_password(url)!r} is not a server: "
                    "write nats://HOST:4222 or tls://HOST:4222"
                )
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot be the name of a cluster: use letters, digits, - and _"
            )

    @property
    def urls(self) -> list[str]:
        """URLs of the servers, including passwords."""
        return [url.strip() for url in self.url.split(",")]

    @property
    def bucket(self) -> str:
        """Name of the crawl's buckets, and prefix of all its subjects except JetStream's own."""
        return f"minicrawl-{self.name}"

    @property
    def shown(self) -> str:
        """URLs of the servers, without users and passwords."""
        return ",".join(map(without_password, self.urls))

    @property
    def wants_tls(self) -> bool:
        """True if the connection must be encrypted."""
        has_files = self.ca is not None or self.cert is not None
        return self.tls or has_files or any(url.startswith(("tls:", "wss:")) for url in self.urls)


def without_password(url: str) -> str:
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://{after}" if at else url


def access_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> ClusterAccess:
    """Return the access that the settings and NATS's variables describe.

    A URL such as nats://host:4222/news has the servers and the name of the crawl. Connections to
    other machines must be encrypted and need credentials, except to hosts that --insecure names.
    """
    if (url := settings.cluster.url) is None:
        raise UsageError("no cluster: name its servers with --cluster nats://host:4222")
    match = _NAMED.fullmatch(url)
    servers, name = match.groups() if match else (url, "")
    creds, ca, cert, key = (
        Path(path) if (path := environ.get(f"NATS_{kind}")) else None
        for kind in ("CREDS", "CA", "CERT", "KEY")
    )
    access = ClusterAccess(servers, name or DEFAULT_NAME, creds, ca, cert, key)
    named = [name.strip("[]").lower() for name in settings.network.insecure]
    hosts = [urlsplit(url).hostname or "" for url in access.urls]
    exposed = [
        host
        for host in hosts
        if not (_LOOPBACK.fullmatch(host) or any(covers(pattern, host) for pattern in named))
    ]
    if exposed and "@" not in servers and access.creds is None and access.cert is None:
        raise UsageError(
            f"{exposed[0]} is another machine, and no credentials are given: name them in "
            f"NATS_CREDS, tls://USER:PASSWORD@{exposed[0]} or NATS_CERT; or say "
            f"--insecure {exposed[0]} (MINICRAWL_INSECURE) if you trust everybody on its network"
        )
    return replace(access, tls=bool(exposed))


@asynccontextmanager
async def opened(access: ClusterAccess, *, makes: bool = True) -> AsyncIterator[ClusterEngine]:
    """Open the engine, and close it on exit.

    Raises UsageError if the servers refuse us, or, with `makes` false, if they have no such crawl;
    otherwise an absent crawl is made.
    """
    engine = await connect_engine(access, makes=makes)
    try:
        yield engine
    finally:
        await engine.close()


def refuse_other_systems() -> None:
    """Refuse systems without CLOCK_BOOTTIME: leases need a clock that runs during sleep."""
    if sys.platform != "linux":
        system = "macOS" if sys.platform == "darwin" else sys.platform
        raise UsageError(
            f"a cluster needs Linux, and this is {system}: use a Linux container or virtual machine"
        )


def import_engine() -> None:
    """Import the modules that a connection needs.

    Called early, it makes the first connection faster.
    """
    refuse_other_systems()
    with needs("cluster", "a cluster"):
        import minicrawl.cluster.nats.connecting  # noqa: F401


async def connect_engine(access: ClusterAccess, *, makes: bool = True) -> ClusterEngine:
    """Connect to the engine, as `opened` does. The caller closes the connection."""
    import_engine()
    from minicrawl.cluster.nats.connecting import connect

    try:
        return await connect(access, makes=makes)
    except EngineError as error:
        raise UsageError(str(error)) from error


async def cancelled(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks again and again until they have ended.

    `asyncio.wait_for` of Python 3.11, which nats-py uses, may swallow a cancellation.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_S)
