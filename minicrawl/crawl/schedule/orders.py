"""Orders of reading, each with its queue of waiting pages.

Law: whatever the order, hosts are treated politely: the next page is one whose host may be
contacted.

The order by siblings judges a page by what its siblings have shown. The other orders give each page
a key, and the largest key comes first: such an order is an array of keys, and a rule that gives
keys to new pages.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl import ext
from minicrawl.config import Settings
from minicrawl.errors import MinicrawlError
from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import UNREAD, Ledger, Plan
from minicrawl.opic.queues.by_host import ByHost
from minicrawl.opic.queues.by_site import BySite, ImportanceOfHosts
from minicrawl.opic.queues.candidate_heap import random_keys
from minicrawl.opic.queues.host_queue import EligiblePages
from minicrawl.states import State

if TYPE_CHECKING:
    from minicrawl.opic.importance.expected_value import ValueEstimate
    from minicrawl.opic.siblings.siblings import Siblings


class PageQueue(Protocol):
    """Queue of unread pages, in the order of reading."""

    def load(self) -> None:
        """Enqueue all pages that wait when the crawl begins."""

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        """Note posted plans, which ended the leases of their pages; `new` pages were born before.

        Some of the new pages may have been refused. The `paid` pages are unread and were endowed.
        """

    def wait_again(self, pages: Iterable[int]) -> None:
        """Enqueue pages that had their turn and wait again."""

    def take(self) -> int | None:
        """Lease the next page and its host; None if no ready host has a page."""

    def release(self, page: PageId) -> None:
        """End the lease of the page, which waits again. The state of its host does not change."""

    def resume(self, host: int) -> None:
        """Mark the host as ready for a request."""

    def pause(self, host: int) -> None:
        """Mark the host as not ready."""

    def is_ready(self, host: int) -> bool:
        """Return whether the host is ready."""

    def has_pages(self, host: int) -> bool:
        """Return whether a ready host has waiting pages."""

    def limit(self, has_room: Callable[[int], bool]) -> None:
        """Let `take` pass over hosts without room for a request; they are not ready any more."""

    def precedence(self, host: int) -> float:
        """Return the precedence of a host: the lowest comes first, before keys count."""

    def key(self, page: PageId) -> int:
        """Return the key of a page: the largest comes first among hosts of equal precedence."""


class PageHosts(Protocol):
    """Host of each page."""

    host_of: array[int]


class KnownPages(Protocol):
    """Pages that a queue orders: those of the frontier, or of an experiment."""

    ledger: Ledger

    @property
    def urls(self) -> PageHosts:
        """Hosts of the pages."""

    @property
    def siblings(self) -> Siblings | None:
        """Findings about groups of siblings, if the order needs them."""

    @property
    def values(self) -> ValueEstimate | None:
        """Expected values of the pages, if pages have values."""

    def __len__(self) -> int:
        """Return the number of known pages."""

    def in_state(self, *states: State) -> Iterable[NDArray[np.uint32]]:
        """Yield the pages in these states, in blocks."""


class PageOrder(Protocol):
    """Sort keys of all pages, extended by `grow`."""

    keys: array[int]

    def grow(self, pages: range) -> None:
        """Add keys for new pages."""


class ByCash:
    """Greedy order: the page with the most cash comes first. The keys are the ledger's."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = ledger.key

    def grow(self, pages: range) -> None:
        """Do nothing: the ledger has extended its keys already."""


class ByAge:
    """Breadth-first order: the page found first comes first."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")

    def grow(self, pages: range) -> None:
        self.keys.extend(-page for page in pages)


class RandomOrder:
    """Random order: each page has an equal chance. The random keys are the same in every run."""

    def __init__(self, ledger: Ledger) -> None:
        self.keys = array("q")
        self._random_keys = random_keys()

    def grow(self, pages: range) -> None:
        self.keys.extend(islice(self._random_keys, len(pages)))


class ByKey(ByHost):
    """Queue of an order with keys."""

    def __init__(self, frontier: KnownPages, order: PageOrder, *more: Any) -> None:
        """Set up; `more` holds further arguments of the base class."""
        columns = order.keys, frontier.ledger.flags, frontier.urls.host_of
        super().__init__(EligiblePages(*columns), *more)
        self._frontier, self._order = frontier, order

    def load(self) -> None:
        self._grow(range(len(self._frontier)))
        self.enqueue_blocks(self._frontier.in_state(State.UNREAD))

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        if new:
            self._grow(range(new[0], new[-1] + 1))
            flags, host_of = self._frontier.ledger.flags, self._frontier.urls.host_of
            self.enqueue(unread := [page for page in new if flags[page] == UNREAD])
            if len(unread) < len(new):  # links are offered to hosts that are refused whole, too
                self._queue(max(host_of[page] for page in new))
        if paid:
            self.offer(paid)
        for plan in plans:
            self.offer(plan.links)
            if plan.extras:
                self.offer([page for page, _ in plan.extras])
            self.release(plan.page)

    def wait_again(self, pages: Iterable[int]) -> None:
        self.enqueue(pages)

    def met_foreign(self, pages: Sequence[int]) -> None:
        """Add keys for new pages of other shards, which are never leased here."""
        self._grow(range(pages[0], pages[-1] + 1))
        self.enqueue(pages)

    def _grow(self, pages: range) -> None:
        self._order.grow(pages)
        if (keys := len(self._order.keys)) < pages.stop:
            name = type(self._order).__name__
            raise MinicrawlError(
                f"the order {name} has {keys} keys for {pages.stop} pages: "
                "its `grow` must add one a page"
            )

    @property
    def leased(self) -> Collection[int]:
        """Pages that have a lease."""
        return self._eligible.leased

    def key(self, page: PageId) -> int:
        return self._order.keys[page]


class ByKeyAndSite(ByKey, BySite):
    """Queue of an order with keys, pages of the most important site first."""


KEYS: dict[str, Callable[[Ledger], PageOrder]] = {
    "greedy": ByCash,
    "random": RandomOrder,
    "breadth-first": ByAge,
}


def queue_of(
    frontier: KnownPages,
    strategy: str,
    importance: ImportanceOfHosts | None = None,
    value_weight: float = 0.0,
) -> PageQueue:
    """Return the queue of an order; with the `importance` of sites, by sites first."""
    if strategy != "siblings":
        keys = KEYS.get(strategy)
        order = _added(frontier, strategy) if keys is None else keys(frontier.ledger)
        if importance is None:
            return ByKey(frontier, order)
        return ByKeyAndSite(frontier, order, importance)
    if frontier.siblings is None:
        raise ValueError("the frontier was loaded without siblings")
    from minicrawl.opic.queues.by_group import ByGroup
    from minicrawl.opic.queues.by_value import ByValue

    if value_weight and frontier.values is not None:
        return ByValue(frontier.siblings, frontier.values, value_weight, importance)
    return ByGroup(frontier.siblings, importance)


ORDERS: dict[str, Callable[[KnownPages], PageQueue]] = {
    name: partial(queue_of, strategy=name) for name in ("siblings", *KEYS)
}
"""Built-in orders; packages add others."""


def _added(frontier: KnownPages, strategy: str) -> PageOrder:
    make = ext.required(ext.ORDERS, strategy, "strategy")
    order = cast(Callable[[KnownPages], PageOrder], make)(frontier)
    keys: object = getattr(order, "keys", None)
    if isinstance(keys, array) and keys.typecode == "q":
        return order
    raise MinicrawlError(f"the order {strategy!r} has no `keys` that are an array of type 'q'")


def without_effect(settings: Settings, hosts: int) -> str | None:
    """Return a note if the order by sites has no effect yet.

    While all hosts have slots at once, none of them waits for another.
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
