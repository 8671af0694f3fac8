"""The law of the replica: what the engine confirmed is what is restored, whatever happens.

A writer commits and checkpoints at random, the engine fails at any call, the writer is killed at
any moment and goes on elsewhere; and one that lost the shard without knowing it goes on as well.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import zstandard
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced
from minicrawl.cluster.replica import (
    EntryKind,
    ReplicaEntry,
    ReplicaLimits,
    Restored,
    ShardReplica,
    WalDecompressor,
    pack_entry,
    restore,
    take_over,
    unpack_entry,
)
from minicrawl.errors import NoRoom
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.cluster.documents import SHARD, document
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault

SMALL = ReplicaLimits(wal_bytes=60_000, log_bytes=10_000, store_part=1_000)
MEMORY = Path("/dev/shm")
"""A disk would take most of the time."""
PAGES = st.integers(0, 40)
SIZES = st.sampled_from([2, 500, 20_000, 60_000])
FAULTS = st.lists(st.sampled_from([None, None, *Fault]), min_size=1, max_size=4)


def content(path: Path) -> bytes:
    """All pages of a store."""
    with closing(sqlite3.connect(path)) as connection:
        return bytes(connection.serialize())


class Node:
    """A node that has taken the shard over."""

    def __init__(self, servers: FakeServers, folder: Path, limits: ReplicaLimits = SMALL) -> None:
        self.path = folder / "crawl.db"
        taken = asyncio.run(take_over(FakeEngine(servers), SHARD, self.path))
        self.replica = ShardReplica(SHARD, self.path, taken, self._connect(servers), limits)
        self.store = StoreWriter.open(self.path, self.replica)

    @staticmethod
    def _connect(servers: FakeServers) -> Callable[[], Coroutine[Any, Any, ClusterEngine]]:
        async def connect() -> ClusterEngine:
            return FakeEngine(servers)

        return connect

    @property
    def content(self) -> bytes:
        return bytes(self.store.connection.serialize())

    def end(self) -> None:
        """What it did to its own files does not matter any more."""
        self.replica.closing()
        self.store.close()
        self.replica.close()


class Replicated(RuleBasedStateMachine):
    """`node` holds the shard, `lost` are nodes that do not know that they lost it.

    `possible` is what may be restored: what was confirmed last, and what was committed since, if
    nobody knows whether the engine has it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.folders = 0
        self.servers = FakeServers(seed=1)
        self.lost: list[Node] = []
        self.node = self.new_node()
        self.node.store.compact()  # the tables of a new store
        self.possible = {self.node.content}
        self.unconfirmed: Batch | None = None

    def folder(self) -> Path:
        self.folders += 1
        folder = Path(self.scratch.name) / str(self.folders)
        folder.mkdir()
        return folder

    def new_node(self) -> Node:
        try:
            return Node(self.servers, self.folder())
        except EngineUnavailable:
            self.servers.faults.clear()
            return Node(self.servers, self.folder())

    @rule(pages=st.lists(PAGES, min_size=1, max_size=8), size=SIZES)
    def commit_some(self, pages: list[int], size: int) -> None:
        for page in pages:
            self.commit(page, size)

    def commit(self, page: int, size: int) -> None:
        """What was not confirmed comes first."""
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

    @rule(faults=FAULTS)
    def fail(self, faults: list[Fault | None]) -> None:
        self.servers.faults = faults

    @rule()
    def take_over(self) -> None:
        self.lost.append(self.node)
        self.node = self.new_node()
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
        """Others read while it is written."""
        path = self.folder() / "crawl.db"
        self.servers.faults.clear()
        asyncio.run(restore(FakeEngine(self.servers), SHARD, path))
        assert content(path) in self.possible

    @rule()
    def wait_for_a_snapshot(self) -> None:
        while self.unconfirmed is None and not self.node.replica.may_checkpoint():
            time.sleep(0.001)

    def teardown(self) -> None:
        self.servers.faults.clear()
        self.take_over()
        for node in [self.node, *self.lost]:
            node.end()
        self.scratch.cleanup()


TestReplicated = Replicated.TestCase
TestReplicated.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)


def commit_in_time(store: StoreWriter, rows: Batch) -> int:
    """Commit as the crawl does, again while there is no room; how often there was none."""
    for tries in range(1_000):
        try:
            store.commit(rows)
        except NoRoom:
            time.sleep(0.005)
        else:
            return tries
    raise AssertionError("there is never room")


def test_a_server_that_lost_entries_is_not_believed(tmp_path: Path) -> None:
    """Neither by who takes the shard over, nor by its holder: nobody else has it."""
    servers = FakeServers()
    node = Node(servers, tmp_path)
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
    with pytest.raises(EngineUnavailable, match="the servers have lost some"):
        asyncio.run(take_over(FakeEngine(servers), SHARD, tmp_path / "next.db", least=100))


def test_a_log_that_is_full_makes_room_by_a_snapshot(tmp_path: Path) -> None:
    servers = FakeServers(log_bytes=200_000)
    node = Node(servers, tmp_path, ReplicaLimits(wal_bytes=60_000, log_bytes=1 << 40))
    waits = [commit_in_time(node.store, document(number, 30_000)) for number in range(1, 41)]
    assert any(waits)
    assert servers.logs[SHARD].first > 1
    assert len(servers.files) == 1
    before = node.content
    node.end()
    again = tmp_path / "again.db"
    asyncio.run(restore(FakeEngine(servers), SHARD, again))
    assert content(again) == before


def test_an_entry_that_was_changed_is_refused(tmp_path: Path) -> None:
    servers = FakeServers()
    node = Node(servers, tmp_path)
    node.store.commit(document(1))
    node.end()
    contents = servers.logs[SHARD].contents
    contents[-1] = contents[-1][:-1] + bytes([contents[-1][-1] ^ 1])
    with pytest.raises(EngineError, match="its checksum is wrong"):
        asyncio.run(restore(FakeEngine(servers), SHARD, tmp_path / "again.db"))


def test_an_empty_entry_does_not_stop_a_shard(tmp_path: Path) -> None:
    """Who holds the shard is refused behind it; who takes it over has all commits, and goes on."""
    servers = FakeServers()
    node = Node(servers, tmp_path)
    node.store.commit(document(1))
    before, alien = node.content, node.replica.last + 1
    servers.logs[SHARD].contents.append(b"")
    with pytest.raises(Fenced):
        node.store.commit(document(2))
    node.end()
    told: list[str] = []
    path = tmp_path / "next.db"
    taken = asyncio.run(take_over(FakeEngine(servers), SHARD, path, tell=told.append))
    assert taken.entry == alien + 1
    assert content(path) == before
    assert len(told) == 1
    assert f"entry {alien} of the log of shard {SHARD}" in told[0]


def test_an_entry_that_was_cut_short_says_which_one_and_what_to_do(tmp_path: Path) -> None:
    """It may have been a commit: it is never skipped, though more was appended behind it."""
    servers = FakeServers()
    node = Node(servers, tmp_path, ReplicaLimits())  # no snapshot removes entries
    node.store.commit(document(1))
    node.store.commit(document(2))
    node.end()
    contents, cut = servers.logs[SHARD].contents, node.replica.last - 1
    contents[cut - 1] = contents[cut - 1][:5]
    for _ in range(2):
        with pytest.raises(EngineError, match=rf"entry {cut} of .*under another name"):
            asyncio.run(take_over(FakeEngine(servers), SHARD, tmp_path / "next.db"))


def test_an_entry_of_a_later_version_says_what_to_do() -> None:
    packed = bytearray(pack_entry(ReplicaEntry(EntryKind.FIRST, 0, 3, b"abc")))
    packed[4] = 9
    packed[:4] = crc32(packed[4:]).to_bytes(4, "big")
    with pytest.raises(EngineError, match=r"version 9.*upgrade it"):
        unpack_entry(bytes(packed))


def test_a_few_bytes_do_not_become_a_gigabyte() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 30))
    entry = ReplicaEntry(EntryKind.FIRST, 0, 1_000, bomb)
    with pytest.raises(EngineError, match="not the size that it states"):
        WalDecompressor().decompress(entry)


def test_a_shard_without_a_log_is_a_file_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    taken = asyncio.run(restore(FakeEngine(), SHARD, path))
    assert taken == Restored(0, 0)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
