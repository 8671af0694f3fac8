"""Opens the store of a crawl: locked, checked, with its archive and its seeds.

Law: the crawl gets a consistent store, and an archive as of its last commit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from minicrawl.config import Loaded, Settings, Storing
from minicrawl.config.settings import told_ignored
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, KEPT, TABLE
from minicrawl.config.writing import as_kept, as_text, plain
from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.hosts.politeness import remaining_s
from minicrawl.crawl.schedule.dead_targets import DEAD
from minicrawl.crawl.schedule.orders import DistanceTracker
from minicrawl.crawl.scope_and_traps import ScopeGate
from minicrawl.crawl.settle.keeping import NOWHERE, ArchiveSinks, conceal_earlier
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.shards import WHOLE, ShardSetup
from minicrawl.errors import UsageError
from minicrawl.frontier.page_table import contradictions, load_frontier, verify
from minicrawl.model import PASSING, READ_STATES, State
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.store import tables
from minicrawl.store.reader import connect, reading, real_path
from minicrawl.store.records import Batch, StoreTerms, reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import SAFE, StoreWriter
from minicrawl.web.responses import NO_TYPE, WORDS, possible, types_of
from minicrawl.web.robots import ANSWER_VALID_S
from minicrawl.web.urls import ResolvedUrl

# ================================================================ settings
#
# Settings that a store keeps.


_OF_A_RUN = tuple(
    row
    for row in TABLE
    if not row.kept and row.section.name != "budget" and row.name not in ("store", "cluster")
)
"""Settings that each run has to be given, but for its limits and its store."""


def resumed_settings(given: Loaded, connection: tables.Connection) -> Loaded:
    """Return the settings, completed from the store.

    An unreadable stored value is refused, unless it is overridden.
    """
    path = given.settings.storing.store
    with reporting_damage(path):
        kept = tables.settings(connection)
    return given.resumed(from_store(path, kept))


def with_stored_settings(loaded: Loaded) -> Loaded:
    """Return the settings that a crawl would resume with, if the store exists."""
    store = loaded.settings.storing.store
    if not store.exists():
        return loaded
    with reading(store) as connection:
        return resumed_settings(loaded, connection)


def keep_settings(store: StoreWriter, loaded: Loaded) -> None:
    """Commit the settings that the next run resumes with, if they are consistent."""
    refuse_contradictions(loaded.settings)
    counters = tables.counters(store.connection)
    names = [row.name for row in _OF_A_RUN if loaded.is_given(row)]
    kept = {tables.SETTINGS: as_kept(loaded), tables.OF_LAST_RUN: names}
    if not all(counters.get(name) == value for name, value in kept.items()):
        store.commit(Batch(counters=counters | kept))


def told_not_inherited(loaded: Loaded, connection: tables.Connection) -> str:
    """Return the line that names all settings of the last run that this one lacks, or nothing."""
    names = tables.counters(connection).get(tables.OF_LAST_RUN)
    lost = [
        row.name
        for row in _OF_A_RUN
        if isinstance(names, list) and row.name in names and not loaded.is_given(row)
        if loaded.settings.value(row) == row.default  # an update sets some itself
    ]
    told, path = told_ignored(loaded.ignored.values()), loaded.settings.storing.store
    if lost:
        told = f"{f'{told};' if told else f'{path}:'} not kept from the last run: {', '.join(lost)}"
    return told


def resume_command(command: str, store: Path) -> dict[str, object]:
    """Return the command that resumes the crawl, and the folder it was given in."""
    place = {tables.BEGUN_IN: str(Path.cwd()), tables.BEGUN_AS: str(real_path(store))}
    return {tables.COMMAND: command, **place}


def refuse_contradictions(settings: Settings) -> None:
    """Refuse contradictory settings. In a resumed crawl, this includes those from the store."""
    refuse_scorers(settings)
    if settings.storing.keep == "links" and not settings.storing.links:
        raise UsageError("--keep links needs stored links: drop --no-links")
    if "assets" in settings.storing.check and settings.storing.keep != "pages":
        raise UsageError("--check assets needs --keep pages")
    if settings.network.raw_bodies and not settings.storing.keeps_failures:
        raise UsageError("--raw-bodies needs --keep pages or --warc")
    if settings.politeness.obey_usage is not None and not settings.politeness.robots:
        raise UsageError("--obey-usage reads robots.txt: drop --ignore-robots")
    if settings.access.sign_requests is not None:
        from minicrawl.fetch.access.signing import key_directory

        key_directory(settings.politeness.contact)
    until = settings.budget.importance
    if settings.budget.guaranteed is not None and not settings.storing.links:
        raise UsageError(f"--until {until!r} needs stored links: drop --no-links")


def refuse_scorers(settings: Settings, *, in_python: bool = False) -> None:
    """Refuse scorers that cannot be made, and any scorer in an order that ignores values."""
    order = settings.order
    if (order.score or in_python) and order.strategy != "siblings":
        raise UsageError(f"--score needs --strategy siblings, not {order.strategy}")
    if order.score:
        from minicrawl.crawl.workers.scoring import scorers_of  # most crawls give no values

        scorers_of(order.score)


def store_terms(settings: Settings) -> StoreTerms:
    """Return the terms of a store: how its crawl remembers, and what it keeps."""
    order, storing = settings.order, settings.storing
    return StoreTerms(
        small_edge=order.small_edge,
        window=order.window,
        width=order.width,
        links=storing.links,
        strip_marks=storing.strip_marks,
    )


# ================================================================ seeds
#
# Seeds: the pages that the user names, and their endowment.
#
# Laws: there may be millions of seeds, so they are handled block by block. The endowment is shared
# once, when all are known. Each seed that is added to a crawl later gets no less than the first
# ones did, even if links led to it before. A page is endowed once.

_SEEDS_AT_ONCE = 50_000
FIRST_SEEDS = "first_seeds"  # a counter: number of seeds that shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    tell: Listener = nobody_listens,
    *,
    at_once: int = _SEEDS_AT_ONCE,
) -> int:
    """Make the seeds known, `at_once` in a block, and endow them. Return how many are new."""
    before = recorder.seeds.ids()
    named = await _introduce(recorder, iter(seeds), tell, at_once)
    new = sorted(named - before)
    if new:
        units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.committer.commit()
    # Links may have led to a page before the user named it.
    for page in before | named:
        recorder.frontier.urls.depth[page] = 0
    return len(new)


def share_of_endowment(recorder: Recorder, endowment: int, new: int, *, is_first: bool) -> int:
    """Return the units that the new seeds share."""
    if is_first:
        recorder.counters.add(FIRST_SEEDS, new)
    first = max(int(recorder.counters.number(FIRST_SEEDS)), 1)  # 0 in a damaged store
    # Rounded up, so that a later seed gets no less than the first ones did.
    return -(-endowment * new // first)


async def _introduce(
    recorder: Recorder, seeds: Iterator[ResolvedUrl], tell: Listener, at_once: int
) -> set[int]:
    pages: set[int] = set()
    while block := dict(islice(seeds, at_once)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        pages.update(meeting.pages)
        if meeting.urls:
            recorder.apply_step(Step(StepKind.BORN, born=len(meeting.urls)))
        await recorder.committer.commit()
        if len(block) == at_once:
            tell(Noted(text=f"{len(pages):,} seeds so far"))
    return pages


# ================================================================ opening

NO_SEED = "no seeds: give a URL, or a file of URLs, one per line"


@asynccontextmanager
async def opened_crawl(
    agree: Callable[[StoreWriter], Settings],
    path: Path,
    seeds: Iterable[ResolvedUrl],
    tell: Listener = nobody_listens,
    keep: Callable[[StoreWriter, Storing], ArchiveSinks] = lambda _store, _storing: NOWHERE,
    *,
    needs_pages: bool = True,
    shard: ShardSetup = WHOLE,
    by_value: bool = False,
) -> AsyncIterator[Recorder]:
    """Open the store, created if needed, and plant the seeds.

    `by_value` is true if a Python program scores pages.
    """
    with (
        closing(StoreWriter.open(path, shard.replica)) as store,
        translating_sqlite_errors(path, SAFE),
    ):
        settings = agree(store)
        conceal_earlier(store)
        by_siblings = settings.order.strategy == "siblings"
        by_value = by_value or bool(settings.order.score)
        with (
            closing(keep(store, settings.storing)) as keeping,
            closing(connect(path)) as connection,
            closing(
                recorder_of(store, connection, keeping, by_siblings=by_siblings, by_value=by_value)
            ) as recorder,
        ):
            own = shard.join(recorder, seeds)
            await plant(recorder, own, settings.order.endowment, tell)
            if needs_pages and shard.needs_pages and not len(recorder.frontier):
                raise UsageError(NO_SEED)
            yield recorder
        store.compact()


def recorder_of(
    store: StoreWriter,
    connection: tables.Connection,
    keeping: ArchiveSinks = NOWHERE,
    *,
    by_siblings: bool = False,
    by_value: bool = False,
) -> Recorder:
    """Check the store, and return its recorder."""
    with reporting_damage(store.path):
        terms = tables.terms(store.connection) or StoreTerms()
        load = partial(
            load_frontier, store.connection, terms, siblings=by_siblings, values=by_value
        )
        recorder = Recorder(store, connection, load, keeping)
        recorder.by_value = by_value
        verify(recorder.frontier, store.connection)
        # Only after a crash: it may have left tables that contradict each other where no commit
        # counts them. After a clean end this check would only cost time.
        if store.was_cut_off:
            for contradiction in contradictions(recorder.frontier, store.connection):
                raise ValueError(contradiction)
        return recorder


# ================================================================ waiting again
#
# Resuming a crawl: its settings, and the pages that wait again.
#
# The store keeps the settings that define the crawl. The user is told which of them differ from
# those of the last run, and how many pages wait again.
#
# Laws: settings that are given now override those in the store, and these override the defaults.
# They are committed before the first request, so that the user's restrictions survive a kill.
#
# A page that an earlier run refused waits again only when the reason is gone:
#
#     out of scope          the scope admits it now
#     type not read         this type is read now
#     private address       --allow-private is given now
#     trapped               a limit of traps has changed
#     robots.txt            the response has expired, robots.txt is ignored, or --obey-usage changed
#     unreachable host      the next run begins: that was a state of the host, not of its pages
#     passing failure       the last run ended more than an hour ago
#
# With --refresh, other pages that failed are requested again as well (`schedule.dead_targets`).


BY_THE_USER = (State.SCOPE, State.DEPTH, State.HOST_BUDGET, State.FOCUS)
TRAPPED = (State.TRAP, State.ALLOWANCE)
"""States of trapped pages. Other limits may admit them; if the trap is met again, they are skipped
again.
"""
OF_HOSTS = (State.DNS, State.CONNECT, State.PROXY, State.TLS, State.ADDRESS)
"""States of pages whose hosts could not be named or reached: no request was sent."""
PASSES_AFTER_S = 3600.0
_REOPENED_AT_ONCE = 10_000
_TYPES = BY_NAME["types"]
_ALLOW_PRIVATE = BY_NAME["allow-private"]
_OBEY_USAGE = "obey-usage"
_SCOPE_NAMES, _TRAP_NAMES = (
    frozenset(setting.name for setting in KEPT if setting.section.name == section)
    for section in ("scope", "traps")
)
LAST_AT = "last_at"  # a counter: end of the last run
FILTERED = "filtered"  # a counter: whether a Python program filters URLs


def reopen(
    recorder: Recorder,
    gate: ScopeGate,
    trackers: Sequence[DistanceTracker],
    settings: Settings,
    today: float,
) -> list[str]:
    """Reopen the pages that earlier runs refused or missed for a reason that is gone.

    Return notes on changed settings, and on the number of pages that wait again.
    """
    before, after = _settings_before(recorder), _settings_now(settings)
    wanted = set(_wanted(recorder, gate, trackers, settings, before))
    passed = set(_passed(recorder, settings.order.refresh, today)) - wanted
    pages = sorted(wanted | passed)
    for start in range(0, len(pages), _REOPENED_AT_ONCE):
        recorder.apply_step(
            Step(StepKind.REOPEN, spending=Spending(pages[start : start + _REOPENED_AT_ONCE]))
        )
    recorder.counters[tables.LAST_RUN_SETTINGS] = after
    if gate.has_filter or FILTERED in recorder.counters:
        recorder.counters[FILTERED] = gate.has_filter
    return list(_lines(before, after, len(wanted), len(passed)))


def _settings_now(settings: Settings) -> dict[str, object]:
    """Return the settings by name, as JSON represents them."""
    return {setting.name: plain(settings, setting) for setting in (*KEPT, _ALLOW_PRIVATE)}


def _settings_before(recorder: Recorder) -> dict[str, object]:
    """Return the settings of the last run.

    Older versions wrote field names, and false for no value.
    """
    found = recorder.counters.get(tables.LAST_RUN_SETTINGS)
    if not isinstance(found, dict):
        return {}
    return {
        n.replace("_", "-"): value for n, value in found.items() if n != "allow_private" or value
    }


def _lines(
    before: Mapping[str, object], after: Mapping[str, object], wanted: int, passed: int
) -> Iterator[str]:
    changes = ", ".join(
        f"{name} {as_text(value)} (was {as_text(before[name])})"
        for name, value in after.items()
        if name in before and before[name] != value
    )
    if changes:
        yield f"{changes}: {_waiting(wanted)}" if wanted else changes
    elif wanted:  # an older version did not store all settings
        passed += wanted
    if passed:
        yield _waiting(passed, " put aside earlier")


def _waiting(pages: int, which: str = "") -> str:
    return f"1 page{which} waits again" if pages == 1 else f"{pages:,} pages{which} wait again"


def _wanted(
    recorder: Recorder,
    gate: ScopeGate,
    trackers: Sequence[DistanceTracker],
    settings: Settings,
    before: Mapping[str, object],
) -> Iterator[int]:
    """Yield pages that the user refused before and does not refuse now."""
    after = _settings_now(settings)
    new = {name for name, value in after.items() if name not in before or before[name] != value}
    if gate.has_filter or recorder.counters.get(FILTERED):
        new |= _SCOPE_NAMES  # a filter cannot be compared with an earlier one
    if new & _SCOPE_NAMES or "focus-only" in before:  # older versions could refuse pages off focus
        yield from _in_scope_now(recorder, gate, trackers)
    if new & _TRAP_NAMES:
        yield from _pages(recorder, *TRAPPED)
    if _TYPES.name in new:
        yield from _readable_now(recorder, gate, before, settings)
    if _ALLOW_PRIVATE.name in new and settings.network.allow_private:
        yield from _pages(recorder, State.ADDRESS)
    if not settings.politeness.robots or _OBEY_USAGE in new:
        yield from _pages(recorder, State.ROBOTS)


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


def _in_scope_now(
    recorder: Recorder, gate: ScopeGate, trackers: Sequence[DistanceTracker]
) -> Iterator[int]:
    frontier = recorder.frontier
    refused = _pages(recorder, *BY_THE_USER)
    if refused:
        read = np.isin(frontier.states(), READ_STATES)
        hosts = np.frombuffer(frontier.urls.host_of, dtype=np.uint32)[read]
        pages_of_host = np.bincount(hosts, minlength=len(frontier.urls.origins)).tolist()
        for page, url in zip(refused, recorder.pages.urls_of(refused), strict=True):
            pages = pages_of_host[frontier.urls.host_of[page]]
            depth = frontier.urls.depth[page]
            refusal = gate.refusal(url, depth, pages, is_seed=not depth)
            if refusal is None and not any(one.is_too_far(page) for one in trackers):
                yield page
