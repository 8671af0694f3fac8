"""The tool that crawls, if the user allows it.

Laws: whatever the store contains and the agent asks, only pages in the folders of the URLs that
the user named are requested, and at most the granted number while the server runs. The crawl is
as polite as any crawl, and a process of its own, see `crawl_grant`.
"""

import asyncio
import json
import signal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from minicrawl.errors import UsageError
from minicrawl.mcp.answers import Answer, answer
from minicrawl.mcp.crawl_grant import CrawlGrant
from minicrawl.memory.child_interpreter import child_command
from minicrawl.store.disk.lock import StoreLock


class CrawlTool:
    def __init__(self, store: Path, grant: CrawlGrant) -> None:
        self._store, self._grant = store, grant
        self.pages_left = grant.pages
        """Number of pages that agents may still crawl."""
        self._turn = asyncio.Lock()
        self.description = (
            f"Crawl more pages below {', '.join(grant.folders())}; at most {grant.pages:,} in all "
            "while this server runs. It waits for the end of the crawl, which takes 10 minutes at "
            "most."
        )

    async def crawl(
        self,
        pages: Annotated[int, Field(description="Maximum number of pages to fetch.", ge=1)],
    ) -> Answer:
        """Crawl more pages."""
        async with self._turn:
            most = min(pages, self.pages_left)
            if not most:
                raise UsageError(f"the grant of {self._grant.pages:,} pages is spent")
            if self._store.is_file():
                StoreLock(self._store).release()  # a store in use raises StoreError here
            # Pages are deducted before the crawl, and unused ones returned after it: a cancelled
            # crawl must not get its pages back.
            self.pages_left -= most
            outcome = await self._crawled(most)
            self.pages_left += most - min(max(outcome["pages"], outcome["answered"]), most)
            return answer({"crawl": outcome, "pages_left": self.pages_left})

    async def _crawled(self, pages: int) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *child_command(
                "from minicrawl.mcp.crawl_grant import main; main()",
                *(str(self._store), str(pages), *self._grant.below),
                end_by=signal.SIGINT,  # it keeps what it has
            ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, errors = await process.communicate()
        except asyncio.CancelledError:
            process.send_signal(signal.SIGINT)  # the crawl ends and keeps what it has
            await process.wait()
            raise
        if not out.strip():
            raise UsageError(errors.decode(errors="replace").strip()[-1000:] or "the crawl failed")
        outcome: dict[str, Any] = json.loads(out)
        del outcome["status"]["command"]  # its options can name files and accounts of the user
        return outcome
