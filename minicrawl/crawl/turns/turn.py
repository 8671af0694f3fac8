"""The state of a turn: of a page from its lease until its end is settled.

If a request fails and is retried, the turn is suspended between two leases; few pages are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.slots import RequestSlot
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.settle.outcome import NO_CHAIN, RedirectChain
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.model import COORDINATOR, CrawlerId, OwnRequest, PageId, ParsedPage
from minicrawl.web.urls import posted_to


@dataclass(slots=True, eq=False)
class Turn:
    lease: Lease
    page: PageId
    host: Host
    looked_up: PagesByUrl
    """Known pages that its links lead to, by URL."""
    tries: int = 0
    request_url: str | None = None
    """URL with session marks, if the server insists on them."""
    own: OwnRequest | None = None
    """Request that a program wants, if it is not a plain GET."""
    chain: RedirectChain = NO_CHAIN  # consecutive redirects that led to the page
    introduced: Sequence[int] = ()
    """Linked pages that became known by this turn, before its end."""
    slot: RequestSlot | None = None
    parsed: ParsedPage | None = None
    """The parsed page, except while it waits on disk."""
    cost_s: float = 0.0
    """Processor time in seconds so far."""
    crawler: CrawlerId = COORDINATOR
    """Process that made its last request."""

    @property
    def sent_url(self) -> str:
        if self.own is not None and self.own.method == "POST":
            return posted_to(self.lease.url)
        return self.request_url or self.lease.url


class SuspendedTurns:
    def __init__(self) -> None:
        self._tries: dict[int, tuple[int, str | None]] = {}
        self._chains: dict[int, tuple[RedirectChain, int]] = {}
        """Chain to each page, and the value of `_cookies` at the first redirect to it."""
        self._cookies = 0
        """Number of responses that have set cookies."""

    def __len__(self) -> int:
        return len(self._tries) + len(self._chains)

    def turn_of(self, lease: Lease, host: Host) -> Turn:
        """Return the turn that this lease of a page of the host continues, or a new one."""
        page = lease.page
        tries, request_url = self._tries.get(page, (0, None))
        return Turn(lease, page, host, NO_PAGES, tries, request_url)

    def suspend(self, turn: Turn) -> None:
        self._tries[turn.page] = turn.tries, turn.request_url

    def redirected(self, page: PageId, chain: RedirectChain) -> None:
        known, cookies_then = self._chains.get(page, (NO_CHAIN, self._cookies))
        self._chains[page] = known.joined(chain), cookies_then

    def cookies_came(self) -> None:
        """Count a response that set cookies: pages sent to a login before may be let in now."""
        self._cookies += 1

    def chain_to(self, page: PageId) -> RedirectChain:
        """Return all chains that lead to the page, merged."""
        chain, cookies_then = self._chains.get(page, (NO_CHAIN, 0))
        if chain.begun_at and cookies_then < self._cookies:
            return chain._replace(sets_cookies=True)
        return chain

    def end(self, page: PageId) -> None:
        self._tries.pop(page, None)
        self._chains.pop(page, None)
