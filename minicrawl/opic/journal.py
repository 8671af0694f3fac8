"""The journal: every step that moves cash, and the fold that makes the books of them.

Law: the books are a fold over the steps. The same steps in the same order make the same books to
the atom, so a log of steps is all that must survive, and a checkpoint of the books only saves time.

step      one thing that happened; it names pages by id and says how many were born by it
spending  how a page that was read hands on its cash: the links, and their weights if they differ
forward   a page that is another one: a redirect, a rel=canonical, the same content. What links
          give to it goes to its target at once, so that cash never waits behind a redirect.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from minicrawl.model import PageId
from minicrawl.opic import ledger as steps
from minicrawl.opic import ledger as transfers
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS


class StepKind(IntEnum):
    """What can happen. The numbers are in stores: they never change."""

    TERMS = 0  # from here on pages pay the virtual page, and it pays them, by these terms
    BORN = 1  # pages became known by nobody's link
    ENDOWED = 2  # seeds share an endowment
    VISIT = 3  # a page was read
    FORWARD = 4  # a page turned out to be another one
    DEAD_END = 5  # a page hands its cash to the virtual page
    REPLAY = 6  # pages read before spend again
    REOPEN = 7  # pages that had their turn wait for another one
    GRANT = 8  # pages that were just born get more than a unit, or less
    PRESUME = 9  # pages that were just born count as having a history
    FOREIGN = 10  # pages that were just born are of other shards
    SEND = 11  # what foreign pages hold leaves for their shard
    RECEIVE = 12  # what another shard sent is on the pages


class Spending(NamedTuple):
    """Where a page's cash goes. Weights and focus are empty where all links are alike."""

    links: Sequence[int]
    weights: Sequence[int] = ()
    focus: Sequence[int] = ()
    idle: int = 0
    """A weight that no link has; it is 0 unless there are weights. Of what is sent and received,
    whose weights are atoms, it is what the pot gives or gets."""
    self_link: bool = False
    """The page links to itself, which moves no cash."""
    unpaid: Sequence[int] = ()
    """Links of a page that stands for another one, which gets all its cash."""


class Step(NamedTuple):
    """The links of `spending` are the targets of a visit or forward, else the pages concerned."""

    kind: StepKind
    page: PageId = 0
    born: int = 0
    spending: Spending = Spending(())
    amount: int = 0
    """Of a birth, how many links of the page were looked at, or 0 if no link made the pages known;
    units of an endowment; atoms of a grant to each page; atoms a circulation that each page counts
    as having handed on; what new terms say, see `terms`; of a forward 1 if the page only hands over
    what it was given in the other's stead; the number of a batch, where `page` is the other shard.
    """


_FOCUS_UNIT = 1 << 20
_EDGE_UNIT = 1 << 40


def terms(discovery: int, focus: int = 0, edge: int = 0) -> Step:
    """From here on unread pages get this share of the dividends, or as much as any other for -1;
    the pot may lend this share of a unit for focused links, for each unread page; and this share of
    each page's cash is its small edge, or the same as before for 0. All are in 65,536ths.
    """
    return Step(StepKind.TERMS, amount=discovery + focus * _FOCUS_UNIT + edge * _EDGE_UNIT)


class Books:
    """A ledger, and which pages stand for others. `apply` is the fold."""

    def __init__(self, ledger: Ledger, spending_of: Callable[[int], Spending]) -> None:
        """`spending_of` answers how a page was last spent; only replays ask for it."""
        self.ledger = ledger
        self.forwards: dict[int, int] = {}
        self._spending_of = spending_of

    def apply(self, step: Step) -> list[Plan]:
        """Carry the step out. The result is the plans that were posted."""
        if step.born:
            self.ledger.mint(step.born)
        match step.kind:
            case StepKind.VISIT | StepKind.DEAD_END:
                self.forwards.pop(step.page, None)
                plan = self._spend(step.page, step.spending)
            case StepKind.FORWARD:
                target = self._let_stand(step.page, step.spending.links[0])
                plan = steps.forward(self.ledger, step.page, target)
                if step.amount:
                    self.ledger.hand_over(plan)
                    return [plan]
            case StepKind.REPLAY:
                return [self._replay(page) for page in step.spending.links]
            case StepKind.FOREIGN | StepKind.SEND | StepKind.RECEIVE:
                self._trade(step)
                return []
            case _:
                self._arrange(step)
                return []
        self.ledger.post(plan)
        return [plan]

    def _arrange(self, step: Step) -> None:
        """Steps that move no cash from one page to others."""
        match step.kind:
            case StepKind.REOPEN:
                for page in step.spending.links:
                    self.forwards.pop(page, None)
                    self.ledger.reopen(page)
            case StepKind.ENDOWED:
                self.ledger.endow(step.spending.links, step.amount)
            case StepKind.GRANT:
                self.ledger.grant(step.spending.links, step.amount)
            case StepKind.PRESUME:
                self.ledger.presume(step.spending.links, step.amount)
            case StepKind.TERMS:
                virtual_page = self.ledger.virtual_page
                edge, others = divmod(step.amount + 1, _EDGE_UNIT)
                focus, shifted = divmod(others, _FOCUS_UNIT)
                self.ledger.change_edge(edge)
                virtual_page.focus = focus
                virtual_page.discovery = shifted - 1 if shifted else None

    def _trade(self, step: Step) -> None:
        """Steps of a crawl in shards."""
        pages, atoms, _, by_pot = step.spending[:4]
        match step.kind:
            case StepKind.SEND:
                transfers.send(self.ledger, pages, atoms, by_pot)
            case StepKind.RECEIVE:
                transfers.receive(self.ledger, self.stands_for, pages, atoms, by_pot)
            case _:
                transfers.disown(self.ledger, pages)

    def stands_for(self, page: PageId) -> int:
        """The page that this one stands for in the end; most pages stand for themselves."""
        while page in self.forwards:
            page = self.forwards[page]
        return page

    def leads_to(self, page: PageId, target: int) -> bool:
        """Whether the page is the target or stands for it, be it on the way to another page."""
        while page != target and page in self.forwards:
            page = self.forwards[page]
        return page == target

    def without_detours(self, page: PageId, spending: Spending) -> Spending:
        """Each link goes to the page that its target stands for. Links to one page become one."""
        if self.forwards.keys().isdisjoint(spending.links):
            return spending
        ends = self._ends(spending.links)
        first = {end: i for i, end in reversed(list(enumerate(ends))) if end != page}
        keep = sorted(first.values())
        return Spending(
            [ends[i] for i in keep],
            [spending.weights[i] for i in keep] if spending.weights else (),
            [spending.focus[i] for i in keep] if spending.focus else (),
            spending.idle,
            spending.self_link,
        )

    def _ends(self, links: Iterable[int]) -> list[int]:
        """What each page stands for. Each page of a chain is looked at once."""
        known: dict[int, int] = {}
        return [self._end(link, known) if link in self.forwards else link for link in links]

    def _end(self, page: int, known: dict[int, int]) -> int:
        """What the page stands for, which is then known of all pages of the chain."""
        chain = []
        while page not in known and page in self.forwards:
            chain.append(page)
            page = self.forwards[page]
        end = known.get(page, page)
        known.update(dict.fromkeys(chain, end))
        return end

    def _let_stand(self, page: PageId, target: int) -> int:
        """The page stands for the target from now on. The result is what that stands for."""
        self.forwards.pop(page, None)
        end = self.stands_for(target)
        if end == page:
            raise ValueError(f"page {page} stands for itself: a cycle of redirects is a dead end")
        self.forwards[page] = target
        return end

    def _replay(self, page: PageId) -> Plan:
        if not self.ledger.is_read(page):
            raise ValueError(f"page {page} was never read: only a read page has links to replay")
        if page in self.forwards:
            plan = steps.forward(self.ledger, page, self.stands_for(page))
        else:
            plan = self._spend(page, self._spending_of(page))
        self.ledger.post(plan)
        return plan

    def _spend(self, page: PageId, spending: Spending) -> Plan:
        links, weights, focus, idle = self.without_detours(page, spending)[:4]
        if not weights and not focus:
            return steps.visit(self.ledger, page, links)
        weights = weights or [1] * len(links)
        return steps.weighted_visit(self.ledger, page, links, weights, focus, idle)


# ---------------------------------------------------------------- focus


def focus_granted(ledger: Ledger, plan: Plan, spending: Spending) -> tuple[int, int]:
    """What the focused links of a visit were to get beside their parts, and what they got."""
    weights = spending.weights or [1] * len(spending.links)
    total = sum(weights) + spending.idle
    pot = ledger.small_edge(plan.cash, len(spending.links))
    parts = [pot * weight // total for weight in weights] if total else []
    wanted = sum(
        part * strength // PARTS for part, strength in zip(parts, spending.focus, strict=False)
    )
    return wanted, sum(atoms for _, atoms in plan.extras) - sum(parts)
