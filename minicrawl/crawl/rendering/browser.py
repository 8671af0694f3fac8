"""Which browser there is, and how it is started.

Law: the browser opens no connection to anywhere. Its proxy does not exist, no name has an address,
and nothing goes by UDP. What pages get is handed to them.
"""

from __future__ import annotations

import os
import shutil
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
_NOWHERE = "http://127.0.0.1:1"
_ARGUMENTS = (
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


async def launch(playwright: Playwright, program: str) -> Browser:
    """Start it. As root, chromium refuses to use its sandbox."""
    return await playwright.chromium.launch(
        executable_path=program,
        args=list(_ARGUMENTS),
        chromium_sandbox=os.geteuid() != 0,
        proxy={"server": _NOWHERE},
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=20_000,
    )
