"""Runs a node: checks its folder and disk, puts its parts together, serves until it is stopped.

Law: two nodes never share a folder.
"""

import asyncio
import fcntl
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex

from minicrawl import __version__
from minicrawl.archive.warc.earlier import read_earlier
from minicrawl.cluster.access import ClusterAccess, opened
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.node import Node
from minicrawl.cluster.node.presence import NodePresence, lease_clock
from minicrawl.cluster.node.shard_process import STORE_NAME, ShardJob, ShardProcess
from minicrawl.cluster.node.supervisor import Tell
from minicrawl.cluster.records import NodeRecord
from minicrawl.cluster.server_versions import cautions
from minicrawl.cluster.shared_settings import (
    check_terms,
    effective_settings,
    settings_of_node,
    workers_of_node,
)
from minicrawl.cluster.terms import wait_for_terms
from minicrawl.config import Loaded
from minicrawl.crawl.record.store_with_archive import earlier_place
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.store.reader import EARLIER, file_beside

LEAST_DISK = 50_000_000
"""Least free disk space in bytes: a new shard takes some megabytes, and SQLite some to write."""
_LOCK = "node.lock"


def default_node_name(ending: str = "") -> str:
    """Return the machine's name and an ending, reduced to the characters that keys allow."""
    name = platform.node().partition(".")[0]
    allowed = "".join(sign if sign.isalnum() else "-" for sign in name)
    return (allowed[: 32 - len(ending)] or "node") + ending


async def run_node(
    name: str,
    access: ClusterAccess,
    loaded: Loaded,
    folder: Path,
    emit: Tell,
    stopped: asyncio.Event,
    most_shards: int = MOST_SHARDS,
) -> None:
    """Run a node until it is stopped. If there is no crawl yet, wait for one."""
    own_settings, workers = settings_of_node(loaded), workers_of_node(loaded)
    with _locked(folder):
        check_disk(folder)
        async with opened(access) as engine:
            for caution in cautions(await engine.server_facts()):
                emit(caution)
            waiting = (
                "no crawl in this cluster yet: waiting for minicrawl crawl SEEDS --cluster URL"
            )
            begun = asyncio.ensure_future(wait_for_terms(engine, partial(emit, waiting)))
            ended = asyncio.ensure_future(stopped.wait())
            await asyncio.wait((begun, ended), return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            if not begun.done():
                begun.cancel()
                return
            terms = begun.result()
            storing = check_terms(terms, own_settings).storing
            if (earlier := earlier_place(storing)) is not None:  # once, for all shards
                beside = file_beside(folder / STORE_NAME, EARLIER)
                await asyncio.to_thread(read_earlier, earlier, beside, emit)
            state = CrawlState(engine, terms)
            shown = {""}  # lines about ignored settings: the terms may change while the crawl runs

            def start(shard: int, generation: int) -> ShardProcess:
                assert state.terms is not None, "a node has the terms before it takes a shard"
                settings, ignored = effective_settings(state.terms, own_settings)
                if ignored not in shown:
                    emit(ignored)
                    shown.add(ignored)
                job = ShardJob(
                    shard=shard,
                    shards=terms.shards,
                    run=state.state.run,
                    access=replace(access, name=engine.name),
                    generation=generation,
                    folder=folder,
                    settings={**settings, "workers": workers},
                    own_settings=own_settings,
                    seeds=state.terms.seeds,
                )
                return ShardProcess(job, lambda text: emit(f"shard {shard}: {text}"))

            record = NodeRecord(
                session=token_hex(8),
                beat=0,
                version=__version__,
                machine=platform.node(),
                room=most_shards,
                workers=workers,
            )
            presence = NodePresence(engine, name, record, folder, lease_clock)
            await Node(engine, presence, state, start, emit, stopped).run()
    if state.state.continued_as and not stopped.is_set():
        emit("the crawl has other shards now")
        await run_node(name, access, loaded, folder, emit, stopped, most_shards)


def check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < LEAST_DISK:
        raise UsageError(
            f"{folder} has {free / 1e6:,.0f} MB of free space, and a new shard needs "
            f"{LEAST_DISK / 1e6:,.0f} MB: give a --folder on another disk"
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other nodes out of the folder. The lock ends with the process, even if it is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("ab")
    except OSError as error:
        raise UsageError(f"--folder {folder}: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another node keeps its shards in {folder}: give a --folder"
            ) from None
        yield
