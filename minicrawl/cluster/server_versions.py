"""Versions of nats-server that keep what they have acknowledged, and whether servers sync.

    before 2.11    refused: 2.9 cannot sync, before 2.10.5 a leader that was cut off keeps messages
                   that nobody else has, 2.10.20 to 2.10.22 may lose whole streams when they are
                   killed (nats-server issue 6888), and nobody mends any of them
    before 2.12.3  the removal of a server may leave a stream without its peers

A server that does not sync acknowledges messages up to two minutes before they are on its disk
(issue 7564). A killed process loses none of them, a machine without power does.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Version = tuple[int, int, int]
OLDEST: Version = (2, 11, 0)
RECOMMENDED: Version = (2, 12, 3)
HOW_TO_SYNC = "jetstream { sync_interval: always }"


class ServerFacts(NamedTuple):
    """A server as it describes itself; `syncs` is None if it may not be asked."""

    name: str
    version: str
    syncs: bool | None = None


def as_text(version: Version) -> str:
    return ".".join(map(str, version))


def as_version(text: str) -> Version:
    """Read `2.12.3` or `v2.12.3-RC.1`. Raises ValueError."""
    major, minor, patch = text.removeprefix("v").partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def refusal(version: Version) -> str:
    """Return why no crawl may use such a server, or an empty text."""
    if version >= OLDEST:
        return ""
    return (
        f"nats-server {as_text(version)} may lose what it has acknowledged: "
        f"upgrade it to {as_text(RECOMMENDED)} or newer"
    )


def cautions(servers: Sequence[ServerFacts]) -> Iterator[str]:
    """Yield what may cost data: versions before the recommended one, and servers without sync."""
    versions = {as_version(server.version) for server in servers}
    if old := [*map(as_text, sorted(version for version in versions if version < RECOMMENDED))]:
        yield (
            f"nats-server {', '.join(old)} may lose what it has acknowledged: "
            f"upgrade to {as_text(RECOMMENDED)} or newer"
        )
    if lazy := [server.name for server in servers if server.syncs is False]:
        yield f"{', '.join(lazy)}: a power failure may cost up to two minutes; {HOW_TO_SYNC}"


def summary(servers: Sequence[ServerFacts]) -> str:
    """Describe the servers that could be asked, in one line."""
    versions = ", ".join(sorted({server.version for server in servers}))
    if any(server.syncs is None for server in servers):
        return f"nats-server {versions}; only the user of the system account may ask for sync"
    lazy = ", ".join(server.name for server in servers if not server.syncs)
    return f"nats-server {versions}; {f'no sync: {lazy}' if lazy else 'all sync'}"
