"""The process of a dashboard: its address, its token, and its end.

Laws: a store has one dashboard at a time. The file beside the store that names it has mode 0600,
because it contains the token; a restarted dashboard keeps the token, so that open pages go on.
The dashboard runs at low priority.
"""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minicrawl.dashboard.access import DashboardAccess
from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.dashboard.routes import Dashboard
from minicrawl.dashboard.views import Views
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.store.reader import DASHBOARD, real_path

_NICE = 10
_GROUP = Path("/proc/self/autogroup")
UNWATCHED_S = 600.0
_TICKS_A_LOOK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Address to listen at. Without a port it is the default one, or any if that is in use."""

    host: str = LOOPBACK
    port: int | None = None
    ends_alone: bool = False
    """End when the starting process is gone and nobody has looked for `UNWATCHED_S`."""


def serve_views(views: Views, store: Path, place: Place, announce: Callable[[str], None]) -> None:
    """Serve these views, as the only dashboard of this store, until the process is told to end."""
    with _only_dashboard(store) as note, listening(place.host, place.port) as listener:
        port = int(listener.getsockname()[1])
        old_token = _read(note).get("token")
        token = old_token if isinstance(old_token, str) and old_token else secrets.token_urlsafe(24)
        name = f"[{place.host}]" if ":" in place.host else place.host
        address = f"http://{name}:{port}/"
        access = DashboardAccess(port=port, names=frozenset((place.host,)), token=token)
        about = {"address": address, "pid": os.getpid(), "token": token}
        os.ftruncate(note, 0)
        os.pwrite(note, json.dumps(about | {"indexnow_key": access.ping_key}).encode(), 0)
        os.nice(_NICE)
        if os.getsid(0) == os.getpid():  # where Linux groups by session, the group counts as well
            with suppress(OSError):
                _GROUP.write_text(str(_NICE), encoding="ascii")
        dashboard = Dashboard(views, access)
        parent = os.getppid() if place.ends_alone else None
        server = _Server(dashboard, parent)
        announce(f"{address}#{token}")
        server.run_at(listener)


class _Server(LimitedServer):
    """Server that ends its event streams when it ends, and ends itself when nobody needs it."""

    def __init__(self, dashboard: Dashboard, parent: int | None) -> None:
        """Without `parent`, the server never ends by itself."""
        super().__init__(dashboard.app())
        self._dashboard, self._parent = dashboard, parent
        self._looked_at = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """Check whether to end; uvicorn calls this ten times a second."""
        if self._parent is not None and not counter % _TICKS_A_LOOK:
            now = time.monotonic()
            # An orphan gets another parent, so the parent's number tells whether the command that
            # started the dashboard has ended.
            if self._dashboard.streams or os.getppid() == self._parent:
                self._looked_at = now
            elif now - self._looked_at > UNWATCHED_S:
                self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._dashboard.end()
        await super().shutdown(sockets)


@contextmanager
def _only_dashboard(store: Path) -> Iterator[int]:
    """Lock and yield the file that names the dashboard of the store."""
    place = real_path(store)
    if place.is_dir():
        raise UsageError(f"{store} is a folder: name a file as --store")
    path = place.with_name(f"{place.name}{DASHBOARD}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        note = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = _read(note)
        os.close(note)
        raise MinicrawlError(
            f"{store} has a dashboard already, at {other.get('address')}: open that one, "
            f"or end its process {other.get('pid')}"
        ) from None
    try:
        os.fchmod(note, 0o600)
        yield note
    finally:
        os.close(note)


def _read(note: int) -> dict[str, object]:
    with suppress(ValueError, OSError):
        document = json.loads(os.pread(note, 4096, 0))
        if isinstance(document, dict):
            return document
    return {}
