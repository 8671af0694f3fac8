"""The turn of a page, and what to do with it.

Laws: the decision is pure: it follows from what is known of the page and of its host, and changes
nothing. What refuses a page for good comes before what delays it, and a delay of its host before
the first request to the host.

turn        from the lease of a page until its end is settled; where a request fails and is tried
            again, the turn is suspended between two leases
spelling    the URL as it is sent, where the server insists on the marks of a visit
chain       redirects in a row that led to the page
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from minicrawl.crawl.hosts.fairness import RequestSlot
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.settle.outcome import NO_CHAIN, RedirectChain
from minicrawl.crawl.traps.detector import Aside
from minicrawl.frontier.urls import NO_PAGES, PagesByUrl
from minicrawl.model import COORDINATOR, CrawlerId, PageId, ParsedPage

# ---------------------------------------------------------------- the turn


@dataclass(slots=True, eq=False)
class Turn:
    """All that is known of a page while it is under way."""

    lease: Lease
    page: PageId
    host: int
    looked_up: PagesByUrl
    """The pages that its links lead to, as far as they are known."""
    tries: int = 0
    spelling: str | None = None
    chain: RedirectChain = NO_CHAIN
    introduced: Sequence[int] = ()
    """Those of them that became known by this turn, before its end."""
    slot: RequestSlot | None = None
    parsed: ParsedPage | None = None
    """What the page says, but while that waits on disk."""
    cost_s: float = 0.0
    """The processor time that it has taken so far."""
    crawler: CrawlerId = COORDINATOR
    """The process that made its last request."""


class SuspendedTurns:
    """What is remembered of pages until their turns end; of most of them that is nothing."""

    def __init__(self) -> None:
        self._tries: dict[int, tuple[int, str | None]] = {}
        self._chains: dict[int, RedirectChain] = {}
        self._cookies = 0
        """How many answers have set cookies."""
        self._cookies_then: dict[int, int] = {}
        """How many had when a page was redirected to."""

    def __len__(self) -> int:
        return len(self._tries) + len(self._chains)

    def turn_of(self, lease: Lease) -> Turn:
        """The turn that this lease continues, or a new one."""
        page = lease.page
        tries, spelling = self._tries.get(page, (0, None))
        return Turn(lease, page, lease.host, NO_PAGES, tries, spelling)

    def suspend(self, turn: Turn) -> None:
        """The page is asked for again later."""
        self._tries[turn.page] = turn.tries, turn.spelling

    def redirected(self, page: PageId, chain: RedirectChain) -> None:
        """A chain of redirects leads to the page."""
        known = self._chains.get(page)
        self._chains[page] = chain if known is None else known.joined(chain)
        self._cookies_then.setdefault(page, self._cookies)

    def cookies_came(self) -> None:
        """An answer has set cookies: what was sent to a login before may be let in now."""
        self._cookies += 1

    def chain_to(self, page: PageId) -> RedirectChain:
        """All chains that lead to the page, as one."""
        chain = self._chains.get(page, NO_CHAIN)
        if chain.begun_at and self._cookies_then[page] < self._cookies:
            return chain._replace(sets_cookies=True)
        return chain

    def end(self, page: PageId) -> None:
        """Its turn is over: forget it."""
        self._tries.pop(page, None)
        self._chains.pop(page, None)
        self._cookies_then.pop(page, None)


# ---------------------------------------------------------------- the decision


class WaitsFor(Enum):
    """What a page waits for."""

    SHORTER_WAY = auto()  # from the seeds to the page
    ONBOARDING = auto()  # of its host
    ADDRESS = auto()  # room at the address of its host
    HOST = auto()  # the delay of its host, or a request to it that is under way
    SLOT = auto()  # room among the requests to hosts that do not answer


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for the page now."""


@dataclass(frozen=True, slots=True)
class LearnHost:
    """First learn where its host is, and what its robots.txt asks of us."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now."""

    waits_for: WaitsFor


@dataclass(frozen=True, slots=True)
class Close:
    """The page is not asked for."""

    aside: Aside


Decision = Ask | LearnHost | Wait | Close

ASK, LEARN_HOST = Ask(), LearnHost()
WAIT_FOR = {waits_for: Wait(waits_for) for waits_for in WaitsFor}


class HostFacts(NamedTuple):
    """What the decision needs to know of a host."""

    is_onboarding: bool = False
    has_room: bool = False  # at its address
    may_be_asked: bool = False  # by its own clock
    has_slot: bool = False
    is_known: bool = False  # its address, its robots.txt, its sitemaps


NOT_LOOKED_AT = HostFacts()
"""For a page that its host cannot help."""


def decide(refusal: Aside | None, *, is_too_far: bool, host: HostFacts) -> Decision:
    """What to do with a page that is leased; the first reason that holds counts."""
    if refusal is not None:
        return Close(refusal)
    waits_for = WaitsFor.SHORTER_WAY if is_too_far else _waits_for(host)
    if waits_for is not None:
        return WAIT_FOR[waits_for]
    return ASK if host.is_known else LEARN_HOST


def _waits_for(host: HostFacts) -> WaitsFor | None:
    if host.is_onboarding:
        return WaitsFor.ONBOARDING
    if not host.has_room:
        return WaitsFor.ADDRESS
    if not host.may_be_asked:
        return WaitsFor.HOST
    return None if host.has_slot else WaitsFor.SLOT
