"""Experiments with a scheduler that reads pages again: nightly updates, and links to new pages."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minicrawl.lab.freshness import (
    FIRST_DAY,
    Days,
    RereadWeb,
    SitemapTruth,
    importance_and_rates,
    next_of,
)
from minicrawl.lab.webs import Web

CALM = (1, 10, 100)
"""Divisors of the rates of change."""
HUBS = 0.05
"""Share of the pages that gain links to new pages."""


class Night(NamedTuple):
    """Requests and misses of nightly updates, as shares of the pages."""

    sitemap: SitemapTruth
    requested: float
    unchanged: float
    missed: float
    """Changed pages that were left out."""


def nights(web: Web, days: Days) -> Iterator[Night]:
    """Yield requests and misses of nightly updates, in a lively web and in calmer ones."""
    importance, rates = importance_and_rates(web, days.seed)
    for calm in CALM:
        for sitemap in SitemapTruth:
            yield _updates(RereadWeb(web, importance, rates / calm, sitemap, days.seed), days)


def _updates(web: RereadWeb, days: Days) -> Night:
    """Read each page once a night, except pages left out because of a trusted sitemap."""
    requested = unchanged = missed = 0
    records = None
    for night in range(days.total):
        web.now = float(FIRST_DAY + night + 1)
        refresh = web.scheduler("siblings", endless=False)  # each update is a new process
        refresh.sitemap_records.restore(records)
        web.hear(refresh)
        while (page := next_of(refresh)) is not None:
            is_same = not web.read(page, refresh)
            if night >= days.warm_up:
                requested += 1
                unchanged += is_same
        records = json.loads(json.dumps(refresh.sitemap_records.kept()))
        if night >= days.warm_up:
            missed += int((web.changes_at <= web.now).sum())
    pages = days.counted * len(web.changes_at)
    return Night(web.sitemap, requested / pages, unchanged / pages, missed / pages)


class HubWeb(RereadWeb):
    """A web in which each change of a page with many links is a link to a new page."""

    def __init__(self, web: Web, days: Days, *, rewards: bool) -> None:
        """With `rewards`, the scheduler is told of new links, as in a crawl."""
        super().__init__(web, *importance_and_rates(web, days.seed), SitemapTruth.NONE, days.seed)
        degrees = web.graph.out_degrees()
        most = np.argsort(-degrees, kind="stable")[: max(1, int(HUBS * len(degrees)))]
        self._hubs, self._rewards = frozenset(most.tolist()), rewards
        self._gaps = np.random.default_rng(days.seed + 2)
        self._counted_from = float(FIRST_DAY + days.warm_up)
        self.delays: list[float] = []
        """Days from the appearance of each link until it was found."""

    def new_links_of(self, page: int) -> int:
        first, since = float(self.changes_at[page]), self.now - float(self.changes_at[page])
        if page not in self._hubs or since < 0:
            return 0
        later = first + since * self._gaps.random(self._gaps.poisson(self.rates[page] * since))
        self.delays += [self.now - at for at in (first, *later) if at >= self._counted_from]
        return (1 + len(later)) if self._rewards else 0

    def end(self) -> tuple[int, float]:
        """Return the number of links found, and the mean delay; the others are late until now."""
        count = len(self.delays)
        for page in self._hubs:
            self.new_links_of(page)
        return count, float(np.mean(self.delays))
