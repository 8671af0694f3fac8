"""All shards of a cluster, restored from its engine and gathered. No node is asked for anything.

Laws: the shards are restored as of one moment, or nearly so. The name of a kept file says of which
crawl it is and where the logs of all shards ended. So one that is there is as fresh as a new one
would be, and is used again; older ones that nobody reads go, with what lies beside them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.child.exchange import told_entry
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gather.gathering import Gathered, gather
from minicrawl.cluster.gather.in_use import in_use, mark_of, unread
from minicrawl.cluster.node.records import STATE_KEY, TERMS_KEY, StateRecord, TermsRecord
from minicrawl.cluster.pages.gathering import drafted, fetch_archives, has_pages, join_archives
from minicrawl.cluster.replica.restoring import find_end, restore
from minicrawl.cluster.terms import NO_CRAWL, refuse_other_version
from minicrawl.errors import UsageError
from minicrawl.export.drafts import scratch
from minicrawl.progress import Progress, part, unreported
from minicrawl.store.beside.files import files_of
from minicrawl.store.merging import is_begun
from minicrawl.store.reader import (
    ARCHIVE,
    LOCK,
    archive_folder,
    refuse_to_overwrite,
    shared_archive,
)

_RESTORED, _MADE = 0.5, 0.7
"""Of the work, roughly."""
_JOINED = ".pages"
"""The folder of an archive to which those of all shards are joined."""
_DIGEST_BYTES = 8


class KeptStore(NamedTuple):
    """A gathered store, and how it was made; None if it was there."""

    store: Path
    made: Gathered | None


async def gather_cluster(
    engine: ClusterEngine, into: Path, tell: Progress = unreported
) -> Gathered:
    """Make one store of the whole cluster, with the pages that it keeps."""
    refuse_to_overwrite(into)
    terms = await _terms(engine)
    with drafted(into) as draft:
        made = await _gathered(engine, await _ends(engine, terms), draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            await fetch_archives(engine, draft, archive_folder(draft), part(tell, _MADE, 1))
        refuse_to_overwrite(into)
    return replace(made, store=into)


def gather_stores(paths: Sequence[Path], into: Path, tell: Progress = unreported) -> Gathered:
    """The same with the stores of all shards, and the archives beside them."""
    refuse_to_overwrite(into)
    with drafted(into) as draft:
        made = gather(paths, draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            join_archives(paths, draft, part(tell, _MADE, 1))
        refuse_to_overwrite(into)
    return replace(made, store=into)


async def kept_store(
    engine: ClusterEngine,
    folder: Path,
    tell: Progress = unreported,
    *,
    pages: bool = False,
    reading: ExitStack | None = None,
) -> KeptStore:
    """The gathered store in this folder, which is made anew if the crawl went on since.

    With `pages` it has those that the shards keep. They are in one folder for all such stores.
    Others remove it when the crawl has gone on, unless it is kept until `reading` ends.
    """
    terms = await _terms(engine)
    ends = await _ends(engine, terms)
    store, made = folder / f"{terms.id}-{_digest(ends)}.db", None
    if reading is not None:
        reading.enter_context(in_use(store))
    if not store.exists():
        made = await _gathered(engine, ends, store, part(tell, 0, _MADE) if pages else tell)
        _remove_older(folder, store, f"{terms.id}{_JOINED}")
    if pages and not has_pages(store):
        joined = shared_archive(store)
        await fetch_archives(engine, store, joined, part(tell, _MADE, 1))
        with suppress(FileExistsError):
            store.with_name(f"{store.name}{ARCHIVE}").symlink_to(joined.name)
    return KeptStore(store, made)


async def _terms(engine: ClusterEngine) -> TermsRecord:
    found = await engine.get(TERMS_KEY)
    if found is None or found.value is None:
        raise UsageError(NO_CRAWL)
    terms = TermsRecord.unpack(TERMS_KEY, found.value)
    refuse_other_version(terms)
    return terms


async def _ends(engine: ClusterEngine, terms: TermsRecord) -> list[int]:
    """The last entries of all logs, asked for at once."""
    run = await _run(engine)

    async def end(shard: int) -> int:
        return await find_end(engine, shard, await told_entry(engine, shard, run))

    return await asyncio.gather(*map(end, range(terms.shards)))


async def _run(engine: ClusterEngine) -> int:
    """Of the crawl; 0 if that is not known."""
    found = await engine.get(STATE_KEY)
    if found is None or found.value is None:
        return 0
    return StateRecord.unpack(STATE_KEY, found.value).run


async def _gathered(
    engine: ClusterEngine, ends: Sequence[int], into: Path, tell: Progress
) -> Gathered:
    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gather", into.parent) as folder:
        begun: list[Path] = []
        absent: list[int] = []
        for shard, end in enumerate(ends):
            path = folder / f"shard-{shard}.db"
            await restore(engine, shard, path, until=end)
            if is_begun(path):
                begun.append(path)
            else:
                absent.append(shard)
            part(tell, 0, _RESTORED)((shard + 1) / len(ends))
        if not begun:
            raise UsageError("the crawl of this cluster has no pages yet: no node has begun it")
        return await asyncio.to_thread(gather, begun, into, part(tell, _RESTORED, 1), absent=absent)


def _digest(ends: Sequence[int]) -> str:
    return blake2b(repr(list(ends)).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _remove_older(folder: Path, store: Path, joined: str) -> None:
    """Those of other moments and of crawls before this one, with all that lies beside them."""
    for other in folder.glob(f"*{_JOINED}"):
        if other.name != joined:
            shutil.rmtree(other, ignore_errors=True)
    for other in folder.glob("*.db"):
        if other != store:
            with unread(other) as is_unread:
                if is_unread:
                    _remove(other)


def _remove(store: Path) -> None:
    for file in (*files_of(store), store.with_name(f"{store.name}{LOCK}"), mark_of(store)):
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)
