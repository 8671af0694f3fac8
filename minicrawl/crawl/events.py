"""What the crawl tells whoever listens: plain values, one class for each kind of news."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from minicrawl.model import State


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """A request failed; the page will be asked for again."""

    url: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something that the user may want to know: a Crawl-delay that was capped, a host down."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that only the user can mend: said to those who want to hear of errors only, too."""

    text: str


class Reason(StrEnum):
    """Why a crawl ended."""

    BUDGET = "the budget is spent"
    EMPTY = "no page is left to fetch"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The crawl is over; all of it is safe."""

    reason: Reason


Event = Asked | Settled | Delayed | Noted | Warned | Ended
Listener = Callable[[Event], None]


def nobody_listens(_event: Event) -> None:
    """For those who do not care."""
