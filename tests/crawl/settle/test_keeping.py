"""Archive files of a crawl hold what its store has committed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Event, Store, Warned
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.segments import FIRST, Segments, offset_of
from minicrawl.archive.writer import TRAINED_AT, ArchiveWriter
from minicrawl.config import Storing
from minicrawl.crawl.record.archiving import ArchiveSinks, open_archive
from minicrawl.crawl.record.store_with_archive import StoreWithArchive, open_keeping
from minicrawl.errors import NoRoom
from minicrawl.model import KeptAnswer
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import bodies, body, filled, kept, url
from tests.store.test_writer import Replica

Listener = Callable[[Event], None]


def nobody_listens(_: Event) -> None: ...


def pruning_waits(path: Path) -> bool:
    with Store(path) as store:
        return store.status().pruning_waits


@contextmanager
def archiving(
    path: Path, tell: Listener = nobody_listens, **storing: Any
) -> Iterator[StoreWithArchive]:
    """Open a store with its archive and WARC files, as `app` does."""
    with (
        closing(StoreWriter.open(path)) as store,
        closing(open_keeping(store, Storing(**storing), tell)) as keeping,
    ):
        yield StoreWithArchive(store, keeping)


def page(number: int) -> KeptAnswer:
    return kept(url(number), body(number))


def keep(both: StoreWithArchive, *numbers: int) -> None:
    both.commit(Batch(answers=[page(number) for number in numbers]))


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
        archive.append([page(2)])
        archive.close()  # as if the crawl were killed
    assert committed(path) == {url(1): [body(1)]}
    with closing(StoreWriter.open(path)) as store:
        archive = opened_archive(store)
        with closing(archive):
            assert Segments(archive_folder(path)).end == archive.end


def opened_archive(store: StoreWriter, tell: Listener = nobody_listens) -> ArchiveWriter:
    archive = open_archive(store, Storing(keep="pages"), tell)
    assert archive is not None
    return archive


class FullReplica(Replica):
    """A replica that has no room for pages the first time."""

    asked: list[tuple[int, int]]

    def kept(self, begin: int, end: int) -> None:
        self.asked.append((begin, end))
        if len(self.asked) == 1:
            raise NoRoom("the engine is full")

    def committed(self) -> None:
        assert self.asked, "pages must be replicated before the commit that counts them"
        super().committed()


def test_pages_that_a_replica_had_no_room_for_are_not_written_anew(path: Path) -> None:
    """With a dictionary trained on these pages, their records would differ the second time."""
    replica = FullReplica(path)
    replica.asked = []
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


def commit_versions(both: StoreWithArchive, pages: Iterable[int], time: int) -> None:
    found = [kept(url(page), version(page, time)) for page in pages]
    both.commit(Batch(answers=found))


def version(page: int, time: int) -> bytes:
    return body(100 * page + time)


def read_again(path: Path, versions: object, times: int, pages: int = 5) -> None:
    """Run a crawl that reads each page `times` times."""
    with archiving(path, keep="pages", keep_versions=versions) as both:
        for time in range(times):
            commit_versions(both, range(pages), time)


def test_older_versions_are_pruned_when_that_frees_a_quarter(path: Path) -> None:
    read_again(path, 2, 6)
    found, last_two = committed(path), {url(n): [version(n, 4), version(n, 5)] for n in range(5)}
    assert all(2 <= len(texts) < 6 for texts in found.values())  # it was pruned at times
    assert {page: texts[-2:] for page, texts in found.items()} == last_two
    read_again(path, 2, 1, pages=0)
    assert committed(path) == last_two


def test_a_reader_postpones_pruning_and_status_says_so(path: Path) -> None:
    with archiving(path, keep="pages", keep_versions=1) as both:
        for time in range(4):
            commit_versions(both, range(5), time)
        with closing(ArchiveReader(archive_folder(path))) as reader:
            before = bodies(reader)
            for time in range(4, 44):
                commit_versions(both, range(5), time)
            assert bodies(reader) == before
            assert pruning_waits(path)
            whole = sum(file.stat().st_size for file in archive_folder(path).glob("segment-*"))
        for time in (44, 45):
            commit_versions(both, range(5), time)
        assert not pruning_waits(path)
    assert sum(file.stat().st_size for file in archive_folder(path).glob("segment-*")) < whole / 2
    assert {texts[-1] for texts in committed(path).values()} == {version(n, 45) for n in range(5)}


@pytest.mark.slow
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


def test_pruning_without_room_loses_nothing(path: Path) -> None:
    read_again(path, "all", 4)
    before = committed(path)
    full = archive_folder(path) / "pruned-next.draft"
    with archiving(path, keep="pages", keep_versions=1) as both:
        full.symlink_to("/dev/full")
        commit_versions(both, [], time=4)
    full.unlink()
    assert committed(path) == before
    assert Segments(archive_folder(path)).end == archive_end_of(path)
    read_again(path, 1, 1, pages=0)
    assert {len(texts) for texts in committed(path).values()} == {1}


@pytest.mark.parametrize("counts", [False, True])
def test_a_pruning_whose_commit_fails_loses_nothing_whether_it_counts_or_not(
    path: Path, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    read_again(path, "all", 4)
    commit, ends = StoreWriter.commit, [archive_end_of(path)]

    def fail_once(store: StoreWriter, batch: Batch) -> None:
        is_pruning = not batch.answers and batch.counters[tables.ARCHIVE_END] != ends[0]
        if not is_pruning or counts:
            commit(store, batch)
        if is_pruning:
            monkeypatch.setattr(StoreWriter, "commit", commit)
            ends.append(0)
            raise NoRoom("the disk is full")

    with archiving(path, keep="pages", keep_versions=1) as both:
        monkeypatch.setattr(StoreWriter, "commit", fail_once)
        commit_versions(both, [], time=4)
        assert len(ends) == 2
        assert len(Segments(archive_folder(path)).numbers()) == 2
        keep(both, 1)
    assert Segments(archive_folder(path)).end == archive_end_of(path)
    assert {len(texts) for texts in committed(path).values()} == ({1, 2} if counts else {4, 5})
