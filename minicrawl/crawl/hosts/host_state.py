"""What is known of a host while a crawl runs: its rules, its address, its pauses and its strikes.

Laws: each strike doubles the pause, up to the longest one, and a success halves the strikes; a
pause is never cut short by another one. A host with `max_strikes` is down: for `max_pause_s` its
pages are settled without a request. Origins of one host name, whatever their schemes and ports,
share connections and delays, but no strikes.

host    an origin: a scheme, a host name and a port
strike  a failure that counts against the host: it did not answer, or asked us to slow down
silent  a host whose last request got no answer, or that has not been asked yet
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from minicrawl.config import Politeness
from minicrawl.model import Failed, FailureKind, FetchResult, Response, State
from minicrawl.web.robots.rules import ANSWER_VALID_S, Rules

FIRST_PAUSE_S = 1.0
_MOST_DOUBLINGS = 16
_SILENCE = frozenset((FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT))
"""A host that fails in this way may hold a connection for long."""
_NO_ANSWER = frozenset(
    (
        FailureKind.PROXY,
        FailureKind.TLS,
        FailureKind.RESET,
        FailureKind.PROTOCOL,
        FailureKind.LOST,
        FailureKind.INTERRUPTED,
    )
)
"""These are no answers, but they do not hold a connection either: the host stays what it was."""


def remaining_s(until: float, today: float, longest_s: float) -> float:
    """How long until a moment that was noted by the time of day.

    A moment further away than `longest_s` is never noted: then the clock was turned, and the moment
    means nothing.
    """
    left_s = until - today
    return left_s if 0 < left_s <= longest_s else 0.0


@dataclass(slots=True)
class NameState:
    """What all origins of one host name share: to the site's operator they are one host."""

    name: str
    free_at: float = 0.0  # when the delay after the last request is over
    fair_at: float = 0.0  # when it has waited for what it cost
    in_use: int = 0  # requests under way
    being_read: int = 0  # large bodies; each counts as a request, so that few are held in memory
    to_render: int = 0  # pages that wait for a browser: until one has it, no page is asked for
    answers: bool = False  # the last request was answered
    answer_s: float | None = None  # how long its answers take
    hosts: list[int] = field(default_factory=list)

    def takes_more(self, per_host: int) -> bool:
        """Whether one more request may be under way."""
        return self.in_use + self.being_read < per_host

    def note_answer(self, elapsed_s: float, *, was_answered: bool) -> None:
        """Slower answers count at once, quicker ones by half, and failures never as quicker."""
        before_s = self.answer_s
        if before_s is None:
            self.answer_s = elapsed_s if was_answered else None
        elif was_answered or elapsed_s > before_s:
            self.answer_s = max(elapsed_s, (before_s + elapsed_s) / 2)

    def delay_until(self, moment: float) -> None:
        """The next request starts no sooner."""
        self.free_at = max(self.free_at, moment)


@dataclass(slots=True)
class HostState:
    """What is known of one host. Times are of the clock that never jumps, but for rules."""

    shared: NameState

    rules: Rules | None = None
    rules_until: float = 0.0  # by the time of day
    recalled: bool = False  # what earlier runs knew was loaded
    rules_evicted: bool = False  # its rules are in the store alone
    has_long_stored_rules: bool = False  # so they are, and reading them takes a while
    paused_until: float = 0.0
    down_until: float = 0.0
    trouble: State | None = None
    in_use: int = 0  # requests under way
    strikes: int = 0
    pages: int = 0  # read or being read
    address: str | None = None

    # ------------------------------------------------------------ robots.txt

    def keep_rules(self, rules: Rules, until: float) -> None:
        """Its robots.txt says this, and the answer holds until then."""
        self.rules, self.rules_until, self.rules_evicted = rules, until, False

    def has_current_rules(self, today: float) -> bool:
        """Whether its rules are in memory and still hold."""
        until = self.rules_until
        return self.rules is not None and (
            until == inf or remaining_s(until, today, ANSWER_VALID_S) > 0
        )

    def evict_rules(self) -> None:
        """They are loaded from the store when they are needed again."""
        self.rules, self.rules_until, self.rules_evicted = None, 0.0, True

    def delay_s(self, politeness: Politeness) -> float:
        """The pause between two requests: the larger of ours and its Crawl-delay, capped."""
        wanted_s = self.rules.crawl_delay_s if self.rules is not None else None
        return max(
            politeness.delay_after(self.shared.answer_s),
            min(wanted_s or 0.0, politeness.max_delay_s),
        )

    # ------------------------------------------------------------ when it may be asked

    @property
    def ready_at(self) -> float:
        """When its pauses and delays are over."""
        shared = self.shared
        return max(self.paused_until, shared.free_at, shared.fair_at)

    def pause_until(self, moment: float) -> None:
        """No request starts before."""
        self.paused_until = max(self.paused_until, moment)

    def pause_while_down(self) -> None:
        """No request starts before it may be up again."""
        self.pause_until(self.down_until)

    def move_to(self, address: str) -> None:
        """Its address is known, or has changed; a request under way stays where it is counted."""
        if not self.in_use:
            self.address = address

    # ------------------------------------------------------------ what came of requests

    def hear(self, fetched: FetchResult) -> None:
        """Note whether it answers: silent hosts may hold few connections."""
        kind = fetched.kind if isinstance(fetched, Failed) else None
        if isinstance(fetched, Response):
            kind = fetched.cut
        self.shared.note_answer(fetched.elapsed_s, was_answered=kind is None)
        if kind not in _NO_ANSWER:
            self.shared.answers = kind not in _SILENCE

    def strike(
        self, now: float, kind: FailureKind, wait_s: float | None, politeness: Politeness
    ) -> None:
        """It failed: pause for as long as it asked, or else longer than after the last strike."""
        self.strikes += 1
        pause_s = wait_s or FIRST_PAUSE_S * 2 ** min(self.strikes - 1, _MOST_DOUBLINGS)
        self.pause_until(now + min(pause_s, politeness.max_pause_s))
        if self.strikes >= politeness.max_strikes:
            self.put_down(State.of(kind), now + politeness.max_pause_s)

    def put_down(self, trouble: State, until: float) -> None:
        """Until then its pages are settled without a request."""
        self.trouble, self.down_until = trouble, until

    def recover(self) -> None:
        """It answered as it should."""
        self.strikes //= 2
        self.trouble = None

    def trouble_at(self, now: float) -> State | None:
        """Why it is down, if it is."""
        return self.trouble if now < self.down_until else None
