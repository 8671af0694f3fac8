"""A small web that is read in the order by siblings, and an oracle of that order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log1p

from minicrawl.opic.families import families, rounds
from minicrawl.opic.importance import early_rank
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.ledger.plans import dead_end, forward, replay, visit, weighted_visit
from minicrawl.opic.queues.by_group import ByGroup
from minicrawl.opic.queues.by_site import ImportanceOfHosts
from minicrawl.opic.siblings.groups import MOST_MEMBERS
from minicrawl.opic.siblings.siblings import Siblings


@dataclass
class Group:
    """Symbols of the formulas for one group."""

    host: int
    novelty: float
    turns: int = 0
    dead: int = 0
    revealed: float = 0.0
    size: int = 0


class Truth:
    """Oracle of all values: plain formulas over the history of the crawl."""

    def __init__(self, ledger: Ledger, hosts: Sequence[int], site_of: Sequence[int]) -> None:
        self._ledger, self._hosts, self._site_of = ledger, hosts, site_of
        self.group_of: list[Group] = []
        self._turns, self._revealed, self._late = 0, 0.0, 0.0
        self._mean, self._relevance = 0.0, 1.0
        self._family: dict[int, int] = {}
        self._founders: dict[int, int] = {}
        self._reads: dict[int, int] = {}
        self.income: dict[int, float] = {}
        self._given: dict[int, float] = {}
        self._rounds: dict[int, tuple[int, float]] = {}
        self._families_due: set[int] = set()
        self._gifts: list[tuple[int, int, float]] = []
        self.vouched: set[int] = set()
        self._answers: dict[int, tuple[int, int]] = {}
        self._live: dict[int, float] = {}
        self._links: list[tuple[int, int]] = []
        self.estimates: list[float] = []
        self._due = early_rank.FIRST_TURN

    def introduce(self, pages: range, novelty: float = 0.5, by: int | None = None) -> None:
        for start in range(pages.start, pages.stop, MOST_MEMBERS):
            groups: dict[int, Group] = {}
            for page in range(start, min(start + MOST_MEMBERS, pages.stop)):
                host = self._hosts[page]
                rounded = round(novelty * 254) / 254
                self.group_of.append(groups.setdefault(host, Group(host, rounded)))
                self.group_of[-1].size += 1
        for host in sorted({self._hosts[page] for page in pages} - self._family.keys()):
            family = -1 if by is None else self._of_family(self._hosts[by])
            if family < 0 and self.vouched:
                family = self._founders.setdefault(self._site_of[host], host)
            self._family[host] = family
        if self.estimates:
            self.estimates += [UNIT] * len(pages)

    def _of_family(self, host: int) -> int:
        """The family of a host; -1 if a page of its site is a seed."""
        return -1 if self._site_of[host] in self.vouched else self._family[host]

    def died(self, page: int, *, is_dead: bool) -> None:
        """Count the answer of a page for the live shares."""
        host = self._hosts[page]
        self.group_of[page].dead += is_dead
        turns, dead = self._answers.get(host, (0, 0))
        self._answers[host] = turns, dead = turns + 1, dead + is_dead
        share, before = 1 - dead / (turns + 1), self._live.get(host, 1.0)
        if abs(share - before) > before / 8:
            self._live[host] = share

    def turn(self, plan: Plan, new: range, told: int, skip: set[int], *, leads: bool) -> None:
        revealed, links = len(new) + told, len(plan.links) + len(plan.extras)
        novelty = min(1.0, revealed / links) if leads and links else None
        if new:
            self.introduce(new, 0.5 if novelty is None else novelty, plan.page)
        self.give(plan)
        self._rank(plan.page, [*plan.links, *(page for page, _ in plan.extras)])
        own, host = self.group_of[plan.page], self._hosts[plan.page]
        shown = log1p(sum(self._hosts[page] == host for page in (*new, *skip)))
        own.turns += 1
        own.revealed += shown
        self._turns += 1
        self._revealed += shown
        self._late += (shown - self._late) * 10 / (self._turns + 9)
        mean = self._revealed / self._turns
        relevance = 0.25 + 0.75 * min(1.0, self._late / mean) if mean else 1.0
        if self._turns <= rounds.FEWEST_TURNS:
            relevance = 1.0
        if abs(mean - self._mean) > self._mean / 32 or abs(relevance - self._relevance) > 1 / 16:
            self._mean, self._relevance = mean, relevance
        self._read(self._of_family(self._hosts[plan.page]))

    def _rank(self, page: int, links: list[int]) -> None:
        """Estimate the ranks of pages as long as few are read."""
        self._links += [(page, link) for link in links]
        if self.estimates and links:
            gift = 0.85 * self.estimates[page] / len(links)
            for link in links:
                self.estimates[link] += gift
        turns = self._turns + 1
        if turns >= early_rank.LAST_TURN:
            self.estimates, self._due = [], 1 << 60
        elif turns >= self._due:
            self._due = turns + turns // 4
            self.estimates = self._pagerank()

    def _pagerank(self) -> list[float]:
        cash, waits = self._ledger.key, [flag == 0 for flag in self._ledger.flags]
        pages = range(len(cash))
        ranks = [1 + estimate for estimate in self.estimates or [0.0] * len(cash)]
        ranks = [rank / sum(ranks) for rank in ranks]
        links_of: dict[int, list[int]] = {}
        for giver, taker in self._links:
            links_of.setdefault(giver, []).append(taker)
        endowed = {page: atoms / UNIT for page, atoms in self._ledger.endowed.items()}
        weight = sum(endowed.values()) / 10
        to_seeds = max(weight / (weight + len(cash)), 0.05) if weight else 0
        for _ in range(5):
            last, ranks = ranks, [0.0] * len(cash)
            for giver, links in links_of.items():
                for taker in links:
                    gift, back = 0.85 * last[giver] / len(links), 0.7 * waits[taker]
                    ranks[taker] += gift * (1 - back)
                    ranks[giver] += gift * back
            jumps = 1 - sum(ranks)
            for page in pages:
                ranks[page] += jumps * (1 - to_seeds) / len(cash)
            for page, units in endowed.items():
                ranks[page] += jumps * to_seeds * units / (10 * weight)
        waiting = sum(rank for rank, waiting in zip(ranks, waits, strict=True) if waiting)
        of_cash = sum(atoms for atoms, waiting in zip(cash, waits, strict=True) if waiting)
        return [rank * of_cash / waiting if waiting else rank for rank in ranks]

    def _read(self, family: int) -> None:
        free = self._free()
        reads = self._reads[family] = self._reads.get(family, 0) + 1
        last = self._rounds.get(family)
        if family >= 0 and (reads > free if last is None else reads >= last[0] * 33 / 32):
            self._families_due.add(family)
        patience = 1 if self._rounds else families.PATIENCE
        every = rounds.AT_ONCE if self._families_due else families.LOOK_EVERY * patience
        if not self._turns % every:
            self._count()
            for one, (_, budget) in self._rounds.items():
                if self._budget(one) >= budget * 33 / 32:
                    self._rounds[one] = self._reads[one], self._budget(one)
            for one in self._families_due:
                self._rounds[one] = self._reads[one], self._budget(one)
            self._families_due.clear()

    def give(self, plan: Plan) -> None:
        giver = self._hosts[plan.page]
        for page, atoms in (*((link, plan.share) for link in plan.links), *plan.extras):
            if self._hosts[page] != giver:
                self._gifts.append((self._hosts[page], giver, atoms / UNIT))

    def _count(self) -> None:
        gave: dict[int, float] = {}
        gifts = [
            (self._of_family(taker), self._of_family(giver), units)
            for taker, giver, units in self._gifts
        ]
        self._gifts.clear()
        gifts = [gift for gift in gifts if gift[0] >= 0 and gift[0] != gift[1] and gift[2]]
        for _, giver, units in gifts:
            gave[giver] = gave.get(giver, 0.0) + units
        counts = {giver: self._that_counts(giver, units) for giver, units in gave.items()}
        for taker, giver, units in gifts:
            counted = units * counts[giver] / gave[giver]
            self.income[taker] = self.income.get(taker, 0.0) + counted
        for giver, counted in counts.items():
            self._given[giver] = self._given.get(giver, 0.0) + counted

    def _that_counts(self, giver: int, units: float) -> float:
        left = self.income.get(giver, 0.0) / 2 - self._given.get(giver, 0.0)
        return units if giver < 0 else min(units, max(left, 0.0))

    def vouch(self, page: int) -> None:
        self.vouched.add(self._site_of[self._hosts[page]])

    def value(self, page: int) -> float:
        group, mean = self.group_of[page], self._mean
        is_lone = group.size == 1
        factor = 1.0 if is_lone else exp(0.1 * (group.novelty - 0.5))
        if mean and not is_lone:
            factor *= ((3 * mean + group.revealed) / ((3 + group.turns) * mean)) ** (
                0.2 * self._relevance
            )
        last = self._rounds.get(self._of_family(group.host))
        if last and last[0] > last[1]:
            factor = min(factor, 1.0) * (last[1] / last[0]) ** families.HOLD_BACK
        live = self._live.get(group.host, 1.0)
        factor *= live if is_lone else 1 - (group.dead + 3 * (1 - live)) / (group.turns + 3)
        worth = self.estimates[page] if self.estimates else self._ledger.key[page]
        return factor * worth * _lift(page)

    def _free(self) -> int:
        grown = families.FREE_AT_FIRST + self._turns // families.TURNS_A_READ
        return min(families.FREE_READS, grown)

    def _budget(self, family: int) -> float:
        return self._free() + families.READS_A_UNIT * self.income.get(family, 0.0)


def _lift(page: int) -> float:
    mixed = page % 2**16 * 0x9E3779B1 % 2**32
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B % 2**32
    return exp(-0.03 * log(((mixed >> 16) + 1) / 2**16))


class SitesByHost:
    """Sites of hosts, from a list."""

    def __init__(self, site_of: Sequence[int]) -> None:
        self._site_of = site_of

    def site(self, host: int) -> int:
        return self._site_of[host]


class SiblingWorld:
    """World that does everything twice: in the order under test, and in the oracle."""

    def __init__(
        self,
        site_of: Sequence[int],
        importance: ImportanceOfHosts | None = None,
        siblings: type[Siblings] = Siblings,
    ) -> None:
        self.ledger, self.host_of = Ledger(), array("I")
        self.siblings = siblings(self.ledger, self.host_of, SitesByHost(site_of))
        self.queue = ByGroup(self.siblings, importance)
        self.truth = Truth(self.ledger, self.host_of, site_of)
        self.leased: set[int] = set()
        self.paused: set[int] = set()
        self._told: dict[int, list[range]] = {}

    def begin(self, hosts: Sequence[int], endowment: int = 0) -> None:
        """Add pages, of which the first is the seed."""
        self.birth(hosts[:1], endowment)
        self.vouch(0)
        self.birth(hosts[1:], endowment)

    def birth(self, hosts: Sequence[int], endowment: int = 0, refused: Sequence[int] = ()) -> range:
        """Add pages that no link led to; those at the `refused` places are closed at once."""
        new = self._mint(hosts)
        if endowment:
            self.ledger.endow(new, endowment)
        self.siblings.introduce(new)
        self.truth.introduce(new)
        for place in refused:
            self.ledger.post(dead_end(self.ledger, new[place]))
        self.queue.posted((), new)
        return new

    def foretold(self, page: int, hosts: Sequence[int], links: int) -> range:
        new = self._mint(hosts)
        self.siblings.introduce(new, len(new) / links, page)
        self.siblings.foretell(page, new)
        self._told.setdefault(page, []).append(new)
        self.truth.introduce(new, len(new) / links, page)
        self.queue.posted((), new)
        return new

    def vouch(self, page: int) -> None:
        self.siblings.vouch([page])
        self.truth.vouch(page)
        self.queue.posted(())

    def visit(self, page: int, links: Sequence[int], hosts: Sequence[int] = ()) -> range:
        """Read a page; the links of every fourth page have unequal weights."""
        new = self._mint(hosts)
        links = sorted({*links, *new})
        if page % 4 == 3:
            plan = weighted_visit(self.ledger, page, links, [1 + link % 3 for link in links])
        else:
            plan = visit(self.ledger, page, links)
        self._post(plan, new, leads=True)
        return new

    def redirect(self, page: int, target: int) -> None:
        self._post(forward(self.ledger, page, target), range(len(self.ledger), len(self.ledger)))

    def fail(self, page: int) -> None:
        """Request a page that is dead."""
        self._post(
            dead_end(self.ledger, page), range(len(self.ledger), len(self.ledger)), is_dead=True
        )

    def refuse(self, page: int) -> None:
        """Close a page without a request."""
        plan = dead_end(self.ledger, page)
        self.ledger.post(plan)
        self.siblings.spend_again(plan)
        self.truth.give(plan)
        self._end(plan)

    def replay(self, page: int, links: Sequence[int]) -> None:
        plan = replay(self.ledger, page, links)
        self.ledger.post(plan)
        self.siblings.spend_again(plan)
        self.truth.give(plan)
        self._end(plan)

    def reopen(self, page: int) -> None:
        self.ledger.reopen(page)
        self.queue.wait_again((page,))

    def take(self) -> int | None:
        page = self.queue.take()
        if page is not None:
            self.leased.add(page)
            self.paused.add(self.host_of[page])
        return page

    def put_back(self, page: int) -> None:
        self.leased.discard(page)
        self.queue.release(page)

    def pause(self, host: int) -> None:
        self.paused.add(host)
        self.queue.pause(host)

    def resume(self, host: int) -> None:
        self.paused.discard(host)
        self.queue.resume(host)

    def candidates(self) -> list[int]:
        return [
            page
            for page, flag in enumerate(self.ledger.flags)
            if not flag and page not in self.leased and self.host_of[page] not in self.paused
        ]

    def best(self) -> float:
        """Largest value of a page that may be taken, or 0 if there is none."""
        return max(map(self.truth.value, self.candidates()), default=0.0)

    def _mint(self, hosts: Sequence[int]) -> range:
        self.host_of.extend(hosts)
        return self.ledger.mint(len(hosts))

    def _post(self, plan: Plan, new: range, *, leads: bool = False, is_dead: bool = False) -> None:
        self.ledger.post(plan)
        told = self._told.pop(plan.page, [])
        self.siblings.end_turn(plan, new, leads_on=leads or is_dead, is_dead=is_dead)
        skip = {page for pages in told for page in pages}
        self.truth.turn(plan, new, len(skip), skip, leads=leads)
        self.truth.died(plan.page, is_dead=is_dead)
        self._end(plan)

    def _end(self, plan: Plan) -> None:
        self.leased.discard(plan.page)
        self.queue.posted((plan,))
