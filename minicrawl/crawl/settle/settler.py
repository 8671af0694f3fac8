"""Settles turns: makes one step of the outcome of a page's turn.

Laws: a turn ends with exactly one step of its page, or the page waits again. Of pages with the same
content, one is the original and the others stand for it. If a page redirected because it lacked a
cookie, and the redirects lead back to it with one, it is requested again.

chain   consecutive redirects that led to a page
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, assert_never

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import TrapDetector
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.cash_shares import CashShares
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
from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.model import Originals, PageId, ParsedPage
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store.page_columns import Numbers
from minicrawl.web.responses.challenges import COOKIE_WALL

if TYPE_CHECKING:
    from minicrawl.crawl.turns.turn import Turn


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
