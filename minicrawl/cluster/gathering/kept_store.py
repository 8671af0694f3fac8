"""Restores all shards of a cluster from its engine and gathers them, without asking any node.

Laws: the shards are restored as of one moment, or nearly. The name of a kept store identifies the
crawl and the ends of all logs, so an existing file is as fresh as a new one, and is used again.
Older stores that nobody reads are removed, with their side files. The joined archive beside a store
has what the store counts of each shard, and nothing after that; if it is kept, only new pages are
fetched.
"""

import asyncio
import shutil
from asyncio import to_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.segments import Segments, shown
from minicrawl.archive.warc.earlier import read_earlier
from minicrawl.cluster.engine import ClusterEngine, ignore
from minicrawl.cluster.gathering.gather import Gathered, gather
from minicrawl.cluster.gathering.marks import in_use, mark_of, unread
from minicrawl.cluster.replica.kept_pages import restore_pages
from minicrawl.cluster.replica.restoring import find_end, restore
from minicrawl.cluster.terms import last_told, refuse_other_version, state_of, terms_of
from minicrawl.errors import StoreError, UsageError
from minicrawl.own_files import scratch
from minicrawl.ports import Progress, part, unreported
from minicrawl.store import tables
from minicrawl.store.disk.files import files_of, move, remove
from minicrawl.store.merging import is_begun
from minicrawl.store.reader import (
    ARCHIVE,
    EARLIER,
    LOCK,
    archive_folder,
    file_beside,
    reading,
    refuse_to_overwrite,
    shared_archive,
)
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

_RESTORED, _MADE = 0.5, 0.7
"""Rough progress when the shards are restored, and when the store is made."""
_JOINED = ".pages"
"""Suffix of the folder in which the archives of all shards are joined."""
_DIGEST_BYTES = 8


class KeptStore(NamedTuple):
    """A gathered store, and the report on it, or None if it existed already."""

    store: Path
    made: Gathered | None


async def gather_cluster(
    engine: ClusterEngine,
    into: Path,
    progress: Progress = unreported,
    *,
    converges: bool = True,
    earlier: Path | None = None,
    emit: Callable[[str], None] = ignore,
) -> Gathered:
    """Gather the whole cluster into one store, including kept pages.

    Web archives that are exported from it refer to the bodies of those whose indexes are `earlier`.
    """
    with _drafted(into, earlier, emit) as draft:
        _, ends = await _ends(engine)
        made = await _gathered(engine, ends, draft, part(progress, 0, _MADE), converges=converges)
        await fetch_archives(engine, draft, archive_folder(draft), part(progress, _MADE, 1))
    return replace(made, store=into)


@contextmanager
def _drafted(
    into: Path, earlier: Path | None = None, emit: Callable[[str], None] = ignore
) -> Iterator[Path]:
    """Yield a draft path for a store; at the end, the store and its side files move to `into`."""
    refuse_to_overwrite(into)
    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gathered", into.parent) as folder:
        draft = folder / into.name
        if earlier is not None:
            read_earlier(earlier, file_beside(draft, EARLIER), emit)
        yield draft
        refuse_to_overwrite(into)
        move(draft, into)


async def kept_store(
    engine: ClusterEngine,
    folder: Path,
    progress: Progress = unreported,
    *,
    pages: bool = False,
    reading: ExitStack | None = None,
) -> KeptStore:
    """Return the gathered store in this folder; make a new one if the crawl has gone on.

    With `pages` the store includes the kept pages of shards, from one folder for all such stores.
    Other callers remove the store when the crawl has gone on, but not before `reading` is closed.
    """
    crawl, ends = await _ends(engine)
    moment = blake2b(repr(ends).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    store, made = folder / f"{crawl}-{moment}.db", None
    if reading is not None:
        reading.enter_context(in_use(store))
    if not store.exists():
        with _drafted(store) as draft:
            made = await _gathered(
                engine, ends, draft, part(progress, 0, _MADE) if pages else progress
            )
        made = replace(made, store=store)
        _remove_older(folder, store)
    if pages and _absent_archives(store):
        joined = shared_archive(store)
        await fetch_archives(engine, store, joined, part(progress, _MADE, 1))
        with suppress(FileExistsError):
            store.with_name(f"{store.name}{ARCHIVE}").symlink_to(joined.name)
    return KeptStore(store, made)


async def _ends(engine: ClusterEngine) -> tuple[str, list[int]]:
    """Return the id of the crawl, and the last entry of each log, read in parallel."""
    terms, _ = await terms_of(engine)
    refuse_other_version(terms)
    await state_of(engine)  # there is a crawl

    async def end(shard: int) -> int:
        return await find_end(engine, shard, (await last_told(engine, shard)).entry)

    return terms.id, await asyncio.gather(*map(end, range(terms.shards)))


async def _gathered(
    engine: ClusterEngine,
    ends: Sequence[int],
    into: Path,
    progress: Progress,
    *,
    converges: bool = True,
) -> Gathered:
    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gather", into.parent) as folder:
        paths = [folder / f"shard-{shard}.db" for shard in range(len(ends))]
        for shard, path in enumerate(paths):
            await restore(engine, shard, path, until=ends[shard])
            part(progress, 0, _RESTORED)((shard + 1) / len(ends))
        begun = [path for path in paths if is_begun(path)]
        if not begun:
            raise UsageError("the crawl of this cluster has no pages yet: no node has begun it")
        making = part(progress, _RESTORED, 1)
        return await to_thread(gather, begun, into, making, converges=converges)


def _remove_older(folder: Path, store: Path) -> None:
    """Remove stores of other moments and of earlier crawls, with their side files and pages."""
    for other in folder.glob("*.db"):
        if other != store:
            with unread(other) as is_unread:
                if not is_unread:
                    continue
                beside = other.with_name(f"{other.name}{LOCK}"), mark_of(other)
                remove(*files_of(other), *beside)
    crawls = {other.name.partition("-")[0] for other in folder.glob("*.db")}
    for pages in folder.glob(f"*{_JOINED}"):
        if pages.name.removesuffix(_JOINED) not in crawls:
            shutil.rmtree(pages, ignore_errors=True)


def _absent_archives(store: Path) -> dict[int, int]:
    """Return the ends of shards' archives; none if they kept no pages, or the store has them."""
    with reading(store) as connection:
        counters = tables.counters(connection)
    ends = counters.get(tables.ARCHIVES)
    if tables.ARCHIVE_END in counters or not isinstance(ends, dict):
        return {}
    return {int(shard): int(end) for shard, end in ends.items()}


async def fetch_archives(
    engine: ClusterEngine, store: Path, joined: Path, progress: Progress = unreported
) -> None:
    """Join the archives that the engine has, and note their end in the gathered store."""
    if not (ends := _absent_archives(store)):
        return
    with closing(await to_thread(JoinedArchive, joined)) as archive:
        for count, (shard, end) in enumerate(ends.items(), 1):
            source = archive.source(str(shard))
            if source.place < end:
                with scratch("pages", archive.folder.parent) as folder:
                    first = max(source.entry, 1)
                    _, begins_in = await restore_pages(engine, shard, folder, first, end)
                    await to_thread(_join, archive, shard, folder, end, begins_in)
            progress(count / len(ends))
        with closing(StoreWriter.open(store)) as out:
            counters = tables.counters(out.connection) | {tables.ARCHIVE_END: archive.end}
            out.commit(Batch(counters=counters))


def _join(archive: JoinedArchive, shard: int, folder: Path, end: int, entry: int) -> None:
    """Copy the pages of a shard up to `end`, which its store counts."""
    with closing(Segments(folder)) as segments:
        if segments.end < end:
            raise StoreError(
                f"the kept pages of shard {shard} end at {shown(segments.end)}, and its store "
                f"counts those up to {shown(end)}"
            )
        archive.add(str(shard), segments, end, entry)
