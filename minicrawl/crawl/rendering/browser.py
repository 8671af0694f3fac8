"""Starts the browser without a way to the network: no names, no UDP, and a proxy that refuses all
connections. It sends no requests of its own either: no updates, no accounts, no form hints.
"""

from __future__ import annotations

import ctypes
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from playwright.async_api import Browser

if TYPE_CHECKING:
    from playwright.async_api import Playwright

_NOWHERE = "http://127.0.0.1:9/"
"""URL on a port that browsers block: no connection is opened."""
_ARGUMENTS = (
    *(f"--component-updater=url-source={_NOWHERE}", f"--gaia-url={_NOWHERE}"),
    f"--autofill-server-url={_NOWHERE}",
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--dns-prefetch-disable", "--mute-audio"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def refusing_port() -> socket.socket:
    """Return a socket whose port is ours and refuses every connection, until it is closed."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))  # nobody else can listen there, and we do not
    return held


async def launch(playwright: Playwright, program: str, proxy: socket.socket) -> Browser:
    """Start the browser, with a proxy that leads nowhere.

    As root, chromium refuses to use its sandbox.
    """
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


_DROP_CAPABILITY, _SET_PRIORITY = 24, 23  # PR_CAPBSET_DROP, CAP_SYS_NICE


def keep_priority_low() -> None:
    """Keep future child processes from raising their priority, as a browser of root does."""
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _SET_PRIORITY, 0, 0, 0)
