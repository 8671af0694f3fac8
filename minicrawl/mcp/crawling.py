"""The tool that crawls, if the user allows it.

Laws: whatever the store contains and the agent asks, only pages in the folders of the URLs that the
user named are requested, and at most the granted number while the server runs. The crawl is as
polite as any crawl, and a process of its own:

    python -m minicrawl.mcp.crawling STORE PAGES URL...     prints its summary as JSON
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.mcp.tools import Answer, answer
from minicrawl.memory import OWN_PYTHON
from minicrawl.store.writer import StoreLock
from minicrawl.web.urls import canonical_seed


@dataclass(frozen=True, slots=True)
class CrawlGrant:
    """Permission by the user: folders that pages must be in, and a maximum number of pages."""

    below: Sequence[str]
    """URLs that name the folders, and that crawls begin with."""
    pages: int

    @classmethod
    def of(cls, urls: Sequence[str], pages: int) -> "CrawlGrant":
        """Return the grant; raise UsageError if one of the URLs is invalid."""
        below = []
        for url in urls:
            found = canonical_seed(url)
            if found is None:
                raise UsageError(f"--allow-crawl: {url!a} is not a URL")
            below.append(found)
        return cls(below, pages)

    def pattern(self) -> str:
        """Return the pattern of URLs that may be requested."""
        names = "|".join(re.escape(folder.partition("://")[2]) for folder in self.folders())
        return f"^https?://({names})"

    def folders(self) -> list[str]:
        """Return the granted folders, each with a slash at its end."""
        return [f"{url.partition('?')[0].rpartition('/')[0]}/" for url in self.below]


class CrawlTool:
    """Tool that crawls within a grant."""

    def __init__(self, store: Path, grant: CrawlGrant) -> None:
        self._store, self._grant = store, grant
        self.pages_left = grant.pages
        """Number of pages that agents may still crawl."""
        self._turn = asyncio.Lock()

    def described(self) -> str:
        """Return the description of the tool for agents."""
        where = ", ".join(self._grant.folders())
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
            wanted = min(pages, self.pages_left)
            if not wanted:
                raise UsageError(f"the grant of {self._grant.pages:,} pages is spent")
            if self._store.is_file():
                StoreLock(self._store).release()  # a store in use raises StoreError here
            # Pages are deducted before the crawl, and unused ones returned after it: a cancelled
            # crawl must not get its pages back.
            self.pages_left -= wanted
            found = await self._crawled(wanted)
            self.pages_left += wanted - min(max(found["pages"], found["answered"]), wanted)
            return answer({"crawl": found, "pages_left": self.pages_left})

    async def _crawled(self, pages: int) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *(*OWN_PYTHON, "-m", "minicrawl.mcp.crawling", str(self._store), str(pages)),
            *self._grant.below,
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
        del found["status"]["command"]  # its options can name files and accounts of the user
        return found


# ================================================================ the process
#
# Laws: the settings, the command and the limits of a store stay as they were, so that its own next
# run goes on as before. A new store keeps the granted folders as its scope.

_LONGEST = "10m"


def crawl_within(grant: CrawlGrant, store: Path) -> None:
    """Crawl the granted pages that are in the scope of the store, too."""
    from minicrawl.app import Crawl
    from minicrawl.cli.crawl_session import RunOptions, Session
    from minicrawl.cli.setting_options import CONFIG_VARIABLE, loaded_from

    given: dict[str, object] = {"new_pages": grant.pages, "for_": _LONGEST, "store": str(store)}
    given |= {"continuous": False, "check": ("none",)}
    if not store.exists():
        given["scope"] = "prefix"
    chosen = os.environ.get(CONFIG_VARIABLE)
    loaded = loaded_from(given, Path(chosen) if chosen else None)
    granted = re.compile(grant.pattern())
    crawl = Crawl(grant.below, loaded, aside=True, accept=lambda url: bool(granted.match(url)))
    Session(crawl, RunOptions(resume="", quiet=True, as_json=True)).run()


if __name__ == "__main__":
    try:
        crawl_within(CrawlGrant.of(sys.argv[3:], int(sys.argv[2])), Path(sys.argv[1]))
    except MinicrawlError as error:
        sys.exit(str(error))
