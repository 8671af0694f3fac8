"""Terms that all nodes of a crawl agree on before it begins: shards, settings, seeds.

Laws: the first caller begins the crawl, and all others join it. A request that contradicts the
terms is refused in one line, and changes nothing. The engine has no secrets of users: credentials
of logins and proxies are set on each node. So are settings that touch a node's machine or weaken
politeness, since anybody with write access to the engine can change the terms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from minicrawl import __version__
from minicrawl.cluster.engine import ClusterEngine, KeyTaken
from minicrawl.cluster.records import (
    LEASE_PREFIX,
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    CrawlActivity,
    LeaseRecord,
    Record,
    RecordError,
    ShardFacts,
    StateRecord,
)
from minicrawl.config import Loaded, Settings, load
from minicrawl.config.parts import Budget
from minicrawl.config.settings import harmless, told_ignored
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, TABLE
from minicrawl.config.writing import as_text, plain
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.store import schema
from minicrawl.web.urls import canonical_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsRecord(Record):
    """Terms of a crawl. Only `settings` ever change."""

    id: str
    format: int
    schema: int
    version: str
    shards: int
    settings: Mapping[str, object]  # by name, as JSON values
    seeds: str  # name of the object with one seed per line

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MOST_SHARDS:
            raise ValueError(f"{self.shards} is not a valid number of shards")
        if not self.id.isalnum():  # it is part of file names
            raise ValueError(f"{self.id!a} is not a valid id")

    @property
    def limits(self) -> Budget:
        """Limits of the whole crawl, over all shards. Raises RecordError."""
        names = ("pages", "until", *OF_A_RUN)
        given = {BY_NAME[one].argument: self.settings.get(one) for one in names}
        try:
            return load(given, {}, None).settings.budget
        except UsageError as error:
            raise RecordError(f"the cluster's key {TERMS_KEY} has a wrong limit: {error}") from None


R = TypeVar("R", bound=Record)

NO_CRAWL = "this cluster has no crawl yet: minicrawl crawl SEEDS --cluster URL"
DEFAULT_SHARDS = 16
FORMAT = 7
"""Version of the format of keys and logs. Nodes of a cluster need the same."""
_OF_A_NODE = frozenset(
    (
        *("store", "workers", "proxy", "ca", "client-cert"),
        *("bind-address", "name-server", "browser", "render-workers", "cookies", "warc"),
    )
)
OF_A_RUN = ("new-pages", "for", "bytes")
"""Limits of one run, over all shards. The next run has only those that it is given."""
_OF_ONE_MACHINE = {
    "check": "gather, then continue the gathered store with it",
    "requisites": "gather, then continue the gathered store with it",
    "links": "without links the log of a shard is cut, and batches are sent again from it",
    "dedupe-with": "other nodes do not have its file",
    "deterministic": "the order depends on when batches of other shards arrive",
}
"""Settings that a cluster refuses, and why."""
_USUAL: dict[str, object] = {"keep": "none", "strategy": "greedy"}
"""Defaults that differ in a cluster.

Archived pages would all go through the servers, and pages that other shards made known have no
siblings.
"""
_TERMS = "the terms of this cluster"
_LIVE = frozenset(("pages", *OF_A_RUN))
"""Settings that may change while the crawl runs."""
_POLL_S = 1.0


# ---------------------------------------------------------------- settings


def settings_of_crawl(loaded: Loaded) -> dict[str, object]:
    """Return the given settings that all nodes share, by name, as JSON values."""
    refuse_what_needs_one_machine(loaded.settings)
    return {name: value for name, value in _given(loaded) if _is_shared(name)}


def settings_of_node(loaded: Loaded) -> dict[str, object]:
    """Return the settings given to this node, by name, as JSON values."""
    left_out = ("cluster", "store", "workers", *_OF_ONE_MACHINE, *OF_A_RUN)
    return {name: value for name, value in _given(loaded) if name not in left_out}


def _given(loaded: Loaded) -> Iterator[tuple[str, object]]:
    for row in TABLE:
        if loaded.is_given(row) or loaded.settings.value(row) != row.default:
            yield row.name, plain(loaded.settings, row)


def _is_shared(name: str) -> bool:
    """Return whether all nodes have the same value of a setting, which their terms name."""
    return BY_NAME[name].section.name not in ("access", "cluster") and name not in _OF_A_NODE


def effective_settings(
    terms: TermsRecord, own: Mapping[str, object]
) -> tuple[dict[str, object], str]:
    """Return the settings that a node obeys, and a line about ignored ones, which may be empty.

    `own` has the settings given to the node itself. They allow the terms to weaken politeness as
    far as they do themselves.
    """
    named = from_store(_TERMS, terms.settings)
    shared = {
        name: given
        for name, given in named.items()
        if name in BY_NAME and _is_shared(name) and name not in OF_A_RUN
    }
    of_node = load({BY_NAME[name].argument: value for name, value in own.items()}, {}, None)
    counting, _ = harmless(shared, of_node.settings)
    known = (*counting, *OF_A_RUN)
    ignored = [given.place for name, given in named.items() if name not in known]
    return {name: given.value for name, given in counting.items()}, told_ignored(ignored)


def check_terms(terms: TermsRecord, own: Mapping[str, object]) -> None:
    """Refuse settings that contradict each other, or for which this machine lacks a package.

    Without this, each shard would fail again and again. `own` are the settings of this node.
    """
    from minicrawl.crawl.start.reach import check_browser, check_types
    from minicrawl.crawl.start.settings import refuse_contradictions

    named = {**own, **effective_settings(terms, own)[0]}
    given = {BY_NAME[name].argument: value for name, value in named.items()}
    settings = load(given, {}, None).settings
    refuse_contradictions(settings)
    check_types(settings.scope)
    check_browser(settings.rendering)


def workers_of_node(loaded: Loaded) -> int:
    """Return the fetching processes per shard. `auto` is 0, as each shard is a process already."""
    workers = loaded.settings.network.workers
    return workers if isinstance(workers, int) else 0


def refuse_what_needs_one_machine(settings: Settings) -> None:
    """Refuse settings that a crawl in shards cannot obey."""
    refused = {
        row.off if row.default is True else row.flag: why
        for name, why in _OF_ONE_MACHINE.items()
        if settings.value(row := BY_NAME[name]) != row.default
    }
    if settings.budget.guaranteed is not None:
        refused["--until '... guaranteed'"] = "the proof needs the links of all pages"
    if isinstance(settings.storing.keep_versions, int):
        refused["--keep-versions N"] = "in a cluster say all or changed"
    for flag, why in refused.items():
        raise UsageError(f"{flag} is for a crawl on one machine: {why}")


# ---------------------------------------------------------------- the crawl


async def start_or_join(
    engine: ClusterEngine, loaded: Loaded, seeds: Iterable[str], shards: int | None = None
) -> TermsRecord:
    """Begin the crawl, or join it. A crawl that was stopped or has ended is continued."""
    settings, own = settings_of_crawl(loaded), settings_of_node(loaded)
    urls = (canonical_seed(seed, strip_marks=False) or seed for seed in seeds)
    named = list(dict.fromkeys(urls))
    if await engine.get(TERMS_KEY) is None:
        terms = _first_terms(settings, named, shards or DEFAULT_SHARDS)
        check_terms(terms, own)
        if await _begin(engine, terms, named):
            return terms  # else another caller was quicker
    before, revision = await terms_of(engine)
    state, state_revision = await state_of(engine)
    terms = before
    if state.is_over and before.format == FORMAT and before.schema < schema.VERSION:
        # Each shard migrates its store when it begins.
        terms = replace(before, schema=schema.VERSION, version=__version__)
    refuse_other_version(terms)
    if shards not in (None, terms.shards):
        raise UsageError(
            f"--shards {shards}: this cluster's crawl has {terms.shards} shards, which never "
            "changes; for another crawl give a name, as in nats://host:4222/NAME"
        )
    changed = await _joined(engine, terms, settings, named, is_over=state.is_over)
    check_terms(changed, own)
    if changed != before:
        await engine.update(TERMS_KEY, changed.pack(), revision)
    if state.is_over:
        ends = [await last_told(engine, shard, state.run) for shard in range(terms.shards)]
        again = StateRecord(
            doing=CrawlActivity.RUNNING,
            run=state.run + 1,
            reason="",
            fetched=max(state.ended_with, sum(last.facts.fetched for last in ends if last)),
        )
        await engine.update(STATE_KEY, again.pack(), state_revision)
    return changed


def _first_terms(settings: Mapping[str, object], seeds: list[str], shards: int) -> TermsRecord:
    if not seeds:
        raise UsageError("this cluster has no crawl yet: give SEEDS to begin one")
    identity = token_hex(8)
    by_value = {"strategy": "siblings"} if "score" in settings else {}
    return TermsRecord(
        id=identity,
        format=FORMAT,
        schema=schema.VERSION,
        version=__version__,
        shards=shards,
        settings=_USUAL | by_value | dict(settings),
        seeds=f"seeds-{identity}",
    )


async def _begin(engine: ClusterEngine, terms: TermsRecord, seeds: list[str]) -> bool:
    """Write the terms. Return False if another caller has begun the crawl meanwhile."""
    await _put_seeds(engine, terms.seeds, seeds)
    state = StateRecord(doing=CrawlActivity.RUNNING, run=1, reason="")
    await _create_unless_present(engine, STATE_KEY, state)
    free = LeaseRecord(node="", session="", generation=0)
    for shard in range(terms.shards):  # so that nodes update leases, and do not race to create them
        await _create_unless_present(engine, f"{LEASE_PREFIX}{shard}", free)
    try:
        await engine.create(TERMS_KEY, terms.pack())
    except KeyTaken:
        await engine.delete_object(terms.seeds)
        return False
    return True


async def _create_unless_present(engine: ClusterEngine, key: str, record: Record) -> None:
    with suppress(KeyTaken):  # left by a caller that was killed here, or that begins the crawl now
        await engine.create(key, record.pack())


async def _joined(
    engine: ClusterEngine,
    terms: TermsRecord,
    settings: Mapping[str, object],
    seeds: list[str],
    *,
    is_over: bool,
) -> TermsRecord:
    """Return the changed terms. Raises UsageError for changes that a running crawl forbids."""
    others = {name: value for name, value in settings.items() if terms.settings.get(name) != value}
    for name, value in others.items():
        if not is_over and name not in _LIVE:
            raise UsageError(
                f"{BY_NAME[name].flag} {as_text(value)}: the crawl of this cluster runs with "
                f"{_shown(terms, name)}; stop it first (minicrawl control stop --cluster URL)"
            )
    known = dict.fromkeys(await seeds_of(engine, terms.seeds)) if seeds else {}
    new = [seed for seed in seeds if seed not in known]
    if new and not is_over:
        raise UsageError(
            f"this cluster's crawl has other seeds, without {new[0]}: for another crawl give a "
            "name, as in nats://host:4222/NAME; or stop this one first, then start it with them"
        )
    if new:
        terms = replace(terms, seeds=f"seeds-{terms.id}-{token_hex(4)}")
        await _put_seeds(engine, terms.seeds, [*known, *new])
    unchanged = {
        name: value
        for name, value in terms.settings.items()
        if not (is_over and name in OF_A_RUN and name not in settings)
    }
    return replace(terms, settings={**unchanged, **others})


def _shown(terms: TermsRecord, name: str) -> str:
    usual = plain(Settings(), BY_NAME[name])
    return as_text(terms.settings.get(name, usual))


def refuse_other_version(terms: TermsRecord) -> None:
    """Refuse a crawl whose keys or stores have another format than this version's."""
    if (terms.format, terms.schema) != (FORMAT, schema.VERSION):
        raise UsageError(
            f"the crawl of this cluster is one of minicrawl {terms.version} (format "
            f"{terms.format}.{terms.schema}), this is {__version__} ({FORMAT}.{schema.VERSION}): "
            "install the same version here, or stop the crawl and upgrade all nodes"
        )


async def wait_for_terms(engine: ClusterEngine) -> TermsRecord:
    """Wait until a caller begins the crawl, and return its terms."""
    while await engine.get(TERMS_KEY) is None:
        await asyncio.sleep(_POLL_S)
    terms, _ = await terms_of(engine)
    refuse_other_version(terms)
    return terms


async def terms_of(engine: ClusterEngine) -> tuple[TermsRecord, int]:
    return await _of_crawl(engine, TERMS_KEY, TermsRecord)


async def state_of(engine: ClusterEngine) -> tuple[StateRecord, int]:
    return await _of_crawl(engine, STATE_KEY, StateRecord)


async def _of_crawl(engine: ClusterEngine, key: str, kind: type[R]) -> tuple[R, int]:
    """Return a record and its revision. Raises UsageError if there is no crawl."""
    entry = await engine.get(key)
    if entry is None or (record := kind.of(entry)) is None:
        raise UsageError(NO_CRAWL)
    return record, entry.revision


class LastTold(NamedTuple):
    """Last facts that holders of a shard have told, and the number of their run."""

    run: int
    facts: ShardFacts


async def last_told(engine: ClusterEngine, shard: int, run: int) -> LastTold | None:
    """Return the last facts of the shard in this run or an earlier one; None if there are none."""
    for earlier in range(run, -1, -1):
        entry = await engine.get(f"{TOLD_PREFIX}{earlier}.{shard}")
        with suppress(RecordError):
            if (facts := ShardFacts.of(entry)) is not None:
                return LastTold(earlier, facts)
    return None


# ---------------------------------------------------------------- seeds


async def seeds_of(engine: ClusterEngine, name: str) -> list[str]:
    with TemporaryDirectory(prefix="minicrawl-") as folder:
        file = Path(folder) / "seeds"
        await engine.get_object(name, file)
        return file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()


async def _put_seeds(engine: ClusterEngine, name: str, seeds: Iterable[str]) -> None:
    with TemporaryDirectory(prefix="minicrawl-") as folder:
        file = Path(folder) / "seeds"
        text = "".join(f"{seed}\n" for seed in seeds)
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        await engine.put_object(name, file)
