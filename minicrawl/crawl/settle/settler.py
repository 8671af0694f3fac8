"""Settles turns: looks up what an outcome is about, plans the ending, and posts one step.

Laws: a turn ends with exactly one step of its page, or the page waits again. Of pages with the same
content, one is the original and the others stand for it. If a page redirected because it lacked a
cookie, and the redirects lead back to it with one, it is requested again.

chain   consecutive redirects that led to a page
"""

from collections.abc import Sequence
from typing import NamedTuple, assert_never

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
from minicrawl.crawl.turns.turn import Turn
from minicrawl.model import NO_SCRIPTS, Originals, PageId, ScriptKind
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store.page_columns import Numbers
from minicrawl.web.responses.challenges import COOKIE_WALL

_COPIES = (State.ALIAS, State.TWIN)
"""States of pages that recommend nobody."""
MOST_REDIRECTS = 10
"""Most redirects in a row. Browsers follow 20, but a chain of five is a mistake already."""


class Ending(NamedTuple):
    """The end of a turn: the step of its page, which bears the `new` pages, and the new state."""

    step: Step
    end: TurnEnd
    new: Sequence[int] = ()
    value: int | None = None
    """Value of the page by the program's scorer, if any."""
    lesser: PageId | None = None
    """Page with the same content that was the original, and is an alias of this one from now on."""


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
        self._books, self._poster = recorder.frontier.books, poster
        self._gate, self._traps = gate, traps
        self.contents = ContentIndex(recorder, poster.reopened)
        self.script_made = 0
        """Number of pages that look made by scripts, and were read without running these."""

    def load_contents(self, pages: Numbers, contents: Numbers) -> None:
        """Load contents of pages that earlier runs read; some of these pages wait again."""
        self.contents.load(pages, contents)
        waiting = pages[self._frontier.states()[pages] == State.UNREAD]
        self._poster.reopened.update(waiting.tolist())

    def finish_loading(self) -> None:
        """Build the index of contents, and estimate what copies were given by earlier runs."""
        self.contents.finish_loading()
        self._traps.copies.load_gifts(self._recorder.pages.spendings())

    def settle(self, turn: Turn, outcome: Outcome, today: float) -> TurnEnd | None:
        """Settle a turn; return the new state of the page, or None if it waits again."""
        self._recorder.note_time(today)
        match outcome:
            case WasRead():
                ending = self._reading(turn, outcome, today)
            case Redirects():
                ending = self._redirect(turn, outcome)
            case GivenUp(state=state, reason=reason):
                ending = Ending(Step(StepKind.DEAD_END, turn.page), TurnEnd(state, reason))
            case NotModified():
                return self._confirm(turn.page, today)
            case Retry():
                return None
            case _:
                assert_never(outcome)
        self._post(ending)
        if ending.lesser is not None:
            self._make_alias(ending.lesser, turn.page)
        return ending.end

    def close(self, page: PageId, state: State) -> None:
        """Close a page as a dead end: its cash goes to the virtual page."""
        self._post(Ending(Step(StepKind.DEAD_END, page), TurnEnd(state)))

    def close_twin(self, page: PageId, url: str) -> None:
        """Make the page a twin of another URL, by a rule about such URLs and without a request."""
        target, new = self._meet(page, url, ())
        step = Step(StepKind.FORWARD, page, len(new), Spending([target]))
        self._post(Ending(step, TurnEnd(State.TWIN), new))

    def _post(self, ending: Ending) -> None:
        """Post the step of a page, and let the traps learn from it."""
        step, (state, *_), new, value, _ = ending
        page, links, copies = step.page, step.spending.links, self._traps.copies
        is_first = self._frontier.state[page] == State.UNREAD
        self._poster.reopened.discard(page)
        plans = self._poster.post(step, state, new, value)
        if links and is_first and state not in _COPIES:
            self._traps.paid(page, plans, links)
        if step.kind is StepKind.FORWARD:
            copies.note_copy(page, links[0])
        else:
            copies.forget_copy(page)

    def _reading(self, turn: Turn, outcome: WasRead, today: float) -> Ending:
        """Plan the ending of a page that was read, and let contents and traps learn from it."""
        page, parsed = turn.page, outcome.parsed
        recorder, depth = self._recorder, self._frontier.urls.depth[turn.page]
        has_changed = self.contents.describe(page, outcome.response, parsed, today)
        original = self.contents.find_or_add(page, parsed)
        self.script_made += (parsed.scripting or NO_SCRIPTS).kind is ScriptKind.SHELL
        is_barren = self._traps.read(page, turn.lease.url, parsed, original)
        is_better = original is not None and self._traps.copies.is_better(page, original)
        canonical, new = None, list[int]()
        is_copy = original is not None and not is_better
        url = None if is_copy else parsed.canonical
        # A page that stands for one that is never fetched would hand its cash to nobody.
        if url and self._gate.refusal(url, 0, 0) is None:
            # Pages of other shards come first: new ones must be born before new pages of our own
            # (`shards.Membership`).
            recorder.shard.meet_foreign(parsed.links, depth + 1, parsed.originals, turn.looked_up)
            canonical, new = self._meet(page, url, parsed.originals)
        meeting = recorder.meet(parsed.links, depth + 1, parsed.originals, turn.looked_up)
        new = [*new, *meeting.new]
        if parsed.own_requests:
            pages = dict(zip(parsed.links, meeting.pages, strict=True))
            recorder.keep_own_requests(pages, parsed.own_requests)
        introduced = [*turn.introduced, *meeting.new]
        self._traps.found(page, meeting.pages, introduced, is_barren=is_barren)

        leads_back = canonical is not None and self._books.leads_to(canonical, page)
        state, target = plan_of_reading(
            page, original, canonical, is_better=is_better, leads_back=leads_back
        )
        if state is State.FETCHED:
            if parsed.written:
                recorder.keep_written(page, meeting.pages, parsed.written)
            kind, value = StepKind.VISIT, parsed.value
            spending = self._shares.spending(turn.lease.url, meeting.pages, parsed)
        else:
            if state is State.ALIAS:
                self._note_mirror(page, target)
            kind, value = StepKind.FORWARD, None
            links = sorted(set(meeting.pages))
            spending = self._without_cash(target, links, self_link=parsed.self_link)
        lesser = original if is_better else None
        if lesser is not None:
            self.contents.replace(lesser, page, parsed.content)
        step, end = Step(kind, page, len(new), spending), TurnEnd(state, has_changed=has_changed)
        return Ending(step, end, new, value, lesser)

    def _make_alias(self, lesser: PageId, page: PageId) -> None:
        """Let the former original of a content stand for the page, and hand over its cash."""
        self._traps.copies.swap(page, lesser)
        is_original = self._frontier.state[lesser] == State.FETCHED
        if is_original and not self._books.leads_to(page, lesser):
            self._note_mirror(lesser, page)
            last = self._frontier.spendings.of(lesser)
            spending = self._without_cash(page, last.links, self_link=last.self_link)
            handing = Step(StepKind.FORWARD, lesser, 0, spending, 1)
            self._post(Ending(handing, TurnEnd(State.ALIAS)))

    def _without_cash(self, target: PageId, links: Sequence[int], *, self_link: bool) -> Spending:
        """Return the spending of a page that stands for another: its links get no cash."""
        if not self._frontier.terms.links:
            return Spending([target])
        return Spending([target], unpaid=links, self_link=self_link)

    def _note_mirror(self, page: PageId, original: PageId) -> None:
        """Record that the host of a copy mirrors that of the original, once for each page."""
        host_of = self._frontier.urls.host_of
        host_id, of_host = host_of[page], host_of[original]
        if host_id != of_host and self._frontier.state[page] != State.ALIAS:
            self._recorder.record_mirror(host_id, of_host)

    def _confirm(self, page: PageId, today: float) -> TurnEnd:
        """Replay the cash of a page that has not changed. It keeps its state."""
        document = self._recorder.pages.document(page)
        assert document is not None  # otherwise the request had no validator
        self._recorder.describe(document._replace(last_at=today, checks=document.checks + 1))
        self._poster.replay([page])
        return TurnEnd(State(self._frontier.state[page]))

    def _redirect(self, turn: Turn, outcome: Redirects) -> Ending:
        """Plan the end of a redirect. A chain that is too long ends here: its next target stays
        unknown.
        """
        page, chain, hops = turn.page, turn.chain, turn.chain.hops + 1
        dead_end = Step(StepKind.DEAD_END, page)
        if hops > MOST_REDIRECTS:
            why = f"more than {MOST_REDIRECTS} redirects in a row"
            return Ending(dead_end, TurnEnd(State.BAD_REDIRECT, why))
        target, new = self._meet(page, outcome.target, outcome.originals)
        self._traps.redirected(page, turn.lease.url, hops, new)
        led_to: tuple[int, ...] = ()
        if self._books.leads_to(target, page):
            reason = why_endless(
                sets_cookies=chain.sets_cookies or outcome.sets_cookies,
                was_tried=page in chain.begun_at,
                target=State(self._frontier.state[target]),
            )
            if reason is not None:
                return Ending(dead_end, TurnEnd(State.BAD_REDIRECT, reason))
            led_to = self._ask_again(page, target, chain)
        elif new or self._frontier.state[target] == State.UNREAD:
            led_to = (target,)
        if page in self._traps.seeds:
            self._traps.vouch(target)
            self._gate.widen(outcome.target)
        step = Step(StepKind.FORWARD, page, len(new), Spending([target]))
        return Ending(step, TurnEnd(State.MOVED, "", led_to), new)

    def _ask_again(self, page: PageId, target: PageId, chain: RedirectChain) -> tuple[int, ...]:
        """Reopen the pages of a chain that began without cookies, as `page` leads back to `target`.

        No chain goes on for ever: a page whose second visit leads here again is not reopened once
        more, and a chain through ever new pages becomes too long.
        """
        state, leads_to = self._frontier.state, self._books.leads_to
        moved = (start for start in chain.begun_at if state[start] == State.MOVED)
        sent = [start for start in moved if leads_to(start, page) and not leads_to(start, target)]
        self._poster.reopen((target, *sent))
        return (target, *sent)

    def _meet(self, page: PageId, url: str, originals: Originals) -> tuple[int, list[int]]:
        meeting = self._recorder.meet([url], self._frontier.urls.depth[page], originals)
        return meeting.pages[0], meeting.new


def plan_of_reading(
    page: PageId,
    original: PageId | None,
    canonical: PageId | None,
    *,
    is_better: bool,
    leads_back: bool,
) -> tuple[State, PageId]:
    """Return the state of a page that was read, and the page that it stands for.

    `original` has the same content, and `is_better` says that this page is to have it instead. Its
    `canonical` page is one within the scope; `leads_back` says that this stands for the page.

    Example: /a, /b and /c have the same content, and were read in this order. The canonical URL of
    /a is /, which is not read yet, and that of /b is /d.

        /a   no page has its content, and / does not lead back: CANONICAL, stands for /
        /b   /a has its content: ALIAS, stands for /a. Its canonical URL does not count
        /c   on another site, and gets more cash than /a: read as if no page had its content. Then
             /a, had it been an original, would stand for /c

    If canonical URLs form a cycle, the page read last stands for itself.
    """
    if original is not None and not is_better:
        return State.ALIAS, original
    if canonical is not None and not leads_back:
        return State.CANONICAL, canonical
    return State.FETCHED, page


def why_endless(*, sets_cookies: bool, was_tried: bool, target: State) -> str | None:
    """Return why redirects that lead back to the page end there, or None.

    If one of them has set a cookie, the pages that lead back are requested once more. They are not
    if the `target` has another state than MOVED: then it stands for the page for another reason.
    """
    if sets_cookies and not was_tried and target is State.MOVED:
        return None
    return f"that leads back here; {COOKIE_WALL}" if sets_cookies else "that leads back here"
