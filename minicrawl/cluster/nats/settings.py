"""Where the servers are, and how to be let in.

Law: what is shown, logged or stored has no password.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from minicrawl.errors import UsageError

_SCHEMES = ("nats", "tls", "ws", "wss")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsSettings:
    """How to reach the servers of a cluster."""

    url: str
    """Of one server, or of several with commas between them; the others are found by themselves."""
    name: str = "crawl"
    """Of the crawl: several may use the same servers."""
    creds: Path | None = None
    """A file with credentials, as NATS has them, or with the seed of an nkey."""
    ca: Path | None = None
    """A file with certificates to trust instead of those of the system."""
    cert: Path | None = None
    """A file with the certificate that we show, if servers ask for one."""
    key: Path | None = None
    """A file with its key, if that is not in the same one."""
    replicas: int | None = None
    """Copies of everything; if it is not said, 3 where there are servers for that."""
    log_bytes: int | None = None
    """That a log of a shard may have. If it is not said, the servers' own limits hold."""
    patience_s: float = 15.0
    """How long a request is repeated. Servers take up to 10 s to choose a leader."""

    def __post_init__(self) -> None:
        for url in self.urls:
            _check(url)
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot be the name of a cluster: use letters, digits, - and _"
            )

    @property
    def urls(self) -> list[str]:
        """Of the servers, passwords included."""
        return [url.strip() for url in self.url.split(",")]

    @property
    def bucket(self) -> str:
        """What all subjects of the crawl begin with, but for those of JetStream itself."""
        return f"minicrawl-{self.name}"

    @property
    def shown(self) -> str:
        """The servers, without users and passwords."""
        return ",".join(map(without_password, self.urls))

    @property
    def wants_tls(self) -> bool:
        """Whether the connection must be encrypted."""
        has_files = self.ca is not None or self.cert is not None
        return has_files or any(url.startswith(("tls:", "wss:")) for url in self.urls)


def without_password(url: str) -> str:
    """The URL of a server without its user and password."""
    before, at, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://{after}" if at else url


def _check(url: str) -> None:
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # what it says may have the password in it
        is_fine = False
    if not is_fine:
        raise UsageError(f"{shown!r} is no server: write nats://HOST:4222 or tls://HOST:4222")
