"""The orders in which pages are read, each with its queue of the pages that wait.

Law: whatever the order is, hosts are asked politely: the next page is one whose host may be asked.

By siblings, a page is judged by what its siblings have shown. All other orders give every page a
key, and the largest comes first: they are an array of keys, and what to do when pages become known.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from minicrawl.config import Settings
from minicrawl.frontier.pages import Frontier
from minicrawl.model import PageId, State
from minicrawl.opic.by_host import ByHost
from minicrawl.opic.by_site import BySite, ImportanceOfHosts
from minicrawl.opic.host_queue import EligiblePages
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.lots import lots


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
    from minicrawl.opic.siblings.by_group import ByGroup  # a shard has another order

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
