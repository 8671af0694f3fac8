"""Steps are posted: the recorder keeps them, and the schedule hears what they changed.

Laws: pages that became known by a step wait from then on; pages that were given cash may have moved
up in the queue. Pages that were too deep wait again when a shorter way leads to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.orders import PageQueue
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.frontier.urls import Meeting
from minicrawl.model import Originals, PageId, State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.ledger import Plan

_LEADS_ON = frozenset((StepKind.VISIT, StepKind.FORWARD))


class StepPoster:
    """Posts steps. `reopened` are pages that wait again, some of them after they were read."""

    def __init__(
        self,
        recorder: Recorder,
        queue: PageQueue,
        depths: DepthTracker | None,
        saw: Callable[[list[Plan]], None],
    ) -> None:
        """`saw` is called with what was posted; without a limit of depth there are no `depths`."""
        self._recorder = recorder
        self._queue, self._depths, self._saw = queue, depths, saw
        self.reopened: set[int] = set()

    def post(self, step: Step, state: State = State.UNREAD, new: Sequence[int] = ()) -> list[Plan]:
        """Apply and keep the step, by which the `new` pages are born; answers with its plans."""
        plans = self._recorder.apply_step(step, state)
        queue = self._queue
        queue.posted(plans, new)
        if new:
            self._recorder.counters.add("born", len(new))
        self._saw(plans)
        if self._depths is not None and step.kind in _LEADS_ON:
            for page in self._depths.shorten(step.page, step.spending.links):
                queue.release(page)
        return plans

    def introduce(
        self,
        urls: Iterable[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
        by: PageId | None = None,
    ) -> Meeting:
        """Pages become known before anybody gives them cash, some of them by the links of a page
        whose turn has not ended yet.
        """
        links = list(dict.fromkeys(urls))
        meeting = self._recorder.meet(links, depth, originals, looked_up)
        if new := [row.id for row in meeting.urls]:
            born = len(new)
            step = (
                Step(StepKind.BORN, born=born)
                if by is None
                else Step(StepKind.BORN, by, born, amount=len(links))
            )
            self.post(step, new=new)
        return meeting

    def reopen(self, pages: Sequence[int]) -> None:
        """These pages had their turn, and wait again."""
        self.post(Step(StepKind.REOPEN, spending=Spending(pages)))
        self.reopened.update(pages)
        self._queue.wait_again(pages)

    def replay(self, pages: Sequence[int]) -> None:
        """These pages, which were read before, spend what they hold once more."""
        self.post(Step(StepKind.REPLAY, spending=Spending(pages)))
