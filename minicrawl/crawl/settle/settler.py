"""Settles turns: makes one step of the outcome of a page's turn.

Laws: a turn ends with exactly one step of its page, or the page waits again. Of pages with the same
content, one is the original and the others stand for it. If a page redirected because it lacked a
cookie, and the redirects lead back to it with one, it is requested again.

chain   consecutive redirects that led to a page
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, assert_never

from minicrawl.config import Order, Settings
from minicrawl.crawl.schedule.orders import DistanceTracker, PageQueue
from minicrawl.crawl.scope_and_traps import ScopeGate, TrapDetector
from minicrawl.crawl.settle.contents import ContentIndex
from minicrawl.crawl.settle.outcome import (
    GivenUp,
    NotModified,
    Outcome,
    RedirectChain,
    Redirects,
    Retry,
    TurnEnd,
    WasRead,
)
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_table import NO_PAGES, Meeting, PagesByUrl
from minicrawl.model import Originals, PageId, ParsedPage, State
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import READ, Plan
from minicrawl.opic.ledger.money import PARTS, UNIT
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.store.tables import Numbers
from minicrawl.web.responses import COOKIE_WALL
from minicrawl.web.urls import host, site

if TYPE_CHECKING:
    from minicrawl.crawl.page_turns import Turn


# ================================================================ posting
#
# Posts steps: hands them to the recorder, and tells the schedule what they changed.
#
# Laws: pages born by a step wait from then on; pages that were given cash may move up in the queue.
# Parked pages wait again when a shorter path leads to them. A large number of URLs becomes known
# block by block, so that no page keeps the others waiting.
#
# replay   a page that was read spends the cash it got since, along its stored links. A replay costs
#          no request. The crawl loop posts a few per round, at most `Order.replay` per fetch

_LEADS_ON = frozenset((StepKind.VISIT, StepKind.FORWARD))
_PAYS = frozenset((StepKind.ENDOWED, StepKind.RECEIVE))


class StepPoster:
    """Posts steps. `reopened` has the pages that wait for another turn; some were read before."""

    def __init__(
        self,
        recorder: Recorder,
        queue: PageQueue,
        trackers: Sequence[DistanceTracker],
        saw: Callable[[list[Plan]], None] | None,
    ) -> None:
        """Set up; `saw`, if given, is called with the plans of each step.

        The `trackers` know the distances of pages, if the user limits these.
        """
        self._recorder = recorder
        self._queue, self._trackers, self._saw = queue, trackers, saw
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
        queue.posted(plans, new, self._paid(step) if step.kind in _PAYS else ())
        if self._saw is not None:
            self._saw(plans)
        if self._trackers and step.kind in _LEADS_ON:
            for tracker in self._trackers:
                for page in tracker.shorten(step.page, step.spending):
                    queue.release(page)
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
        """Make pages that had their turn wait again."""
        pages = sorted(pages)
        self.post(Step(StepKind.REOPEN, spending=Spending(pages)))
        self.reopened.update(pages)
        self._queue.wait_again(pages)

    def replay(self, pages: Sequence[int]) -> None:
        """Spend the cash of pages that were read once more, along their stored links."""
        self.post(Step(StepKind.REPLAY, spending=Spending(pages)))


# ---------------------------------------------------------------- introductions


LINKS_AT_ONCE = 1000
"""Links of a page, or pages of a sitemap, that become known before other pages get a turn."""
_REST = 3.0
"""Pause after a block, as a multiple of the time it took. New pages take memory, and a server that
sends very many links must not fill it at the speed of the processor.
"""


class Introduced(NamedTuple):
    """Pages by URL, the new ones among them, and the processor time in seconds."""

    pages: PagesByUrl
    new: Sequence[int]
    cost_s: float


class PageIntroducer:
    """Makes pages known early: before the turn of the page that links to them ends."""

    def __init__(self, recorder: Recorder, poster: StepPoster) -> None:
        self._recorder, self._poster = recorder, poster

    async def introduce(
        self, urls: Sequence[str], depth: int, originals: Originals, by: PageId | None = None
    ) -> Introduced:
        """Make the pages of distinct URLs known; `by` is the page with these links, if any."""
        pages: dict[str, int] = {}
        new: list[int] = []
        cost_s = 0.0
        for start in range(0, len(urls), LINKS_AT_ONCE):
            block = urls[start : start + LINKS_AT_ONCE]
            await self._recorder.committer.caught_up()
            looked_up = await self._recorder.look_up_urls(block)
            began = perf_counter()
            meeting = self._poster.introduce(block, depth, originals, looked_up, by)
            born = [row.id for row in meeting.urls]
            # Block by block: the sites of 10,000 new hosts at once would delay other pages.
            known = self._recorder.frontier.urls
            for number in {known.host_of[page] for page in born}:
                known.sites.site(number)
            took_s = perf_counter() - began
            cost_s += took_s
            pages.update(zip(block, meeting.pages, strict=True))
            new += born
            await asyncio.sleep(_REST * took_s if are_many(urls) else 0)
        return Introduced(pages, new, cost_s)


def are_many(urls: Sequence[str]) -> bool:
    """Return whether these take more than one block: other pages get a turn in between."""
    return len(urls) > LINKS_AT_ONCE


# ---------------------------------------------------------------- replays


AT_ONCE = 32
"""Most replays in one step."""
GROWN = 8 * UNIT
"""Least cash that makes a replay worthwhile. Smaller sums gained nothing on real graphs."""


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
        """Note the cash that plans moved."""
        for plan in plans:
            self._richest.offer(plan.links)
            self._richest.offer([page for page, _ in plan.extras])
            self._richest.release(plan.page)

    def run(self, poster: StepPoster) -> None:
        """Post a few replays, if allowed and worthwhile."""
        pages: list[int] = []
        while len(pages) < min(AT_ONCE, self.allowed):
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


# ================================================================ shares


class CashShares:
    """Splits cash among links, equally or with less weight for links within the site.

    Pure: settings, the page and its links in, a `Spending` out. Links come out in ascending order.
    """

    def __init__(self, order: Order) -> None:
        self._internal = round(order.weight_internal * PARTS)

    def spending(self, url: str, pages: Sequence[int], parsed: ParsedPage) -> Spending:
        """Return the spending of the page at `url`, whose links lead to `pages`, in this order."""
        ordered = sorted(set(pages))
        if self._internal == PARTS or not ordered:
            return Spending(ordered, self_link=parsed.self_link)
        link_of = dict(zip(pages, parsed.links, strict=True))
        own = site(host(url))
        weights = [
            self._internal if site(host(link_of[page])) == own else PARTS for page in ordered
        ]
        weights = weights if any(weights) else [PARTS] * len(weights)
        return Spending(ordered, weights, self_link=parsed.self_link)


MOST_REDIRECTS = 10
"""Most redirects in a row. Browsers follow 20, but a chain of five is a mistake already."""
_FETCHED = TurnEnd(State.FETCHED)


class Ending(NamedTuple):
    """End of a turn: the step, which bears the `new` pages, and the state of the page."""

    step: Step
    end: TurnEnd
    new: Sequence[int] = ()
    replaces: int | None = None
    """Former original of the content, which becomes a copy of this page."""
    value: int | None = None
    """Value of the page, if a scorer gave one."""


class Settler:
    """Makes a step of each outcome, and posts it."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        poster: StepPoster,
        gate: ScopeGate,
        traps: TrapDetector,
    ) -> None:
        self._shares = CashShares(settings.order)
        self._recorder, self._frontier = recorder, recorder.frontier
        self.poster = poster
        self._gate, self._traps = gate, traps
        self.contents = ContentIndex(recorder, poster.reopened)

    def load_contents(self, pages: Numbers, contents: Numbers) -> None:
        """Load contents of pages that earlier runs read; some of these pages wait again."""
        self.contents.load(pages, contents)
        waiting = pages[self._frontier.states()[pages] == State.UNREAD]
        self.poster.reopened.update(waiting.tolist())

    def finish_loading(self) -> None:
        """Build the index of contents, and estimate what copies were given by earlier runs."""
        self.contents.finish_loading()
        self._traps.copies.gifts.load(self._recorder.pages.spendings())

    def settle(self, turn: Turn, outcome: Outcome, today: float) -> TurnEnd | None:
        """Settle a turn, and let the traps learn from it.

        Return the new state of the page, or None if it waits again.
        """
        page, copies = turn.page, self._traps.copies
        match outcome:
            case WasRead():
                ending = self._read(turn, outcome, today)
            case Redirects():
                ending = self._redirect(turn, outcome)
            case GivenUp(state=state, reason=reason):
                ending = _dead_end(page, state, reason)
            case NotModified():
                return TurnEnd(self._confirm(page, today))
            case Retry():
                return None
            case _:
                assert_never(outcome)
        step, end, new, replaces, value = ending
        links = step.spending.links
        is_first = self._frontier.state[page] == State.UNREAD
        self.poster.reopened.discard(page)
        plans = self.poster.post(step, end.state, new, value)
        if links and is_first and end.state != State.ALIAS:  # a copy recommends nobody
            self._traps.paid(page, plans, links)
        if step.kind is StepKind.FORWARD:
            copies.note_copy(page, links[0])
        else:
            copies.forget_copy(page)
        if replaces is not None:
            self._hand_over(replaces, page)
        return end

    def close(self, page: PageId, state: State) -> None:
        """Close a page as a dead end: its cash goes to the virtual page."""
        self.poster.reopened.discard(page)
        self.poster.post(Step(StepKind.DEAD_END, page), state)
        self._traps.copies.forget_copy(page)

    def fold(self, page: PageId, target: str) -> None:
        """Make the page a twin of another URL, by a rule about such URLs and without a request."""
        self._post_copy(_forward(page, State.TWIN, *self._meet_target(page, target, ())))

    def _post_copy(self, ending: Ending) -> None:
        """Post the step of a copy that has no turn."""
        step, page = ending.step, ending.step.page
        self.poster.reopened.discard(page)
        self.poster.post(step, ending.end.state, ending.new)
        self._traps.copies.note_copy(page, step.spending.links[0])

    # ------------------------------------------------------------ pages that were read

    def _read(self, turn: Turn, read: WasRead, today: float) -> Ending:
        page, parsed = turn.page, read.parsed
        has_changed = self.contents.describe(page, read.response, parsed, today)
        first = self.contents.find_or_add(page, parsed)
        is_barren = self._traps.read(page, turn.lease.url, parsed, first)
        if first is None:
            ending = self._original(turn, parsed, is_barren)
        elif self._traps.copies.is_better(page, first):
            self.contents.replace(first, page, parsed.content)
            ending = self._original(turn, parsed, is_barren)._replace(replaces=first)
        else:
            _note_mirror(self._recorder, page, first)
            links, new = self._meet_links(turn, parsed, is_barren)
            ending = self._copied(page, State.ALIAS, first, parsed, links, new)
        return ending._replace(end=ending.end._replace(has_changed=True)) if has_changed else ending

    def _original(self, turn: Turn, parsed: ParsedPage, is_barren: bool) -> Ending:
        """Settle a page that is its content's original; its canonical URL may name another page.

        If canonical URLs form a cycle, the page read last stands for itself.
        """
        page, canonical, other = turn.page, parsed.canonical, None
        other_new: list[int] = []
        if canonical and self._gate.refusal(canonical, 0, 0) is None:
            # Pages of other shards come first: new ones must be born before new pages of our own
            # (`shards.Membership`).
            depth = self._frontier.urls.depth[page] + 1
            self._recorder.shard.meet_foreign(parsed.links, depth, parsed.originals, turn.looked_up)
            other, other_new = self._meet_target(page, canonical, parsed.originals)
        links, new = self._meet_links(turn, parsed, is_barren)
        if other is not None and not self._frontier.books.leads_to(other, page):
            return self._copied(page, State.CANONICAL, other, parsed, links, other_new + new)
        spending = self._shares.spending(turn.lease.url, links, parsed)
        if parsed.written:
            self._recorder.keep_written(page, links, parsed.written)
        step = Step(StepKind.VISIT, page, len(new), spending)
        return Ending(step, _FETCHED, new, value=parsed.value)

    def _copied(
        self,
        page: PageId,
        state: State,
        other: PageId,
        parsed: ParsedPage,
        links: Sequence[int],
        new: Sequence[int],
    ) -> Ending:
        """Settle a page that was read and stands for another: its links are kept, without cash."""
        ending = _forward(page, state, other, new)
        return self._with_links(ending, sorted(set(links)), self_link=parsed.self_link)

    def _with_links(self, ending: Ending, links: Sequence[int], *, self_link: bool) -> Ending:
        """Add the links of a page that stands for another one, if the store keeps links."""
        if not self._frontier.terms.links:
            return ending
        spending = ending.step.spending._replace(unpaid=links, self_link=self_link)
        return ending._replace(step=ending.step._replace(spending=spending))

    def _meet_links(
        self, turn: Turn, parsed: ParsedPage, is_barren: bool
    ) -> tuple[list[int], list[int]]:
        """Make the linked pages known. Return them, and the new ones among them."""
        page, depth = turn.page, self._frontier.urls.depth[turn.page] + 1
        meeting = self._recorder.meet(parsed.links, depth, parsed.originals, turn.looked_up)
        new = [row.id for row in meeting.urls]
        if parsed.own_requests:
            pages = dict(zip(parsed.links, meeting.pages, strict=True))
            self._recorder.keep_own_requests(pages, parsed.own_requests)
        self._traps.found(page, meeting.pages, [*turn.introduced, *new], is_barren=is_barren)
        return meeting.pages, new

    def _hand_over(self, first: int, page: PageId) -> None:
        """Make the former original an alias of the page, to which it hands over its cash."""
        self._traps.copies.swap(page, first)
        is_original = self._frontier.state[first] == State.FETCHED
        if is_original and not self._frontier.books.leads_to(page, first):
            _note_mirror(self._recorder, first, page)
            ending = _forward(first, State.ALIAS, page, is_handed_over=True)
            last = self._frontier.spendings.of(first)
            self._post_copy(self._with_links(ending, last.links, self_link=last.self_link))

    def _confirm(self, page: PageId, today: float) -> State:
        """Replay the cash of a page that has not changed, and return its state."""
        document = self._recorder.pages.document(page)
        assert document is not None  # otherwise the request had no validator
        self._recorder.describe(document._replace(last_at=today, checks=document.checks + 1))
        self.poster.replay([page])
        return State(self._frontier.state[page])

    # ------------------------------------------------------------ redirects

    def _redirect(self, turn: Turn, redirects: Redirects) -> Ending:
        """Settle a redirect.

        A chain that is too long ends at this page; its next target does not become known.
        """
        page, chain, hops = turn.page, turn.chain, turn.chain.hops + 1
        if hops > MOST_REDIRECTS:
            reason = f"more than {MOST_REDIRECTS} redirects in a row"
            return _dead_end(page, State.BAD_REDIRECT, reason)
        other, new = self._meet_target(page, redirects.target, redirects.originals)
        self._traps.redirected(page, turn.lease.url, hops, new)
        again: tuple[int, ...] = ()
        if self._frontier.books.leads_to(other, page):
            sets_cookies = chain.sets_cookies or redirects.sets_cookies
            is_first_time = sets_cookies and page not in chain.begun_at
            if not is_first_time or self._frontier.state[other] != State.MOVED:
                wall = f"; {COOKIE_WALL}" if sets_cookies else ""
                return _dead_end(page, State.BAD_REDIRECT, f"that leads back here{wall}")
            again = self._ask_again(page, other, chain)
        if page in self._traps.seeds:
            self._traps.vouch(other)
            self._gate.widen(redirects.target)
        is_unread = bool(new) or self._frontier.state[other] == State.UNREAD
        led_to = again or ((other,) if is_unread else ())
        return _forward(page, State.MOVED, other, new)._replace(
            end=TurnEnd(State.MOVED, "", led_to)
        )

    def _ask_again(self, page: PageId, other: PageId, chain: RedirectChain) -> tuple[int, ...]:
        """Reopen the pages of a chain that began without cookies, as `page` leads back to `other`.

        No chain goes on for ever: a page whose second visit leads here again is not reopened once
        more, and a chain through ever new pages becomes too long.
        """
        state, leads_to = self._frontier.state, self._frontier.books.leads_to
        moved = (one for one in chain.begun_at if state[one] == State.MOVED)
        sent = [one for one in moved if leads_to(one, page) and not leads_to(one, other)]
        again = (other, *sent)
        self.poster.reopen(again)
        return again

    def _meet_target(
        self, page: PageId, target: str, originals: Originals
    ) -> tuple[int, list[int]]:
        meeting = self._recorder.meet([target], self._frontier.urls.depth[page], originals)
        return meeting.pages[0], [row.id for row in meeting.urls]


def _note_mirror(recorder: Recorder, page: PageId, first: int) -> None:
    """Record that the page's host mirrors that of `first`, once however often the page is read."""
    frontier = recorder.frontier
    host, of_host = frontier.urls.host_of[page], frontier.urls.host_of[first]
    if host != of_host and frontier.state[page] != State.ALIAS:
        recorder.record_mirror(host, of_host)


def _dead_end(page: PageId, state: State, reason: str = "") -> Ending:
    return Ending(Step(StepKind.DEAD_END, page), TurnEnd(state, reason))


def _forward(
    page: PageId, state: State, other: int, new: Sequence[int] = (), *, is_handed_over: bool = False
) -> Ending:
    step = Step(StepKind.FORWARD, page, len(new), Spending([other]), int(is_handed_over))
    return Ending(step, TurnEnd(state), new)
