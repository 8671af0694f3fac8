"""A crawl of a web that the laboratory knows and the crawl does not."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.depth import FARTHEST
from minicrawl.crawl.schedule.orders import PageQueue
from minicrawl.lab.page_values import PageValues
from minicrawl.lab.webs import Floats, Web
from minicrawl.model import FULL_VALUE
from minicrawl.opic.importance.expected_value import ValueEstimate
from minicrawl.opic.ledger.ledger import UNREAD, Ledger, Plan
from minicrawl.opic.ledger.money import SMALL_EDGE, fixed_edge
from minicrawl.opic.ledger.plans import visit
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.states import State


class KnownUrls:
    """URLs, hosts and depths of the known pages, as a frontier has them; sites of all hosts."""

    def __init__(self, web: Web, pages: array[int]) -> None:
        self.host_of, self.depth = array("I"), bytearray()
        self._web, self._pages = web, pages
        self._sites = np.zeros(int(web.host.max(initial=0)) + 1, dtype=np.uint32)
        self._sites[web.host] = web.site

    def url_of(self, page: int) -> str:
        return self._web.url_of(self._pages[page])

    def site(self, host: int) -> int:
        return int(self._sites[host])

    def sites(self) -> NDArray[np.uint32]:
        return self._sites


class Exploration:
    """The part of a web that a crawler has discovered; to its queue this is the frontier.

    `truth` is the importance of the web's pages. `links` may have more pages than the web's graph:
    pages of farms come after the others. `pages` maps ids of the crawler, given in the order of
    discovery, to pages of the web; `_ids` is the inverse, with -1 for an unknown page.
    """

    def __init__(
        self,
        web: Web,
        links: Sequence[Sequence[int]],
        truth: Floats,
        small_edge: float = SMALL_EDGE,
    ) -> None:
        self.web = web
        self.truth = truth
        self.small_edge = small_edge
        self.ledger = Ledger(small_edge=fixed_edge(small_edge))
        self.pages = array("q")
        self.urls = KnownUrls(web, self.pages)
        self.siblings: Siblings | None = None
        self.values: ValueEstimate | None = None
        self._given: PageValues | None = None
        self._traits = array("I")
        self.seeds = range(0)
        self._ids = array("q", [-1]) * len(links)
        self._links, self._host = links, web.host.tolist()

    def __len__(self) -> int:
        return len(self.pages)

    def in_state(self, *_states: State) -> Iterator[NDArray[np.uint32]]:
        """Yield the unread pages, the only ones that queues ask for."""
        flags = np.frombuffer(self.ledger.flags, dtype=np.uint8)
        yield np.flatnonzero(flags == UNREAD).astype(np.uint32)

    def start(self, seeds: Sequence[int], endowment: int) -> None:
        """Make the seeds known, and endow them."""
        self.seeds = self.discover(seeds)
        self.ledger.endow(self.seeds, endowment)

    def discover(self, pages: Sequence[int], depth: int = 0) -> range:
        """Make these pages of the web known, and return their ids."""
        new = self.ledger.mint(len(pages))
        self.pages.extend(pages)
        self.urls.host_of.extend([self._host[page] for page in pages])
        self.urls.depth.extend(repeat(min(depth, FARTHEST), len(pages)))
        if self._given is not None:
            self._traits.extend([self._given.traits[page] for page in pages])
        for known, page in zip(new, pages, strict=True):
            self._ids[page] = known
        return new

    def links_of(self, known: int) -> tuple[list[int], range]:
        """Return the links of a page as ids, and the ids that are new."""
        ids = self._ids
        targets = self._links[self.pages[known]]
        unknown = [page for page in targets if ids[page] < 0]
        new = self.discover(unknown, self.urls.depth[known] + 1)
        return [ids[page] for page in targets], new

    def judge_siblings(self) -> Siblings:
        """Start to record what siblings lead to: pages of one host that one page made known."""
        self.siblings = Siblings(self.ledger, self.urls.host_of, self.urls)
        self.siblings.introduce(range(len(self)))
        self.siblings.vouch(self.seeds)
        return self.siblings

    def judge_values(self, values: PageValues) -> None:
        """Start to record the values of read pages, and what siblings lead to."""
        self._given = values
        self._traits.extend([values.traits[page] for page in self.pages])
        self.values = ValueEstimate(self.judge_siblings(), self._traits)

    def read(self, page: int) -> tuple[Plan, range]:
        """Read a page: its links become known and get its cash. Return the plan and new pages."""
        links, new = self.links_of(page)
        plan = visit(self.ledger, page, links)
        self.ledger.post(plan)
        if self.siblings is not None:
            self.siblings.end_turn(plan, new)
        if self.values is not None and self._given is not None:
            self.values.learn(round(self._given.value[self.pages[page]] * FULL_VALUE), (plan,))
        return plan, new


def fetched(crawl: Exploration, queue: PageQueue, budget: int, at_once: int = 1) -> list[int]:
    """Fetch up to `budget` pages of the web; return them in the order of fetching."""
    queue.load()
    in_flight, pages = deque[int](), list[int]()
    while len(pages) < budget:
        while len(in_flight) < min(at_once, budget - len(pages)):
            if (page := queue.take()) is None:
                break
            in_flight.append(page)
        if not in_flight:
            break
        page = in_flight.popleft()
        plan, new = crawl.read(page)
        queue.posted((plan,), new)
        queue.resume(crawl.urls.host_of[page])
        pages.append(crawl.pages[page])
    return pages
