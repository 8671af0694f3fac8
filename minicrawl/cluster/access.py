"""Access to the engine of a cluster: settings in, an open engine out.

Laws: nothing of NATS is imported before an engine is opened. A server that cannot be used is
reported in one line.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.engine import ClusterEngine, EngineError
from minicrawl.config import Cluster
from minicrawl.errors import UsageError

_NAMED = re.compile("(.*[^/])/([A-Za-z0-9_-]*)")
"""Servers and the path behind them; the slashes of `nats://` do not count."""
USUAL_NAME = "crawl"
_MISSING = "a cluster needs nats-py[nkeys]: install minicrawl[cluster]"
_MODULES = ("nats", "nkeys")


class ClusterAccess(NamedTuple):
    """Address and credentials of the engine of one crawl."""

    url: str
    name: str = USUAL_NAME
    creds: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


FILES = ("NATS_CA", "NATS_CERT", "NATS_KEY")
"""Variables by which NATS's own command finds trusted certificates, a certificate and its key."""


def access_of(cluster: Cluster, environ: Mapping[str, str] = os.environ) -> ClusterAccess:
    """Split a URL such as nats://host:4222/news into servers and the name of the crawl."""
    if cluster.url is None:
        raise UsageError("which cluster? --cluster nats://host:4222 names its servers")
    found = _NAMED.fullmatch(cluster.url)
    servers, name = found.groups() if found else (cluster.url, "")
    files = (Path(file) if (file := environ.get(variable)) else None for variable in FILES)
    return ClusterAccess(servers, name or USUAL_NAME, cluster.creds, *files)


@asynccontextmanager
async def opened(access: ClusterAccess, *, makes: bool = True) -> AsyncIterator[ClusterEngine]:
    """Open the engine, and close it on exit.

    Raises UsageError if the servers refuse us. With `makes` false a crawl that is absent is refused
    as well, instead of being made.
    """
    try:
        engine = await connected_anew(access, makes=makes)
    except EngineError as error:
        raise UsageError(str(error)) from error
    try:
        yield engine
    finally:
        await engine.close()


def import_engine() -> None:
    """Import the modules that a connection needs.

    Called early, it makes the first connection faster.
    """
    try:
        import minicrawl.cluster.nats.connecting  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _MODULES:
            raise
        raise UsageError(_MISSING) from None


async def connected_anew(access: ClusterAccess, *, makes: bool = True) -> ClusterEngine:
    """Open another connection to the engine. The caller closes it."""
    import_engine()
    from minicrawl.cluster.nats.asking import NatsSettings
    from minicrawl.cluster.nats.connecting import connect

    return await connect(NatsSettings(**access._asdict()), makes=makes)
