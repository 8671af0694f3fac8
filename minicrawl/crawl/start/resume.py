"""Pages that were put aside wait again when what put them aside holds no more.

What the user wants otherwise than in the last run is said, with the pages that wait again for it.

Law: a page that an earlier run refused waits again only when the reason is gone: what was out of
scope, when the user widens the scope; what was trapped, when a limit of traps is another; what
robots.txt forbade, when its answer has expired or counts no more; what failed for a reason that
passes, when the last run is an hour ago.

The settings of a crawl that goes on: the store keeps those that define it.

Laws: what is given now counts before what the store keeps, and that before the defaults. What was
given is committed before anything is asked for, so that what was forbidden survives a kill.
"""

from collections.abc import Iterator, Mapping, Set

import numpy as np

from minicrawl.config import Loaded, Settings
from minicrawl.config.setting import SCOPE, TRAPS
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, KEPT
from minicrawl.config.writing import as_kept, as_text, plain
from minicrawl.crawl.hosts.politeness import remaining_s
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.model import READ_STATES, State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.store import tables
from minicrawl.store.records import Batch
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.writer import Store
from minicrawl.web.robots.rules import ANSWER_VALID_S


def resumed(given: Loaded, connection: tables.Connection) -> Loaded:
    """With what the store keeps; a value that cannot be read is refused, unless another counts."""
    path = given.settings.storing.store
    with reporting_damage(path):
        kept = tables.settings(connection)
    return given.resumed(from_store(path, kept))


def keep(store: Store, loaded: Loaded) -> None:
    """Commit what the next run will go on with."""
    counters, kept = tables.counters(store.connection), as_kept(loaded)
    if counters.get(tables.SETTINGS) != kept:
        store.commit(Batch(counters=counters | {tables.SETTINGS: kept}))


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
_ALLOW_PRIVATE = BY_NAME["allow-private"]
_OF_SCOPE, _OF_TRAPS = (
    frozenset(setting.name for setting in KEPT if setting.section is section)
    for section in (SCOPE, TRAPS)
)
LAST_AT = "last_at"  # a counter: until when the last run went on


def reopen(recorder: Recorder, gate: ScopeGate, settings: Settings, today: float) -> list[str]:
    """Let them wait; says which settings are new, and how many pages wait again."""
    before, wishes = _wishes_before(recorder), _wishes(settings)
    new = {name for name, wish in wishes.items() if name not in before or before[name] != wish}
    wanted = set(_wanted(recorder, gate, settings, new))
    passed = set(_passed(recorder, today)) - wanted
    pages = sorted(wanted | passed)
    for start in range(0, len(pages), _AT_ONCE):
        recorder.settle(Step(StepKind.REOPEN, spending=Spending(pages[start : start + _AT_ONCE])))
    recorder.counters[tables.WISHES] = wishes
    return list(_lines(before, wishes, len(wanted), len(passed)))


def _wishes(settings: Settings) -> dict[str, object]:
    """By the settings' names, as JSON gives them back."""
    return {setting.name: plain(settings, setting) for setting in (*KEPT, _ALLOW_PRIVATE)}


def _wishes_before(recorder: Recorder) -> dict[str, object]:
    """An earlier minicrawl wrote the names of fields, and false where nothing was said."""
    found = recorder.counters.get(tables.WISHES)
    if not isinstance(found, dict):
        return {}
    return {n.replace("_", "-"): wish for n, wish in found.items() if n != "allow_private" or wish}


def _lines(
    before: Mapping[str, object], wishes: Mapping[str, object], wanted: int, passed: int
) -> Iterator[str]:
    changes = ", ".join(
        f"{name} {as_text(wish)} (was {as_text(before[name])})"
        for name, wish in wishes.items()
        if name in before and before[name] != wish
    )
    if changes:
        yield f"{changes}: {_waiting(wanted)}" if wanted else changes
    elif wanted:  # an earlier minicrawl did not say all that it wanted
        passed += wanted
    if passed:
        yield _waiting(passed, " put aside earlier")


def _waiting(pages: int, which: str = "") -> str:
    return f"1 page{which} waits again" if pages == 1 else f"{pages:,} pages{which} wait again"


def _wanted(
    recorder: Recorder, gate: ScopeGate, settings: Settings, new: Set[str]
) -> Iterator[int]:
    """Pages that the user refused, and does no more."""
    if new & _OF_SCOPE:
        yield from _let_pass(recorder, gate)
    if new & _OF_TRAPS:
        yield from _pages(recorder, *TRAPPED)
    if _ALLOW_PRIVATE.name in new and settings.network.allow_private:
        yield from _pages(recorder, State.ADDRESS)
    if not settings.politeness.robots:
        yield from _pages(recorder, State.ROBOTS)


def _passed(recorder: Recorder, today: float) -> Iterator[int]:
    """Pages whose trouble may be over by now; a clock that went back tells nothing."""
    if abs(today - recorder.counted(LAST_AT)) > PASSES_AFTER_S:
        yield from _pages(recorder, *PASSING)
    for page in _pages(recorder, State.ROBOTS):
        if _has_expired(recorder, page, today):
            yield page


def _pages(recorder: Recorder, *states: State) -> list[int]:
    """Most stores have none: a glance at the counts spares a look at all pages."""
    frontier = recorder.frontier
    if not any(frontier.counts[state] for state in states):
        return []
    return np.flatnonzero(np.isin(frontier.states(), states)).tolist()


def _let_pass(recorder: Recorder, gate: ScopeGate) -> Iterator[int]:
    frontier = recorder.frontier
    refused = _pages(recorder, *BY_THE_USER)
    if refused:
        read = np.isin(frontier.states(), READ_STATES)
        hosts = np.frombuffer(frontier.host_of, dtype=np.uint32)[read]
        pages_of_host = np.bincount(hosts, minlength=len(frontier.origins)).tolist()
        for page, url in zip(refused, recorder.urls_of(refused), strict=True):
            if (
                gate.refusal(url, frontier.depth[page], pages_of_host[frontier.host_of[page]])
                is None
            ):
                yield page


def _has_expired(recorder: Recorder, page: int, today: float) -> bool:
    known = recorder.robots(recorder.frontier.host_of[page])
    return known is None or not remaining_s(known[1], today, ANSWER_VALID_S)
