"""The parts of addresses that this shard may use.

The rate of the whole crawl (--max-rate) is shared like one more address, named `CRAWL`.

The record of an address is a key of the engine, which the holders of shards read, and change only
by compare-and-set on its revision. A broadcast tells a shard to examine an address. It may be lost,
so shards examine shared addresses from time to time unasked.

Laws: a shard uses no more than the record of an address says. It uses a part after the record has
it, and stops using a part before the record drops it: in between, its requests keep to the
smaller part. No shard waits for one that itself waits for a part. So all shards together ask an
address no more often than one machine would, even if shards are killed, cut off or moved: parts
belong to shards, and a new holder reads the record before its first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from random import sample
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from minicrawl.cluster.assignment import AddressParts, shards_to_notify, with_own_part
from minicrawl.cluster.cash_threshold import TELL_S
from minicrawl.cluster.channels.batches import BatchError, Transfer
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.channels.shard import Shard
from minicrawl.cluster.engine import ClusterEngine, KeyTaken
from minicrawl.cluster.node.following import listen, until_answered
from minicrawl.cluster.records import WHOLE, AddressRecord, KeyEntry, RecordError
from minicrawl.cluster.shared_settings import refuse_what_needs_one_machine
from minicrawl.cluster.traffic.exchange import BatchExchange
from minicrawl.config import Loaded, Settings
from minicrawl.crawl.events import Warned
from minicrawl.crawl.hosts.crawl_pace import CRAWL, CrawlPace
from minicrawl.crawl.start.opening import FIRST_SEEDS
from minicrawl.crawl.start.settings import keep_settings, store_terms
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.model import Originals, PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import Channels, ShardPlace
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store.writer import StoreWriter
from minicrawl.web.sites import site
from minicrawl.web.urls import ResolvedUrl, canonical, host_of, origin

if TYPE_CHECKING:
    from minicrawl.cluster.shard_crawl import ShardCrawl
    from minicrawl.crawl.hosts.politeness import HostTable
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.parts import CrawlContext
    from minicrawl.crawl.record.recorder import Recorder
    from minicrawl.store.writer import StoreReplica

ADDRESS_PREFIX, LOOK_PREFIX = "address.", "look."
_LONGEST_NAME = 64
IDLE_S = 10.0
"""Idle time after which a shared address is left to the other shards."""
_CHECK_S = 0.1


class AddressRecords:
    """Parts of addresses, as the holder of a shard reads and changes them. Calls are retried."""

    def __init__(self, engine: ClusterEngine, place: ShardPlace, generation: int) -> None:
        self._engine, self._place, self.generation = engine, place, generation

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """Return the parts and the revision of the record, or revision 0 if there is none."""
        entry = await until_answered(lambda: self._engine.get(_key(address)))
        if entry is None or (record := AddressRecord.of(entry)) is None:
            return {}, 0
        if (last := max(record.parts, default=0)) >= self._place.of:
            raise RecordError(f"the cluster's key {entry.key} names shard {last}")
        return record.parts, entry.revision

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision. Return False if it is not."""
        content = AddressRecord(parts=parts).pack()
        try:
            await until_answered(lambda: self._engine.update(_key(address), content, revision))
        except KeyTaken:
            return False
        return True

    async def notify(self, address: str, shards: Iterable[int]) -> None:
        """Tell the current holders of these shards to examine the address."""
        for shard in shards:
            await self._engine.broadcast(f"{LOOK_PREFIX}{shard}.at", address.encode())

    async def listen(self, hear: Callable[[str], None]) -> None:
        """Call `hear` with each address that the shard is told to examine, for ever."""

        def hear_name(told: KeyEntry) -> None:
            name = (told.value or b"").decode(errors="replace")
            if len(name) <= _LONGEST_NAME:
                hear(name)

        await listen(self._engine, f"{LOOK_PREFIX}{self._place.number}.", hear_name)


def _key(address: str) -> str:
    return f"{ADDRESS_PREFIX}{quote(address, safe=':')}"


class ShardAddresses:
    """Parts of addresses that the shard may use; the `AddressShares` of its pacing."""

    def __init__(
        self,
        context: CrawlContext,
        hosts: HostTable,
        number: int,
        records: AddressRecords,
        has_pages: Callable[[], bool],
    ) -> None:
        """`has_pages` returns whether pages of the shard wait."""
        self._context, self._pacing, self._has_pages = context, hosts.addresses, has_pages
        self._number, self._records = number, records
        self._hosts = hosts
        self._parts: dict[str, int] = {}
        self._shared: set[str] = set()  # addresses that other shards ask as well
        self._to_examine: asyncio.Queue[str] = asyncio.Queue()
        self._examining: dict[str, bool] = {}  # value: examine once more after this time
        self._pacing.shares = self
        if self._pace is not None:
            self._pace.shares = self
            self._pace.take_share(0.0, context.clock.now())  # none until the record has been read

    @property
    def _pace(self) -> CrawlPace | None:
        """Pace of the crawl, if it has rates for shards to share. New settings replace it."""
        pace = self._hosts.pace
        return pace if pace is not None and pace.has_rates else None

    def share_of(self, name: str) -> float:
        """Return the share of the address's request rate; 0 until the others have agreed."""
        return self._parts.get(name, 0) / WHOLE

    def want(self, name: str) -> None:
        """Ask for a part of an address for which hosts wait."""
        if name in self._parts:  # shards with larger parts have been notified
            return
        if name != CRAWL or (name not in self._examining and self._has_pages()):
            self._to_examine.put_nowait(name)

    @property
    def are_awaited(self) -> bool:
        """True while the record of an address is examined, for which pages may wait."""
        return bool(self._examining) or not self._to_examine.empty()

    async def run(self) -> None:
        """Examine the records of wanted and notified addresses, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._records.listen(self._to_examine.put_nowait))
            group.create_task(self._examine_again())
            while True:
                name = await self._to_examine.get()
                if name in self._examining:
                    self._examining[name] = True
                else:
                    self._examining[name] = False
                    group.create_task(self._examine_until_done(name))

    async def _examine_again(self) -> None:
        """Examine shared addresses that are unused here, or of which we have no part, for ever.

        Other shards may have been killed before they gave their parts up. One other address at a
        time is examined as well, as we may not have heard that parts have become free.
        """
        while True:
            await asyncio.sleep(IDLE_S / 2)
            used = [name for name in self._shared if self._parts[name] and self._is_used(name)]
            for name in (*(self._shared - {*used}), *sample(used, min(1, len(used)))):
                self._to_examine.put_nowait(name)

    def _is_used(self, name: str) -> bool:
        since = self._context.clock.now() - IDLE_S
        if name != CRAWL or self._pace is None:
            return self._pacing.is_in_use(name, since)
        return self._has_pages() or self._pace.used_at > since

    async def _examine_until_done(self, name: str) -> None:
        try:
            while True:
                await self._examine(name)
                if not self._examining[name]:
                    return
                self._examining[name] = False
        except RecordError as error:
            self._context.emit(Warned(text=f"no requests to {name}: {error}"))
        finally:
            del self._examining[name]
            self._context.wake()

    async def _examine(self, name: str) -> None:
        """Take a free part of the address, or give up what exceeds an even part."""
        while True:
            parts, revision = await self._records.read(name)
            own, generation = parts.get(self._number), self._records.generation
            if own is not None and own.generation > generation:
                self._use(name, {})
                return  # another process has the shard now
            is_used = self._is_used(name)
            new_parts = with_own_part(parts, self._number, generation, is_used=is_used)
            if own is None and not is_used:
                return
            new_own = new_parts.get(self._number)
            # Our use is reduced before the record is written: others may take the part at once.
            if new_own is None or new_own.part < self._parts.get(name, 0):
                self._use(name, new_parts)
                while not self._pacing.is_within_share(name):
                    await asyncio.sleep(_CHECK_S)
            if await self._records.write(name, new_parts, revision):
                break
        self._use(name, new_parts)
        if shards := shards_to_notify(new_parts, self._number):
            await self._records.notify(name, shards)

    def _use(self, name: str, parts: AddressParts) -> None:
        if self._number not in parts:
            self._parts.pop(name, None)
            self._shared.discard(name)
        else:
            self._parts[name] = parts[self._number].part
            (self._shared.add if len(parts) > 1 else self._shared.discard)(name)
        now = self._context.clock.now()
        self._pacing.change_share(name, now)
        if name == CRAWL and self._pace is not None:
            self._pace.take_share(self.share_of(name), now)
        self._context.wake()


class ClusterShard(NamedTuple):
    """Argument that makes a `Crawl` the crawl of one shard."""

    place: ShardPlace
    exchange: BatchExchange
    addresses: AddressRecords
    replica: StoreReplica | None = None
    """Replica that gets each commit before it counts."""
    posting: Posting = Posting()
    tell_s: float = TELL_S
    age_s: float = 0.0
    """Age of this run of the crawl, as far as known; 0 if no shard has begun."""
    tells_importance: bool = False
    """True if the crawl ends when enough importance is gathered (`--until`)."""

    @property
    def needs_pages(self) -> bool:
        """False: a shard without seeds waits for pages that others send."""
        return False

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        """Store the terms of the shard, and return its settings.

        Raises UsageError for settings that need a single machine. A shard does not converge ranks,
        which needs all shards, and the nodes know when a limit of the whole crawl is reached.
        """
        settings = loaded.settings
        refuse_what_needs_one_machine(settings)
        store.agree(replace(store_terms(settings), shard=self.place.number, shards=self.place.of))
        keep_settings(store, loaded)
        return replace(
            settings,
            storing=replace(settings.storing, converge=False),
            budget=replace(settings.budget, importance=None, new_pages=None),
        )

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterator[ResolvedUrl]:
        """Attach the shard to the recorder, and return the shard's own seeds.

        The first run counts all seeds: each gets its part of one endowment, so every shard needs
        the total.
        """
        recorder.shard = shard = LocalShard(recorder, self)

        def own_seeds() -> Iterator[ResolvedUrl]:
            is_first = FIRST_SEEDS not in recorder.counters
            for seed in seeds:
                if shard.is_own(seed.url):
                    yield seed
                elif is_first:
                    recorder.counters.add(FIRST_SEEDS)

        return own_seeds()


# The shard inside its recorder: it marks foreign pages, and fills the outbox.
#
# Laws: a page of another shard is born foreign, before the own pages that the same page made known,
# and is never requested. The outbox sees each applied step.


_ORIGINS_KEPT = 1 << 16


class LocalShard:
    """The shard of a crawl, as its recorder sees it; the `channels.PageView` of its frontier."""

    def __init__(self, recorder: Recorder, setup: ClusterShard) -> None:
        """`recorder` has loaded the store."""
        frontier, place = recorder.frontier, setup.place
        if frontier.channels is None:
            frontier.channels = Channels()
        self._recorder, self.setup, self.place = recorder, setup, place
        self._owner_of_origin = lru_cache(_ORIGINS_KEPT)(
            lambda origin: place.owner(site(host_of(origin)))
        )
        self.looked_up: PagesByUrl = NO_PAGES
        """Known pages of the batch to be posted next."""
        self.core = Shard(place.number, frontier.books, self, setup.posting, frontier.channels)
        self.began = monotonic()
        self.core.outbox.restore(self.began, frontier.channels.unsent)
        self.met_foreign: Callable[[Sequence[int]], None] = lambda _pages: None
        """Called with new foreign pages."""

    def url(self, page: PageId) -> str:
        return self._recorder.pages.url_of(page)

    def depth(self, page: PageId) -> int:
        return self._recorder.frontier.urls.depth[page]

    def owner(self, page: PageId) -> int:
        urls = self._recorder.frontier.urls
        return self._owner_of_origin(urls.origins[urls.host_of[page]])

    def is_own(self, url: str) -> bool:
        return self._owner_of_origin(origin(url)) == self.place.number

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        for transfer in transfers:
            if canonical(transfer.url, strip_marks=False) != transfer.url:
                raise BatchError(f"{transfer.url!r} is not a canonical URL")
            if not self.is_own(transfer.url):
                raise BatchError(f"{transfer.url} is a page of another shard")
        pages: dict[str, int] = {}
        born = 0
        for depth in sorted({transfer.depth for transfer in transfers}):
            urls = [transfer.url for transfer in transfers if transfer.depth == depth]
            meeting = self._recorder.meet_all(urls, depth, (), self.looked_up)
            pages.update(zip(urls, meeting.pages, strict=True))
            born += len(meeting.urls)
        return [pages[transfer.url] for transfer in transfers], born

    @property
    def others_asked_until(self) -> float:
        """Time until which another process may have crawled the shard."""
        return self.began

    @property
    def long_pause_s(self) -> float:
        """0: shards move quickly, so every pause must be stored for the next process."""
        return 0.0

    def exchange(self, crawler: Crawler) -> ShardCrawl:
        """Return the view of other shards, for a crawl loop that begins."""
        from minicrawl.cluster.shard_crawl import ShardCrawl

        return ShardCrawl(crawler, self)

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        self.core.saw(step, plans, monotonic())

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """Add the pages of other shards among `urls` to the known pages `looked_up`.

        New ones are born as foreign pages.
        """
        foreign = [url for url in urls if not self.is_own(url)]
        if not foreign:
            return looked_up
        meeting = self._recorder.meet_all(foreign, depth, originals, looked_up)
        if new := [row.id for row in meeting.urls]:
            self._recorder.apply_step(Step(StepKind.BORN, born=len(new)))
            self._recorder.apply_step(Step(StepKind.FOREIGN, spending=Spending(new)))
            self.met_foreign(new)
        return {**looked_up, **dict(zip(foreign, meeting.pages, strict=True))}
