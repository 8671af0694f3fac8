"""A small web, read in the order by siblings, and the plain truth about that order beside it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log1p, log2

from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import UNIT
from minicrawl.opic.siblings import rounds
from minicrawl.opic.siblings.by_group import ByGroup
from minicrawl.opic.siblings.groups import MOST_MEMBERS
from minicrawl.opic.siblings.shown import Siblings
from minicrawl.opic.steps import dead_end, forward, replay, visit


@dataclass
class Group:
    """The formulas' symbols, of one group."""

    host: int
    novelty: float
    turns: int = 0
    revealed: float = 0.0
    linked: int = 0


class Truth:
    """All values by the formulas, from nothing but what has happened, with no array in sight."""

    def __init__(self, ledger: Ledger, hosts: Sequence[int], site_of: Sequence[int]) -> None:
        self._ledger, self._hosts, self._site_of = ledger, hosts, site_of
        self.group_of: list[Group] = []
        self.bonus: list[float] = []
        self._turns, self._revealed, self._linked = 0, 0.0, 0
        self._means = 0.0, 0.0
        self._reads: dict[int, int] = {}
        self.income: dict[int, float] = {}
        self._rounds: dict[int, tuple[int, float]] = {}
        self._gifts: list[tuple[int, int, float]] = []
        self.vouched: set[int] = set()

    def introduce(self, pages: range, novelty: float = 0.5) -> None:
        for start in range(pages.start, pages.stop, MOST_MEMBERS):
            groups: dict[int, Group] = {}
            for page in range(start, min(start + MOST_MEMBERS, pages.stop)):
                host = self._hosts[page]
                rounded = round(novelty * 254) / 254
                self.group_of.append(groups.setdefault(host, Group(host, rounded)))
                self.bonus.append(0.0)

    def turn(self, plan: Plan, new: range, told: int, skip: set[int], *, leads: bool) -> None:
        revealed, links = len(new) + told, len(plan.links)
        novelty = min(1.0, revealed / links) if leads and links else None
        if new:
            self.introduce(new, 0.5 if novelty is None else novelty)
        if not leads:
            self.pass_on(plan)
        self.give(plan, novelty or 0.0)
        strange = [page for page in plan.links if page not in new and page not in skip]
        for page in strange:
            self.group_of[page].linked += 1
        own = self.group_of[plan.page]
        own.turns += 1
        own.revealed += log1p(revealed)
        self._turns += 1
        self._revealed += log1p(revealed)
        self._linked += len(strange)
        now = self._revealed / self._turns, self._linked / self._turns
        if any(abs(one - last) > last / 32 for one, last in zip(now, self._means, strict=True)):
            self._means = now
        site = self._site_of[self._hosts[plan.page]]
        reads = self._reads[site] = self._reads.get(site, 0) + 1
        last = self._rounds.get(site)
        is_over = last is None or reads >= last[0] * 33 / 32
        if site not in self.vouched and reads > rounds.FREE_READS and is_over:
            self._count()
            self._rounds[site] = reads, self._budget(site)

    def pass_on(self, plan: Plan) -> None:
        for page in plan.links:
            self.bonus[page] += self.bonus[plan.page]

    def give(self, plan: Plan, novelty: float = 0.0) -> None:
        self.bonus[plan.page] = 0.0
        giver = self._hosts[plan.page]
        for page in plan.links:
            self.bonus[page] += plan.share * (1 / (1 - 0.7 * novelty) - 1)
            if self._hosts[page] != giver:
                self._gifts.append((self._hosts[page], giver, plan.share / UNIT))
        if len(self._gifts) >= rounds.GIFTS_AT_ONCE * (1 if self._rounds else rounds.PATIENCE):
            self._count()

    def _count(self) -> None:
        for taker, giver, units in self._gifts:
            site = self._site_of[taker]
            if site != self._site_of[giver]:
                self.income[site] = self.income.get(site, 0.0) + units
        self._gifts.clear()
        for site, (_, budget) in self._rounds.items():
            if site not in self.vouched and self._budget(site) >= budget * 33 / 32:
                self._rounds[site] = self._reads[site], self._budget(site)

    def vouch(self, page: int) -> None:
        site = self._site_of[self._hosts[page]]
        self.vouched.add(site)
        self._rounds.pop(site, None)

    def value(self, page: int) -> float:
        group, (revealed, linked) = self.group_of[page], self._means
        factor = exp(0.2 * (group.novelty - 0.5))
        if revealed:
            factor *= ((3 * revealed + group.revealed) / ((3 + group.turns) * revealed)) ** 0.2
        if linked:
            step = 2 ** max(0, int(log2(linked / 4))) if linked >= 4 else 1
            seen = group.linked // step * step
            factor *= ((3 * linked + seen) / ((3 + group.turns) * linked)) ** 0.3
        last = self._rounds.get(self._site_of[group.host])
        if last and last[0] > last[1]:
            factor = min(factor, 1.0) * last[1] / last[0]
        return factor * (self._ledger.key[page] + self.bonus[page]) * _lift(page)

    def _budget(self, site: int) -> float:
        return rounds.FREE_READS + rounds.READS_A_UNIT * self.income.get(site, 0.0)


def _lift(page: int) -> float:
    mixed = page * 0x9E3779B1 % 2**32
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B % 2**32
    return exp(-0.01 * log(((mixed >> 16) + 1) / 2**16))


class SiblingWorld:
    """Does everything twice: in the order that is tested, and in the truth."""

    def __init__(self, site_of: Sequence[int]) -> None:
        self.ledger, self.host_of = Ledger(), array("I")
        sites = array("I", site_of)
        self.siblings = Siblings(self.ledger, self.host_of, sites)
        self.queue = ByGroup(self.siblings)
        self.truth = Truth(self.ledger, self.host_of, sites)
        self.leased: set[int] = set()
        self.paused: set[int] = set()
        self._told: dict[int, list[range]] = {}

    def birth(self, hosts: Sequence[int], endowment: int = 0) -> range:
        """By nobody's link."""
        new = self._mint(hosts)
        if endowment:
            self.ledger.endow(new, endowment)
        self.siblings.introduce(new)
        self.truth.introduce(new)
        self.queue.posted((), new)
        return new

    def foretold(self, page: int, hosts: Sequence[int], links: int) -> range:
        new = self._mint(hosts)
        self.siblings.introduce(new, len(new) / links)
        self.siblings.foretell(page, new)
        self._told.setdefault(page, []).append(new)
        self.truth.introduce(new, len(new) / links)
        self.queue.posted((), new)
        return new

    def vouch(self, page: int) -> None:
        self.siblings.vouch(page)
        self.truth.vouch(page)
        self.queue.posted(())

    def visit(self, page: int, links: Sequence[int], hosts: Sequence[int] = ()) -> range:
        new = self._mint(hosts)
        plan = visit(self.ledger, page, sorted({*links, *new}))
        self._post(plan, new, leads=True)
        return new

    def redirect(self, page: int, target: int) -> None:
        self._post(forward(self.ledger, page, target), range(len(self.ledger), len(self.ledger)))

    def refuse(self, page: int) -> None:
        """It is closed without a request."""
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
        """What a page that may be taken is worth at most; 0 if there is none."""
        return max(map(self.truth.value, self.candidates()), default=0.0)

    def _mint(self, hosts: Sequence[int]) -> range:
        self.host_of.extend(hosts)
        return self.ledger.mint(len(hosts))

    def _post(self, plan: Plan, new: range, *, leads: bool = False) -> None:
        self.ledger.post(plan)
        told = self._told.pop(plan.page, [])
        self.siblings.end_turn(plan, new, leads_on=leads)
        skip = {page for pages in told for page in pages}
        self.truth.turn(plan, new, len(skip), skip, leads=leads)
        self._end(plan)

    def _end(self, plan: Plan) -> None:
        self.leased.discard(plan.page)
        self.queue.posted((plan,))
