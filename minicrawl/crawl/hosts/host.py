"""A host while a crawl runs: its rules, address, pauses and strikes. It goes with its pages.

Laws: each strike doubles the pause, up to the longest one, and a success halves the strikes; a
pause is never shortened by another one. A host with `max_strikes` is down: for `max_pause_s` its
pages are settled without a request. Origins of one host name, whatever their schemes and ports,
share connections and delays, but no strikes.

host    an origin: scheme, host name and port
strike  failure that counts against the host: it did not answer, or asked us to slow down
silent  host whose last request got no response, or that has not been contacted yet
"""

from dataclasses import dataclass, field
from math import inf

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.addresses import is_loopback
from minicrawl.crawl.hosts.crawl_pace import CrawlPace
from minicrawl.model import Failed, FetchResult, Response
from minicrawl.states import Contact, State, policy_of
from minicrawl.web.robots.rules import ANSWER_VALID_S, Rules


def remaining_s(until: float, today: float, longest_s: float) -> float:
    """Return the time left until a moment that was noted by the time of day.

    A moment further away than `longest_s` is never noted: the clock was turned, and 0 is returned.
    """
    left_s = until - today
    return left_s if 0 < left_s <= longest_s else 0.0


@dataclass(slots=True)
class NameState:
    """State that all origins of one host name share: to its operator they are one host."""

    name: str
    politeness: Politeness
    """The crawl's, or that of settings for this host."""
    free_at: float = 0.0  # end of the delay after the last request
    fair_at: float = 0.0  # end of the delay for the processor time that the host has cost
    in_use: int = 0  # requests under way
    being_read: int = 0  # large bodies; each counts as a request, so that few are in memory
    to_render: int = 0  # pages that wait for a browser; no page is requested meanwhile
    answers: bool = False  # the last request was answered
    answer_s: float | None = None  # mean time of its responses
    pace: CrawlPace | None = None  # its own, if limited
    hosts: list["Host"] = field(default_factory=list, repr=False)

    @property
    def was_requested(self) -> bool:
        """True after the first request to the host."""
        return self.free_at > 0.0

    def note_answer(self, elapsed_s: float, *, was_answered: bool) -> None:
        """Note the time of a response: slower ones count at once, quicker ones by half.

        A failure never makes the mean quicker.
        """
        before_s = self.answer_s
        if before_s is None:
            self.answer_s = elapsed_s if was_answered else None
        elif was_answered or elapsed_s > before_s:
            self.answer_s = max(elapsed_s, (before_s + elapsed_s) / 2)


@dataclass(slots=True, eq=False)
class Host:
    """One host. Times are of the monotonic clock, except `rules_until`."""

    id: int
    origin: str
    shared: NameState

    rules: Rules | None = None
    rules_until: float = 0.0  # by the time of day
    recalled: bool = False  # the state of earlier runs is loaded
    rules_evicted: bool = False  # only the store has its rules
    has_long_stored_rules: bool = False  # only the store has them, and parsing takes a while
    paused_until: float = 0.0
    down_until: float = 0.0
    trouble: State | None = None
    in_use: int = 0  # requests under way
    strikes: int = 0
    pages: int = 0  # read or being read
    credit: int = 0  # pages that have come, less dead ones and requests for pages under way
    address: str | None = None

    def keep_rules(self, rules: Rules, until: float) -> None:
        """Keep the rules of its robots.txt, which are valid until then."""
        self.rules, self.rules_until, self.rules_evicted = rules, until, False

    def has_current_rules(self, today: float) -> bool:
        """Return whether its rules are in memory and valid."""
        until = self.rules_until
        return self.rules is not None and (until == inf or 0 < until - today <= ANSWER_VALID_S)

    @property
    def delay_s(self) -> float:
        """The delay between two requests: the larger of ours and its Crawl-delay, capped."""
        politeness = self.shared.politeness
        wanted_s = self.rules.crawl_delay_s if self.rules is not None else None
        is_local = self.address is not None and is_loopback(self.address)
        return max(
            politeness.delay_after(self.shared.answer_s, is_local=is_local),
            min(wanted_s or 0.0, politeness.max_delay_s),
        )

    def delay_next(self, since: float) -> None:
        """Start the delay of the next request at this moment."""
        shared = self.shared
        shared.free_at = max(shared.free_at, since + self.delay_s)

    @property
    def ready_at(self) -> float:
        """Time when its pauses and delays are over."""
        shared = self.shared
        return max(self.paused_until, shared.free_at, shared.fair_at)

    def pause_until(self, moment: float) -> None:
        """Let no request start before this time."""
        self.paused_until = max(self.paused_until, moment)

    def move_to(self, address: str) -> None:
        """Set its address. A request under way stays counted at the former one."""
        if not self.in_use:
            self.address = address

    def hear(self, fetched: FetchResult) -> None:
        """Note whether the host answers: silent hosts may hold few connections."""
        kind = fetched.kind if isinstance(fetched, Failed) else None
        if isinstance(fetched, Response):
            kind = fetched.cut
        self.shared.note_answer(fetched.elapsed_s, was_answered=kind is None)
        contact = Contact.ANSWERED if kind is None else kind.row.contact
        # Other failures hold no connection, so that the host stays silent or not.
        if contact in (Contact.ANSWERED, Contact.SILENT):
            self.shared.answers = contact is Contact.ANSWERED

    def end_page(self, fetched: FetchResult) -> None:
        """Note the end of a request for a page, which took one off the credit when it began."""
        if not isinstance(fetched, Failed):
            self.credit += 2
        elif fetched.kind is not State.NOT_FOUND:  # says nothing of other pages
            self.credit += 1

    def fall_silent(self) -> None:
        """Note that a request was cancelled to free its slot.

        Otherwise the host would get the next free one, and hosts that answer would wait behind it
        again.
        """
        self.shared.answers = False

    def strike(self, now: float, kind: State, asked_s: float | None) -> None:
        """Count a failure: pause as long as asked, or else longer than after the last strike."""
        self.strikes += 1
        politeness = self.shared.politeness
        pause_s = policy_of(kind).pause_s(self.strikes, asked_s)
        self.pause_until(now + min(pause_s, politeness.max_pause_s))
        if self.strikes >= politeness.max_strikes:
            self.mark_down(kind, now + politeness.max_pause_s)

    def mark_down(self, trouble: State, until: float) -> None:
        """Mark the host as down: until then, its pages are settled without a request."""
        self.trouble, self.down_until = trouble, until

    def recover(self) -> None:
        """Note a request without a strike."""
        self.strikes //= 2
        self.trouble = None

    def trouble_at(self, now: float) -> State | None:
        """Return why the host is down, or None."""
        return self.trouble if now < self.down_until else None
