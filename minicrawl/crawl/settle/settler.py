"""Settling: from how a page's turn ended to the step that is kept, and to who waits now.

Laws: a turn ends with exactly one step, or the page waits again. Whatever became known by it waits
from then on; whoever was given cash may have moved up.

contents     the page with this content that is itself; others with the same are its aliases. Thin
             pages are those of their hosts alone: other hosts have pages that say as little
hops         how many redirects led to a page
wait again   pages that were put aside, some of them after they had been read
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from minicrawl.config import Settings
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.orders import PageOrder
from minicrawl.crawl.settle.outcome import (
    GivenUp,
    NotModified,
    Outcome,
    Redirects,
    Retry,
    TurnEnd,
    WasRead,
)
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.shares import CashShares
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.crawl.traps.detector import TrapDetector
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.frontier.urls import Meeting
from minicrawl.model import Originals, ParsedPage, Response, State
from minicrawl.opic.by_host import ByHost
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.steps import Plan
from minicrawl.slots import Slots
from minicrawl.store.columns import Numbers
from minicrawl.store.records import DocumentRow

_MASK = (1 << 64) - 1
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio


@dataclass(slots=True)
class Waiting:
    """Who waits, in which order, and who is told when cash has moved."""

    queue: ByHost
    order: PageOrder
    depths: DepthTracker | None
    saw: Callable[[list[Plan]], None]


class Settler:
    """Ends turns."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        waiting: Waiting,
        gate: ScopeGate,
        traps: TrapDetector,
    ) -> None:
        self.sharing = CashShares(settings.order)
        self._recorder = recorder
        self._frontier = recorder.frontier
        self._queue, self._order = waiting.queue, waiting.order
        self._gate, self._traps = gate, traps
        self._max_redirects = settings.limits.max_redirects
        self._depths = waiting.depths
        self._saw = waiting.saw
        self.hops: dict[int, int] = {}
        self.contents = Slots()
        self._wait_again: set[int] = set()

    def know_contents(self, pages: Numbers, contents: Numbers) -> None:
        """Contents that an earlier run met; an alias has that of another page."""
        states = self._frontier.states()[pages]
        itself = states != State.ALIAS
        originals, codes = pages[itself], contents[itself].view(np.uint64)
        _, firsts = np.unique(codes, return_index=True)
        is_first = np.zeros(len(codes), dtype=np.bool_)
        is_first[firsts] = True
        # The others are thin, or many hosts would stand under one code.
        hosts = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)[originals]
        codes = np.where(is_first, codes, codes ^ hosts * np.uint64(_SPREAD))
        self.contents.put_all(codes, originals.astype(np.uint32))
        self._wait_again.update(pages[states == State.UNREAD].tolist())

    def finish_loading(self) -> None:
        """All contents are known: what must be done once is done now, not while a crawl waits."""
        self.contents.insert_pending()
        self._traps.copies.recall(self._recorder.pages.spendings())

    def settle(self, page: int, url: str, ending: Outcome, today: float) -> TurnEnd | None:
        """What the page is from now on; None if it waits again."""
        match ending:
            case WasRead():
                return TurnEnd(self._read(page, url, ending, today))
            case Redirects():
                return self._lead(page, url, ending)
            case GivenUp(state=state, why=why):
                return TurnEnd(self.close(page, state), why)
            case NotModified():
                return TurnEnd(self._keep_as_it_is(page, today))
            case Retry():
                return None
        assert_never(ending)

    def close(self, page: int, state: State) -> State:
        """The page hands all it has to the virtual page."""
        self.hops.pop(page, None)
        self._wait_again.discard(page)
        self._traps.copies.is_itself(page)
        self._do(Step(StepKind.DEAD_END, page), state, ())
        return state

    def fold(self, page: int, target: str) -> State:
        """The page stands for another one."""
        return self._forward(page, State.TWIN, *self._meet_target(page, target, ()))

    def reopen(self, pages: Sequence[int]) -> None:
        """These were put aside, and wait again."""
        self._do(Step(StepKind.REOPEN, spending=Spending(pages)), State.UNREAD, ())
        self._wait_again.update(pages)
        self._queue.born(pages)

    def replay(self, pages: Sequence[int]) -> None:
        """These pages, which were read before, spend what they hold once more."""
        self._do(Step(StepKind.REPLAY, spending=Spending(pages)), State.UNREAD, ())

    def introduce(
        self,
        urls: Iterable[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
    ) -> Meeting:
        """Pages become known before anybody pays them."""
        meeting = self._recorder.meet(list(dict.fromkeys(urls)), depth, originals, looked_up)
        if new := [row.id for row in meeting.urls]:
            self._do(Step(StepKind.BORN, born=len(new)), State.UNREAD, new)
        return meeting

    def release(self, pages: Iterable[int]) -> None:
        """These pages wait again."""
        for page in pages:
            self._queue.release(page)

    # ------------------------------------------------------------ a page that was read

    def _read(self, page: int, url: str, read: WasRead, today: float) -> State:
        reading = read.reading
        self.hops.pop(page, None)
        self._describe(page, read.page, reading, today)
        first = self._first_with(reading, page)
        is_barren = self._traps.read(page, url, reading, first)
        if first is None:
            return self._be_itself(page, url, read, is_barren)
        if self._traps.copies.is_better(page, first):
            state = self._be_itself(page, url, read, is_barren)
            self._replace(first, page, reading.content)
            return state
        self._note_mirror(page, first)
        _, new = self._meet(page, read, is_barren)
        return self._forward(page, State.ALIAS, first, new)

    def _be_itself(self, page: int, url: str, read: WasRead, is_barren: bool) -> State:
        reading = read.reading
        if reading.canonical and self._gate.refusal(reading.canonical, 0, 0) is None:
            return self._stand_for(page, url, reading.canonical, read, is_barren)
        return self._visit(page, url, reading, *self._meet(page, read, is_barren))

    def _visit(
        self, page: int, url: str, reading: ParsedPage, pages: Sequence[int], new: Sequence[int]
    ) -> State:
        spending = self.sharing.spending(url, pages, reading.links, reading.words)
        self._pass_on(page, Step(StepKind.VISIT, page, len(new), spending), State.FETCHED, new)
        self._traps.copies.is_itself(page)
        if self._depths is not None:
            self.release(self._depths.shorten(page, spending.links))
        return State.FETCHED

    def _meet(self, page: int, read: WasRead, is_barren: bool) -> tuple[list[int], list[int]]:
        reading, depth = read.reading, self._frontier.urls.depth[page] + 1
        links = list(reading.links)
        meeting = self._recorder.meet(links, depth, reading.originals, read.looked_up)
        new = [row.id for row in meeting.urls]
        self._traps.found(page, meeting.pages, [*read.introduced, *new], is_barren=is_barren)
        return meeting.pages, new

    def _keep_as_it_is(self, page: int, today: float) -> State:
        document = self._recorder.pages.document(page)
        assert document is not None  # or nobody could have asked whether it is the same
        self._recorder.describe(document._replace(last_at=today, checks=document.checks + 1))
        self.replay([page])
        return State(self._frontier.state[page])

    def _describe(self, page: int, answer: Response, reading: ParsedPage, today: float) -> None:
        before = self._document(page)
        # Who holds a part must not hear that the whole has not changed.
        validators = {} if answer.broke_off else answer.headers
        self._recorder.describe(
            DocumentRow(
                page=page,
                title=reading.title,
                status=answer.status,
                etag=validators.get("etag"),
                last_modified=validators.get("last-modified"),
                content=reading.content,
                noindex=reading.noindex,
                first_at=today if before is None else before.first_at,
                last_at=today,
                checks=0 if before is None else before.checks + 1,
                changes=0
                if before is None
                else before.changes + (before.content != reading.content),
            )
        )
        if before is not None and before.content != reading.content:
            self._drop_content(page, before.content)

    def _document(self, page: int) -> DocumentRow | None:
        """What it was before. Most pages are read for the first time: nobody asks the store."""
        waits = self._frontier.state[page] == State.UNREAD
        return (
            None if waits and page not in self._wait_again else self._recorder.pages.document(page)
        )

    def _first_with(self, reading: ParsedPage, page: int) -> int | None:
        """The page that has this content and is itself, if it has it still."""
        content, alike = reading.content, self.contents.matches(reading.content & _MASK)
        code = content & _MASK
        if reading.is_thin:
            host_of = self._frontier.urls.host_of
            code = self._code_on_host(content, page)
            alike = [other for other in alike if host_of[other] == host_of[page]]
            alike += self.contents.matches(code)
        first = next((other for other in alike if self._has_still(other, content)), None)
        if first is None and page not in alike:
            self.contents.put(code, page)
        return None if first is None or self._leads_back(page, first) else first

    def _code_on_host(self, content: int, page: int) -> int:
        return (content ^ self._frontier.urls.host_of[page] * _SPREAD) & _MASK

    def _drop_content(self, page: int, content: int) -> None:
        """Whichever it stands under."""
        for code in (content & _MASK, self._code_on_host(content, page)):
            self.contents.drop(code, page)

    def _replace(self, first: int, page: int, content: int) -> None:
        """The page is the original from now on: the first one hands over what it got for it."""
        for other in (first, page):
            self._drop_content(other, content)
        self.contents.put(content & _MASK, page)
        self._traps.copies.replaces(page, first)
        if self._frontier.state[first] == State.FETCHED and not self._leads_back(first, page):
            self._note_mirror(first, page)
            self._forward(first, State.ALIAS, page, (), is_handed_over=True)

    def _has_still(self, page: int, content: int) -> bool:
        document = self._recorder.pages.document(page)
        was_read = State(self._frontier.state[page]).was_read
        return was_read and document is not None and document.content == content

    def _note_mirror(self, page: int, first: int) -> None:
        """Once a page, however often it is read."""
        host, of_host = self._frontier.urls.host_of[page], self._frontier.urls.host_of[first]
        if host != of_host and self._frontier.state[page] != State.ALIAS:
            self._recorder.record_mirror(host, of_host)

    # ------------------------------------------------------------ a page that is another one

    def _stand_for(self, page: int, url: str, target: str, read: WasRead, is_barren: bool) -> State:
        """In a circle of canonical forms, each of which is read, the last one is itself."""
        other, other_new = self._meet_target(page, target, read.reading.originals)
        pages, new = self._meet(page, read, is_barren)
        if self._leads_back(page, other):
            return self._visit(page, url, read.reading, pages, new)
        return self._forward(page, State.CANONICAL, other, other_new + new)

    def _lead(self, page: int, url: str, leads: Redirects) -> TurnEnd:
        """Where a chain is too long, nobody asks how it goes on."""
        hops, most = self.hops.pop(page, 0) + 1, self._max_redirects
        if hops > most:
            why = f"more than {most} redirects in a row (--max-redirects)"
            return TurnEnd(self.close(page, State.BAD_REDIRECT), why)
        other, new = self._meet_target(page, leads.target, leads.originals)
        self._traps.redirected(page, url, hops, new)
        if self._leads_back(page, other):
            return TurnEnd(self.close(page, State.BAD_REDIRECT), "that leads back here")
        if page in self._traps.seeds:
            self._traps.vouch(other)
            self._gate.widen(leads.target)
        if new or self._frontier.state[other] == State.UNREAD:
            self.hops[other] = max(hops, self.hops.get(other, 0))
        return TurnEnd(self._forward(page, State.MOVED, other, new))

    def _meet_target(self, page: int, target: str, originals: Originals) -> tuple[int, list[int]]:
        meeting = self._recorder.meet([target], self._frontier.urls.depth[page], originals)
        return meeting.pages[0], [row.id for row in meeting.urls]

    def _leads_back(self, page: int, other: int) -> bool:
        """Whether the other stands for the page; what the page stood for so far is over."""
        forwards = self._frontier.books.forwards
        while other != page and other in forwards:
            other = forwards[other]
        return other == page

    def _forward(
        self,
        page: int,
        state: State,
        other: int,
        new: Sequence[int],
        *,
        is_handed_over: bool = False,
    ) -> State:
        step = Step(StepKind.FORWARD, page, len(new), Spending([other]), int(is_handed_over))
        self._pass_on(page, step, state, new)
        self._traps.copies.stands_for(page, other)
        if self._depths is not None:
            self.release(self._depths.shorten(page, [other]))
        return state

    # ------------------------------------------------------------ done

    def _pass_on(self, page: int, step: Step, state: State, new: Sequence[int]) -> None:
        is_first = self._frontier.state[page] == State.UNREAD
        self._wait_again.discard(page)
        plans = self._do(step, state, new)
        if is_first and state not in (State.ALIAS, State.TWIN):  # a copy recommends nobody
            self._traps.paid(page, plans, step.spending.links)

    def _do(self, step: Step, state: State, new: Sequence[int]) -> list[Plan]:
        """Keep the step, and tell the queue of it."""
        plans = self._recorder.settle(step, state)
        if new:
            self._order.grow(range(new[0], new[-1] + 1))
            self._queue.born(new)
            self._recorder.counters.add("born", len(new))
        for plan in plans:
            self._queue.offer(plan.links)
            if plan.extras:
                self._queue.offer([page for page, _ in plan.extras])
            self._queue.release(plan.page)
        self._saw(plans)
        return plans
