"""Crawls of webs that a function answers, without a network."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from minicrawl import Crawl, Settings

Web = Callable[[httpx.Request], httpx.Response]


def crawl_web(path: Path, web: Web, seeds: Sequence[str], **chosen: Any) -> Path:
    """Crawl a web without delays into a store, and return its path."""
    settings = Settings.of(**{"delay": 0, "address_delay": 0, **chosen, "store": path})
    Crawl(seeds, settings, transport=httpx.MockTransport(web)).run()
    return path
