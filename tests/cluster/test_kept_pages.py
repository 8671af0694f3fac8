"""Every page that a store counts is in the engine, whatever happens to engine and nodes."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import rule

from minicrawl.archive import segments
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.cluster.engine import EngineError, Fenced
from minicrawl.cluster.replica.entries import Entry, EntryKind, pack
from minicrawl.cluster.replica.kept_pages import restore_pages
from minicrawl.cluster.replica.restoring import restore
from minicrawl.errors import NoRoom
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from tests.archive.archives import bodies, body, kept, url
from tests.cluster.documents import SHARD
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.moving_shard import MovingShard, ShardNode


def restored(servers: FakeServers, folder: Path) -> dict[str, list[bytes]]:
    """Restore store and pages on another machine, and return the pages, which must be whole."""
    path, engine = folder / "crawl.db", FakeEngine(servers)
    asyncio.run(restore(engine, SHARD, path))
    asyncio.run(restore_pages(engine, SHARD, archive_folder(path)))
    with reading(path) as connection:
        end = tables.archive_end(connection)
    with closing(ArchiveReader(archive_folder(path), end)) as reader:
        assert list(verify(reader)) == []
        return bodies(reader)


class KeptPages(MovingShard):
    """A shard that keeps pages.

    `possible` are the pages that may be found: those confirmed last, and those committed since
    without an answer of the engine.
    """

    keeps = True

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, list[bytes]] = {}
        self.possible = [self.known]
        self.batch: Batch | None = None
        self.pages: list[int] = []

    @rule(pages=st.lists(st.integers(0, 30), min_size=1, max_size=12))
    def keep_some(self, pages: list[int]) -> None:
        """Keep these pages, or first those that were not confirmed."""
        if self.batch is None:
            self.pages, self.batch = (
                pages,
                Batch(answers=[kept(url(page), body(page)) for page in pages]),
            )
        found = {name: list(versions) for name, versions in self.known.items()}
        for page in self.pages:
            found.setdefault(url(page), []).append(body(page))
        try:
            self.node.out.commit(self.batch)
        except NoRoom:
            self.possible = [self.known, found]
        else:
            self.batch = None
            self.known, self.possible = found, [found]

    @rule()
    def take_over(self) -> None:
        super().take_over()
        self.batch = None
        self.read()

    @rule(place=st.integers(0, 5), page=st.integers(0, 30))
    def write_without_the_shard(self, place: int, page: int) -> None:
        if self.lost:
            node = self.lost[place % len(self.lost)]
            with pytest.raises((Fenced, NoRoom)):
                node.out.commit(Batch(answers=[kept(url(page), body(page))]))

    @rule()
    def read(self) -> None:
        self.servers.faults.clear()
        found = restored(self.servers, self.folder())
        assert found in self.possible
        if self.batch is None:
            self.known, self.possible = found, [found]


TestKeptPages = pytest.mark.slow(KeptPages.TestCase)
TestKeptPages.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def test_pages_wait_while_the_engine_is_full(tmp_path: Path) -> None:
    servers = FakeServers()
    for name in ("node", "before", "after"):
        (tmp_path / name).mkdir()
    node = ShardNode(servers, tmp_path / "node", keeps=True)
    node.out.commit(Batch(answers=[kept(url(1), body(1))]))
    servers.log_bytes, batch = 0, Batch(answers=[kept(url(2), body(2))])
    for _ in range(2):
        with pytest.raises(NoRoom, match="is full"):
            node.out.commit(batch)
    assert restored(servers, tmp_path / "before") == {url(1): [body(1)]}
    servers.log_bytes = None
    node.out.commit(batch)
    assert restored(servers, tmp_path / "after") == {url(1): [body(1)], url(2): [body(2)]}
    node.end()


def pieces(*packed: bytes) -> FakeServers:
    servers = FakeServers()
    servers.pages[SHARD].contents = [*packed]
    return servers


def laid(servers: FakeServers, folder: Path) -> bytes:
    asyncio.run(restore_pages(FakeEngine(servers), SHARD, folder))
    return b"".join(
        segments.Segments(folder).path(n).read_bytes() for n in segments.Segments(folder).numbers()
    )


def more(place: int, content: bytes) -> bytes:
    return pack(Entry(EntryKind.MORE, place, content))


FIRST = segments.FIRST
SECOND = segments.place_at(2, 0)


def test_a_later_piece_replaces_everything_after_its_beginning(tmp_path: Path) -> None:
    servers = pieces(
        more(FIRST, b"abcdef"), more(SECOND, b"gone"), more(FIRST + 2, b"XY"), more(SECOND, b"new")
    )
    assert laid(servers, tmp_path) == b"abXYnew"


@pytest.mark.parametrize("place", [0, FIRST - 1, FIRST + 7, SECOND + 1, segments.place_at(3, 0)])
def test_a_piece_that_leaves_a_gap_is_refused(place: int, tmp_path: Path) -> None:
    servers = pieces(more(FIRST, b"abcdef"), more(place, b"x"))
    with pytest.raises(EngineError, match="damaged"):
        laid(servers, tmp_path)
