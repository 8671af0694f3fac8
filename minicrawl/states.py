"""States of pages, one row each: all that the crawl and its reports know about a state.

    TIMEOUT = (
        23,
        "no complete response in time",     what it means, in reports
        "a longer --timeout, or ...",       advice
        LinkVerdict.DEAD,                   what a person would find behind a link to such a page
        RetryPolicy(2, Pause()),            two requests; after each, the host pauses
        Contact.SILENT,                     what it says about the host
    )

A request that was refused or failed has the state to which that leads.
Stores keep the numbers, so they never change; everywhere else a state has its label, `timeout`.
To wait otherwise after a failure, change its row: nothing else knows about pauses, except
`Politeness.max_pause_s`, an hour, which is never exceeded.
"""

from enum import Enum, IntEnum
from math import inf
from typing import Any, NamedTuple


class LinkVerdict(IntEnum):
    """Verdict on a link: what a person would find behind it."""

    ALIVE = 0
    DEAD = 1
    BLOCKED = 2
    FORBIDDEN = 3
    UNCHECKED = 4

    @property
    def label(self) -> str:
        """Name shown and exported."""
        return self.name.lower()


class Contact(Enum):
    """Verdict of a failure on its host."""

    ANSWERED = "it answered"
    SILENT = "no answer, and a connection may have been held for long"
    BROKEN = "no answer, and no connection is held"
    NONE = "nothing: the failure was the crawl's own"


class Pause(NamedTuple):
    """Pause of a host after a failure: as long as the host asks for, or doubled by each strike."""

    first_s: float = 1.0
    longest_s: float = inf
    """Limit of the doubling; what a host asks for is limited by `Politeness.max_pause_s` alone."""


_MOST_DOUBLINGS = 16


class RetryPolicy(NamedTuple):
    """Number of requests before a page is given up, and the pause of its host after each."""

    tries: int
    pause: Pause | None = None
    """None if the failure is final: it says nothing about other pages of the host."""
    is_strike: bool = True
    """True if a failure with a pause counts against the host."""

    def pause_s(self, strikes: int, asked_s: float | None = None) -> float:
        """Return the pause after so many strikes; `asked_s` is the Retry-After of the response."""
        if self.pause is None:
            return 0.0
        doubled_s = self.pause.first_s * 2 ** min(strikes - 1, _MOST_DOUBLINGS)
        return asked_s or min(doubled_s, self.pause.longest_s)


class StateRow(NamedTuple):
    means: str = "it waits"
    helps: str = ""
    verdict: LinkVerdict = LinkVerdict.UNCHECKED
    retry: RetryPolicy | None = None
    """None unless it is a failure."""
    contact: Contact = Contact.ANSWERED
    limit: str = ""
    """Option with the limit that left the page unread; another value would have read it."""


_LATER = "run the crawl again after an hour"
_SLOWER = f"a longer --delay, or {_LATER}"
_BY_OWNER, _DETAIL = "only the server's owner can fix it", "see the detail"
_LIMIT = "the detail has the limit"
_ALIVE, _DEAD, _BLOCKED, _FORBIDDEN, _UNCHECKED = LinkVerdict
_ANSWERED, _SILENT, _BROKEN, _NONE = Contact
_ONCE = RetryPolicy(1)


class State(IntEnum):
    """State of a page: waiting, or the result of its last request."""

    row: StateRow

    def __new__(cls, number: int, *facts: Any) -> "State":
        """Make a member. Later calls have only the number, and `Enum` looks the member up."""
        state = int.__new__(cls, number)
        state._value_, state.row = number, StateRow(*facts)
        return state

    UNREAD = 0
    FETCHED = 1, "it was read", "", _ALIVE
    MOVED = 2, "it redirects to", "", _ALIVE
    CANONICAL = 3, "its canonical URL is", "", _ALIVE
    ALIAS = 4, "it has the same content as", "", _ALIVE
    TWIN = 5, "it was not requested, because by its URL it is the same as", "", _ALIVE
    FOREIGN = 6, "another shard of the crawl reads it", "", _UNCHECKED

    ROBOTS = 10, "robots.txt forbids it or is not available", "the owner may change it", _FORBIDDEN
    SCOPE = (
        11,
        "outside the scope: ranked, but not fetched",
        "a wider --scope or --allow, a narrower --deny",
        _UNCHECKED,
    )
    DEPTH = (
        12,
        "too many links away from the seeds",
        "a larger --max-depth",
        _UNCHECKED,
        None,
        _ANSWERED,
        "--max-depth",
    )
    HOST_BUDGET = (
        13,
        "its host has reached --per-host-pages",
        "a larger --per-host-pages",
        _UNCHECKED,
        None,
        _ANSWERED,
        "--per-host-pages",
    )
    # Only in stores of earlier versions.
    FOCUS = 18, "off focus, in a crawl of an older version", "resume the crawl", _UNCHECKED
    ADDRESS = (
        14,
        "the address is not public, or the port is not one of the web",
        "--allow-private, if the address is yours",
        _DEAD,
    )
    TYPE = 15, "of a type that is not read", "--types, if its links matter", _UNCHECKED
    TRAP = (
        16,
        "probably a trap: endless similar pages",
        _LIMIT,
        _UNCHECKED,
        None,
        _ANSWERED,
        "--barren-pages",
    )
    ALLOWANCE = (
        17,
        "its host or site has used up its quota",
        _LIMIT,
        _UNCHECKED,
        None,
        _ANSWERED,
        "--site-pages",
    )

    DNS = (
        20,
        "the host name has no address",
        f"check the spelling and the network, or {_LATER}",
        _DEAD,
        RetryPolicy(2, Pause()),
        _SILENT,
    )
    CONNECT = (
        21,
        "the host does not accept connections",
        _LATER,
        _DEAD,
        RetryPolicy(3, Pause()),
        _SILENT,
    )
    PROXY = (
        37,
        "the proxy is down or refuses",
        "see the detail, repair the proxy",
        _UNCHECKED,
        RetryPolicy(3, Pause(10.0), is_strike=False),
        _BROKEN,
    )  # the host may be fine
    TLS = 22, "bad certificate or handshake", _DETAIL, _DEAD, RetryPolicy(1, Pause()), _BROKEN
    TIMEOUT = (
        23,
        "no complete response in time",
        f"a longer --timeout, or {_LATER}",
        _DEAD,
        RetryPolicy(2, Pause()),
        _SILENT,
    )
    RESET = (
        24,
        "the connection ended before the response",
        _SLOWER,
        _DEAD,
        RetryPolicy(3, Pause()),
        _BROKEN,
    )
    PROTOCOL = 25, "the response is not HTTP", _DETAIL, _DEAD, _ONCE, _BROKEN
    ENCODING = 26, "the body cannot be decoded", _BY_OWNER, _DEAD, _ONCE
    TOO_LARGE = 27, "far too large", _DETAIL, _DEAD, _ONCE
    CROWDED = (
        35,
        "too many large bodies at once",
        "a smaller --concurrency",
        _UNCHECKED,
        RetryPolicy(3),
    )
    THROTTLED = 28, "429: too many requests", _SLOWER, _BLOCKED, RetryPolicy(5, Pause())
    SERVER_ERROR = 29, "5xx: the server has a problem", _LATER, _DEAD, RetryPolicy(3, Pause())
    NOT_FOUND = 30, "404, 410: there is no such page", "nothing: old links are normal", _DEAD, _ONCE
    CLIENT_ERROR = 31, "any other 4xx, such as 403", "set --contact; --auth for 401", _DEAD, _ONCE
    BAD_STATUS = 32, "a status that makes no sense here", _BY_OWNER, _DEAD, _ONCE
    BAD_REDIRECT = 33, "a redirect to nowhere, or too many", _DETAIL, _DEAD, _ONCE
    # Only of robots.txt: an interrupted page is always requested again.
    INTERRUPTED = (
        36,
        "minicrawl ended the request for another one",
        "nothing: it is retried",
        _UNCHECKED,
        _ONCE,
        _NONE,
    )
    LOST = (
        34,
        "the worker process ended",
        "check that there is enough memory",
        _UNCHECKED,
        RetryPolicy(2),
        _NONE,
    )

    @property
    def label(self) -> str:
        """Name shown and exported."""
        return self.name.lower().replace("_", "-")

    @property
    def was_read(self) -> bool:
        """True if the body was received at least once."""
        return self in READ_STATES

    @property
    def is_failure(self) -> bool:
        """True if every attempt failed."""
        return self >= State.DNS

    @property
    def is_dead_end(self) -> bool:
        """True if a link to the page is broken for an outside visitor."""
        return self.is_failure or self is State.ADDRESS

    @property
    def outcome(self) -> str:
        """Outcome that the store records for a failed or refused request."""
        return f"{'failed' if self.is_failure else 'refused'}:{self.label}"

    @classmethod
    def labelled(cls, label: str) -> "State":
        """Return the state with this label."""
        return cls[label.upper().replace("-", "_")]


READ_STATES = (State.FETCHED, State.CANONICAL, State.ALIAS)
"""States of pages whose body was received."""

STANDS_FOR_ANOTHER = (State.MOVED, State.CANONICAL, State.ALIAS, State.TWIN)
"""States of pages that pass all their cash on to one other page."""

FAILURES = tuple(state for state in State if state.is_failure)
REFUSALS = tuple(state for state in State if State.ROBOTS <= state < State.DNS)

PASSING = tuple(state for state in FAILURES if state.row.retry and state.row.retry.pause)
"""States of pages that failed for a temporary reason."""

CUT = tuple(state for state in REFUSALS if state.row.limit)
"""States of pages that a limit left unread. Scope, types and robots.txt say which pages are wanted,
these limits only how many.
"""

OPEN = (
    State.TYPE,
    State.SERVER_ERROR,
    State.CLIENT_ERROR,
    State.BAD_STATUS,
    State.BAD_REDIRECT,
)
"""States of pages whose last response may lead to another verdict."""

READABLE = (State.UNREAD, *READ_STATES, *PASSING, *CUT)
"""States of pages that were read or could have been: no rule forbids them, and they are pages."""


def policy_of(kind: State) -> RetryPolicy:
    policy = kind.row.retry
    assert policy is not None  # each failure has one
    return policy
