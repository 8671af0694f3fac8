"""The archive of a crawl goes along with the commits of its store."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.segments import FIRST, Segments
from minicrawl.config import Storing
from minicrawl.crawl.events import Event, Noted, Warned, nobody_listens
from minicrawl.crawl.settle.archiving import ArchivingStore, Keeping, open_archive
from minicrawl.errors import NoRoom
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.archive.archives import bodies, body, filled, kept, url


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


def committed(path: Path) -> dict[str, list[bytes]]:
    """What the store knows to be in its archive."""
    with reading(path) as connection:
        end = tables.archive_end(connection)
    with closing(ArchiveReader(archive_folder(path), end)) as reader:
        return bodies(reader)


def test_what_is_committed_is_in_the_archive_and_what_is_not_is_cut_off(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        both = ArchivingStore(store, Keeping(archive))
        both.commit(Batch(answers=[kept(url(1), body(1))]))
        archive.append([kept(url(2), body(2))])  # and then it is killed
    assert committed(path) == {url(1): [body(1)]}
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        with closing(archive):
            assert Segments(archive_folder(path)).end == archive.end


def test_a_batch_that_had_no_room_is_in_the_archive_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = [False, True]
    commit = StoreWriter.commit

    def try_to_commit(store: StoreWriter, batch: Batch) -> None:
        if batch.answers and not takes.pop(0):
            raise NoRoom("full")
        commit(store, batch)

    monkeypatch.setattr(StoreWriter, "commit", try_to_commit)
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), nobody_listens)
        assert archive is not None
        both, batch = (
            ArchivingStore(store, Keeping(archive)),
            Batch(answers=[kept(url(1), body(1))]),
        )
        with pytest.raises(NoRoom):
            both.commit(batch)
        both.commit(batch)
        archive.close()
    assert committed(path) == {url(1): [body(1)]}


def test_pages_of_a_store_that_is_gone_are_set_aside(path: Path) -> None:
    filled(archive_folder(path), range(3))
    told: list[Event] = []
    with closing(StoreWriter.open(path)) as store:
        archive = open_archive(store, Storing(keep="pages"), told.append)
        assert archive is not None
        assert archive.end == FIRST
        archive.close()
    aside = path.with_name("crawl.db-pages.1")
    assert told == [Noted(text=f"the pages that were there are in {aside} now")]
    with closing(ArchiveReader(aside)) as reader:
        assert len(bodies(reader)) == 3


def test_an_archive_that_was_deleted_is_begun_anew_and_the_user_hears_of_it(path: Path) -> None:
    told: list[Event] = []
    with closing(StoreWriter.open(path)) as store:
        store.commit(Batch(counters={tables.ARCHIVE_END: FIRST + 1000}))
        archive = open_archive(store, Storing(keep="pages"), told.append)
        assert archive is not None
        assert archive.end == FIRST
        archive.close()
    assert [type(event) for event in told] == [Warned]


def test_nothing_is_kept_where_nothing_is_to_be_kept(path: Path) -> None:
    with closing(StoreWriter.open(path)) as store:
        assert open_archive(store, Storing(keep="none"), nobody_listens) is None
    assert not archive_folder(path).exists()
