"""Large pages, and pages with very many links, wait on disk for their turn.

Laws: large bodies are parsed one at a time, and pages with very many links are settled one at a
time. Of the waiting hosts, the one that has cost least is next. All hosts that no page has come
from yet count as one, so that endless new hosts cannot keep out known ones. A waiting page counts
as a request to its host, which is not contacted meanwhile if --per-host is 1.

New URLs take memory. Pages that bring many of them add at most `URLS_A_SECOND` URLs on average:
each URL has a price in time, and the next such page waits until the last one is paid for. Pages
that bring few never wait for that.

late   the new URLs so far are not paid for yet
"""

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from math import inf
from time import perf_counter

from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.hosts.slots import RequestSlots
from minicrawl.crawl.settle.posting import are_many
from minicrawl.crawl.turns.turn import Turn
from minicrawl.crawl.workers.parser import to_disk
from minicrawl.frontier.url_table import UrlTable
from minicrawl.web.urls import split

URLS_A_SECOND = 25_000
"""Rate of new URLs that pages with many of them may add: some 2.5 MB of memory a second. Pages with
few new URLs do not exceed it together, even on a local network.
"""
A_HOST = 12
"""Price of a new host in URLs: it needs a name, a site, queues, rules and a group of siblings."""
LITTLE = 100
"""Number of new URLs up to which a page need not wait for their price."""
_CREDIT_S, _LONGEST_S = 1.0, 10.0
"""Price that needs no wait, and longest wait of a page."""
_UNCOUNTED = 1000
"""Number of new hosts after which a page with few links looks at their price as well."""
_STRANGERS = ""


class Growth:
    """Price of new URLs and hosts, and when it will be paid."""

    def __init__(self, urls: UrlTable) -> None:
        self._urls = urls
        self._counted = len(urls.origins)
        self._paid_at = -inf
        self.is_late = False

    def has_grown(self) -> bool:
        """Return whether many hosts became known since the last look."""
        return len(self._urls.origins) - self._counted > _UNCOUNTED

    def look(self, now: float, urls: int = 0) -> None:
        """Add the price of `urls` new URLs, and of hosts that became known since the last look."""
        hosts = len(self._urls.origins)
        price_s = (urls + A_HOST * (hosts - self._counted)) / URLS_A_SECOND
        self._counted = hosts
        self._paid_at = min(max(self._paid_at, now - _CREDIT_S) + price_s, now + _LONGEST_S)
        self.is_late = self._paid_at > now

    def wait_s(self, now: float) -> float:
        """Return the time until the price of all URLs and hosts is paid."""
        return max(self._paid_at - now, 0.0)

    def brings_much(self, links: Sequence[str]) -> bool:
        """Return whether these links would add many URLs or hosts."""
        find_host = self._urls.find_host
        hosts = sum(find_host(origin) is None for origin in {split(url)[0] for url in links})
        if A_HOST * hosts > LITTLE or not are_many(links):
            return A_HOST * hosts > LITTLE
        known, candidates = self._urls.find_recent(links)
        return len(links) - len(known) - len(candidates) > LITTLE


class LargePages:
    """Locks for large pages: one to parse, one to settle, one to add many new URLs."""

    def __init__(self, urls: UrlTable, slots: RequestSlots, requests: SideRequests) -> None:
        self._slots, self._requests, self._clock = slots, requests, requests.clock
        self._growth = Growth(urls)
        self._parsing, self._settling, self._bringing = FairLock(), FairLock(), FairLock()

    @asynccontextmanager
    async def parsing(self, turn: Turn) -> AsyncIterator[None]:
        """Hold the lock for parsing a large body; the host waits meanwhile."""
        with self._set_aside(turn.host):
            async with self._held(self._parsing, turn):
                yield

    def waits(self, links: Sequence[str]) -> bool:
        """Return whether a page with these links has to be settled under the lock of `settling`."""
        growth = self._growth
        if are_many(links):
            return True
        if A_HOST * len(links) <= LITTLE or not (growth.is_late or growth.has_grown()):
            return False
        growth.look(self._clock.now())
        return growth.is_late and growth.brings_much(links)

    @asynccontextmanager
    async def settling(self, turn: Turn) -> AsyncIterator[None]:
        """Hold the lock for settling a page with very many links, which wait for it on disk."""
        with self._set_aside(turn.host):
            async with AsyncExitStack() as held:
                assert turn.parsed is not None
                began = perf_counter()
                self._growth.look(self._clock.now())
                brings_much = self._growth.brings_much(turn.parsed.links)
                turn.cost_s += perf_counter() - began
                is_free = not self._settling.is_taken
                if brings_much:
                    is_free = is_free and not (self._bringing.is_taken or self._growth.is_late)
                with nullcontext() if is_free else _links_on_disk(turn):
                    if brings_much:
                        await held.enter_async_context(self._held(self._bringing, turn))
                        await asyncio.sleep(self._growth.wait_s(self._clock.now()))
                    await held.enter_async_context(self._held(self._settling, turn))
                yield
            self._growth.look(self._clock.now(), len(turn.introduced))

    @asynccontextmanager
    async def _held(self, lock: FairLock, turn: Turn) -> AsyncIterator[None]:
        """Hold a lock, and charge the host for the cost of the turn meanwhile."""
        host, before_s = turn.host, turn.cost_s
        is_stranger = host.pages == (not turn.lease.again)  # `pages` includes this page
        name = _STRANGERS if is_stranger else host.shared.name
        async with lock.held_for(name):
            yield
        lock.charge(name, turn.cost_s - before_s)

    @contextmanager
    def _set_aside(self, host: Host) -> Iterator[None]:
        """Keep the host from being contacted, while other hosts get its slot."""
        host.shared.being_read += 1
        try:
            with self._requests.reading():
                yield
        finally:
            host.shared.being_read -= 1
            self._requests.hosts.resume_name(host.shared, self._clock.now())
            self._slots.resume_one()


@contextmanager
def _links_on_disk(turn: Turn) -> Iterator[None]:
    with to_disk(pickle.dumps(turn.parsed, pickle.HIGHEST_PROTOCOL)) as file:
        turn.parsed = None
        yield
        turn.parsed = pickle.load(file)
