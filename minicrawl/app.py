"""The composition root and the Python API: settings in, a crawl of wired parts out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from minicrawl.config import Loaded, Settings
from minicrawl.config.values.stop_rules import GuaranteedShare
from minicrawl.crawl.admission.scope import ScopeGate, gate_for
from minicrawl.crawl.events import (
    KINDS,
    Ended,
    Event,
    Listener,
    Listeners,
    Noted,
    Reason,
    Settled,
    Warned,
    nobody_listens,
)
from minicrawl.crawl.hooks import Accept, Hooks, OnPage, StopRule
from minicrawl.crawl.hosts.crawl_pace import StepClock
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.progress import Progress, ProgressMeter
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.record.store_with_archive import open_keeping
from minicrawl.crawl.refinement.fresh_ranks import kept_fresh
from minicrawl.crawl.refinement.last_convergence import LastConvergence
from minicrawl.crawl.shards import WHOLE, ShardSetup
from minicrawl.crawl.start.cookies import with_cookies
from minicrawl.crawl.start.opening import NO_SEED, opened_crawl
from minicrawl.crawl.start.options import StartOptions
from minicrawl.crawl.start.reach import (
    browsers_for,
    check_reach,
    exposed_keys,
    limits,
    refuse_what_varies,
)
from minicrawl.crawl.start.settings import (
    refuse_scorers,
    resume_command,
    resumed_settings,
    told_not_inherited,
)
from minicrawl.crawl.steering.control_socket import listening
from minicrawl.crawl.steering.steering import CrawlSteering
from minicrawl.crawl.workers.pool import LONG, WorkerPool, open_web_access, worker_count
from minicrawl.crawl.workers.scoring import OwnScorer
from minicrawl.crawl.workers.visitor import WorkerConfig
from minicrawl.errors import UsageError
from minicrawl.fetch.resolver.resolver import trusted_among
from minicrawl.memory.garbage_collector import RARE_GARBAGE_COLLECTION
from minicrawl.notebook import NotebookDisplay
from minicrawl.own_files import scratch
from minicrawl.store import tables
from minicrawl.store.derived.file import SET_ASIDE, mend
from minicrawl.store.disk.files import set_aside
from minicrawl.store.reader import archive_folder
from minicrawl.store.writer import StoreWriter, copy_store
from minicrawl.web.urls import ResolvedUrl

if TYPE_CHECKING:
    import httpx

    from minicrawl.crawl.start.preview import Preview
    from minicrawl.report.selected_pages import ExportRow

_NOT_ALL_ASKED = "some links outside the crawl are not checked yet: the next run continues"


class SystemClock:
    """Clocks of this machine."""

    now = staticmethod(time.monotonic)
    today = staticmethod(time.time)


class _StoppedAmongSeedsError(Exception):
    """Raised when the crawl is stopped while seeds are being read.

    Seeds are endowed once all are known, so the next run reads them again.
    """


class Crawl:
    """A crawl of the web from some seeds into a store. The next run resumes where this one ends.

    Seeds are URLs, with or without a scheme. The list may be empty if the store has seeds.

    A resumed crawl keeps its defining settings, except those given now. A value of `Settings` that
    equals its default does not count as given; one of `Settings.given` does.

    A `fresh` crawl starts over and renames the old store. `command` resumes the crawl; `minicrawl
    status` prints it. With None, the store keeps its command and its limits of pages, as does that
    of a crawl `aside`, which fetches pages only, not the requisites and files that the store keeps
    with them.

    `accept` is called with each URL in scope, and returns whether to fetch it. A refused page is
    known and ranked like one outside the scope; the next run calls `accept` again.

    `on_page` is called with each page that was read, as a `PageRead`: its links, status, headers
    and body. It may be a coroutine function. A page that has not changed since the last run (304)
    is not passed to it. A page counts as handed over when the function has returned and its step is
    committed, at most a moment later. A kill in between hands it over again, with the same `url`
    and `reading`: a sink that takes these two as its key keeps each page exactly once.

    `on_error` says what happens when `on_page` raises: `stop` ends the crawl, and the next run
    requests the page again; `retry` calls `on_page` with the page up to three times before that;
    `skip` warns and goes on.

    `transport` is a transport of httpx, such as a proxy or a mock, that replaces the connections.
    It resolves names by itself, so the check for private addresses covers only addresses in URLs.
    There are no worker processes then.

    `shard` makes this the crawl of one shard of several, which takes its own seeds from the list.

    `score` is called with each page that was read, as a `PageRead`, and returns its value from 0
    to 1; the crawl fetches pages first that are likely to be of value (`--score-weight`). A
    function runs in a thread, one page at a time; a coroutine function may wait for a process of
    its own. A page gets no value if the function raises, takes longer than 10 seconds, or returns
    no such number.

    `stop` is called with the progress after each page, and returns whether the crawl ends. An
    exception in one of these functions ends the crawl like `stop()`, and is then raised.
    """

    def __init__(  # noqa: PLR0913  # each is given by its name
        self,
        seeds: Iterable[str],
        settings: Settings | Loaded | None = None,
        *,
        fresh: bool = False,
        command: str | None = "",
        aside: bool = False,
        accept: Accept | None = None,
        on_page: OnPage | None = None,
        on_error: str = "stop",
        transport: httpx.AsyncBaseTransport | None = None,
        stop: StopRule | None = None,
        shard: ShardSetup | None = None,
        score: OwnScorer | None = None,
    ) -> None:
        if isinstance(seeds, str):
            raise UsageError(f"seeds must be a list of URLs: [{seeds!a:.60}]")
        given = settings or Settings()
        self._given = given if isinstance(given, Loaded) else Loaded.of(given)
        self.settings = self._given.settings
        self._beginning = StartOptions(seeds, command, fresh=fresh)
        self._is_aside = aside
        self._listeners = Listeners()
        self._tell = self._listeners.tell
        self._hooks = Hooks(accept, on_page, stop, on_error, self._tell, score)
        if score is not None and shard is not None:
            raise UsageError("score: works on one machine only, not in a crawl in shards")
        self._hooks.halt, self._hooks.is_shard = self.stop, shard is not None
        if stop is not None:
            self.subscribe(lambda _: self._hooks.look(self.progress()), (Settled,))
        self._transport, self._shard = transport, shard or WHOLE
        self._crawler: Crawler | None = None
        self.steering: CrawlSteering | None = None
        """Steering of the crawl, while it requests pages."""
        self._meter: ProgressMeter | None = None
        self._last_progress: Progress | None = None
        self._ending: LastConvergence | None = None
        self._is_stopped = False

    def __repr__(self) -> str:
        return f"<Crawl into {self.settings.storing.store}>"

    def subscribe(self, listener: Listener, kinds: Iterable[type[Event]] = ()) -> None:
        """Call the listener with every event, or with events of these kinds, in the crawl's own
        thread.

        The listener should return soon.
        """
        self._listeners.add(listener, tuple(kinds) or KINDS)

    def run(self) -> Reason:
        """Crawl until the budget is spent or nothing is left, and return the reason for the end."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run_async())
        raise UsageError("an event loop runs already, as in a notebook: `await crawl.run_async()`")

    def stop(self) -> None:
        """Send no more requests, and wait for those in flight. Call it in the loop's thread.

        If the crawl has ended and its ranks are converging, stop that.
        """
        self._is_stopped = True
        if self._ending is not None:
            self._ending.halt()
        if self._crawler is not None:
            self._crawler.stop()

    @property
    def has_begun(self) -> bool:
        """True when all seeds are known, so that pages may be requested."""
        return self._meter is not None or self.is_over

    @property
    def is_over(self) -> bool:
        """True when the crawl has ended; its ranks may still converge."""
        return self._ending is not None

    def progress(self) -> Progress | None:
        """Return the progress of the crawl, also after its end; None before it begins."""
        meter, crawler = self._meter, self._crawler
        if meter is None or crawler is None:
            return self._last_progress
        return crawler.completed(meter.read())

    def pages(self, count: int = 0) -> Iterator[ExportRow]:
        """Yield the best `count` pages in the store, read or not; all pages if `count` is 0."""
        from minicrawl.report.selected_pages import PageSelection, rows
        from minicrawl.report.snapshot import snapshot

        with snapshot(self.settings.storing.store) as view:
            yield from rows(view, PageSelection(count=count))

    async def run_async(self, *, show: bool = False) -> Reason:
        """Crawl like `run`, but inside a running event loop, as in notebooks and servers.

        With `show`, the progress is shown below the cell of the notebook.
        """
        shown: Listener = nobody_listens
        if show:
            shown = NotebookDisplay(self.progress).hear
            self.subscribe(shown)
        try:
            with RARE_GARBAGE_COLLECTION.during_a_crawl():
                began = time.monotonic()
                reason = await self._run_from(self._seeds_at_hand())
                if self._hooks.error is not None:
                    raise self._hooks.error
                await self._converge(time.monotonic() - began)
                shown(Ended(reason=reason))  # once more, with the importance that has converged
                return reason
        except _StoppedAmongSeedsError:
            return Reason.STOPPED
        finally:
            self._listeners.remove(shown)

    async def _converge(self, ran_s: float) -> None:
        self._last_progress = self.progress()
        # Frees memory: all pages are loaded again.
        self._meter, self._crawler, self.steering = None, None, None
        store = self.settings.storing.store
        self._ending = ranks = LastConvergence(store, SystemClock(), self._tell)
        if self.settings.storing.may_converge:
            from minicrawl.report.progress.crawl_status import status

            await ranks.run(ran_s)
            # The share that all reports show replaces the estimate.
            shown = status(store).importance_gathered
            if self._last_progress is not None and shown is not None:
                self._last_progress = replace(self._last_progress, importance_gathered=shown)

    async def _run_from(self, seeds: Iterator[ResolvedUrl]) -> Reason:
        await check_reach(self.settings.network, self._tell, is_given=bool(self._transport))
        self._beginning.check(self.settings, SystemClock.today())
        store = self.settings.storing.store
        if self._beginning.fresh and (aside := set_aside(store)):
            self._tell(Noted(text=f"the store that was there is {aside} now"))
        if damaged := mend(store):
            self._tell(Warned(text=SET_ASIDE.format(damaged)))
        keep = partial(open_keeping, emit=self._tell)
        opened = opened_crawl(
            *(self._agree, store, seeds, self._tell, keep),
            shard=self._shard,
            by_value=self._hooks.scorer is not None,
        )
        async with opened as recorder:
            recorder.counters[tables.CONVERGES] = self.settings.storing.may_converge
            recorder.counters[tables.BEGAN] = SystemClock.today()
            command = self._beginning.command
            if command is not None and not self._is_aside:
                recorder.counters |= resume_command(command, store)
                budget = self.settings.budget
                recorder.counters[tables.MAXIMUM] = budget.pages
                recorder.counters[tables.GOES_ON_UNTIL] = None
                recorder.counters[tables.PAGES_OF_A_RUN] = budget.pages or budget.new_pages
            return await self._crawl(recorder)

    async def preview(self, count: int) -> Preview:
        """Return the first `count` pages that the crawl would fetch.

        Only robots.txt is requested, and only a temporary copy of the store is written.
        """
        from minicrawl.crawl.start.preview import DryRun

        await check_reach(self.settings.network, self._tell, is_given=bool(self._transport))
        self._beginning.check(self.settings, SystemClock.today())
        seeds, store = self._seeds_at_hand(), self.settings.storing.store
        with scratch("preview") as folder:
            copy = folder / "crawl.db"
            if store.exists() and not self._beginning.fresh:
                copy_store(store, copy)
            async with (
                opened_crawl(self._agree, copy, seeds) as recorder,
                self._network(recorder) as (gate, web_access),
            ):
                dry_run = DryRun(self.settings, recorder, web_access, gate, SystemClock())
                return await dry_run.preview(count)

    async def _crawl(self, recorder: Recorder) -> Reason:
        clock, storing = SystemClock(), self.settings.storing
        proves = isinstance(self.settings.budget.until, GuaranteedShare)
        self._meter = meter = ProgressMeter(recorder, clock)
        async with (
            self._network(recorder) as (gate, pool),
            with_cookies(pool, self.settings, clock) as web_access,
            browsers_for(self.settings, recorder) as attach_browsers,
            kept_fresh(storing, recorder, clock, proves=proves),
        ):
            steps = StepClock() if self.settings.order.deterministic else clock
            crawler = Crawler(self.settings, recorder, web_access, gate, steps, self._tell)
            crawler.context.hooks = self._hooks
            attach_browsers(crawler)
            self._crawler = crawler
            # `stop` may have been called while the store was opened, before there was a crawler to
            # stop.
            if self._is_stopped:
                crawler.stop()
            elif (self.settings.budget.pages or 0) >= LONG:
                pool.start()
            workers = worker_count(self.settings.network)
            self.steering = steering = CrawlSteering(crawler, pool, workers, meter)
            self.subscribe(steering.hear, steering.hears)
            async with listening(storing.store, steering.handle, steering.warn):
                reason = await crawler.run()
                await self._check_links(crawler)
                return reason

    async def _check_links(self, crawler: Crawler) -> None:
        """Request linked URLs that are not crawled, if the settings say so."""
        asks = self.settings.asks_beside or self.settings.order.refresh
        if asks and not (crawler.is_stopped or self._is_aside):
            from minicrawl.checking.links import check_links, due_checks

            if not (self.settings.asks_beside or due_checks(crawler.context)):
                return
            if not await crawler.attend(check_links(crawler)):
                self._tell(Warned(text=_NOT_ALL_ASKED))

    @asynccontextmanager
    async def _network(self, recorder: Recorder) -> AsyncIterator[tuple[ScopeGate, WorkerPool]]:
        """Yield the scope gate and the web access of the crawl.

        Seeds that are private addresses are trusted.
        """
        settings, hooks, seeds = self.settings, self._hooks, recorder.seeds
        config = WorkerConfig.of(
            settings,
            trusted_among(seeds.urls()),
            archive_folder(settings.storing.store) if recorder.keeping else None,
            with_bodies=hooks.on_page is not None or hooks.scorer is not None,
            logins=self._beginning.logins(settings.access, seeds.urls()),
        )
        accept = hooks.may_fetch if hooks.filters else None
        workers = worker_count(settings.network)
        async with open_web_access(config, workers, self._transport) as web_access:
            gate = gate_for(recorder, settings.scope, accept)
            for text in () if self._transport else limits(settings, gate, seeds.urls()):
                self._tell(Noted(text=text))
            for text in exposed_keys(settings):
                self._tell(Warned(text=text))
            yield gate, web_access

    def _agree(self, store: StoreWriter) -> Settings:
        """Return the settings for this store, which keeps them; raise if the store refuses them."""
        loaded = resumed_settings(self._given, store.connection)
        if lost := told_not_inherited(loaded, store.connection):
            self._tell(Warned(text=lost))
        refuse_scorers(loaded.settings, in_python=self._hooks.scorer is not None)
        self.settings = self._shard.agree(store, loaded)
        refuse_what_varies(self.settings)
        return self.settings

    def _seeds_at_hand(self) -> Iterator[ResolvedUrl]:
        """Return the seeds. Raise UsageError before a store is made if there are none."""
        seeds = _until(lambda: self._is_stopped, self._beginning.seeds)
        # The first seed is read now: without any, the caller gets an error before a store is made.
        # The others are read as they are endowed, since a list may be larger than the memory.
        for first in seeds:
            resolved = self._beginning.resolved
            resolved(first, self.settings)
            return (resolved(seed, self.settings) for seed in chain((first,), seeds))
        if self._beginning.is_new(self.settings.storing.store):
            raise UsageError(NO_SEED)
        return iter(())


def _until(is_stopped: Callable[[], bool], seeds: Iterable[str]) -> Iterator[str]:
    for seed in seeds:
        if is_stopped():
            raise _StoppedAmongSeedsError
        yield seed
