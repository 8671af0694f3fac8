"""The order by siblings in the laboratory, by the code of the crawl.

Law: hosts and sites are those of the laboratory's web, which has one host where none is known.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from minicrawl.lab.exploration import Exploration
from minicrawl.lab.webs import Web
from minicrawl.opic.ledger import Plan
from minicrawl.opic.siblings.by_group import ByGroup
from minicrawl.opic.siblings.shown import Siblings


class BySiblings:
    """Judges a page by its siblings: the pages of its host that were introduced with it."""

    def __init__(self, crawl: Exploration) -> None:
        self._crawl = crawl
        self._host_of = array("I")
        self._siblings = Siblings(crawl.ledger, self._host_of, _SitesOfWeb(crawl.web))
        self._queue = ByGroup(self._siblings)
        self._new = range(0)

    def born(self, pages: Sequence[int]) -> None:
        """The first ones are the seeds; others wait from when their introducer is settled."""
        if not pages:
            return
        self._host_of.extend(map(self._crawl.host_of, pages))
        if self._new.stop:
            self._new = range(pages[0], pages[-1] + 1)
            return
        self._new = range(len(pages), len(pages))
        self._siblings.introduce(range(len(pages)))
        self._siblings.vouch(pages)
        self._queue.posted((), pages)

    def take(self) -> int | None:
        page = self._queue.take()
        if page is not None:
            self._queue.resume(self._host_of[page])
        return page

    def settled(self, plan: Plan) -> None:
        self._siblings.end_turn(plan, self._new)
        self._queue.posted((plan,), self._new)
        self._new = range(self._new.stop, self._new.stop)

    def put_back(self, page: int) -> None:
        self._queue.release(page)


class _SitesOfWeb:
    """Which hosts are of one site."""

    def __init__(self, web: Web) -> None:
        self._sites = np.zeros(int(web.host.max(initial=0)) + 1, dtype=np.uint32)
        self._sites[web.host] = web.site

    def site(self, host: int) -> int:
        return int(self._sites[host])
