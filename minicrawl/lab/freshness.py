"""Freshness of a changing web, for every order of re-reading.

Pages change at random moments, each at a rate of its own, and a share of them can be read a day. A
page is *fresh* from a reading until its next change. Freshness is the share of the importance on
fresh pages, averaged over the days after the warm-up: the probability that a random surfer finds a
page as it was last read.

The best possible is that of Y. Azar, E. Horvitz, E. Lubetzky, Y. Peres, D. Shahaf, *Tractable
near-optimal policies for crawling*, PNAS 2018: if importance w_i and rates of change d_i are known,
rates r_i of reading at random moments that maximize the sum of w_i r_i / (r_i + d_i). Readings at
regular intervals keep a page fresh for longer, so an order may exceed this.

The crawl's own scheduler chooses the pages; only the time of day and the servers are simulated.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.refresh import RefreshScheduler
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.lab.webs import Web
from minicrawl.opic.importance.estimate import Floats
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.ports import Progress, part
from minicrawl.ranks.pagerank import pagerank
from minicrawl.store.records import DocumentRow

DAY_S = 86_400.0
FIRST_DAY = 20_000
_SLOWEST, _FASTEST = 1 / 365, 2.0
"""Range of the rates of change, per day; their logarithms are uniformly distributed."""
_HALVINGS = 200


class SitemapTruth(StrEnum):
    """Statements in the sitemaps of a web."""

    NONE = "none"
    HONEST = "honest"  # the time of each page's first change since it was read
    NEVER = "never"  # no page has changed
    ALWAYS = "always"  # each page has just changed
    HALF = "half"  # half of the hosts say that no page has changed, the others are honest


class ReReading(NamedTuple):
    """An order of re-reading, and the sitemaps that it can use."""

    strategy: str
    sitemap: SitemapTruth = SitemapTruth.NONE


REREADING_ORDERS = (
    ReReading("random"),
    ReReading("breadth-first"),
    *(ReReading("siblings", sitemap) for sitemap in SitemapTruth),
)
SHARES = (0.05, 0.2, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    warm_up: int
    counted: int
    seed: int

    @property
    def total(self) -> int:
        return self.warm_up + self.counted


@dataclass(frozen=True, slots=True)
class FreshPoint:
    """Freshness under an order, when this share of the pages is read a day."""

    order: ReReading
    share: float
    freshness: float
    best: float
    unchanged: float
    """Share of the readings that found no change."""

    def to_json(self) -> dict[str, object]:
        numbers = asdict(self)
        del numbers["order"]
        return self.order._asdict() | numbers


def freshness(
    web: Web, shares: Sequence[float], days: Days, tell: Progress
) -> Iterator[FreshPoint]:
    """Yield the freshness of each order, for each share of the pages read a day."""
    importance, rates = importance_and_rates(web, days.seed)
    runs = [(share, order) for share in shares for order in REREADING_ORDERS]
    for number, (share, order) in enumerate(runs):
        best = best_possible(importance, rates, share * web.graph.nodes)
        changing = RereadWeb(web, importance, rates, order.sitemap, days.seed)
        here = part(tell, number / len(runs), (number + 1) / len(runs))
        fresh, unchanged = changing.read_all_day(order.strategy, share, days, here)
        yield FreshPoint(order, share, fresh, best, unchanged)


def best_possible(importance: Floats, rates: Floats, readings: float) -> float:
    """Return the freshness under the best rates of reading, which add up to `readings` a day."""
    low, high = 0.0, 1.0
    while _readings(importance, rates, high).sum() < readings:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = _readings(importance, rates, middle).sum() < readings
        low, high = (middle, high) if is_low else (low, middle)
    best = _readings(importance, rates, high)
    return float((importance * best / (best + rates)).sum())


def _readings(importance: Floats, rates: Floats, scale: float) -> Floats:
    """Return the rates at which one more reading gains equally for every page that is read."""
    return np.maximum(np.sqrt(importance * rates) * scale - rates, 0.0)


def importance_and_rates(web: Web, seed: int) -> tuple[Floats, Floats]:
    importance = np.asarray(pagerank(web.graph).values, dtype=np.float64)
    return importance / importance.sum(), change_rates(len(importance), seed)


def change_rates(pages: int, seed: int) -> Floats:
    """Return random rates of change, per day."""
    even: Floats = np.random.default_rng(seed).random(pages)
    return _SLOWEST * (_FASTEST / _SLOWEST) ** even


class RereadWeb:
    """Changing pages, read by the scheduler of a crawl; times are in days."""

    def __init__(
        self, web: Web, importance: Floats, rates: Floats, sitemap: SitemapTruth, seed: int
    ) -> None:
        self._web, self._importance, self.rates = web, importance, rates
        self._rng = np.random.default_rng(seed + 1)
        self._hosts = array("I", web.host.tolist())
        self._pages = {str(page): page for page in range(web.graph.nodes)}
        self.sitemap, self._is_lying = sitemap, web.host % 2 > 0
        self.now = float(FIRST_DAY)
        at = self._today()
        document = DocumentRow(0, "", 200, None, None, 0, False, at, at, 0, 0)
        self._documents = [document._replace(page=page) for page in self._pages.values()]
        self._read_at = np.full(len(self._pages), self.now)
        self.changes_at = self.now + self._rng.exponential(1 / rates)
        """Time of each page's first change after its last reading."""

    def read_all_day(
        self, strategy: str, share: float, days: Days, tell: Progress
    ) -> tuple[float, float]:
        """Read this share of the pages a day, at regular intervals.

        Return the freshness, and the share of the readings that found no change.
        """
        refresh = self.scheduler(strategy, endless=True)
        until, fresh, readings, unchanged = days.total, 0.0, 0, 0
        counted_from = FIRST_DAY + days.warm_up
        for day in range(until):
            self.hear(refresh)
            most = int((day + 1) * share * len(self._pages)) - int(day * share * len(self._pages))
            for number in range(1, most + 1):
                self.now = FIRST_DAY + day + number / most
                page = next_of(refresh)
                assert page is not None, "pages wait again as soon as they are read"
                fresh += self._fresh_days(page, counted_from)
                readings += day >= days.warm_up
                unchanged += not self.read(page, refresh) and day >= days.warm_up
                links = self._web.graph.targets_of(page).tolist()
                refresh.posted([Plan(page, 0, links, 0, (), 0)])
                refresh.release(page)
            self.now = float(FIRST_DAY + day + 1)
            tell((day + 1) / until)
        fresh += sum(self._fresh_days(page, counted_from) for page in self._pages.values())
        return fresh / days.counted, unchanged / max(readings, 1)

    def new_links_of(self, page: int) -> int:
        """Return the number of links to new pages that a reading finds now."""
        return 0

    def scheduler(self, strategy: str, *, endless: bool) -> RefreshScheduler:
        refresh = RefreshScheduler(
            self._hosts, worth_of(strategy), self._cash, self._today, endless=endless
        )
        for document in self._documents:
            refresh.saw(document)
        return refresh

    def _today(self) -> float:
        return self.now * DAY_S

    def _cash(self, pages: NDArray[np.uint32]) -> Floats:
        """Return the cash that links have paid to the pages since they were read.

        One unit a page circulates each day.
        """
        cash = self._importance[pages] * (self.now - self._read_at[pages])
        return cash * len(self._importance)

    def _fresh_days(self, page: int, counted_from: float) -> float:
        """Return the fresh days of a page since its last reading, weighted by importance."""
        until = min(self.now, self.changes_at[page])
        fresh = max(until - max(self._read_at[page], counted_from), 0.0)
        return float(self._importance[page] * fresh)

    def read(self, page: int, refresh: RefreshScheduler) -> bool:
        """Read a page, and return whether it has changed."""
        changed = bool(self.changes_at[page] <= self.now)
        before = self._documents[page]
        new_links = self.new_links_of(page)
        self._documents[page] = before._replace(
            last_at=self._today(), changes=before.changes + changed, checks=before.checks + 1
        )
        self._read_at[page] = self.now
        self.changes_at[page] = self.now + self._rng.exponential(1 / self.rates[page])
        refresh.saw(self._documents[page], just_now=True)
        refresh.watched.found(page, new_links)
        return changed

    def hear(self, refresh: RefreshScheduler) -> None:
        """Tell the scheduler what the sitemaps say today."""
        if self.sitemap is SitemapTruth.NONE:
            return
        long_ago = self._read_at - 1
        honest = np.where(self.changes_at <= self.now, self.changes_at, long_ago)
        stated = {
            SitemapTruth.HONEST: honest,
            SitemapTruth.NEVER: long_ago,
            SitemapTruth.ALWAYS: np.full(len(honest), self.now),
            SitemapTruth.HALF: np.where(self._is_lying, long_ago, honest),
        }[self.sitemap]
        refresh.hear(self._pages, tuple(zip(self._pages, (stated * DAY_S).tolist(), strict=True)))


def next_of(refresh: RefreshScheduler) -> int | None:
    host = refresh.next_host(lambda _: True)
    page = None if host is None else refresh.take_of(host)
    if host is not None:
        refresh.look_again(host)
    return page
