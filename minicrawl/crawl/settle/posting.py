"""Posts steps: hands them to the recorder, and tells the schedule what they changed.

Laws: pages born by a step wait from then on, unless they are refused at once; pages that were given
cash may move up in the queue. Pages that were too far wait again when a shorter path leads to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.orders import PageQueue
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.frontier.url_table import Meeting
from minicrawl.model import Originals, PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.states import State

_LEADS_ON = frozenset((StepKind.VISIT, StepKind.FORWARD))
_PAYS = frozenset((StepKind.ENDOWED, StepKind.RECEIVE))


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

    def introduce(
        self,
        urls: Iterable[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
        by: PageId | None = None,
    ) -> Meeting:
        """Make pages known before they get cash; `by` is a page in its turn that links to them."""
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
        """Make pages that had their turn, or were refused, wait again."""
        if not pages:
            return
        pages = sorted(pages)
        self.post(Step(StepKind.REOPEN, spending=Spending(pages)))
        self.reopened.update(pages)
        self._queue.wait_again(pages)

    def replay(self, pages: Sequence[int]) -> None:
        """Spend the cash of pages that were read once more, along their stored links."""
        self.post(Step(StepKind.REPLAY, spending=Spending(pages)))
