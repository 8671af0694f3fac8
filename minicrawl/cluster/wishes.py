"""What users ask of a running cluster: keys that its nodes follow.

Law: a wish for a node that is not there is refused, and names those that are.
"""

from __future__ import annotations

from dataclasses import replace

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.node.records import (
    DRAIN_PREFIX,
    NODE_PREFIX,
    REBALANCE_KEY,
    STATE_KEY,
    TERMS_KEY,
    WORKERS_PREFIX,
    Doing,
    StateRecord,
    TermsRecord,
    WishRecord,
)
from minicrawl.cluster.terms import NO_CRAWL, state_of
from minicrawl.errors import UsageError

MOST_WORKERS = 64


async def drain(engine: ClusterEngine, node: str) -> None:
    """Let the node give up all its shards, and take no others."""
    await _check(engine, node)
    await engine.put(f"{DRAIN_PREFIX}{node}", WishRecord(value=1).pack())


async def undrain(engine: ClusterEngine, node: str) -> None:
    """Let the node take shards again."""
    await _check(engine, node)
    await engine.delete(f"{DRAIN_PREFIX}{node}")


async def rebalance(engine: ClusterEngine) -> None:
    """Let shards move to nodes that have just come as well."""
    found = await engine.get(REBALANCE_KEY)
    before = WishRecord.unpack(REBALANCE_KEY, found.value).value if found and found.value else 0
    await engine.put(REBALANCE_KEY, WishRecord(value=before + 1).pack())


async def set_workers(engine: ClusterEngine, node: str, workers: int) -> None:
    """Let each shard of the node have so many fetching processes."""
    await _check(engine, node)
    if not 0 <= workers <= MOST_WORKERS:
        raise UsageError(f"{workers} workers: must be a number from 0 to {MOST_WORKERS}")
    await engine.put(f"{WORKERS_PREFIX}{node}", WishRecord(value=workers).pack())


async def pause(engine: ClusterEngine) -> StateRecord:
    """Let no shard begin a request."""
    return await _change(engine, Doing.RUNNING, Doing.PAUSED)


async def resume(engine: ClusterEngine) -> StateRecord:
    """Let a crawl that is paused go on."""
    return await _change(engine, Doing.PAUSED, Doing.RUNNING)


async def stop(engine: ClusterEngine) -> StateRecord:
    """End the crawls of all shards cleanly. `crawl --cluster` lets them go on."""
    return await _change(engine, None, Doing.STOPPED)


async def set_pages(engine: ClusterEngine, pages: int | None) -> None:
    """Let the crawl fetch so many pages in all; None for no limit."""
    found = await engine.get(TERMS_KEY)
    if found is None or found.value is None:
        raise UsageError(NO_CRAWL)
    terms = TermsRecord.unpack(TERMS_KEY, found.value)
    changed = replace(terms, settings={**terms.settings, "pages": pages})
    await engine.update(TERMS_KEY, changed.pack(), found.revision)


async def _change(engine: ClusterEngine, before: Doing | None, after: Doing) -> StateRecord:
    state, revision = await state_of(engine)
    if state.is_over:
        raise UsageError(f"the crawl of this cluster has {state.doing}: crawl --cluster begins it")
    if before is not None and state.doing != before:
        return state
    changed = StateRecord(doing=after, run=state.run, reason="by the user")
    await engine.update(STATE_KEY, changed.pack(), revision)
    return changed


async def _check(engine: ClusterEngine, node: str) -> None:
    names = [one.key.removeprefix(NODE_PREFIX) for one in await engine.keys(NODE_PREFIX)]
    if node not in names:
        known = ", ".join(names) or "none"
        raise UsageError(f"no node named {node} is in this cluster; there are: {known}")
