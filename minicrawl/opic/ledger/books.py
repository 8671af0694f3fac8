"""The steps that move cash, and the fold that rebuilds the books from their log.

The books are a fold over the steps. The same steps in the same order give the same books to the
atom, so only the log must survive a crash; a checkpoint of the books only saves time.

step      an event; it names pages by id and counts the pages that it introduces
spending  how a page spends its cash: its links, and their weights if they differ
forward   page that stands for another one: a redirect, a rel=canonical, a duplicate. Cash for it
          goes to its target at once, so that no cash waits behind a redirect.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.plans import forward, visit, weighted_visit
from minicrawl.opic.ledger.shard_cash import disown, receive, send


class StepKind(IntEnum):
    """Kind of a step. Stores contain these numbers: they never change."""

    TERMS = 0  # new terms of payment between pages and the virtual page
    BORN = 1  # pages became known without a link
    ENDOWED = 2  # seeds share an endowment
    VISIT = 3  # a page was read
    FORWARD = 4  # a page turned out to stand for another one
    DEAD_END = 5  # a page gives its cash to the virtual page
    REPLAY = 6  # read pages spend their cash again
    REOPEN = 7  # read pages wait for another turn
    GRANT = 8  # newborn pages get more than a unit, or less
    PRESUME = 9  # newborn pages are credited with a history
    FOREIGN = 10  # newborn pages belong to other shards
    SEND = 11  # cash of foreign pages leaves for their shard
    RECEIVE = 12  # cash from another shard is credited to pages
    REFUSE = 13  # newborn pages are refused together, each as a dead end
    TIME = 14  # the time is noted, for a window of a span of time


class Spending(NamedTuple):
    """Destination of a page's cash. Weights and focus are empty if all links are equal."""

    links: Sequence[int]
    weights: Sequence[int] = ()
    focus: Sequence[int] = ()
    idle: int = 0
    """A weight without a link; 0 unless there are weights. For SEND and RECEIVE, whose weights are
    atoms, it is the amount that leaves or enters the pot."""
    self_link: bool = False
    """True if the page links to itself, which moves no cash."""
    unpaid: Sequence[int] = ()
    """Links of a page that stands for another one; they get none of its cash."""


class Step(NamedTuple):
    """An event; `spending.links` are the targets of a visit or forward, else its pages."""

    kind: StepKind
    page: PageId = 0
    born: int = 0
    spending: Spending = Spending(())
    amount: int = 0
    """Depends on the kind. BORN: number of links of the page that were looked at, or 0 for pages
    without a link; ENDOWED: units; GRANT: atoms for each page; PRESUME: atoms per circulation for
    each page; TERMS: see `terms`; TIME: seconds since 1970; FORWARD: 1 if the page only hands over
    what it received in the target's place; FOREIGN: 1 if their shards know the pages; SEND and
    RECEIVE: number of the batch, where `page` is the other shard.
    """


_FOCUS_UNIT = 1 << 20
_EDGE_UNIT = 1 << 40


def terms(discovery: int, focus: int = 0, edge: int = 0) -> Step:
    """Return a step that sets the terms of payment; all arguments are in 65,536ths.

    `discovery` is the unread pages' share of the dividends (-1: the same for every page), `focus`
    the credit line for focused links in units for each unread page, and `edge` the small edge
    (0: unchanged).
    """
    return Step(StepKind.TERMS, amount=discovery + focus * _FOCUS_UNIT + edge * _EDGE_UNIT)


class Books:
    """A ledger, and the pages that stand for others. `apply` is the fold."""

    def __init__(self, ledger: Ledger, spending_of: Callable[[int], Spending]) -> None:
        """Create books; `spending_of` returns the last spending of a page, for replays."""
        self.ledger = ledger
        self.forwards: dict[int, int] = {}
        self._spending_of = spending_of

    def apply(self, step: Step) -> list[Plan]:
        """Carry the step out and return the plans that were posted."""
        # New pages first: the spending of the same step may lead to them.
        if step.born:
            self.ledger.mint(step.born)
        match step.kind:
            case StepKind.VISIT | StepKind.DEAD_END:
                self.forwards.pop(step.page, None)
                plan = self._spend(step.page, step.spending)
            case StepKind.FORWARD:
                self.forwards.pop(step.page, None)
                end = self.stands_for(step.spending.links[0])
                if end == step.page:
                    raise ValueError(f"page {end} stands for itself: settle a cycle as a dead end")
                self.forwards[step.page] = step.spending.links[0]
                plan = forward(self.ledger, step.page, end)
                if step.amount:
                    self.ledger.hand_over(plan)
                    return [plan]
            case StepKind.REPLAY:
                return [self._replay(page) for page in step.spending.links]
            case _:
                self._arrange(step)
                return []
        self.ledger.post(plan)
        return [plan]

    def _arrange(self, step: Step) -> None:
        """Carry out a step that gives no page cash of another page of this ledger."""
        pages, atoms, _, by_pot = step.spending[:4]
        match step.kind:
            case StepKind.REOPEN:
                for page in pages:
                    self.forwards.pop(page, None)
                    self.ledger.reopen(page)
            case StepKind.ENDOWED:
                self.ledger.endow(pages, step.amount)
            case StepKind.REFUSE:
                self.ledger.refuse(pages)
            case StepKind.GRANT:
                self.ledger.grant(pages, step.amount)
            case StepKind.PRESUME:
                self.ledger.presume(pages, step.amount)
            case StepKind.FOREIGN:
                disown(self.ledger, pages)
            case StepKind.SEND:
                send(self.ledger, pages, atoms, by_pot)
            case StepKind.RECEIVE:
                receive(self.ledger, self.stands_for, pages, atoms, by_pot)
            case StepKind.TERMS:
                virtual_page = self.ledger.virtual_page
                # `discovery` is -1 or more: with 1 added, all three numbers are digits of one
                # number.
                edge, options = divmod(step.amount + 1, _EDGE_UNIT)
                focus, shifted = divmod(options, _FOCUS_UNIT)
                self.ledger.change_edge(edge)
                virtual_page.focus = focus
                virtual_page.discovery = shifted - 1 if shifted else None

    def stands_for(self, page: PageId) -> int:
        """Return the page at the end of the chain of forwards; most pages stand for themselves."""
        while page in self.forwards:
            page = self.forwards[page]
        return page

    def leads_to(self, page: PageId, target: int) -> bool:
        """Return True if the chain of forwards from the page reaches the target."""
        while page != target and page in self.forwards:
            page = self.forwards[page]
        return page == target

    def without_detours(self, page: PageId, spending: Spending) -> Spending:
        """Return the spending with links to the ends of forwards, duplicates removed."""
        if self.forwards.keys().isdisjoint(spending.links):
            return spending
        known: dict[int, int] = {}
        ends = [
            self._end(link, known) if link in self.forwards else link for link in spending.links
        ]
        # Backwards, so that of several links to one end the first stays. A detour back to the page
        # itself moves no cash, like any link of a page to itself.
        first = {end: i for i, end in reversed(list(enumerate(ends))) if end != page}
        keep = sorted(first.values())
        return Spending(
            [ends[i] for i in keep],
            [spending.weights[i] for i in keep] if spending.weights else (),
            [spending.focus[i] for i in keep] if spending.focus else (),
            spending.idle,
            spending.self_link,
        )

    def _end(self, page: int, known: dict[int, int]) -> int:
        """Return the end of the page's chain, and record it for all pages of the chain."""
        chain = []
        while page not in known and page in self.forwards:
            chain.append(page)
            page = self.forwards[page]
        end = known.get(page, page)
        known.update(dict.fromkeys(chain, end))
        return end

    def _replay(self, page: PageId) -> Plan:
        if not self.ledger.is_read(page):
            raise ValueError(f"page {page} was never read: only a read page has links to replay")
        if page in self.forwards:
            plan = forward(self.ledger, page, self.stands_for(page))
        else:
            plan = self._spend(page, self._spending_of(page))
        self.ledger.post(plan)
        return plan

    def _spend(self, page: PageId, spending: Spending) -> Plan:
        links, weights, focus, idle = self.without_detours(page, spending)[:4]
        if not weights and not focus:
            return visit(self.ledger, page, links)
        weights = weights or [1] * len(links)
        return weighted_visit(self.ledger, page, links, weights, focus, idle)
