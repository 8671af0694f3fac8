"""Terms that all nodes of a crawl agree on before it begins: shards, settings, seeds.

Laws: the first caller begins the crawl, and all others join it. A request that contradicts the
terms is refused in one line, and changes nothing. Each node keeps its secrets to itself (see
`shared_settings`).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import TypeVar

from minicrawl import __version__
from minicrawl.cluster import records
from minicrawl.cluster.engine import (
    MOST_VALUE_BYTES,
    ClusterEngine,
    EngineUnavailable,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.records import CrawlActivity, Record, RecordError, ShardFacts, StateRecord
from minicrawl.cluster.shared_settings import (
    LIVE,
    OF_A_RUN,
    USUAL,
    TermsRecord,
    check_terms,
    settings_of_crawl,
    settings_of_node,
)
from minicrawl.config import Loaded, Settings
from minicrawl.config.table import BY_NAME
from minicrawl.config.writing import as_text, plain
from minicrawl.errors import UsageError
from minicrawl.store import schema
from minicrawl.web.urls import canonical_seed

R = TypeVar("R", bound=Record)


NO_CRAWL = "this cluster has no crawl yet: minicrawl crawl SEEDS --cluster URL"
DEFAULT_SHARDS = 16
FORMAT = 10
"""Version of keys, logs and messages. Nodes of a cluster need the same."""
_POLL_S = 1.0
_NOTICED_LOOK = 3


async def start_or_join(
    engine: ClusterEngine, loaded: Loaded, seeds: Iterable[str], shards: int | None = None
) -> TermsRecord:
    """Begin the crawl, or join it. A crawl that was stopped or has ended is continued."""
    settings, own = settings_of_crawl(loaded), settings_of_node(loaded)
    urls = (canonical_seed(seed, strip_marks=False) or seed for seed in seeds)
    named = list(dict.fromkeys(urls))
    if await engine.get(records.TERMS_KEY) is None:
        if not named:
            raise UsageError("this cluster has no crawl yet: give SEEDS to begin one")
        terms = TermsRecord(
            id=token_hex(8),
            format=FORMAT,
            schema=schema.VERSION,
            version=__version__,
            shards=shards or DEFAULT_SHARDS,
            settings=USUAL | settings,
            seeds="",
        )
        check_terms(terms, own)
        state = StateRecord(doing=CrawlActivity.RUNNING, run=1, reason="")
        if (begun := await begin_crawl(engine, terms, named, state)) is not None:
            return begun
    before, revision = await terms_of(engine)
    state, state_revision = await state_of(engine)
    terms = before
    if state.is_over and before.format == FORMAT and before.schema < schema.VERSION:
        # Each shard migrates its store when it begins.
        terms = replace(before, schema=schema.VERSION, version=__version__)
    refuse_other_version(terms)
    if shards not in (None, terms.shards):
        raise UsageError(
            f"--shards {shards}: this cluster's crawl has {terms.shards} shards: stop it and "
            "use minicrawl cluster reshard, or give another name, as in nats://host:4222/NAME"
        )
    changed = await _joined(engine, terms, settings, named, is_over=state.is_over)
    check_terms(changed, own)
    if changed != before:
        await engine.update(records.TERMS_KEY, changed.pack(), revision)
    if state.is_over:
        ends = [await last_told(engine, shard) for shard in range(terms.shards)]
        again = StateRecord(
            doing=CrawlActivity.RUNNING,
            run=state.run + 1,
            reason="",
            fetched=max(state.ended_with, sum(facts.fetched for facts in ends)),
        )
        await engine.update(records.STATE_KEY, again.pack(), state_revision)
    return changed


async def begin_crawl(
    engine: ClusterEngine, terms: TermsRecord, seeds: list[str], state: StateRecord
) -> TermsRecord | None:
    """Write and return the terms, or return None if another caller has begun the crawl."""
    terms = replace(terms, seeds=await _put_seeds(engine, terms.id, seeds))
    with suppress(KeyTaken):  # left by a caller that was killed here, or that begins it now
        await engine.update(records.STATE_KEY, state.pack(), 0)
    try:
        await engine.update(records.TERMS_KEY, terms.pack(), 0)
    except KeyTaken:
        return None
    return terms


async def _joined(
    engine: ClusterEngine,
    terms: TermsRecord,
    settings: Mapping[str, object],
    seeds: list[str],
    *,
    is_over: bool,
) -> TermsRecord:
    """Return the changed terms. Raises UsageError for changes that a running crawl forbids."""
    changed = {name: value for name, value in settings.items() if terms.settings.get(name) != value}
    for name, value in changed.items():
        if not is_over and name not in LIVE:
            running = terms.settings.get(name, plain(Settings(), BY_NAME[name]))
            raise UsageError(
                f"{BY_NAME[name].flag} {as_text(value)}: the crawl of this cluster runs with "
                f"{as_text(running)}; stop it first (minicrawl control stop --cluster URL)"
            )
    known = dict.fromkeys(await seeds_of(engine, terms.seeds)) if seeds else {}
    new = [seed for seed in seeds if seed not in known]
    if new and not is_over:
        raise UsageError(
            f"this cluster's crawl has other seeds, without {new[0]}: for another crawl give a "
            "name, as in nats://host:4222/NAME; or stop this one first, then start it with them"
        )
    if new:
        terms = replace(terms, seeds=await _put_seeds(engine, terms.id, [*known, *new]))
    unchanged = {
        name: value
        for name, value in terms.settings.items()
        if not (is_over and name in OF_A_RUN and name not in settings)
    }
    return replace(terms, settings={**unchanged, **changed})


def refuse_other_version(terms: TermsRecord) -> None:
    """Refuse a crawl whose keys or stores have another format than this version's."""
    if (terms.format, terms.schema) != (FORMAT, schema.VERSION):
        raise UsageError(
            f"the crawl of this cluster is one of minicrawl {terms.version} (format "
            f"{terms.format}.{terms.schema}), this is {__version__} ({FORMAT}.{schema.VERSION}): "
            "install the same version here, or stop the crawl and upgrade all nodes"
        )


async def wait_for_terms(engine: ClusterEngine, notice: Callable[[], None]) -> TermsRecord:
    """Wait until a caller begins the crawl, and return its terms.

    `notice` is called once if that takes long.
    """
    looks = 0
    while await engine.get(records.TERMS_KEY) is None:
        looks += 1
        if looks == _NOTICED_LOOK:
            notice()
        await asyncio.sleep(_POLL_S)
    terms, _ = await terms_of(engine)
    refuse_other_version(terms)
    return terms


async def terms_of(engine: ClusterEngine) -> tuple[TermsRecord, int]:
    return await _of_crawl(engine, records.TERMS_KEY, TermsRecord)


async def state_of(engine: ClusterEngine) -> tuple[StateRecord, int]:
    return await _of_crawl(engine, records.STATE_KEY, StateRecord)


async def _of_crawl(engine: ClusterEngine, key: str, kind: type[R]) -> tuple[R, int]:
    """Return a record and its revision. Raises UsageError if there is no crawl."""
    entry = await engine.get(key)
    if entry is None or (record := kind.of(entry)) is None:
        raise UsageError(NO_CRAWL)
    return record, entry.revision


async def last_told(engine: ClusterEngine, shard: int) -> ShardFacts:
    """Return the last facts of the shard; without any, those of a shard that has done nothing."""
    with suppress(RecordError):
        if (facts := ShardFacts.of(await engine.get(f"{records.TOLD_PREFIX}{shard}"))) is not None:
            return facts
    return ShardFacts(shard)


SEEDS_PREFIX = "seeds."


async def seeds_of(engine: KeyValues, name: str) -> list[str]:
    """Return the seeds that the terms name."""
    pieces = await engine.keys(f"{SEEDS_PREFIX}{name}.")
    if len(pieces) < int(name.rpartition("-")[2]):
        raise EngineUnavailable(f"the servers lack some of the seeds {name}: trying again")
    content = b"".join(piece.value or b"" for piece in pieces)
    return content.decode(errors="surrogateescape").splitlines()


async def _put_seeds(engine: KeyValues, crawl: str, seeds: Iterable[str]) -> str:
    """Store the seeds as keys, and return their name, which ends with the number of keys."""
    content = "".join(f"{seed}\n" for seed in seeds).encode(errors="surrogateescape")
    begins = range(0, len(content), MOST_VALUE_BYTES)
    name = f"{crawl}-{token_hex(4)}-{len(begins)}"
    for begin in begins:
        piece = content[begin : begin + MOST_VALUE_BYTES]
        await engine.put(f"{SEEDS_PREFIX}{name}.{begin:015}", piece)
    return name
