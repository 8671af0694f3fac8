"""Steering: requests to a running crawl, handled between two turns of its loop.

Laws: steering breaks no promise of a crawl. A shorter delay never undercuts a Crawl-delay, and no
page is lost when workers are removed. All listeners are told of a change. Settings that the store
keeps are changed there as well. A report of the present state costs time in proportion to the
number of workers, and now and then some time for the importance of pages. Without a request,
steering costs nothing.
"""

import os
from collections import deque
from collections.abc import Mapping, Sequence
from typing import assert_never
from zlib import crc32

from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME, STORED
from minicrawl.config.writing import as_text, plain
from minicrawl.control import ControlRequest, Reply, Verb
from minicrawl.crawl.events import (
    KINDS,
    Asked,
    Delayed,
    Ended,
    Event,
    Noted,
    Settled,
    Steered,
    Warned,
)
from minicrawl.crawl.hosts.politeness import change_delays, change_pace
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.progress import ProgressMeter
from minicrawl.crawl.start.opening import share_of_endowment
from minicrawl.crawl.workers.pool import Activity, WorkerPool, worker_count
from minicrawl.model import CrawlerId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.store import tables
from minicrawl.web.urls import resolve_seed
from minicrawl.wording import counted

_NOTES_KEPT = 200
_ASKED_KEPT = 4096
_SHOWN_URLS = 3
_SHOWN_SETTINGS = (
    *("concurrency", "delay", "max-rate", "hours", "pages", "for", "bytes", "until"),
    *("continuous", "small-edge"),
)


class CrawlSteering:
    def __init__(
        self, crawler: Crawler, pool: WorkerPool, workers: int, meter: ProgressMeter
    ) -> None:
        """Set up; `workers` is the number of workers at the start."""
        self._crawler, self._pool, self._meter = crawler, pool, meter
        self._context, self._parts = crawler.context, crawler.parts
        self._workers = workers
        self._began = self._context.clock.today()
        self._last: Event | None = None
        self._askers: deque[tuple[int, CrawlerId]] = deque(maxlen=_ASKED_KEPT)
        """Processes that requested the last pages."""
        self._notes: deque[tuple[float, str]] = deque(maxlen=_NOTES_KEPT)
        """The last notes, with their times of day."""

    hears = tuple(kind for kind in KINDS if kind is not Asked)

    def hear(self, event: Event) -> None:
        self._last = event
        if isinstance(event, Settled | Delayed):
            if event.crawler is not None:
                self._askers.append((crc32(event.url.encode()), event.crawler))
        elif isinstance(event, Noted | Warned | Steered):
            self._notes.append((self._context.clock.today(), event.text))

    def warn(self, text: str) -> None:
        self._context.emit(Noted(text=text))

    async def handle(self, request: ControlRequest) -> Reply:
        """Handle a request. Return its result, or else the state of the crawl afterwards."""
        crawler = self._crawler
        match request.verb:
            case Verb.SHOW:
                pass
            case Verb.HOSTS | Verb.ASKERS as verb:
                if verb is Verb.HOSTS:
                    return {"hosts": self._hosts(request.hosts)}
                pages: dict[str, list[int]] = {}
                for page, asker in self._askers:
                    pages.setdefault(asker.name, []).append(page)
                return {"askers": pages}
            case Verb.PAUSE:
                crawler.pause()
                self._emit("paused")
            case Verb.RESUME:
                crawler.resume()
                self._emit("resumed")
            case Verb.STOP:
                crawler.stop()
                self._emit("stopping after the requests in flight")
            case Verb.SET:
                self.change(request.values or {})
            case Verb.ADD:
                await self._add(request.urls)
            case Verb.CHANGED:
                now, leases = self._context.clock.today(), self._parts.leases
                if leases.reads_again:  # their hosts state that these pages have changed by now
                    leases.refresh.stated((page, now) for page in request.pages)
            case _:
                assert_never(request.verb)
        return self.reply()

    def change(self, values: Mapping[str, object]) -> None:
        changed = {
            name: Given(value, name, " ").read_as(BY_NAME[name]) for name, value in values.items()
        }
        before, context = self._context.settings, self._context
        context.settings = after = before.with_values(changed)
        if "workers" in changed:
            self._workers = worker_count(after.network)
            self._pool.resize(self._workers)
        if after.politeness != before.politeness:
            change_delays(self._parts.hosts, after, context.clock.now())
            self._parts.slots.resize(after.politeness)
            self._parts.side_requests.count_idle()
        if {"max-rate", "hours"} & changed.keys():
            change_pace(self._parts.hosts, after.politeness, context.clock)
        if "small-edge" in changed:
            context.recorder.agree_on_terms(after.order)
        # For the next run, which must not report them as changed.
        counters = context.recorder.counters
        values = {row.name: plain(after, row) for row in STORED if row.name in changed}
        for counter in (tables.SETTINGS, tables.LAST_RUN_SETTINGS) if values else ():
            stored = counters.get(counter)
            counters[counter] = (stored if isinstance(stored, dict) else {}) | values
        counters[tables.MAXIMUM] = after.budget.pages
        changes = (
            f"{name} {as_text(plain(after, BY_NAME[name]))}"
            f" (was {as_text(plain(before, BY_NAME[name]))})"
            for name in changed
        )
        self._emit(", ".join(changes))

    async def _add(self, urls: Sequence[str]) -> None:
        strip_marks = self._context.settings.storing.strip_marks
        named = [resolve_seed(url, strip_marks=strip_marks) for url in urls]
        valid = {seed.url: seed for seed in named if seed is not None}
        recorder = self._context.recorder
        seeds = {url: seed for url, seed in valid.items() if recorder.shard.is_own(url)}
        if foreign := len(valid) - len(seeds):
            belong = counted(foreign, "URL belongs", "URLs belong")
            self._emit(f"{belong} to other shards, and cannot be added here")
        if not seeds:
            return
        originals = tuple((seed.url, seed.original) for seed in seeds.values() if seed.original)
        pages, *_ = await self._parts.poster.introduce(list(seeds), 0, originals)
        before = recorder.seeds.ids()
        new = sorted(set(pages.values()) - before)
        # The new seeds count as seeds for scope, depths and quotas.
        for url in seeds:
            self._context.gate.widen(url)
        depth = recorder.frontier.urls.depth
        for page in pages.values():
            self._parts.traps.vouch(page)
            if self._parts.depths is not None:
                self._parts.poster.reopen(self._parts.depths.begin_at(page))
            depth[page] = 0
        if new:
            endowment = self._context.settings.order.endowment
            units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
            step = Step(StepKind.ENDOWED, spending=Spending(new), amount=units)
            self._parts.poster.post(step)
        more = f" and {len(seeds) - _SHOWN_URLS:,} more" if len(seeds) > _SHOWN_URLS else ""
        self._emit(f"added {', '.join(list(seeds)[:_SHOWN_URLS])}{more}")

    def _emit(self, text: str) -> None:
        self._context.emit(
            Steered(
                text=text,
                is_paused=self._crawler.is_paused,
                is_stopping=self._crawler.is_stopped,
                pages=self._context.settings.budget.pages,
            )
        )
        self._context.wake()

    def reply(self) -> Reply:
        settings = self._context.settings
        is_stopping, is_paused = self._crawler.is_stopped, self._crawler.is_paused
        return {
            "pid": os.getpid(),
            "state": "stopping" if is_stopping else "paused" if is_paused else "running",
            "began": self._began,
            "in_flight": self._crawler.turns,
            "workers": self._workers,
            "importance_gathered": self._meter.read().importance_gathered,
            "settings": {name: plain(settings, BY_NAME[name]) for name in _SHOWN_SETTINGS},
            "crawlers": self._crawlers(),
            "last_event": self._last_event(),
            "notes": list(self._notes),
        }

    def _last_event(self) -> str:
        match self._last:
            case Settled(url=url, state=state):
                return f"{state.label}: {url}"
            case Delayed(url=url, detail=detail):
                return f"delayed: {url} {detail}"
            case Noted(text=text) | Warned(text=text) | Steered(text=text):
                return text
            case Ended(reason=reason):
                return f"ended: {reason}"
        return ""

    def _crawlers(self) -> list[Reply]:
        crawlers = [_described("coordinator", os.getpid(), "ready", self._pool.activity)]
        for number, worker in self._pool.processes():
            phase = "ready" if worker.has_started else "starting"
            phase = "ending" if worker.is_over else phase
            crawlers.append(_described(f"worker {number}", worker.pid, phase, worker.activity))
        renderer = self._context.renderer
        for number, slot in enumerate(renderer.pool.slots if renderer else (), 1):
            phase = "starting" if slot.pid is None and slot.activity.under_way else "ready"
            if slot.pid is not None or slot.activity.begun:
                name = f"browser {number}"
                crawlers.append(_described(name, slot.pid, phase, slot.activity, is_tree=True))
        return crawlers

    def _hosts(self, hosts: Sequence[int]) -> list[tuple[int, int, float]]:
        """Return id, requests under way and seconds to wait of each host contacted before."""
        known, now = self._parts.hosts, self._context.clock.now()
        contacted = [known[host_id] for host_id in hosts if host_id in known]
        return [(host.id, host.in_use, max(host.ready_at - now, 0.0)) for host in contacted]


def _described(
    name: str, pid: int | None, phase: str, activity: Activity, *, is_tree: bool = False
) -> Reply:
    """Describe a process. With `is_tree`, the processes that it started do its work."""
    doing, since = activity.last
    return {
        "name": name,
        "pid": pid,
        "is_tree": is_tree,
        "phase": phase,
        "begun": activity.begun,
        "under_way": len(activity.under_way),
        "doing": doing,
        "since": since,
    }
