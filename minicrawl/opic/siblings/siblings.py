"""The sibling order: a page is ranked by what pages discovered together with it have revealed.

Cash says how much is known to point at a page, and so does the estimate that stands in for it while
few pages are read (see `early_rank`). Neither says what the page will reveal. Siblings do: pages
first seen on the same page mostly share a template and a place in the site. So the waiting pages of
a group rise together when members that were read revealed many new pages.

Example: a page of host h introduced the group X, another one the group Y, both with half of their
links new. One page of X was read and introduced 3 pages of h, one page of Y was read and introduced
none. So S is ln 4 = 1.39 for X and 0 for Y, and the mean of a turn is m = 0.69. A group starts with
3 average turns, which gives the factors

    X    ((3 m + 1.39) / (4 m))^.2 = 1.25^.2 = 1.05
    Y    ((3 m + 0) / (4 m))^.2    =  .75^.2 = 0.94

A page of X that holds 1 unit comes before a page of Y that holds 1.1, and after one that holds 1.2.
If h belonged to a family of sites that has read twice its budget, both factors would be at most 1,
times (1/2)^4 (see `families`).

This is an order, not a ledger: cash is read, never moved. The statistics are a fold over the posted
plans, so the same steps in the same order give bit-identical values. Sums over all pages, or over
all pages of a site, take effect in *rounds* (see `families`), so that a step changes the factors of
a few groups only.

group     pages of one host that one page introduced, at most a thousand. Pages that no link
          introduced form a group for each host and step
lone      page that was introduced as the only one of its host. It belongs to no group and takes a
          bit instead of a record: most pages of a broad crawl are lone
u         number of pages of its own host that a page introduced when it was read. Pages of other
          hosts do not count: they may be out of scope, and a page that lists them says little
          about its siblings
F, S      turns of a group's members, and the sum of ln(1 + u) over them
novelty   new links / links of the introducing page; unknown for a page without ordinary links
worth     key * hash^-.03 of a page: siblings with equal cash are not all read in a row. A queue
          by value multiplies it by the factor of the page's level (see `expected_value`)
factor    ((3 m + S) / ((3 + F) m))^(.2 r) * exp(.1 (novelty of the introducing page - .5)) of a
          group; m is the mean of S for a turn over all pages, and r the relevance. It is 1 for a
          lone page. A family budget limits both, and the live share multiplies both (see
          `live_shares`)
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from math import log1p

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.families.families import NOBODY, FamilyBudgets, PostedGifts, Sites
from minicrawl.opic.families.rounds import Means
from minicrawl.opic.importance.early_rank import EarlyRank
from minicrawl.opic.ledger.books import Step, StepKind
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.siblings.groups import NO_GROUP, Groups, OrderChanges
from minicrawl.opic.siblings.live_shares import LiveShares
from minicrawl.states import LinkVerdict, State

UNKNOWN_NOVELTY = 0.5
"""A half: neither raises nor lowers a factor."""

_NOT_ASKED = frozenset(
    (
        State.TWIN,
        State.ROBOTS,
        State.SCOPE,
        State.DEPTH,
        State.HOST_BUDGET,
        State.FOCUS,
        State.ADDRESS,
        State.TRAP,
        State.ALLOWANCE,
    )
)
"""States of pages that were closed without a request."""
_DEAD = frozenset(state for state in State if state.row.verdict is LinkVerdict.DEAD)

_MOST_POSTED = 1024
"""Number of plans that are buffered before their gifts are counted, to bound memory."""


class Siblings:
    """The groups of all pages, and what their members have revealed."""

    def __init__(self, ledger: Ledger, host_of: array[int], sites: Sites) -> None:
        self.groups = Groups()
        self.known = 0
        """Number of pages that were introduced."""
        self.means = Means()
        self.budgets, self.live = FamilyBudgets(sites), LiveShares()
        self.host_of = host_of
        self.ledger = ledger
        self.keys = ledger.key
        """Cash of each page, or early in a crawl its estimate."""
        self.early: EarlyRank | None = EarlyRank()
        self.changes = OrderChanges()
        """Changes for the queue, which takes them away."""
        self.seeds: set[int] = set()
        self.levels: bytearray | None = None
        """Level of each page by its expected value, if the attached queue uses values."""
        self._foretold: dict[int, list[range]] = {}
        self._posted = PostedGifts()

    def apply(self, step: Step, state: int, plans: Sequence[Plan], *, waited: bool) -> None:
        """Apply one more step with its plans. `waited`: its page was waiting.

        A turn counts for its group if the page was waiting and its host was asked. A page that is
        closed without a request says nothing about its siblings; neither does a page that is read
        again, whose links count only as cash.
        """
        known = len(self.ledger.key)
        new = range(known - step.born, known)
        match step.kind:
            case StepKind.VISIT | StepKind.FORWARD | StepKind.DEAD_END:
                # The user meant the page that the seed leads to.
                if state == State.MOVED and step.page in self.seeds:
                    self.vouch(step.spending.links)
                if waited and state not in _NOT_ASKED:
                    leads_on, is_dead = step.kind is not StepKind.FORWARD, state in _DEAD
                    self.end_turn(plans[0], new, leads_on=leads_on, is_dead=is_dead)
                    return
                if new:
                    self.introduce(new, UNKNOWN_NOVELTY, step.page)
                self.spend_again(plans[0])
            case StepKind.REPLAY:
                for plan in plans:
                    self.spend_again(plan)
            case StepKind.ENDOWED:
                self.vouch(step.spending.links)
                if self.early is not None:
                    self.early.hurry(self.means.turns)
            case StepKind.BORN if step.amount:
                self.introduce(new, min(step.born / step.amount, 1.0), step.page)
                self.foretell(step.page, new)
            case StepKind.BORN if new:
                self.introduce(new)
            case StepKind.FOREIGN | StepKind.RECEIVE:
                self._trade(step, known, new)

    def _trade(self, step: Step, known: int, new: range) -> None:
        """Register new pages of other shards, or new pages that another shard made known.

        Both are lone, because their siblings are not known here.
        """
        self.end_early_rank()  # links between shards are unknown here
        if step.kind is StepKind.FOREIGN:
            self.groups.part(step.spending.links[0], known)
        for page in new:
            self.introduce(range(page, page + 1))

    def introduce(
        self, pages: range, novelty: float = UNKNOWN_NOVELTY, by: PageId | None = None
    ) -> None:
        """Register newborn pages, introduced by the links of page `by` or by none."""
        self.known = pages.stop
        if self.early is not None:
            self.early.grow(self.known)
        hosts = self.host_of[pages.start : pages.stop]
        new_hosts = self.groups.add(pages.start, hosts, novelty)
        self.budgets.introduce(new_hosts, NOBODY if by is None else self.host_of[by])

    def foretell(self, page: PageId, pages: range) -> None:
        """Register pages that `page` introduces before its turn ends."""
        self._foretold.setdefault(page, []).append(pages)

    def end_turn(
        self, plan: Plan, new: range, *, leads_on: bool = True, is_dead: bool = False
    ) -> None:
        """Count the first turn of a page that spent its cash by `plan` and introduced `new`.

        `leads_on` is True if the plan has the page's own links, and False for a redirect, whose
        plan leads to the target.
        """
        host = self.host_of[plan.page]
        foretold = self._foretold.pop(plan.page, ()) if self._foretold else ()
        revealed = own = 0
        # Pages that became known before the end of the turn are in groups already, but the turn
        # revealed them all the same.
        for pages in (new, *foretold):
            revealed += len(pages)
            own += self.host_of[pages.start : pages.stop].count(host)
        if new:
            links = len(plan.links) + len(plan.extras)
            is_known = leads_on and links
            novelty = min(revealed / links, 1.0) if is_known else UNKNOWN_NOVELTY
            self.introduce(new, novelty, plan.page)
        if self.budgets.has_families:
            self.spend_again(plan)
        if (early := self.early) is not None:
            early.read(plan.page, [*plan.links, *(page for page, _ in plan.extras)])
            turns = self.means.turns + 1
            if early.is_over(turns):
                self.end_early_rank()
            elif early.is_due(turns):
                early.compute(turns, self.ledger)
                self._rank_by(early.estimates)
        shown = log1p(own)
        if (group := self.groups.of_one(plan.page, host)) != NO_GROUP:
            self.groups.turns[group] += 1
            self.groups.revealed[group] += shown
            self.groups.dead[group] += is_dead
        if self.live.count(host, is_dead=is_dead):
            self.changes.hosts.add(host)
        self.changes.of_all |= self.means.count(shown)
        if self.budgets.read(host, self.means.turns):
            self.count_gifts()
            ended = self.budgets.look()
            grown = [family for family, has_grown in ended.items() if has_grown]
            self.changes.hosts.update(self.budgets.hosts(grown))

    @property
    def holds_back(self) -> bool:
        """True if any host has been held back."""
        return self.live.holds_back or bool(self.budgets.rounds)

    def held(self, host: int) -> float:
        """Return the factor of a lone page of the host: 1, or less if the host is held back."""
        return self.budgets.held(host) * self.live.of(host)

    @property
    def has_estimates(self) -> bool:
        """True if estimates stand in for the cash of pages."""
        return self.keys is not self.ledger.key

    def end_early_rank(self) -> None:
        """Rank pages by their cash from now on."""
        if self.early is not None:
            self.early = None
            self._rank_by(self.ledger.key)

    def _rank_by(self, keys: array[int]) -> None:
        self.keys = keys
        self.changes.of_worths = True

    def spend_again(self, plan: Plan) -> None:
        """Register the gifts of a page that spent its cash. Only families need them."""
        if self.budgets.has_families:
            self._posted.post(plan)
            if len(self._posted) >= _MOST_POSTED:
                self.count_gifts()

    def vouch(self, pages: Sequence[PageId]) -> None:
        """Exempt pages that the user named, and pages that redirect to them, from budgets."""
        self.seeds.update(pages)
        self.changes.hosts.update(self.budgets.vouch([self.host_of[page] for page in pages]))

    def group_of(self, page: PageId) -> int:
        """Return the group of a page, `NO_GROUP` if it is lone."""
        return self.groups.of_one(page, self.host_of[page])

    def count_gifts(self) -> None:
        """Credit the posted gifts to families."""
        posted, self._posted = self._posted, PostedGifts()
        if len(posted):
            host_of = np.frombuffer(self.host_of, dtype=np.uint32)
            self.budgets.incomes.earn(*posted.between_hosts(host_of))

    def state(self) -> dict[str, bytes]:
        self.count_gifts()
        foretold = [
            (page, pages.start, pages.stop)
            for page, ranges in self._foretold.items()
            for pages in ranges
        ]
        return {
            "foretold": array("I", chain.from_iterable(foretold)).tobytes(),
            "seeds": array("I", sorted(self.seeds)).tobytes(),
            **self.groups.state(),
            **self.means.state(),
            **self.budgets.state(),
            **self.live.state(),
            **({} if self.early is None else self.early.state()),
        }

    def restore(self, state: Mapping[str, bytes], pages: int) -> None:
        """Continue from a saved state with `pages` pages; nothing was introduced before."""
        self.known = pages
        numbers = array("I", state["foretold"])
        for page, start, stop in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            self.foretell(page, range(start, stop))
        self.seeds.update(array("I", state["seeds"]))
        # Older stores have no lone pages: pages without siblings are groups of one there.
        nobody = bytes(pages + 7 >> 3)
        self.groups.restore({"lone": nobody, "dead": bytes(len(state["turns"])), **state})
        self.live.restore(state)
        self.means.restore(state)
        self.budgets.restore(state)
        if self.early is None or "early.due" not in state:
            self.end_early_rank()
        else:
            self.early.restore(state)
            self.keys = self.early.estimates or self.ledger.key
