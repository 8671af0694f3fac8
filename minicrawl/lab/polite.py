"""A crawl with so many requests under way at once, and never two of them to one host.

Law: a request goes to the best page whose host is idle. All requests take the same time, so they
end in the order in which they began; what a page says is known when its request ends, not before.
With one request at a time this is the order itself.

parked   A page that was best while its host was busy. It waits again when the host is idle, so
         that what it was given meanwhile counts.
"""

from collections import deque
from collections.abc import Iterator

from minicrawl.lab.exploration import Exploration
from minicrawl.lab.strategies import Strategy
from minicrawl.opic.steps import visit


class PoliteCrawl:
    """Fetches pages of an unknown web by an order of reading."""

    def __init__(self, crawl: Exploration, strategy: Strategy, at_once: int = 1) -> None:
        self._crawl = crawl
        self._strategy = strategy
        self._at_once = at_once
        self._under_way: deque[int] = deque()
        self._parked: dict[int, list[int]] = {}
        """By host, of those that are busy."""

    def fetch(self, budget: int) -> list[int]:
        """So many pages of the web, as they are fetched, or fewer if no more can be reached."""
        self._strategy.born(self._crawl.seeds)
        fetched: list[int] = []
        while len(fetched) < budget:
            self._begin(budget - len(fetched))
            if not self._under_way:
                break
            fetched.append(self._crawl.pages[self._end()])
        return fetched

    def _begin(self, left: int) -> None:
        """Fill the free places with requests."""
        free = min(self._at_once, left) - len(self._under_way)
        for page in self._best_of_idle_hosts() if free > 0 else ():
            self._under_way.append(page)
            self._parked[self._crawl.host_of(page)] = []
            free -= 1
            if not free:
                break

    def _best_of_idle_hosts(self) -> Iterator[int]:
        while (page := self._strategy.take()) is not None:
            parked = self._parked.get(self._crawl.host_of(page))
            if parked is None:
                yield page
            else:
                parked.append(page)

    def _end(self) -> int:
        """The oldest request is answered: its page."""
        page = self._under_way.popleft()
        links, born = self._crawl.links_of(page)
        self._strategy.born(born)
        plan = visit(self._crawl.ledger, page, links)
        self._crawl.ledger.post(plan)
        self._strategy.settled(plan)
        for waiting in self._parked.pop(self._crawl.host_of(page)):
            self._strategy.put_back(waiting)
        return page
