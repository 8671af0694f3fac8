"""Resuming a crawl: its settings, and the pages that wait again.

The store keeps the settings that define the crawl. The user is told which of them differ from
those of the last run, and how many pages wait again.

Laws: settings that are given now override those in the store, and these override the defaults.
They are committed before the first request, so that the user's restrictions survive a kill.

A page that an earlier run refused waits again only when the reason is gone:

    out of scope          the scope admits it now, maybe by a new seed
    type not read         this type is read now
    private address       --allow-private is given now
    trapped               a limit of traps has changed
    robots.txt            the response has expired, robots.txt is ignored, or --obey-usage changed
    unreachable host      the next run begins: that was a state of the host, not of its pages
    passing failure       the last run ended more than an hour ago

With --refresh, other pages that failed are requested again as well (`schedule.dead_targets`).
"""

from collections.abc import Iterator, Mapping

import numpy as np

from minicrawl.config import Settings
from minicrawl.config.host_settings import host_setting
from minicrawl.config.table import BY_NAME, STORED
from minicrawl.config.writing import as_text, plain
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.hosts.host import remaining_s
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.dead_targets import DEAD
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import PASSING, READ_STATES, State
from minicrawl.store import tables
from minicrawl.web.responses.types import NO_TYPE, WORDS, possible, types_of
from minicrawl.web.robots.rules import ANSWER_VALID_S

BY_THE_USER = (State.SCOPE, State.DEPTH, State.HOST_BUDGET, State.FOCUS)
TRAPPED = (State.TRAP, State.ALLOWANCE)
"""States of trapped pages. Other limits may admit them, until they meet the trap again."""
OF_HOSTS = (State.DNS, State.CONNECT, State.PROXY, State.TLS, State.ADDRESS)
"""States of pages whose hosts could not be named or reached: no request was sent."""
PASSES_AFTER_S = 3600.0
_REOPENED_AT_ONCE = 10_000
_TYPES = BY_NAME["types"]
_ALLOW_PRIVATE = BY_NAME["allow-private"]
_OBEY_USAGE = "obey-usage"
_SCOPE_NAMES, _TRAP_NAMES = (
    frozenset(setting.name for setting in STORED if setting.section.name == section)
    for section in ("scope", "traps")
)
LAST_AT = "last_at"  # a counter: end of the last run
FILTERED = "filtered"  # a counter: whether a Python program filters URLs
_SEEDS = "seeds"  # a counter: number of seeds


def reopen(
    recorder: Recorder,
    gate: ScopeGate,
    depths: DepthTracker | None,
    settings: Settings,
    today: float,
) -> list[str]:
    """Reopen pages whose reason to wait is gone; return notes on settings and these pages."""
    last = recorder.counters.get(tables.LAST_RUN_SETTINGS)
    # Older versions wrote field names, and false for no value.
    before = {
        name.replace("_", "-"): value
        for name, value in (last if isinstance(last, dict) else {}).items()
        if name != "allow_private" or value
    }
    # By name, as JSON represents them.
    after = {setting.name: plain(settings, setting) for setting in (*STORED, _ALLOW_PRIVATE)}
    new = {name for name, value in after.items() if name not in before or before[name] != value}
    if gate.has_filter or recorder.counters.get(FILTERED):
        new |= _SCOPE_NAMES  # a filter cannot be compared with an earlier one
    seeds = len(recorder.seeds.ids())
    has_more_seeds = recorder.counters.get(_SEEDS, seeds) != seeds
    recorder.counters[_SEEDS] = seeds
    admitted = set[int]()  # the user refused them before and does not refuse them now
    # Seeds widen the scope. Older versions could refuse pages off focus.
    if new & _SCOPE_NAMES or has_more_seeds or "focus-only" in before:
        admitted.update(in_scope_now(recorder, gate, depths))
    if new & _TRAP_NAMES:
        admitted.update(_pages(recorder, *TRAPPED))
    if _TYPES.name in new:
        admitted.update(_readable_now(recorder, gate, before, settings))
    if _ALLOW_PRIVATE.name in new and settings.network.allow_private:
        admitted.update(_pages(recorder, State.ADDRESS))
    rules = map(host_setting, settings.politeness.host_settings)
    frees_hosts = any(rule.name == "robots" for rule in rules)
    if not settings.politeness.robots or frees_hosts or _OBEY_USAGE in new:
        admitted.update(_pages(recorder, State.ROBOTS))
    passed = set(_passed(recorder, settings.order.refresh, today)) - admitted
    pages = sorted(admitted | passed)
    for start in range(0, len(pages), _REOPENED_AT_ONCE):
        block = Spending(pages[start : start + _REOPENED_AT_ONCE])
        recorder.apply_step(Step(StepKind.REOPEN, spending=block))
    recorder.counters[tables.LAST_RUN_SETTINGS] = after
    if gate.has_filter or FILTERED in recorder.counters:
        recorder.counters[FILTERED] = gate.has_filter
    return list(_lines(before, after, len(admitted), len(passed)))


def _lines(
    before: Mapping[str, object], after: Mapping[str, object], admitted: int, passed: int
) -> Iterator[str]:
    changes = ", ".join(
        f"{name} {as_text(value)} (was {as_text(before[name])})"
        for name, value in after.items()
        if name in before and before[name] != value
    )
    if changes:
        yield f"{changes}: {_waiting(admitted)}" if admitted else changes
    elif admitted:  # an older version did not store all settings
        passed += admitted
    if passed:
        yield _waiting(passed, " put aside earlier")


def _waiting(pages: int, which: str = "") -> str:
    return f"1 page{which} waits again" if pages == 1 else f"{pages:,} pages{which} wait again"


def _readable_now(
    recorder: Recorder, gate: ScopeGate, before: Mapping[str, object], settings: Settings
) -> Iterator[int]:
    """Yield pages that were refused for their type, and may have a type that is read now."""
    refused, depth = _pages(recorder, State.TYPE), recorder.frontier.urls.depth
    named = before.get(_TYPES.name, _TYPES.default)
    assert isinstance(named, list | tuple)
    added = types_of(settings.scope.types) & ~types_of(WORDS.keys() & named)
    if not added:
        return
    urls = recorder.pages.urls_of(refused)
    kinds = recorder.pages.refused_types(refused)
    for page, url, kind in zip(refused, urls, kinds, strict=True):
        may_be_one = kind is None or possible("" if kind == NO_TYPE else kind, url) & added
        if may_be_one and gate.refusal(url, 0, 0, is_seed=not depth[page]) is None:
            yield page


def _passed(recorder: Recorder, refresh: float, today: float) -> Iterator[int]:
    """Yield pages whose trouble may have passed.

    A clock that was turned back counts as time passed. With `refresh`, dead targets have turns of
    their own, but pages that were never requested wait in the order of all unread pages, if those
    have a share of the fetches.
    """
    passing: tuple[State, ...] = () if refresh else OF_HOSTS
    if not refresh and abs(today - recorder.counters.number(LAST_AT)) > PASSES_AFTER_S:
        passing = (*OF_HOSTS, *PASSING)
    dead = _pages(recorder, *DEAD) if refresh < 1 else []
    requested = recorder.pages.requested(dead)
    for page in dead:
        if recorder.frontier.state[page] in passing or page not in requested:
            yield page
    for page in _pages(recorder, State.ROBOTS):
        known = recorder.hosts.robots(recorder.frontier.urls.host_of[page])
        if known is None or not remaining_s(known[1], today, ANSWER_VALID_S):
            yield page


def _pages(recorder: Recorder, *states: State) -> list[int]:
    """Return the pages in these states. Counts spare a search in stores that have none."""
    frontier = recorder.frontier
    if not any(frontier.counts[state] for state in states):
        return []
    return np.flatnonzero(np.isin(frontier.states(), states)).tolist()


def in_scope_now(recorder: Recorder, gate: ScopeGate, depths: DepthTracker | None) -> Iterator[int]:
    """Yield pages that the scope or a limit refused, and that may be requested now."""
    frontier = recorder.frontier
    refused = _pages(recorder, *BY_THE_USER)
    if refused:
        read = np.isin(frontier.states(), READ_STATES)
        hosts = np.frombuffer(frontier.urls.host_of, dtype=np.uint32)[read]
        pages_of_host = np.bincount(hosts, minlength=len(frontier.urls.origins)).tolist()
        urls = recorder.pages.urls_at(refused)
        for page in refused:
            url = urls[page]
            pages = pages_of_host[frontier.urls.host_of[page]]
            depth = frontier.urls.depth[page]
            refusal = gate.refusal(url, depth, pages, is_seed=not depth)
            if refusal is None and not (depths and depths.is_too_far(page)):
                yield page
