"""The archive of a crawl holds what its store has committed."""

from collections.abc import Iterable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.segments import FIRST, Segments, offset_of
from minicrawl.archive.writer import TRAINED_AT, ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.events import Event, Listener, Warned, nobody_listens
from minicrawl.crawl.settle.keeping import ArchiveSinks, StoreWithArchive, open_archive
from minicrawl.errors import NoRoom
from minicrawl.report.crawl_status import status
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import NOON, bodies, body, filled, kept, url
from tests.crawl.fakes import Disk
from tests.crawl.settle.keeping import archiving, keep


def archive_end_of(path: Path) -> int:
    with reading(path) as connection:
        end = tables.archive_end(connection)
    assert end is not None
    return end


def committed(path: Path) -> dict[str, list[bytes]]:
    """Return the bodies in the archive, up to the end that the store knows."""
    with closing(ArchiveReader(archive_folder(path), archive_end_of(path))) as reader:
        return bodies(reader)


def test_committed_pages_are_in_the_archive_and_others_are_cut_off(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store)
        both = StoreWithArchive(store, ArchiveSinks(archive))
        keep(both, 1)
        archive.append([kept(url(2), body(2))])
        archive.close(cuts_off=False)  # as if the crawl were killed
    assert committed(path) == {url(1): [body(1)]}
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store)
        with closing(archive):
            assert Segments(archive_folder(path)).end == archive.end


def test_a_batch_that_had_no_room_is_in_the_archive_once(path: Path, disk: Disk) -> None:
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store)
        both = StoreWithArchive(store, ArchiveSinks(archive))
        batch = Batch(answers=[kept(url(1), body(1))])
        disk.takes_batches = False
        with pytest.raises(NoRoom):
            both.commit(batch)
        disk.takes_batches = True
        both.commit(batch)
        archive.close()
    assert committed(path) == {url(1): [body(1)]}


def opened_archive(store: StoreWriter, tell: Listener = nobody_listens) -> ArchiveWriter:
    archive = open_archive(store, Storing(keep="pages"), tell)
    assert archive is not None
    return archive


class FullReplica:
    """A replica that has no room for pages the first time."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def kept(self, begin: int, end: int) -> None:
        self.asked.append((begin, end))
        if len(self.asked) == 1:
            raise NoRoom("the engine is full")

    def committed(self) -> None:
        assert self.asked, "pages must be replicated before the commit that counts them"

    @property
    def last(self) -> int:
        return 0

    def wants_checkpoint(self) -> bool:
        return False

    def may_checkpoint(self) -> bool:
        return True

    def checkpointed(self, *, is_complete: bool) -> None: ...

    def closing(self) -> None: ...


def test_pages_that_a_replica_had_no_room_for_are_not_written_anew(path: Path) -> None:
    """With a dictionary trained on these pages, their records would differ the second time."""
    replica = FullReplica()
    batch = Batch(answers=[kept(url(number), body(number)) for number in range(TRAINED_AT + 20)])
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store)
    with closing(archive), closing(StoreWriter.open(path, replica)) as store:
        both = StoreWithArchive(store, ArchiveSinks(archive))
        with pytest.raises(NoRoom):
            both.commit(batch)
        there = Segments(archive_folder(path)).path(1).read_bytes()
        both.commit(batch)
        assert Segments(archive_folder(path)).path(1).read_bytes() == there
    assert replica.asked == [(FIRST, archive.end)] * 2
    assert len(committed(path)) == TRAINED_AT + 20


def test_an_archive_without_its_store_is_renamed(path: Path) -> None:
    filled(archive_folder(path), range(3))
    told: list[Event] = []
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store, told.append)
        assert archive.end == FIRST
        archive.close()
    aside = path.with_name("crawl.db-pages.1")
    assert str(aside) in str(told)
    with closing(ArchiveReader(aside)) as reader:
        assert len(bodies(reader)) == 3


def test_a_deleted_archive_is_begun_anew_with_a_warning(path: Path) -> None:
    told: list[Event] = []
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters={tables.ARCHIVE_END: FIRST + 1000}))
        archive = opened_archive(store, told.append)
        assert archive.end == FIRST
        archive.close()
    assert [type(event) for event in told] == [Warned]


def test_with_keep_none_there_is_no_archive(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        assert open_archive(store, Storing(keep="none"), nobody_listens) is None
    assert not archive_folder(path).exists()


# ---------------------------------------------------------------- pruning of versions


def commit_versions(both: StoreWithArchive, pages: Iterable[int], time: int) -> None:
    found = [kept(url(page), body(100 * page + time), NOON) for page in pages]
    both.commit(Batch(answers=found))


def read_again(path: Path, versions: object, times: int, pages: int = 5) -> None:
    """Run a crawl that reads each page `times` times."""
    with archiving(path, keep="pages", keep_versions=versions) as both:
        for time in range(times):
            commit_versions(both, range(pages), time)


def test_older_versions_are_pruned_when_that_frees_a_quarter(path: Path) -> None:
    read_again(path, 2, 6)
    found = committed(path)
    assert all(2 <= len(texts) < 6 for texts in found.values()), (
        "the archive should have been pruned at times"
    )
    assert all(
        texts[-2:] == [body(100 * page + 4), body(100 * page + 5)]
        for page, texts in enumerate(found[url(page)] for page in range(5))
    )
    read_again(path, 2, 1, pages=0)
    assert committed(path) == {
        url(page): [body(100 * page + 4), body(100 * page + 5)] for page in range(5)
    }


def test_a_reader_postpones_pruning_and_status_says_so(path: Path) -> None:
    with archiving(path, keep="pages", keep_versions=1) as both:
        for time in range(4):
            commit_versions(both, range(5), time)
        with closing(ArchiveReader(archive_folder(path))) as reader:
            before = bodies(reader)
            for time in range(4, 44):
                commit_versions(both, range(5), time)
            assert bodies(reader) == before
            assert status(path).pruning_waits
            whole = sum(file.stat().st_size for file in archive_folder(path).glob("segment-*"))
        for time in (44, 45):
            commit_versions(both, range(5), time)
        assert not status(path).pruning_waits
    assert sum(file.stat().st_size for file in archive_folder(path).glob("segment-*")) < whole / 2
    assert {texts[-1] for texts in committed(path).values()} == {
        body(100 * page + 45) for page in range(5)
    }


def test_an_archive_has_at_most_twice_what_must_stay(path: Path) -> None:
    """This holds even if an examination finds that pruning would free just under a quarter."""
    sizes = list[int]()
    with archiving(path, keep="pages", keep_versions=1) as both:

        def read(*pages: int, time: int) -> None:
            commit_versions(both, pages, time)
            sizes.append(offset_of(archive_end_of(path)))

        read(*range(20), time=0)
        read(*range(20, 33), time=0)
        must_stay = sizes[-1]
        read(*range(9), time=1)  # the examination finds that 9 of 42 answers may go
        assert must_stay < sizes[-1]
        for time in range(2, 8):
            for page in range(33):
                read(page, time=time)
        pruned = sum(late < early for early, late in pairwise(sizes))
    assert pruned > 2
    assert max(sizes) < 2.1 * must_stay


def test_all_versions_stay_unless_a_number_is_given(path: Path) -> None:
    read_again(path, "all", 6)
    read_again(path, "all", 6)
    assert {len(texts) for texts in committed(path).values()} == {12}


def test_pruning_that_would_free_little_is_put_off(path: Path) -> None:
    read_again(path, 1, 1, pages=20)
    read_again(path, 1, 1, pages=3)
    read_again(path, 1, 1, pages=0)
    assert len(committed(path)[url(0)]) == 2


def test_pruning_without_room_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_again(path, "all", 4)
    before = committed(path)

    def full(*_: object) -> None:
        raise NoRoom("full")

    monkeypatch.setattr(Segments, "prune", full)
    read_again(path, 1, 1, pages=0)
    assert committed(path) == before
    assert Segments(archive_folder(path)).end == archive_end_of(path)
    monkeypatch.undo()
    read_again(path, 1, 1, pages=0)
    assert {len(texts) for texts in committed(path).values()} == {1}
