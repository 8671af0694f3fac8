"""Events of a crawl: plain values, one class for each kind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from minicrawl.model import COORDINATOR, CrawlerId
from minicrawl.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request starts."""

    url: str
    cash: float  # of the page, in units


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The turn of a page ended."""

    url: str
    state: State
    detail: str = ""
    elapsed_s: float = 0.0
    crawler: CrawlerId | None = None  # process that sent the last request; None without a request
    status: int | None = None  # of the last response


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """A request failed; the page will be requested again."""

    url: str
    detail: str
    crawler: CrawlerId = COORDINATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Information for the user, such as a Crawl-delay that was capped."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Problem that only the user can solve. It is shown even with --quiet."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The user changed something while the crawl ran: the change, and the present state."""

    text: str
    is_paused: bool
    is_stopping: bool
    pages: int | None  # limit of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """Links outside the crawl are being checked, or the pages that name them."""

    done: int
    all: int
    noun: str = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converging:
    """The crawl is over, and its ranks are being computed."""

    done: float  # share of the work, from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Converged:
    """The computation of the ranks has ended; they are stored if they are good enough."""

    error_bound: float | None  # None if the ranks are not stored
    is_complete: bool


class Reason(StrEnum):
    """Reason why a crawl ended; for programs, in one `word`."""

    word: str

    def __new__(cls, text: str, word: str) -> "Reason":
        reason = str.__new__(cls, text)
        reason._value_, reason.word = text, word
        return reason

    BUDGET = "the budget is spent", "spent"
    GATHERED = "enough of the importance is gathered", "until"
    EMPTY = "no page is left to fetch", "complete"
    STOPPED = "stopped", "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The crawl is over, and everything is committed."""

    reason: Reason


Event = (
    Asked | Settled | Delayed | Noted | Warned | Steered | Ended | Checking | Converging | Converged
)
KINDS: tuple[type[Event], ...] = get_args(Event)
Listener = Callable[[Event], None]


class Listeners:
    """Listeners by kind of event. Most events are of two kinds, which have few listeners."""

    def __init__(self) -> None:
        self._of: dict[type[Event], list[Listener]] = {kind: [] for kind in KINDS}

    def add(self, listener: Listener, kinds: Iterable[type[Event]]) -> None:
        """Call the listener with events of these kinds."""
        for kind in kinds:
            self._of[kind].append(listener)

    def remove(self, listener: Listener) -> None:
        """Stop calling the listener."""
        for listeners in self._of.values():
            if listener in listeners:
                listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Call the listeners of this kind of event."""
        for listener in self._of[type(event)]:
            listener(event)


def nobody_listens(_event: Event) -> None:
    """Ignore all events."""
