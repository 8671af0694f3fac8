"""The traffic of a shard: what is due is sent, and what comes is posted.

Laws: a batch is published when the commit that has its step is safe, and those of one channel in
their order. What came is `done` when the commit that has it is safe. So a kill at any moment loses
no atom and doubles none: what was sent and perhaps not published is published again by the next
run, as is what does not arrive, and what comes twice is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minicrawl.cluster.assignment import (
    WHOLE,
    AddressParts,
    AddressRecordError,
    who_looks,
    with_own,
)
from minicrawl.cluster.channels import (
    Arrival,
    BatchError,
    Posting,
    Transfer,
    TransferBatch,
    UnpostedBatches,
    judge,
    unpack,
)
from minicrawl.cluster.shard import Shard, ShardFacts
from minicrawl.config import Loaded, Settings
from minicrawl.config.rows import BY_NAME
from minicrawl.crawl.events import Warned
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.opening import FIRST_SEEDS
from minicrawl.errors import UsageError
from minicrawl.frontier.channels import Channels, ShardPlace
from minicrawl.frontier.urls import NO_PAGES, PagesByUrl
from minicrawl.model import Originals, PageId, State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.ledger import Plan
from minicrawl.store.writer import StoreWriter
from minicrawl.web.urls import ResolvedUrl, canonical, host_of, origin, site

if TYPE_CHECKING:
    from minicrawl.cluster.together import ShardCrawl
    from minicrawl.crawl.hosts.pacing import AddressPacing
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.parts import CrawlContext, CrawlParts
    from minicrawl.crawl.settle.recorder import Recorder
    from minicrawl.store.writer import StoreReplica


# ================================================================ addresses
#
# The addresses that this shard asks: which part of their pace is ours.
#
# Laws: no more is used than the record of an address says. A part is used after the record has it,
# and given up in the record after it is used no more: no request goes beyond the smaller one then.
# Who waits for a part is waited for by nobody. So all shards together ask an address no more often
# than one machine would, whoever is killed, cut off or moved: a part belongs to the shard, and
# whoever takes the shard over reads the record before it asks.

IDLE_S = 10.0
"""An address that others ask as well is left to them if it was not asked for so long."""
_LOOK_S = 0.1


class ShardAddresses:
    """What the shard has of each address; the `AddressShares` of its pacing."""

    def __init__(
        self, context: CrawlContext, pacing: AddressPacing, number: int, records: AddressRecords
    ) -> None:
        self._context, self._pacing = context, pacing
        self._number, self._records = number, records
        self._parts: dict[str, int] = {}
        self._shared: set[str] = set()  # those of them that others ask as well
        self._to_look: asyncio.Queue[str] = asyncio.Queue()
        self._looking: dict[str, bool] = {}  # whether to look once more
        pacing.shares = self

    # ------------------------------------------------------------ for the pacing

    def share_of(self, name: str) -> float:
        """Of the pace of the address; 0 until the others have agreed."""
        return self._parts.get(name, 0) / WHOLE

    def want(self, name: str) -> None:
        """Hosts wait for an address that we have no part of."""
        if name not in self._parts:  # else those that have a part were told to give some up
            self._to_look.put_nowait(name)

    @property
    def are_awaited(self) -> bool:
        """Whether an address is being looked at, for which pages may wait."""
        return bool(self._looking) or not self._to_look.empty()

    # ------------------------------------------------------------ while the crawl runs

    async def run(self) -> None:
        """Look at addresses for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear())
            group.create_task(self._look_again())
            while True:
                name = await self._to_look.get()
                if name in self._looking:
                    self._looking[name] = True
                else:
                    self._looking[name] = False
                    group.create_task(self._look_until_done(name))

    async def _hear(self) -> None:
        async for name in self._records.pointed_out():
            self._to_look.put_nowait(name)

    async def _look_again(self) -> None:
        """At what nobody here uses any more, and at what others were perhaps killed before they
        gave some of it up, or said so.
        """
        while True:
            await asyncio.sleep(IDLE_S / 2)
            for name in tuple(self._shared):
                if not self._parts[name] or not self._is_used(name):
                    self._to_look.put_nowait(name)

    def _is_used(self, name: str) -> bool:
        return self._pacing.is_in_use(name, self._context.clock.now() - IDLE_S)

    async def _look_until_done(self, name: str) -> None:
        try:
            while True:
                await self._look(name)
                if not self._looking[name]:
                    return
                self._looking[name] = False
        except AddressRecordError as error:
            self._context.tell(Warned(text=f"nothing is asked for at {name}: {error}"))
        finally:
            del self._looking[name]
            self._context.wake()

    async def _look(self, name: str) -> None:
        """Take or give up what is to be taken or given up."""
        while True:
            parts, revision = await self._records.read(name)
            own, generation = parts.get(self._number), self._records.generation
            if own is not None and own.generation > generation:
                self._use(name, {})
                return  # another process has the shard now
            is_used = self._is_used(name)
            wanted = with_own(parts, self._number, generation, is_used=is_used)
            if own is None and not is_used:
                return
            await self._use_no_more_than(name, wanted)
            if await self._records.write(name, wanted, revision):
                break
        self._use(name, wanted)
        if others := who_looks(wanted, self._number):
            await self._records.point_out(name, others)

    async def _use_no_more_than(self, name: str, wanted: AddressParts) -> None:
        """Before the record says so, since others may take it at once then."""
        if self._number not in wanted or wanted[self._number].part < self._parts.get(name, 0):
            self._use(name, wanted)
            while not self._pacing.is_within_share(name):
                await asyncio.sleep(_LOOK_S)

    def _use(self, name: str, wanted: AddressParts) -> None:
        if self._number not in wanted:
            self._parts.pop(name, None)
            self._shared.discard(name)
        else:
            self._parts[name] = wanted[self._number].part
            (self._shared.add if len(wanted) > 1 else self._shared.discard)(name)
        self._pacing.change_share(name, self._context.clock.now())
        self._context.wake()


# ================================================================ exchange
#
# How a shard speaks with the others: what the crawl of a shard is given from outside.
#
# Laws that whoever writes an exchange keeps: a batch whose `publish` has returned is lost by
# accident alone, and its sender publishes it again if it does not arrive. What is not `done` comes
# again, even to another process. Batches may come twice, late and in any order.

TELL_S = 1.0
"""Shards tell what they know of themselves so often."""


class ArrivedBatch(Protocol):
    """A batch of another shard, as `batches.pack` made it."""

    @property
    def packed(self) -> bytes:
        """Its bytes; nothing of them is trusted."""

    async def done(self) -> None:
        """It is posted, and the commit that has it is safe: it need not come again."""

    async def later(self) -> None:
        """It cannot be posted yet, as one before it is missing: it shall come again soon."""


class Exchange(Protocol):
    """The other shards, as one of them sees them. It is used from the thread of the crawl."""

    async def publish(self, batch: TransferBatch) -> None:
        """Send the batch; returns when it is kept for its receiver. It is in the store already."""

    def arrivals(self) -> AsyncIterator[ArrivedBatch]:
        """What comes from the other shards, without end."""

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        """Tell all shards how this one stands. Those who come later know the last facts."""

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        """What each shard told lately in this run of the whole crawl, as far as it is known."""

    def may_fetch(self) -> bool:
        """Whether the shard is still ours for sure. It is asked before each request: no I/O."""

    def is_over(self) -> bool:
        """Whether the whole crawl is over, by its budget or because nothing is left."""


class AddressRecords(Protocol):
    """Who has which part of the pace of an address: a record for each, which one shard at a time
    changes. What fails is asked again until it is done.
    """

    @property
    def generation(self) -> int:
        """How often the shard has changed hands: who has it next has a higher one."""

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """The parts, and the revision of the record."""

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision; whether it was."""

    async def point_out(self, address: str, shards: Sequence[int]) -> None:
        """Have these shards look at the record, whoever has them then."""

    def pointed_out(self) -> AsyncIterator[str]:
        """The addresses that this shard is to look at, without end."""


class ShardSetup(NamedTuple):
    """What `Crawl` is given for a shard."""

    place: ShardPlace
    exchange: Exchange
    replica: StoreReplica | None = None
    """What has each commit before it counts."""
    posting: Posting = Posting()
    tell_s: float = TELL_S
    addresses: AddressRecords | None = None
    """Without them each shard has an even part of the pace of every address."""

    @property
    def needs_pages(self) -> bool:
        """A shard without seeds waits for pages that others send."""
        return False

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        """Return the settings for the store of this shard; see `agree_in_shards`."""
        return agree_in_shards(store, loaded, self.place)

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterator[ResolvedUrl]:
        """Make the recorder that of this shard, and return its own seeds."""
        recorder.shard = shard = LocalShard(recorder, self)
        return _own(recorder, shard, seeds)


# ================================================================ local
#
# The shard in its recorder: which pages are foreign, and what waits to be sent.
#
# Laws: a page of another shard is born foreign, before the pages of this one that become known at
# the same time, and is never asked for. Each step that is applied is seen by the outbox.

_ORIGINS_KEPT = 1 << 16


class ShardPages:
    """What the shard asks of its pages: `shards.shard.PageTable` on top of a frontier."""

    def __init__(self, recorder: Recorder, place: ShardPlace) -> None:
        self._recorder, self._urls, self._number = recorder, recorder.frontier.urls, place.number
        self.owner_of_origin = lru_cache(_ORIGINS_KEPT)(
            lambda origin: place.owner(site(host_of(origin)))
        )
        self.looked_up: PagesByUrl = NO_PAGES
        """The pages of the batch that is posted next, as far as they are known."""

    def url(self, page: PageId) -> str:
        """As other shards know it."""
        return self._recorder.pages.url_of(page)

    def depth(self, page: PageId) -> int:
        """How many links it is away from the seeds."""
        return self._urls.depth[page]

    def owner(self, page: PageId) -> int:
        """The shard that it belongs to."""
        return self.owner_of_origin(self._urls.origins[self._urls.host_of[page]])

    def is_own(self, url: str) -> bool:
        """Whether the page at a canonical URL belongs to this shard."""
        return self.owner_of_origin(origin(url)) == self._number

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        """The page of each URL, and how many of them are new: they get the next ids.

        Raises BatchError if a URL is of another shard, or is none that a shard sends.
        """
        for transfer in transfers:
            if canonical(transfer.url, strip_marks=False) != transfer.url:
                raise BatchError(f"{transfer.url!r} is not a URL as shards know them")
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
    """The shard of a crawl, as far as the recorder knows it."""

    def __init__(self, recorder: Recorder, setup: ShardSetup) -> None:
        """The recorder has loaded what the store knows."""
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
        """Called with foreign pages that were just born."""

    @property
    def others_asked_until(self) -> float:
        """Another process may have crawled the shard until this one began."""
        return self.began

    @property
    def long_pause_s(self) -> float:
        """A shard moves quickly, so its next process should know of every pause."""
        return 0.0

    def is_own(self, url: str) -> bool:
        """Whether the page at a canonical URL belongs to this shard."""
        return self.pages.is_own(url)

    def exchange(self, crawler: Crawler) -> ShardCrawl:
        """Return the other shards, for a loop that begins."""
        from minicrawl.cluster.together import ShardCrawl  # which knows this module

        return ShardCrawl(crawler, self)

    @property
    def parts_of_pace(self) -> int:
        """Each shard has one of so many of an address's pace, if they do not agree on more."""
        return self.place.of if self.setup.addresses is None else 1

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """A step was applied."""
        self.core.saw(step, plans, monotonic())

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """The pages that are known already, with those of other shards among these URLs, which are
        born if they are new.
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
    """Each shard is endowed by its part of all seeds, so the first time all are counted."""
    is_first = FIRST_SEEDS not in recorder.counters
    for seed in seeds:
        if shard.pages.is_own(seed.url):
            yield seed
        elif is_first:
            recorder.counters.add(FIRST_SEEDS)


def agree_in_shards(store: StoreWriter, loaded: Loaded, place: ShardPlace) -> Settings:
    """The settings for the store of this shard, which keeps them, unless it refuses them.

    Ranks converge, and links are checked, over all shards. Pages are ordered by cash, unless that
    is given: a shard alone does not know what all siblings have shown.
    """
    if not loaded.is_given(BY_NAME["strategy"]):
        by_cash = loaded.settings.with_values({"strategy": "greedy"})
        loaded = replace(loaded, settings=by_cash)
    settings = loaded.settings
    refuse_in_shards(settings)
    terms = replace(resume.terms_of(settings), shard=place.number, shards=place.of)
    store.agree(terms)
    resume.keep(store, loaded)
    storing = replace(settings.storing, converge=False, check_external=False, check_assets=False)
    return replace(settings, storing=storing)


def refuse_in_shards(settings: Settings) -> None:
    """Refuse settings that mean something on one machine alone."""
    order, budget = settings.order, settings.budget
    refused = {
        "--strategy siblings": order.strategy == "siblings",
        "--focus-only": settings.scope.focus_only is not None,
        "--no-links": not settings.storing.links,
        "--until": budget.importance is not None,
        "--new-pages": budget.new_pages is not None,
    }
    for name, is_set in refused.items():
        if is_set:
            raise UsageError(f"{name} works on one machine only: a crawl in shards cannot have it")


# ================================================================ traffic

PUBLISHED = "published"
"""A counter: the last step whose batch, and those of all steps before it, were published."""
LOOK_S = 0.1
"""So often it is looked whether something is due."""
MOST_PENDING = 256
"""Batches that wait for a commit, and then for the engine; until there are fewer none comes."""
MOST_AGAIN = 32
"""Batches of a channel that are published again at a time."""


class _Pending(NamedTuple):
    """What is done when a step is safe."""

    step: int
    act: Callable[[], Awaitable[None]]


def key_queue(parts: CrawlParts) -> ByKey:
    """The queue of a crawl in shards: orders without keys are refused there."""
    queue = parts.leases.queue
    assert isinstance(queue, ByKey)
    return queue


class ShardTraffic:
    """The batches of one crawl."""

    def __init__(
        self,
        context: CrawlContext,
        parts: CrawlParts,
        shard: LocalShard,
        rhythm_s: Callable[[float], float],
    ) -> None:
        """`rhythm_s` makes what is usually waited shorter in a young crawl."""
        self._context, self._parts, self._rhythm_s = context, parts, rhythm_s
        self._recorder, self._frontier = context.recorder, context.recorder.frontier
        self._shard, self._exchange = shard, shard.setup.exchange
        self._pending = asyncio.Queue[_Pending](MOST_PENDING)
        self._is_following = True  # what earlier runs sent is published first
        self.to_level: dict[int, int] = {}
        """What the pot is to send to those of other shards."""
        shard.met_foreign = key_queue(parts).met_foreign
        for tracker in parts.trackers:
            tracker.brought_nearer = set()

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What is done while the crawl runs."""
        return self._follow_commits(), self._send(), self._send_again(), self._receive()

    @property
    def is_busy(self) -> bool:
        """Whether something waits for a commit, or for the exchange."""
        return self._is_following or not self._pending.empty()

    # ------------------------------------------------------------ after commits

    async def _follow_commits(self) -> None:
        for step, batch in self._unpublished():
            await self._publish(step, batch)
        while True:
            self._is_following = False
            pending = await self._pending.get()
            self._is_following = True
            await self._recorder.committer.committed(pending.step)
            await pending.act()

    async def _after_commit(self, act: Callable[[], Awaitable[None]]) -> None:
        await self._pending.put(_Pending(self._frontier.last_seq, act))

    # ------------------------------------------------------------ to other shards

    def _unpublished(self) -> list[tuple[int, TransferBatch]]:
        """What earlier runs sent, and perhaps did not publish."""
        last = int(self._recorder.counters.number(PUBLISHED))
        sendings = self._recorder.pages.sendings_after(last)
        return [(seq, self._shard.core.batch(step)) for seq, step in sendings]

    async def _send(self) -> None:
        usual_s = self._shard.setup.posting.wait_s
        while True:
            self.tell_of_shorter_ways()
            wait_s = self._rhythm_s(usual_s)
            for receiver in {
                *self._shard.core.outbox.due(time.monotonic(), wait_s),
                *self.to_level,
            }:
                await self._send_to(receiver)
            await asyncio.sleep(min(LOOK_S, wait_s / 2))

    def tell_of_shorter_ways(self) -> None:
        """Foreign pages may be nearer than their shards know."""
        for tracker in self._parts.trackers:
            pages, tracker.brought_nearer = tracker.brought_nearer or (), set()
            self._shard.core.outbox.tell(pages, time.monotonic())

    async def _send_to(self, receiver: int) -> None:
        pot = max(0, self._frontier.ledger.virtual_page.pot)
        of_pot = min(self.to_level.pop(receiver, 0), pot)
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
        """Publish again what its receivers do not post, as often as that is overdue."""
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
        steps = self._recorder.pages.sendings_to(receiver, number, published)[:MOST_AGAIN]
        if steps:
            self._context.tell(
                Warned(text=f"shard {receiver} posts nothing behind batch {number}: sent again")
            )
        for step in steps:
            await self._exchange.publish(self._shard.core.batch(step))

    # ------------------------------------------------------------ from other shards

    async def _receive(self) -> None:
        async for arrived in self._exchange.arrivals():
            try:
                batch = unpack(arrived.packed)
                await self._post(arrived, batch)
            except BatchError as error:  # if it is anybody's money, its sender sends it again
                self._context.tell(Warned(text=f"a batch of another shard was dropped: {error}"))
                await arrived.done()

    async def _post(self, arrived: ArrivedBatch, batch: TransferBatch) -> None:
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
        """Other shards may know shorter ways to pages that wait for one."""
        find, queue = self._frontier.urls.find, self._parts.leases.queue
        for tracker in self._parts.trackers:
            for transfer in batch.transfers:
                if (page := find(transfer.url)) is not None:
                    for released in tracker.begin_at(page, max(transfer.depth, 1)):
                        queue.release(released)
