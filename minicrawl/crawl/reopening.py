"""Pages that were put aside wait again when what put them aside holds no more.

Law: a page that an earlier run refused waits again only when the reason is gone: what was out of
scope, when the user widens the scope; what robots.txt forbade, when its answer has expired; what
failed for a reason that passes, when the last run is an hour ago.
"""

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from minicrawl.config import Settings
from minicrawl.crawl.gate import Gate
from minicrawl.crawl.keeper import Keeper
from minicrawl.crawl.politeness import remaining_s
from minicrawl.model import READ_STATES, State
from minicrawl.opic.journal import Kind, Spending, Step
from minicrawl.web.robots import ANSWER_HOLDS_S

BY_THE_USER = (State.SCOPE, State.DEPTH, State.HOST_BUDGET)
TRAPPED = (State.TRAP, State.ALLOWANCE)
"""Other limits may let them in; a crawl that still knows better puts them aside again."""
PASSING = (
    State.DNS,
    State.CONNECT,
    State.TLS,
    State.TIMEOUT,
    State.RESET,
    State.THROTTLED,
    State.SERVER_ERROR,
)
PASSES_AFTER_S = 3600.0
_AT_ONCE = 10_000
_WISHES = "wishes"  # a counter: what the last run was asked for
LAST_AT = "last_at"  # and another: until when it ran


def reopen(keeper: Keeper, gate: Gate, settings: Settings, today: float) -> int:
    """Let them wait; answers with how many."""
    pages = sorted(_due(keeper, gate, settings, today))
    for start in range(0, len(pages), _AT_ONCE):
        keeper.settle(Step(Kind.REOPEN, spending=Spending(pages[start : start + _AT_ONCE])))
    keeper.counters[_WISHES] = _wishes(settings)
    return len(pages)


def _wishes(settings: Settings) -> dict[str, object]:
    wishes = asdict(settings.scope) | asdict(settings.traps)
    wishes |= {
        "robots": settings.politeness.robots,
        "allow_private": settings.network.allow_private,
    }
    return {name: list(wish) if isinstance(wish, tuple) else wish for name, wish in wishes.items()}


def _due(keeper: Keeper, gate: Gate, settings: Settings, today: float) -> Iterator[int]:
    before, wishes = keeper.counters.get(_WISHES), _wishes(settings)
    if before != wishes:
        yield from _let_pass(keeper, gate)
        yield from _pages(keeper, *TRAPPED)
        if settings.network.allow_private:
            yield from _pages(keeper, State.ADDRESS)
    if (
        abs(today - keeper.counted(LAST_AT)) > PASSES_AFTER_S
    ):  # a clock that went back tells nothing
        yield from _pages(keeper, *PASSING)
    for page in _pages(keeper, State.ROBOTS):
        if not settings.politeness.robots or _has_expired(keeper, page, today):
            yield page


def _pages(keeper: Keeper, *states: State) -> list[int]:
    """Most stores have none: a glance at the counts spares a look at all pages."""
    frontier = keeper.frontier
    if not any(frontier.counts[state] for state in states):
        return []
    return np.flatnonzero(np.isin(frontier.states(), states)).tolist()


def _let_pass(keeper: Keeper, gate: Gate) -> Iterator[int]:
    frontier = keeper.frontier
    refused = _pages(keeper, *BY_THE_USER)
    if refused:
        read = np.isin(frontier.states(), READ_STATES)
        hosts = np.frombuffer(frontier.host_of, dtype=np.uint32)[read]
        pages_of_host = np.bincount(hosts, minlength=len(frontier.origins)).tolist()
        for page, url in zip(refused, keeper.urls_of(refused), strict=True):
            if (
                gate.refusal(url, frontier.depth[page], pages_of_host[frontier.host_of[page]])
                is None
            ):
                yield page


def _has_expired(keeper: Keeper, page: int, today: float) -> bool:
    known = keeper.robots(keeper.frontier.host_of[page])
    return known is None or not remaining_s(known[1], today, ANSWER_HOLDS_S)
