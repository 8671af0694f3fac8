"""The events of a crawl: plain values, one class for each kind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import get_args

from minicrawl.model import COORDINATOR, CrawlerId, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request starts."""

    url: str
    cash: float  # in units, what the page holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A page's turn ended."""

    url: str
    state: State
    detail: str = ""
    elapsed_s: float = 0.0
    crawler: CrawlerId | None = None  # that asked for it; None if nobody did


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """A request failed; the page will be asked for again."""

    url: str
    detail: str
    crawler: CrawlerId = COORDINATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something that the user may want to know, such as a Crawl-delay that was capped."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that only the user can mend. It is shown where only errors are shown, too."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The user changed something while the crawl ran: what, and what holds now."""

    text: str
    is_paused: bool
    is_stopping: bool
    pages: int | None  # of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Converging:
    """The crawl is over, and its ranks converge."""

    done: float  # a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Converged:
    """The ranks are kept beside the store."""

    error_bound: float | None  # none if they were broken off before they were worth keeping
    is_complete: bool


class Reason(StrEnum):
    """Why a crawl ended."""

    BUDGET = "the budget is spent"
    GATHERED = "enough of the importance is gathered"
    EMPTY = "no page is left to fetch"
    STOPPED = "stopped"

    @property
    def word(self) -> str:
        """The reason in a word, for programs."""
        return _WORDS[self]


_WORDS = {
    Reason.BUDGET: "spent",
    Reason.GATHERED: "until",
    Reason.EMPTY: "complete",
    Reason.STOPPED: "stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The crawl is over; all of it is safe."""

    reason: Reason


Event = Asked | Settled | Delayed | Noted | Warned | Steered | Ended | Converging | Converged
KINDS: tuple[type[Event], ...] = get_args(Event)
Listener = Callable[[Event], None]


class Listeners:
    """Who hears of which events. Most events are of two kinds, which few want to hear of."""

    def __init__(self) -> None:
        self._of: dict[type[Event], list[Listener]] = {kind: [] for kind in KINDS}

    def add(self, listener: Listener, kinds: Iterable[type[Event]]) -> None:
        """Call the listener with events of these kinds."""
        for kind in kinds:
            self._of[kind].append(listener)

    def remove(self, listener: Listener) -> None:
        """Call it no longer."""
        for listeners in self._of.values():
            if listener in listeners:
                listeners.remove(listener)

    def tell(self, event: Event) -> None:
        """Call those who want to hear of it."""
        for listener in self._of[type(event)]:
            listener(event)


def nobody_listens(_event: Event) -> None:
    """The listener that ignores all events."""
