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

In `new_links`, the pages with most links are hubs: each change of a hub is a link to a new page.
"""

import json
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
_FIRST_DAY = 20_000
_SLOWEST, _FASTEST = 1 / 365, 2.0
"""Range of the rates of change, per day; their logarithms are uniformly distributed."""
_CALM = (1, 10, 100)
"""Divisors of the rates in `nights`."""
_HALVINGS = 200
_HUBS = 0.05
"""Share of the pages that gain links to new pages."""


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
    """Duration of an experiment."""

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


@dataclass(frozen=True, slots=True)
class NightPoint:
    """Requests and misses of a nightly `minicrawl update`, as shares of the pages."""

    sitemap: SitemapTruth
    changing: float
    """Pages that change in a night."""
    asked: float
    unchanged: float
    missed: float
    """Changed pages that were left out."""


@dataclass(frozen=True, slots=True)
class NewLinksPoint:
    """New links that are found when this share of the pages is read a day."""

    counted: bool
    """True if the scheduler is told of new links, as in a crawl."""
    share: float
    found: float
    """Share of the new links that were found by the end."""
    delay_days: float
    """Mean time from a link's appearance until it was found, or until the end."""
    freshness: float
    best: float


def freshness(
    web: Web, shares: Sequence[float], days: Days, tell: Progress
) -> Iterator[FreshPoint]:
    """Yield the freshness of each order, for each share of the pages read a day."""
    importance, rates = _importance_and_rates(web, days.seed)
    runs = [(share, order) for share in shares for order in REREADING_ORDERS]
    for number, (share, order) in enumerate(runs):
        best = best_possible(importance, rates, share * web.graph.nodes)
        changing = _ChangingWeb(web, importance, rates, order.sitemap, days.seed)
        here = part(tell, number / len(runs), (number + 1) / len(runs))
        fresh, unchanged = changing.read_all_day(order.strategy, share, days, here)
        yield FreshPoint(order, share, fresh, best, unchanged)


def new_links(
    web: Web, shares: Sequence[float], days: Days, tell: Progress
) -> Iterator[NewLinksPoint]:
    """Yield the new links that hubs show, with a reward for them and without."""
    importance, rates = _importance_and_rates(web, days.seed)
    runs = [(share, counted) for share in shares for counted in (False, True)]
    for number, (share, counted) in enumerate(runs):
        best = best_possible(importance, rates, share * web.graph.nodes)
        changing = _ChangingWeb(web, importance, rates, SitemapTruth.NONE, days.seed)
        changing.hubs = HubLinks(web, days, counted=counted)
        here = part(tell, number / len(runs), (number + 1) / len(runs))
        fresh, _ = changing.read_all_day("siblings", share, days, here)
        found, delay = changing.hubs.result(changing.changes_at, rates)
        yield NewLinksPoint(counted, share, found, delay, fresh, best)


def nights(web: Web, days: Days) -> Iterator[NightPoint]:
    """Yield requests and misses of nightly updates, in a lively web and in calmer ones."""
    importance, rates = _importance_and_rates(web, days.seed)
    for calm in _CALM:
        for sitemap in SitemapTruth:
            changing = _ChangingWeb(web, importance, rates / calm, sitemap, days.seed)
            yield changing.update_each_night(days)


def best_possible(importance: Floats, rates: Floats, readings: float) -> float:
    """Return the freshness under the best rates of reading, which add up to `readings` a day."""
    low, high = 0.0, 1.0
    while _readings(importance, rates, high).sum() < readings:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = _readings(importance, rates, middle).sum() < readings
        low, high = (middle, high) if is_low else (low, middle)
    found = _readings(importance, rates, high)
    return float((importance * found / (found + rates)).sum())


def _readings(importance: Floats, rates: Floats, scale: float) -> Floats:
    """Return the rates at which one more reading gains equally for every page that is read."""
    return np.maximum(np.sqrt(importance * rates) * scale - rates, 0.0)


def _importance_and_rates(web: Web, seed: int) -> tuple[Floats, Floats]:
    importance = np.asarray(pagerank(web.graph).values, dtype=np.float64)
    return importance / importance.sum(), change_rates(len(importance), seed)


def change_rates(pages: int, seed: int) -> Floats:
    """Return random rates of change, per day."""
    even: Floats = np.random.default_rng(seed).random(pages)
    return _SLOWEST * (_FASTEST / _SLOWEST) ** even


class HubLinks:
    """New links of the hubs of a changing web, and how late they are found; times are in days."""

    def __init__(self, web: Web, days: Days, *, counted: bool) -> None:
        degrees = web.graph.out_degrees()
        most = np.argsort(-degrees, kind="stable")[: max(1, int(_HUBS * len(degrees)))]
        self._is_hub = np.zeros(len(degrees), dtype=np.bool_)
        self._is_hub[most] = True
        self._rng, self._counted = np.random.default_rng(days.seed + 2), counted
        self._from, self._end = (float(_FIRST_DAY + day) for day in (days.warm_up, days.total))
        self._found, self._delays = 0, list[float]()

    def read(self, page: int, first: float, rate: float, now: float) -> int:
        """Return the number of new links that a reading finds, and note their delays.

        The first one appeared at `first`; others followed at this rate until `now`.
        """
        if not self._is_hub[page] or first > now:
            return 0
        later = first + (now - first) * self._rng.random(self._rng.poisson(rate * (now - first)))
        counted = [now - at for at in (first, *later) if at >= self._from]
        self._delays += counted
        self._found += len(counted)
        return (1 + len(later)) if self._counted else 0

    def result(self, changes_at: Floats, rates: Floats) -> tuple[float, float]:
        """Return the share of the new links that were found, and their mean delay.

        Links that nobody has found are late until the end.
        """
        found = self._found
        for page in np.flatnonzero(self._is_hub).tolist():
            self.read(page, float(changes_at[page]), float(rates[page]), self._end)
        return found / max(self._found, 1), float(np.mean(self._delays or [0.0]))


class _ChangingWeb:
    """Changing pages, read by the scheduler of a crawl; times are in days."""

    def __init__(
        self, web: Web, importance: Floats, rates: Floats, sitemap: SitemapTruth, seed: int
    ) -> None:
        self._web, self._importance, self._rates = web, importance, rates
        self._rng = np.random.default_rng(seed + 1)
        self._hosts = array("I", web.host.tolist())
        self._pages = {str(page): page for page in range(web.graph.nodes)}
        self._sitemap, self._is_lying = sitemap, web.host % 2 > 0
        self._now, self._records = float(_FIRST_DAY), None
        self._documents = [_document(page, self._now * DAY_S) for page in self._pages.values()]
        self._read_at = np.full(len(self._pages), self._now)
        self.hubs: HubLinks | None = None
        self.changes_at = self._now + self._rng.exponential(1 / rates)
        """Time of each page's first change after its last reading."""

    def read_all_day(
        self, strategy: str, share: float, days: Days, tell: Progress
    ) -> tuple[float, float]:
        """Read this share of the pages a day, at regular intervals.

        Return the freshness, and the share of the readings that found no change.
        """
        refresh = self._scheduler(strategy, endless=True)
        until, fresh, readings, unchanged = days.total, 0.0, 0, 0
        counted_from = _FIRST_DAY + days.warm_up
        for day in range(until):
            self._hear(refresh)
            most = int((day + 1) * share * len(self._pages)) - int(day * share * len(self._pages))
            for number in range(1, most + 1):
                self._now = _FIRST_DAY + day + number / most
                page = _next_of(refresh)
                assert page is not None, "pages wait again as soon as they are read"
                fresh += self._fresh_days(page, counted_from)
                readings += day >= days.warm_up
                unchanged += not self._read(page, refresh) and day >= days.warm_up
                links = self._web.graph.targets_of(page).tolist()
                refresh.posted([Plan(page, 0, links, 0, (), 0)])
                refresh.release(page)
            self._now = float(_FIRST_DAY + day + 1)
            tell((day + 1) / until)
        fresh += sum(self._fresh_days(page, counted_from) for page in self._pages.values())
        return fresh / days.counted, unchanged / max(readings, 1)

    def update_each_night(self, days: Days) -> NightPoint:
        """Read each page once a night, except pages left out because of a trusted sitemap."""
        asked = unchanged = missed = 0
        for night in range(days.total):
            self._now = float(_FIRST_DAY + night + 1)
            refresh = self._scheduler("siblings", endless=False)  # each update is a new process
            self._hear(refresh)
            while (page := _next_of(refresh)) is not None:
                is_same = not self._read(page, refresh)
                if night >= days.warm_up:
                    asked += 1
                    unchanged += is_same
            self._records = json.loads(json.dumps(refresh.sitemap_records.kept()))
            if night >= days.warm_up:
                missed += int((self.changes_at <= self._now).sum())
        all_pages = days.counted * len(self._pages)
        shares = (number / all_pages for number in (asked, unchanged, missed))
        changing = float(-np.expm1(-self._rates).mean())
        return NightPoint(self._sitemap, changing, *shares)

    def _scheduler(self, strategy: str, *, endless: bool) -> RefreshScheduler:
        refresh = RefreshScheduler(
            self._hosts, worth_of(strategy), self._cash, self._today, endless=endless
        )
        for document in self._documents:
            refresh.saw(document)
        refresh.sitemap_records.restore(self._records)
        return refresh

    def _today(self) -> float:
        return self._now * DAY_S

    def _cash(self, pages: NDArray[np.uint32]) -> Floats:
        """Return the cash that links have paid to the pages since they were read.

        One unit a page circulates each day.
        """
        cash = self._importance[pages] * (self._now - self._read_at[pages])
        return cash * len(self._importance)

    def _fresh_days(self, page: int, counted_from: float) -> float:
        """Return the fresh days of a page since its last reading, weighted by importance."""
        until = min(self._now, self.changes_at[page])
        fresh = max(until - max(self._read_at[page], counted_from), 0.0)
        return float(self._importance[page] * fresh)

    def _read(self, page: int, refresh: RefreshScheduler) -> bool:
        """Read a page, and return whether it has changed."""
        changed = bool(self.changes_at[page] <= self._now)
        before = self._documents[page]
        new_links = 0
        if self.hubs is not None:
            first, rate = float(self.changes_at[page]), float(self._rates[page])
            new_links = self.hubs.read(page, first, rate, self._now)
        self._documents[page] = before._replace(
            last_at=self._today(), changes=before.changes + changed, checks=before.checks + 1
        )
        self._read_at[page] = self._now
        self.changes_at[page] = self._now + self._rng.exponential(1 / self._rates[page])
        refresh.saw(self._documents[page], just_now=True)
        refresh.found(page, new_links)
        return changed

    def _hear(self, refresh: RefreshScheduler) -> None:
        """Read the sitemaps of all hosts."""
        if self._sitemap is SitemapTruth.NONE:
            return
        long_ago = self._read_at - 1
        honest = np.where(self.changes_at <= self._now, self.changes_at, long_ago)
        stated = {
            SitemapTruth.HONEST: honest,
            SitemapTruth.NEVER: long_ago,
            SitemapTruth.ALWAYS: np.full(len(honest), self._now),
            SitemapTruth.HALF: np.where(self._is_lying, long_ago, honest),
        }[self._sitemap]
        refresh.hear(self._pages, tuple(zip(self._pages, (stated * DAY_S).tolist(), strict=True)))


def _next_of(refresh: RefreshScheduler) -> int | None:
    host = refresh.next_host(lambda _: True)
    page = None if host is None else refresh.take_of(host)
    if host is not None:
        refresh.look_again(host)
    return page


def _document(page: int, at: float) -> DocumentRow:
    return DocumentRow(page, "", 200, None, None, 0, False, at, at, 0, 0)
