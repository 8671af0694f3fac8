"""What siblings have shown: pages first seen on one page mostly share a template and a worth.

Laws: it is an order and no ledger: cash is read, never moved. All of it is a fold over what was
posted, so the same steps in the same order make the same values to the bit. What depends on sums
over all pages, or over all pages of a site, is looked up in *rounds* (`rounds`), so that one step
changes the factors of a few groups only.

group     the pages of one host that one page introduced, at most a thousand. Pages that no link
          introduced are a group for each host and each step that bore them. A page that is the
          only one is lone: it has no siblings, and is of no group.
u         how many pages of its host a page made known when it was read. Pages of other hosts
          do not count: they may be out of the scope, and a page that lists them says little of
          its siblings
F, S, T   of a group: its members' turns, the sum of ln(1 + u) over them, and the links to any
          member from pages that did not introduce it
novelty   new links / links of a page; of one that is no ordinary page with links it is unknown
bonus     of a page: lets gifts count as gift / (1 - .4 novelty of the giver), since cash is slow to
          return from pages never read

What a page is worth by all that is in `values`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log1p

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import UNREAD, Ledger, Plan
from minicrawl.opic.money import UNIT
from minicrawl.opic.siblings.families import NOBODY, FamilyBudgets, Sites
from minicrawl.opic.siblings.groups import NO_GROUP, Groups, Numbers, OrderChanges, Pages
from minicrawl.opic.siblings.posted import (
    PostedColumns,
    PostedLinks,
    PostedPlans,
)
from minicrawl.opic.siblings.rounds import Means

MOST_LINKS = 100
"""So many links of a page count in the mean: else the few pages that a farm may have read, with
20,000 links each, would make all links to honest pages count for nothing.
"""
RETURNED = 0.4
"""The share of a gift to a page never read that would come back if that were read."""
UNKNOWN_NOVELTY = 0.5
"""Half: neither good nor bad."""

Floats = NDArray[np.float64]
_MOST_POSTED = 1024
"""Plans: more of them are counted at once, so that they take no memory."""
ALL_PAGES = (1 << 32) - 1
"""As the first new page of a turn that made none known."""


class Siblings:
    """The groups of all pages, and what their members have shown so far."""

    def __init__(self, ledger: Ledger, host_of: array[int], sites: Sites) -> None:
        self.groups = Groups()
        self.bonus = array("f")
        self.means = Means()
        self.budgets = FamilyBudgets(sites)
        self.host_of = host_of
        self.ledger = ledger
        self.changes: OrderChanges | None = None
        """What a queue has to hear of, if there is one."""
        self.told = 0
        """How many plans said something of groups or of gifts, whether it is counted yet or not."""
        self.seeds: set[int] = set()
        self._foretold: dict[int, list[range]] = {}
        self._posted = PostedPlans()

    # ------------------------------------------------------------ the fold

    def introduce(
        self, pages: range, novelty: float = UNKNOWN_NOVELTY, by: PageId | None = None
    ) -> None:
        """These pages were born, by links of a page or by nobody's."""
        self.bonus.frombytes(bytes(len(pages) * self.bonus.itemsize))
        hosts = self.host_of[pages.start : pages.stop]
        found = self.groups.add(pages.start, hosts, novelty)
        self.budgets.introduce(found, NOBODY if by is None else self.host_of[by])

    def foretell(self, page: PageId, pages: range) -> None:
        """A page whose turn has not ended yet makes these pages known, among others."""
        self._foretold.setdefault(page, []).append(pages)

    def end_turn(self, plan: Plan, new: range, *, leads_on: bool = True) -> None:
        """A page that had not been read spent its cash, and `new` pages were born by that.

        `leads_on` says that its links are those of the plan. Those of a redirect are not: the page
        stands for the one that the plan leads to.
        """
        self.told += 1
        links, host = len(plan.links) + len(plan.extras), self.host_of[plan.page]
        told = self._foretold.pop(plan.page, ()) if self._foretold else ()
        revealed, own = len(new), self._of_host(host, new)
        for pages in told:
            revealed += len(pages)
            own += self._of_host(host, pages)
        novelty = min(revealed / links, 1.0) if leads_on and links else None
        if new:
            self.introduce(new, UNKNOWN_NOVELTY if novelty is None else novelty, plan.page)
        if not leads_on:
            self.hand_over(plan)
        worth_more, shown = 1 / (1 - RETURNED * (novelty or 0.0)) - 1, log1p(own)
        if new and worth_more:
            self._give_newborn(plan, new, worth_more)
        self._posted.judge(plan, new.start if new else ALL_PAGES, told, worth_more)
        if (group := self.groups.of_one(plan.page, host)) != NO_GROUP:
            self.groups.count_turn(group, shown)
        linked = min(max(links - revealed, 0), MOST_LINKS)
        if self.means.count(shown, linked) and self.changes is not None:
            self.changes.of_all = True
        self._spend_budget(host)

    def _give_newborn(self, plan: Plan, new: range, worth_more: float) -> None:
        """What pages are given by the plan by which they were born."""
        bonus, first = self.bonus, new.start
        for page in [page for page in plan.links if page >= first]:
            bonus[page] += plan.share * worth_more
        for page, atoms in plan.extras:
            if page >= first:
                bonus[page] += atoms * worth_more

    def _spend_budget(self, host: int) -> None:
        if len(self._posted) >= _MOST_POSTED:
            self.count()
        if self.budgets.read(host, self.means.turns):
            self.count()
            ended = self.budgets.look()
            if self.changes is not None:
                self.changes.are_counted = True
            self._note_hosts(self.budgets.hosts([one for one, is_more in ended.items() if is_more]))

    def _of_host(self, host: int, pages: range) -> int:
        return self.host_of[pages.start : pages.stop].count(host)

    def vouch(self, pages: Sequence[PageId]) -> None:
        """The user named these pages, or pages that redirect to them: they have no budget."""
        self.count()
        self.seeds.update(pages)
        self._note_hosts(self.budgets.vouch([self.host_of[page] for page in pages]))

    def spend_again(self, plan: Plan) -> None:
        """A page that was read before spent its cash."""
        self.told += bool(plan.links or plan.extras)
        self._posted.post(plan)

    def hand_over(self, plan: Plan) -> None:
        """A page stands for another one from now on: its bonus goes where its cash goes."""
        for target in plan.links:
            self._posted.hand_over(plan.page, target)

    def group_of(self, page: PageId) -> int:
        """The group of a page; a lone one has none."""
        return self.groups.of_one(page, self.host_of[page])

    def count(self) -> None:
        """Count what was posted."""
        posted, self._posted = self._posted, PostedPlans()
        if not len(posted):
            return
        plans = posted.columns()
        links = posted.links(plans)
        host_of = np.frombuffer(self.host_of, dtype=np.uint32)
        hosts, givers = host_of[links.pages], host_of[plans.pages][links.plans]
        groups, is_older = self.groups.of(links.pages, hosts), posted.are_older(plans, links)
        self._move_bonus(posted, plans, links, is_older)
        recommended = groups[posted.recommends(links, is_older)]
        self.groups.count_links(recommended[recommended != NO_GROUP])
        (away,) = (hosts != givers).nonzero()
        self.budgets.incomes.earn(hosts[away], givers[away], links.atoms[away] / UNIT)
        if self.changes is not None:
            self._note_pages(self.changes, plans.pages)
            self._note_gifts(self.changes, links.pages, groups)

    def _note_pages(self, changes: OrderChanges, pages: Pages) -> None:
        """Those of them that wait again have no bonus any more."""
        (again,) = (np.frombuffer(self.ledger.flags, dtype=np.uint8)[pages] == UNREAD).nonzero()
        if len(again):
            pages = pages[again]
            groups = self.groups.of(pages, np.frombuffer(self.host_of, dtype=np.uint32)[pages])
            changes.fallen.update(groups[groups != NO_GROUP].tolist())
            changes.lone.append(pages[groups == NO_GROUP])

    @staticmethod
    def _note_gifts(changes: OrderChanges, pages: Pages, groups: Numbers) -> None:
        has_group = groups != NO_GROUP
        changes.gifts.append((pages[has_group], groups[has_group]))
        changes.lone.append(pages[~has_group])

    def _move_bonus(
        self,
        posted: PostedPlans,
        plans: PostedColumns,
        links: PostedLinks,
        is_older: NDArray[np.bool_],
    ) -> None:
        """What was given to a page up to then goes to the one that it stands for. Newborn pages
        have what they were given.
        """
        gifts, bonus = links.atoms * plans.worth_more[links.plans] * is_older, self.bonus
        first = begin = 0
        for plan, page, target in posted.handed_over:
            if plan > first:
                end = int(links.plans.searchsorted(plan))
                givers = links.plans[begin:end] - first
                self._give(
                    plans.pages[first:plan], links.pages[begin:end], givers, gifts[begin:end]
                )
                first, begin = plan, end
            bonus[target] += bonus[page]
        self._give(
            plans.pages[first:], links.pages[begin:], links.plans[begin:] - first, gifts[begin:]
        )

    def _give(self, pages: Pages, takers: Pages, givers: Numbers, gifts: Floats) -> None:
        """A page that spends has no bonus any more: what it was given before is lost. `givers` are
        places among these pages.
        """
        bonus = np.frombuffer(self.bonus, dtype=np.float32)
        bonus[pages] = 0.0
        (counts,) = gifts.nonzero()
        if not len(counts):
            return
        takers, order = takers[counts], np.argsort(pages, kind="stable")
        last = order[pages[order].searchsorted(takers, side="right") - 1]
        stays = (pages[last] != takers) | (givers[counts] >= last)
        np.add.at(bonus, takers[stays], gifts[counts[stays]].astype(np.float32))

    def _note_hosts(self, hosts: Iterable[int]) -> None:
        if self.changes is not None:
            self.changes.hosts.update(hosts)

    # ------------------------------------------------------------ what a checkpoint has

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        self.count()
        foretold = [
            (page, pages.start, pages.stop)
            for page, told in self._foretold.items()
            for pages in told
        ]
        return {
            "bonus": self.bonus.tobytes(),
            "foretold": array("I", chain.from_iterable(foretold)).tobytes(),
            "seeds": array("I", sorted(self.seeds)).tobytes(),
            **self.groups.state(),
            **self.means.state(),
            **self.budgets.state(),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from a saved state; nothing was introduced before."""
        self.bonus.frombytes(state["bonus"])
        numbers = array("I", state["foretold"])
        for page, start, stop in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            self.foretell(page, range(start, stop))
        self.seeds.update(array("I", state["seeds"]))
        # A store of before has no lone pages: those without siblings are groups of one.
        nobody = bytes(len(self.bonus) + 7 >> 3)
        self.groups.restore({"lone": nobody, **state})
        self.means.restore(state)
        self.budgets.restore(state)
