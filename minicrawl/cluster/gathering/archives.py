"""Joins the archives of all shards, beside the gathered store.

Laws: the joined archive has what the gathered store counts of each shard, and nothing after that.
If a joined archive is kept, only new pages are fetched.
"""

from asyncio import to_thread
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.segments import Segments, shown
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.replica.kept_pages import restore_pages
from minicrawl.errors import StoreError
from minicrawl.own_files import scratch
from minicrawl.ports import Progress, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter


def archives_of(store: Path) -> dict[int, int]:
    """Return the end of each shard's archive, as the gathered store counts it."""
    with reading(store) as connection:
        ends = tables.counters(connection).get(tables.ARCHIVES)
    return {int(shard): int(end) for shard, end in ends.items()} if isinstance(ends, dict) else {}


def has_pages(store: Path) -> bool:
    """Return whether a gathered store has its pages, or shards kept none."""
    with reading(store) as connection:
        counters = tables.counters(connection)
    return tables.ARCHIVES not in counters or tables.ARCHIVE_END in counters


async def fetch_archives(
    engine: ClusterEngine, store: Path, joined: Path, progress: Progress = unreported
) -> None:
    """Join the archives that the engine has, and note their end in the gathered store."""
    ends = archives_of(store)
    archive = await to_thread(JoinedArchive, joined)
    with closing(archive):
        for count, (shard, end) in enumerate(ends.items(), 1):
            if archive.source(str(shard)).place < end:
                await _fetch(engine, archive, shard, end)
            progress(count / len(ends))
        await to_thread(_note_archive_end, store, archive.end)


async def _fetch(engine: ClusterEngine, archive: JoinedArchive, shard: int, end: int) -> None:
    source = archive.source(str(shard))
    with scratch("pages", archive.folder.parent) as folder:
        first = max(source.note, 1)
        restored, _, begins_in = await restore_pages(engine, shard, folder, first, end)
        if restored < end:
            raise StoreError(
                f"the servers have the pages of shard {shard} up to {shown(restored)}, and its "
                f"store counts those up to {shown(end)}"
            )
        with closing(Segments(folder)) as segments:
            await to_thread(archive.add, str(shard), segments, end, begins_in)


def join_archives(paths: Sequence[Path], store: Path, progress: Progress = unreported) -> None:
    """Join the archives beside the stores of the shards, for a store gathered from these."""
    ends, folders = archives_of(store), {_shard_of(path): archive_folder(path) for path in paths}
    with closing(JoinedArchive(archive_folder(store))) as archive:
        for count, (shard, end) in enumerate(ends.items(), 1):
            with closing(Segments(folders[shard])) as segments:
                if segments.end < end:
                    raise StoreError(
                        f"{folders[shard]} ends at {shown(segments.end)}, and its store counts "
                        f"the pages up to {shown(end)}"
                    )
                archive.add(str(shard), segments, end)
            progress(count / len(ends))
        _note_archive_end(store, archive.end)


def _shard_of(path: Path) -> int:
    with reading(path) as connection:
        terms = tables.terms(connection)
    assert terms is not None
    return terms.shard


def _note_archive_end(store: Path, end: int) -> None:
    with closing(StoreWriter.open(store)) as out:
        counters = tables.counters(out.connection) | {tables.ARCHIVE_END: end}
        out.commit(Batch(counters=counters))
