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
F, S      of a group: its members' turns, and the sum of ln(1 + u) over them
novelty   new links / links of a page; of one that is no ordinary page with links it is unknown

What a page is worth by all that is in `values`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log1p

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.siblings.families import NOBODY, FamilyBudgets, Sites
from minicrawl.opic.siblings.groups import NO_GROUP, Groups, OrderChanges
from minicrawl.opic.siblings.posted import PostedGifts
from minicrawl.opic.siblings.rounds import Means

UNKNOWN_NOVELTY = 0.5
"""Half: neither good nor bad."""

_MOST_POSTED = 1024
"""Plans: more of them are counted at once, so that they take no memory."""


class Siblings:
    """The groups of all pages, and what their members have shown so far."""

    def __init__(self, ledger: Ledger, host_of: array[int], sites: Sites) -> None:
        self.groups = Groups()
        self.known = 0
        """How many pages were introduced."""
        self.means = Means()
        self.budgets = FamilyBudgets(sites)
        self.host_of = host_of
        self.ledger = ledger
        self.changes: OrderChanges | None = None
        """What a queue has to hear of, if there is one."""
        self.seeds: set[int] = set()
        self._foretold: dict[int, list[range]] = {}
        self._posted = PostedGifts()

    # ------------------------------------------------------------ the fold

    def introduce(
        self, pages: range, novelty: float = UNKNOWN_NOVELTY, by: PageId | None = None
    ) -> None:
        """These pages were born, by links of a page or by nobody's."""
        self.known = pages.stop
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
        host = self.host_of[plan.page]
        told = self._foretold.pop(plan.page, ()) if self._foretold else ()
        revealed, own = len(new), self._of_host(host, new)
        for pages in told:
            revealed += len(pages)
            own += self._of_host(host, pages)
        if new:
            links = len(plan.links) + len(plan.extras)
            is_known = leads_on and links
            novelty = min(revealed / links, 1.0) if is_known else UNKNOWN_NOVELTY
            self.introduce(new, novelty, plan.page)
        self.spend_again(plan)
        shown = log1p(own)
        if (group := self.groups.of_one(plan.page, host)) != NO_GROUP:
            self.groups.count_turn(group, shown)
        if self.means.count(shown) and self.changes is not None:
            self.changes.of_all = True
        if self.budgets.read(host, self.means.turns):
            self._look_at_budgets()

    def _of_host(self, host: int, pages: range) -> int:
        return self.host_of[pages.start : pages.stop].count(host)

    def spend_again(self, plan: Plan) -> None:
        """A page spent its cash, which tells of families alone."""
        if self.budgets.has_families:
            self._posted.post(plan)
            if len(self._posted) >= _MOST_POSTED:
                self.count_gifts()

    def vouch(self, pages: Sequence[PageId]) -> None:
        """The user named these pages, or pages that redirect to them: they have no budget."""
        self.seeds.update(pages)
        self._note_hosts(self.budgets.vouch([self.host_of[page] for page in pages]))

    def group_of(self, page: PageId) -> int:
        """The group of a page; a lone one has none."""
        return self.groups.of_one(page, self.host_of[page])

    # ------------------------------------------------------------ budgets

    def _look_at_budgets(self) -> None:
        self.count_gifts()
        ended = self.budgets.look()
        self._note_hosts(self.budgets.hosts([one for one, is_more in ended.items() if is_more]))

    def count_gifts(self) -> None:
        """Let families have what was posted for them."""
        posted, self._posted = self._posted, PostedGifts()
        if len(posted):
            host_of = np.frombuffer(self.host_of, dtype=np.uint32)
            self.budgets.incomes.earn(*posted.between_hosts(host_of))

    def _note_hosts(self, hosts: Iterable[int]) -> None:
        if self.changes is not None:
            self.changes.hosts.update(hosts)

    # ------------------------------------------------------------ what a checkpoint has

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        self.count_gifts()
        foretold = [
            (page, pages.start, pages.stop)
            for page, told in self._foretold.items()
            for pages in told
        ]
        return {
            "foretold": array("I", chain.from_iterable(foretold)).tobytes(),
            "seeds": array("I", sorted(self.seeds)).tobytes(),
            **self.groups.state(),
            **self.means.state(),
            **self.budgets.state(),
        }

    def restore(self, state: Mapping[str, bytes], pages: int) -> None:
        """Go on from a saved state with so many pages; nothing was introduced before."""
        self.known = pages
        numbers = array("I", state["foretold"])
        for page, start, stop in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            self.foretell(page, range(start, stop))
        self.seeds.update(array("I", state["seeds"]))
        # A store of before has no lone pages: those without siblings are groups of one.
        nobody = bytes(pages + 7 >> 3)
        self.groups.restore({"lone": nobody, **state})
        self.means.restore(state)
        self.budgets.restore(state)
