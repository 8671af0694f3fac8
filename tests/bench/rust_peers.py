"""Short programs for two Python crawlers in Rust: silkworm-rs and kreuzcrawl.

silkworm-rs only follows links to the hosts of the seeds. kreuzcrawl crawls all seeds at once but
separately, each with the same share of the pages, and extracts texts as it always does.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

_SILKWORM = """
import sys
from urllib.parse import urlsplit

from silkworm import AutoThrottleMiddleware, HTMLResponse, RobotsTxtMiddleware, Spider, run_spider
from silkworm.http import HttpClient

pages, connections, per_host, delay, *seeds = sys.argv[1:]
connections, delay = int(connections), float(delay)
hosts = tuple({urlsplit(seed).hostname for seed in seeds})


class Pages(Spider):
    name = "pages"
    start_urls = tuple(seeds)
    allowed_domains = hosts

    async def parse(self, response):
        if isinstance(response, HTMLResponse):
            links = [link.attr("href") for link in await response.select("a[href]")]
            await response.follow_all([link for link in links if link])


throttle = AutoThrottleMiddleware(start_delay=delay, min_delay=delay, max_delay=delay)
spaced = [throttle] if delay else []
run_spider(
    Pages,
    concurrency=connections,
    concurrency_per_domain=int(per_host),
    max_requests=int(pages),
    keep_alive=True,
    http_client=HttpClient(concurrency=connections, keep_alive=True, tls_verify=False),
    request_middlewares=[RobotsTxtMiddleware(), *spaced],
    response_middlewares=spaced,
)
"""

_KREUZCRAWL = """
import asyncio
import sys

import kreuzcrawl
from kreuzcrawl.options import CrawlConfig, SsrfPolicy

pages, connections, delay, *seeds = sys.argv[1:]
engine = kreuzcrawl.create_engine(
    CrawlConfig(
        max_depth=100,
        max_pages=int(pages),
        max_concurrent=int(connections),
        respect_robots_txt=True,
        stay_on_domain=True,
        rate_limit_ms=int(1000 * float(delay)) or None,
        ssrf=SsrfPolicy(deny_private=False),
    )
)


async def main():
    await kreuzcrawl.batch_crawl(engine, seeds)


asyncio.run(main())
"""


def silkworm_command(
    python: Path,
    seeds: Sequence[str],
    *,
    pages: int,
    connections: int,
    per_host: int,
    delay_s: float = 0,
) -> list[str]:
    counts = map(str, (pages, connections, per_host, delay_s))
    return [str(python), "-c", _SILKWORM, *counts, *seeds]


def kreuzcrawl_command(
    python: Path, seeds: Sequence[str], *, pages: int, connections: int, delay_s: float = 0
) -> list[str]:
    counts = map(str, (pages // len(seeds), connections, delay_s))
    return [str(python), "-c", _KREUZCRAWL, *counts, *seeds]


def version_of(package: str, python: Path) -> str:
    """Return the version of a package in this Python."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    command = [str(python), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
