"""Makes pages known before they get cash: before the turn of the page that links to them ends.

Law: a large number of URLs becomes known block by block, so that no page keeps the others waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter

from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.frontier.url_index import PagesByUrl
from minicrawl.model import Originals, PageId

LINKS_AT_ONCE = 1000
"""Links of a page, or pages of a sitemap, that become known before other pages get a turn."""
_REST = 3.0
"""Pause after a block, as a multiple of the time it took. New pages take memory, and a server that
sends very many links must not fill it at the speed of the processor.
"""


class PageIntroducer:
    """Makes pages known early: before the turn of the page that links to them ends."""

    def __init__(self, recorder: Recorder, poster: StepPoster) -> None:
        self._recorder, self._poster = recorder, poster

    async def introduce(
        self, urls: Sequence[str], depth: int, originals: Originals, by: PageId | None = None
    ) -> tuple[PagesByUrl, list[int], float]:
        """Make the pages of distinct URLs known; `by` is the page with these links, if any.

        Return them, the new ones among them, and the processor time in seconds.
        """
        pages: dict[str, int] = {}
        new: list[int] = []
        cost_s = 0.0
        for start in range(0, len(urls), LINKS_AT_ONCE):
            block = urls[start : start + LINKS_AT_ONCE]
            await self._recorder.committer.caught_up()
            looked_up = await self._recorder.look_up_urls(block)
            began = perf_counter()
            meeting = self._poster.introduce(block, depth, originals, looked_up, by)
            born = [row.id for row in meeting.urls]
            # Block by block: the sites of 10,000 new hosts at once would delay other pages.
            known = self._recorder.frontier.urls
            for number in {known.host_of[page] for page in born}:
                known.sites.site(number)
            took_s = perf_counter() - began
            cost_s += took_s
            pages.update(zip(block, meeting.pages, strict=True))
            new += born
            await asyncio.sleep(_REST * took_s if are_many(urls) else 0)
        return pages, new, cost_s


def are_many(urls: Sequence[str]) -> bool:
    """Return whether these take more than one block: other pages get a turn in between."""
    return len(urls) > LINKS_AT_ONCE
