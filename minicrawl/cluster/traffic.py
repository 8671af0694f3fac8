"""Traffic of a shard: sends the batches that are due, and posts the batches that arrive.

Laws: a batch is published when its SEND step is committed, in the order of its channel. An arrived
batch is acknowledged when its RECEIVE step is committed. So a kill at any moment neither loses nor
doubles an atom: a batch that was sent and perhaps not published is published by the next run, a
batch that does not arrive is published again, and one that arrives twice is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import replace
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from minicrawl.cluster.assignment import (
    TELL_S,
    AddressParts,
    shards_to_notify,
    with_own_part,
)
from minicrawl.cluster.channels import (
    Arrival,
    BatchError,
    Posting,
    Shard,
    Transfer,
    TransferBatch,
    UnpostedBatches,
    judge,
    unpack,
)
from minicrawl.cluster.engine import BatchDelivery
from minicrawl.cluster.exchange import AddressRecords, BatchExchange
from minicrawl.cluster.records import WHOLE, RecordError
from minicrawl.cluster.terms import refuse_what_needs_one_machine
from minicrawl.config import Loaded, Settings
from minicrawl.config.parts import BY_NAME
from minicrawl.crawl.events import Warned
from minicrawl.crawl.hosts.pacing import CRAWL, CrawlPace
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.crawl.start.opening import FIRST_SEEDS, keep_settings, store_terms
from minicrawl.frontier.url_table import NO_PAGES, PagesByUrl
from minicrawl.model import Originals, PageId, State
from minicrawl.opic.ledger import Channels, Plan, ShardPlace, Spending, Step, StepKind
from minicrawl.store.writer import StoreWriter
from minicrawl.web.urls import ResolvedUrl, canonical, host_of, origin, site

if TYPE_CHECKING:
    from minicrawl.cluster.together import ShardCrawl
    from minicrawl.crawl.hosts.politeness import HostTable
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.parts import CrawlContext, CrawlParts
    from minicrawl.crawl.settle.recorder import Recorder
    from minicrawl.store.writer import StoreReplica


# ================================================================ addresses
#
# The parts of addresses that this shard may use.
#
# The rate of the whole crawl (--max-rate) is shared like one more address, named `CRAWL`.
#
# Laws: a shard uses no more than the record of an address says. It uses a part after the record has
# it, and stops using a part before the record drops it: in between, its requests keep to the
# smaller part. No shard waits for one that itself waits for a part. So all shards together ask an
# address no more often than one machine would, even if shards are killed, cut off or moved: parts
# belong to shards, and a new holder reads the record before its first request.

IDLE_S = 10.0
"""Idle time after which a shared address is left to the other shards."""
_CHECK_S = 0.1


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

    # ------------------------------------------------------------ for the pacing

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

    # ------------------------------------------------------------ while the crawl runs

    async def run(self) -> None:
        """Examine the records of wanted and notified addresses, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear())
            group.create_task(self._examine_again())
            while True:
                name = await self._to_examine.get()
                if name in self._examining:
                    self._examining[name] = True
                else:
                    self._examining[name] = False
                    group.create_task(self._examine_until_done(name))

    async def _hear(self) -> None:
        async for name in self._records.notifications():
            self._to_examine.put_nowait(name)

    async def _examine_again(self) -> None:
        """Examine shared addresses that are unused here, or of which we have no part, for ever.

        Other shards may have been killed before they gave their parts up, or notified us.
        """
        while True:
            await asyncio.sleep(IDLE_S / 2)
            for name in tuple(self._shared):
                if not self._parts[name] or not self._is_used(name):
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
            self._context.tell(Warned(text=f"no requests to {name}: {error}"))
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
            wanted = with_own_part(parts, self._number, generation, is_used=is_used)
            if own is None and not is_used:
                return
            await self._use_no_more_than(name, wanted)
            if await self._records.write(name, wanted, revision):
                break
        self._use(name, wanted)
        if others := shards_to_notify(wanted, self._number):
            await self._records.notify(name, others)

    async def _use_no_more_than(self, name: str, wanted: AddressParts) -> None:
        """Reduce our use before the record is written: others may take the part at once."""
        if self._number not in wanted or wanted[self._number].part < self._parts.get(name, 0):
            self._use(name, wanted)
            while not self._pacing.is_within_share(name):
                await asyncio.sleep(_CHECK_S)

    def _use(self, name: str, wanted: AddressParts) -> None:
        if self._number not in wanted:
            self._parts.pop(name, None)
            self._shared.discard(name)
        else:
            self._parts[name] = wanted[self._number].part
            (self._shared.add if len(wanted) > 1 else self._shared.discard)(name)
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
        return agree_in_shards(store, loaded, self.place)

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterator[ResolvedUrl]:
        """Attach the shard to the recorder, and return the shard's own seeds."""
        recorder.shard = shard = LocalShard(recorder, self)
        return _own(recorder, shard, seeds)


# ================================================================ local
#
# The shard inside its recorder: it marks foreign pages, and fills the outbox.
#
# Laws: a page of another shard is born foreign, before the own pages that the same page made known,
# and is never requested. The outbox sees each applied step.

_ORIGINS_KEPT = 1 << 16


class ShardPages:
    """A shard's view of its pages: `channels.PageView` over a frontier."""

    def __init__(self, recorder: Recorder, place: ShardPlace) -> None:
        self._recorder, self._urls, self._number = recorder, recorder.frontier.urls, place.number
        self.owner_of_origin = lru_cache(_ORIGINS_KEPT)(
            lambda origin: place.owner(site(host_of(origin)))
        )
        self.looked_up: PagesByUrl = NO_PAGES
        """Known pages of the batch to be posted next."""

    def url(self, page: PageId) -> str:
        return self._recorder.pages.url_of(page)

    def depth(self, page: PageId) -> int:
        return self._urls.depth[page]

    def owner(self, page: PageId) -> int:
        return self.owner_of_origin(self._urls.origins[self._urls.host_of[page]])

    def is_own(self, url: str) -> bool:
        return self.owner_of_origin(origin(url)) == self._number

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


class LocalShard:
    """The shard of a crawl, as its recorder sees it."""

    def __init__(self, recorder: Recorder, setup: ClusterShard) -> None:
        """`recorder` has loaded the store."""
        frontier = recorder.frontier
        if frontier.channels is None:
            frontier.channels = Channels()
        self._recorder, self.setup, self.place = recorder, setup, setup.place
        self.pages = ShardPages(recorder, setup.place)
        number, channels = self.place.number, frontier.channels
        self.core = Shard(number, frontier.books, self.pages, setup.posting, channels)
        self.began = monotonic()
        self.core.outbox.restore(self.began, channels.unsent)
        self.met_foreign: Callable[[Sequence[int]], None] = lambda _pages: None
        """Called with new foreign pages."""

    @property
    def others_asked_until(self) -> float:
        """Time until which another process may have crawled the shard."""
        return self.began

    @property
    def long_pause_s(self) -> float:
        """0: shards move quickly, so every pause must be stored for the next process."""
        return 0.0

    def is_own(self, url: str) -> bool:
        return self.pages.is_own(url)

    def exchange(self, crawler: Crawler) -> ShardCrawl:
        """Return the view of other shards, for a crawl loop that begins."""
        from minicrawl.cluster.together import ShardCrawl  # the import would be circular above

        return ShardCrawl(crawler, self)

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """Update the shard after a step was applied."""
        self.core.saw(step, plans, monotonic())

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """Add the pages of other shards among `urls` to the known pages `looked_up`.

        New ones are born as foreign pages.
        """
        foreign = [url for url in urls if not self.pages.is_own(url)]
        if not foreign:
            return looked_up
        meeting = self._recorder.meet_all(foreign, depth, originals, looked_up)
        if new := [row.id for row in meeting.urls]:
            self._recorder.apply_step(Step(StepKind.BORN, born=len(new)))
            self._recorder.apply_step(Step(StepKind.FOREIGN, spending=Spending(new)))
            self.met_foreign(new)
        return {**looked_up, **dict(zip(foreign, meeting.pages, strict=True))}


def _own(
    recorder: Recorder, shard: LocalShard, seeds: Iterable[ResolvedUrl]
) -> Iterator[ResolvedUrl]:
    """Yield the shard's own seeds, and count all seeds in the first run.

    Each seed gets its part of one endowment, so every shard needs the total.
    """
    is_first = FIRST_SEEDS not in recorder.counters
    for seed in seeds:
        if shard.pages.is_own(seed.url):
            yield seed
        elif is_first:
            recorder.counters.add(FIRST_SEEDS)


def agree_in_shards(store: StoreWriter, loaded: Loaded, place: ShardPlace) -> Settings:
    """Store the terms of the shard, and return its settings.

    Raises UsageError for settings that need a single machine. A shard does not converge ranks,
    which needs all shards, and the nodes know when a limit of the whole crawl is reached. The
    default strategy is by cash, except for values: pages that other shards made known have no
    siblings.
    """
    if not (loaded.is_given(BY_NAME["strategy"]) or loaded.settings.order.score):
        by_cash = loaded.settings.with_values({"strategy": "greedy"})
        loaded = replace(loaded, settings=by_cash)
    refuse_what_needs_one_machine(loaded.settings)
    settings = loaded.settings
    terms = replace(store_terms(settings), shard=place.number, shards=place.of)
    store.agree(terms)
    keep_settings(store, loaded)
    return replace(
        settings,
        storing=replace(settings.storing, converge=False),
        budget=replace(settings.budget, importance=None, new_pages=None),
    )


# ================================================================ traffic

PUBLISHED = "published"
"""Name of the counter with the step up to which all batches are published."""
CHECK_S = 0.1
"""Longest interval between checks for due batches."""
MOST_PENDING = 256
"""Limit of batches that wait for a commit or the engine. At the limit no batch is made or taken."""
MOST_REPEATED = 32
"""Limit of batches of a channel to publish again at a time."""


class _Pending(NamedTuple):
    """Action to take when a step is committed."""

    step: int
    act: Callable[[], Awaitable[None]]


class ShardTraffic:
    """Sender and receiver of a shard's batches."""

    def __init__(
        self,
        context: CrawlContext,
        parts: CrawlParts,
        shard: LocalShard,
        exchange_interval_s: Callable[[float], float],
    ) -> None:
        """`exchange_interval_s` returns the current wait for a usual one: less in a young crawl."""
        self._context, self._parts, self._interval_s = context, parts, exchange_interval_s
        self._recorder, self._frontier = context.recorder, context.recorder.frontier
        self._shard, self._exchange = shard, shard.setup.exchange
        self._pending = asyncio.Queue[_Pending](MOST_PENDING)
        self._is_acting = True  # batches of earlier runs are published first
        self.levelling_transfers: dict[int, int] = {}
        """Atoms that the pot must send, by receiver."""
        if isinstance(queue := parts.leases.queue, ByKey):
            shard.met_foreign = queue.met_foreign
        for tracker in parts.trackers:
            tracker.brought_nearer = set()

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return the tasks to run while the crawl runs."""
        return self._follow_commits(), self._send(), self._send_again(), self._receive()

    @property
    def is_busy(self) -> bool:
        """True if a batch waits for a commit or for the exchange."""
        return self._is_acting or not self._pending.empty()

    # ------------------------------------------------------------ after commits

    async def _follow_commits(self) -> None:
        # Batches of earlier runs may not have been published.
        last = int(self._recorder.counters.number(PUBLISHED))
        sendings = self._recorder.pages.sendings_after(last)
        for seq, batch in [(seq, self._shard.core.batch(step)) for seq, step in sendings]:
            await self._publish(seq, batch)
        while True:
            self._is_acting = False
            pending = await self._pending.get()
            self._is_acting = True
            await self._recorder.committer.committed(pending.step)
            await pending.act()

    async def _after_commit(self, act: Callable[[], Awaitable[None]]) -> None:
        await self._pending.put(_Pending(self._frontier.last_seq, act))

    # ------------------------------------------------------------ to other shards

    async def _send(self) -> None:
        usual_s = self._shard.setup.posting.wait_s
        while True:
            self.tell_of_shorter_ways()
            wait_s = self._interval_s(usual_s)
            for receiver in {
                *self._shard.core.outbox.due(time.monotonic(), wait_s),
                *self.levelling_transfers,
            }:
                await self._send_to(receiver)
            await asyncio.sleep(min(CHECK_S, wait_s / 2))

    def tell_of_shorter_ways(self) -> None:
        """Enqueue foreign pages to which a shorter path was found."""
        for tracker in self._parts.trackers:
            pages, tracker.brought_nearer = tracker.brought_nearer or (), set()
            self._shard.core.outbox.tell(pages, time.monotonic())

    async def _send_to(self, receiver: int) -> None:
        pot = max(0, self._frontier.ledger.virtual_page.pot)
        of_pot = min(self.levelling_transfers.pop(receiver, 0), pot)
        step = self._shard.core.sending(receiver, of_pot)
        if not step.spending.links and not of_pot:
            return
        batch = self._shard.core.batch(step)
        self._recorder.apply_step(step)
        seq = self._frontier.last_seq
        await self._after_commit(partial(self._publish, seq, batch))

    async def _publish(self, step: int, batch: TransferBatch) -> None:
        await self._exchange.publish(batch)
        self._recorder.counters[PUBLISHED] = step

    async def _send_again(self) -> None:
        """Publish batches again that their receivers have not posted, for ever."""
        again_s, shard = self._shard.setup.posting.again_s, self._shard.place.number
        unposted = UnpostedBatches(again_s)
        while True:
            await asyncio.sleep(again_s / 4)
            sent = {other: end.number for other, end in self._shard.core.channels.sent.items()}
            told = self._exchange.told.items()
            posted = {other: facts.received.get(shard, 0) for other, facts in told}
            for receiver, number in unposted.overdue(sent, posted, time.monotonic()):
                await self._publish_again(receiver, number)

    async def _publish_again(self, receiver: int, number: int) -> None:
        published = int(self._recorder.counters.number(PUBLISHED))
        steps = self._recorder.pages.sendings_to(receiver, number, published)[:MOST_REPEATED]
        if steps:
            self._context.tell(
                Warned(text=f"shard {receiver} posted nothing after batch {number}: sending again")
            )
        for step in steps:
            await self._exchange.publish(self._shard.core.batch(step))

    # ------------------------------------------------------------ from other shards

    async def _receive(self) -> None:
        async for arrived in self._exchange.arrivals():
            try:
                batch = unpack(arrived.packed)
                await self._post(arrived, batch)
            except BatchError as error:  # a genuine batch is sent again
                self._context.tell(Warned(text=f"a batch of another shard was dropped: {error}"))
                await arrived.done()

    async def _post(self, arrived: BatchDelivery, batch: TransferBatch) -> None:
        urls = [transfer.url for transfer in batch.transfers]
        looked_up = await self._recorder.look_up_urls(urls)
        await self._recorder.committer.caught_up()
        self._shard.pages.looked_up = looked_up
        arrival = judge(self._shard.core.channels, batch)
        for step in self._shard.core.receipt(batch):
            self._post_step(step)
        if arrival is Arrival.EARLY:
            await arrived.later()
            return
        self._come_nearer(batch)
        await self._after_commit(arrived.done)
        self._context.wake()

    def _post_step(self, step: Step) -> None:
        settler = self._parts.settler
        if step.kind is StepKind.DEAD_END:
            settler.close(step.page, State.BAD_REDIRECT)
            return
        known = len(self._frontier)
        settler.poster.post(step, new=range(known, known + step.born))
        if step.spending.links:
            self._parts.traps.received(step.spending.links, step.spending.weights)

    def _come_nearer(self, batch: TransferBatch) -> None:
        """Release pages for which the batch has the shorter path that they wait for."""
        find, queue = self._frontier.urls.find, self._parts.leases.queue
        for tracker in self._parts.trackers:
            for transfer in batch.transfers:
                if (page := find(transfer.url)) is not None:
                    for released in tracker.begin_at(page, max(transfer.depth, 1)):
                        queue.release(released)
