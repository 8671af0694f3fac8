"""Every commit that the engine confirmed is restored, whatever happens to engine and nodes."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest
import zstandard
from hypothesis import settings, strategies as st
from hypothesis.stateful import rule

from minicrawl.archive.objects.moved_file import put_whole, stub_path, write_stub
from minicrawl.cluster.engine import EngineError, EngineUnavailable, Fenced
from minicrawl.cluster.records import KeyEntry, SnapshotRecord
from minicrawl.cluster.replica.entries import Entry, EntryKind, pack, unpack
from minicrawl.cluster.replica.restoring import Restored, restore, take_over
from minicrawl.cluster.replica.shipping import ReplicaLimits
from minicrawl.errors import NoRoom, Unnamed
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.object_stores import objects, s3, store
from tests.cluster.documents import SHARD, document
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.moving_shard import MovingShard, ShardNode

__all__ = ["s3", "store"]
PAGES = st.integers(0, 40)
SIZES = st.sampled_from([2, 500, 20_000, 60_000])


def content(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        return bytes(connection.serialize())


class Replicated(MovingShard):
    """A shard whose store is replicated.

    `possible` are the contents that may be restored: the one confirmed last, and those committed
    since without an answer of the engine.
    """

    def __init__(self) -> None:
        super().__init__()
        self.node.store.compact()  # the tables of a new store
        self.possible = {self.node.content}
        self.unconfirmed: Batch | None = None

    @rule(pages=st.lists(PAGES, min_size=1, max_size=8), size=SIZES)
    def commit_some(self, pages: list[int], size: int) -> None:
        for page in pages:
            self.commit(page, size)

    def commit(self, page: int, size: int) -> None:
        """Commit a document, or first the one that was not confirmed."""
        self.unconfirmed = self.unconfirmed or document(page, size)
        try:
            self.node.store.commit(self.unconfirmed)
        except NoRoom:
            self.possible.add(self.node.content)
        else:
            self.possible = {self.node.content}
            self.unconfirmed = None

    @rule()
    def compact(self) -> None:
        if self.unconfirmed is None:
            try:
                self.node.store.compact()
            except NoRoom:
                self.possible.add(self.node.content)
            else:
                self.possible = {self.node.content}

    @rule()
    def take_over(self) -> None:
        super().take_over()
        self.possible &= {content(self.node.path)}
        assert self.possible
        self.unconfirmed = None

    @rule(place=st.integers(0, 5), size=SIZES)
    def write_without_the_shard(self, place: int, size: int) -> None:
        if self.lost:
            before = self.servers.logs[SHARD].last
            with pytest.raises((Fenced, NoRoom)):
                self.lost[place % len(self.lost)].store.commit(document(place, size))
            assert self.servers.logs[SHARD].last == before

    @rule()
    def read(self) -> None:
        """Restore the store elsewhere while the node writes it."""
        path = self.folder() / "crawl.db"
        self.servers.faults.clear()
        asyncio.run(restore(FakeEngine(self.servers), SHARD, path))
        assert content(path) in self.possible

    @rule()
    def wait_for_a_snapshot(self) -> None:
        while self.unconfirmed is None and not self.node.replica.may_checkpoint():
            time.sleep(0.001)


TestReplicated = Replicated.TestCase
TestReplicated.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)


class InBucket(Replicated):
    """A shard whose snapshots are in an object store."""

    has_bucket = True


TestInBucket = pytest.mark.slow(InBucket.TestCase)
TestInBucket.settings = settings(max_examples=8, stateful_step_count=30, deadline=None)


def commit_in_time(store: StoreWriter, rows: Batch) -> int:
    """Commit as the crawl does, again while there is no room; return the number of retries."""
    for tries in range(1_000):
        try:
            store.commit(rows)
        except NoRoom:
            time.sleep(0.005)
        else:
            return tries
    raise AssertionError("there is never room")


def test_neither_holder_nor_successor_goes_on_after_the_end_of_a_server_that_lost_entries(
    tmp_path: Path,
) -> None:
    servers = FakeServers()
    node = ShardNode(servers, tmp_path)
    commit_in_time(node.store, document(1, 500))
    last = node.replica.last
    servers.forgot[SHARD] = last - 1
    assert commit_in_time(node.store, document(2, 500))
    assert node.replica.last > last
    node.end()
    servers.forgot[SHARD] = 1
    taken = asyncio.run(
        take_over(FakeEngine(servers), SHARD, tmp_path / "taken.db", least=node.replica.last)
    )
    assert taken.entry == node.replica.last + 1
    with pytest.raises(EngineUnavailable, match="100"):
        asyncio.run(take_over(FakeEngine(servers), SHARD, tmp_path / "next.db", least=100))


def whole_snapshots(servers: FakeServers) -> Iterator[SnapshotRecord]:
    for entry in map(unpack, servers.snapshots[SHARD].contents):
        if entry.kind is EntryKind.WHOLE:
            yield SnapshotRecord.unpack("of a snapshot", entry.content)


def test_a_full_log_gets_room_by_a_snapshot(tmp_path: Path) -> None:
    servers = FakeServers(log_bytes=200_000)
    node = ShardNode(servers, tmp_path, ReplicaLimits(wal_bytes=60_000, log_bytes=1 << 40))
    waits = [commit_in_time(node.store, document(number, 30_000)) for number in range(1, 41)]
    assert any(waits)
    assert servers.logs[SHARD].first > 1
    assert len(list(whole_snapshots(servers))) == 1
    before = node.content
    node.end()
    again = tmp_path / "again.db"
    asyncio.run(restore(FakeEngine(servers), SHARD, again))
    assert content(again) == before


def write_snapshots(node: ShardNode, first: int = 0) -> None:
    for page in range(first, first + 12):
        commit_in_time(node.store, document(page, 30_000))
        while not node.replica.may_checkpoint():
            time.sleep(0.001)


def test_a_bucket_has_the_last_snapshot_and_no_other(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_OBJECTS", store)
    servers, place = FakeServers(), tmp_path / "1"
    place.mkdir()
    node, limits = None, ReplicaLimits(wal_bytes=60_000, log_bytes=60_000, store_part=1_000)
    for number in range(1, 4):
        node = ShardNode(servers, place, limits, objects=store)
        write_snapshots(node, first=number * 100)
        before = node.content
        node.end()
        # A node that was killed between the object and the key that names it.
        attempt = tmp_path / f"shard-{SHARD}-{number}-abc"
        attempt.write_bytes(b"a snapshot that nobody names")
        stub = write_stub(attempt, store)
        key = f"moved.{SHARD}.{attempt.name}"
        asyncio.run(FakeEngine(servers).put(key, stub_path(attempt).read_bytes()))
        put_whole(stub, attempt)
    again = tmp_path / "again.db"
    asyncio.run(restore(FakeEngine(servers), SHARD, again))
    assert content(again) == before
    found = objects(store)
    keys = asyncio.run(FakeEngine(servers).keys("moved."))
    assert {key.split("/")[1] for key in found} == {key.key.rpartition(".")[2] for key in keys}
    assert len(found) == 2  # the last snapshot, and the attempt after it
    assert sum(map(len, servers.snapshots[SHARD].contents)) < 1_000


class OvertakenReader(FakeEngine):
    """Engine that reads where a snapshot is just before the next one replaces it.

    The key is there still, though its object is not.
    """

    def __init__(self, servers: FakeServers, write: Callable[[], None]) -> None:
        super().__init__(servers)
        self.write: Callable[[], None] | None = write

    async def get(self, key: str) -> KeyEntry | None:
        entry = await super().get(key)
        if entry is not None and entry.value is not None and self.write is not None:
            self.write()
            self.write = None
            await self.put(key, entry.value)
        return entry


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that nodes of this process may use as a bucket."""
    folder = tmp_path / "bucket"
    folder.mkdir()
    monkeypatch.setenv("MINICRAWL_OBJECTS", folder.as_uri())
    return folder


def test_a_reader_whose_snapshot_is_replaced_meanwhile_reads_the_next_one(
    tmp_path: Path, bucket: Path
) -> None:
    servers = FakeServers()
    node = ShardNode(servers, tmp_path, objects=bucket.as_uri())

    write_snapshots(node)
    again, reader = tmp_path / "again.db", OvertakenReader(servers, partial(write_snapshots, node))
    asyncio.run(restore(reader, SHARD, again))
    assert content(again) == node.content
    node.end()


def test_a_snapshot_with_other_bytes_is_refused(
    tmp_path: Path, bucket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = FakeServers()
    node = ShardNode(servers, tmp_path, objects=bucket.as_uri())
    write_snapshots(node)
    node.end()
    for file in bucket.glob("*/*"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(EngineError, match="is damaged"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "again.db"))
    shutil.rmtree(bucket)
    with pytest.raises(EngineError, match=r"is gone|make it"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "again.db"))
    monkeypatch.delenv("MINICRAWL_OBJECTS")
    with pytest.raises(Unnamed, match="which you have not named"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "elsewhere" / "crawl.db"))


def test_a_changed_entry_is_refused(tmp_path: Path) -> None:
    servers = FakeServers()
    node = ShardNode(servers, tmp_path)
    node.store.commit(document(1))
    node.end()
    contents = servers.logs[SHARD].contents
    contents[-1] = contents[-1][:-1] + bytes([contents[-1][-1] ^ 1])
    with pytest.raises(EngineError, match="its checksum is wrong"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "again.db"))


def test_an_empty_entry_fences_the_holder_and_is_skipped_by_its_successor(tmp_path: Path) -> None:
    servers = FakeServers()
    node = ShardNode(servers, tmp_path)
    node.store.commit(document(1))
    before, alien = node.content, node.replica.last + 1
    servers.logs[SHARD].contents.append(b"")
    with pytest.raises(Fenced):
        node.store.commit(document(2))
    node.end()
    path = tmp_path / "next.db"
    taken = asyncio.run(take_over(FakeEngine(servers), SHARD, path))
    assert taken.entry == alien + 1
    assert content(path) == before


def test_a_truncated_entry_is_named_and_never_skipped(tmp_path: Path) -> None:
    # It may have been a commit.
    servers = FakeServers()
    node = ShardNode(servers, tmp_path, ReplicaLimits())  # no snapshot removes entries
    node.store.commit(document(1))
    node.store.commit(document(2))
    node.end()
    contents, cut = servers.logs[SHARD].contents, node.replica.last - 1
    contents[cut - 1] = contents[cut - 1][:5]
    for _ in range(2):
        with pytest.raises(EngineError, match=rf"entry {cut} of "):
            asyncio.run(take_over(FakeEngine(servers), SHARD, tmp_path / "next.db"))


def test_the_error_names_the_later_version_of_an_entry() -> None:
    packed = pack(Entry(EntryKind.FIRST, 0, b"abc"))
    content = b"\x09" + packed[5:]
    with pytest.raises(EngineError, match="version 9"):
        unpack(crc32(content).to_bytes(4, "big") + content)


def test_an_entry_that_decompresses_to_more_than_a_node_sends_is_refused(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 30))
    servers = FakeServers()
    servers.logs[SHARD].contents = [pack(Entry(EntryKind.FIRST, 0, bomb))]
    with pytest.raises(EngineError, match="size"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "crawl.db"))


def test_a_shard_without_a_log_is_a_file_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    taken = asyncio.run(restore(FakeEngine(), SHARD, path))
    assert taken == Restored()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
