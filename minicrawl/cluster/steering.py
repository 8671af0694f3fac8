"""Requests of users to a running cluster, as keys that its nodes follow.

Law: a request to an absent node is refused with the names of the nodes that exist.
"""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from minicrawl.cluster import records
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.records import CrawlActivity, StateRecord
from minicrawl.cluster.terms import state_of, terms_of
from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME
from minicrawl.errors import UsageError


async def drain(engine: ClusterEngine, node: str, *, undo: bool = False) -> None:
    """Make the node give up all its shards and take no others, or let it take some again."""
    entries = await engine.keys(records.NODE_PREFIX)
    names = [entry.key.removeprefix(records.NODE_PREFIX) for entry in entries]
    if node not in names:
        known = ", ".join(names) or "none"
        raise UsageError(f"no node named {node} is in this cluster; there are: {known}")
    key = f"{records.DRAIN_PREFIX}{node}"
    await (engine.delete(key) if undo else engine.put(key, b"1"))


async def _change(
    engine: ClusterEngine, after: CrawlActivity, only: CrawlActivity | None = None
) -> StateRecord:
    """Change the state of the crawl, if `only` is its state, and return the new one."""
    state, revision = await state_of(engine)
    if state.is_over:
        raise UsageError(
            f"the crawl of this cluster has {state.doing}: crawl --cluster continues it"
        )
    if only is not None and state.doing != only:
        return state
    changed = replace(state, doing=after, reason="by the user")
    await engine.update(records.STATE_KEY, changed.pack(), revision)
    return changed


pause = partial(_change, after=CrawlActivity.PAUSED, only=CrawlActivity.RUNNING)
"""Pause the crawl: no shard begins a request."""
resume = partial(_change, after=CrawlActivity.RUNNING, only=CrawlActivity.PAUSED)
stop = partial(_change, after=CrawlActivity.STOPPED)
"""Stop the crawls of all shards cleanly. `crawl --cluster` continues them."""


async def set_pages(engine: ClusterEngine, given: object) -> None:
    """Set the limit of pages of the whole crawl, as users give it."""
    pages = Given(given, "pages", " ").read_as(BY_NAME["pages"])
    terms, revision = await terms_of(engine)
    changed = replace(terms, settings={**terms.settings, "pages": pages})
    await engine.update(records.TERMS_KEY, changed.pack(), revision)


REQUESTS: dict[str, Callable[[ClusterEngine], Coroutine[Any, Any, object]]] = {
    "pause": pause,
    "resume": resume,
    "stop": stop,
}
"""Requests that need no more than their names."""
