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
bonus     of a page: lets gifts count as gift / (1 - .7 novelty of the giver), since cash is slow to
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
from minicrawl.opic.siblings.posted import NOT_JUDGED, PostedLinks, PostedPlans
from minicrawl.opic.siblings.rounds import Means

MOST_LINKS = 100
"""So many links of a page count in the mean: else the few pages that a farm may have read, with
20,000 links each, would make all links to honest pages count for nothing.
"""
RETURNED = 0.7
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
        self._posted.judge(plan, new.start if new else ALL_PAGES, told, shown, worth_more)
        linked = min(max(links - revealed, 0), MOST_LINKS)
        if self.means.count(shown, linked) and self.changes is not None:
            self.changes.of_all = True
        self._spend_budget(host)

    def _spend_budget(self, host: int) -> None:
        if len(self._posted) >= _MOST_POSTED:
            self.count()
        if self.budgets.read(host, self.means.turns):
            self.count()
            self._note_hosts(self.budgets.hosts(self.budgets.look()))

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
        self.count()
        for target in plan.links:
            self.bonus[target] += self.bonus[plan.page]

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
        pages, count = plans.pages, len(posted)
        both = np.concatenate((pages, links.pages))
        hosts = host_of[both]
        found = self.groups.of(both, hosts)
        own, groups, givers, hosts = found[:count], found[count:], hosts[:count], hosts[count:]
        self._give(pages, links, links.atoms * plans.worth_more.repeat(plans.sizes))
        self._judge(own, plans.shown, groups[posted.recommends(plans, links)])
        givers = givers[links.plans]
        is_away = hosts != givers
        self.budgets.incomes.earn(hosts[is_away], givers[is_away], links.atoms[is_away] / UNIT)
        if self.changes is not None:
            self._note_pages(self.changes, pages, own)
            self._note_gifts(self.changes, links.pages, groups)

    def _note_pages(self, changes: OrderChanges, pages: Pages, own: Numbers) -> None:
        waits_again = np.frombuffer(self.ledger.flags, dtype=np.uint8)[pages] == UNREAD
        has_group = own != NO_GROUP
        changes.groups.append(own[has_group])
        changes.fallen.update(own[waits_again & has_group].tolist())
        changes.lone.append(pages[waits_again & ~has_group])

    @staticmethod
    def _note_gifts(changes: OrderChanges, pages: Pages, groups: Numbers) -> None:
        has_group = groups != NO_GROUP
        changes.gifts.append((pages[has_group], groups[has_group]))
        changes.lone.append(pages[~has_group])

    def _give(self, pages: Pages, links: PostedLinks, gifts: Floats) -> None:
        """A page that spends has no bonus any more: what it was given before is lost."""
        bonus = np.frombuffer(self.bonus, dtype=np.float32)
        bonus[pages] = 0.0
        (counts,) = gifts.nonzero()
        if not len(counts):
            return
        takers, order = links.pages[counts], np.argsort(pages, kind="stable")
        last = order[pages[order].searchsorted(takers, side="right") - 1]
        stays = (pages[last] != takers) | (links.plans[counts] >= last)
        np.add.at(bonus, takers[stays], gifts[counts[stays]].astype(np.float32))

    def _judge(self, own: Numbers, shown: Floats, linked: Numbers) -> None:
        is_judged = (shown != NOT_JUDGED) & (own != NO_GROUP)
        self.groups.count_turns(own[is_judged], shown[is_judged])
        self.groups.count_links(linked[linked != NO_GROUP])

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
