"""Many URLs become known block by block, so that no page keeps all others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.settler import Settler
from minicrawl.frontier.url_index import PagesByUrl
from minicrawl.model import Originals, PageId

LINKS_AT_ONCE = 1000
"""Links of a page, or pages of a sitemap, that become known before other pages have their turn."""


class Introduced(NamedTuple):
    """The pages of the URLs, those of them that are new, and the processor time that this took."""

    pages: PagesByUrl
    new: Sequence[int]
    cost_s: float


class PageIntroducer:
    """Makes pages known before their turn, or that of the page that links to them, has ended."""

    def __init__(self, recorder: Recorder, settler: Settler) -> None:
        self._recorder, self._settler = recorder, settler

    async def introduce(
        self, urls: Sequence[str], depth: int, originals: Originals, by: PageId | None = None
    ) -> Introduced:
        """Each URL is there once; `by` is the page that links to all of them, if there is one."""
        pages: dict[str, int] = {}
        new: list[int] = []
        cost_s = 0.0
        for start in range(0, len(urls), LINKS_AT_ONCE):
            block = urls[start : start + LINKS_AT_ONCE]
            await self._recorder.committer.caught_up()
            looked_up = await self._recorder.look_up_urls(block)
            began = perf_counter()
            meeting = self._settler.poster.introduce(block, depth, originals, looked_up, by)
            cost_s += perf_counter() - began
            pages.update(zip(block, meeting.pages, strict=True))
            new += [row.id for row in meeting.urls]
            await asyncio.sleep(0)
        return Introduced(pages, new, cost_s)

    async def introduce_listed(
        self, urls: Sequence[str], depth: int, originals: Originals
    ) -> float:
        """The pages of a sitemap become known; answers with the processor time that this took."""
        return (await self.introduce(list(dict.fromkeys(urls)), depth, originals)).cost_s


def are_many(urls: Sequence[str]) -> bool:
    """Whether others have their turn before all of them are known."""
    return len(urls) > LINKS_AT_ONCE
