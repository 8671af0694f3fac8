"""The door to the engine of a cluster: settings in, an open engine out.

Laws: nothing of NATS is imported before an engine is opened. Servers that cannot be used are
refused in one line.
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
"""A path behind the servers; the slashes of `nats://` are none."""
USUAL_NAME = "crawl"
_MISSING = "a cluster needs nats-py[nkeys]: install minicrawl[cluster]"
_MODULES = ("nats", "nkeys")


class ClusterAccess(NamedTuple):
    """How to reach the engine of one crawl."""

    url: str
    name: str = USUAL_NAME
    creds: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


FILES = ("NATS_CA", "NATS_CERT", "NATS_KEY")
"""The variables by which NATS's own command finds the certificates to trust, ours, and its key."""


def access_of(cluster: Cluster, environ: Mapping[str, str] = os.environ) -> ClusterAccess:
    """The servers and the name of the crawl in a URL such as nats://host:4222/news."""
    if cluster.url is None:
        raise UsageError("which cluster? --cluster nats://host:4222 names its servers")
    found = _NAMED.fullmatch(cluster.url)
    servers, name = found.groups() if found else (cluster.url, "")
    files = (Path(file) if (file := environ.get(variable)) else None for variable in FILES)
    return ClusterAccess(servers, name or USUAL_NAME, cluster.creds, *files)


@asynccontextmanager
async def opened(access: ClusterAccess, *, makes: bool = True) -> AsyncIterator[ClusterEngine]:
    """The engine, until this is left. Servers that do not let us in are a wrong value, and so is a
    crawl that is not there, for who `makes` none.
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
    """Import what a connection needs. Who does it ahead of time connects sooner."""
    try:
        import minicrawl.cluster.nats.connecting  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _MODULES:
            raise
        raise UsageError(_MISSING) from None


async def connected_anew(access: ClusterAccess, *, makes: bool = True) -> ClusterEngine:
    """Another connection to the engine; whoever asks for it closes it."""
    import_engine()
    from minicrawl.cluster.nats.asking import NatsSettings
    from minicrawl.cluster.nats.connecting import connect

    return await connect(NatsSettings(**access._asdict()), makes=makes)
