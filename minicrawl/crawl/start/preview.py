"""Preview of a crawl: its first pages, and the wishes of their hosts.

Law: only robots.txt files are requested, no page. The caller gives a store that may be written to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import islice

from minicrawl.config import Network, Scope, Settings
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import hosts_of, resolve_targets
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.errors import UsageError
from minicrawl.fetch import opening as reaching
from minicrawl.model import Originals, PageId, State
from minicrawl.opic.money import UNIT
from minicrawl.ports import Clock, WebAccess
from minicrawl.web.robots import Rules
from minicrawl.web.urls import host

# ================================================================ reach
#
# Before the first request: reports how servers are reached and which limits hold, and refuses
# settings that cannot work, such as a broken proxy or a document type without a reader.

_FOLDERS_SHOWN = 5


def check_types(scope: Scope) -> None:
    """Check that the packages for all document types are installed; raises `UsageError`."""
    if "pdf" not in scope.types:
        return
    from minicrawl.web.documents import PDF_MISSING, can_read_pdf

    if not can_read_pdf():
        raise UsageError(PDF_MISSING)


async def check_reach(network: Network, tell: Listener, *, is_given: bool) -> None:
    """Check how servers are reached; raises `UsageError`.

    A transport that `is_given` by a Python program is not checked.
    """
    if is_given:
        return
    reach = await reaching.check(network)
    for text in reach.notes:
        tell(Noted(text=text))
    for text in reach.warnings:
        tell(Warned(text=text))


def limits(settings: Settings, gate: ScopeGate, seeds: Iterable[str]) -> Iterator[str]:
    """Yield notes on the limits of the scope and the pace that the user chose."""
    if found := gate.folders:
        more = f" and {len(found) - _FOLDERS_SHOWN:,} more" if len(found) > _FOLDERS_SHOWN else ""
        yield f"--scope prefix: only pages below {', '.join(found[:_FOLDERS_SHOWN])}{more}"
    polite = settings.politeness
    delay_s, apart_s = polite.delay_s, polite.address_delay_s
    if isinstance(delay_s, str) or delay_s >= apart_s:
        return
    if delay_s or not (resolve_targets(settings) or all(map(_is_of_this_machine, seeds))):
        yield (
            f"--delay {delay_s:g} s is less than --address-delay {apart_s:g} s, which holds: "
            "requests to one address are that far apart"
        )


def _is_of_this_machine(url: str) -> bool:
    name = host(url).strip("[]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


# ================================================================ preview

_LOOKS_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class FirstPage:
    """One of the first pages. With a `refusal` it is not requested."""

    url: str
    cash: float  # in units
    refusal: State | None


@dataclass(frozen=True, slots=True)
class FirstHost:
    """Host of such a page, and its robots.txt."""

    origin: str
    delay_s: float
    rules: Rules | None  # None without a response
    trouble: State | None


@dataclass(frozen=True, slots=True)
class Preview:
    """First pages of a crawl, their hosts, and notes for the user."""

    seeds: int
    known: int
    hosts: list[FirstHost]
    pages: list[FirstPage]
    limits: list[str]


class DryRun:
    """Goes through the first pages of a crawl without requesting them."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
    ) -> None:
        self._frontier, self._recorder, self._gate = recorder.frontier, recorder, gate
        self._queue = ORDERS[settings.order.strategy](recorder.frontier)
        self._hosts = hosts_of(settings, recorder.frontier.urls.origins, lambda _host: None, clock)
        self._clock, self._settings = clock, settings
        for pages, _ in recorder.pages.contents():
            for number, count in recorder.hosts.of_pages(pages):
                self._hosts[number].pages += count
        only_robots = replace(settings, scope=replace(settings.scope, sitemaps=False))
        side_requests = SideRequests(self._hosts, self._clock)
        self._onboarding = HostOnboarding(only_robots, recorder, web_access, gate, side_requests)
        self._room = asyncio.Semaphore(settings.politeness.per_address)

    async def preview(self, count: int) -> Preview:
        """Return the preview of the first `count` pages."""
        pages = list(islice(self._pages(), count))
        asked = [page for page in pages if self._gate_refuses(page) is None]
        hosts = list(dict.fromkeys(self._frontier.urls.host_of[page] for page in asked))
        waking = asyncio.create_task(self._wake())
        await asyncio.gather(*map(self._learn, hosts))
        waking.cancel()
        return Preview(
            len(self._recorder.seeds.ids()),
            len(self._frontier),
            list(map(self._first_host, hosts)),
            list(map(self._first_page, pages)),
            list(limits(self._settings, self._gate, self._recorder.seeds.urls())),
        )

    def _pages(self) -> Iterator[int]:
        """Yield pages host by host: the first of each host, then the second ones, and so on.

        This is the order of a crawl in which all delays are equal.
        """
        frontier, queue = self._frontier, self._queue
        queue.load()
        paused: list[int] = []
        while (page := queue.take()) is not None or paused:
            if page is None:
                while paused:
                    queue.resume(paused.pop())
            else:
                paused.append(frontier.urls.host_of[page])
                yield page

    async def _learn(self, host: int) -> None:
        async with self._room:
            if await self._onboarding.locate(host):
                await self._onboarding.learn(host, lambda _event: None, _no_sitemaps)

    async def _wake(self) -> None:
        """Resume hosts whose delays are over."""
        while True:
            self._hosts.wake(self._clock.now())
            await asyncio.sleep(_LOOKS_EVERY_S)

    def _gate_refuses(self, page: PageId) -> State | None:
        pages = self._hosts[self._frontier.urls.host_of[page]].pages
        url, depth = self._recorder.pages.url_of(page), self._frontier.urls.depth[page]
        return self._gate.refusal(url, depth, pages, is_seed=not depth)

    def _first_host(self, host: int) -> FirstHost:
        state = self._hosts[host]
        return FirstHost(
            self._frontier.urls.origins[host],
            state.delay_s(self._hosts.politeness),
            state.rules,
            state.trouble_at(self._clock.now()),
        )

    def _first_page(self, page: PageId) -> FirstPage:
        url, host = self._recorder.pages.url_of(page), self._frontier.urls.host_of[page]
        state = self._hosts[host]
        refusal = self._gate_refuses(page) or state.trouble_at(self._clock.now())
        rules = state.rules
        if refusal is None and rules is not None and not rules.allows(url):
            refusal = State.ROBOTS
        return FirstPage(url, self._frontier.ledger.cash(page) / UNIT, refusal)


async def _no_sitemaps(_pages: tuple[str, ...], _depth: int, _originals: Originals) -> float:
    """Do nothing: no sitemap is read."""
    return 0.0
