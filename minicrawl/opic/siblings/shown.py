"""What siblings have shown: pages first seen on one page mostly share a template and a worth.

Laws: it is an order and no ledger: cash is read, never moved. All of it is a fold over what was
posted, so the same steps in the same order make the same values to the bit. What depends on sums
over all pages, or over all pages of a site, is looked up in *rounds* (`rounds`), so that one step
changes the factors of a few groups only.

group     the pages of one host that one page introduced, at most a thousand. Pages that no link
          introduced are a group for each host and each step that bore them.
u         how many pages a page made known when it was read
F, S, T   of a group: its members' turns, the sum of ln(1 + u) over them, and the links to any
          member from pages that did not introduce it
novelty   new links / links of a page; of one that is no ordinary page with links it is unknown
worth     of a page: (its key + its bonus) * hash^-.01. The *bonus* lets gifts count as
          gift / (1 - .7 novelty of the giver): cash is slow to return from pages never read.
factor    of a group: ((3 mS + S) / ((3 + F) mS))^.2 * ((3 mT + T) / ((3 + F) mT))^.3 *
          exp(.2 (novelty of the introducing page - .5)); mS and mT are S and T a turn, over all
          groups. A site without a seed has a budget on top of that.

The order is by factor * worth. Both are made in the same way one by one and many at once: the hash
of a page has 16 bits, whose powers are in a table, and a factor is counted in 65,536ths.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from math import log1p

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS, UNIT
from minicrawl.opic.siblings.groups import NOVELTIES, Groups, Numbers, OrderChanges, Pages
from minicrawl.opic.siblings.rounds import Means, SiteBudgets

PRIOR = 3
"""A group begins as if so many of its members had been average."""
REVEALED, LINKED, NOVELTY = 0.2, 0.3, 0.2
"""The exponents of the factor."""
RETURNED = 0.7
"""The share of a gift to a page never read that would come back if that were read."""
UNKNOWN_NOVELTY = 0.5
"""Half: neither good nor bad."""

_LIFTS = np.power((np.arange(1 << 16) + 1.0) / (1 << 16), -0.01)
_LIFT: list[float] = _LIFTS.tolist()
MOST_LIFT = _LIFT[0]
_NOVELTY_FACTORS = np.exp(NOVELTY * (np.arange(NOVELTIES + 1) / NOVELTIES - 0.5))
_NOVELTY_FACTOR: list[float] = _NOVELTY_FACTORS.tolist()
_MIX, _MIX_AGAIN, _HALF, _32_BITS = 0x9E3779B1, 0x85EBCA6B, 16, 0xFFFFFFFF

Floats = NDArray[np.float64]
_NO_GROUPS = np.empty(0, dtype=np.int64)
Atoms = Floats | float


def lifts(pages: Pages) -> Floats:
    """hash^-.01 of pages, the same in every run."""
    mixed = pages.astype(np.uint32) * np.uint32(_MIX)
    mixed ^= mixed >> _HALF
    mixed *= np.uint32(_MIX_AGAIN)
    found: Floats = _LIFTS[mixed >> _HALF]
    return found


class Siblings:
    """The groups of all pages, and what their members have shown so far."""

    def __init__(
        self,
        ledger: Ledger,
        host_of: array[int],
        site_of: array[int],
        find_sites: Callable[[], None] | None = None,
    ) -> None:
        """`site_of` has the site of a host: the first known host of it. It is asked for seldom:
        `find_sites` fills it then.
        """
        self.groups = Groups()
        self.bonus = array("f")
        self.means = Means()
        self.budgets = SiteBudgets(site_of, find_sites)
        self.host_of = host_of
        self.ledger = ledger
        self.changes: OrderChanges | None = None
        """What a queue has to hear of, if there is one."""
        self.seeds: set[int] = set()
        self._foretold: dict[int, list[range]] = {}

    # ------------------------------------------------------------ the fold

    def introduce(self, pages: range, novelty: float = UNKNOWN_NOVELTY) -> None:
        """These pages were born."""
        self.bonus.extend(repeat(0.0, len(pages)))
        self.groups.add(pages.start, self.host_of[pages.start : pages.stop], novelty)

    def foretell(self, page: PageId, pages: range) -> None:
        """A page whose turn has not ended yet makes these pages known, among others."""
        self._foretold.setdefault(page, []).append(pages)

    def end_turn(self, plan: Plan, new: range, *, leads_on: bool = True) -> None:
        """A page that had not been read spent its cash, and `new` pages were born by that.

        `leads_on` says that its links are those of the plan. Those of a redirect are not: the page
        stands for the one that the plan leads to.
        """
        links, atoms = gifts(plan)
        told = self._foretold.pop(plan.page, ())
        revealed = len(new) + sum(map(len, told))
        is_known = leads_on and len(links) > 0
        novelty = min(revealed / len(links), 1.0) if is_known else UNKNOWN_NOVELTY
        if new:
            self.introduce(new, novelty)
        if not leads_on:
            self.hand_over(plan)
        self._give(plan.page, links, atoms, novelty if is_known else 0.0)
        older = links[links < new.start] if new else links
        groups = self._find_groups(older)
        if told:
            is_strange = np.ones(len(older), dtype=bool)
            for pages in told:
                is_strange &= (older < pages.start) | (older >= pages.stop)
            groups = groups[is_strange]
        self._judge(plan.page, log1p(revealed), groups)

    def vouch(self, page: PageId) -> None:
        """The user named the page, or one that redirects to it: its site has no budget."""
        self.seeds.add(page)
        self._note_sites(self.budgets.vouch(self.host_of[page]))

    def spend_again(self, plan: Plan) -> None:
        """A page that was read before spent its cash."""
        links, atoms = gifts(plan)
        self._give(plan.page, links, atoms, 0.0)
        self._find_groups(links)

    def hand_over(self, plan: Plan) -> None:
        """A page stands for another one from now on: its bonus goes where its cash goes."""
        for target in plan.links:
            self.bonus[target] += self.bonus[plan.page]

    def _give(self, page: PageId, links: Pages, atoms: Atoms, novelty: float) -> None:
        self.bonus[page] = 0.0
        if not len(links):
            return
        if novelty:
            more = 1 / (1 - RETURNED * novelty) - 1
            np.frombuffer(self.bonus, dtype=np.float32)[links] += atoms * more
        host, hosts = self.host_of[page], np.frombuffer(self.host_of, dtype=np.uint32)[links]
        if (is_away := hosts != host).any():
            takers = hosts[is_away]
            units = np.full(len(takers), atoms) if isinstance(atoms, float) else atoms[is_away]
            self._note_sites(self.budgets.earn(takers, host, units / UNIT))

    def _find_groups(self, links: Pages) -> Numbers:
        """The groups of links that were given cash."""
        if not len(links):
            return _NO_GROUPS
        groups = self.groups.of(links, np.frombuffer(self.host_of, dtype=np.uint32)[links])
        if self.changes is not None:
            self.changes.gifts.append((links, groups))
        return groups

    def _judge(self, page: PageId, revealed: float, linked: Numbers) -> None:
        """A turn revealed so much, and its page links to members of these groups."""
        groups, means, host = self.groups, self.means, self.host_of[page]
        own = groups.of_one(page, host)
        groups.turns[own] += 1
        groups.revealed[own] += revealed
        changed = groups.count_links(linked.tolist(), means.step_bits)
        is_over = means.count(revealed, len(linked))
        if self.changes is not None:
            self.changes.groups.update((own, *changed))
            self.changes.of_all |= is_over
        self._note_sites(self.budgets.read(host))

    def _note_sites(self, sites: Iterable[int]) -> None:
        if self.changes is not None:
            self.changes.sites.update(sites)

    # ------------------------------------------------------------ what a checkpoint has

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
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
        self.groups.restore(state)
        self.means.restore(state)
        self.budgets.restore(state)

    # ------------------------------------------------------------ the order

    def gross(self, pages: Pages | slice) -> Floats:
        """The same before their hashes count: at most `MOST_LIFT` times less."""
        keys = np.frombuffer(self.ledger.key, dtype=np.int64)[pages]
        bonus = np.frombuffer(self.bonus, dtype=np.float32)[pages].astype(np.float64)
        found: Floats = np.add(keys, bonus)
        return found

    def worth(self, page: PageId) -> float:
        """What one page is worth."""
        mixed = page * _MIX & _32_BITS
        mixed = (mixed ^ mixed >> _HALF) * _MIX_AGAIN & _32_BITS
        return (self.ledger.key[page] + self.bonus[page]) * _LIFT[mixed >> _HALF]

    def factor(self, group: int) -> float:
        """What the siblings of its members have shown, in 65,536ths."""
        of, means = self.groups, self.means
        weight = of.turns[group] + PRIOR
        found = _NOVELTY_FACTOR[of.novelty[group]]
        if means.mean_revealed:
            found *= ((PRIOR + of.revealed[group] / means.mean_revealed) / weight) ** REVEALED
        if means.mean_linked:
            linked = of.linked[group] >> means.step_bits << means.step_bits
            found *= ((PRIOR + linked / means.mean_linked) / weight) ** LINKED
        return _in_parts(self.budgets.hold_back(of.host[group], found))

    def newborn_factors(self, groups: range) -> list[float]:
        """The same for groups of which nobody has had a turn or a link."""
        plain, hold_back = _NOVELTY_FACTOR, self.budgets.hold_back
        hosts = self.groups.host[groups.start : groups.stop]
        novelties = self.groups.novelty[groups.start : groups.stop]
        pairs = zip(hosts, novelties, strict=True)
        return [_in_parts(hold_back(host, plain[novelty])) for host, novelty in pairs]

    def factors(self, groups: Numbers) -> Floats:
        """The same for many groups."""
        of, means = self.groups, self.means
        weight = np.frombuffer(of.turns, dtype=np.uint32)[groups] + float(PRIOR)
        found = _NOVELTY_FACTORS[np.frombuffer(of.novelty, dtype=np.uint8)[groups]]
        if means.mean_revealed:
            revealed = np.frombuffer(of.revealed, dtype=np.float32)[groups].astype(np.float64)
            found *= ((PRIOR + revealed / means.mean_revealed) / weight) ** REVEALED
        if means.mean_linked:
            linked = np.frombuffer(of.linked, dtype=np.uint32)[groups].astype(np.int64)
            linked = linked >> means.step_bits << means.step_bits
            found *= ((PRIOR + linked / means.mean_linked) / weight) ** LINKED
        if self.budgets.rounds:
            hosts = np.frombuffer(of.host, dtype=np.uint32)[groups].tolist()
            pairs = zip(hosts, found.tolist(), strict=True)
            found = np.array([self.budgets.hold_back(host, factor) for host, factor in pairs])
        parts: Floats = np.rint(found * PARTS)
        return parts


def gifts(plan: Plan) -> tuple[Pages, Atoms]:
    """The links of a plan, and what it gives to each; one number if that is the same."""
    if not plan.extras:
        return np.array(plan.links, dtype=np.uint32), float(plan.share)
    shares = [(link, plan.share) for link in plan.links]
    links, atoms = np.array([*shares, *plan.extras], dtype=np.int64).T
    return links.astype(np.uint32), atoms.astype(np.float64)


def worths(shown: Siblings, pages: Pages) -> Floats:
    """What pages that wait are worth beside their siblings."""
    return shown.gross(pages) * lifts(pages)


def urgency(shown: Siblings, pages: Pages) -> Floats:
    """The cash that these pages are as good as, in atoms: the one with the most comes first."""
    hosts = np.frombuffer(shown.host_of, dtype=np.uint32)[pages]
    return shown.factors(shown.groups.of(pages, hosts)) * worths(shown, pages) / PARTS


def _in_parts(factor: float) -> float:
    return float(round(factor * PARTS))
