"""Progress of a crawl: known pages and work done. It never predicts when a crawl ends.

Importance that is not known yet is estimated. An unread page is expected to reveal as many new
pages as recent readings did, each worth as much as the page itself. With the shares R of read pages
and U of unread ones, and n new pages per reading, the gathered share of all importance is
`R / (1 + n U)`. R and U are shares of all cash that flowed; an unread page counts with the whole
unit of its birth here, for links to it that are not known yet.
"""

from collections import deque
from dataclasses import dataclass
from time import thread_time
from typing import assert_never

from minicrawl.config import Budget
from minicrawl.config.values.stop_rules import GatheredShare, GuaranteedShare, Until
from minicrawl.crawl.events import Reason
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.frontier.importance import GatheredImportance
from minicrawl.opic.importance.estimate import of_all
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Clock
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.wording import as_duration

LONG_WAIT_S = 60.0
_COST_SHARE = 0.01
"""Share of the time that may be spent on adding up the importance of pages.

Spent time is processor time: on a busy machine it may take long, and still cost little.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderingProgress:
    """State of the browsers of a crawl at one moment."""

    browsers: int
    rendered: int  # pages that a browser has rendered, over all runs
    waiting: int  # pages that wait for a browser
    pages: tuple[tuple[str, float], ...]  # pages under way, and for how many seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """State of a crawl at one moment. Totals are over all its runs."""

    known: int
    unread: int
    fetched: int
    requests: int
    failed: int
    wire_bytes: int
    hosts: int
    running_s: float
    turns_of_cash: float  # how often all cash has circulated: history / minted cash
    importance_gathered: float  # share of readable importance on pages read; first an estimate
    waits_for: str = ""  # host that the crawl waits for, or the start of its hours
    wait_s: float = 0.0
    rendering: RenderingProgress | None = None  # if pages are rendered

    @property
    def long_wait(self) -> str:
        """Text for a plain progress line about a long wait, or an empty string."""
        if self.wait_s < LONG_WAIT_S:
            return ""
        return f"; waits for {self.waits_for}, {as_duration(self.wait_s)}"


def most_pages(budget: Budget, before: int) -> int | None:
    """Return the limit of fetched pages in all, of which `before` were fetched before this run."""
    if budget.new_pages is None:
        return budget.pages
    in_all = before + budget.new_pages
    return in_all if budget.pages is None else min(in_all, budget.pages)


FEWEST_READINGS = 200
"""Number of recent readings that the rate is averaged over; a tenth of all if that is more."""
_MARKS = 50
"""Number of points in these readings at which the counts are kept."""


class RecentRate:
    """Rate per second at which a count has grown of late."""

    def __init__(self, over_s: float) -> None:
        self._over_s = over_s
        self._counts = deque[tuple[float, float]]()

    def record(self, count: float, now: float) -> float:
        """Note the count, and return its rate since `over_s` ago, or since the note before that."""
        counts = self._counts
        counts.append((now, count))
        while len(counts) > 1 and counts[1][0] <= now - self._over_s:
            counts.popleft()
        began, before = counts[0]
        return (count - before) / (now - began) if now > began else 0.0


class DiscoveryRate:
    """Rate of new pages in recent readings."""

    def __init__(self, read: int, known: int, rate: float | None = None) -> None:
        """Set up; `rate` is that of an earlier run, or by default that of all readings so far."""
        first: tuple[int, float] = (0, 0 if read else known)
        if rate is not None:
            first = (read - _width(read), known - rate * _width(read))
        self._marks = deque([first, (read, known)])
        self._now = read, known

    def record(self, read: int, known: int) -> None:
        """Note the numbers of read and of known pages."""
        marks, width = self._marks, _width(read)
        self._now = read, known
        if read - marks[-1][0] >= width / _MARKS:
            marks.append((read, known))
        while marks[1][0] <= read - width and marks[1] is not marks[-1]:
            marks.popleft()

    @property
    def rate(self) -> float:
        """New pages per reading."""
        (read_then, known_then), (read, known) = self._marks[0], self._now
        return (known - known_then) / max(read - read_then, 1)


def _width(read: int) -> int:
    return max(FEWEST_READINGS, read // 10)


class ImportanceEstimate:
    """Gathered importance, with the rate by which unknown importance is estimated.

    It is added up so rarely that this costs next to nothing.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._ledger, self._counters = recorder.frontier.ledger, recorder.counters
        self.gathered = GatheredImportance(recorder.frontier, flowed=True)
        rate = self._counters.get(tables.FOUND_LATELY)
        self.discovery = DiscoveryRate(*self._counts, rate if isinstance(rate, float) else None)
        self._due = 0.0

    @property
    def _counts(self) -> tuple[int, int]:
        return int(self._counters.number("fetched")), self._ledger.own

    def look(self, now: float) -> bool:
        """Add up one more slice if that is due. Return True if it completed a lap."""
        if now < self._due or not self._ledger.own:
            return False
        began = thread_time()
        self.discovery.record(*self._counts)
        if is_new := self.gathered.go_on():
            self._counters[tables.FOUND_LATELY] = self.discovery.rate
        self._due = now + (thread_time() - began) / _COST_SHARE
        return is_new

    @property
    def share(self) -> float:
        """Gathered share of all importance, unknown pages included."""
        return of_all(self.gathered.share, self.gathered.waiting, self.discovery.rate)


class StopLimit:
    """Limit of a crawl by the stop rule of --until.

    A guaranteed share is reached when the process that proves it has said so (see
    `fresh_ranks.kept_fresh`).
    """

    def __init__(self, rule: Until, recorder: Recorder) -> None:
        self._rule, self._counters = rule, recorder.counters
        self._estimate = ImportanceEstimate(recorder)
        self.reason: Reason | None = None
        """Reason to end the crawl, if the rule says so."""
        self.goes_on_until = ""
        """--until with which a crawl goes on that ends now."""

    def look(self, now: float) -> None:
        """Check, now and then, whether the rule is reached."""
        match self._rule:
            case GatheredShare(share):
                if self._estimate.look(now):
                    self._judge(self._estimate.share, share)
            case GuaranteedShare(share):
                self._judge(self._counters.number(tables.GUARANTEED), share)
            case other:
                assert_never(other)

    def _judge(self, reached: float, limit: float) -> None:
        self.reason = Reason.GATHERED if reached >= limit else None
        self.goes_on_until = self._rule.beyond(reached)


class ProgressMeter:
    """Reads the progress of a crawl; adds up importance so rarely that it costs next to nothing."""

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder, self._clock = recorder, clock
        self._gathering = GatheredImportance(
            recorder.frontier, recorder.counters.number(tables.GATHERED)
        )
        self._due = 0.0

    def read(self) -> Progress:
        """Return the present state of the crawl."""
        recorder, ledger = self._recorder, self._recorder.frontier.ledger
        counts = recorder.frontier.counts
        now = self._clock.now()
        if now >= self._due and len(recorder.frontier):
            began = thread_time()
            if self._gathering.go_on():
                recorder.counters[tables.GATHERED] = self._gathering.share
            self._due = now + (thread_time() - began) / _COST_SHARE
        return Progress(
            known=ledger.own,
            unread=ledger.unread,
            fetched=int(recorder.counters.number("fetched")),
            requests=int(recorder.counters.number("requests")),
            failed=sum(counts[state] for state in State if state.is_failure),
            wire_bytes=int(recorder.counters.number("wire_bytes")),
            hosts=len(recorder.frontier.urls.origins),
            running_s=recorder.counters.number("running_s"),
            turns_of_cash=ledger.recorded / max(ledger.minted, UNIT),
            importance_gathered=self._gathering.share,
        )
