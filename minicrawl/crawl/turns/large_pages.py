"""Large pages, and pages with very many links: they wait on disk, and hosts share the time.

Laws: large bodies are parsed one at a time, and pages with very many links are settled one at a
time. Of those that wait, the host that has cost least is next. All hosts that no page has come from
yet count as one, so that endless new hosts cannot keep out known ones. A host whose page waits is
asked for nothing.

What becomes known takes memory. Pages that bring much of it make no more than `URLS_A_SECOND` URLs
known, on average: the next one of them waits until the last one is paid for. Pages that bring
little never wait for that.

late   more has become known than is paid for by now
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from math import inf
from time import perf_counter

from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.settle.posting import are_many
from minicrawl.crawl.turns.turn import Turn
from minicrawl.crawl.workers.page_parser import to_disk
from minicrawl.frontier.urls import UrlTable
from minicrawl.web.urls import split

URLS_A_SECOND = 25_000
"""Some 2.5 MB. Pages that bring little find no more than that, even on a local network."""
A_HOST = 8
"""URLs that a new host counts for: its name, its site, its queue, its rules."""
LITTLE = 100
"""In URLs: pages that bring less never wait."""
_CREDIT_S, _LONGEST_S = 1.0, 10.0
"""What may become known at once for nothing; how long a page waits at most."""
_UNCOUNTED = 1000
"""New hosts after which it is looked whether they are too many."""
_STRANGERS = ""


class Growth:
    """What has become known, and when it will be paid for."""

    def __init__(self, urls: UrlTable) -> None:
        self._urls = urls
        self._counted = len(urls.origins)
        self._paid_at = -inf
        self.is_late = False

    def has_grown(self) -> bool:
        """Whether many hosts became known since the last look."""
        return len(self._urls.origins) - self._counted > _UNCOUNTED

    def look(self, now: float, urls: int = 0) -> None:
        """Count the hosts that became known since the last look, and so many URLs."""
        hosts = len(self._urls.origins)
        price_s = (urls + A_HOST * (hosts - self._counted)) / URLS_A_SECOND
        self._counted = hosts
        self._paid_at = min(max(self._paid_at, now - _CREDIT_S) + price_s, now + _LONGEST_S)
        self.is_late = self._paid_at > now

    def wait_s(self, now: float) -> float:
        """How long until all is paid for."""
        return max(self._paid_at - now, 0.0)

    def brings_much(self, links: Sequence[str]) -> bool:
        """Whether these links would make much known."""
        find_host = self._urls.find_host
        hosts = sum(find_host(origin) is None for origin in {split(url)[0] for url in links})
        if A_HOST * hosts > LITTLE or not are_many(links):
            return A_HOST * hosts > LITTLE
        found, candidates = self._urls.find_recent(links)
        return len(links) - len(found) - len(candidates) > LITTLE


class LargePages:
    """Those that wait, and the one that has its turn."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._clock = context.clock
        self._hosts, self._side_requests, self._slots = (
            parts.hosts,
            parts.side_requests,
            parts.slots,
        )
        self._growth = Growth(context.recorder.frontier.urls)
        self._parsing, self._settling, self._bringing = FairLock(), FairLock(), FairLock()

    @asynccontextmanager
    async def parsing(self, turn: Turn) -> AsyncIterator[None]:
        """No other large body is parsed meanwhile."""
        with self._set_aside(turn.host):
            async with self._held(self._parsing, turn):
                yield

    def waits(self, links: Sequence[str]) -> bool:
        """Look whether a page with these links has to wait until it is settled."""
        growth = self._growth
        if are_many(links):
            return True
        if A_HOST * len(links) <= LITTLE or not (growth.is_late or growth.has_grown()):
            return False
        growth.look(self._clock.now())
        return growth.is_late and growth.brings_much(links)

    @asynccontextmanager
    async def settling(self, turn: Turn) -> AsyncIterator[None]:
        """No other page like this one is settled meanwhile; until then its links are on disk."""
        with self._set_aside(turn.host):
            async with AsyncExitStack() as held:
                await self._wait(turn, held)
                yield
            self._growth.look(self._clock.now(), len(turn.introduced))

    async def _wait(self, turn: Turn, held: AsyncExitStack) -> None:
        brings_much = self._look_at_links(turn)
        is_free = not self._settling.is_taken
        if brings_much:
            is_free = is_free and not (self._bringing.is_taken or self._growth.is_late)
        with nullcontext() if is_free else _links_on_disk(turn):
            if brings_much:
                await held.enter_async_context(self._held(self._bringing, turn))
                await asyncio.sleep(self._growth.wait_s(self._clock.now()))
            await held.enter_async_context(self._held(self._settling, turn))

    def _look_at_links(self, turn: Turn) -> bool:
        """Whether the page brings much; how late it is by now is known then."""
        assert turn.parsed is not None
        began = perf_counter()
        self._growth.look(self._clock.now())
        brings_much = self._growth.brings_much(turn.parsed.links)
        turn.cost_s += perf_counter() - began
        return brings_much

    @asynccontextmanager
    async def _held(self, lock: FairLock, turn: Turn) -> AsyncIterator[None]:
        """Its host is charged for what the turn costs meanwhile."""
        state, before_s = self._hosts[turn.host], turn.cost_s
        is_stranger = state.pages == (not turn.lease.again)
        name = _STRANGERS if is_stranger else state.shared.name
        async with lock.held_for(name):
            yield
        lock.charge(name, turn.cost_s - before_s)

    @contextmanager
    def _set_aside(self, host: int) -> Iterator[None]:
        """The host is asked for nothing meanwhile, and others like it have no more room."""
        self._hosts.begin_reading(host)
        try:
            with self._side_requests.reading():
                yield
        finally:
            self._hosts.end_reading(host, self._clock.now())
            self._slots.resume_one()


@contextmanager
def _links_on_disk(turn: Turn) -> Iterator[None]:
    with to_disk(pickle.dumps(turn.parsed, pickle.HIGHEST_PROTOCOL)) as kept:
        turn.parsed = None
        yield
        turn.parsed = pickle.load(kept)
