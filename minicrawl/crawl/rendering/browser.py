"""Which browser there is, and how it is started.

Law: the browser opens no connection to anywhere. Its proxy is a port that we hold and that nobody
listens at, no name has an address, and nothing goes by UDP. What pages get is handed to them. It
asks for nothing by itself: no updates, no accounts, no hints for forms.
"""

from __future__ import annotations

import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge", "brave-browser"),
)
"""Programs that are looked for, the first one first."""
NO_PLAYWRIGHT = "--render needs playwright: install minicrawl[render]"
NO_BROWSER = "--render found no chromium: install one, or name it with --browser"
_NOWHERE = "http://127.0.0.1:9/"
"""A browser opens no connection to this port, as to no other one of those that it blocks."""
_ARGUMENTS = (
    *(f"--component-updater=url-source={_NOWHERE}", f"--gaia-url={_NOWHERE}"),
    f"--autofill-server-url={_NOWHERE}",
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--dns-prefetch-disable", "--mute-audio"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def find_browser(named: Path | None) -> str:
    """The program; raises `UsageError` if there is none, or nothing to drive it."""
    if find_spec("playwright") is None:
        raise UsageError(NO_PLAYWRIGHT)
    if named is not None:
        if not os.access(named, os.X_OK) or named.is_dir():
            raise UsageError(f"--browser {named}: there is no such program")
        return str(named.absolute())
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise UsageError(NO_BROWSER)
    return found


def dead_end() -> socket.socket:
    """Return a socket whose port is ours and refuses every connection, until it is closed."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))  # nobody else can listen there, and we do not
    return held


async def launch(playwright: Playwright, program: str, proxy: socket.socket) -> Browser:
    """Start it; the proxy leads nowhere. As root, chromium refuses to use its sandbox."""
    host, port = proxy.getsockname()
    return await playwright.chromium.launch(
        executable_path=program,
        args=list(_ARGUMENTS),
        chromium_sandbox=os.geteuid() != 0,
        proxy={"server": f"http://{host}:{port}"},
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=20_000,
    )
