"""Gives a stopped crawl another number of shards, by gathering and dealing out.

The new shards get keys, logs and objects of their own, those of a crawl with another name. One
change of one key makes them the crawl: its state names that other crawl, and from then on whoever
opens the crawl is led there. So each moment has one whole sharding: the old one until that change,
the new one after it.

    crawl              state: stopped          shards 0 to 15
    crawl--5f0c9a1e    written meanwhile       shards 0 to 31, of which nobody knows
    crawl              state: continued as crawl--5f0c9a1e; the logs of its shards are removed

Pages can be taken down on the way: what their crawl had of them goes with its logs and objects.

Laws: all earlier writers of the shards are fenced off before they are read. A crawl that somebody
continues meanwhile stays as it is. The shards minted what they mint together afterwards, to the
atom. A command that is killed before the change leaves streams under a name that nobody uses.
"""

import asyncio
import time
from asyncio import to_thread
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

from minicrawl import __version__
from minicrawl.archive.objects.moved_file import STUB, delete_object
from minicrawl.archive.segments import FIRST, Segments
from minicrawl.cluster.engine import ClusterEngine, KeyTaken
from minicrawl.cluster.gathering.dealing import deal
from minicrawl.cluster.gathering.gather import Gathered
from minicrawl.cluster.gathering.kept_store import gather_cluster
from minicrawl.cluster.node.leases import LEASE_S
from minicrawl.cluster.node.node import END_S
from minicrawl.cluster.records import (
    DRAIN_PREFIX,
    GRANTS_KEY,
    LEASE_PREFIX,
    STATE_KEY,
    CrawlActivity,
    GrantsRecord,
    LeaseRecord,
    StateRecord,
)
from minicrawl.cluster.replica.kept_pages import pieces, restore_pages
from minicrawl.cluster.replica.restoring import fence
from minicrawl.cluster.replica.shard_log import LogWriter
from minicrawl.cluster.replica.snapshots import SnapshotWriter, remove_moved
from minicrawl.cluster.terms import (
    SEEDS_PREFIX,
    begin_crawl,
    last_told,
    refuse_other_version,
    seeds_of,
    state_of,
    terms_of,
)
from minicrawl.crawl.record.archiving import UrlPattern, forget
from minicrawl.errors import UsageError
from minicrawl.ports import Progress, part, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading

_GATHERED, _DEALT = 0.4, 0.7
"""Rough progress when the crawl is gathered, and when it is dealt out."""
_POLL_S = 0.2


def name_of_continuation(engine: ClusterEngine) -> str:
    return f"{engine.name.partition('--')[0][:48]}--{token_hex(4)}"


async def reshard(
    engine: ClusterEngine,
    target: ClusterEngine,
    shards: int,
    folder: Path,
    progress: Progress = unreported,
    gone: Sequence[str] = (),
) -> Gathered:
    """Continue the crawl of `engine` as that of `target`, which is new, with so many shards.

    `gone` are URLs, or prefixes with `*`, to take down. The stores are written to `folder`. Return
    the report on the gathered one.
    """
    terms, _ = await terms_of(engine)
    refuse_other_version(terms)
    state, revision = await state_of(engine)
    if not state.is_over:
        raise UsageError("the crawl runs: stop it first (minicrawl control stop --cluster URL)")
    if terms.shards == shards and not gone:
        raise UsageError(f"this cluster's crawl has {shards} shards already")
    for url in gone:
        UrlPattern.of(url)  # refuses what is none
    await _wait_for_nodes(engine)
    for shard in range(terms.shards):
        await fence(engine, shard, (await last_told(engine, shard)).entry)
    whole = folder / "whole.db"
    gathering = part(progress, 0, _GATHERED)
    made = await gather_cluster(engine, whole, gathering, converges=False)
    for url in gone:
        await to_thread(forget, whole, url, time.time())
    stores = await to_thread(deal, whole, folder, shards, part(progress, _GATHERED, _DEALT))
    fetched = dict[int, int]()
    for shard, store in enumerate(stores):
        await _ship(target, shard, store)
        with reading(store) as connection:
            fetched[shard] = int(str(tables.counters(connection).get("fetched", 0)))
        part(progress, _DEALT, 1)((shard + 1) / shards)
    # What was fetched counts as granted, or shards could be granted the same pages again.
    grants = GrantsRecord(entry=1, granted=fetched, generations={})
    await target.append(shards, 0, grants.pack())
    await target.put(GRANTS_KEY, grants.pack())
    for entry in await engine.keys(DRAIN_PREFIX):
        await target.put(entry.key, entry.value or b"")
    with reading(whole) as connection:
        takedowns = tables.taken_down(tables.counters(connection))
    known = await seeds_of(engine, terms.seeds)
    seeds = [seed for seed in known if not takedowns.covers(seed)]
    again = replace(terms, id=token_hex(8), version=__version__, shards=shards)
    stopped = StateRecord(
        doing=CrawlActivity.STOPPED,
        run=state.run,
        reason=f"resharded from {terms.shards} to {shards} shards",
        ended_with=sum(fetched.values()),
    )
    await begin_crawl(target, again, seeds, stopped)
    try:
        after = replace(state, continued_as=target.name)
        await engine.update(STATE_KEY, after.pack(), revision)
    except KeyTaken:
        await _empty(target, shards, folder)
        raise UsageError("somebody has continued the crawl meanwhile: stop it again") from None
    await _empty(engine, terms.shards, folder)
    return made


async def _wait_for_nodes(engine: ClusterEngine) -> None:
    """Wait until nodes have given back all leases, or had the time to: killed ones never do."""
    now = asyncio.get_running_loop().time
    ends_at = now() + END_S + LEASE_S
    while now() < ends_at:
        leases = map(LeaseRecord.of, await engine.keys(LEASE_PREFIX))
        if not any(lease.session for lease in leases if lease is not None):
            return
        await asyncio.sleep(_POLL_S)


async def _ship(target: ClusterEngine, shard: int, store: Path) -> None:
    """Store a snapshot of the shard's store, and the log of its kept pages."""
    entry = await fence(target, shard, 0)
    snapshots = (await target.snapshots.log_span(shard)).last
    await SnapshotWriter(target, shard, store, snapshots).store(entry)
    pages = LogWriter(target.pages, shard, 0)
    with closing(Segments(archive_folder(store))) as segments:
        for piece in pieces(segments, FIRST, segments.end):
            await pages.append(piece)


async def _empty(engine: ClusterEngine, shards: int, folder: Path) -> None:
    """Remove the logs and objects of a crawl that goes on under another name, or never began."""
    for shard in range(shards + 1):  # the last log is that of grants
        if (await engine.pages.log_span(shard)).first > 1:  # segments were moved
            await restore_pages(engine, shard, gone := folder / f"moved-{shard}")
            for stub in gone.glob(f"*{STUB}"):
                await to_thread(delete_object, stub.with_name(stub.name.removesuffix(STUB)))
        await remove_moved(engine, shard, folder, (await engine.log_span(shard)).last)
        for logs in (engine, engine.pages, engine.snapshots):
            await logs.remove_entries(shard, (await logs.log_span(shard)).last)
    for seeds in await engine.keys(SEEDS_PREFIX):
        await engine.delete(seeds.key)
