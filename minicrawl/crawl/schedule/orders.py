"""The orders in which pages are read, each with its queue of the pages that wait.

Law: whatever the order is, hosts are asked politely: the next page is one whose host may be asked.

By siblings, a page is judged by what its siblings have shown. All other orders give every page a
key, and the largest comes first: they are an array of keys, and what to do when pages become known.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, MutableSequence, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from minicrawl.config import Settings
from minicrawl.frontier.pages import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State
from minicrawl.opic.journal import Spending
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.order import ByHost, BySite, EligiblePages, ImportanceOfHosts, lots


class PageQueue(Protocol):
    """The pages that wait to be read, in their order."""

    def load(self) -> None:
        """All pages that wait already do so from now on."""

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Plans were posted, so their pages have no lease; `new` pages were born before, and
        `paid` ones, which were not read, were endowed.
        """

    def wait_again(self, pages: Iterable[int]) -> None:
        """These pages had their turn, and wait for another one."""

    def take(self) -> int | None:
        """Lease the next page and its host; None if no ready host has a page."""

    def release(self, page: PageId) -> None:
        """The lease of the page has ended, and it waits again. Its host stays as it is."""

    def resume(self, host: int) -> None:
        """The host may be asked again."""

    def pause(self, host: int) -> None:
        """The host may not be asked."""

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""

    def has_pages(self, host: int) -> bool:
        """Whether a host that may be asked has pages that wait."""

    def precedence(self, host: int) -> float:
        """Pages of hosts with less come first, whatever their keys are."""

    def key(self, page: PageId) -> int:
        """Of the pages of such hosts the one with the largest comes first."""


class PageOrder(Protocol):
    """The keys of all pages; `grow` gives them to new ones."""

    keys: array[int]

    def grow(self, pages: range) -> None:
        """These pages became known."""


class ByCash:
    """Greedy: the page that got most cash from links comes first. The keys are the ledger's."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = ledger.key

    def grow(self, pages: range) -> None:
        """The ledger has them already."""


class ByAge:
    """The page found first comes first: breadth-first."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")

    def grow(self, pages: range) -> None:
        self.keys.extend(-page for page in pages)


class ByLot:
    """Any page, with equal chance. The draws are the same in every run."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")
        self._lots = lots()

    def grow(self, pages: range) -> None:
        self.keys.extend(islice(self._lots, len(pages)))


class ByKey(ByHost):
    """The queue of an order with keys."""

    def __init__(self, frontier: Frontier, order: PageOrder, *more: Any) -> None:
        """`more` is what the queue below asks for beside keys, flags and hosts."""
        columns = order.keys, frontier.ledger.flags, frontier.urls.host_of
        super().__init__(EligiblePages(*columns), *more)
        self._frontier, self._order = frontier, order

    def load(self) -> None:
        """All pages that wait already do so from now on."""
        self._order.grow(range(len(self._frontier)))
        self.wait(self._frontier.in_state(State.UNREAD))

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Plans were posted, so their pages have no lease; `new` pages were born before, and
        `paid` ones, which were not read, were endowed.
        """
        if new:
            self._order.grow(range(new[0], new[-1] + 1))
            self.born(new)
        if paid:
            self.offer(paid)
        for plan in plans:
            self.offer(plan.links)
            if plan.extras:
                self.offer([page for page, _ in plan.extras])
            self.release(plan.page)

    def wait_again(self, pages: Iterable[int]) -> None:
        """These pages had their turn, and wait for another one."""
        self.born(pages)

    def met_foreign(self, pages: Sequence[int]) -> None:
        """These pages of other shards were born: they have keys as all pages, and never wait."""
        self._order.grow(range(pages[0], pages[-1] + 1))
        self.born(pages)

    @property
    def leased(self) -> Collection[int]:
        """The pages that nobody may take now."""
        return self._eligible.leased

    def key(self, page: PageId) -> int:
        """The page with the largest comes first."""
        return self._order.keys[page]


class ByKeyAndSite(ByKey, BySite):
    """The same, with the pages of the site that matters most first."""


def _by_siblings(frontier: Frontier, importance: ImportanceOfHosts | None = None) -> PageQueue:
    from minicrawl.opic.siblings.queue import ByGroup  # a shard has another order

    if frontier.siblings is None:
        raise ValueError("the frontier was loaded without what siblings have shown")
    return ByGroup(frontier.siblings.shown, importance)


KEYS: dict[str, Callable[[Ledger], PageOrder]] = {
    "greedy": ByCash,
    "random": ByLot,
    "breadth-first": ByAge,
}


def _by_key(keys: Callable[[Ledger], PageOrder]) -> Callable[[Frontier], PageQueue]:
    return lambda frontier: ByKey(frontier, keys(frontier.ledger))


ORDERS: dict[str, Callable[[Frontier], PageQueue]] = {
    "siblings": _by_siblings,
    **{name: _by_key(keys) for name, keys in KEYS.items()},
}


def without_effect(settings: Settings, hosts: int) -> str | None:
    """A note if the order by sites cannot matter yet: as long as all hosts have slots at once, none
    of them waits for another.
    """
    politeness = settings.politeness
    enough = politeness.concurrency // politeness.per_host
    if settings.order.order_by != "site" or hosts > enough:
        return None
    return (
        f"--order-by site has no effect while at most {enough} hosts are known ({hosts} now), as "
        f"--concurrency {politeness.concurrency} has room for all of them: a smaller --concurrency "
        "lets the best sites come first"
    )


def best_site_first(frontier: Frontier, strategy: str, importance: ImportanceOfHosts) -> PageQueue:
    """Pages of the site that matters most come first, those of one site by the strategy."""
    if strategy not in KEYS:
        return _by_siblings(frontier, importance)
    return ByKeyAndSite(frontier, KEYS[strategy](frontier.ledger), importance)


# ================================================================ depth
#
# How far a page is from where it counts, where the user limits that.
#
# Law: a page is refused for its distance only when no shorter way to it can be found any more. The
# crawl reads the most important page first and not the nearest, so it often finds a long way to a
# page and then a shorter one. Until all else is read, pages that are too far are parked.

FARTHEST = 255
"""Distances are a byte a page."""


class DistanceTracker:
    """The distances of all pages, kept as short as what was read allows."""

    refusal = State.DEPTH
    """What becomes of pages that are too far for good."""

    def __init__(self, frontier: Frontier, limit: int, distance: MutableSequence[int]) -> None:
        self._frontier = frontier
        self._limit = limit
        self._distance = distance
        self._parked: set[int] = set()
        self.brought_nearer: set[int] | None = None
        """Collects pages to which a shorter way was found, for whoever wants to know."""

    def __len__(self) -> int:
        """Pages that are parked."""
        return len(self._parked)

    def is_too_far(self, page: PageId) -> bool:
        """Whether the page may be read only when a shorter way to it is found."""
        return self._distance[page] > self._limit

    def park(self, page: PageId) -> None:
        """The page waits for a shorter way."""
        self._parked.add(page)

    def look_at(self, pages: Sequence[PageId]) -> None:
        """These pages have become known: their URLs may say something of where they are."""

    def shorten(self, page: PageId, spending: Spending) -> list[int]:
        """The page links to these pages. Returns the parked pages that need not wait any longer."""
        released = []
        ways = deque([(page, spending)])
        while ways:
            for link in self._nearer(*ways.popleft()):
                released += self._release(link)
                if self._frontier.state[link] != State.UNREAD:
                    ways.append((link, self._frontier.spendings.of(link)))
        return released

    def begin_at(self, page: PageId, distance: int = 0) -> list[int]:
        """The page is a seed now, or so far from one by a way that nobody here has seen. Returns
        the parked pages that need not wait any longer.
        """
        if distance and self._distance[page] <= distance:
            return []
        self._distance[page] = min(distance, FARTHEST)
        released = self._release(page)
        if self._frontier.state[page] == State.UNREAD:
            return released
        return released + self.shorten(page, self._frontier.spendings.of(page))

    def give_up(self) -> list[int]:
        """All else is read: the parked pages are too far for good."""
        pages, self._parked = sorted(self._parked), set()
        return pages

    def learn(self) -> None:
        """Find out again what earlier runs have found out."""
        read = np.flatnonzero(self._frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=self._distance.__getitem__):
            self.shorten(page, self._frontier.spendings.of(page))

    def _release(self, page: PageId) -> list[int]:
        if page not in self._parked or self._distance[page] > self._limit:
            return []
        self._parked.discard(page)
        return [page]

    def _reach(self, start: PageId) -> int:
        """How far the links of this page are."""
        step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
        return min(self._distance[start] + step, FARTHEST)

    def _nearer(self, start: PageId, spending: Spending) -> list[int]:
        return self._bring_to(spending.links, self._reach(start))

    def _bring_to(self, links: Iterable[int], reach: int) -> list[int]:
        nearer = [link for link in links if self._distance[link] > reach]
        for link in nearer:
            self._distance[link] = reach
        if self.brought_nearer is not None:
            self.brought_nearer.update(nearer)
        return nearer


class DepthTracker(DistanceTracker):
    """The depths of all pages: how far they are from the seeds."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        super().__init__(frontier, limit, frontier.urls.depth)
        self.learn()
