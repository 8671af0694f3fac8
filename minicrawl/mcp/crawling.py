"""The tool that crawls, if the user allows it.

Laws: only pages below the URLs that the user named are requested, whatever the store knows and
whatever an agent asks; and at most as many in all as the user said, for as long as the server runs.
The crawl is a process of its own, with the politeness of every crawl.
"""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from minicrawl.errors import UsageError
from minicrawl.mcp.answers import Answer, answer
from minicrawl.web.urls import canonical_seed

_LONGEST = "10m"


@dataclass(frozen=True, slots=True)
class CrawlGrant:
    """Permission of the user: URLs that pages must be below, and a number of pages."""

    below: Sequence[str]
    pages: int

    @classmethod
    def of(cls, urls: Sequence[str], pages: int) -> "CrawlGrant":
        """Return the grant for these seeds; raise UsageError if one is not a URL."""
        below = []
        for url in urls:
            found = canonical_seed(url)
            if found is None:
                raise UsageError(f"--allow-crawl: {url!a} is not a URL")
            below.append(found)
        return cls(below, pages)

    def pattern(self) -> str:
        """Return the pattern of URLs that may be requested, by http and https."""
        folders = (url.partition("?")[0].rpartition("/")[0] for url in self.below)
        names = "|".join(re.escape(folder.partition("://")[2]) for folder in folders)
        return f"^https?://({names})/"


class CrawlTool:
    """Tool that crawls within a grant."""

    def __init__(self, store: Path, grant: CrawlGrant) -> None:
        self._store, self._grant = store, grant
        self._left = grant.pages
        self._turn = asyncio.Lock()

    def described(self) -> str:
        """Return what agents are told about the tool."""
        where = ", ".join(self._grant.below)
        return (
            f"Crawl more pages below {where}; at most {self._grant.pages:,} in all while this "
            "server runs. It waits for the end of the crawl, which takes 10 minutes at most."
        )

    async def crawl(
        self,
        pages: Annotated[int, Field(description="Maximum number of pages to fetch.", ge=1)],
    ) -> Answer:
        """Crawl more pages."""
        async with self._turn:
            wanted = min(pages, self._left)
            if not wanted:
                raise UsageError(f"all {self._grant.pages:,} pages that the user allows are spent")
            # The whole grant is taken before the crawl and the rest returned after it: a cancelled
            # crawl must not leave its pages unspent.
            self._left -= wanted
            found = await self._crawled(wanted)
            self._left += wanted - min(max(found["pages"], found["answered"]), wanted)
            return answer({"crawl": found, "pages_left": self._left})

    async def _crawled(self, pages: int) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "minicrawl", "crawl", *self._grant.below),
            *("--store", str(self._store), "--scope", "any", "--allow", self._grant.pattern()),
            *("--new-pages", str(pages), "--for", _LONGEST),
            *("--no-continuous", "--check", "none", "--json", "--quiet"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, told = await process.communicate()
        except asyncio.CancelledError:
            process.send_signal(signal.SIGINT)  # the crawl ends and keeps what it has
            await process.wait()
            raise
        if not out.strip():
            raise UsageError(told.decode(errors="replace").strip()[-1000:] or "the crawl failed")
        found: dict[str, Any] = json.loads(out)
        return found
