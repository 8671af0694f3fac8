"""The archives of all shards become one, beside the gathered store.

Laws: what the gathered store counts of each shard is there, and nothing behind it. Of a joined
archive that is kept, only what is new is fetched.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.segments import Segments, shown
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.pages.restoring import lay_pages
from minicrawl.errors import StoreError
from minicrawl.export.drafts import scratch
from minicrawl.progress import Progress, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter


def archives_of(store: Path) -> dict[int, int]:
    """Where the archives of the shards end that a gathered store knows of, by shard."""
    with reading(store) as connection:
        found = tables.counters(connection).get(tables.ARCHIVES)
    return {int(shard): int(end) for shard, end in found.items()} if isinstance(found, dict) else {}


def has_pages(store: Path) -> bool:
    """Whether a gathered store has its pages, if shards kept any."""
    with reading(store) as connection:
        found = tables.counters(connection)
    return tables.ARCHIVES not in found or tables.ARCHIVE_END in found


async def fetch_archives(
    engine: ClusterEngine, store: Path, joined: Path, tell: Progress = unreported
) -> None:
    """Join what the shards keep in the engine, and let the gathered store know of it."""
    ends = archives_of(store)
    archive = await to_thread(JoinedArchive, joined)
    with closing(archive):
        for count, (shard, end) in enumerate(ends.items(), 1):
            if archive.source(str(shard)).place < end:
                await _fetch(engine, archive, shard, end)
            tell(count / len(ends))
        await to_thread(_tell_store, store, archive.end)


async def _fetch(engine: ClusterEngine, archive: JoinedArchive, shard: int, end: int) -> None:
    source = archive.source(str(shard))
    with scratch("pages", archive.folder.parent) as folder:
        laid = await lay_pages(engine, shard, folder, max(source.note, 1), end)
        if laid.end < end:
            raise StoreError(
                f"the pages of shard {shard} end at {shown(laid.end)} in the servers, and its "
                f"store counts those up to {shown(end)}"
            )
        with closing(Segments(folder)) as segments:
            await to_thread(archive.add, str(shard), segments, end, laid.begins_in)


def join_archives(paths: Sequence[Path], store: Path, tell: Progress = unreported) -> None:
    """Join the archives beside the stores of the shards, for a store that was made of them."""
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
            tell(count / len(ends))
        _tell_store(store, archive.end)


@contextmanager
def drafted(into: Path) -> Iterator[Path]:
    """A place for a store and all that lies beside it, which go to `into` together in the end."""
    from minicrawl.store.beside.files import move

    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gathered", into.parent) as folder:
        draft = folder / into.name
        yield draft
        move(draft, into)


def _shard_of(path: Path) -> int:
    with reading(path) as connection:
        terms = tables.terms(connection)
    assert terms is not None
    return terms.shard


def _tell_store(store: Path, end: int) -> None:
    with closing(StoreWriter.open(store)) as out:
        counters = tables.counters(out.connection) | {tables.ARCHIVE_END: end}
        out.commit(Batch(counters=counters))
