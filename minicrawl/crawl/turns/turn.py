"""The turn of a page, and the decision what to do with it.

Laws: the decision is pure: it follows from facts about the page and its host, and changes nothing.
Reasons that refuse a page for good precede reasons that delay it, and a delay of its host precedes
the first request to the host.

turn        from the lease of a page until its end is settled; if a request fails and is retried,
            the turn is suspended between two leases
spelling    the URL as sent, where the server insists on the marks of a visit
chain       consecutive redirects that led to the page
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from minicrawl.crawl.hosts.pacing import RequestSlot
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.settle.outcome import NO_CHAIN, RedirectChain
from minicrawl.crawl.trap_detector import SkipReason
from minicrawl.frontier.url_table import NO_PAGES, PagesByUrl
from minicrawl.model import COORDINATOR, CrawlerId, PageId, ParsedPage

# ---------------------------------------------------------------- the turn


@dataclass(slots=True, eq=False)
class Turn:
    """State of a page while its turn is under way."""

    lease: Lease
    page: PageId
    host: int
    looked_up: PagesByUrl
    """Pages that its links lead to, as far as known."""
    tries: int = 0
    spelling: str | None = None
    chain: RedirectChain = NO_CHAIN
    introduced: Sequence[int] = ()
    """Linked pages that became known by this turn, before its end."""
    slot: RequestSlot | None = None
    parsed: ParsedPage | None = None
    """The parsed page, except while it waits on disk."""
    cost_s: float = 0.0
    """Processor time in seconds so far."""
    crawler: CrawlerId = COORDINATOR
    """Process that made its last request."""


class SuspendedTurns:
    """State of pages between two leases of one turn; most pages have none."""

    def __init__(self) -> None:
        self._tries: dict[int, tuple[int, str | None]] = {}
        self._chains: dict[int, RedirectChain] = {}
        self._cookies = 0
        """Number of responses that have set cookies."""
        self._cookies_then: dict[int, int] = {}
        """That number when each page was redirected to."""

    def __len__(self) -> int:
        return len(self._tries) + len(self._chains)

    def turn_of(self, lease: Lease) -> Turn:
        """Return the turn that this lease continues, or a new one."""
        page = lease.page
        tries, spelling = self._tries.get(page, (0, None))
        return Turn(lease, page, lease.host, NO_PAGES, tries, spelling)

    def suspend(self, turn: Turn) -> None:
        """Keep the state of a page that is requested again later."""
        self._tries[turn.page] = turn.tries, turn.spelling

    def redirected(self, page: PageId, chain: RedirectChain) -> None:
        """Note a chain of redirects that leads to the page."""
        known = self._chains.get(page)
        self._chains[page] = chain if known is None else known.joined(chain)
        self._cookies_then.setdefault(page, self._cookies)

    def cookies_came(self) -> None:
        """Count a response that set cookies: pages sent to a login before may be let in now."""
        self._cookies += 1

    def chain_to(self, page: PageId) -> RedirectChain:
        """Return all chains that lead to the page, merged."""
        chain = self._chains.get(page, NO_CHAIN)
        if chain.begun_at and self._cookies_then[page] < self._cookies:
            return chain._replace(sets_cookies=True)
        return chain

    def end(self, page: PageId) -> None:
        """Forget the page, whose turn is over."""
        self._tries.pop(page, None)
        self._chains.pop(page, None)
        self._cookies_then.pop(page, None)


# ---------------------------------------------------------------- the decision


class WaitsFor(Enum):
    """Reason why a page waits."""

    SHORTER_WAY = auto()  # from the seeds to the page
    ONBOARDING = auto()  # of its host
    ADDRESS = auto()  # room at the address of its host
    HOST = auto()  # the delay of its host, or a request to it that is under way
    SLOT = auto()  # room among the requests to hosts that do not answer


@dataclass(frozen=True, slots=True)
class Ask:
    """Request the page now."""


@dataclass(frozen=True, slots=True)
class LearnHost:
    """First locate the host of the page and request its robots.txt."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Give the page back for now."""

    waits_for: WaitsFor


@dataclass(frozen=True, slots=True)
class Close:
    """End the turn without a request."""

    aside: SkipReason


Decision = Ask | LearnHost | Wait | Close

ASK, LEARN_HOST = Ask(), LearnHost()
WAIT_FOR = {waits_for: Wait(waits_for) for waits_for in WaitsFor}


class HostFacts(NamedTuple):
    """Facts about a host that the decision needs."""

    is_onboarding: bool = False
    has_room: bool = False  # at its address
    may_be_asked: bool = False  # by its own clock
    has_slot: bool = False
    is_known: bool = False  # its address, robots.txt and sitemaps


NOT_LOOKED_AT = HostFacts()
"""For a page that is refused or too far, whatever its host is like."""


def decide(refusal: SkipReason | None, *, is_too_far: bool, host: HostFacts) -> Decision:
    """Decide what to do with a leased page; the first reason that applies counts."""
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
