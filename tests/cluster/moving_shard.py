"""A shard that moves between nodes while its engine fails: base of tests with random steps."""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.replica import kept_pages
from minicrawl.cluster.replica.kept_pages import take_over_pages
from minicrawl.cluster.replica.restoring import take_over
from minicrawl.cluster.replica.shipping import ReplicaLimits, ShardReplica
from minicrawl.config import Storing
from minicrawl.crawl.record.archiving import ArchiveSinks, open_archive
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
from minicrawl.errors import NoRoom
from minicrawl.store.reader import archive_folder
from minicrawl.store.writer import StoreWriter
from tests.cluster.documents import SHARD
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Folder for stores: a disk would take most of the time."""
_FAULTS = st.lists(st.sampled_from([None, None, *Fault]), min_size=1, max_size=5)


SMALL = ReplicaLimits(wal_bytes=60_000, log_bytes=10_000, store_part=1_000)
_PIECE_BYTES = 700
_SEGMENT_BYTES = 4_000


class ShardNode:
    """Node that has taken the shard over. With `keeps` it keeps pages, and `out` has an archive."""

    def __init__(
        self,
        servers: FakeServers,
        folder: Path,
        limits: ReplicaLimits = SMALL,
        *,
        keeps: bool = False,
        objects: str | None = None,
    ) -> None:
        self.path, engine, pages = folder / "crawl.db", FakeEngine(servers), None

        async def connect() -> ClusterEngine:
            return FakeEngine(servers)

        taken = asyncio.run(take_over(engine, SHARD, self.path))
        if keeps:
            pages = asyncio.run(take_over_pages(engine, SHARD, archive_folder(self.path)))
        self.replica = ShardReplica(SHARD, self.path, taken, connect, limits, pages, objects)
        self.store = StoreWriter.open(self.path, self.replica)
        self.out: StoreWriter | StoreWithArchive = self.store
        self._files = ExitStack()
        for close in (self.replica.close, self.store.close, self.replica.closing):
            self._files.callback(close)
        if keeps:
            try:
                archive = open_archive(
                    self.store, Storing(keep="pages"), lambda _event: None, _SEGMENT_BYTES
                )
            except BaseException:
                self.end()
                raise
            assert archive is not None
            self.archive = archive
            self._files.callback(archive.close)
            self.out = StoreWithArchive(self.store, ArchiveSinks(archive))

    @property
    def content(self) -> bytes:
        return bytes(self.store.connection.serialize())

    def end(self) -> None:
        """Close the files; the engine has everything that counts."""
        self._files.close()


class MovingShard(RuleBasedStateMachine):
    """`node` holds the shard; `lost` are nodes that do not know that they have lost it."""

    keeps = False
    """Whether the nodes keep pages."""
    has_bucket = False
    """Whether snapshots go to an object store."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory(dir=MEMORY)
        self.folders = 0
        self.servers = FakeServers(seed=1)
        self.lost: list[ShardNode] = []
        self.bucket = self.folder()
        self.environment = pytest.MonkeyPatch()
        self.environment.setenv("MINICRAWL_OBJECTS", self.bucket.as_uri())
        self.environment.setattr(kept_pages, "PIECE_BYTES", _PIECE_BYTES)
        self.node = self.new_node()

    def folder(self) -> Path:
        self.folders += 1
        folder = Path(self.scratch.name) / str(self.folders)
        folder.mkdir()
        return folder

    def new_node(self) -> ShardNode:
        objects = self.bucket.as_uri() if self.has_bucket else None
        try:
            return ShardNode(self.servers, self.folder(), keeps=self.keeps, objects=objects)
        except (EngineUnavailable, NoRoom):
            self.servers.faults.clear()
            return ShardNode(self.servers, self.folder(), keeps=self.keeps, objects=objects)

    @rule(faults=_FAULTS)
    def fail(self, faults: list[Fault | None]) -> None:
        self.servers.faults = faults

    @rule()
    def take_over(self) -> None:
        self.lost.append(self.node)
        self.node = self.new_node()

    def teardown(self) -> None:
        self.servers.faults.clear()
        self.take_over()
        for node in [self.node, *self.lost]:
            node.end()
        self.environment.undo()
        self.scratch.cleanup()
