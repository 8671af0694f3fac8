"""Settings of a crawl of the demo web."""

from typing import Any

from minicrawl.config import Loaded, Settings
from minicrawl.config.parts.storage import DEMO_STORE, DEMO_USUAL
from minicrawl.config.settings import DEFAULT
from minicrawl.config.table import TABLE


def demo_settings(loaded: Loaded, pages: int, address: str) -> Loaded:
    """Return settings without delays, since the server is our own, and with a small endowment.

    It is small because nobody chose the seeds. Flags of the command line count; other
    settings are defaults.
    """
    usual: dict[str, Any] = {
        **DEMO_USUAL,
        "pages": pages,
        "per_address": loaded.settings.politeness.concurrency,
        "store": str(DEMO_STORE),
    }
    is_flag = {name: origin.startswith("--") for name, origin in loaded.origins.items()}
    flags = {
        setting.argument: loaded.settings.value(setting)
        for setting in TABLE
        if is_flag[setting.name]
    }
    return Loaded(
        settings=Settings.of(
            **usual | flags | {"resolve": [f"*={address}"], "allow_private": True, "proxy": "none"}
        ),
        origins={
            name: origin if is_flag[name] else DEFAULT for name, origin in loaded.origins.items()
        },
    )
