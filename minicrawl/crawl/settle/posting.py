"""Posts steps: hands them to the recorder, and tells the schedule what they changed.

Laws: pages born by a step wait from then on, unless they are refused at once; pages that were given
cash may move up in the queue. Pages that were too far wait again when a shorter path leads to them.
A large number of URLs becomes known block by block, so that no page keeps the others waiting. A
page that was read spends the cash it got since along its stored links: a replay, which costs no
request. The crawl loop posts a few per round, at most `Order.replay` per fetch.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter

from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.orders import PageQueue
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_index import PagesByUrl
from minicrawl.model import Originals, PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import READ, Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.states import State

_LEADS_ON = frozenset((StepKind.VISIT, StepKind.FORWARD))
_PAYS = frozenset((StepKind.ENDOWED, StepKind.RECEIVE))
LINKS_AT_ONCE = 1000
"""Links of a page, or pages of a sitemap, that become known before other pages get a turn."""
_REST = 3.0
"""Pause after a block, as a multiple of the time it took. New pages take memory, and a server that
sends very many links must not fill it at the speed of the processor.
"""
REPLAYS_AT_ONCE = 32
"""Most replays in one step."""
GROWN = 8 * UNIT
"""Least cash that makes a replay worthwhile. Smaller sums gained nothing on real graphs."""


class StepPoster:
    """Posts steps. `reopened` has the pages that wait for another turn; some were read before."""

    def __init__(
        self,
        recorder: Recorder,
        queue: PageQueue,
        refuse: Callable[[Sequence[PageId]], None],
        depths: DepthTracker | None,
        saw: Callable[[list[Plan]], None] | None,
    ) -> None:
        """Set up; `saw`, if given, is called with the plans of each step.

        `refuse` refuses those of some new pages that may not be requested. `depths` knows the
        distances of pages, if the user limits these.
        """
        self._recorder, self._refuse = recorder, refuse
        self._queue, self._depths, self._saw = queue, depths, saw
        self.reopened: set[int] = set()

    def post(
        self,
        step: Step,
        state: State = State.UNREAD,
        new: Sequence[int] = (),
        value: int | None = None,
    ) -> list[Plan]:
        """Apply and record the step, which bears the `new` pages. Return its plans."""
        plans = self._recorder.apply_step(step, state, value)
        queue = self._queue
        if new:
            self._recorder.counters.add("born", len(new))
            self._refuse(new)
        queue.posted(plans, new, self._paid(step) if step.kind in _PAYS else ())
        if self._saw is not None:
            self._saw(plans)
        if self._depths is not None and step.kind in _LEADS_ON:
            self.reopen(self._depths.shorten(step.page, step.spending))
        return plans

    def _paid(self, step: Step) -> list[int]:
        frontier, pages = self._recorder.frontier, step.spending.links
        if step.kind is StepKind.RECEIVE:
            pages = [frontier.books.stands_for(page) for page in pages]
        return [page for page in pages if frontier.state[page] == State.UNREAD]

    async def introduce(
        self, urls: Sequence[str], depth: int, originals: Originals, by: PageId | None = None
    ) -> tuple[PagesByUrl, list[int], float]:
        """Make the pages of distinct URLs known early: before the turn of the page `by`, if any,
        which links to them, has ended.

        Return them, the new ones among them, and the processor time in seconds.
        """
        recorder, pages, new, cost_s = self._recorder, dict[str, int](), list[int](), 0.0
        for start in range(0, len(urls), LINKS_AT_ONCE):
            block = urls[start : start + LINKS_AT_ONCE]
            await recorder.committer.caught_up()
            looked_up = await recorder.look_up_urls(block)
            began = perf_counter()
            meeting = recorder.meet(block, depth, originals, looked_up)
            if born := meeting.new:
                step = Step(StepKind.BORN, born=len(born))
                if by is not None:
                    step = Step(StepKind.BORN, by, len(born), amount=len(block))
                self.post(step, new=born)
            # Block by block: the sites of 10,000 new hosts at once would delay other pages.
            known = recorder.frontier.urls
            for number in {known.host_of[page] for page in born}:
                known.sites.site(number)
            took_s = perf_counter() - began
            cost_s += took_s
            pages.update(zip(block, meeting.pages, strict=True))
            new += born
            await asyncio.sleep(_REST * took_s if are_many(urls) else 0)
        return pages, new, cost_s

    def reopen(self, pages: Sequence[int]) -> None:
        if not pages:
            return
        pages = sorted(pages)
        self.post(Step(StepKind.REOPEN, spending=Spending(pages)))
        self.reopened.update(pages)
        self._queue.wait_again(pages)

    def replay(self, pages: Sequence[int]) -> None:
        """Spend the cash of pages that were read once more, along their stored links."""
        self.post(Step(StepKind.REPLAY, spending=Spending(pages)))


def are_many(urls: Sequence[str]) -> bool:
    """Return whether these take more than one block: other pages get a turn in between."""
    return len(urls) > LINKS_AT_ONCE


class ReplayScheduler:
    """Chooses the pages that were given most since they were read."""

    def __init__(self, frontier: Frontier, per_fetch: int) -> None:
        self._frontier = frontier
        self.per_fetch = per_fetch
        """Number of replays that each fetch allows."""
        self.allowed = 0
        ledger = frontier.ledger
        self._richest = CandidateHeap(ledger.key, ledger.flags, READ)

    def saw(self, plans: list[Plan]) -> None:
        for plan in plans:
            self._richest.offer(plan.links)
            self._richest.offer([page for page, _ in plan.extras])
            self._richest.release(plan.page)

    def run(self, poster: StepPoster) -> None:
        """Post a few replays, if allowed and worthwhile."""
        pages: list[int] = []
        while len(pages) < min(REPLAYS_AT_ONCE, self.allowed):
            page = self._richest.take()
            if page is None:
                break
            if self._frontier.ledger.cash(page) < GROWN:
                self._richest.release(page)
                break
            pages.append(page)
        if pages:
            self.allowed -= len(pages)
            poster.replay(sorted(pages))
