"""Full segments of kept pages are in an object store, and the engine forgets their bytes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import rule

from minicrawl.archive import segments
from minicrawl.archive.headers import write_headers
from minicrawl.archive.index import open_index
from minicrawl.archive.joining import JoinedArchive
from minicrawl.archive.objects.moved_file import STUB, move, stub_of
from minicrawl.archive.reader import ArchiveReader
from minicrawl.cluster.engine import EngineError, EngineUnavailable, LogEntry
from minicrawl.cluster.replica.entries import Entry, EntryKind, pack
from minicrawl.cluster.replica.kept_pages import restore_pages
from minicrawl.crawl.record.moving import finished_files
from minicrawl.errors import Unreachable
from minicrawl.store.reader import archive_folder
from minicrawl.store.records import Batch
from tests.archive.archives import bodies, body, kept, url
from tests.archive.object_stores import S3Server, objects, s3
from tests.cluster.documents import SHARD
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.cluster.moving_shard import ShardNode
from tests.cluster.test_kept_pages import KeptPages, restored

__all__ = ["s3"]


def move_segments(node: ShardNode, place: str, count: int | None = None) -> None:
    """Move as many finished segments, oldest first, as the thread of a crawl does."""
    node.replica.moved()
    for file in islice(finished_files(node.archive, None), count):
        move(write_headers(file), place)
        move(file, place)
    node.replica.moved()


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a folder that the user has named."""
    (tmp_path / "bucket").mkdir()
    monkeypatch.setenv("MINICRAWL_OBJECTS", (tmp_path / "bucket").as_uri())
    return (tmp_path / "bucket").as_uri()


def names(folder: Path) -> list[str]:
    """Return the keys of the objects that the stubs in a folder name."""
    files = (path.with_name(path.name.removesuffix(STUB)) for path in folder.glob(f"*{STUB}"))
    return sorted(stub.key for file in files if (stub := stub_of(file)) is not None)


def bytes_on_servers(servers: FakeServers) -> int:
    return sum(map(len, servers.pages[SHARD].contents))


class MovedPages(KeptPages):
    """A shard whose full segments are moved by its holder, and by nodes that have lost it."""

    has_bucket = True

    @rule(who=st.integers(0, 5), count=st.integers(0, 3))
    def move_some(self, who: int, count: int) -> None:
        nodes = [self.node, *self.lost]
        with suppress(EngineError):  # then it is moved, and the log does not say so yet
            move_segments(nodes[who % len(nodes)], self.bucket.as_uri(), count)

    @rule(is_put=st.booleans())
    def move_without_the_log(self, *, is_put: bool) -> None:
        """Move as a node that is killed on its way."""
        for file in islice(finished_files(self.node.archive, None), 1):
            move(write_headers(file), self.bucket.as_uri())
            if is_put:
                move(file, self.bucket.as_uri())
        self.take_over()

    def teardown(self) -> None:
        self.servers.faults.clear()
        self.take_over()
        move_segments(self.node, self.bucket.as_uri())
        # No object is forgotten, and none is there twice.
        folder = archive_folder(self.node.path)
        found = [key for key in objects(self.bucket.as_uri()) if "/segment-" in key]
        assert found == names(folder)
        self.read()
        super().teardown()


TestMovedPages = pytest.mark.slow(MovedPages.TestCase)
TestMovedPages.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def node_with(servers: FakeServers, folder: Path, pages: range) -> ShardNode:
    folder.mkdir()
    node = ShardNode(servers, folder, keeps=True)
    for page in pages:
        node.out.commit(Batch(answers=[kept(url(page), body(page))]))
    return node


@pytest.mark.slow
def test_servers_keep_the_last_segment_and_a_new_holder_reads_no_other(
    tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_OBJECTS", "s3://pages")
    servers = FakeServers()
    node = node_with(servers, tmp_path / "a", range(200))
    before = bytes_on_servers(servers)
    move_segments(node, "s3://pages")
    assert bytes_on_servers(servers) < before / 3
    node.end()
    s3.requests.clear()
    again = node_with(servers, tmp_path / "b", range(200, 201))
    moved = names(archive_folder(again.path))
    moved_segments = again.archive.reader.segments
    stored = sum(moved_segments.length(number) for number in moved_segments.numbers()[:-1])
    assert len(moved) > 20
    assert sum(count for _, count in s3.requests) < stored / 2
    assert len(list(again.archive.reader.index.rows(again.archive.end))) > 200
    again.end()
    assert restored(servers, tmp_path / "c") == {url(n): [body(n)] for n in range(201)}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "503", "lost", "expired"])
def test_a_failing_object_store_loses_nothing(
    tmp_path: Path, s3: S3Server, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_OBJECTS", "s3://pages")
    servers, failures = FakeServers(), 0
    node = node_with(servers, tmp_path / "a", range(60))
    for trial in range(6):
        s3.fault, s3.share = fault, (1.0, 0.5, 0.5, 0.5, 0.5, 0.0)[trial]
        try:
            move_segments(node, "s3://pages")
        except Unreachable:
            failures += 1
        node.end()
        s3.fault = ""
        assert restored(servers, tmp_path / f"r{trial}").keys() >= {url(n) for n in range(60)}
        node = node_with(servers, tmp_path / f"n{trial}", range(60 + trial, 61 + trial))
    assert failures
    move_segments(node, "s3://pages")
    assert objects("s3://pages") == names(archive_folder(node.path))
    assert restored(servers, tmp_path / "all") == {url(n): [body(n)] for n in range(66)}
    node.end()


class Interrupted(FakeEngine):
    """Engine whose entries are removed while they are read."""

    node: ShardNode | None = None
    place = ""

    @property
    def pages(self) -> "Interrupted":
        again = Interrupted(self.servers, self.servers.pages)
        again.node, again.place = self.node, self.place
        return again

    async def entries(self, shard: int, after: int = 0) -> AsyncGenerator[LogEntry, None]:
        async for entry in super().entries(shard, after):
            yield entry
            if entry.number == 5 and self.node is not None:
                await asyncio.to_thread(move_segments, self.node, self.place)
                self.node = None
                raise EngineUnavailable("entry 6 was removed meanwhile")


def joined(folder: Path, engine: FakeEngine, end: int) -> dict[str, object]:
    asyncio.run(restore_pages(engine, SHARD, folder / "shard"))
    with closing(JoinedArchive(folder / "joined")) as archive:
        archive.add("0", segments.Segments(folder / "shard"), end)
    with closing(ArchiveReader(folder / "joined")) as reader:
        return {**bodies(reader)}


def test_pages_that_move_while_they_are_gathered_are_gathered_once(
    tmp_path: Path, bucket: str
) -> None:
    servers = FakeServers()
    node = node_with(servers, tmp_path / "a", range(60))
    engine = Interrupted(servers)
    engine.node, engine.place = node, bucket
    before = joined(tmp_path / "before", FakeEngine(servers), node.archive.end)
    assert joined(tmp_path / "after", engine, node.archive.end) == before
    assert servers.pages[SHARD].first > 6
    assert before == {url(n): [body(n)] for n in range(60)}
    node.end()


def test_an_index_is_made_from_the_segments_if_their_headers_are_gone(
    tmp_path: Path, bucket: str
) -> None:
    servers = FakeServers()
    node = node_with(servers, tmp_path / "a", range(60))
    move_segments(node, bucket)
    reader = node.archive.reader
    rows, end = list(reader.index.rows(node.archive.end)), node.archive.end
    for path in (tmp_path / "bucket").glob("*/*.headers"):
        if path.name.endswith("2.headers"):
            path.write_bytes(b"wrong" * 100)
        else:
            path.unlink()
    node.end()
    for file in archive_folder(node.path).glob("index.db*"):
        file.unlink()
    with closing(open_index(segments.Segments(archive_folder(node.path)), end)) as index:
        assert list(index.rows(end)) == rows


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        json.dumps({"../segment-000001.pages.object": "{}"}).encode(),
        json.dumps({"segment-000001.pages.object": "{}"}).encode(),
        json.dumps({"segment-000001.pages.object": 1}).encode(),
        json.dumps({"crawl.db.object": "{}"}).encode(),
    ],
)
def test_stubs_that_no_shard_writes_are_refused(content: bytes, tmp_path: Path) -> None:
    servers = FakeServers()
    servers.pages[SHARD].contents = [pack(Entry(EntryKind.MOVED, segments.FIRST, content))]
    with pytest.raises(EngineError, match="the log of kept pages is damaged"):
        asyncio.run(restore_pages(FakeEngine(servers), SHARD, tmp_path / "pages"))


def test_no_piece_replaces_what_was_moved(tmp_path: Path) -> None:
    servers = FakeServers()
    servers.pages[SHARD].contents = [
        pack(Entry(EntryKind.MOVED, segments.place_at(2, 0), b"{}")),
        pack(Entry(EntryKind.MORE, segments.FIRST, b"another page")),
    ]
    with pytest.raises(EngineError, match="damaged: expected"):
        asyncio.run(restore_pages(FakeEngine(servers), SHARD, tmp_path))
